package slack_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/channel/channeltest"
	"github.com/tsumugi-ai/tsumugi/internal/slack"
	fake "github.com/tsumugi-ai/tsumugi/test/fakes/slack"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestStream(t *testing.T) {
	t.Parallel()
	o, ctx := open(t, nil), within(t)
	must.Succeed(t, o.adapter.Status(ctx, o.to, "が回答を作成しています…"))
	if s := o.Session(o.to.Channel, o.to.Thread); s.State != "processing" || s.Text == "" {
		t.Errorf("the session is %+v", s)
	}
	ref := must.Get(o.adapter.Begin(ctx, o.to, draft("# 規程\n")))(t)
	states := []string{
		"# 規程\n", "# 規程\n**旅費**は`", "# 規程\n**旅費**は`3,000円`です。\n| a | b |\n|---|---|\n",
		"# 規程\n**旅費**は`3,000円`です。\n| a | b |\n|---|---|\n| 1 | 2 |\n\n詳しくはhttps://example.com/",
	}
	for i := 1; i < len(states); i++ {
		if err := o.adapter.Append(ctx, o.to, ref, draft(states[i-1]), draft(states[i])); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	last := states[len(states)-1]
	end := done(last + "をご覧ください[1]。<!channel>")
	end.Citations = []chat.Citation{{Index: 1, Filename: "旅費規程.pdf", Page: 3}}
	must.Succeed(t, o.adapter.Finish(ctx, o.to, ref, draft(last), end))
	want := "# 規程\n**旅費**\u200bは`3,000円`です。\n```\na | b\n----+----\n1 | 2\n```\n\n" +
		"詳しくはhttps://example.com/をご覧ください[1]。&lt;!channel>"
	markdown, beside := o.shown(o.to.Channel, ref)
	if markdown != want {
		t.Errorf("%q, want\n%q", markdown, want)
	}
	for _, text := range []string{
		"旅費規程.pdf 3ページ", "tsumugi_good", "tsumugi_bad", "tsumugi_again", "https://tsumugi.example/chat/1",
	} {
		if !strings.Contains(beside, text) {
			t.Errorf("below the answer there is no %s: %s", text, beside)
		}
	}
	if s := o.Session(o.to.Channel, o.to.Thread); s.State != "active" {
		t.Errorf("the session is %+v", s)
	}
	if n := len(o.Answers(o.to.Channel, o.to.Thread)); n != 1 {
		t.Errorf("%d messages", n)
	}
	if err := o.adapter.Finish(ctx, o.to, ref, draft(last), end); !errors.Is(err, channel.ErrCannotAppend) {
		t.Errorf("finished again: %v", err)
	}
	if err := o.adapter.Replace(ctx, o.to, ref, end); err != nil {
		t.Error(err)
	}
	if again, _ := o.shown(o.to.Channel, ref); again != want {
		t.Errorf("replaced: %q", again)
	}
	o.silent()
}

func TestSources(t *testing.T) {
	t.Parallel()
	for _, streams := range []bool{true, false} {
		o, ctx := open(t, nil), within(t)
		if !streams {
			o.Configure(func(app *fake.App) { app.Events = []string{"app_mention"} })
		}
		end := done("旅費は3,000円です[1][2][3]。")
		end.Citations = []chat.Citation{
			{Index: 1, Filename: "旅費規程.pdf", Page: 3},
			{Index: 1, Filename: "旅費規程.pdf", Page: 4},
			{Index: 2, Filename: "解説|<旅費>", URL: "https://example.org/a?b=1&c=<d>|e"},
			{Index: 3, Filename: "怪しいページ", URL: "javascript:alert(1)"},
		}
		ref, err := o.adapter.Begin(ctx, o.to, draft("旅費は"))
		must.Succeed(t, err)
		if streams {
			err = o.adapter.Finish(ctx, o.to, ref, draft("旅費は"), end)
		} else {
			err = o.adapter.Replace(ctx, o.to, ref, end)
		}
		must.Succeed(t, err)
		const want = "出典\n<https://tsumugi.example/chat/1|[1] 旅費規程.pdf 3ページ>\n" +
			"<https://example.org/a?b=1&amp;c=%3Cd%3E%7Ce|[2] 解説｜&lt;旅費&gt;>\n[3] 怪しいページ"
		if got := o.notes(ref); len(got) != 1 || got[0] != want {
			t.Errorf("streams %v: %q, want %q", streams, got, want)
		}
		o.silent()
	}
}

// notes returns the texts of the context blocks of a message.
func (o *office) notes(ref channel.Ref) (texts []string) {
	o.t.Helper()
	m, _ := o.Message(o.to.Channel, string(ref))
	var blocks []struct {
		Type     string
		Elements []struct{ Text any }
	}
	if err := json.Unmarshal(m.Blocks, &blocks); err != nil {
		o.t.Fatalf("%s: %v", m.Blocks, err)
	}
	for _, block := range blocks {
		if block.Type == "context" {
			texts = append(texts, fmt.Sprint(block.Elements[0].Text))
		}
	}
	return texts
}

// TestMissingDocuments checks the note below a complete answer of a skill whose documents are missing.
func TestMissingDocuments(t *testing.T) {
	t.Parallel()
	o, ctx := open(t, nil), within(t)
	writing := draft("休暇は")
	writing.Notice = "スキルのファイル1件が見つかりません。<!channel>"
	ref := must.Get(o.adapter.Begin(ctx, o.to, writing))(t)
	if got := o.notes(ref); len(got) != 0 {
		t.Errorf("while it is written: %q", got)
	}
	end := done("休暇は20日です。")
	end.Notice = writing.Notice
	must.Succeed(t, o.adapter.Finish(ctx, o.to, ref, writing, end))
	if got := o.notes(ref); len(got) != 1 || got[0] != "⚠️ "+end.Notice {
		t.Errorf("%q", got)
	}
	o.silent()
}

// silent checks that the assistant has caused no notification and that Slack shows no preview.
func (o *office) silent() {
	o.t.Helper()
	if pinged, unfurled := o.Pinged(), o.Unfurled(); len(pinged)+len(unfurled) > 0 {
		o.t.Errorf("pinged %q, unfurled %q", pinged, unfurled)
	}
}

func TestStream_Expired(t *testing.T) {
	t.Parallel()
	o, ctx := open(t, nil), within(t)
	ref := must.Get(o.adapter.Begin(ctx, o.to, draft("始め")))(t)
	o.Advance(6 * time.Minute)
	if err := o.adapter.Append(ctx, o.to, ref, draft("始め"), draft("始めと")); !errors.Is(err, channel.ErrCannotAppend) {
		t.Fatalf("an expired stream: %v", err)
	}
	for _, d := range []channel.Draft{draft("始めと中ほど"), done("始めと中ほどと終わり")} {
		must.Succeed(t, o.adapter.Replace(ctx, o.to, ref, d))
		if markdown, beside := o.shown(o.to.Channel, ref); markdown != d.Markdown ||
			strings.Contains(beside, "tsumugi_stop") != (d.State == channel.StateWriting) {
			t.Errorf("%q, %s", markdown, beside)
		}
	}
}

func TestReplace_EndsTheStream(t *testing.T) {
	t.Parallel()
	o, ctx := open(t, nil), within(t)
	ref := must.Get(o.adapter.Begin(ctx, o.to, draft("古い回答")))(t)
	must.Succeed(t, o.adapter.Replace(ctx, o.to, ref, draft("新しい")))
	if err := o.adapter.Append(ctx, o.to, ref, draft("新しい"), draft("新しい回答")); !errors.Is(err, channel.ErrCannotAppend) {
		t.Errorf("appended to what is not streamed: %v", err)
	}
	if markdown, _ := o.shown(o.to.Channel, ref); markdown != "新しい" {
		t.Errorf("%q", markdown)
	}
}

func TestWithoutSlacksButton(t *testing.T) {
	t.Parallel()
	o, ctx := open(t, nil), within(t)
	o.Configure(func(app *fake.App) { app.Events = []string{"app_mention"} })
	ref := must.Get(o.adapter.Begin(ctx, o.to, draft("回答 <@U0TARO0001>")))(t)
	markdown, beside := o.shown(o.to.Channel, ref)
	if markdown != "回答 &lt;@\u200bU0TARO0001>" || !strings.Contains(beside, "tsumugi_stop") ||
		o.Calls("chat.startStream") > 0 {
		t.Errorf("%q, %s", markdown, beside)
	}
	next := draft("回答 <@U0TARO0001> https://example.com/")
	if err := o.adapter.Append(ctx, o.to, ref, draft("回答"), next); !errors.Is(err, channel.ErrCannotAppend) {
		t.Fatal(err)
	}
	must.Succeed(t, o.adapter.Replace(ctx, o.to, ref, next))
	if n := o.Calls("chat.stopStream"); n != 0 {
		t.Errorf("%d streams were ended", n)
	}
	o.silent()
}

func TestFind(t *testing.T) {
	t.Parallel()
	since := time.Now().Add(-time.Minute)
	for _, streams := range []bool{true, false} {
		o, ctx := open(t, nil), within(t)
		if !streams {
			o.Configure(func(app *fake.App) { app.Events = []string{"app_mention"} })
		}
		other := draft("別の人への回答です")
		other.AnswerID = uuid.Must(uuid.NewV7())
		if _, err := o.adapter.Begin(ctx, o.to, other); err != nil {
			t.Fatal(err)
		}
		mine := draft("[規程](https://example.com/) の**回答**です。続きがあります")
		if ref, found, err := o.adapter.Find(ctx, o.to, since, nil, mine); err != nil || found {
			t.Fatalf("streams %v: somebody else's message %s is found: %v", streams, ref, err)
		}
		begun := mine
		begun.Markdown = "[規程](https://example.com/) の**回答**です。"
		method := "chat.postMessage"
		if streams {
			method = "chat.startStream"
		}
		o.Fail(fake.Fault{Method: method, After: true, Cut: true})
		if _, err := o.adapter.Begin(ctx, o.to, begun); err == nil {
			t.Fatal("the connection was not cut")
		}
		ref, found, err := o.adapter.Find(ctx, o.to, since, nil, mine)
		if err != nil || !found {
			t.Fatalf("streams %v: not found: %v", streams, err)
		}
		must.Succeed(t, o.adapter.Replace(ctx, o.to, ref, done(mine.Markdown)))
		if markdown, _ := o.shown(o.to.Channel, ref); !strings.HasPrefix(markdown, "[規程]") {
			t.Errorf("streams %v: another message was found: %q", streams, markdown)
		}
		if again, found, err := o.adapter.Find(ctx, o.to, since, nil, mine); err != nil || !found || again != ref {
			t.Errorf("streams %v: a complete message: %s, %v", streams, again, err)
		}
		if _, found, err := o.adapter.Find(ctx, o.to, since, []channel.Ref{ref}, mine); err != nil || found {
			t.Errorf("streams %v: a known message is found: %v", streams, err)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	o, ctx := open(t, nil), within(t)
	ref := must.Get(o.adapter.Begin(ctx, o.to, done("回答")))(t)
	replace := func() error { return o.adapter.Replace(ctx, o.to, ref, done("回答です")) }
	o.Fail(fake.Fault{Method: "chat.update", Status: http.StatusTooManyRequests, RetryAfter: 7 * time.Second})
	var limited *channel.RateLimitError
	if err := replace(); !errors.As(err, &limited) || limited.RetryAfter != 7*time.Second ||
		limited.Method != "chat.update" {
		t.Errorf("429: %v", err)
	}
	for _, c := range []struct {
		fault fake.Fault
		want  error
	}{
		{fake.Fault{Status: http.StatusServiceUnavailable}, nil},
		{fake.Fault{Error: "internal_error"}, nil},
		{fake.Fault{Cut: true}, nil},
		{fake.Fault{Error: "invalid_auth"}, channel.ErrRefused},
		{fake.Fault{Error: "invalid_blocks"}, channel.ErrRefused},
		{fake.Fault{Error: "message_not_found"}, channel.ErrGone},
		{fake.Fault{Error: "is_archived"}, channel.ErrGone},
		{fake.Fault{Error: "token_revoked"}, channel.ErrRevoked},
		{fake.Fault{Error: "msg_too_long"}, channel.ErrTooLong},
		{fake.Fault{Error: "streaming_state_conflict"}, channel.ErrCannotAppend},
	} {
		c.fault.Method = "chat.update"
		o.Fail(c.fault)
		err := replace()
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c.fault, err)
		}
		for _, known := range []error{
			channel.ErrGone, channel.ErrRevoked, channel.ErrTooLong, channel.ErrCannotAppend, channel.ErrRefused,
		} {
			if c.want == nil && errors.Is(err, known) {
				t.Errorf("%+v: %v", c.fault, err)
			}
		}
		if text := err.Error(); strings.Contains(text, fake.DemoToken) || strings.Contains(text, "http") {
			t.Errorf("%+v says too much: %s", c.fault, text)
		}
	}
	if err := replace(); err != nil {
		t.Error(err)
	}
	o.Revoke()
	if err := replace(); !errors.Is(err, channel.ErrRevoked) {
		t.Errorf("a revoked token: %v", err)
	}
}

func TestR89_Messages(t *testing.T) {
	t.Parallel()
	hostile := "<!channel> <!here|here> <@U0TARO0001> <!subteam^S0123> @channel @here `<!channel>` " +
		"<https://example.com/|a>\n```\n<!everyone>\n```\n" +
		"| <@U0TARO0001> |\n|---|\n| <!here> |\n\nhttps://example.com/picture.png"
	for _, streams := range []bool{true, false} {
		o, ctx := open(t, nil), within(t)
		if !streams {
			o.Configure(func(app *fake.App) { app.Events = []string{"app_mention"} })
		}
		end := done(hostile)
		end.State, end.Reason = channel.StateFailed, hostile
		end.Citations = []chat.Citation{{Index: 1, Filename: "<!channel>.pdf", Locator: "<@U0TARO0001>"}}
		ref := must.Get(o.adapter.Begin(ctx, o.to, draft(hostile[:20])))(t)
		if streams {
			for at := 21; at < len(hostile); at++ {
				must.Succeed(t, o.adapter.Append(ctx, o.to, ref, draft(hostile[:at-1]), draft(hostile[:at])))
			}
		}
		must.Succeed(t, o.adapter.Replace(ctx, o.to, ref, end))
		if _, err := o.adapter.Open(ctx, o.to, time.Now(), "e", hostile); err != nil {
			t.Fatal(err)
		}
		must.Succeed(t, o.adapter.Notify(ctx, o.to, channel.Notice{Kind: channel.NoticeInfo, Text: hostile}))
		aside := o.to
		aside.Direct = true
		must.Succeed(t, o.adapter.Notify(ctx, aside, channel.Notice{Kind: channel.NoticeInfo, Text: hostile}))
		o.silent()
	}
}

func TestTooLong(t *testing.T) {
	t.Parallel()
	o, ctx := open(t, nil), within(t)
	// With entities, this text exceeds Slack's limit.
	text := strings.Repeat("a<b ", o.adapter.Traits().MaxCharacters/4)
	from := draft(text[:4_000])
	ref := must.Get(o.adapter.Begin(ctx, o.to, from))(t)
	before := o.Calls("")
	if err := o.adapter.Append(ctx, o.to, ref, from, draft(text)); !errors.Is(err, channel.ErrTooLong) {
		t.Error(err)
	}
	if err := o.adapter.Replace(ctx, o.to, ref, done(text)); !errors.Is(err, channel.ErrTooLong) {
		t.Error(err)
	}
	if _, err := o.adapter.Begin(ctx, o.to, done(text)); !errors.Is(err, channel.ErrTooLong) {
		t.Error(err)
	}
	if n := o.Calls("") - before; n != 0 {
		t.Errorf("%d calls", n)
	}
}

// replacing is the adapter in a workspace without Slack's button to stop an answer.
type replacing struct{ *slack.Adapter }

func (r replacing) Traits() channel.Traits {
	traits := r.Adapter.Traits()
	traits.CanAppend = false
	return traits
}

func TestConform(t *testing.T) {
	t.Parallel()
	for name, events := range map[string][]string{"streams": nil, "replaces": {"app_mention"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			channeltest.Conform(t, func(t *testing.T) channeltest.Subject {
				o := open(t, nil)
				o.Configure(func(app *fake.App) { app.Events = events })
				to, surface := o.to, channel.Surface(o.adapter)
				if events != nil {
					surface = replacing{o.adapter}
				}
				to.Thread = ""
				var err error
				if to.Thread, err = o.adapter.Open(within(t), to, time.Now(), "command:1", "質問"); err != nil {
					t.Fatal(err)
				}
				return channeltest.Subject{
					Surface: surface, To: to, Expire: func() { o.Advance(6 * time.Minute) },
					Content: func(ref channel.Ref) (string, bool) {
						if m, ok := o.Message(o.to.Channel, string(ref)); !ok || m.Deleted {
							return "", false
						}
						markdown, beside := o.shown(o.to.Channel, ref)
						return markdown + beside, true
					},
					AddMessage: func(text string) channel.Ref {
						ts := must.Get(o.Say(fake.Said{
							Channel: o.to.Channel, User: fake.DemoTaro, Thread: to.Thread, Text: text,
						}))(t)
						return channel.Ref(ts)
					},
					CountFiles: func() (n int) {
						for _, m := range o.Answers(to.Channel, to.Thread) {
							n += len(m.Files)
						}
						return n
					},
				}
			})
		})
	}
}
