package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/test/leak"
)

// join opens a live socket of a member.
func (f *fixture) join(token string) *socketClient {
	f.t.Helper()
	return dialLive(f.t, f.url, nil).join(token)
}

func TestR19_UpgradesAreLookedAtFirst(t *testing.T) {
	t.Parallel()
	f := newLiveFixture(t, llmtest.Say("はい"), api.LiveConfig{PublicURL: "https://chat.example/", Sockets: 1})
	upgrade := func(header ...string) response {
		h := map[string]string{
			"Connection": "keep-alive, Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
			"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
		}
		for i := 0; i+1 < len(header); i += 2 {
			h[header[i]] = header[i+1]
		}
		return f.do(call{method: "GET", path: "/v1/live", header: h})
	}
	for _, origin := range []string{
		"https://evil.example", "null", "https://chat.example.evil.example", "file://",
		"https://chat.example:8443", "ftp://chat.example", "",
	} {
		if resp := upgrade("Origin", origin); resp.status != http.StatusForbidden ||
			resp.problem(t).Code != "forbidden" {
			t.Errorf("from %q: %d %s", origin, resp.status, resp.body)
		}
	}
	for _, header := range [][]string{{"Upgrade", "h2c"}, {"Connection", "close"}, {"Sec-WebSocket-Version", "12"}} {
		resp := upgrade(header...)
		if resp.status != http.StatusUpgradeRequired || resp.header.Get("Upgrade") != "websocket" ||
			resp.problem(t).Code != "upgrade_required" {
			t.Errorf("%v: %d %v %s", header, resp.status, resp.header, resp.body)
		}
	}
	if resp := f.do(call{
		method: "GET", path: "/v1/live", token: f.alice.Subject,
	}); resp.status != http.StatusUpgradeRequired {
		t.Errorf("no upgrade: %d", resp.status)
	}
	for _, key := range []string{"", "short", "dGhlIHNhbXBsZSBub25jZQ=="[:20]} {
		if resp := upgrade("Sec-WebSocket-Key", key); resp.status != http.StatusBadRequest ||
			resp.problem(t).Code != "invalid" {
			t.Errorf("key %q: %d %s", key, resp.status, resp.body)
		}
	}

	// The only socket of the server.
	c := dialLive(t, f.url, &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {f.url}}}).join(f.alice.Subject)
	if resp := upgrade("Origin", "https://CHAT.example"); resp.status != http.StatusServiceUnavailable ||
		resp.header.Get("Retry-After") == "" {
		t.Errorf("above the cap: %d %s", resp.status, resp.body)
	}
	_ = c.Close(websocket.StatusNormalClosure, "")
}

func TestEventsReachEveryTabOfTheirPersonInOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	tabs := []*socketClient{f.join(f.alice.Subject), f.join(f.alice.Subject)}
	others := []*socketClient{f.join(f.bob.Subject), f.join(f.stranger.Subject)}

	thread := f.thread(f.alice.Subject)
	path := "/v1/thread/" + thread.ID.String()
	get[api.Thread](f, http.StatusOK, call{
		method: "PUT", path: path, token: f.alice.Subject,
		body: map[string]string{"title": "新しい名前"},
	})
	exchange := get[api.Exchange](f, http.StatusOK, call{
		method: "POST", path: "/v1/message/sync",
		token: f.alice.Subject, body: map[string]any{
			"request_id": newID(), "thread_id": thread.ID, "content": "ひみつの質問",
		},
	})
	f.do(call{method: "DELETE", path: path, token: f.alice.Subject})

	var seen [2][][]byte
	for i, tab := range tabs {
		var renamed, ended, deleted bool
		for !deleted {
			event, frame := tab.next()
			seen[i] = append(seen[i], frame)
			renamed = renamed || event.Thread != nil && event.Thread.ID == thread.ID && event.Thread.Title == "新しい名前"
			ended = ended || event.Message != nil && event.Message.ID == exchange.Answer.ID &&
				event.Message.Status == api.JobStatusSuccess &&
				event.Message.ParentID == exchange.Question.ID && event.Message.FinishReason == api.Stop
			deleted = event.Deleted && event.ID == thread.ID
			if bytes.Contains(frame, []byte("ひみつ")) && event.Message != nil {
				t.Errorf("a message's content was sent: %s", frame)
			}
		}
		if !renamed || !ended {
			t.Errorf("renamed %v, ended %v", renamed, ended)
		}
	}
	if a, b := bytes.Join(seen[0], []byte("\n")), bytes.Join(seen[1], []byte("\n")); !bytes.Equal(a, b) {
		t.Errorf("the tabs saw different events:\n%s\n\n%s", a, b)
	}
	for i, other := range others {
		marker := uuid.New()
		f.events.NotificationsRead([]uuid.UUID{f.bob.ID, f.stranger.ID}[i], []uuid.UUID{marker})
		if event, frame := other.next(); len(event.Read) != 1 || event.Read[0] != marker {
			t.Errorf("another person saw %s", frame)
		}
	}
}

