package work

import (
	"context"
	"errors"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/timeout"
)

// ErrLost is the cause of canceling a job after another server claimed it, or after it was deleted.
var ErrLost = errors.New("work: the lease was lost")

// Lease is the duration of a claim, and the interval of renewing it.
type Lease struct {
	Duration time.Duration
	Renewal  time.Duration
}

// Hold calls run while this server holds a lease. acquire takes or renews the lease for l.Duration; it returns ErrLost
// if another server has it. Hold cancels run with ErrLost as the cause when the lease was lost, or before it expires if
// renewals fail. It returns after run has returned: the error of run, ErrLost, or the error of the first acquire.
func (l Lease) Hold(ctx context.Context, acquire, run func(ctx context.Context) error) error {
	until, err := l.acquire(ctx, acquire)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	tick := time.NewTicker(l.Renewal)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-tick.C:
		}
		renewed, err := l.acquire(ctx, acquire)
		switch {
		case err == nil:
			until = renewed
		case errors.Is(err, ErrLost), time.Now().After(until.Add(-l.Renewal)):
			cancel(ErrLost)
			<-ended //nolint:errcheck // The lease is lost, whatever the error.
			return ErrLost
		}
	}
}

// acquire returns the end of the lease by this server's clock, which is not later than by the clock of the database.
func (l Lease) acquire(ctx context.Context, acquire func(context.Context) error) (until time.Time, _ error) {
	ctx, cancel := context.WithTimeout(ctx, min(timeout.Store, 2*l.Renewal))
	defer cancel()
	until = time.Now().Add(l.Duration)
	return until, acquire(ctx)
}
