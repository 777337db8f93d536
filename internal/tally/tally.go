// Package tally counts over all servers of an installation, so that a limit holds for the installation and not for each
// server.
//
// Each server counts in memory and sends its counts to the others four times a second. A limit may therefore be exceeded
// by the calls of that time. If servers cannot reach each other, each of them applies the limits to its own counts.
package tally

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/work"
	"github.com/tsumugi-ai/tsumugi/stream"
)

const (
	topic   = "limits"
	version = 1 // Of the messages between servers. Others are ignored.

	flushEvery   = 250 * time.Millisecond
	refreshEvery = 4               // Flushes between two refreshes of all levels.
	staleAfter   = 4 * time.Second // Levels of a server that has not refreshed them are forgotten.

	maxEntries = 1000    // In a message.
	maxLevels  = 100_000 // Of other servers, for each Level.
)

// Tally exchanges the counts of this server with other servers. A nil Tally means a single server. Start is called
// once, after the last Count and Level; the other methods are safe for concurrent use.
type Tally struct {
	feed   *stream.Feed
	server string
	log    *slog.Logger
	group  *work.Group // Nil before Start.

	counts map[string]*Count // Constant after Start. By kind.
	levels map[string]*Level // Constant after Start. By kind.

	mu       sync.Mutex
	lastSeen map[string]time.Time // Guarded by mu. When each other server was last heard.
	missed   uint64               // Guarded by mu. Interruptions after which messages may be missing.
}

// Stats is the state of a Tally.
type Stats struct {
	Servers int    // Other servers whose counts arrive.
	Missed  uint64 // Interruptions after which counts of other servers may be missing.
}

// message contains counts of one server for the others.
type message struct {
	Version int     `json:"version"`
	Server  string  `json:"server"`
	Counts  []entry `json:"counts,omitempty"` // To be added.
	Levels  []entry `json:"levels,omitempty"` // The current values.
}

type entry struct {
	Kind string `json:"kind"`
	Key  string `json:"key"`
	N    int    `json:"n"`
}

// New returns a Tally. The caller calls Start, and Stop at the end.
func New(feed *stream.Feed, log *slog.Logger) *Tally {
	return &Tally{
		feed: feed, server: uuid.NewString(), log: log, counts: make(map[string]*Count), levels: make(map[string]*Level),
		lastSeen: make(map[string]time.Time),
	}
}

// Start begins the exchange.
func (t *Tally) Start() {
	if t == nil {
		return
	}
	t.group = work.NewGroup(t.log)
	s := t.feed.Subscribe(topic)
	t.group.Go(func(ctx context.Context) { t.receive(ctx, s) })
	t.group.Go(t.send)
}

// Stop ends the exchange, if Start was called, and sends levels of 0.
func (t *Tally) Stop() {
	if t == nil || t.group == nil {
		return
	}
	t.group.Stop()
	for _, l := range t.levels {
		l.clear()
	}
	t.flush(false)
}

// Stats returns the current state.
func (t *Tally) Stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := Stats{Missed: t.missed}
	for _, at := range t.lastSeen {
		if time.Since(at) < staleAfter {
			s.Servers++
		}
	}
	return s
}

func (t *Tally) send(ctx context.Context) {
	n := 0
	work.Every(ctx, flushEvery, nil, func() {
		t.flush(n%refreshEvery == 0)
		n++
	})
}

// flush sends the changes since the last flush to the other servers, or all levels. With all, it sends a message in any
// case, which shows the others that this server is running.
func (t *Tally) flush(all bool) {
	m := message{Version: version, Server: t.server}
	publish := func() {
		text, err := json.Marshal(m)
		if err != nil {
			panic("tally: " + err.Error()) // Unreachable: strings and numbers can always be encoded.
		}
		t.feed.Publish(topic, text)
		m.Counts, m.Levels = nil, nil
	}
	for kind, c := range t.counts {
		for key, n := range c.take() {
			if m.Counts = append(m.Counts, entry{kind, key, n}); len(m.Counts) == maxEntries {
				publish()
			}
		}
	}
	for kind, l := range t.levels {
		for key, n := range l.take(all) {
			if m.Levels = append(m.Levels, entry{kind, key, n}); len(m.Levels) == maxEntries {
				publish()
			}
		}
	}
	if all || len(m.Counts)+len(m.Levels) > 0 {
		publish()
	}
}

func (t *Tally) receive(ctx context.Context, s *stream.Subscription) {
	defer func() { s.Leave() }()
	for {
		text, err := s.Next(ctx)
		switch {
		case err == nil:
			t.take(text)
			continue
		case ctx.Err() != nil:
			return
		case errors.Is(err, stream.ErrTooSlow):
			s.Leave()
			s = t.feed.Subscribe(topic)
		}
		t.mu.Lock()
		t.missed++
		t.mu.Unlock()
	}
}

