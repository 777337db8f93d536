package slack_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	client "github.com/slack-go/slack"
	"github.com/tsumugi-ai/tsumugi/test/fakes/slack"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestMessages(t *testing.T) {
	t.Parallel()
	workspace, api := open(t, nil)
	question := valueOf[string](t)(workspace.Say(slack.Said{Channel: slack.DemoSales, User: slack.DemoTaro, Text: "質問"}))
	channel, ts, err := api.PostMessageContext(t.Context(), slack.DemoSales, client.MsgOptionText("答え", false),
		client.MsgOptionTS(question), client.MsgOptionMetadata(client.SlackMetadata{
			EventType: "answer", EventPayload: map[string]any{"id": "1"},
		}))
	if err != nil || channel != slack.DemoSales {
		t.Fatal(channel, err)
	}
	longer := client.MsgOptionMarkdownText("**答え** 2")
	if _, _, _, err := api.UpdateMessageContext(t.Context(), channel, ts, longer); err != nil {
		t.Fatal(err)
	}
	replies, more, _, err := api.GetConversationRepliesContext(t.Context(), &client.GetConversationRepliesParameters{
		ChannelID: channel, Timestamp: question, IncludeAllMetadata: true,
	})
	if err != nil || more || len(replies) != 2 {
		t.Fatal(replies, more, err)
	}
	if got := replies[1]; got.Text != "*答え* 2" || got.BotID == "" || got.ThreadTimestamp != question ||
		got.Edited == nil || got.Metadata.EventPayload["id"] != "1" {
		t.Errorf("%+v", got)
	}
	if replies[0].ReplyCount != 1 {
		t.Errorf("%d replies", replies[0].ReplyCount)
	}
	blocks := client.MsgOptionBlocks(client.NewMarkdownBlock("", "**答え** 3"), client.NewDividerBlock())
	if _, _, _, err := api.UpdateMessageContext(t.Context(), channel, ts, blocks); err != nil {
		t.Fatal(err)
	}
	if m, _ := workspace.Message(channel, ts); m.Shown() != "**答え** 3" {
		t.Errorf("%+v", m)
	}
	whisper := func(thread string) {
		if _, err := api.PostEphemeralContext(t.Context(), channel, slack.DemoTaro, client.MsgOptionText("秘密", false),
			client.MsgOptionTS(thread)); err != nil {
			t.Fatal(err)
		}
	}
	alone := valueOf[string](t)(workspace.Say(slack.Said{Channel: channel, User: slack.DemoTaro, Text: "独り言"}))
	whisper(alone) // Slack hides it because the thread has no reply.
	whisper(question)
	if seen := workspace.Ephemeral(channel, slack.DemoTaro); len(seen) != 1 || seen[0].ThreadTS != question {
		t.Errorf("%+v", seen)
	}
	if _, _, err := api.DeleteMessageContext(t.Context(), channel, ts); err != nil {
		t.Fatal(err)
	}
	m, _ := workspace.Message(channel, ts)
	if !m.Deleted {
		t.Errorf("%+v", m)
	}
	_, _, err = api.DeleteMessageContext(t.Context(), channel, question)
	refused(t, err, "cant_delete_message")
	_, err = api.PostEphemeralContext(t.Context(), slack.DemoSales, slack.DemoTaro, client.MsgOptionText("秘密", false))
	if got := workspace.Ephemeral(slack.DemoSales, slack.DemoTaro); err != nil || len(got) != 2 || got[1].Text != "秘密" {
		t.Errorf("%v, %+v", err, got)
	}
	_, err = api.PostEphemeralContext(t.Context(), slack.DemoSales, slack.DemoGuest, client.MsgOptionText("秘密", false))
	refused(t, err, "user_not_in_channel")
}

