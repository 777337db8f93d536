package chat

import (
	"context"
	"time"
)

// mirrorGrace is how long after an answer was stored its mirrors still wait for its title and its end.
const mirrorGrace = 15 * time.Second

// mirrors are the texts of other servers that are followed here.
type mirrors interface {
	Mirrored() []Held
	Drop(run Held)
}

// sweepMirrors drops the mirrors of answers that will not go on, so that a link that was cut leaves nobody waiting for an
// end that was lost: their clients come back, and find what is stored.
func (s *Service) sweepMirrors(ctx context.Context) {
	hub, ok := any(s.hub).(mirrors)
	if !ok {
		return
	}
	followed := hub.Mirrored()
	if len(followed) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	over, err := s.store.EndedRuns(ctx, followed, mirrorGrace)
	if err != nil {
		s.log.ErrorContext(ctx, "looking for mirrors of answers that have ended failed", "err", err)
		return
	}
	_ = over
}
