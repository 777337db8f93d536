package chat

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/stream"
)

// topicStop is the topic of the feed on which servers forward stop requests: the 16 bytes of the answer's id. A server
// that misses one receives it with the next renewal of its lease.
const topicStop = "stop"

// StopMessage ends the generation of an answer and keeps the text so far. It does not change a complete answer.
func (s *Service) StopMessage(ctx context.Context, owner identity.Owner, messageID uuid.UUID) error {
	// The request is stored first: if the generating server fails now, the one that takes over stops the answer.
	running, err := s.store.RequestStop(ctx, owner, messageID)
	if err != nil || !running {
		return err
	}
	s.stop(messageID)
	return nil
}

// stop ends the generation of an answer, on this server or the one that runs it.
func (s *Service) stop(messageID uuid.UUID) {
	if !s.stopLocal(messageID) {
		s.feed.Publish(topicStop, messageID[:])
	}
}

// stopLocal reports whether the answer is generated on this server.
func (s *Service) stopLocal(messageID uuid.UUID) bool {
	s.mu.Lock()
	g := s.running[messageID]
	s.mu.Unlock()
	if g != nil {
		g.cancel(errStopped)
	}
	return g != nil
}

// handleStops executes stop requests of other servers until the Service stops.
func (s *Service) handleStops(stops *stream.Subscription) {
	s.handle(stops, topicStop, func(event []byte) {
		if id, err := uuid.FromBytes(event); err == nil { // Else a message of another version.
			s.stopLocal(id)
		}
	}, func() {
		_ = s.renew() // Returns all pending stop requests. It logs its own error.
	})
}

// handle calls do for each event of other servers on a topic, until the Service stops. It calls missed if events may
// have been missed.
func (s *Service) handle(events *stream.Subscription, topic string, do func(event []byte), missed func()) {
	for {
		event, err := events.Next(s.root)
		switch {
		case err == nil:
			do(event)
		case errors.Is(err, stream.ErrMissed):
			missed()
		case errors.Is(err, stream.ErrTooSlow):
			events.Leave()
			events = s.feed.Subscribe(topic)
			missed()
		default:
			events.Leave()
			return
		}
	}
}
