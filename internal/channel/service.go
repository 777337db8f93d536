package channel

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// Config tunes the Service. The zero value of a field means its default.
type Config struct {
	PublicURL string // The server's, without a slash at its end.

	Lease         time.Duration // A server silent for longer loses what it handles and delivers. Default 8 s.
	Heartbeat     time.Duration // How often leases are renewed. Default 2 s.
	Poll          time.Duration // How often missed notifications are looked for. Default 1 s.
	MaxHandled    int           // Events that this server handles at once. Default 32.
	MaxDeliveries int           // Answers that this server delivers at once. Default 1000.
	CallTimeout   time.Duration // Of one call of a surface. Default 10 s.
	MinPause      time.Duration // After a failed call, at first; it doubles. Default 1 s.
	MaxPause      time.Duration // At most. Default 30 s.
	Busy          time.Duration // How often a question waits for the answer before. Default 1 s.
	Unlinked      time.Duration // How soon a question looks whether its person was linked. Default 5 s.
	MaxWait       time.Duration // How long a question waits for that, and for its files. Default 10 min.
	MaxAttempts   int           // Of an event whose handling fails. Default 8.
	Remember      time.Duration // How long ids of handled events are kept. Default 7 days.
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
		{&c.Busy, time.Second},
		{&c.Unlinked, 5 * time.Second},
		{&c.MaxWait, 10 * time.Minute},
		{&c.Remember, 7 * 24 * time.Hour},
	} {
		if *d.value <= 0 {
			*d.value = d.standard
		}
	}
	for _, n := range []struct {
		value    *int
		standard int
	}{{&c.MaxHandled, 32}, {&c.MaxDeliveries, 1000}, {&c.MaxAttempts, 8}} {
		if *n.value <= 0 {
			*n.value = n.standard
		}
	}
	return c
}

// Chat answers questions. *chat.Service is one.
type Chat interface {
	StartThread(ctx context.Context, owner chat.Owner, n chat.NewThread, q chat.Question) (chat.Exchange, error)
	Send(ctx context.Context, owner chat.Owner, q chat.Question) (chat.Exchange, error)
	FindThread(ctx context.Context, owner chat.Owner, id uuid.UUID) (chat.Thread, error)
	FindMessage(ctx context.Context, owner chat.Owner, id uuid.UUID) (chat.Message, error)
	Attach(ctx context.Context, owner chat.Owner, messageID uuid.UUID) (chat.Attachment, error)
	StopMessage(ctx context.Context, owner chat.Owner, messageID uuid.UUID) error
	GiveFeedback(ctx context.Context, owner chat.Owner, messageID uuid.UUID, feedback chat.Feedback) error
	WithdrawFeedback(ctx context.Context, owner chat.Owner, messageID uuid.UUID) error
}

// Skills lists and finds skills. *skill.Service is one.
type Skills interface {
	List(ctx context.Context, organizationID, userID uuid.UUID, offset, limit int) ([]skill.Skill, error)
	Get(ctx context.Context, organizationID, userID, skillID uuid.UUID) (skill.Skill, error)
}

// Sources keeps and reads files. *datasource.Service is one.
type Sources interface {
	Upload(ctx context.Context, owner datasource.Owner, session uuid.UUID, filename string, content io.Reader) (
		datasource.Source, bool, error)
	Find(ctx context.Context, owner datasource.Owner, id uuid.UUID) (datasource.Source, error)
}

// Needs are the dependencies of a Service. All are required.
type Needs struct {
	Store         Store
	Installations Installations
	Links         Links
	Surfaces      map[string]Surface // By the name that Incoming has.
	Chat          Chat
	Skills        Skills
	Sources       Sources
	Log           *slog.Logger
}

// Service takes in what happens on surfaces, and delivers answers to them. It is safe for concurrent use.
type Service struct {
	Needs
	cfg      Config
	root     context.Context // Canceled by Stop.
	cancel   context.CancelFunc
	loops    sync.WaitGroup // The goroutines of Start,
	work     sync.WaitGroup // and of events and deliveries: begun while one of loops runs.
	limits   limits
	events   chan struct{} // Holds a value while there may be an event to claim,
	orphans  chan struct{} // or a delivery.
	counters counters

	mu        sync.Mutex
	handling  map[eventKey]*claim  // Guarded by mu.
	delivered map[uuid.UUID]*claim // Guarded by mu. By the answer.
	asking    int                  // Guarded by mu. Of handling, those with a lane.
}

type eventKey struct {
	installationID uuid.UUID
	eventID        string
}

// claim is what this server has claimed, and until when.
type claim struct {
	Claimed
	cancel context.CancelFunc
	until  atomic.Pointer[time.Time]
	lane   bool
}

