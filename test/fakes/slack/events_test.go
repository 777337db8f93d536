package slack_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	client "github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"github.com/slack-go/slack/socketmode"
	"github.com/tsumugi-ai/tsumugi/test/fakes/slack"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// receiver is an app that checks the signature of every request.
type receiver struct {
	*httptest.Server

	answer func(http.ResponseWriter, *http.Request, []byte)

	mu       sync.Mutex // Guards the fields below.
	received []received
}

type received struct {
	path   string
	header http.Header
	body   []byte
}

// listen starts a receiver and configures the app with its addresses.
func listen(
	t *testing.T,
	workspace *slack.Workspace,
	answer func(http.ResponseWriter, *http.Request, []byte),
) *receiver {
	t.Helper()
	r := &receiver{answer: answer}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		verifier, err := client.NewSecretsVerifier(request.Header, slack.DemoSecret)
		if err == nil {
			_, _ = verifier.Write(body)
			err = verifier.Ensure()
		}
		if err != nil {
			t.Errorf("%s: %v", request.URL.Path, err)
		}
		r.mu.Lock()
		r.received = append(r.received, received{request.URL.Path, request.Header, body})
		r.mu.Unlock()
		if r.answer != nil {
			r.answer(w, request, body)
		}
	}))
	t.Cleanup(r.Close)
	workspace.Configure(func(app *slack.App) { app.Server = r.URL })
	return r
}

func (r *receiver) all() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.received)
}

// kinds returns the types of the received events, in any order.
func (r *receiver) kinds(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, one := range r.all() {
		event := must.Get(slackevents.ParseEvent(one.body, slackevents.OptionNoVerifyToken()))(t)
		var inner struct {
			Type, Subtype string
		}
		_ = json.Unmarshal(*event.Data.(*slackevents.EventsAPICallbackEvent).InnerEvent, &inner)
		found = append(found, strings.TrimSuffix(inner.Type+" "+inner.Subtype, " "))
	}
	slices.Sort(found)
	return found
}

func settled(t *testing.T, workspace *slack.Workspace) {
	t.Helper()
	await(t, workspace, "deliveries", func() bool {
		return !slices.ContainsFunc(workspace.Events(""), func(e slack.Event) bool { return !e.Done })
	})
}

func live(c *slack.Config) { c.Now = time.Now }

func TestEvents(t *testing.T) {
	t.Parallel()
	workspace, api := open(t, live)
	r := listen(t, workspace, nil)
	said := slack.Said{Channel: slack.DemoSales, User: slack.DemoTaro, Text: "議事録を要約して"}
	ts := valueOf[string](t)(workspace.Mention(said))
	must.Succeed(t, workspace.Edit(slack.DemoSales, ts, "<@"+slack.DemoBot+"> 訂正"))
	must.Succeed(t, workspace.Delete(slack.DemoSales, ts))
	said.Channel = slack.DemoPrivate // The app is not a member.
	valueOf[string](t)(workspace.Say(said))
	if _, _, err := workspace.Tell(said); err != nil {
		t.Fatal(err)
	}
	workspace.OpenHome(slack.DemoTaro)
	workspace.OpenAssistant(slack.DemoTaro)
	if _, _, err := api.PostMessageContext(t.Context(), slack.DemoSales, client.MsgOptionText("a", false)); err != nil {
		t.Fatal(err)
	}
	valueOf[string](t)(workspace.Say(slack.Said{
		Channel: slack.DemoSales, User: slack.DemoTaro, Files: []slack.Upload{{Name: "a.txt", Content: []byte("a")}},
	}))
	workspace.Revoke()
	settled(t, workspace)
	want := []string{
		"app_home_opened", "app_mention", "assistant_thread_started", "message", "message", "message",
		"message file_share", "message message_changed", "message message_deleted", "tokens_revoked",
	}
	if got := r.kinds(t); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	var mention struct {
		TeamID string `json:"team_id"`
		AppID  string `json:"api_app_id"`
		Event  struct{ User, Text, TS, Channel string }
	}
	must.Succeed(t, json.Unmarshal(workspace.Events("app_mention")[0].Body, &mention))
	if mention.TeamID != slack.DemoTeam || mention.AppID != slack.DemoApp || mention.Event.User != slack.DemoTaro ||
		mention.Event.TS != ts || mention.Event.Text != "<@"+slack.DemoBot+"> 議事録を要約して" {
		t.Errorf("%+v", mention)
	}
}

func TestSubscriptions(t *testing.T) {
	t.Parallel()
	workspace, _ := open(t, live)
	r := listen(t, workspace, nil)
	workspace.Configure(func(app *slack.App) { app.Events = []string{"app_mention", "message.im"} })
	said := slack.Said{Channel: slack.DemoSales, User: slack.DemoTaro, Text: "質問"}
	valueOf[string](t)(workspace.Mention(said))
	if _, _, err := workspace.Tell(said); err != nil {
		t.Fatal(err)
	}
	settled(t, workspace)
	if got := r.kinds(t); !slices.Equal(got, []string{"app_mention", "message"}) {
		t.Error(got)
	}
}

