package channel

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Hold calls run on at most the given number of servers at once, until ctx ends. A server calls run while it holds one
// of the places under name. The context of run ends when the server loses its place. Hold calls run again when it has a
// place again, and returns after run has returned.
func (s *Service) Hold(ctx context.Context, name string, places int, run func(ctx context.Context)) {
	holder := uuid.Must(uuid.NewV7())
	tick := time.NewTicker(s.cfg.Heartbeat)
	defer tick.Stop()
	h := &holding{}
	defer func() {
		h.end()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
		defer cancel()
		if err := s.Store.Release(ctx, name, holder); err != nil {
			s.Log.WarnContext(ctx, "channel: place not released, lease expires", "name", name, "err", err)
		}
	}()
	for {
		began := time.Now()
		held, err := s.hold(ctx, name, places, holder)
		switch {
		case err == nil && held:
			h.until = began.Add(s.cfg.Lease)
			h.begin(ctx, run)
		case err == nil, time.Now().After(h.until.Add(-s.cfg.Heartbeat)):
			h.end() // Before another server can take the place.
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-h.over():
			h.end() // run returned early. It is called again after a pause.
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}
}

func (s *Service) hold(ctx context.Context, name string, places int, holder uuid.UUID) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, min(storeTimeout, s.cfg.Heartbeat*2))
	defer cancel()
	return s.Store.Hold(ctx, name, places, holder, s.cfg.Lease)
}

// holding is a call of run on a held place. It belongs to the goroutine of Hold.
type holding struct {
	until  time.Time
	cancel context.CancelFunc // Nil while run is not running.
	done   chan struct{}
}

func (h *holding) begin(ctx context.Context, run func(ctx context.Context)) {
	if h.cancel != nil {
		return
	}
	ctx, h.cancel = context.WithCancel(ctx)
	done := make(chan struct{})
	h.done = done
	go func() {
		defer close(done)
		run(ctx)
	}()
}

func (h *holding) end() {
	if h.cancel == nil {
		return
	}
	h.cancel()
	<-h.done
	h.cancel, h.done = nil, nil
}

// over returns a channel that is closed when run has returned.
func (h *holding) over() <-chan struct{} { return h.done }
