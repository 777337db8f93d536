package chat

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/internal/tally"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
	"github.com/tsumugi-ai/tsumugi/stream"
)

// Config tunes the Service. The zero value of a field selects its default.
type Config struct {
	// A server silent for longer is considered failed. Default 3 s; at least 8 s if Alone.
	Lease time.Duration
	// How often this server renews its lease. Default 400 ms, or 2 s if Alone, but at most a quarter of Lease.
	Heartbeat time.Duration
	// Interval of the search for generations of failed servers. Default 250 ms, or 1 s if Alone.
	Sweep       time.Duration
	SendTimeout time.Duration // Timeout of storing a question and starting its answer. Default 5 s.
	StoreRetry  time.Duration // Longest pause between attempts to store an answer. Default 5 s.
	// Interval at which a request that waits for another server's answer reads the answer. Default 5 s.
	Patience     time.Duration
	TitleTimeout time.Duration // Timeout of generating a title or suggestions, in the background. Default 30 s.
	Expiry       time.Duration // Interval between deletions of expired threads. Default 1 min.
	Checkpoints  time.Duration // Interval between checkpoints of running answers. Default 1 s.
	// Time for which mirrors wait for the end of the stream after an answer was stored. Default 5 s.
	MirrorGrace time.Duration
	MaxAnswer   int // In bytes of an answer's text; longer answers are truncated. Default 1 MiB.
	// In bytes of an answer's reasoning; the rest is dropped. Default 128 KiB.
	MaxReasoning int
	HistoryBytes int // In bytes of earlier messages sent to the model. Default 48 KiB.
	// ProofreadNote is added to every proofreading: the limits of the check. Default none.
	ProofreadNote string
	Suggestions   bool // Questions are suggested after answers.
	// Time limit for the approval of a call. Default 24 h.
	Approval time.Duration
	// Time limit for the calls of tools in one answer, without the waiting time for approvals. Default 10 min.
	ToolTime time.Duration

	MaxGenerations     int // Maximum running generations; as many may wait for a slot. Default 1000.
	MaxPerPerson       int // Running and waiting generations per person, on all servers. Default unlimited.
	MaxPerOrganization int // Running and waiting generations per organization, on all servers. Default unlimited.
	// In bytes of texts that are generated or followed; above it new questions are refused. Default 512 MiB.
	MaxLiveText int64

	// Epoch returns the minimum number of a run that begins now. The next run of an answer always gets a higher number.
	// The epoch also distinguishes it from runs that clients remember but a restored database does not. Default: the
	// seconds since the beginning of 2025.
	Epoch func() int

	// Alone means that no other server shares the database: every running generation in the database is an orphan when
	// this server starts.
	Alone bool
}

// firstEpoch is the origin of epochs. Run numbers count from 2025, so that they have eight digits, and nine until 2056.
var firstEpoch = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)