func TestRetries(t *testing.T) {
	t.Parallel()
	workspace, _ := open(t, func(c *slack.Config) { live(c); c.Timeout = time.Second })
	var mu sync.Mutex
	times := 0
	released := make(chan struct{})
	r := listen(t, workspace, func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		mu.Lock()
		times++
		now := times
		mu.Unlock()
		switch now {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			<-released // Longer than the timeout.
		}
	})
	t.Cleanup(func() { close(released) })
	workspace.Configure(func(app *slack.App) { app.Events = []string{"app_mention"} })
	said := slack.Said{Channel: slack.DemoSales, User: slack.DemoTaro, Text: "質問"}
	valueOf[string](t)(workspace.Mention(said))
	tries := func() []slack.Delivery { return workspace.Events("app_mention")[0].Deliveries }
	await(t, workspace, "two tries", func() bool { return len(tries()) == 2 })
	workspace.Advance(time.Minute)
	settled(t, workspace)
	var reasons []string
	for _, try := range tries() {
		reasons = append(reasons, try.Reason)
	}
	if !slices.Equal(reasons, []string{"http_error", "http_timeout", ""}) {
		t.Error(reasons)
	}
	all := r.all()
	if len(all) != 3 || all[0].header.Get("X-Slack-Retry-Num") != "" || all[2].header.Get("X-Slack-Retry-Num") != "2" ||
		all[2].header.Get("X-Slack-Retry-Reason") != "http_timeout" || string(all[0].body) != string(all[2].body) {
		t.Errorf("%d deliveries, %v", len(all), all[len(all)-1].header)
	}
}

func TestDuplicates(t *testing.T) {
	t.Parallel()
	workspace, _ := open(t, live)
	r := listen(t, workspace, nil)
	workspace.Configure(func(app *slack.App) { app.Events = []string{"app_mention"} })
	said := slack.Said{Channel: slack.DemoSales, User: slack.DemoTaro, Text: "質問"}
	workspace.Duplicate("app_mention", 19)
	valueOf[string](t)(workspace.Mention(said))
	valueOf[string](t)(workspace.Mention(said))
	settled(t, workspace)
	if got := len(r.all()); got != 20+1 {
		t.Errorf("%d deliveries", got)
	}
}

func TestInteractions(t *testing.T) {
	t.Parallel()
	workspace, api := open(t, live)
	var last client.InteractionCallback
	r := listen(t, workspace, func(w http.ResponseWriter, request *http.Request, body []byte) {
		form, _ := url.ParseQuery(string(body))
		switch request.URL.Path {
		case "/external/slack/v1/interaction":
			last = client.InteractionCallback{}
			if err := json.Unmarshal([]byte(form.Get("payload")), &last); err != nil {
				t.Error(err)
			}
		case "/external/slack/v1/command":
			_, _ = io.WriteString(w, `{"text":"`+form.Get("command")+" "+form.Get("text")+`"}`)
		}
	})
	workspace.Configure(func(app *slack.App) { app.Events = []string{} })
	button := client.NewButtonBlockElement(
		"tsumugi_again",
		"answer-1",
		client.NewTextBlockObject("plain_text", "再回答", false, false),
	)
	_, ts, err := api.PostMessageContext(t.Context(), slack.DemoSales, client.MsgOptionText("答え", false),
		client.MsgOptionBlocks(client.NewActionBlock("b1", button)))
	must.Succeed(t, err)
	must.Succeed(t, workspace.Click(t.Context(), slack.DemoTaro, slack.DemoSales, ts, "tsumugi_again"))
	if len(last.ActionCallback.BlockActions) != 1 {
		t.Fatalf("%+v", last)
	}
	if action := last.ActionCallback.BlockActions[0]; action.ActionID != "tsumugi_again" || action.Value != "answer-1" ||
		action.BlockID != "b1" || last.User.ID != slack.DemoTaro || last.Message.Timestamp != ts ||
		last.Team.ID != slack.DemoTeam {
		t.Errorf("%+v", last)
	}
	must.Succeed(t, client.PostWebhookCustomHTTPContext(t.Context(), last.ResponseURL,
		&http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		&client.WebhookMessage{Text: "評価しました"}))
	if seen := workspace.Ephemeral(slack.DemoSales, slack.DemoTaro); len(seen) != 1 || seen[0].Text != "評価しました" {
		t.Errorf("%+v", seen)
	}
	err = workspace.Shortcut(t.Context(), slack.DemoTaro, slack.DemoSales, ts, "tsumugi_summarize")
	if err != nil ||
		last.CallbackID != "tsumugi_summarize" ||
		last.Message.Text != "答え" {
		t.Errorf("%v, %+v", err, last)
	}
	err = workspace.Command(t.Context(), slack.DemoTaro, slack.DemoSales, "help")
	must.Succeed(t, err)
	messages := workspace.Messages(slack.DemoSales)
	if got := messages[len(messages)-1]; got.Text != "/tsumugi help" || got.For != slack.DemoTaro {
		t.Errorf("%+v", got)
	}
	if len(r.all()) != 3 {
		t.Errorf("%d requests", len(r.all()))
	}
}

