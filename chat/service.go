package chat

import (
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
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/stream"
)

// Config tunes the Service. The zero value of a field means its default.
type Config struct {
	Lease time.Duration // A server silent for longer is dead. Default 8 s.
	// How often this server says that it lives. Default 1 s (2 s if Alone), or a quarter of Lease.
	Heartbeat    time.Duration
	Sweep        time.Duration // How often it looks for the generations of dead servers. Default 1 s.
	StoreRetry   time.Duration // Longest pause between tries to store an answer. Default 5 s.
	Patience     time.Duration // How often who waits for another server's answer looks for it. Default 5 s.
	TitleTimeout time.Duration // What the model has to make a title. Nothing waits for it. Default 30 s.
	Expiry       time.Duration // How often temporary threads whose time is over are deleted. Default 1 min.
	MirrorGrace  time.Duration // How long after an answer was stored its mirrors wait for its end. Default 5 s.
	MaxAnswer    int           // Bytes of an answer's text; past it the answer is cut off. Default 1 MiB.
	// Bytes of an answer's reasoning; what the model thinks past it is dropped. Default 128 KiB.
	MaxReasoning int
	HistoryBytes int // Bytes of earlier messages that the model is given. Default 48 KiB.

	MaxGenerations     int // At once; as many again wait for a place. Default 1000.
	MaxPerPerson       int // That one person has running or waiting. Default any number.
	MaxPerOrganization int // That the people of an organization have running or waiting. Default any number.
	// Bytes of texts that are being written or followed; past it nothing new begins. Default 512 MiB.
	MaxLiveText int64

	// Epoch returns what the number of a run is at least that begins now. A run that is taken over has a higher number
	// than before in any case; the epoch has it differ from runs that a restored database has forgotten, but clients
	// have not. Default: the seconds since the beginning of 2025.
	Epoch func() int

	// Alone says that no other server shares the database: whatever was running when this one starts is dead.
	Alone bool
}

// firstEpoch is where epochs count from, so that a run has eight digits, and nine until 2056.
var firstEpoch = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	set(&c.Lease, 8*time.Second)
	heartbeat := time.Second
	if c.Alone {
		heartbeat = 2 * time.Second
	}
	set(&c.Heartbeat, min(heartbeat, max(c.Lease/4, 10*time.Millisecond)))
	set(&c.Sweep, time.Second)
	set(&c.StoreRetry, 5*time.Second)
	set(&c.Patience, 5*time.Second)
	set(&c.TitleTimeout, 30*time.Second)
	set(&c.Expiry, time.Minute)
	set(&c.MirrorGrace, 5*time.Second)
	if c.MaxReasoning <= 0 {
		c.MaxReasoning = 128 << 10
	}
	if c.MaxAnswer <= 0 {
		c.MaxAnswer = 1 << 20
	}
	if c.HistoryBytes <= 0 {
		c.HistoryBytes = 48 << 10
	}
	if c.Epoch == nil {
		c.Epoch = func() int { return int(time.Since(firstEpoch) / time.Second) }
	}
	if c.MaxGenerations <= 0 {
		c.MaxGenerations = 1000
	}
	if c.MaxLiveText <= 0 {
		c.MaxLiveText = 512 << 20
	}
	return c
}

// Skills finds the skill that a thread is with. *skill.Service is one.
type Skills interface {
	Get(ctx context.Context, organizationID, userID, skillID uuid.UUID) (skill.Skill, error)

	// Unavailable returns why a skill cannot be used here, "" if it can.
	Unavailable(s skill.Skill) string
}

// Budget says what an organization may still spend. *org.Budget is one.
type Budget interface {
	// Check refuses a new message where nothing is left, or the contract is over. It rarely asks the database.
	Check(ctx context.Context, organizationID uuid.UUID) error

	// Spent is told of the tokens of an answer once they are stored. It does not block.
	Spent(organizationID uuid.UUID, tokens int)
}

// noBudget has no limit.
type noBudget struct{}

func (noBudget) Check(context.Context, uuid.UUID) error { return nil }
func (noBudget) Spent(uuid.UUID, int)                   {}

// Needs is what a Service works with. All but the last four are required.
type Needs struct {
	Store  Store
	Skills Skills
	Model  llm.Model
	Hub    *stream.Hub
	Feed   *stream.Feed // Carries requests to stop to the server that writes.
	Log    *slog.Logger

	Budget  Budget       // Nil: there is no limit.
	Events  Events       // Nil: nobody is told.
	Metrics Metrics      // Nil: nothing is measured.
	Tracer  trace.Tracer // Nil: nothing is traced.
}

// Service answers questions. It owns the generations that this server runs: they go on whoever leaves, until they end,
// are stopped by their owner, or the Service stops.
type Service struct {
	threads   ThreadStore
	questions QuestionStore
	answers   AnswerStore
	servers   ServerStore
	skills    Skills
	model     llm.Model
	hub       *stream.Hub
	feed      *stream.Feed
	log       *slog.Logger
	budget    Budget
	events    Events
	metrics   Metrics
	tracer    trace.Tracer
	cfg       Config
	serverID  uuid.UUID

	root    context.Context // Of every generation; ended by Stop with errShutdown.
	cancel  context.CancelCauseFunc
	sweeper sync.WaitGroup // The goroutines started by Start.
	lease   lease
	places  *places

	textBytes atomic.Int64 // What the live texts took when it was looked at last.

	mu       sync.Mutex
	stopping bool                      // Guarded by mu. No new generations.
	running  map[uuid.UUID]*generation // Guarded by mu. By the answer's id.
	sending  map[turn]chan struct{}    // Guarded by mu. Closed when the Send is over.
	jobs     sync.WaitGroup            // Add under mu while not stopping.
	// Goroutines that make titles. Each is begun while its generation is one of jobs.
	titles sync.WaitGroup
}

