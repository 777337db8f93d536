package tally_test

import (
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/tally"
	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// network connects the feeds of servers.
type network struct {
	mu      sync.Mutex
	members []*member
	cut     bool // Guarded by mu. Messages are lost.
}

type member struct {
	stream.Transport // Texts are not exchanged.

	network *network
	receive func(topic string, event []byte)
	missed  func()
}

func (m *member) Publish(topic string, event []byte) {
	m.network.mu.Lock()
	defer m.network.mu.Unlock()
	if m.network.cut {
		return
	}
	for _, other := range m.network.members {
		if other != m && other.receive != nil {
			other.receive(topic, event)
		}
	}
}

func (m *member) Subscribe(receive func(topic string, event []byte), missed func()) (stop func(), err error) {
	m.network.mu.Lock()
	defer m.network.mu.Unlock()
	m.receive, m.missed = receive, missed
	return func() {}, nil
}

// server is a server that counts calls per minute and running answers.
type server struct {
	*tally.Tally
	feed    *stream.Feed
	calls   *tally.Minute
	running *tally.Level
}

func (n *network) server(t *testing.T) *server {
	t.Helper()
	m := &member{network: n}
	n.mu.Lock()
	n.members = append(n.members, m)
	n.mu.Unlock()
	feed := must.Get(stream.NewFeed(m))(t)
	s := &server{Tally: tally.New(feed, slog.New(slog.DiscardHandler)), feed: feed}
	s.calls, s.running = s.Minute("call"), s.Level("generation")
	s.Start()
	return s
}

// called counts calls of a person.
func (s *server) called(t *testing.T, n int) {
	t.Helper()
	must.Succeed(t, s.calls.IncrementBy("ann", time.Now().UTC().Truncate(time.Minute), n))
}

// total returns the calls of a person in this minute.
func (s *server) total(t *testing.T) int {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Minute)
	n, _, err := s.calls.Get("ann", now, now.Add(-time.Minute))
	must.Succeed(t, err)
	return n
}

func TestCountsOfAllServersAreAdded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var n network
		servers := []*server{n.server(t), n.server(t), n.server(t)}
		for i, s := range servers {
			s.called(t, i+1)
			s.called(t, 10)
			s.running.Set("ann", i+1)
		}
		time.Sleep(time.Second)
		for i, s := range servers {
			if got := s.total(t); got != 36 {
				t.Errorf("server %d counts %d calls, want 36", i, got)
			}
			if got, want := s.running.Others("ann"), 6-(i+1); got != want {
				t.Errorf("server %d sees %d answers on other servers, want %d", i, got, want)
			}
			if got := s.Stats(); got.Servers != 2 || got.Missed != 0 {
				t.Errorf("server %d: %+v", i, got)
			}
		}
		servers[0].running.Set("ann", 0)
		servers[1].Stop() // Its answers are taken over.
		time.Sleep(time.Second)
		if got := servers[2].running.Others("ann"); got != 0 {
			t.Errorf("%d answers on other servers, want 0", got)
		}
		time.Sleep(time.Minute)
		if got := servers[2].total(t); got != 0 {
			t.Errorf("%d calls in the next minute", got)
		}
		servers[0].Stop()
		servers[2].Stop()
	})
}

func TestServersCountForThemselvesWithoutAConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var n network
		a, b := n.server(t), n.server(t)
		b.running.Set("ann", 5)
		time.Sleep(time.Second)
		n.mu.Lock()
		n.cut = true
		n.mu.Unlock()
		b.running.Set("ann", 7)
		a.called(t, 1)
		b.called(t, 2)
		time.Sleep(20 * time.Second)
		if got := a.running.Others("ann"); got != 0 {
			t.Errorf("%d answers of a server that was not heard for 20 s", got)
		}
		if got := b.total(t); got != 2 {
			t.Errorf("%d calls", got)
		}
		if got := a.Stats().Servers; got != 0 {
			t.Errorf("%d servers are heard", got)
		}
		n.mu.Lock()
		n.cut = false
		n.members[0].missed()
		n.mu.Unlock()
		time.Sleep(6 * time.Second) // All levels are sent again.
		if got := a.running.Others("ann"); got != 7 {
			t.Errorf("%d answers after the connection is back, want 7", got)
		}
		if got := a.Stats(); got.Servers != 1 || got.Missed != 1 {
			t.Errorf("%+v", got)
		}
		a.Stop()
		b.Stop()
	})
}

func TestUnknownMessagesAreIgnored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var n network
		a, b := n.server(t), n.server(t)
		for _, text := range []string{
			"", "{", "null", `{"version":2,"server":"x","levels":[{"kind":"generation","key":"ann","n":3}]}`,
			`{"version":1,"server":"x","levels":[{"kind":"generation","key":"ann","n":-3},{"kind":"other","key":"ann","n":3}]}`,
			`{"version":1,"server":"x","counts":[{"kind":"call","key":"ann","n":-3},{"kind":"other","key":"ann","n":3}]}`,
		} {
			b.feed.Publish("limits", []byte(text))
		}
		a.called(t, 1)
		time.Sleep(time.Second)
		if got := a.running.Others("ann"); got != 0 {
			t.Errorf("%d answers on other servers", got)
		}
		if got := a.total(t); got != 1 {
			t.Errorf("%d calls, want 1", got)
		}
		a.Stop()
		b.Stop()
	})
}

// TestWithoutOtherServers: a nil Tally counts on this server only.
func TestWithoutOtherServers(t *testing.T) {
	t.Parallel()
	var none *tally.Tally
	s := &server{calls: none.Minute("call"), running: none.Level("generation")}
	none.Start()
	s.called(t, 3)
	s.running.Set("ann", 2)
	if got := s.total(t); got != 3 {
		t.Errorf("%d calls", got)
	}
	if got := s.running.Others("ann"); got != 0 {
		t.Errorf("%d answers on other servers", got)
	}
	none.Stop()
}