// NewService returns a Service. Nothing runs before Start.
func NewService(n Needs, cfg Config) *Service {
	root, cancel := context.WithCancel(context.Background())
	return &Service{
		Needs: n, cfg: cfg.withDefaults(), root: root, cancel: cancel, limits: newLimits(),
		events: make(chan struct{}, 1), orphans: make(chan struct{}, 1),
		handling: make(map[eventKey]*claim), delivered: make(map[uuid.UUID]*claim),
	}
}

// Start begins to handle events and to deliver answers, also those of other servers that have died. Stop must be
// called.
func (s *Service) Start() {
	s.loops.Go(func() {
		s.Store.WatchChannels(s.root, func() {
			wake(s.events)
			wake(s.orphans)
		})
	})
	s.loops.Go(func() { s.every(s.cfg.Poll, s.events, s.claimEvents) })
	s.loops.Go(func() { s.every(s.cfg.Poll, s.orphans, s.claimDeliveries) })
	s.loops.Go(func() { s.every(s.cfg.Heartbeat, nil, s.renew) })
	s.loops.Go(func() { s.every(time.Minute, nil, s.tidy) })
}

// Stop ends what Start has begun, and waits for it. What is not complete is released: another server goes on with it,
// or this one after its next start.
func (s *Service) Stop() {
	s.cancel()
	s.loops.Wait()
	s.work.Wait()
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// every calls do at once, at intervals and when woken, until the Service stops.
func (s *Service) every(interval time.Duration, woken <-chan struct{}, do func(context.Context) error) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if err := do(s.root); err != nil && s.root.Err() == nil {
			s.Log.WarnContext(s.root, "conversations elsewhere wait for the database", "err", err)
		}
		select {
		case <-s.root.Done():
			return
		case <-tick.C:
		case <-woken:
		}
	}
}

const storeTimeout = 5 * time.Second // For the database.

// tidy deletes the ids of old events, and counts those that wait.
func (s *Service) tidy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return s.Store.ForgetEvents(ctx, s.cfg.Remember)
}

// renew renews the leases of what this server handles and delivers, and ends what is no longer its own.
func (s *Service) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	waiting, err := s.Store.CountEvents(ctx)
	if err != nil {
		return err
	}
	s.counters.waiting.Store(int64(waiting))
	held := make(map[uuid.UUID]*claim)
	s.mu.Lock()
	for _, c := range s.handling {
		held[c.Claim] = c
	}
	for _, c := range s.delivered {
		held[c.Claim] = c
	}
	s.mu.Unlock()
	if len(held) == 0 {
		return nil
	}
	names := make([]Claimed, 0, len(held))
	for _, c := range held {
		names = append(names, c.Claimed)
	}
	until := time.Now().Add(s.cfg.Lease)
	lost, err := s.Store.RenewClaims(ctx, names, s.cfg.Lease)
	if err != nil {
		return err
	}
	for _, id := range lost {
		held[id].cancel()
		delete(held, id)
	}
	for _, c := range held {
		c.until.Store(&until)
	}
	return nil
}

// target returns where something of an event goes.
func (e Event) target(in Installation) Target {
	i := e.Incoming
	thread := i.Thread
	if thread == "" {
		thread = e.Done.Thread
	}
	return Target{
		Installation: in, Channel: i.Channel, Thread: thread, Person: i.Person, PersonTeam: i.PersonTeam,
		Direct: i.Direct, Reply: i.Reply,
	}
}

// counters count what a Service has done since it was made.
type counters struct {
	waiting, taken, repeated, limited, tookOver, delivered, failed atomic.Int64
}

// Stats is what a Service is doing, and has done since it was made.
type Stats struct {
	Waiting    int // Events that wait or are being handled, on all servers.
	Handling   int // Events that are handled here.
	Delivering int // Answers that are delivered here.

	Taken     int64 // New events.
	Repeated  int64 // Events that were known.
	Limited   int64 // Calls that a surface refused for its rate limit.
	TookOver  int64 // Deliveries that another server had begun.
	Delivered int64 // Answers that were delivered to their end.
	Failed    int64 // Calls of a surface that failed otherwise.
}

// Stats returns what the Service is doing.
func (s *Service) Stats() Stats {
	c := &s.counters
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{
		Waiting: int(c.waiting.Load()), Handling: len(s.handling), Delivering: len(s.delivered),
		Taken: c.taken.Load(), Repeated: c.repeated.Load(), Limited: c.limited.Load(), TookOver: c.tookOver.Load(),
		Delivered: c.delivered.Load(), Failed: c.failed.Load(),
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

// erase forgets an installation whose credentials were revoked.
func (s *Service) erase(ctx context.Context, id uuid.UUID) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	err := s.Installations.EraseInstallation(ctx, id)
	if errors.Is(err, ErrNotInstalled) {
		err = nil
	}
	if err == nil {
		s.Log.InfoContext(ctx, "an installation was erased: its credentials were revoked", "installation", id)
	}
	return err
}
