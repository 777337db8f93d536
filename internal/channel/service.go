package channel

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/project"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/internal/timeout"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
	"github.com/tsumugi-ai/tsumugi/internal/work"
)

// Config tunes the Service. The zero value of a field selects its default.
type Config struct {
	PublicURL string // The server's public URL, without a trailing slash.

	Lease         time.Duration // A server silent for longer loses its events and deliveries. Default 8 s.
	Heartbeat     time.Duration // How often leases are renewed. Default 2 s.
	Poll          time.Duration // Poll interval for missed notifications. Default 1 s.
	MaxEvents     int           // Maximum events handled concurrently. Default 32.
	MaxDeliveries int           // Maximum answers delivered concurrently. Default 1000.
	CallTimeout   time.Duration // For one call of a surface. Default 10 s.
	MinPause      time.Duration // First pause after a failed call; it doubles. Default 1 s.
	MaxPause      time.Duration // Longest pause, except after a refused call: ten times as long. Default 30 s.
	BusyRetry     time.Duration // Retry interval of a question while another answer runs. Default 1 s.
	LinkRetry     time.Duration // First retry interval of a question of an unlinked person. Default 5 s.
	AccessCheck   time.Duration // Interval of checks of a person's access to an answer. Default 2 s.
	MaxWait       time.Duration // Longest wait for another answer and for files. Default 10 min.
	MaxAttempts   int           // For an event whose handling fails. Default 8.
	MaxRefusals   int           // Consecutive refused calls until a delivery is given up. Default 12, in 20 min.
	MaxOutage     time.Duration // Time of failed calls until a delivery is given up. Default 24 h.
	Retention     time.Duration // Retention of ids of handled events. Default 7 days.
}

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{
		{&c.Lease, 8 * time.Second},
		{&c.Heartbeat, min(2*time.Second, max(c.Lease/4, 10*time.Millisecond))},
		{&c.Poll, time.Second},
		{&c.CallTimeout, 10 * time.Second},
		{&c.MinPause, time.Second},
		{&c.MaxPause, 30 * time.Second},
		{&c.BusyRetry, time.Second},
		{&c.LinkRetry, 5 * time.Second},
		{&c.AccessCheck, 2 * time.Second},
		{&c.MaxWait, 10 * time.Minute},
		{&c.MaxOutage, 24 * time.Hour},
		{&c.Retention, 7 * 24 * time.Hour},
	} {
		if *d.value <= 0 {
			*d.value = d.standard
		}
	}
	for _, n := range []struct {
		value    *int
		standard int
	}{{&c.MaxEvents, 32}, {&c.MaxDeliveries, 1000}, {&c.MaxAttempts, 8}, {&c.MaxRefusals, 12}} {
		if *n.value <= 0 {
			*n.value = n.standard
		}
	}
	return c
}

// Chat answers questions. *chat.Service implements it.
type Chat interface {
	StartThread(ctx context.Context, owner identity.Owner, n chat.NewThread, q chat.Question) (chat.Exchange, error)
	Send(ctx context.Context, owner identity.Owner, q chat.Question) (chat.Exchange, error)
	FindThread(ctx context.Context, owner identity.Owner, id uuid.UUID) (chat.Thread, error)
	FindMessage(ctx context.Context, owner identity.Owner, id uuid.UUID) (chat.Message, error)
	Attach(ctx context.Context, owner identity.Owner, messageID uuid.UUID) (chat.Attachment, error)
	StopMessage(ctx context.Context, owner identity.Owner, messageID uuid.UUID) error
	GiveFeedback(ctx context.Context, owner identity.Owner, messageID uuid.UUID, feedback chat.Feedback) error
	WithdrawFeedback(ctx context.Context, owner identity.Owner, messageID uuid.UUID) error
	ListAnswerApprovals(ctx context.Context, owner identity.Owner, messageID uuid.UUID) ([]chat.ToolApproval, error)
	DecideToolCall(ctx context.Context, actor identity.Actor, d chat.Decision) (chat.ToolApproval, error)
}

// Sources stores and reads files. *datasource.Service implements it.
type Sources interface {
	Upload(ctx context.Context, owner identity.Owner, session uuid.UUID, filename string, content io.Reader) (
		datasource.Source, bool, error)
	Find(ctx context.Context, owner identity.Owner, id uuid.UUID) (datasource.Source, error)
}

// Deps are the dependencies of a Service. All are required.
type Deps struct {
	Store         Store
	Installations Installations
	Links         Links
	Surfaces      map[string]Surface // By the Surface field of IncomingEvent.
	Chat          Chat
	Skills        *skill.Service
	Projects      *project.Service
	Sources       Sources
	Log           *slog.Logger
}

// Service handles the events of surfaces and delivers answers to them. It is safe for concurrent use.
type Service struct {
	Deps
	cfg        Config
	group      *work.Group
	events     *work.Pool[Event]
	deliveries *work.Pool[Delivery]
	limits     limits
	counters   counters
}

const storeFailure = "channel: store unavailable, retrying" // Log message.

// NewService returns a Service. It starts no goroutine before Start.
func NewService(n Deps, cfg Config) *Service {
	s := &Service{Deps: n, cfg: cfg.withDefaults(), group: work.NewGroup(n.Log), limits: newLimits()}
	s.events = work.NewPool(s.group, work.Queue[Event]{
		Lease: s.lease(), Poll: s.cfg.Poll, Claim: s.claimEvents, Renew: n.Store.RenewEvents, Run: s.handle,
		ID: func(e Event) uuid.UUID { return e.Claim }, ClaimFailure: storeFailure, RenewFailure: storeFailure,
	})
	s.deliveries = work.NewPool(s.group, work.Queue[Delivery]{
		Lease: s.lease(), Poll: s.cfg.Poll, Claim: s.claimDeliveries, Renew: n.Store.RenewDeliveries, Run: s.deliver,
		ID: func(d Delivery) uuid.UUID { return d.AnswerID }, ClaimFailure: storeFailure, RenewFailure: storeFailure,
	})
	return s
}

