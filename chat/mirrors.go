package chat

import (
	"context"

	"github.com/google/uuid"
)

// sweepMirrors drops the mirrors of runs that have ended. If the connection was lost together with the end of the
// stream, subscribers would otherwise wait indefinitely. After the drop they reconnect and find the stored answer.
func (s *Service) sweepMirrors(ctx context.Context) {
	var runs []RunID
	for _, head := range s.hub.Mirrors() {
		if id, err := uuid.Parse(head.MessageID); err == nil {
			runs = append(runs, RunID{MessageID: id, Run: head.Run})
		}
	}
	if len(runs) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	ended, err := s.store.EndedRuns(ctx, runs, s.cfg.MirrorGrace)
	if err != nil {
		s.log.ErrorContext(ctx, "chat: searching ended runs failed", "err", err)
		return
	}
	for _, run := range ended {
		s.hub.Drop(run.MessageID.String(), run.Run)
	}
}
