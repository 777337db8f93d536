package stream

import (
	"context"
	"errors"
	"time"
)

// mirror follows the text of a message that another server writes, for all interests in it on this server. Its text is
// registered when it contains all entries of the log so far. A client from another server may have received that much,
// and would be reset by a shorter text.
type mirror struct {
	messageID string
	cancel    context.CancelFunc

	run  int   // Guarded by Hub.mu. The newest run seen so far; entries of earlier runs are ignored.
	text *Text // Guarded by Hub.mu. Nil while the first entry of the run is missing.
}

// Mirror begins to follow the text on other servers. The caller must know that the message is being written, and by
// another server. Repeated calls have no effect.
func (i *Interest) Mirror() {
	h := i.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	shared := i.shared
	if h.cfg.Transport == nil || h.stopped || shared.holders == 0 || shared.mirror != nil ||
		h.texts[i.messageID] != nil {
		return
	}
	ctx, cancel := context.WithCancel(h.root)
	shared.mirror = &mirror{messageID: i.messageID, cancel: cancel}
	h.work.Add(1)
	go h.follow(ctx, shared.mirror)
}

// follow applies the entries of a message's log until the mirror ends. After a hole it restarts from the first entry.
// It is a goroutine of the hub.
func (h *Hub) follow(ctx context.Context, m *mirror) {
	defer h.work.Done()
	defer m.cancel()
	var pause backoff
	for {
		began := time.Now()
		following, again := context.WithCancel(ctx)
		err := h.cfg.Transport.Follow(following, m.messageID, func(entry []byte, more bool) {
			if err := h.applyEntry(m, entry, more); err != nil {
				h.cfg.Logger.Warn("stream: following a text failed, restarting", "message_id", m.messageID, "err", err)
				again()
			}
		})
		again()
		if ctx.Err() != nil {
			return
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			h.cfg.Logger.Warn("stream: following a text failed, restarting", "message_id", m.messageID, "err", err)
		}
		if time.Since(began) > time.Minute {
			pause = backoff{}
		}
		if !pause.wait(ctx) {
			return
		}
	}
}

// applyEntry applies an entry. After an error the mirror has no text, and the log must be read again.
func (h *Hub) applyEntry(m *mirror, entry []byte, more bool) error {
	err := h.apply(m, entry)
	h.mu.Lock()
	text := m.text
	if err != nil {
		m.text = nil
		h.unregister(text)
	} else if i := h.interests[m.messageID]; !more && text != nil && i != nil && i.mirror == m &&
		h.texts[m.messageID] == nil {
		h.register(text)
	}
	h.mu.Unlock()
	if err != nil {
		h.counters.gaps.Add(1)
		abandon(text)
	}
	return err
}

func (h *Hub) apply(m *mirror, entry []byte) error {
	if entry == nil {
		return nil
	}
	h.counters.received.Add(1)
	u, err := ParseUpdate(entry)
	if errors.Is(err, errVersion) {
		return nil // Subscribers wait until the answer is stored.
	}
	if err != nil || (u.Head != nil && u.Head.MessageID != m.messageID) {
		return errEntry
	}
	if text := h.mirrorText(m, u); text != nil {
		return text.Apply(u)
	}
	return nil
}

// mirrorText returns the text of an update. The text belongs to the newest run, and the first update of a run creates
// it. mirrorText returns nil if there is no such text. It notifies the server that writes the run of the follower.
func (h *Hub) mirrorText(m *mirror, u Update) *Text {
	var earlier *Text
	begun := false
	defer func() {
		abandon(earlier)
		if begun {
			h.cfg.Transport.Publish(topicFollowed, []byte(m.messageID))
		}
	}()
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := h.interests[m.messageID]; i == nil || i.mirror != m || u.Run < m.run {
		return nil
	}
	if u.Run > m.run {
		earlier, m.run, m.text = m.text, u.Run, nil
		h.unregister(earlier)
	}
	if m.text == nil && u.Head != nil {
		m.text = NewText(*u.Head)
		m.text.mirrored, begun = true, true
	}
	return m.text
}

// endMirror ends the mirror of a message. It returns the text to abandon after mu was released, or nil. The caller
// holds mu.
func (h *Hub) endMirror(i *interest) *Text {
	m := i.mirror
	if m == nil {
		return nil
	}
	i.mirror = nil
	m.cancel()
	h.unregister(m.text)
	return m.text
}

// Mirrors returns the heads of the mirrored texts that other servers, as far as is known, are still writing.
func (h *Hub) Mirrors() []Head {
	h.mu.Lock()
	defer h.mu.Unlock()
	var heads []Head
	for _, i := range h.interests {
		if m := i.mirror; m != nil && m.text != nil && !m.text.ended.Load() {
			heads = append(heads, m.text.head)
		}
	}
	return heads
}

// Drop ends the mirrored text of a run of a message, or of an earlier run, whose end was lost. Its watches end without
// a terminal event, so that the clients reconnect and are served from the store.
func (h *Hub) Drop(messageID string, run int) {
	h.mu.Lock()
	var dropped *Text
	if i := h.interests[messageID]; i != nil && i.mirror != nil && i.mirror.run <= run {
		m := i.mirror
		dropped, m.run, m.text = m.text, run+1, nil
		h.unregister(dropped)
	}
	h.mu.Unlock()
	abandon(dropped)
}

func abandon(t *Text) {
	if t != nil {
		t.Abandon()
	}
}
