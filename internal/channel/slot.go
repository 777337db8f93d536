package channel

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/timeout"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// RunInSlot calls run on at most the given number of servers at once, until ctx ends. A server calls run while it holds
// one of the slots under name. The context of run ends when the server loses its slot. RunInSlot calls run again when
// it has a slot again, and returns after run has returned.
func (s *Service) RunInSlot(ctx context.Context, name string, slots int, run func(ctx context.Context)) {
	holder := uuidv7.New()
	tick := time.NewTicker(s.cfg.Heartbeat)
	defer tick.Stop()
	h := &slotRun{}
	defer func() {
		h.end()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout.Store)
		defer cancel()
		if err := s.Store.ReleaseSlot(ctx, name, holder); err != nil {
			s.Log.WarnContext(ctx, "channel: slot not released, lease expires", "name", name, "err", err)
		}
	}()
	for {
		began := time.Now()
		held, err := s.acquireSlot(ctx, name, slots, holder)
		switch {
		case err == nil && held:
			h.until = began.Add(s.cfg.Lease)
			h.begin(ctx, run)
		case err == nil, time.Now().After(h.until.Add(-s.cfg.Heartbeat)):
			h.end() // Before another server can take the slot.
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

func (s *Service) acquireSlot(ctx context.Context, name string, slots int, holder uuid.UUID) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, min(timeout.Store, s.cfg.Heartbeat*2))
	defer cancel()
	return s.Store.AcquireSlot(ctx, name, slots, holder, s.cfg.Lease)
}

// slotRun is a call of run in a slot. It belongs to the goroutine of RunInSlot.
type slotRun struct {
	until  time.Time
	cancel context.CancelFunc // Nil while run is not running.
	done   chan struct{}
}

func (h *slotRun) begin(ctx context.Context, run func(ctx context.Context)) {
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

func (h *slotRun) end() {
	if h.cancel == nil {
		return
	}
	h.cancel()
	<-h.done
	h.cancel, h.done = nil, nil
}

// over returns a channel that is closed when run has returned.
func (h *slotRun) over() <-chan struct{} { return h.done }
