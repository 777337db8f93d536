package stream

import "sync"

// Hub knows the texts that are being written in this process, by the id of their message. It is safe for concurrent
// use; its zero value is not.
type Hub struct {
	mu      sync.Mutex
	texts   map[string]*Text    // Guarded by mu.
	waiting map[string]*arrival // Guarded by mu. Those who wait for a text to be opened.
}

// arrival is the opening of a text that somebody waits for.
type arrival struct {
	opened  chan struct{}
	waiters int // Guarded by the hub's mu.
}

// NewHub returns a hub that knows no text.
func NewHub() *Hub {
	return &Hub{texts: make(map[string]*Text), waiting: make(map[string]*arrival)}
}

// Open returns a new text and makes it known. A text of an earlier run of the same message is abandoned.
func (h *Hub) Open(head Head) *Text {
	t := NewText(head)
	h.mu.Lock()
	earlier := h.texts[head.MessageID]
	h.texts[head.MessageID] = t
	if a := h.waiting[head.MessageID]; a != nil {
		close(a.opened)
		delete(h.waiting, head.MessageID)
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
	}
	h.mu.Unlock()
	t.Abandon()
}

// Find returns the text of a message, or nil if none is being written here.
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

// Opened returns a channel that is closed once a text of the message is known, and a function to be called when the
// caller no longer waits. Who looks elsewhere for the message takes the channel first and looks then, so that nothing is
// missed in between.
func (h *Hub) Opened(messageID string) (opened <-chan struct{}, leave func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.texts[messageID] != nil {
		return ready, func() {}
	}
	a := h.waiting[messageID]
	if a == nil {
		a = &arrival{opened: make(chan struct{})}
		h.waiting[messageID] = a
	}
	a.waiters++
	return a.opened, sync.OnceFunc(func() { h.leave(messageID, a) })
}

func (h *Hub) leave(messageID string, a *arrival) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a.waiters--
	if a.waiters == 0 && h.waiting[messageID] == a {
		delete(h.waiting, messageID)
	}
}