// NewService returns a Service. Nothing runs before Start.
func NewService(n Needs, cfg Config) *Service {
	if n.Budget == nil {
		n.Budget = noBudget{}
	}
	if n.Events == nil {
		n.Events = noEvents{}
	}
	if n.Metrics == nil {
		n.Metrics = noMetrics{}
	}
	if n.Tracer == nil {
		n.Tracer = noop.NewTracerProvider().Tracer("")
	}
	cfg = cfg.withDefaults()
	root, cancel := context.WithCancelCause(context.Background())
	return &Service{
		lease: lease{began: time.Now()}, places: newPlaces(cfg),
		threads: n.Store, questions: n.Store, answers: n.Store, servers: n.Store, skills: n.Skills, model: n.Model,
		hub: n.Hub, feed: n.Feed, log: n.Log, budget: n.Budget,
		events: n.Events, metrics: n.Metrics, tracer: n.Tracer, cfg: cfg,
		serverID: newID(), root: root, cancel: cancel,
		running: make(map[uuid.UUID]*generation), sending: make(map[turn]chan struct{}),
	}
}

// newID returns a UUIDv7, which sorts by time.
func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// CreateThread starts a thread with a skill. Its id is the Service's to give.
func (s *Service) CreateThread(ctx context.Context, owner Owner, n NewThread) (thread Thread, err error) {
	if n.Title, err = cleanTitle(n.Title); err != nil {
		return Thread{}, err
	}
	n.ID = newID()
	thread, err = s.threads.CreateThread(ctx, owner, n)
	if err == nil && thread.ID == n.ID { // Else it was there.
		s.tellThread(owner, thread)
	}
	return thread, err
}

// ListThreads returns a page of the owner's threads that are kept, those that are archived or the others: pinned ones
// first, then as they were touched last.
func (s *Service) ListThreads(ctx context.Context, owner Owner, archived bool, offset, limit int) ([]Thread, error) {
	return s.threads.ListThreads(ctx, owner, archived, offset, limit)
}

// FindThread returns one of the owner's threads.
func (s *Service) FindThread(ctx context.Context, owner Owner, id uuid.UUID) (Thread, error) {
	return s.threads.FindThread(ctx, owner, id)
}

// EditThread changes a thread's title, its place, or the branch that is looked at. An empty title is refused.
func (s *Service) EditThread(ctx context.Context, owner Owner, id uuid.UUID, edit ThreadEdit) (Thread, error) {
	if edit.Title != nil {
		title, err := cleanTitle(*edit.Title)
		if err != nil {
			return Thread{}, err
		}
		if title == "" {
			return Thread{}, fault.InvalidField("title", "スレッド名を入力してください。")
		}
		edit.Title = &title
	}
	return s.changed(owner)(s.threads.EditThread(ctx, owner, id, edit))
}

// TouchThread moves a thread to the top of the list.
func (s *Service) TouchThread(ctx context.Context, owner Owner, id uuid.UUID) (Thread, error) {
	return s.changed(owner)(s.threads.TouchThread(ctx, owner, id))
}

// changed returns a function that tells of a thread that was changed, and returns what it is given.
func (s *Service) changed(owner Owner) func(Thread, error) (Thread, error) {
	return func(thread Thread, err error) (Thread, error) {
		if err == nil {
			s.tellThread(owner, thread)
		}
		return thread, err
	}
}

// DeleteThread deletes a thread and ends what is being written in it.
func (s *Service) DeleteThread(ctx context.Context, owner Owner, id uuid.UUID) error {
	answers, err := s.threads.DeleteThread(ctx, owner, id)
	if err != nil {
		return err
	}
	for _, answer := range answers {
		s.stop(answer)
	}
	s.events.ThreadDeleted(owner, id)
	return nil
}

// ListMessages returns a page of a branch of a thread, newest first: of the one through the message leaf, or if leaf is
// nil of the one that was looked at last.
func (s *Service) ListMessages(
	ctx context.Context, owner Owner, threadID uuid.UUID, leaf *uuid.UUID, offset, limit int,
) ([]Message, error) {
	return s.threads.ListMessages(ctx, owner, threadID, leaf, offset, limit)
}

// GiveFeedback rates an answer, in place of an earlier rating.
func (s *Service) GiveFeedback(ctx context.Context, owner Owner, messageID uuid.UUID, feedback Feedback) error {
	if utf8.RuneCountInString(feedback.Comment) > MaxComment {
		return fault.InvalidField("comment", "コメントは%d文字以内で入力してください。", MaxComment)
	}
	if err := s.threads.GiveFeedback(ctx, owner, messageID, feedback); err != nil {
		return err
	}
	s.tellMessage(ctx, owner, messageID)
	return nil
}

// WithdrawFeedback removes the rating of an answer; without one it does nothing.
func (s *Service) WithdrawFeedback(ctx context.Context, owner Owner, messageID uuid.UUID) error {
	removed, err := s.threads.WithdrawFeedback(ctx, owner, messageID)
	if err == nil && removed {
		s.tellMessage(ctx, owner, messageID)
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
