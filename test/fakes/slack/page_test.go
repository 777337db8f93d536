package slack_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	client "github.com/slack-go/slack"
	"github.com/tsumugi-ai/tsumugi/test/fakes/slack"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// screen is the part of a page's state that the tests read.
type screen struct {
	Messages []struct{ Ephemeral bool }
	Replies  []struct{ Markdown string }
}

func plainClient() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
}

// watch calls seen with every screen of a person until it reports true.
func watch(t *testing.T, workspace *slack.Workspace, query string, seen func(screen) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	request := valueOf[*http.Request](t)(http.NewRequestWithContext(ctx, http.MethodGet,
		workspace.URL()+"/ui/watch?"+query, nil))
	answer := valueOf[*http.Response](t)(plainClient().Do(request))
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		var now screen
		if ok && json.Unmarshal([]byte(data), &now) == nil && seen(now) {
			return
		}
	}
	t.Fatalf("the page never showed it: %v", lines.Err())
}

func send(t *testing.T, workspace *slack.Workspace, path string, body any) map[string]any {
	t.Helper()
	raw := valueOf[[]byte](t)(json.Marshal(body))
	request := valueOf[*http.Request](t)(http.NewRequestWithContext(t.Context(), http.MethodPost, workspace.URL()+path,
		bytes.NewReader(raw)))
	answer := valueOf[*http.Response](t)(plainClient().Do(request))
	defer answer.Body.Close()
	var said map[string]any
	must.Succeed(t, json.NewDecoder(answer.Body).Decode(&said))
	return said
}

func TestPage(t *testing.T) {
	t.Parallel()
	workspace, api := open(t, live)
	for _, name := range []string{"/", "/page.js", "/page.css", "/render.js"} {
		answer := valueOf[*http.Response](t)(plainClient().Get(workspace.URL() + name))
		if body, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK || len(body) < 500 {
			t.Errorf("%s: %s", name, answer.Status)
		}
		_ = answer.Body.Close()
	}
	act := map[string]any{
		"act": "say", "as": slack.DemoTaro, "channel": slack.DemoSales, "text": "@Tsumugi <b>質問</b>",
	}
	ts, _ := send(t, workspace, "/ui/act", act)["ts"].(string)
	if m, _ := workspace.Message(slack.DemoSales, ts); m.Text != "<@"+slack.DemoBot+"> &lt;b&gt;質問&lt;/b&gt;" {
		t.Errorf("%+v", m)
	}
	at := "as=" + slack.DemoTaro + "&channel=" + slack.DemoSales + "&thread=" + ts
	began := make(chan struct{})
	go func() {
		defer close(began)
		_, stream, err := api.StartStreamContext(t.Context(), slack.DemoSales, client.MsgOptionTS(ts),
			client.MsgOptionRecipientTeamID(slack.DemoTeam), client.MsgOptionRecipientUserID(slack.DemoTaro))
		if err == nil {
			_, _, err = api.AppendStreamContext(
				t.Context(),
				slack.DemoSales,
				stream,
				client.MsgOptionMarkdownText("**答え**"),
			)
		}
		if err == nil {
			_, err = api.PostEphemeralContext(
				t.Context(),
				slack.DemoSales,
				slack.DemoTaro,
				client.MsgOptionText("秘密", false),
			)
		}
		if err != nil {
			t.Error(err)
		}
	}()
	watch(t, workspace, at, func(now screen) bool {
		return len(now.Replies) == 2 && now.Replies[1].Markdown == "**答え**" &&
			now.Messages[len(now.Messages)-1].Ephemeral
	})
	<-began
	watch(t, workspace, strings.Replace(at, slack.DemoTaro, slack.DemoHanako, 1), func(now screen) bool {
		return len(now.Messages) == 1 // A message that only Taro sees is absent.
	})
	act["as"] = slack.DemoGuest
	if said := send(t, workspace, "/ui/act", act); said["ok"] != false {
		t.Error("somebody wrote in a channel of others")
	}
}

func TestControl(t *testing.T) {
	t.Parallel()
	workspace, api := open(t, nil)
	seconds := func() int64 {
		ts := valueOf[string](t)(workspace.Say(slack.Said{Channel: slack.DemoSales, User: slack.DemoTaro}))
		return valueOf[int64](t)(strconv.ParseInt(strings.Split(ts, ".")[0], 10, 64))
	}
	before := seconds()
	send(t, workspace, "/control/advance", map[string]any{"seconds": 90})
	if got := seconds() - before; got != 90 {
		t.Error(got)
	}
	send(t, workspace, "/control/fail", map[string]any{"fault": slack.Fault{Method: "auth.test", Status: 503}})
	if _, err := api.AuthTestContext(t.Context()); err == nil {
		t.Error("no fault")
	}
	var messages []slack.Message
	answer := valueOf[*http.Response](t)(plainClient().Get(workspace.URL() + "/control/messages?channel=" + slack.DemoSales))
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&messages); err != nil || len(messages) != 2 {
		t.Errorf("%v, %+v", err, messages)
	}
	if said := send(t, workspace, "/control/nothing", map[string]any{}); said["ok"] != false {
		t.Error(said)
	}
}
