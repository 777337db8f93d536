package stream

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// HubConfig tunes a Hub. The zero value is a hub that is alone.
type HubConfig struct {
	Transport Transport    // Joins the hub to those of other servers. Nil where one server is alone.
	Logger    *slog.Logger // Nil discards.
}

// Hub knows the texts that are being written, by the id of their message: those of this process, and those of other
// servers that somebody here follows. It owns the goroutines that join it to other servers: a relay for each text that is
// written here, a mirror for each message that is followed here. It is safe for concurrent use; its zero value is not
// usable.
//
// No method of a Text is called under mu.
type Hub struct {
	cfg      HubConfig
	root     context.Context // Of relays and mirrors.
	cancel   context.CancelFunc
	stopping chan struct{}  // Closed by Stop.
	work     sync.WaitGroup // Relays and mirrors. Add under mu while not stopped.
	counters counters

	mu        sync.RWMutex
	stopped   bool                 // Guarded by mu. No relay or mirror is begun.
	deaf      func()               // Guarded by mu. Ends the hearing of what other servers follow.
	texts     map[string]*Text     // Guarded by mu.
	interests map[string]*interest // Guarded by mu. Messages that somebody follows, or wants to.
}

// interest is what those who follow one message share.
type interest struct {
	opened  chan struct{} // Guarded by the hub's mu. Closed while a text of the message is known.
	holders int           // Guarded by the hub's mu.
	mirror  *mirror       // Guarded by the hub's mu. Nil while the message is not followed on other servers.
}

// NewHub returns a hub that knows no text. With a Transport, Stop must be called.
func NewHub(cfg HubConfig) *Hub {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	root, cancel := context.WithCancel(context.Background())
	h := &Hub{
		cfg: cfg, root: root, cancel: cancel, stopping: make(chan struct{}), deaf: func() {},
		texts: make(map[string]*Text), interests: make(map[string]*interest),
	}
	if cfg.Transport != nil {
		deaf, err := cfg.Transport.Subscribe(h.hear, h.hurryAll)
		if err == nil {
			h.deaf = deaf
		} else {
			cfg.Logger.Error("it is not heard what other servers follow; they are told late", "err", err)
		}
	}
	return h
}

// Stop ends the following of other servers' texts, and waits until other servers have been told of the texts that are
// over here, or until the context ends. Whoever writes texts is stopped before.
func (h *Hub) Stop(ctx context.Context) {
	h.mu.Lock()
	deaf := h.deaf
	h.deaf = func() {}
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
	deaf()
}

// Open returns a new text that is written here, makes it known, and has other servers told of it. A text of an earlier run
// of the same message is abandoned; if a later one is known, the new text is abandoned itself.
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
	h.know(t)
	if h.cfg.Transport != nil && !h.stopped {
		t.followed = make(chan struct{})
		h.work.Add(1)
		go h.relay(t)
	}
	h.mu.Unlock()
	abandon(earlier)
	return t
}

// Close forgets a text. Watches that are under way read it to its end; one that is not over is abandoned.
func (h *Hub) Close(t *Text) {
	h.mu.Lock()
	h.forget(t)
	h.mu.Unlock()
	t.Abandon()
}

// know makes a text known, in place of another one of its message. It belongs to holders of mu.
func (h *Hub) know(t *Text) {
	_, known := h.texts[t.head.MessageID]
	h.texts[t.head.MessageID] = t
	if i := h.interests[t.head.MessageID]; i != nil && !known {
		close(i.opened)
	}
}

// forget undoes know, unless another text has taken its place. t may be nil. It belongs to holders of mu.
func (h *Hub) forget(t *Text) {
	if t == nil || h.texts[t.head.MessageID] != t {
		return
	}
	delete(h.texts, t.head.MessageID)
	if i := h.interests[t.head.MessageID]; i != nil {
		i.opened = make(chan struct{})
	}
}

// Find returns the text of a message, or nil if none is known here.
func (h *Hub) Find(messageID string) *Text {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.texts[messageID]
}

// Interest is somebody's wish to follow a message's text. It is held for as long as the text is watched.
type Interest struct {
	hub       *Hub
	messageID string
	shared    *interest
	leave     sync.Once
}

// Join notes that somebody wants to follow a message's text, until Leave is called. Who looks elsewhere for the message
// joins first and looks then, so that nothing is missed in between.
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

// Text returns the message's text, or nil while none is known.
func (i *Interest) Text() *Text { return i.hub.Find(i.messageID) }

// Opened returns a channel that is closed once a text of the message is known.
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

// counters count what passes between this server and others.
type counters struct{ sent, resent, stale, received, holes atomic.Int64 }

// HubStats is what a hub holds at present, and has done since it was made.
type HubStats struct {
	Texts     int // Texts that are known, those of mirrors among them.
	Mirrors   int // Messages that are followed on other servers.
	TextBytes int // Of the texts that are known.
	LogBytes  int // Of their events, as far as they are in memory.

	EntriesSent     int64 // Updates that other servers can read.
	EntriesResent   int64 // Updates that were told again after an error.
	StaleRuns       int64 // Texts that were dropped because a later run had begun.
	EntriesReceived int64 // Updates of other servers.
	Holes           int64 // Times that a mirror was begun again because updates were missing or unreadable.
}

// Stats returns what the hub holds and has done. It looks at every text for some tens of nanoseconds.
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
