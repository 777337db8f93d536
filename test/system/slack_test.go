package system_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/tsumugi-ai/tsumugi/test/fakes/slack"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// slackRig is a cluster that is connected to a fake Slack workspace. The workspace sends its events to the servers in
// turn. The demo user is a member of the workspace.
type slackRig struct {
	*rig

	workspace *slack.Workspace
}

// newSlackRig starts a workspace and n servers.
func newSlackRig(t *testing.T, n int, socketMode bool, more ...string) *slackRig {
	t.Helper()
	config := slack.Demo()
	config.App.SocketMode = socketMode
	config.People[1].Email = demoUser // The address of slack.DemoTaro.
	workspace := slack.New(config)
	server := httptest.NewServer(workspace)
	workspace.SetURL(server.URL)
	t.Cleanup(func() {
		workspace.Close()
		server.CloseClientConnections()
		server.Close()
	})
	app := config.App
	more = append(more, "SLACK_API_URL="+server.URL+"/api/", "SLACK_BOT_TOKEN="+slack.DemoToken,
		"SLACK_SIGNING_SECRET="+app.SigningSecret, "TSUMUGI_SECRET_KEY="+base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if socketMode {
		more = append(more, "SLACK_APP_TOKEN="+app.AppToken)
	}
	s := &slackRig{newRig(t, n, more...), workspace}
	workspace.Configure(func(app *slack.App) { app.Server = s.URL() })
	s.link(t)
	return s
}

// link makes the servers link Slack users to members by email address. An address is confirmed once the member has
// signed in.
func (s *slackRig) link(t *testing.T) {
	t.Helper()
	admin := signInAs(t, s.URL(), "admin@demo.example")
	await(t, "the workspace is known", waitLimit, func() bool {
		var config struct{ Workspace *struct{} }
		mustSoon(t, func() error { return admin.call(t.Context(), http.MethodGet, s.URL()+"/v1/slack-config", nil, &config) })
		return config.Workspace != nil
	})
	policy := map[string]any{"policy": map[string]any{"auto_link": true, "shared_channels": false, "channels": []string{}}}
	mustSoon(t, func() error { return admin.call(t.Context(), http.MethodPut, s.URL()+"/v1/slack-config", policy, nil) })
	mustSoon(t, func() error { return s.call(t.Context(), http.MethodGet, s.URL()+"/v1/me", nil, nil) })
}

// mention asks a question in a channel and returns the ts of the message.
func (s *slackRig) mention(t *testing.T, a answer) string {
	t.Helper()
	ts, err := s.workspace.Mention(slack.Said{
		Channel: slack.DemoSales, User: slack.DemoTaro, Text: a.in("").Content,
	})
	must.Succeed(t, err)
	return ts
}

// awaitWorkspace waits until the workspace fulfils a condition.
func (s *slackRig) awaitWorkspace(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	if err := s.workspace.Await(ctx, done); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// answered waits until the last answer in a thread is complete, and returns all answers.
func (s *slackRig) answered(t *testing.T, ts string) []slack.Message {
	t.Helper()
	var answers []slack.Message
	s.awaitWorkspace(t, "an answer", func() bool {
		answers = s.workspace.Answers(slack.DemoSales, ts)
		return len(answers) > 0 && answers[len(answers)-1].Stream == "completed"
	})
	return answers
}

// stored returns the only answer to a question that was asked in Slack.
func (s *slackRig) stored(t *testing.T) message {
	t.Helper()
	var threads struct{ Items []struct{ ID string } }
	must.Succeed(t, s.call(t.Context(), http.MethodGet, s.URL()+"/v1/thread", nil, &threads))
	if len(threads.Items) != 1 {
		t.Fatalf("%d threads", len(threads.Items))
	}
	messages := must.Get(s.messages(t.Context(), s.URL(), threads.Items[0].ID))(t)
	if len(messages) != 2 {
		t.Fatalf("%d messages", len(messages))
	}
	return messages[1]
}

// TestR88_OneAnswerToTwentyEvents delivers the event of a mention twenty times at once to three servers, while a client
// follows the answer in the app.
func TestR88_OneAnswerToTwentyEvents(t *testing.T) {
	t.Parallel()
	for name, socketMode := range map[string]bool{"by requests": false, "in Socket Mode": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSlackRig(t, 3, socketMode)
			if socketMode {
				s.awaitWorkspace(t, "two sockets", func() bool { return s.workspace.Sockets() == 2 })
			}
			s.workspace.Duplicate("app_mention", 19)
			a := answer{chars: 1_200, rate: 100, seed: 7}
			ts := s.mention(t, a)
			s.awaitWorkspace(t, "the beginning", func() bool {
				return len(s.workspace.Answers(slack.DemoSales, ts)) > 0
			})
			want := a.in("").want
			followed := s.follow(t, want)
			answers := s.answered(t, ts)
			if len(answers) != 1 {
				t.Fatalf("%d answers", len(answers))
			}
			followed()
			stored := s.stored(t)
			if sha256.Sum256([]byte(stored.Content)) != sha256.Sum256([]byte(want)) {
				t.Errorf("stored are %d bytes, want %d", len(stored.Content), len(want))
			}
			if got, want := bareText(answers[0].Shown()), bareText(want); got != want {
				t.Errorf("shown is %q, want %q", got, want)
			}
			if n := len(s.workspace.Events("app_mention")[0].Deliveries); n != 20 {
				t.Errorf("%d deliveries", n)
			}
			if pinged := s.workspace.Pinged(); len(pinged) > 0 {
				t.Errorf("notified: %v", pinged)
			}
		})
	}
}

