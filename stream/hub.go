package stream

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// HubConfig tunes a Hub. The zero value is a hub of one server.
type HubConfig struct {
	Transport Transport    // Joins the hub to those of other servers. Nil if there is one server.
	Logger    *slog.Logger // Nil discards.
}

// Hub is the registry of texts by the id of their message: those that are written by this process, and those of other
// servers that are followed here. It owns the goroutines that join it to other servers: a relay for each text that is
// written here, a mirror for each message that is followed. It is safe for concurrent use; its zero value is not
// usable.
//
// No method of a Text is called under mu, which prevents deadlock.
type Hub struct {
	cfg      HubConfig
	root     context.Context // The parent of the contexts of relays and mirrors.
	cancel   context.CancelFunc
	stopping chan struct{}  // Closed by Stop.
	work     sync.WaitGroup // Relays and mirrors. Add under mu while not stopped.
	counters counters

	mu          sync.RWMutex
	stopped     bool                 // Guarded by mu. No relay or mirror is begun.
	unsubscribe func()               // Guarded by mu. Ends the subscription to events of other servers.
	texts       map[string]*Text     // Guarded by mu.
	interests   map[string]*interest // Guarded by mu. By message.
}

// interest is what all holders of an Interest in one message share.
type interest struct {
	opened  chan struct{} // Guarded by Hub.mu. Closed while a text of the message is registered.
	holders int           // Guarded by Hub.mu.
	mirror  *mirror       // Guarded by Hub.mu. Nil while other servers are not asked for the message.
}

// NewHub returns an empty hub. With a Transport, Stop must be called.
func NewHub(cfg HubConfig) *Hub {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	root, cancel := context.WithCancel(context.Background())
	h := &Hub{
		cfg: cfg, root: root, cancel: cancel, stopping: make(chan struct{}), unsubscribe: func() {},
		texts: make(map[string]*Text), interests: make(map[string]*interest),
	}
	if cfg.Transport != nil {
		unsubscribe, err := cfg.Transport.Subscribe(h.receive, h.missed)
		if err == nil {
			h.unsubscribe = unsubscribe
		} else {
			cfg.Logger.Error("subscribing to other servers' events failed; they receive texts late", "err", err)
		}
	}
	return h
}

