package stream

import (
	"log/slog"
	"sync"
)

// HubConfig tunes a Hub. The zero value is a hub that is alone.
type HubConfig struct {
	Transport Transport    // Joins the hub to those of other servers. Nil where one server is alone.
	Logger    *slog.Logger // Nil discards.
}

// Hub knows the texts that are being written, by the id of their message: those of this process, and those of other
// servers that somebody here follows. It is safe for concurrent use; its zero value is not usable.
type Hub struct {
	cfg HubConfig

	mu        sync.Mutex
	texts     map[string]*Text     // Guarded by mu.
	interests map[string]*interest // Guarded by mu. Messages that somebody follows, or wants to.
}

// interest is what those who follow one message share.
type interest struct {
	opened  chan struct{} // Guarded by the hub's mu. Closed while a text of the message is known.
	holders int           // Guarded by the hub's mu.
}

// NewHub returns a hub that knows no text.
func NewHub(cfg HubConfig) *Hub {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Hub{cfg: cfg, texts: make(map[string]*Text), interests: make(map[string]*interest)}
}

// Open returns a new text and makes it known. A text of an earlier run of the same message is abandoned.
func (h *Hub) Open(head Head) *Text {
	t := NewText(head)
	h.mu.Lock()
	earlier := h.texts[head.MessageID]
	h.texts[head.MessageID] = t
	if i := h.interests[head.MessageID]; i != nil && earlier == nil {
		close(i.opened)
	}
	h.mu.Unlock()
	if earlier != nil {
		earlier.Abandon()
	}
	return t
}

// Close forgets a text. Watches that are under way read it to its end; one that is not over is abandoned.
func (h *Hub) Close(t *Text) {
	h.mu.Lock()
	if h.texts[t.head.MessageID] == t {
		delete(h.texts, t.head.MessageID)
		if i := h.interests[t.head.MessageID]; i != nil {
			i.opened = make(chan struct{})
		}
	}
	h.mu.Unlock()
	t.Abandon()
}

// Find returns the text of a message, or nil if none is known here.
func (h *Hub) Find(messageID string) *Text {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.texts[messageID]
}

// Len returns how many texts are known.
func (h *Hub) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.texts)
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

// Mirror has the text looked for on other servers: to be called when the message is known to be written, and not here.
func (i *Interest) Mirror() {}

// Leave ends the interest. It may be called more than once.
func (i *Interest) Leave() {
	i.leave.Do(func() {
		h := i.hub
		h.mu.Lock()
		defer h.mu.Unlock()
		i.shared.holders--
		if i.shared.holders == 0 {
			delete(h.interests, i.messageID)
		}
	})
}
