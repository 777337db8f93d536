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
	Transport Transport    // Connects the hub to those of other servers; nil for a single server.
	Logger    *slog.Logger // Nil discards.
}

// Hub is the registry of texts by the id of their message: the texts written by this process, and the mirrored texts of
// other servers. It owns the goroutines that exchange updates with other servers: a relay for each text written on this
// server, and a mirror for each followed message. It is safe for concurrent use; its zero value is not usable.
//
// To prevent deadlock, no method of a Text is called under mu.
type Hub struct {
	cfg      HubConfig
	root     context.Context // The parent context of relays and mirrors.
	cancel   context.CancelFunc
	stopping chan struct{}  // Closed by Stop.
	work     sync.WaitGroup // Relays and mirrors. Add under mu while not stopped.
	counters counters

	mu          sync.RWMutex
	stopped     bool                 // Guarded by mu. Prevents new relays and mirrors.
	unsubscribe func()               // Guarded by mu. Ends the subscription to other servers' events.
	texts       map[string]*Text     // Guarded by mu.
	interests   map[string]*interest // Guarded by mu. By message id.
}

// interest is the state shared by all holders of an Interest in one message.
type interest struct {
	opened  chan struct{} // Guarded by Hub.mu. Closed while a text of the message is registered.
	holders int           // Guarded by Hub.mu.
	mirror  *mirror       // Guarded by Hub.mu. Nil before Mirror is called.
}

// NewHub returns an empty hub. With a Transport, the caller must call Stop.
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
		unsubscribe, err := cfg.Transport.Subscribe(h.receive, h.markMissed)
		if err == nil {
			h.unsubscribe = unsubscribe
		} else {
			cfg.Logger.Error("stream: subscribing to other servers' events failed, texts arrive late", "err", err)
		}
	}
	return h
}

// Stop ends the mirrors, and waits until the completed texts have been sent to other servers, or until the context
// ends. The caller must stop the writers of texts first.
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
	// Relays end when the ends of their texts are stored. Canceling them earlier would lose these ends, so that clients
	// of other servers would wait for a text that never completes.
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

// Open returns a new, registered text for this server's answer.
func (h *Hub) Open(head Head) *Text {
	t := NewText(head)
	h.Register(t)
	return t
}

// Register adds a new text for this server's answer to the registry, and relays it to other servers. It abandons a text
// of an earlier run of the same message. If a text of a later run is registered, it abandons t.
func (h *Hub) Register(t *Text) {
	id := t.head.MessageID
	h.mu.Lock()
	earlier := h.texts[id]
	if earlier != nil && earlier.head.Run > t.head.Run {
		h.mu.Unlock()
		t.Abandon()
		return
	}
	if i := h.interests[id]; i != nil {
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
}

// Close removes a text from the registry. Its watches can still read it to its end. Close abandons an incomplete text.
func (h *Hub) Close(t *Text) {
	h.mu.Lock()
	h.unregister(t)
	h.mu.Unlock()
	t.Abandon()
}

// register adds a text and replaces another text of its message. The caller holds mu.
func (h *Hub) register(t *Text) {
	_, registered := h.texts[t.head.MessageID]
	h.texts[t.head.MessageID] = t
	if i := h.interests[t.head.MessageID]; i != nil && !registered {
		close(i.opened)
	}
}

// unregister removes a text, unless another text of its message was registered. t may be nil. The caller holds mu.
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

// Interest keeps the mirror of a message's text alive for its holder.
type Interest struct {
	hub       *Hub
	messageID string
	shared    *interest
	leave     sync.Once
}

// Join returns an interest in a message's text. The caller must call Leave. A caller that also reads the message from
// the database must call Join first, so that it misses no change in between.
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

// Text returns the message's text, or nil if none is registered.
func (i *Interest) Text() *Text { return i.hub.Find(i.messageID) }

// Opened returns a channel that is closed when a text of the message is registered.
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

// counters count the exchange with other servers.
type counters struct{ sent, resent, stale, received, gaps atomic.Int64 }

// HubStats is the state of a hub, and its traffic since its creation.
type HubStats struct {
	Texts     int // Registered texts, including mirrored ones.
	Mirrors   int // Followed messages of other servers.
	TextBytes int // Total size of the registered texts.
	LogBytes  int // Total size of their events in memory.

	EntriesSent     int64 // Updates stored for other servers.
	EntriesResent   int64 // Updates sent again after an error.
	StaleRuns       int64 // Texts dropped because a later run had begun.
	EntriesReceived int64 // Updates received from other servers.
	Gaps            int64 // Restarts of mirrors because of missing or malformed updates.
}

// Stats returns the hub's statistics. It locks every text once.
func (h *Hub) Stats() HubStats {
	c := &h.counters
	s := HubStats{
		EntriesSent: c.sent.Load(), EntriesResent: c.resent.Load(), StaleRuns: c.stale.Load(),
		EntriesReceived: c.received.Load(), Gaps: c.gaps.Load(),
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
		text, log := t.memorySize()
		s.TextBytes += text
		s.LogBytes += log
	}
	return s
}