func TestNoticesReachTheirOrganizationFromTheDatabase(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	alice, tab, stranger := f.join(f.alice.Subject), f.join(f.alice.Subject), f.join(f.stranger.Subject)
	own, everyone := uuid.New(), uuid.New()
	f.exec(`INSERT INTO notifications (id, organization_id, title, level) VALUES ($1, $2, '自社へ', 'info')`, own,
		f.alice.OrganizationID)
	if err := f.db.PublishNotification(t.Context(), org.Notification{
		ID: everyone, Title: "全員へ",
		Level: org.LevelWarning,
	}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*socketClient{alice, tab} {
		if n := c.want("notification").Notification; n == nil || n.ID != own || n.Read || n.Title != "自社へ" {
			t.Errorf("got %+v", n)
		}
	}
	for _, c := range []*socketClient{alice, tab, stranger} {
		if n := c.want("notification").Notification; n == nil || n.ID != everyone {
			t.Errorf("got %+v", n)
		}
	}
	f.do(call{
		method: "PUT", path: "/v1/notification/read", token: f.alice.Subject,
		body: map[string]any{"ids": []uuid.UUID{own}},
	})
	for _, c := range []*socketClient{alice, tab} {
		if event := c.want("notification"); len(event.Read) != 1 || event.Read[0] != own {
			t.Errorf("got %+v", event)
		}
	}
	f.exec(
		`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE '% tsumugi_notification'
			AND datname = current_database()`,
	)
	stranger.want("ready")
}

// TestR16_SocketsLeaveNothingBehind does not run in parallel, because it counts all goroutines.
func TestR16_SocketsLeaveNothingBehind(t *testing.T) {
	f := newFixture(t, llmtest.Say("はい"))
	subscribed := f.feed.Subscriptions()                             // Subscriptions of the domains.
	f.join(f.alice.Subject).Close(websocket.StatusNormalClosure, "") // Opens connections to the database.
	before := goleak.IgnoreCurrent()
	const clients, rounds = 10, 100
	events := liveSchema(t)
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			for round := range rounds {
				conn, _, err := websocket.Dial(context.Background(), f.url+"/v1/live", nil)
				if err != nil {
					t.Error(err)
					return
				}
				switch (i + round) % 3 {
				case 0: // Closes the connection without a close frame.
					_ = conn.CloseNow()
				case 1: // Closes without waiting for the response.
					auth, _ := json.Marshal(api.LiveAuth{Type: "auth", Token: f.alice.Subject})
					_ = conn.Write(context.Background(), websocket.MessageText, auth)
					_ = conn.CloseNow()
				case 2:
					(&socketClient{Conn: conn, t: t, events: events}).join(f.bob.Subject)
					_ = conn.Close(websocket.StatusNormalClosure, "")
				}
			}
		})
	}
	all.Wait()
	// The driver's readers belong to the pooled connections.
	leak.None(
		t, before, goleak.IgnoreAnyFunction("github.com/jackc/pgx/v5/pgconn/internal/bgreader.(*BGReader).bgRead"),
	)
	if n, left := f.live.Open(), f.feed.Subscriptions()-subscribed; n != 0 || left != 0 {
		t.Errorf("%d sockets are open, %d subscriptions are left", n, left)
	}
}
