package stream

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	appendTimeout = 5 * time.Second // Of one entry.
	relayPatience = time.Minute     // A text that is over, and that the transport does not take, is given up after so long.
	firstPause    = 50 * time.Millisecond
	longestPause  = 2 * time.Second

	// gatherTime is how long a text that nobody follows on another server gathers between entries. The first who does sees
	// what is kept, and has what has gathered sent at once.
	gatherTime = 500 * time.Millisecond
)

// topicFollowed is the topic of events that name a message whose text is followed on another server.
const topicFollowed = "followed"

// relay tells other servers of a text that is written here: it is one more reader of the text, and the publisher does not
// wait for it. What has gathered while an entry was on its way makes up the next one. It is a goroutine of the hub.
func (h *Hub) relay(t *Text) {
	defer h.work.Done()
	w := h.cfg.Transport.Writer(t.head.MessageID, t.head.Run)
	defer w.Close()
	var (
		told    Position
		entry   []byte
		pause   backoff
		giveUp  time.Time // Zero while the text goes on.
		log     = h.cfg.Logger.With("message_id", t.head.MessageID, "run", t.head.Run)
		waiting = false // The last entry was not taken.
	)
	for h.awaitChange(t, told) {
		u, next := t.Since(told)
		if giveUp.IsZero() && t.ended.Load() { // Not u.End: of a long text, the update that is not taken may be an earlier one.
			giveUp = time.Now().Add(relayPatience)
		}
		entry = u.Append(entry[:0])
		if waiting {
			h.counters.resent.Add(1)
		}
		err := h.append(w, entry)
		waiting = err != nil
		switch {
		case err == nil:
			h.counters.sent.Add(1)
			told, pause = next, backoff{}
			h.gather(t)
			continue
		case errors.Is(err, ErrStale):
			h.counters.stale.Add(1)
			log.Info("text dropped: a later run has begun")
			h.Close(t)
			return
		case errors.Is(err, ErrLost):
			log.Warn("what other servers were told of a text is lost, telling it again")
			told = Position{}
		default:
			log.Warn("telling other servers of a text failed, trying again", "err", err)
		}
		if !giveUp.IsZero() && time.Now().After(giveUp) {
			log.Error("other servers were not told of a text's end", "err", err)
			return
		}
		if !pause.wait(h.root) {
			return
		}
	}
}

// gather waits while nobody needs to hear of a text at once: an entry costs more than all else that is done for a token.
func (h *Hub) gather(t *Text) {
	timer := time.NewTimer(gatherTime)
	defer timer.Stop()
	select {
	case <-t.followed:
	case <-timer.C:
	case <-h.stopping:
	}
}

// hear takes an event of another server's.
func (h *Hub) hear(topic string, event []byte) {
	if topic != topicFollowed {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hurry(h.texts[string(event)])
}

// hurryAll is called when it may not have been heard what is followed.
func (h *Hub) hurryAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.texts {
		h.hurry(t)
	}
}

// hurry has a text told at once from now on, if it is written here. It belongs to holders of mu.
func (h *Hub) hurry(t *Text) {
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

// awaitChange waits until a text has more than position tells. It returns false when it never will, or when the hub stops
// and the text is not over.
func (h *Hub) awaitChange(t *Text, told Position) bool {
	for {
		more, over := t.beyond(told)
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

// backoff is the pauses between tries, each longer than the one before. The zero value begins with the shortest.
type backoff struct{ last time.Duration }

// wait pauses, and reports whether the context goes on.
func (b *backoff) wait(ctx context.Context) bool {
	b.last = min(max(2*b.last, firstPause), longestPause)
	timer := time.NewTimer(b.last/2 + rand.N(b.last/2+1)) //nolint:gosec // Spreads tries; no secret.
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