func TestRefusedMessages(t *testing.T) {
	t.Parallel()
	workspace, api := open(t, func(c *slack.Config) {
		c.Channels = append(c.Channels, slack.Channel{ID: "C0WITHOUT1", Name: "雑談", Members: []string{slack.DemoTaro}})
	})
	post := func(channel string, options ...client.MsgOption) error {
		_, _, err := api.PostMessageContext(t.Context(), channel, options...)
		return err
	}
	text := func(n int) string { return strings.Repeat("字", n) }
	section := func(n int) client.Block {
		return client.NewSectionBlock(client.NewTextBlockObject("mrkdwn", text(n), false, false), nil, nil)
	}
	for name, test := range map[string]struct {
		channel string
		options []client.MsgOption
		code    string
	}{
		"private": {slack.DemoPrivate, []client.MsgOption{client.MsgOptionText("a", false)}, "channel_not_found"},
		"unknown": {"C0NOWHERE1", []client.MsgOption{client.MsgOptionText("a", false)}, "channel_not_found"},
		"absent":  {"C0WITHOUT1", []client.MsgOption{client.MsgOptionText("a", false)}, "not_in_channel"},
		"empty":   {slack.DemoSales, nil, "no_text"},
		"both": {slack.DemoSales, []client.MsgOption{
			client.MsgOptionText("a", false), client.MsgOptionMarkdownText("b"),
		}, "markdown_text_conflict"},
		"long Markdown": {slack.DemoSales, []client.MsgOption{client.MsgOptionMarkdownText(text(12_001))}, "msg_too_long"},
		"long section":  {slack.DemoSales, []client.MsgOption{client.MsgOptionBlocks(section(3_001))}, "invalid_blocks"},
		"too many blocks": {slack.DemoSales, []client.MsgOption{
			client.MsgOptionBlocks(slices.Repeat([]client.Block{client.NewDividerBlock()}, 51)...),
		}, "invalid_blocks"},
		"largest": {slack.DemoSales, []client.MsgOption{client.MsgOptionMarkdownText(text(12_000))}, ""},
	} {
		err := post(test.channel, test.options...)
		if test.code == "" && err != nil || test.code != "" && (err == nil || err.Error() != test.code) {
			t.Errorf("%s: got %v, want %q", name, err, test.code)
		}
	}
	_, ts, err := api.PostMessageContext(t.Context(), slack.DemoSales, client.MsgOptionText(text(40_001), false))
	if m, _ := workspace.Message(slack.DemoSales, ts); err != nil || m.Text != text(40_000) {
		t.Errorf("%v: not cut", err)
	}
	_, _, _, err = api.UpdateMessageContext(t.Context(), slack.DemoSales, ts, client.MsgOptionText(text(4_001), false))
	refused(t, err, "msg_too_long")
}

