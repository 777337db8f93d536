package chat

import (
	"context"

	"github.com/google/uuid"
)

// sweepMirrors drops the mirrors of answers that will not go on, so that a link that was cut leaves nobody waiting for
// an end that was lost: their clients come back, and find what is stored.
func (s *Service) sweepMirrors(ctx context.Context) {
	var runs []Held
	for _, head := range s.hub.Mirrors() {
		if id, err := uuid.Parse(head.MessageID); err == nil {
			runs = append(runs, Held{MessageID: id, Run: head.Run})
		}
	}
	if len(runs) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	ended, err := s.servers.EndedRuns(ctx, runs, s.cfg.MirrorGrace)
	if err != nil {
		s.log.ErrorContext(ctx, "looking for mirrors of answers that have ended failed", "err", err)
		return
	}
	for _, run := range ended {
		s.hub.Drop(run.MessageID.String(), run.Run)
	}
}