func TestSocketMode(t *testing.T) {
	t.Parallel()
	workspace, api := open(t, live)
	workspace.Configure(func(app *slack.App) { app.SocketMode = true })
	connect := func(connected chan<- string) *socketmode.Client {
		socket := socketmode.New(api)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{}, 2)
		go func() { _ = socket.RunContext(ctx); ended <- struct{}{} }()
		go func() {
			defer func() { ended <- struct{}{} }()
			for {
				select {
				case <-ctx.Done():
					return
				case event := <-socket.Events:
					switch event.Type {
					case socketmode.EventTypeEventsAPI,
						socketmode.EventTypeSlashCommand,
						socketmode.EventTypeInteractive:
						_ = socket.Ack(*event.Request)
						connected <- string(event.Type)
					}
				}
			}
		}()
		t.Cleanup(func() { cancel(); <-ended; <-ended })
		return socket
	}
	first, second := make(chan string, 100), make(chan string, 100)
	connect(first)
	connect(second)
	await(t, workspace, "two connections", func() bool { return workspace.Sockets() == 2 })
	said := slack.Said{Channel: slack.DemoSales, User: slack.DemoTaro, Text: "質問"}
	for range 4 {
		valueOf[string](t)(workspace.Say(said))
	}
	settled(t, workspace)
	if len(first)+len(second) != 4 || len(first) == 0 || len(second) == 0 {
		t.Errorf("%d and %d events", len(first), len(second))
	}
	if err := workspace.Command(t.Context(), slack.DemoTaro, slack.DemoSales, ""); err != nil {
		t.Error(err)
	}
	must.Succeed(t, workspace.Refresh(t.Context(), "refresh_requested"))
	await(t, workspace, "connections again", func() bool { return workspace.Sockets() == 2 })
	valueOf[string](t)(workspace.Say(said))
	settled(t, workspace)
	for _, event := range workspace.Events("") {
		if last := event.Deliveries[len(event.Deliveries)-1]; last.Status != http.StatusOK {
			t.Errorf("%+v", event.Deliveries)
		}
	}
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	workspace, _ := open(t, live)
	back := valueOf[*url.URL](t)(url.Parse(valueOf[string](t)(workspace.Authorize("/openid/connect/authorize?"+url.Values{
		"client_id": {"1000.1001"}, "scope": {"openid"}, "state": {"s1"}, "nonce": {"n1"},
		"response_type": {"code"}, "redirect_uri": {"https://app.example/cb"},
	}.Encode(), slack.DemoJiro))))
	plain := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	at := client.OAuthOptionAPIURL(workspace.URL() + "/api/")
	_, err := client.GetOAuthV2ResponseContext(t.Context(), plain, "1000.1001", "demo-client-secret",
		back.Query().Get("code"), "https://app.example/cb", at)
	refused(t, err, "oauth_authorization_url_mismatch")
	token, err := client.GetOpenIDConnectTokenContext(t.Context(), plain, "1000.1001", "demo-client-secret",
		back.Query().Get("code"), "https://app.example/cb", at)
	must.Succeed(t, err)
	var keys struct {
		Keys []struct{ N, E, Kid string }
	}
	answer := valueOf[*http.Response](t)(plain.Get(workspace.URL() + "/openid/connect/keys"))
	defer answer.Body.Close()
	must.Succeed(t, json.NewDecoder(answer.Body).Decode(&keys))
	claims := jwt.MapClaims{}
	must.Get(jwt.ParseWithClaims(token.IdToken, claims, func(*jwt.Token) (any, error) {
		return publicKey(keys.Keys[0].N, keys.Keys[0].E)
	}, jwt.WithIssuer(workspace.URL()), jwt.WithAudience("1000.1001"), jwt.WithValidMethods([]string{"RS256"})))(t)
	want := map[string]any{
		"sub": slack.DemoJiro, "nonce": "n1",
		"https://slack.com/team_id": slack.DemoTeam, "https://slack.com/user_id": slack.DemoJiro,
	}
	for name, value := range want {
		if claims[name] != value {
			t.Errorf("%s is %v", name, claims[name])
		}
	}
}
