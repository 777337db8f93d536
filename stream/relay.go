package stream

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	appendTimeout = 5 * time.Second // For one entry.
	// Time for which the relay retries to store the end of a text. The answer is stored in the database by then, so
	// giving up loses only the live end for clients of other servers. Retrying for longer would keep the text in memory
	// until the link is restored.
	relayTimeout = time.Minute
	firstPause   = 50 * time.Millisecond
	longestPause = 2 * time.Second

	// gatherTime is the interval between entries of a text that no other server follows. When a server begins to follow
	// it, the gathered changes are sent at once.
	gatherTime = 500 * time.Millisecond
)

// topicFollowed is the topic of events that contain the id of a message followed by another server.
const topicFollowed = "followed"

// relay sends a text written on this server to other servers. The publisher does not wait for it: all changes made
// while an entry was being stored become the next entry. It is a goroutine of the hub.
func (h *Hub) relay(t *Text) {
	defer h.work.Done()
	w := h.cfg.Transport.Writer(t.head.MessageID, t.head.Run)
	defer w.Close()
	var (
		sent   Position
		entry  []byte
		pause  backoff
		giveUp time.Time // Zero until the text ends.
		log    = h.cfg.Logger.With("message_id", t.head.MessageID, "run", t.head.Run)
		failed = false // The last entry was not stored.
	)
	for h.awaitChange(t, sent) {
		u, next := t.Since(sent)
		// Not u.End, because the failing update may be an earlier one of a long text.
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
			h.waitForBatch(t)
			continue
		case errors.Is(err, ErrStale):
			h.counters.stale.Add(1)
			log.Info("stream: later run exists, text abandoned")
			h.Close(t)
			return
		case errors.Is(err, ErrLost):
			log.Warn("stream: log lost, sending the text again")
			sent = Position{}
		default:
			log.Warn("stream: sending an update failed, retrying", "err", err)
		}
		if !giveUp.IsZero() && time.Now().After(giveUp) {
			log.Error("stream: end of a text not sent to other servers", "err", err)
			return
		}
		if !pause.wait(h.root) {
			return
		}
	}
}

// waitForBatch waits before the next entry while no other server follows the text, because an entry costs more than all
// other work for a token.
func (h *Hub) waitForBatch(t *Text) {
	timer := time.NewTimer(gatherTime)
	defer timer.Stop()
	select {
	case <-t.followed:
	case <-timer.C:
	case <-h.stopping:
	}
}

// receive handles an event of another server.
func (h *Hub) receive(topic string, event []byte) {
	if topic != topicFollowed {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.setFollowed(h.texts[string(event)])
}

// markMissed is called when events of other servers may have been missed. It treats all texts as followed.
func (h *Hub) markMissed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.texts {
		h.setFollowed(t)
	}
}

// setFollowed makes the relay of a text, if there is one, send changes at once. The caller holds mu.
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

// awaitChange waits until a text has changed since a position. It returns false if it never will, or if the hub stops
// before the text ends.
func (h *Hub) awaitChange(t *Text, sent Position) bool {
	for {
		more, over := t.changesAfter(sent)
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

// backoff computes growing pauses between retries. The zero value begins with the shortest.
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
