// Package siem sends the audit log to the operator's SIEM, as OTLP logs or by syslog over TLS, with the names of OCSF.
//
// It owns the formats, the order of sending and the cursors: the events are those of package org. For each sink, one
// server at a time sends the events of all organizations, in the order of their positions, and stores a cursor. After a
// failure or a restart, it continues from the cursor, so that each event is sent at least once.
//
// The package imports org, proxy, runes, timeout, uuidv7 and work.
package siem

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/timeout"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
	"github.com/tsumugi-ai/tsumugi/internal/work"
)

// Event is an event of the audit log with its position in the order of sending. The position of an event that has
// changed is a new one.
type Event struct {
	org.Event

	Position         int64
	Revision         int    // The number of changes, such as additions to the counter of an hour.
	OrganizationName string // "" without an organization.
}

// uid returns the id that a receiver uses to recognize repetitions. It is the id of the event, with the revision after a
// change.
func (e Event) uid() string {
	if e.Revision == 0 {
		return e.ID.String()
	}
	return e.ID.String() + "-" + strconv.Itoa(e.Revision)
}

// Backlog describes the events that a sink has not sent.
type Backlog struct {
	Sink    string
	Waiting int64
	Oldest  time.Time // The zero time if no event is waiting.
}

// Store is the database.
type Store interface {
	// AddSink returns the cursor of a sink. A new sink begins after the newest position.
	AddSink(ctx context.Context, name string) (cursor int64, err error)
	// SinkEvents returns committed events whose position is greater than after, in the order of their positions. Later
	// calls return no event whose position is lower than a returned one.
	SinkEvents(ctx context.Context, after int64, limit int) ([]Event, error)
	// MoveCursor sets the cursor of a sink and the position of the last event sent to it. It decreases neither.
	MoveCursor(ctx context.Context, name string, cursor, sent int64) error
	// SinkBacklogs returns the backlogs of all sinks.
	SinkBacklogs(ctx context.Context) ([]Backlog, error)

	// AcquireSlot takes or renews one of the slots under a name for the duration of a lease.
	AcquireSlot(ctx context.Context, name string, slots int, holder uuid.UUID, lease time.Duration) (held bool, err error)
	ReleaseSlot(ctx context.Context, name string, holder uuid.UUID) error
}

// Sink is a receiver of events. Only Check may be called concurrently.
type Sink interface {
	// Name is the name of the sink in the database and in metrics.
	Name() string
	// Send sends events, oldest first, or with none checks that the connection is open. It returns the position up to
	// which no event has to be sent again, or 0 if that has not changed. After an error, the caller continues after that
	// position.
	Send(ctx context.Context, events []Event) (confirmed int64, err error)
	// Refused returns the number of events that the receiver has refused.
	Refused() int64
	// Check connects to the receiver.
	Check(ctx context.Context) error
	// Close ends the connection. Send opens another one.
	Close()
}

// Config configures a Service. Zero values mean the defaults.
type Config struct {
	Poll     time.Duration // Interval of reading new events. Default 1 s.
	Retry    time.Duration // Delay after a failure, doubled up to MaxRetry. Default 1 s.
	MaxRetry time.Duration // Default 1 min.
	Lease    work.Lease    // Default 8 s, renewed every 2 s.
}

const (
	batchEvents     = 200
	backlogInterval = 15 * time.Second
	maxRetryAfter   = 5 * time.Minute // Maximum delay that a receiver can request.
)

// Service sends the audit log to sinks.
type Service struct {
	store   Store
	cfg     Config
	group   *work.Group
	holder  uuid.UUID
	senders []*sender
	backlog atomic.Pointer[[]Backlog]
}

// NewService returns a Service that sends nothing before Start.
func NewService(store Store, sinks []Sink, cfg Config, log *slog.Logger) *Service {
	cfg.Poll = cmp.Or(cfg.Poll, time.Second)
	if cfg.Retry == 0 {
		cfg.Retry, cfg.MaxRetry = time.Second, time.Minute
	}
	if cfg.Lease.Duration == 0 {
		cfg.Lease = work.Lease{Duration: 8 * time.Second, Renewal: 2 * time.Second}
	}
	s := &Service{store: store, cfg: cfg, group: work.NewGroup(log), holder: uuidv7.New()}
	s.backlog.Store(&[]Backlog{})
	for _, sink := range sinks {
		s.senders = append(s.senders, &sender{service: s, sink: sink, log: log.With("sink", sink.Name())})
	}
	return s
}

// Start begins to send. A new sink receives the events after Start has returned, unless the database is unavailable.
func (s *Service) Start() {
	for _, sender := range s.senders {
		if _, err := sender.add(context.Background()); err != nil {
			sender.log.Warn("siem: sink not added, retrying", "err", err)
		}
		s.group.Go(sender.run)
	}
	if len(s.senders) > 0 {
		s.group.Every(backlogInterval, nil, s.readBacklog, "siem: reading the number of waiting events failed, retrying")
	}
}

// Stop ends sending. Another server continues.
func (s *Service) Stop() { s.group.Stop() }

