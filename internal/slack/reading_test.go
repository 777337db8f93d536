package slack_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/channel/workspace"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/slack"
	fake "github.com/tsumugi-ai/tsumugi/test/fakes/slack"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestThread(t *testing.T) {
	t.Parallel()
	o, ctx := open(t, nil), within(t)
	root, err := o.Say(fake.Said{Channel: fake.DemoGeneral, User: fake.DemoTaro, Text: "<@U0HANAKO01> 来週の&lt;予定&gt;です"})
	must.Succeed(t, err)
	to := channel.Target{Installation: o.in, Channel: fake.DemoGeneral, Thread: root, Person: fake.DemoHanako}
	if _, err := o.Say(fake.Said{
		Channel: fake.DemoGeneral, User: fake.DemoJiro, Thread: root, Text: "資料",
		Files: []fake.Upload{{Name: "規程.txt", Content: []byte("旅費は3,000円")}},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := o.adapter.Begin(ctx, to, done("前の回答")); err != nil {
		t.Fatal(err)
	}
	ask := must.Get(o.Mention(fake.Said{
		Channel: fake.DemoGeneral, User: fake.DemoHanako, Thread: root, Text: "要約",
	}))(t)
	messages, err := o.adapter.History(ctx, to, channel.Ref(ask))
	if err != nil || len(messages) != 2 {
		t.Fatalf("%+v, %v", messages, err)
	}
	if messages[0].Name != "taro" || messages[0].Text != "@hanako 来週の<予定>です" ||
		messages[0].Ref != channel.Ref(root) {
		t.Errorf("%+v", messages[0])
	}
	if len(messages[1].Files) != 1 || messages[1].Files[0].Name != "規程.txt" {
		t.Fatalf("%+v", messages[1])
	}
	content := must.Get(o.adapter.Download(ctx, to, messages[1].Files[0]))(t)
	body, err := io.ReadAll(content)
	if err != nil || string(body) != "旅費は3,000円" {
		t.Errorf("%q, %v", body, err)
	}
	if err := content.Close(); err != nil {
		t.Error(err)
	}
	m, err := o.adapter.Message(ctx, to, channel.Ref(ask))
	if err != nil || m.Text != "要約" {
		t.Errorf("%+v, %v", m, err)
	}
	if all, err := o.adapter.History(ctx, to, ""); err != nil || len(all) != 3 {
		t.Errorf("the whole thread: %+v, %v", all, err)
	}
	if none, err := o.adapter.History(ctx, to, channel.Ref(root)); err != nil || len(none) != 0 {
		t.Errorf("before the first message: %+v, %v", none, err)
	}
	must.Succeed(t, o.Delete(fake.DemoGeneral, ask))
	if _, err := o.adapter.Message(ctx, to, channel.Ref(ask)); !errors.Is(err, channel.ErrGone) {
		t.Errorf("a deleted message: %v", err)
	}
	if n := o.Calls("users.info"); n != 3 {
		t.Errorf("names were asked for %d times", n)
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()
	o, ctx := open(t, nil), within(t)
	// Events have ids instead of names.
	text := slack.Plain("<@UBOT> <@"+fake.DemoTaro+">さんと<@"+fake.DemoHanako+">と<@U0NOBODY01>に聞く", "UBOT", slack.Nobody)
	for range 2 {
		if got := o.adapter.ResolveMentions(ctx, o.to, text); got != "@taroさんと@hanakoと@U0NOBODY01に聞く" {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	if n := o.Calls("users.info"); n != 3 {
		t.Errorf("names were asked for %d times", n)
	}
	for _, text := range []string{"", "@here", "mail@EXAMPLE.JP", "@U1", fake.DemoTaro} {
		if got := o.adapter.ResolveMentions(ctx, o.to, text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	if n := o.Calls("users.info"); n != 3 {
		t.Errorf("names were asked for without a mention: %d times", n)
	}
}

// TestNamed_Bounded checks that a text with many mentions causes a limited number of requests.
func TestNamed_Bounded(t *testing.T) {
	t.Parallel()
	o, ctx := open(t, nil), within(t)
	var text strings.Builder
	for i := range 50 {
		fmt.Fprintf(&text, "@U0NOBODY%02d ", i)
	}
	if got := o.adapter.ResolveMentions(ctx, o.to, text.String()); got != text.String() {
		t.Errorf("%q", got)
	}
	if n := o.Calls("users.info"); n != 20 {
		t.Errorf("names were asked for %d times", n)
	}
}

func TestSaid_TheNewest(t *testing.T) {
	t.Parallel()
	o, ctx := open(t, nil), within(t)
	for i := range 230 {
		if _, err := o.Say(fake.Said{
			Channel: fake.DemoGeneral, User: fake.DemoTaro, Thread: o.to.Thread, Text: strings.Repeat("x", i+1),
		}); err != nil {
			t.Fatal(err)
		}
	}
	messages, err := o.adapter.History(ctx, o.to, "")
	if err != nil || len(messages) != 50 || len(messages[49].Text) != 230 {
		t.Errorf("%d messages, %v", len(messages), err)
	}
}

func TestDownload_OnlyFromSlack(t *testing.T) {
	t.Parallel()
	o, ctx := open(t, nil), within(t)
	token := make(chan string, 10)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		token <- r.Header.Get("Authorization")
	}))
	defer elsewhere.Close()
	for _, url := range []string{
		elsewhere.URL + "/f", "https://slack.com.evil.example/f", "https://evilslack.com/f", "http://files.slack.com/f",
		"file:///etc/passwd",
		"https://files.slack.com@" + strings.TrimPrefix(elsewhere.URL, "http://") + "/f", "://",
	} {
		if _, err := o.adapter.Download(ctx, o.to, channel.File{URL: url}); !errors.Is(err, channel.ErrGone) {
			t.Errorf("%s: %v", url, err)
		}
	}
	select {
	case got := <-token:
		t.Errorf("called elsewhere with %q", got)
	default:
	}
	if _, err := o.adapter.Download(ctx, o.to, channel.File{ID: "F0NONE"}); !errors.Is(err, channel.ErrGone) {
		t.Errorf("a file that is gone: %v", err)
	}
}

func TestAttach(t *testing.T) {
	t.Parallel()
	o, ctx := open(t, nil), within(t)
	a := channel.Attachment{AnswerID: draft("").AnswerID, Name: "回答.md", Markdown: strings.Repeat("長い回答\n", 20_000)}
	for _, again := range []bool{false, true} {
		a.Again = again
		must.Succeed(t, o.adapter.Attach(ctx, o.to, a))
	}
	var files []fake.File
	for _, m := range o.Answers(o.to.Channel, o.to.Thread) {
		files = append(files, m.Files...)
	}
	if len(files) != 1 || string(files[0].Content) != a.Markdown {
		t.Errorf("%d files", len(files))
	}
}

func TestNotify(t *testing.T) {
	t.Parallel()
	o, ctx := open(t, nil), within(t)
	n := channel.Notice{
		Kind: channel.NoticeLink, Text: "連携してください。", URL: "https://tsumugi.example/setting/slack?state=1", Label: "アカウントを連携",
	}
	must.Succeed(t, o.adapter.Notify(ctx, o.to, n))
	told := o.Ephemeral(o.to.Channel, fake.DemoHanako)
	if len(told) != 1 || !strings.Contains(string(told[0].Blocks), "state=1") || told[0].ThreadTS != "" {
		t.Fatalf("before a reply: %+v", told)
	}
	if _, err := o.Say(fake.Said{
		Channel: o.to.Channel, User: fake.DemoTaro, Text: "私も知りたいです。", Thread: o.to.Thread,
	}); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, o.adapter.Notify(ctx, o.to, n))
	if told = o.Ephemeral(o.to.Channel, fake.DemoHanako); len(told) != 2 || told[1].ThreadTS != o.to.Thread {
		t.Fatalf("after a reply: %+v", told)
	}
	if others := o.Ephemeral(o.to.Channel, fake.DemoTaro); len(others) != 0 {
		t.Errorf("others see %+v", others)
	}
	dm, ts, err := o.Tell(fake.Said{User: fake.DemoHanako, Text: "質問"})
	must.Succeed(t, err)
	edited := channel.Notice{Kind: channel.NoticeEdited, Text: "編集されました。", AnswerID: draft("").AnswerID}
	to := channel.Target{Installation: o.in, Channel: dm, Thread: ts, Person: fake.DemoHanako, Direct: true}
	must.Succeed(t, o.adapter.Notify(ctx, to, edited))
	if m := o.Answers(dm, ts); len(m) != 1 || !strings.Contains(string(m[0].Blocks), "tsumugi_again") {
		t.Errorf("%+v", m)
	}
	elsewhere := o.to
	elsewhere.Channel, elsewhere.Thread, elsewhere.Reply = fake.DemoPrivate, "", "https://evil.example/hook"
	if err := o.adapter.Notify(ctx, elsewhere, n); !errors.Is(err, channel.ErrGone) {
		t.Errorf("answered elsewhere: %v", err)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	o, ctx := open(t, nil), within(t)
	to, since := o.to, time.Now().Add(-time.Minute)
	to.Thread = ""
	first := must.Get(o.adapter.Open(ctx, to, since, "command:1", "旅費は?"))(t)
	for range 250 {
		if _, err := o.Say(fake.Said{Channel: to.Channel, User: fake.DemoTaro, Text: "雑談"}); err != nil {
			t.Fatal(err)
		}
	}
	again, err := o.adapter.Open(ctx, to, since, "command:1", "旅費は?")
	if err != nil || again != first {
		t.Errorf("repeated: %s and %s, %v", first, again, err)
	}
	other, err := o.adapter.Open(ctx, to, since, "command:2", "旅費は?")
	if err != nil || other == first {
		t.Errorf("another command: %s, %v", other, err)
	}
	m, _ := o.Message(to.Channel, first)
	if !strings.Contains(string(m.Blocks), "旅費は?") || !strings.Contains(string(m.Blocks), "hanakoさんの質問") {
		t.Errorf("%s", m.Blocks)
	}
	to.Channel = fake.DemoPrivate
	if _, err := o.adapter.Open(ctx, to, since, "command:3", "x"); !errors.Is(err, channel.ErrGone) {
		t.Errorf("where the assistant is no member: %v", err)
	}
}

func TestSharedChannel(t *testing.T) {
	t.Parallel()
	o, ctx := open(t, nil), within(t)
	root := must.Get(o.Say(fake.Said{Channel: fake.DemoShared, User: fake.DemoTaro, Text: "共同企画です"}))(t)
	to := channel.Target{Installation: o.in, Channel: fake.DemoShared, Thread: root, Person: fake.DemoTaro}
	for range 2 {
		if messages, err := o.adapter.History(ctx, to, ""); fault.CodeOf(err) != fault.Forbidden {
			t.Errorf("%+v, %v", messages, err)
		}
		if _, err := o.adapter.Open(ctx, to, time.Now(), "command:1", "質問"); fault.CodeOf(err) != fault.Forbidden {
			t.Errorf("asked with a command: %v", err)
		}
	}
	if n := o.Calls("conversations.info"); n != 1 {
		t.Errorf("asked %d times", n)
	}
	to.Installation.Policy.SharedChannels = true
	if messages, err := o.adapter.History(ctx, to, ""); err != nil || len(messages) != 1 {
		t.Errorf("allowed: %+v, %v", messages, err)
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	o := open(t, nil)
	direct, _ := o.OpenAssistant(fake.DemoHanako)
	for id, want := range map[string]channel.Place{
		fake.DemoGeneral: {Name: "general"},
		fake.DemoShared:  {Name: "共同企画", Shared: true},
		direct:           {Direct: true},
	} {
		got, err := o.adapter.Place(within(t), channel.Target{Installation: o.in, Channel: id})
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", id, got, err)
		}
	}
	_, err := o.adapter.Place(within(t), channel.Target{Installation: o.in, Channel: fake.DemoPrivate})
	if !errors.Is(err, channel.ErrGone) {
		t.Errorf("a private channel without the assistant: %v", err)
	}
}

func TestHost(t *testing.T) {
	t.Parallel()
	o, ctx := open(t, nil), within(t)
	to := channel.Target{Installation: o.in, Person: fake.DemoHanako}
	must.Succeed(t, o.adapter.ShowHome(ctx, to, channel.Home{LinkURL: "https://tsumugi.example/link"}))
	if home := string(o.Home(fake.DemoHanako)); !strings.Contains(home, "/link") {
		t.Error(home)
	}
	skills := make([]channel.Prompt, 60)
	for i := range skills {
		skills[i] = channel.Prompt{Title: "翻訳<!here>", Text: "訳します"}
	}
	must.Succeed(t, o.adapter.ShowHome(ctx, to, channel.Home{
		Linked: true, Account: "花子（hanako@demo.example）", AppURL: "https://tsumugi.example", Skills: skills,
	}))
	if home := string(o.Home(fake.DemoHanako)); !strings.Contains(home, "hanako@demo.example") {
		t.Error(home)
	}
	dm, thread := o.OpenAssistant(fake.DemoHanako)
	to.Channel, to.Thread, to.Direct = dm, thread, true
	must.Succeed(t, o.adapter.ShowPrompts(ctx, to, skills))
	must.Succeed(t, o.adapter.ShowTitle(ctx, to, "旅費について"))
	if s := o.Session(dm, thread); len(s.Prompts) != 4 || s.Title != "旅費について" {
		t.Errorf("%+v", s)
	}
	// A workspace without assistant threads does not have these optional methods.
	o.Fail(fake.Fault{Method: "assistant.threads.setTitle", Error: "unknown_method"})
	if err := o.adapter.ShowTitle(ctx, to, "旅費"); err != nil {
		t.Error(err)
	}
	o.silent()
}

func TestDirectory(t *testing.T) {
	t.Parallel()
	o, ctx := open(t, nil), within(t)
	w, err := o.adapter.Identify(ctx, o.in.Credentials)
	if err != nil || w != (workspace.Workspace{
		TeamID: fake.DemoTeam, AppID: fake.DemoApp, BotUserID: fake.DemoBot, Name: "デモ商事",
	}) {
		t.Errorf("%+v, %v", w, err)
	}
	if _, err := o.adapter.Identify(ctx, channel.Credentials{BotToken: "xoxb-wrong"}); fault.CodeOf(err) != fault.Invalid {
		t.Errorf("a wrong token: %v", err)
	}
	o.Fail(fake.Fault{Method: "auth.test", Status: http.StatusServiceUnavailable})
	if _, err := o.adapter.Identify(ctx, o.in.Credentials); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("Slack is away: %v", err)
	}
	for person, want := range map[string]workspace.Profile{
		fake.DemoHanako: {Email: "hanako@demo.example", Confirmed: true},
		fake.DemoJiro:   {Email: "jiro@demo.example"},
		fake.DemoGuest:  {Email: "guest@partner.example", Confirmed: true, Guest: true},
		fake.DemoSolo:   {Email: "solo@partner.example", Confirmed: true, Guest: true},
		fake.DemoGone:   {Email: "gone@demo.example", Deleted: true},
	} {
		got, err := o.adapter.Profile(ctx, o.in, person)
		if err != nil || got.Email != want.Email || got.Confirmed != want.Confirmed || got.Guest != want.Guest ||
			got.Deleted != want.Deleted || got.Bot || len(got.Teams) != 1 || got.Teams[0] != fake.DemoTeam {
			t.Errorf("%s: %+v, %v", person, got, err)
		}
	}
	if p, err := o.adapter.Profile(ctx, o.in, fake.DemoBot); err != nil || !p.Bot {
		t.Errorf("an app: %+v, %v", p, err)
	}
	if p, err := o.adapter.Profile(ctx, o.in, fake.DemoRival); err != nil || !p.External && p.Teams[0] == fake.DemoTeam {
		t.Errorf("somebody of another company: %+v, %v", p, err)
	}
	o.Configure(func(app *fake.App) { app.SocketMode = true })
	for _, check := range o.adapter.Check(ctx, o.in) {
		if !check.OK || check.Detail == "" {
			t.Errorf("%+v", check)
		}
	}
	wrong := o.in
	wrong.TeamID, wrong.Credentials.AppToken = fake.DemoOther, "xapp-wrong"
	bad := map[string]bool{}
	for _, check := range o.adapter.Check(ctx, wrong) {
		bad[check.Name] = !check.OK
	}
	if !bad["workspace"] || !bad["socket"] || bad["token"] {
		t.Errorf("%+v", bad)
	}
}

func TestInstallAndSignIn(t *testing.T) {
	t.Parallel()
	o, ctx := open(t, func(c *fake.Config) { c.Now = nil }), within(t)
	const redirect = "https://tsumugi.example/external/slack/v1/oauth/callback"
	back := func(address, person string) string {
		t.Helper()
		location := must.Get(o.Authorize(address, person))(t)
		r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, location, http.NoBody)
		if err != nil || r.URL.Query().Get("state") != "the-state" {
			t.Fatalf("%s: %v", location, err)
		}
		return r.URL.Query().Get("code")
	}
	code := back(o.adapter.InstallURL(o.in.Credentials, redirect, "the-state"), fake.DemoHanako)
	token, err := o.adapter.Install(ctx, o.in.Credentials, redirect, code)
	if err != nil || !strings.HasPrefix(token, "xoxb-") {
		t.Errorf("%q, %v", token, err)
	}
	if _, err := o.adapter.Install(ctx, o.in.Credentials, redirect, code); fault.CodeOf(err) != fault.Invalid {
		t.Errorf("a code twice: %v", err)
	}
	signIn := o.adapter.SignInURL(o.in, redirect, "the-state", "the-nonce")
	who, err := o.adapter.SignIn(ctx, o.in, redirect, back(signIn, fake.DemoTaro), "the-nonce")
	if err != nil || who.Person != fake.DemoTaro || who.TeamID != fake.DemoTeam {
		t.Errorf("%+v, %v", who, err)
	}
	for _, nonce := range []string{"another", ""} {
		code := back(signIn, fake.DemoTaro)
		if _, err := o.adapter.SignIn(ctx, o.in, redirect, code, nonce); fault.CodeOf(err) != fault.Invalid {
			t.Errorf("nonce %q: %v", nonce, err)
		}
	}
	other := o.in
	other.Credentials.ClientID = "1000.9999"
	code = back(signIn, fake.DemoTaro)
	if _, err := o.adapter.SignIn(ctx, other, redirect, code, "the-nonce"); fault.CodeOf(err) != fault.Invalid {
		t.Errorf("another app: %v", err)
	}
}