func TestStreams(t *testing.T) {
	t.Parallel()
	workspace, api := open(t, nil)
	question := valueOf[string](t)(workspace.Say(slack.Said{Channel: slack.DemoSales, User: slack.DemoTaro, Text: "質問"}))
	start := func(options ...client.MsgOption) (string, error) {
		_, ts, err := api.StartStreamContext(t.Context(), slack.DemoSales,
			append([]client.MsgOption{client.MsgOptionTS(question)}, options...)...)
		return ts, err
	}
	_, err := start(client.MsgOptionMarkdownText("a"))
	refused(t, err, "missing_recipient_team_id")
	recipient := []client.MsgOption{
		client.MsgOptionRecipientTeamID(slack.DemoTeam), client.MsgOptionRecipientUserID(slack.DemoTaro),
	}
	ts := valueOf[string](t)(start(append(recipient, client.MsgOptionMarkdownText("一"))...))
	add := func(text string) error {
		_, _, err := api.AppendStreamContext(t.Context(), slack.DemoSales, ts, client.MsgOptionMarkdownText(text))
		return err
	}
	must.Succeed(t, add("二"))
	_, _, _, err = api.UpdateMessageContext(t.Context(), slack.DemoSales, ts, client.MsgOptionMarkdownText("x"))
	refused(t, err, "streaming_state_conflict")
	workspace.Advance(4 * time.Minute)
	must.Succeed(t, add("三"))
	refused(t, add(strings.Repeat("字", 11_998)), "msg_too_long")
	workspace.Advance(time.Minute)
	refused(t, add("四"), "message_not_in_streaming_state")
	_, _, err = api.StopStreamContext(t.Context(), slack.DemoSales, ts)
	refused(t, err, "message_not_in_streaming_state")
	if m, _ := workspace.Message(slack.DemoSales, ts); m.Markdown != "一二三" || m.Stream != "errored" {
		t.Errorf("%+v", m)
	}
	whole := client.MsgOptionMarkdownText("一二三四")
	if _, _, _, err := api.UpdateMessageContext(t.Context(), slack.DemoSales, ts, whole); err != nil {
		t.Fatal(err)
	}
	if m, _ := workspace.Message(slack.DemoSales, ts); m.Markdown != "一二三四" || m.Stream != "completed" {
		t.Errorf("%+v", m)
	}
	ts = valueOf[string](t)(start(recipient...))
	button := client.NewButtonBlockElement("again", "1", client.NewTextBlockObject("plain_text", "再回答", false, false))
	if _, _, err := api.StopStreamContext(t.Context(), slack.DemoSales, ts, client.MsgOptionMarkdownText("終わり"),
		client.MsgOptionBlocks(client.NewActionBlock("", button))); err != nil {
		t.Fatal(err)
	}
	if m, _ := workspace.Message(slack.DemoSales, ts); m.Markdown != "終わり" || m.Stream != "completed" ||
		!bytes.Contains(m.Blocks, []byte(`"again"`)) {
		t.Errorf("%+v", m)
	}
}

func TestNativeStop(t *testing.T) {
	t.Parallel()
	workspace, api := open(t, nil)
	question := valueOf[string](t)(workspace.Say(slack.Said{Channel: slack.DemoSales, User: slack.DemoTaro, Text: "質問"}))
	if workspace.Stop(slack.DemoTaro, slack.DemoSales, question) == nil {
		t.Error("nothing can be stopped")
	}
	if _, err := api.SetAgentSessionStatusContext(t.Context(), client.AgentSessionSetStatusParameters{
		ChannelID: slack.DemoSales, ThreadTS: question, Status: "processing",
	}); err != nil {
		t.Fatal(err)
	}
	_, ts, err := api.StartStreamContext(t.Context(), slack.DemoSales, client.MsgOptionTS(question),
		client.MsgOptionRecipientTeamID(slack.DemoTeam), client.MsgOptionRecipientUserID(slack.DemoTaro))
	must.Succeed(t, err)
	must.Succeed(t, workspace.Stop(slack.DemoTaro, slack.DemoSales, question))
	_, _, err = api.AppendStreamContext(t.Context(), slack.DemoSales, ts, client.MsgOptionMarkdownText("a"))
	refused(t, err, "message_not_in_streaming_state")
	events := workspace.Events("agent_session_stopped")
	if len(events) != 1 || !bytes.Contains(events[0].Body, []byte(`"streaming_message_ts":["`+ts+`"]`)) {
		t.Errorf("%+v", events)
	}
}