// TestLeaversLoseTheirSlackLink deactivates, restores and deletes a member by SCIM. Their running answer is withdrawn,
// and their messages are refused, while they are inactive.
func TestLeaversLoseTheirSlackLink(t *testing.T) {
	t.Parallel()
	s := newSlackRig(t, 2, false)
	idp := newProvider(t, s.rig)
	var found scimList
	must.Succeed(t, idp.call(t.Context(), http.MethodGet, s.URL()+"/scim/v2/Users?filter="+
		url.QueryEscape(fmt.Sprintf("userName eq %q", demoUser)), nil, &found))
	user := "/scim/v2/Users/" + found.Resources[0].ID

	running := s.mention(t, answer{chars: 8000, rate: 20, seed: 1})
	s.awaitWorkspace(t, "the beginning", func() bool { return len(s.workspace.Answers(slack.DemoSales, running)) > 0 })
	idp.activate(t, s.URL()+user, false)
	s.awaitWorkspace(t, "the end of the answer", func() bool {
		return strings.Contains(s.workspace.Answers(slack.DemoSales, running)[0].Shown(), "開けなくなった")
	})
	refused := func(n int) {
		t.Helper()
		ts := s.mention(t, answer{chars: 10, rate: 100, seed: 2})
		s.awaitWorkspace(t, "the refusal", func() bool {
			told := s.workspace.Ephemeral(slack.DemoSales, slack.DemoTaro)
			return len(told) == n && strings.Contains(told[n-1].Text, "停止または削除されている")
		})
		if answers := s.workspace.Answers(slack.DemoSales, ts); len(answers) > 0 {
			t.Errorf("%d answers for a leaver", len(answers))
		}
	}
	refused(1)
	idp.activate(t, s.URL()+user, true)
	again := answer{chars: 150, rate: 150, seed: 3}
	ts := s.mention(t, again)
	s.awaitWorkspace(t, "an answer", func() bool { return s.says(ts, bareText(again.in("").want)) })
	must.Succeed(t, idp.call(t.Context(), http.MethodDelete, s.URL()+user, nil, nil))
	refused(2)
}

// bareText removes the markup that differs between Slack and the app.
func bareText(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, html.UnescapeString(text))
}

// follow reads the stream of the answer in the only thread. The returned function waits for its end.
func (s *slackRig) follow(t *testing.T, want string) func() {
	t.Helper()
	answer := s.stored(t)
	var all followers
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	t.Cleanup(cancel)
	all.run(ctx, t, &follower{
		client: s.client, where: s.anywhere, method: http.MethodGet, path: "/v1/message/" + answer.ID + "/stream",
	}, want)
	return sync.OnceFunc(func() { join(ctx, t, &all.wait) })
}

// TestR88_KilledServers kills servers at random moments while they write answers into Slack. Each mention gets one
// message with the stored text.
func TestR88_KilledServers(t *testing.T) {
	t.Parallel()
	for name, socketMode := range map[string]bool{"by requests": false, "in Socket Mode": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newSlackRig(t, 3, socketMode, shortLease).survivesKills(t)
		})
	}
}

// survivesKills asks questions and kills servers at the same time.
func (s *slackRig) survivesKills(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*waitLimit)
	defer cancel()
	enough := make(chan struct{})
	var talkers sync.WaitGroup
	var mu sync.Mutex
	asked := make(map[string]string) // The expected text of the answer, by the ts of the mention.
	for talker := range 3 {
		talkers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-enough:
					return
				default:
				}
				a := answer{chars: 150, rate: 150, seed: uint64(1000*talker + n)} //nolint:gosec // Small.
				ts := s.mention(t, a)
				want := bareText(a.in("").want)
				mu.Lock()
				asked[ts] = want
				mu.Unlock()
				if err := s.workspace.Await(ctx, func() bool { return s.says(ts, want) }); err != nil {
					t.Errorf("%s is not answered: %q", ts, s.shown(ts))
					return
				}
			}
		})
	}
	for range kills / 2 { // Each way of receiving events gets half of the kills.
		pause(ctx, rand.N(700*time.Millisecond))
		i := rand.N(s.Len())
		s.Kill(i)
		must.Succeed(t, s.Restart(ctx, i))
	}
	close(enough)
	talkers.Wait()
	t.Logf("%d mentions", len(asked))
	for ts, want := range asked { // A superseded message may be deleted a little later.
		s.awaitWorkspace(t, "one message with the whole answer", func() bool {
			shown := s.shown(ts)
			return len(shown) == 1 && shown[0] == want
		})
	}
}

// shown returns the texts of the answers to a mention.
func (s *slackRig) shown(ts string) (texts []string) {
	for _, m := range s.workspace.Answers(slack.DemoSales, ts) {
		texts = append(texts, bareText(m.Shown()))
	}
	return texts
}

// says reports whether one of the answers to a mention has this text.
func (s *slackRig) says(ts, text string) bool { return slices.Contains(s.shown(ts), text) }