// Stop ends the mirrors, and waits until the texts that are over have been sent to other servers, or until the context
// ends. The writers of texts are stopped before.
func (h *Hub) Stop(ctx context.Context) {
	h.mu.Lock()
	unsubscribe := h.unsubscribe
	h.unsubscribe = func() {}
	var mirrors []*Text
	if !h.stopped {
		h.stopped = true
		close(h.stopping)
		for _, i := range h.interests {
			mirrors = append(mirrors, h.endMirror(i))
		}
	}
	h.mu.Unlock()
	for _, t := range mirrors {
		abandon(t)
	}
	// Relays end by themselves once the ends of their texts are stored. Canceling them first would lose these ends,
	// and with them the clients of other servers would wait for a text that never completes.
	done := make(chan struct{})
	go func() {
		h.work.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	h.cancel()
	<-done
	unsubscribe()
}

// Open returns a new text that is written here, registers it, and relays it to other servers. A text of an earlier run
// of the same message is abandoned; if a later one is registered, the new text is abandoned itself.
func (h *Hub) Open(head Head) *Text {
	t := NewText(head)
	h.mu.Lock()
	earlier := h.texts[head.MessageID]
	if earlier != nil && earlier.head.Run > head.Run {
		h.mu.Unlock()
		t.Abandon()
		return t
	}
	if i := h.interests[head.MessageID]; i != nil {
		h.endMirror(i)
	}
	h.register(t)
	if h.cfg.Transport != nil && !h.stopped {
		t.followed = make(chan struct{})
		h.work.Add(1)
		go h.relay(t)
	}
	h.mu.Unlock()
	abandon(earlier)
	return t
}

// Close removes a text. Its watches go on to its end. A text that is not over is abandoned.
func (h *Hub) Close(t *Text) {
	h.mu.Lock()
	h.unregister(t)
	h.mu.Unlock()
	t.Abandon()
}

// register adds a text, in place of another one of its message. The caller holds mu.
func (h *Hub) register(t *Text) {
	_, registered := h.texts[t.head.MessageID]
	h.texts[t.head.MessageID] = t
	if i := h.interests[t.head.MessageID]; i != nil && !registered {
		close(i.opened)
	}
}

// unregister removes a text, unless another one has taken its place. t may be nil. The caller holds mu.
func (h *Hub) unregister(t *Text) {
	if t == nil || h.texts[t.head.MessageID] != t {
		return
	}
	delete(h.texts, t.head.MessageID)
	if i := h.interests[t.head.MessageID]; i != nil {
		i.opened = make(chan struct{})
	}
}

// Find returns the text of a message, or nil if none is registered.
func (h *Hub) Find(messageID string) *Text {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.texts[messageID]
}

// Interest is held by whatever follows a message's text, for as long as it does.
type Interest struct {
	hub       *Hub
	messageID string
	shared    *interest
	leave     sync.Once
}

// Join returns an interest in a message's text. Leave must be called. A caller that also looks elsewhere for the
// message joins first, so that it misses nothing in between.
func (h *Hub) Join(messageID string) *Interest {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := h.interests[messageID]
	if i == nil {
		i = &interest{opened: make(chan struct{})}
		if h.texts[messageID] != nil {
			close(i.opened)
		}
		h.interests[messageID] = i
	}
	i.holders++
	return &Interest{hub: h, messageID: messageID, shared: i}
}

// Text returns the message's text, or nil while none is registered.
func (i *Interest) Text() *Text { return i.hub.Find(i.messageID) }

// Opened returns a channel that is closed once a text of the message is registered.
func (i *Interest) Opened() <-chan struct{} {
	i.hub.mu.Lock()
	defer i.hub.mu.Unlock()
	return i.shared.opened
}

// Leave ends the interest. It may be called more than once.
func (i *Interest) Leave() {
	i.leave.Do(func() {
		h := i.hub
		h.mu.Lock()
		var mirrored *Text
		i.shared.holders--
		if i.shared.holders == 0 {
			mirrored = h.endMirror(i.shared)
			delete(h.interests, i.messageID)
		}
		h.mu.Unlock()
		abandon(mirrored)
	})
}

// counters count the traffic between this server and others.
type counters struct{ sent, resent, stale, received, holes atomic.Int64 }

// HubStats is what a hub holds, and its traffic since it was made.
type HubStats struct {
	Texts     int // Registered texts, those of mirrors included.
	Mirrors   int // Messages of other servers that are followed here.
	TextBytes int // Of the registered texts.
	LogBytes  int // Of their events in memory.

	EntriesSent     int64 // Updates that were stored for other servers.
	EntriesResent   int64 // Updates that were sent again after an error.
	StaleRuns       int64 // Texts that were dropped because a later run had begun.
	EntriesReceived int64 // Updates of other servers.
	Holes           int64 // Times that a mirror began again because updates were missing or unreadable.
}

// Stats returns what the hub holds and has done. It takes the lock of every text once.
func (h *Hub) Stats() HubStats {
	c := &h.counters
	s := HubStats{
		EntriesSent: c.sent.Load(), EntriesResent: c.resent.Load(), StaleRuns: c.stale.Load(),
		EntriesReceived: c.received.Load(), Holes: c.holes.Load(),
	}
	h.mu.Lock()
	texts := slices.Collect(maps.Values(h.texts))
	for _, i := range h.interests {
		if i.mirror != nil {
			s.Mirrors++
		}
	}
	h.mu.Unlock()
	s.Texts = len(texts)
	for _, t := range texts {
		text, log := t.held()
		s.TextBytes += text
		s.LogBytes += log
	}
	return s
}