func TestDirectory(t *testing.T) {
	t.Parallel()
	workspace, api := open(t, nil)
	who, err := api.AuthTestContext(t.Context())
	if err != nil || who.TeamID != slack.DemoTeam || who.UserID != slack.DemoBot || who.BotID == "" {
		t.Fatal(who, err)
	}
	for id, want := range map[string]struct{ confirmed, guest, solo, stranger, deleted bool }{
		slack.DemoTaro: {confirmed: true}, slack.DemoJiro: {}, slack.DemoGuest: {confirmed: true, guest: true},
		slack.DemoSolo: {confirmed: true, guest: true, solo: true}, slack.DemoGone: {deleted: true},
		slack.DemoRival: {confirmed: true, stranger: true},
	} {
		user, err := api.GetUserInfoContext(t.Context(), id)
		if err != nil {
			t.Fatal(id, err)
		}
		got := struct{ confirmed, guest, solo, stranger, deleted bool }{
			user.IsEmailConfirmed, user.IsRestricted, user.IsUltraRestricted, user.IsStranger, user.Deleted,
		}
		if got != want || want.stranger != (user.Profile.Email == "") {
			t.Errorf("%s: got %+v, want %+v", id, got, want)
		}
	}
	_, err = api.GetUserInfoContext(t.Context(), "U0NOBODY01")
	refused(t, err, "user_not_found")
	channel, err := api.GetConversationInfoContext(t.Context(),
		&client.GetConversationInfoInput{ChannelID: slack.DemoShared})
	if err != nil || !channel.IsExtShared {
		t.Errorf("%+v, %v", channel, err)
	}
	direct, _, _, err := api.OpenConversationContext(t.Context(),
		&client.OpenConversationParameters{Users: []string{slack.DemoTaro}})
	said := slack.Said{Channel: slack.DemoSales, User: slack.DemoTaro}
	if told, _, failed := workspace.Tell(said); err != nil || failed != nil || direct.ID != told {
		t.Error(direct, err, failed)
	}
	for i := range 5 {
		said.Text = string(rune('a' + i))
		valueOf[string](t)(workspace.Say(said))
	}
	var texts []string
	parameters := &client.GetConversationHistoryParameters{ChannelID: slack.DemoSales, Limit: 2}
	for {
		page := must.Get(api.GetConversationHistoryContext(t.Context(), parameters))(t)
		for _, m := range page.Messages {
			texts = append(texts, m.Text)
		}
		if parameters.Cursor = page.ResponseMetaData.NextCursor; !page.HasMore {
			break
		}
	}
	if strings.Join(texts, "") != "edcba" {
		t.Error(texts)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	workspace, api := open(t, nil)
	ts := valueOf[string](t)(workspace.Say(slack.Said{
		Channel: slack.DemoSales, User: slack.DemoTaro, Text: "見て",
		Files: []slack.Upload{{Name: "規程.txt", Content: []byte("就業規則")}},
	}))
	m, _ := workspace.Message(slack.DemoSales, ts)
	file, _, _, err := api.GetFileInfoContext(t.Context(), m.Files[0].ID, 0, 0)
	if err != nil || file.Name != "規程.txt" || file.Size != 12 {
		t.Fatal(file, err)
	}
	var content bytes.Buffer
	if err := api.GetFileContext(t.Context(), file.URLPrivateDownload, &content); err != nil ||
		content.String() != "就業規則" {
		t.Errorf("%v: %q", err, content.String())
	}
	request := valueOf[*http.Request](t)(http.NewRequestWithContext(t.Context(), http.MethodGet, file.URLPrivate, nil))
	answer := valueOf[*http.Response](t)((&http.Transport{DisableKeepAlives: true}).RoundTrip(request))
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusFound {
		t.Errorf("without a token: %s", answer.Status)
	}
	summary := must.Get(api.UploadFileContext(t.Context(), client.UploadFileParameters{
		Reader: strings.NewReader("# 長い答え"), FileSize: len("# 長い答え"), Filename: "answer.md", Title: "答え",
		Channel: slack.DemoSales, ThreadTimestamp: ts, InitialComment: "続き",
	}))(t)
	answers := workspace.Answers(slack.DemoSales, ts)
	if len(answers) != 1 || answers[0].Text != "続き" || len(answers[0].Files) != 1 ||
		answers[0].Files[0].ID != summary.ID || string(answers[0].Files[0].Content) != "# 長い答え" {
		t.Errorf("%+v", answers)
	}
}

func TestInstallation(t *testing.T) {
	t.Parallel()
	workspace, old := open(t, nil)
	workspace.Revoke()
	_, err := old.AuthTestContext(t.Context())
	refused(t, err, "token_revoked")
	if len(workspace.Events("tokens_revoked")) != 1 {
		t.Error("nobody was told")
	}
	address := "/oauth/v2/authorize?" + url.Values{
		"client_id": {"1000.1001"}, "scope": {"chat:write"}, "state": {"s1"}, "redirect_uri": {"https://app.example/cb"},
	}.Encode()
	back := valueOf[*url.URL](t)(url.Parse(valueOf[string](t)(workspace.Authorize(address, slack.DemoTaro))))
	if back.Host != "app.example" || back.Query().Get("state") != "s1" {
		t.Fatal(back)
	}
	if denied := valueOf[string](t)(workspace.Authorize(address, "")); !strings.Contains(denied, "error=access_denied") {
		t.Error(denied)
	}
	plain := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	exchange := func(secret, code, redirect string) (*client.OAuthV2Response, error) {
		return client.GetOAuthV2ResponseContext(t.Context(), plain, "1000.1001", secret, code, redirect,
			client.OAuthOptionAPIURL(workspace.URL()+"/api/"))
	}
	code := back.Query().Get("code")
	_, err = exchange("wrong", code, "https://app.example/cb")
	refused(t, err, "bad_client_secret")
	_, err = exchange("demo-client-secret", code, "https://app.example/other")
	refused(t, err, "bad_redirect_uri")
	installed, err := exchange("demo-client-secret", code, "https://app.example/cb")
	if err != nil || installed.Team.ID != slack.DemoTeam || installed.AuthedUser.ID != slack.DemoTaro ||
		installed.AccessToken == slack.DemoToken {
		t.Fatalf("%+v, %v", installed, err)
	}
	_, err = exchange("demo-client-secret", code, "https://app.example/cb")
	refused(t, err, "invalid_code")
	api := client.New(installed.AccessToken, client.OptionAPIURL(workspace.URL()+"/api/"), client.OptionHTTPClient(plain))
	if _, err := api.AuthTestContext(t.Context()); err != nil {
		t.Error(err)
	}
	_, err = api.GetUserInfoContext(t.Context(), slack.DemoTaro)
	refused(t, err, "missing_scope")
	_, err = old.AuthTestContext(t.Context())
	refused(t, err, "token_revoked")
}

func TestFaults(t *testing.T) {
	t.Parallel()
	workspace, api := open(t, nil)
	post := func() error {
		_, _, err := api.PostMessageContext(t.Context(), slack.DemoSales, client.MsgOptionText("a", false))
		return err
	}
	count := func() int { return len(workspace.Messages(slack.DemoSales)) }
	workspace.Fail(
		slack.Fault{Method: "chat.postMessage", Status: 429, RetryAfter: 7 * time.Second},
		slack.Fault{Method: "chat.postMessage", Status: 503},
		slack.Fault{Method: "chat.postMessage", Status: 500, After: true},
		slack.Fault{Method: "chat.postMessage", Cut: true},
		slack.Fault{Method: "chat.postMessage", Error: "fatal_error"},
		slack.Fault{Method: "chat.update", Status: 503},
	)
	var limited *client.RateLimitedError
	if err := post(); !errors.As(err, &limited) || limited.RetryAfter != 7*time.Second || count() != 0 {
		t.Errorf("%v, %d messages", err, count())
	}
	var status client.StatusCodeError
	if err := post(); !errors.As(err, &status) || status.Code != 503 || count() != 0 {
		t.Errorf("%v, %d messages", err, count())
	}
	if err := post(); !errors.As(err, &status) || status.Code != 500 || count() != 1 {
		t.Errorf("%v, %d messages", err, count())
	}
	if err := post(); !errors.Is(err, io.EOF) || count() != 1 {
		t.Errorf("%v, %d messages", err, count())
	}
	refused(t, post(), "fatal_error")
	if err := post(); err != nil || count() != 2 {
		t.Errorf("%v, %d messages", err, count())
	}
	if n := workspace.Calls("chat.postMessage"); n != 6 {
		t.Errorf("%d calls", n)
	}
}

func TestTiers(t *testing.T) {
	t.Parallel()
	workspace, api := open(t, func(c *slack.Config) { c.Tiers = true })
	_, ts, err := api.PostMessageContext(t.Context(), slack.DemoSales, client.MsgOptionText("a", false))
	must.Succeed(t, err)
	update := func() error {
		_, _, _, err := api.UpdateMessageContext(t.Context(), slack.DemoSales, ts, client.MsgOptionText("b", false))
		return err
	}
	for range 50 {
		must.Succeed(t, update())
	}
	workspace.Advance(20 * time.Second)
	var limited *client.RateLimitedError
	if err := update(); !errors.As(err, &limited) || limited.RetryAfter != 40*time.Second {
		t.Fatal(err)
	}
	if _, err := api.AuthTestContext(t.Context()); err != nil {
		t.Error("other methods:", err)
	}
	workspace.Advance(40 * time.Second)
	if err := update(); err != nil {
		t.Error(err)
	}
}

func TestPingsAndPreviews(t *testing.T) {
	t.Parallel()
	workspace, api := open(t, nil)
	post := func(options ...client.MsgOption) (pings, previews []string) {
		_, ts, err := api.PostMessageContext(t.Context(), slack.DemoSales, options...)
		must.Succeed(t, err)
		m, _ := workspace.Message(slack.DemoSales, ts)
		return m.Pings, m.Unfurled
	}
	section := client.NewSectionBlock(
		client.NewTextBlockObject("mrkdwn", "<!here|here> <!subteam^S012>", false, false),
		nil,
		nil,
	)
	plain := client.NewSectionBlock(client.NewTextBlockObject("plain_text", "<!here>", false, false), nil, nil)
	for name, test := range map[string]struct {
		options []client.MsgOption
		want    []string
	}{
		"text": {
			[]client.MsgOption{client.MsgOptionText("<!channel> <@U0TARO0001>", false)},
			[]string{"<!channel>", "<@U0TARO0001>"},
		},
		"Markdown": {[]client.MsgOption{client.MsgOptionMarkdownText("`<!everyone>`")}, []string{"<!everyone>"}},
		"entities": {[]client.MsgOption{client.MsgOptionMarkdownText("&lt;!channel&gt; @channel")}, nil},
		"names": {
			[]client.MsgOption{client.MsgOptionText("@channel @taro @nobody", false), client.MsgOptionLinkNames(true)},
			[]string{"@channel", "@taro"},
		},
		"mrkdwn": {[]client.MsgOption{client.MsgOptionBlocks(section)}, []string{"<!here|here>", "<!subteam^S012>"}},
		"plain":  {[]client.MsgOption{client.MsgOptionBlocks(plain)}, nil},
	} {
		if pings, _ := post(test.options...); !slices.Equal(pings, test.want) {
			t.Errorf("%s: got %v, want %v", name, pings, test.want)
		}
	}
	const links = "https://e.example/a.png https://e.example/page"
	for name, test := range map[string]struct {
		options []client.MsgOption
		want    int
	}{
		"as it comes": {nil, 1},
		"all":         {[]client.MsgOption{client.MsgOptionEnableLinkUnfurl()}, 2},
		"none":        {[]client.MsgOption{client.MsgOptionDisableMediaUnfurl(), client.MsgOptionDisableLinkUnfurl()}, 0},
	} {
		if _, previews := post(append(test.options, client.MsgOptionText(links, false))...); len(
			previews,
		) != test.want {
			t.Errorf("%s: %v", name, previews)
		}
	}
}