// set sets a field that has no positive value.
func set[T int | int64 | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

func (c Config) withDefaults() Config {
	set(&c.Lease, 3*time.Second)
	heartbeat, sweep := 400*time.Millisecond, 250*time.Millisecond
	if c.Alone {
		c.Lease, heartbeat, sweep = max(c.Lease, 8*time.Second), 2*time.Second, time.Second
	}
	set(&c.Heartbeat, min(heartbeat, max(c.Lease/4, 10*time.Millisecond)))
	set(&c.Sweep, sweep)
	set(&c.SendTimeout, 5*time.Second)
	set(&c.StoreRetry, 5*time.Second)
	set(&c.Patience, 5*time.Second)
	set(&c.TitleTimeout, 30*time.Second)
	set(&c.Expiry, time.Minute)
	set(&c.Approval, 24*time.Hour)
	set(&c.ToolTime, 10*time.Minute)
	set(&c.Checkpoints, time.Second)
	set(&c.MirrorGrace, 5*time.Second)
	set(&c.MaxReasoning, 128<<10)
	set(&c.MaxAnswer, 1<<20)
	set(&c.HistoryBytes, 48<<10)
	set(&c.MaxGenerations, 1000)
	set(&c.MaxLiveText, 512<<20)
	if c.Epoch == nil {
		c.Epoch = func() int { return int(time.Since(firstEpoch) / time.Second) }
	}
	return c
}

// Budget limits what organizations and their members may spend. *org.Budget implements it.
type Budget interface {
	// Check refuses a new message if no tokens are left or the contract has ended. It rarely queries the database.
	Check(ctx context.Context, organizationID, userID uuid.UUID) error

	// RecordUsage counts the tokens of an answer once they are stored. It must not block.
	RecordUsage(organizationID, userID uuid.UUID, tokens int)
}

// noBudget sets no limit.
type noBudget struct{}

func (noBudget) Check(context.Context, uuid.UUID, uuid.UUID) error { return nil }
func (noBudget) RecordUsage(uuid.UUID, uuid.UUID, int)             {}

// Deps are the dependencies of a Service. All but the last eleven are required.
type Deps struct {
	Store  Store
	Skills *skill.Service
	Model  llm.Model
	Hub    *stream.Hub
	Feed   *stream.Feed // Carries stop requests and decisions to the server of the answer.
	Log    *slog.Logger

	Offers   Offers       // If nil, the Model has one model without a name.
	Pictures Pictures     // If nil, questions have no pictures.
	Tools    Tools        // If nil, answers have no tools other than SourceTools.
	Grounder Grounder     // If nil, answers are grounded on the conversation only.
	Budget   Budget       // If nil, there is no limit.
	Events   Events       // If nil, events are discarded.
	Metrics  Metrics      // If nil, metrics are discarded.
	Tracer   trace.Tracer // If nil, there are no traces.

	SourceTools SourceTools // If nil, no tool finds sources.

	// Generations are the numbers of running and waiting generations by the id of a person or an organization. Nil for a
	// single server.
	Generations *tally.Level

	// CountTool counts a call of a tool in an answer to a person, or refuses it. It must not block. If it is nil, calls
	// are not limited by person and organization.
	CountTool func(owner identity.Owner, tool string) error
}

// Service answers questions. It owns the generations on this server: they continue when clients disconnect, until they
// end, are stopped by their owner, or the Service stops.
type Service struct {
	store    Store
	skills   *skill.Service
	model    llm.Model
	offers   Offers
	pictures Pictures
	grounder Grounder
	tools    Tools
	hub      *stream.Hub
	feed     *stream.Feed
	log      *slog.Logger
	budget   Budget
	events   Events
	metrics  Metrics
	tracer   trace.Tracer
	cfg      Config
	serverID uuid.UUID

	sourceTools SourceTools
	countTool   func(owner identity.Owner, tool string) error

	root    context.Context // Parent of every generation's context; canceled by Stop with errShutdown.
	cancel  context.CancelCauseFunc
	sweeper sync.WaitGroup // The goroutines started by Start.
	lease   lease
	slots   *slotPool

	textBytes atomic.Int64 // Bytes of the live texts at the last measurement.

	mu           sync.Mutex
	stopping     bool                      // Guarded by mu. Refuses new generations.
	running      map[uuid.UUID]*generation // Guarded by mu. By the answer's id.
	released     []*generation             // Guarded by mu. Left to other servers by Stop.
	waitingTexts map[RunID]*stream.Text    // Guarded by mu. Of answers that wait for decisions on no server.
	draining     chan struct{}             // Closed by drain. Answers that wait for decisions leave this server.
	drain        func()                    // Called by Stop. It may be called repeatedly.
	sending      map[sendKey]chan struct{} // Guarded by mu. Closed when the Send returns.
	jobs         sync.WaitGroup            // Add only with mu held and while not stopping.
	// Goroutines that generate titles. Each is started while its generation is in jobs.
	titles sync.WaitGroup
}

// NewService returns a Service. It starts no goroutine before Start.
func NewService(n Deps, cfg Config) *Service {
	n.Grounder = cmp.Or[Grounder](n.Grounder, noGrounder{})
	n.Tools = cmp.Or[Tools](n.Tools, noTools{})
	n.Budget = cmp.Or[Budget](n.Budget, noBudget{})
	n.Events = cmp.Or[Events](n.Events, noEvents{})
	n.Metrics = cmp.Or[Metrics](n.Metrics, noMetrics{})
	n.Tracer = cmp.Or(n.Tracer, noop.NewTracerProvider().Tracer(""))
	cfg = cfg.withDefaults()
	root, cancel := context.WithCancelCause(context.Background())
	draining := make(chan struct{})
	return &Service{
		lease: lease{began: time.Now()}, slots: newSlotPool(cfg, n.Generations),
		store: n.Store, skills: n.Skills,
		model: n.Model, offers: n.Offers, pictures: n.Pictures, grounder: n.Grounder, tools: n.Tools, hub: n.Hub, feed: n.Feed,
		sourceTools: n.SourceTools, countTool: n.CountTool,
		log: n.Log, budget: n.Budget,
		events: n.Events, metrics: n.Metrics, tracer: n.Tracer, cfg: cfg,
		serverID: uuidv7.New(), root: root, cancel: cancel,
		waitingTexts: make(map[RunID]*stream.Text), draining: draining, drain: sync.OnceFunc(func() { close(draining) }),
		running: make(map[uuid.UUID]*generation), sending: make(map[sendKey]chan struct{}),
	}
}

// CreateThread starts a thread with a skill. The Service chooses its id.
func (s *Service) CreateThread(ctx context.Context, owner identity.Owner, n NewThread) (thread Thread, err error) {
	if n.Title, err = cleanTitle(n.Title); err != nil {
		return Thread{}, err
	}
	n.ID = uuidv7.New()
	thread, err = s.store.CreateThread(ctx, owner, n)
	if err == nil && thread.ID == n.ID { // Otherwise it existed before.
		s.publishThread(owner, thread)
	}
	return thread, err
}

// ListThreads returns a page of the owner's threads, or of a project's threads that the owner may read, without
// temporary ones: pinned ones first, then last touched first.
func (s *Service) ListThreads(
	ctx context.Context, owner identity.Owner, filter ThreadFilter, offset, limit int,
) ([]Thread, error) {
	return s.store.ListThreads(ctx, owner, filter, offset, limit)
}

// FindThread returns one of the owner's threads.
func (s *Service) FindThread(ctx context.Context, owner identity.Owner, id uuid.UUID) (Thread, error) {
	return s.store.FindThread(ctx, owner, id)
}

// EditThread changes a thread's title, its place in the list, or the branch to show. An empty title is refused.
func (s *Service) EditThread(ctx context.Context, owner identity.Owner, id uuid.UUID, edit ThreadEdit) (Thread, error) {
	if edit.Title != nil {
		title, err := cleanTitle(*edit.Title)
		if err != nil {
			return Thread{}, err
		}
		if runes.Blank(title) {
			return Thread{}, fault.InvalidField("title", "チャット名を入力してください。")
		}
		edit.Title = &title
	}
	return s.publishChanged(owner)(s.store.EditThread(ctx, owner, id, edit))
}

// TouchThread moves a thread to the top of the list.
func (s *Service) TouchThread(ctx context.Context, owner identity.Owner, id uuid.UUID) (Thread, error) {
	return s.publishChanged(owner)(s.store.TouchThread(ctx, owner, id))
}

// publishChanged returns a function that sends the event of a changed thread and returns its arguments.
func (s *Service) publishChanged(owner identity.Owner) func(Thread, error) (Thread, error) {
	return func(thread Thread, err error) (Thread, error) {
		if err == nil {
			s.publishThread(owner, thread)
		}
		return thread, err
	}
}

// DeleteThread deletes a thread and ends its running generation.
func (s *Service) DeleteThread(ctx context.Context, owner identity.Owner, id uuid.UUID) error {
	deleted, err := s.store.DeleteThread(ctx, owner, id)
	if err != nil {
		return err
	}
	if deleted.Running != nil {
		s.stop(*deleted.Running)
	}
	s.events.ThreadDeleted(deleted.Readers, id)
	return nil
}

// ListMessages returns a page of a branch, newest first: the branch through the message leaf, or if leaf is nil the
// branch that was shown last.
func (s *Service) ListMessages(
	ctx context.Context, owner identity.Owner, threadID uuid.UUID, leaf *uuid.UUID, offset, limit int,
) ([]Message, error) {
	return s.store.ListMessages(ctx, owner, threadID, leaf, offset, limit)
}

// ListAllMessages returns at most limit messages of a thread in all branches, oldest first.
func (s *Service) ListAllMessages(
	ctx context.Context, owner identity.Owner, threadID uuid.UUID, limit int,
) ([]Message, error) {
	return s.store.ListAllMessages(ctx, owner, threadID, limit)
}

// FindMessage returns one of the owner's messages, in any branch.
func (s *Service) FindMessage(ctx context.Context, owner identity.Owner, id uuid.UUID) (Message, error) {
	return s.find(ctx, owner, id)
}

// GiveFeedback rates an answer and replaces an earlier rating.
func (s *Service) GiveFeedback(
	ctx context.Context, owner identity.Owner, messageID uuid.UUID, feedback Feedback,
) error {
	if utf8.RuneCountInString(feedback.Comment) > maxComment {
		return fault.InvalidField("comment", "コメントは%d文字以内で入力してください。", maxComment)
	}
	if err := s.store.GiveFeedback(ctx, owner, messageID, feedback); err != nil {
		return err
	}
	s.publishMessage(ctx, owner, messageID)
	return nil
}

// WithdrawFeedback removes the rating of an answer, if there is one.
func (s *Service) WithdrawFeedback(ctx context.Context, owner identity.Owner, messageID uuid.UUID) error {
	removed, err := s.store.WithdrawFeedback(ctx, owner, messageID)
	if err == nil && removed {
		s.publishMessage(ctx, owner, messageID)
	}
	return err
}

var (
	errStopped  = errors.New("chat: stopped by its owner")
	errShutdown = errors.New("chat: the server stops")
	errRefused  = errors.New("chat: the question was not stored")
	errLost     = errors.New("chat: no longer this server's")
	errTooLong  = errors.New("chat: the answer exceeds its limit")
)