func (s *Service) readBacklog(ctx context.Context) error {
	backlogs, err := s.store.SinkBacklogs(timeout.Call(ctx))
	if err == nil {
		s.backlog.Store(&backlogs)
	}
	return err
}

// Stats describe a sink.
type Stats struct {
	Sink          string
	Waiting       int64         // Events of all servers that were not sent.
	Lag           time.Duration // The age of the oldest of them.
	Sent, Refused int64         // Events since the start of this server. Sent counts repetitions.
}

// Stats returns the state of the sinks of this server.
func (s *Service) Stats() []Stats {
	all := make([]Stats, len(s.senders))
	for i, sender := range s.senders {
		all[i] = Stats{Sink: sender.sink.Name(), Sent: sender.sent.Load(), Refused: sender.sink.Refused()}
		for _, b := range *s.backlog.Load() {
			if b.Sink == all[i].Sink && b.Waiting > 0 {
				all[i].Waiting, all[i].Lag = b.Waiting, max(0, time.Since(b.Oldest))
			}
		}
	}
	return all
}

// sender sends events to a sink while this server holds its lease.
type sender struct {
	service *Service
	sink    Sink
	log     *slog.Logger
	sent    atomic.Int64

	failing  bool // The last call of the sink has failed.
	failures int  // Consecutive failures.
	failedAt time.Time
}

// run sends whenever this server holds the lease, until ctx ends.
func (s *sender) run(ctx context.Context) {
	store, slot := s.service.store, "audit "+s.sink.Name()
	acquire := func(ctx context.Context) error {
		held, err := store.AcquireSlot(ctx, slot, 1, s.service.holder, s.service.cfg.Lease.Duration)
		if err == nil && !held {
			err = work.ErrLost
		}
		return err
	}
	for ctx.Err() == nil {
		err := s.service.cfg.Lease.Hold(ctx, acquire, s.send)
		if err != nil && !errors.Is(err, work.ErrLost) && ctx.Err() == nil {
			s.log.WarnContext(ctx, "siem: database unavailable, retrying", "err", err)
		}
		work.Sleep(ctx, s.service.cfg.Lease.Renewal)
	}
	if err := store.ReleaseSlot(timeout.Call(context.WithoutCancel(ctx)), slot, s.service.holder); err != nil {
		s.log.WarnContext(ctx, "siem: lease not released, it expires", "err", err)
	}
}

// add adds the sink to the database, unless it is known there, and returns its cursor.
func (s *sender) add(ctx context.Context) (cursor int64, err error) {
	return s.service.store.AddSink(timeout.Call(ctx), s.sink.Name())
}

// send sends events from the cursor on, until ctx ends or the database fails.
func (s *sender) send(ctx context.Context) error {
	defer s.sink.Close()
	cursor, err := s.add(ctx)
	position := cursor // Events up to here were sent.
	for err == nil && ctx.Err() == nil {
		var events []Event
		if events, err = s.service.store.SinkEvents(timeout.Call(ctx), position, batchEvents); err != nil {
			break
		}
		confirmed, failure := s.sink.Send(ctx, events)
		sent := max(position, confirmed)
		if failure == nil && len(events) > 0 {
			sent = events[len(events)-1].Position
		}
		s.sent.Add(int64(countUpTo(events, sent)))
		if confirmed > cursor || sent > position {
			cursor, position = max(cursor, confirmed), sent
			// Even if ctx has ended meanwhile, so that another server repeats less.
			err = s.service.store.MoveCursor(timeout.Call(context.WithoutCancel(ctx)), s.sink.Name(), cursor, sent)
		}
		switch {
		case failure != nil:
			s.sink.Close()
			position = cursor
			s.pause(ctx, failure)
			continue
		case s.failing:
			s.failing = false
			s.log.InfoContext(ctx, "siem: the receiver accepts events again")
		}
		if len(events) < batchEvents {
			work.Sleep(ctx, s.service.cfg.Poll)
		}
	}
	return err
}

// countUpTo returns the number of events up to a position.
func countUpTo(events []Event, position int64) int {
	n, _ := slices.BinarySearchFunc(events, position+1, func(e Event, p int64) int { return cmp.Compare(e.Position, p) })
	return n
}

// pause logs a failure and waits. Failures within twice MaxRetry count as consecutive, even with a success in between,
// so that the delay increases for a receiver that accepts connections and closes them.
func (s *sender) pause(ctx context.Context, failure error) {
	if ctx.Err() != nil {
		return
	}
	cfg := s.service.cfg
	if time.Since(s.failedAt) > 2*cfg.MaxRetry {
		s.failures = 0
	}
	s.failing = true
	s.failures++
	wait := work.Backoff(s.failures, cfg.Retry, cfg.MaxRetry)
	if busy, ok := errors.AsType[*busyError](failure); ok {
		wait = max(wait, min(busy.after, maxRetryAfter))
	}
	s.log.WarnContext(ctx, "siem: the receiver does not accept events, retrying", "err", failure, "wait", wait)
	work.Sleep(ctx, wait)
	s.failedAt = time.Now()
}