func (s *Service) lease() work.Lease {
	return work.Lease{Duration: s.cfg.Lease, Renewal: s.cfg.Heartbeat}
}

// Start begins to handle events and to deliver answers, including those of failed servers. The caller must call Stop.
func (s *Service) Start() {
	s.group.Go(func(ctx context.Context) {
		s.Store.WatchChannels(ctx, func() {
			s.events.Wake()
			s.deliveries.Wake()
		})
	})
	s.events.Start()
	s.deliveries.Start()
	s.group.Every(s.cfg.Heartbeat, nil, s.countEvents, storeFailure)
	s.group.Every(time.Minute, nil, s.deleteExpiredEvents, storeFailure)
}

// Stop ends all work of the Service and waits for it. It releases incomplete events and deliveries to other servers.
func (s *Service) Stop() { s.group.Stop() }

// countEvents counts pending events.
func (s *Service) countEvents(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout.Store)
	defer cancel()
	waiting, err := s.Store.CountEvents(ctx)
	if err == nil {
		s.counters.waiting.Store(int64(waiting))
	}
	return err
}

// deleteExpiredEvents deletes the ids of old events.
func (s *Service) deleteExpiredEvents(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout.Store)
	defer cancel()
	return s.Store.DeleteExpiredEvents(ctx, s.cfg.Retention)
}

// RunInSlot calls run on at most the given number of servers at once, until ctx ends. A server calls run while it holds
// one of the slots under name. The context of run ends when the server loses its slot. RunInSlot then acquires another
// slot and calls run again. It does not return while run is running.
func (s *Service) RunInSlot(ctx context.Context, name string, slots int, run func(ctx context.Context)) {
	holder := uuidv7.New()
	acquire := func(ctx context.Context) error {
		held, err := s.Store.AcquireSlot(ctx, name, slots, holder, s.cfg.Lease)
		if err == nil && !held {
			err = work.ErrLost
		}
		return err
	}
	for ctx.Err() == nil {
		_ = s.lease().Hold(ctx, acquire, func(ctx context.Context) error { // Tried again after any error.
			run(ctx)
			return nil
		})
		work.Sleep(ctx, s.cfg.Heartbeat)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout.Store)
	defer cancel()
	if err := s.Store.ReleaseSlot(ctx, name, holder); err != nil {
		s.Log.WarnContext(ctx, "channel: slot not released, lease expires", "name", name, "err", err)
	}
}

// target returns the target for notices and answers of an event.
func (e Event) target(in Installation) Target {
	i := e.Incoming
	thread := cmp.Or(i.Thread, e.Progress.Thread)
	return Target{
		Installation: in, Channel: i.Channel, Thread: thread, Person: i.Person, PersonTeam: i.PersonTeam,
		Direct: i.Direct, Reply: i.Reply,
	}
}

// counters count the work of a Service since its creation.
type counters struct {
	waiting, enqueued, duplicates, limited, takeovers, delivered, abandoned, failed atomic.Int64
}

// Stats is the current and past work of a Service.
type Stats struct {
	Waiting    int // Events waiting or in handling, on all servers.
	Handling   int // Events in handling on this server.
	Delivering int // Answers in delivery on this server.

	Enqueued   int64 // New events.
	Duplicates int64 // Repeated events.
	Limited    int64 // Calls refused because of a rate limit.
	Takeovers  int64 // Deliveries taken over from another server.
	Delivered  int64 // Completed deliveries.
	Abandoned  int64 // Deliveries that were given up after failed calls.
	Failed     int64 // Other failed calls of a surface.
}

// Stats returns the current statistics.
func (s *Service) Stats() Stats {
	c := &s.counters
	return Stats{
		Waiting: int(c.waiting.Load()), Handling: s.events.Len(), Delivering: s.deliveries.Len(),
		Enqueued: c.enqueued.Load(), Duplicates: c.duplicates.Load(), Limited: c.limited.Load(),
		Takeovers: c.takeovers.Load(),
		Delivered: c.delivered.Load(), Abandoned: c.abandoned.Load(), Failed: c.failed.Load(),
	}
}

// surface returns the surface of an installation.
func (s *Service) surface(in Installation) (Surface, error) {
	surface := s.Surfaces[in.Surface]
	if surface == nil {
		return nil, fault.Errorf(fault.Internal, "no surface %q", in.Surface)
	}
	return surface, nil
}

// isReplaced reports whether an installation has another token than in, which was revoked.
func (s *Service) isReplaced(ctx context.Context, in Installation) bool {
	now, err := s.Installations.Installation(ctx, in.ID)
	return err == nil && now.Credentials.BotToken != in.Credentials.BotToken
}

// erase deletes an installation whose credentials were revoked.
func (s *Service) erase(ctx context.Context, id uuid.UUID) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout.Store)
	defer cancel()
	err := s.Installations.EraseInstallation(ctx, id)
	if errors.Is(err, ErrNotInstalled) {
		err = nil
	}
	if err == nil {
		s.Log.InfoContext(ctx, "channel: installation with revoked credentials erased", "installation", id)
	}
	return err
}
