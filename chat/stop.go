package chat

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/stream"
)

// topicStop is the topic of the feed on which servers tell each other whose writing is to end: the 16 bytes of the
// answer's id. A server that misses it learns of it with the next renewal of its lease.
const topicStop = "stop"

// StopMessage ends the writing of an answer; what has been written is kept. An answer that is complete stays as it is.
func (s *Service) StopMessage(ctx context.Context, owner Owner, messageID uuid.UUID) error {
	// The request is stored first: if the server that writes dies now, the one that takes over stops it.
	running, err := s.answers.RequestStop(ctx, owner, messageID)
	if err != nil || !running {
		return err
	}
	s.stop(messageID)
	return nil
}

// stop ends the writing of an answer, here or on the server that writes it.
func (s *Service) stop(messageID uuid.UUID) {
	if !s.stopLocal(messageID) {
		s.feed.Publish(topicStop, messageID[:])
	}
}

// stopLocal reports whether the answer is written here.
func (s *Service) stopLocal(messageID uuid.UUID) bool {
	s.mu.Lock()
	g := s.running[messageID]
	s.mu.Unlock()
	if g != nil {
		g.cancel(errStopped)
	}
	return g != nil
}

// obeyStops ends what other servers ask to be stopped, until the Service stops.
func (s *Service) obeyStops(stops *stream.Subscription) {
	for {
		event, err := stops.Next(s.root)
		switch {
		case err == nil && len(event) == len(uuid.UUID{}):
			s.stopLocal(uuid.UUID(event))
		case err == nil: // Nothing that this version says.
		case errors.Is(err, stream.ErrMissed):
			_ = s.renew() // It asks for all of them, and has logged its error.
		case errors.Is(err, stream.ErrTooSlow):
			stops.Leave()
			stops = s.feed.Subscribe(topicStop)
			_ = s.renew()
		default:
			stops.Leave()
			return
		}
	}
}