// take adds the counts of another server.
func (t *Tally) take(text []byte) {
	var m message
	if err := json.Unmarshal(text, &m); err != nil || m.Version != version {
		t.log.Debug("counts of another server are not understood", "version", m.Version, "err", err)
		return
	}
	if m.Server == t.server {
		return
	}
	t.mu.Lock()
	t.lastSeen[m.Server] = time.Now()
	for server, at := range t.lastSeen {
		if time.Since(at) > staleAfter {
			delete(t.lastSeen, server)
		}
	}
	t.mu.Unlock()
	for _, e := range m.Counts {
		if c := t.counts[e.Kind]; c != nil {
			c.received(e.Key, e.N)
		}
	}
	for _, e := range m.Levels {
		if l := t.levels[e.Kind]; l != nil && e.N >= 0 {
			l.received(m.Server, e.Key, e.N)
		}
	}
}

// Count is a number of events by key, such as the calls of a person.
type Count struct {
	received func(key string, n int)

	mu      sync.Mutex
	pending map[string]int // Guarded by mu. Not yet sent to other servers.
}

// Count returns the count of a kind. received is called with the events of other servers. The count of a nil Tally does
// nothing.
func (t *Tally) Count(kind string, received func(key string, n int)) *Count {
	if t == nil {
		return nil
	}
	c := &Count{received: received, pending: make(map[string]int)}
	t.counts[kind] = c
	return c
}

// Add counts n events for the other servers. A negative number takes back events. It does not block.
func (c *Count) Add(key string, n int) {
	if c == nil || n == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending[key] += n
}

func (c *Count) take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) == 0 {
		return nil
	}
	taken := c.pending
	c.pending = make(map[string]int)
	return taken
}

// Level is a current number by key, such as the running answers of a person.
type Level struct {
	mu          sync.Mutex
	own         map[string]int                    // Guarded by mu.
	changed     map[string]struct{}               // Guarded by mu. Keys whose value has not been sent.
	others      map[string]map[string]remoteValue // Guarded by mu. By key and server.
	remoteCount int                               // Guarded by mu. Number of values in others.
}

// remoteValue is a value of another server.
type remoteValue struct {
	n  int
	at time.Time
}

// Level returns the level of a kind. For a nil Tally it is the level of a single server.
func (t *Tally) Level(kind string) *Level {
	if t == nil {
		return nil
	}
	l := &Level{
		own: make(map[string]int), changed: make(map[string]struct{}), others: make(map[string]map[string]remoteValue),
	}
	t.levels[kind] = l
	return l
}

// Set sets this server's value. It does not block.
func (l *Level) Set(key string, n int) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.own[key] == n {
		return
	}
	l.changed[key] = struct{}{}
	if l.own[key] = n; n == 0 {
		delete(l.own, key)
	}
}

// Others returns the sum of the values of the other servers.
func (l *Level) Others(key string) (sum int) {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.others[key] {
		if time.Since(r.at) < staleAfter {
			sum += r.n
		}
	}
	return sum
}

// take returns the values that have changed, or all. It forgets stale values of other servers with the latter.
func (l *Level) take(all bool) map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := make(map[string]int, len(l.changed))
	for key := range l.changed {
		taken[key] = l.own[key]
	}
	clear(l.changed)
	if !all {
		return taken
	}
	for key, n := range l.own {
		taken[key] = n
	}
	for key, servers := range l.others {
		for server, r := range servers {
			if time.Since(r.at) > staleAfter {
				l.remove(key, server)
			}
		}
	}
	return taken
}

func (l *Level) received(server, key string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	servers := l.others[key]
	_, known := servers[server]
	switch {
	case n == 0:
		l.remove(key, server)
		return
	case !known && l.remoteCount >= maxLevels:
		return
	case servers == nil:
		servers = make(map[string]remoteValue)
		l.others[key] = servers
	}
	if !known {
		l.remoteCount++
	}
	servers[server] = remoteValue{n, time.Now()}
}

// remove forgets a value of another server. The caller holds mu.
func (l *Level) remove(key, server string) {
	if _, known := l.others[key][server]; !known {
		return
	}
	l.remoteCount--
	if delete(l.others[key], server); len(l.others[key]) == 0 {
		delete(l.others, key)
	}
}

// clear sets all own values to 0.
func (l *Level) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key := range l.own {
		l.changed[key] = struct{}{}
	}
	clear(l.own)
}

// Key returns a key that does not show the value that it identifies, such as an address.
func Key(value string) string {
	sum := sha256.Sum256([]byte(value))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}
