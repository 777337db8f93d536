package stream

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	appendTimeout = 5 * time.Second // For one entry.
	// How long the end of a text is retried. The answer is stored by then, so giving up loses nothing but the live end
	// for clients of other servers, while a text that is kept would hold its memory until the link is back.
	relayTimeout = time.Minute
	firstPause   = 50 * time.Millisecond
	longestPause = 2 * time.Second

	// gatherTime is how long changes of a text that no other server follows are gathered between entries. When one
	// begins to follow it, what has gathered is sent at once.
	gatherTime = 500 * time.Millisecond
)

// topicFollowed is the topic of events that name a message followed by another server.
const topicFollowed = "followed"

// relay sends a text that is written here to other servers. It is one more reader of the text, for which the publisher
// does not wait: what has changed while an entry was being stored makes up the next one. It is a goroutine of the hub.
func (h *Hub) relay(t *Text) {
	defer h.work.Done()
	w := h.cfg.Transport.Writer(t.head.MessageID, t.head.Run)
	defer w.Close()
	var (
		sent   Position
		entry  []byte
		pause  backoff
		giveUp time.Time // Zero until the text is over.
		log    = h.cfg.Logger.With("message_id", t.head.MessageID, "run", t.head.Run)
		failed = false // The last entry was not stored.
	)
	for h.awaitChange(t, sent) {
		u, next := t.Since(sent)
		// Not u.End: of a long text, the update that fails may be an earlier one.
		if giveUp.IsZero() && t.ended.Load() {
			giveUp = time.Now().Add(relayTimeout)
		}
		entry = u.Append(entry[:0])
		if failed {
			h.counters.resent.Add(1)
		}
		err := h.append(w, entry)
		failed = err != nil
		switch {
		case err == nil:
			h.counters.sent.Add(1)
			sent, pause = next, backoff{}
			h.gather(t)
			continue
		case errors.Is(err, ErrStale):
			h.counters.stale.Add(1)
			log.Info("text dropped: a later run has begun")
			h.Close(t)
			return
		case errors.Is(err, ErrLost):
			log.Warn("the log of a text is lost, sending the text again")
			sent = Position{}
		default:
			log.Warn("sending a text to other servers failed, trying again", "err", err)
		}
		if !giveUp.IsZero() && time.Now().After(giveUp) {
			log.Error("the end of a text was not sent to other servers", "err", err)
			return
		}
		if !pause.wait(h.root) {
			return
		}
	}
}

// gather waits before the next entry while no other server follows the text, because an entry costs more than
// everything else that is done for a token.
func (h *Hub) gather(t *Text) {
	timer := time.NewTimer(gatherTime)
	defer timer.Stop()
	select {
	case <-t.followed:
	case <-timer.C:
	case <-h.stopping:
	}
}

// receive takes an event of another server.
func (h *Hub) receive(topic string, event []byte) {
	if topic != topicFollowed {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.setFollowed(h.texts[string(event)])
}

// missed is called when events of other servers may have been missed: any text may be followed by now.
func (h *Hub) missed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.texts {
		h.setFollowed(t)
	}
}

// setFollowed makes the relay of a text, if there is one, send changes at once from now on. The caller holds mu.
func (h *Hub) setFollowed(t *Text) {
	if t == nil || t.followed == nil {
		return
	}
	select {
	case <-t.followed:
	default:
		close(t.followed)
	}
}

func (h *Hub) append(w LogWriter, entry []byte) error {
	ctx, cancel := context.WithTimeout(h.root, appendTimeout)
	defer cancel()
	return w.Append(ctx, entry)
}

// awaitChange waits until a text has more than a position. It returns false if it never will, or if the hub stops while
// the text goes on.
func (h *Hub) awaitChange(t *Text, sent Position) bool {
	for {
		more, over := t.beyond(sent)
		switch {
		case over || h.root.Err() != nil:
			return false
		case more == ready:
			return true
		}
		select {
		case <-more:
		case <-h.stopping:
			return false
		}
	}
}

// backoff yields growing pauses between retries. The zero value begins with the shortest.
type backoff struct{ last time.Duration }

// wait pauses. It returns false if the context ends.
func (b *backoff) wait(ctx context.Context) bool {
	b.last = min(max(2*b.last, firstPause), longestPause)
	timer := time.NewTimer(b.last/2 + rand.N(b.last/2+1)) //nolint:gosec // Spreads retries; not a secret.
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
