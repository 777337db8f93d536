package slack_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/slack"
	fake "github.com/tsumugi-ai/tsumugi/test/fakes/slack"
	"github.com/tsumugi-ai/tsumugi/test/leak"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestMain(m *testing.M) { leak.Main(m) }

// office is a fake workspace with an adapter.
type office struct {
	*fake.Workspace
	t       *testing.T
	adapter *slack.Adapter
	in      channel.Installation
	to      channel.Target // Target of a mention by Hanako in a channel.
}

// open starts the demo workspace with the changes of a test. Its clock advances only by Advance.
func open(t *testing.T, change func(*fake.Config)) *office {
	t.Helper()
	config := fake.Demo()
	at := time.Now()
	config.Now = func() time.Time { return at }
	if change != nil {
		change(&config)
	}
	o := &office{Workspace: fake.New(config), t: t}
	server := httptest.NewServer(o.Workspace)
	o.SetURL(server.URL)
	adapter := must.Get(slack.New(slack.Config{APIURL: server.URL + "/api"}, slog.New(slog.DiscardHandler)))(t)
	t.Cleanup(func() {
		adapter.Close()
		server.Close()
		o.Close()
	})
	o.adapter = adapter
	o.in = channel.Installation{
		ID: uuid.Must(uuid.NewV7()), Surface: slack.Name, TeamID: fake.DemoTeam, AppID: fake.DemoApp, BotUserID: fake.DemoBot,
		Credentials: channel.Credentials{
			BotToken: fake.DemoToken, AppToken: fake.DemoSocket, ClientID: "1000.1001", ClientSecret: "demo-client-secret",
			SigningSecret: fake.DemoSecret,
		},
	}
	o.to = o.mentioned(fake.DemoHanako, "質問です")
	return o
}

// mentioned sends a mention of the assistant by a person, and returns the target of the answer.
func (o *office) mentioned(person, text string) channel.Target {
	o.t.Helper()
	ts := must.Get(o.Mention(fake.Said{Channel: fake.DemoGeneral, User: person, Text: text}))(o.t)
	return channel.Target{Installation: o.in, Channel: fake.DemoGeneral, Thread: ts, Person: person}
}

// shown returns the Markdown of a message, and all its other texts.
func (o *office) shown(channelID string, ref channel.Ref) (markdown, beside string) {
	o.t.Helper()
	m, ok := o.Message(channelID, string(ref))
	if !ok {
		o.t.Fatalf("no message %s", ref)
	}
	var blocks []map[string]any
	if err := json.Unmarshal(m.Blocks, &blocks); err != nil {
		o.t.Fatalf("%s: %v", m.Blocks, err)
	}
	var rest []string
	for _, block := range blocks {
		if block["type"] == "markdown" {
			markdown += block["text"].(string)
			continue
		}
		raw, _ := json.Marshal(block)
		rest = append(rest, string(raw))
	}
	return markdown, strings.Join(rest, "\n")
}

// draft returns an answer in progress.
func draft(markdown string) channel.Draft {
	return channel.Draft{
		AnswerID: uuid.MustParse("01930000-0000-7000-8000-000000000001"), Markdown: markdown, State: channel.StateWriting,
		Last: true, URL: "https://tsumugi.example/chat/1",
	}
}

// done returns a complete answer.
func done(markdown string) channel.Draft {
	d := draft(markdown)
	d.State = channel.StateDone
	return d
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}
