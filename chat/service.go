package chat

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/tsumugi-ai/tsumugi/fault"
	"github.com/tsumugi-ai/tsumugi/llm"
	"github.com/tsumugi-ai/tsumugi/skill"
	"github.com/tsumugi-ai/tsumugi/stream"
)

// Config tunes the Service. The zero value of a field means its default.
type Config struct {
	Lease        time.Duration // A server silent for longer is dead. Default 8 s.
	Heartbeat    time.Duration // How often this server says that it lives. Default 2 s.
	Sweep        time.Duration // How often it looks for the generations of dead servers. Default 1 s.
	StoreRetry   time.Duration // Longest pause between tries to store an answer. Default 5 s.
	Patience     time.Duration // How often who waits for another server's answer looks for it. Default 5 s.
	TitleTimeout time.Duration // Default 10 s.
	MaxAnswer    int           // Bytes of an answer's text; past it the answer is cut off. Default 1 MiB.
	HistoryBytes int           // Bytes of earlier messages that the model is given. Default 48 KiB.

	// Alone says that no other server shares the database: whatever was running when this one starts is dead.
	Alone bool
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	set(&c.Lease, 8*time.Second)
	set(&c.Heartbeat, 2*time.Second)
	set(&c.Sweep, time.Second)
	set(&c.StoreRetry, 5*time.Second)
	set(&c.Patience, 5*time.Second)
	set(&c.TitleTimeout, 10*time.Second)
	if c.MaxAnswer <= 0 {
		c.MaxAnswer = 1 << 20
	}
	if c.HistoryBytes <= 0 {
		c.HistoryBytes = 48 << 10
	}
	return c
}

// Skills finds the skill that a thread is with. *skill.Service is one.
type Skills interface {
	Get(ctx context.Context, organizationID, userID, skillID uuid.UUID) (skill.Skill, error)
}

// Needs is what a Service works with. All but the last three are required.
type Needs struct {
	Store  Store
	Skills Skills
	Model  llm.Model
	Hub    *stream.Hub
	Feed   *stream.Feed // Carries requests to stop to the server that writes.
	Log    *slog.Logger

	Events  Events       // Nil: nobody is told.
	Metrics Metrics      // Nil: nothing is measured.
	Tracer  trace.Tracer // Nil: nothing is traced.
}

// Service answers questions. It owns the generations that this server runs: they go on whoever leaves, until they end,
// are stopped by their owner, or the Service stops.
type Service struct {
	store    Store
	skills   Skills
	model    llm.Model
	hub      *stream.Hub
	feed     *stream.Feed
	log      *slog.Logger
	events   Events
	metrics  Metrics
	tracer   trace.Tracer
	cfg      Config
	serverID uuid.UUID

	root    context.Context // Of every generation; ended by Stop with errShutdown.
	cancel  context.CancelCauseFunc
	sweeper sync.WaitGroup // The goroutine started by Start.

	mu       sync.Mutex
	stopping bool                      // Guarded by mu. No new generations.
	running  map[uuid.UUID]*generation // Guarded by mu. By the answer's id.
	sending  map[turn]chan struct{}    // Guarded by mu. Closed when the Send is over.
	jobs     sync.WaitGroup            // Add under mu while not stopping.
}

// NewService returns a Service. Nothing runs before Start.
func NewService(n Needs, cfg Config) *Service {
	if n.Events == nil {
		n.Events = noEvents{}
	}
	if n.Metrics == nil {
		n.Metrics = noMetrics{}
	}
	if n.Tracer == nil {
		n.Tracer = noop.NewTracerProvider().Tracer("")
	}
	root, cancel := context.WithCancelCause(context.Background())
	return &Service{
		store: n.Store, skills: n.Skills, model: n.Model, hub: n.Hub, feed: n.Feed, log: n.Log, events: n.Events,
		metrics: n.Metrics, tracer: n.Tracer, cfg: cfg.withDefaults(),
		serverID: newID(), root: root, cancel: cancel,
		running: make(map[uuid.UUID]*generation), sending: make(map[turn]chan struct{}),
	}
}

// newID returns a UUIDv7, which sorts by time.
func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// CreateThread starts a thread with a skill. requestID makes repeating safe; nil for none.
func (s *Service) CreateThread(ctx context.Context, owner Owner, skillID uuid.UUID, title string, requestID *uuid.UUID) (Thread, error) {
	title, err := cleanTitle(title)
	if err != nil {
		return Thread{}, err
	}
	return s.store.CreateThread(ctx, owner, NewThread{ID: newID(), SkillID: skillID, Title: title, RequestID: requestID})
}

// ListThreads returns a page of the owner's threads, last touched first.
func (s *Service) ListThreads(ctx context.Context, owner Owner, offset, limit int) ([]Thread, error) {
	return s.store.ListThreads(ctx, owner, offset, limit)
}

// FindThread returns one of the owner's threads.
func (s *Service) FindThread(ctx context.Context, owner Owner, id uuid.UUID) (Thread, error) {
	return s.store.FindThread(ctx, owner, id)
}

// RenameThread gives a thread a title. An empty one is refused.
func (s *Service) RenameThread(ctx context.Context, owner Owner, id uuid.UUID, title string) (Thread, error) {
	title, err := cleanTitle(title)
	if err != nil {
		return Thread{}, err
	}
	if title == "" {
		return Thread{}, fault.InvalidField("title", "タイトルを入力してください。")
	}
	return s.store.RenameThread(ctx, owner, id, title)
}

// TouchThread moves a thread to the top of the list.
func (s *Service) TouchThread(ctx context.Context, owner Owner, id uuid.UUID) (Thread, error) {
	return s.store.TouchThread(ctx, owner, id)
}

// DeleteThread deletes a thread and ends what is being written in it.
func (s *Service) DeleteThread(ctx context.Context, owner Owner, id uuid.UUID) error {
	answers, err := s.store.DeleteThread(ctx, owner, id)
	for _, answer := range answers {
		s.stopLocal(answer)
	}
	return err
}

// ListMessages returns a page of a thread's messages, newest first.
func (s *Service) ListMessages(ctx context.Context, owner Owner, threadID uuid.UUID, offset, limit int) ([]Message, error) {
	return s.store.ListMessages(ctx, owner, threadID, offset, limit)
}

// GiveFeedback rates an answer, in place of an earlier rating.
func (s *Service) GiveFeedback(ctx context.Context, owner Owner, messageID uuid.UUID, feedback Feedback) error {
	if utf8.RuneCountInString(feedback.Comment) > MaxComment {
		return fault.InvalidField("comment", "コメントは%d文字以内で入力してください。", MaxComment)
	}
	return s.store.GiveFeedback(ctx, owner, messageID, feedback)
}

// StopMessage ends the writing of an answer; what has been written is kept. An answer that is complete stays as it is.
func (s *Service) StopMessage(ctx context.Context, owner Owner, messageID uuid.UUID) error {
	// The request is stored first: if this server dies now, the one that takes over stops it.
	running, err := s.store.RequestStop(ctx, owner, messageID)
	if err != nil || !running {
		return err
	}
	s.stopLocal(messageID)
	return nil
}

func (s *Service) stopLocal(messageID uuid.UUID) {
	s.mu.Lock()
	g := s.running[messageID]
	s.mu.Unlock()
	if g != nil {
		g.cancel(errStopped)
	}
}

// Attachment is a way to follow an answer.
type Attachment struct {
	Text   *stream.Text    // What to watch; nil while nobody writes the answer.
	Opened <-chan struct{} // Closed when it is worth attaching again. Set if Text is nil.
	Leave  func()          // To be called when the caller no longer watches Text, or waits for Opened.

	// Patience is after how long it is worth attaching again in any case: another server may have completed the answer,
	// or its thread is gone.
	Patience time.Duration
}

// Attach finds the text of an answer: the live one, or the stored one when it is complete.
func (s *Service) Attach(ctx context.Context, owner Owner, messageID uuid.UUID) (Attachment, error) {
	interest := s.hub.Join(messageID.String())
	attachment, err := s.attach(ctx, owner, messageID, interest)
	if err != nil {
		interest.Leave()
	}
	return attachment, err
}

func (s *Service) attach(ctx context.Context, owner Owner, messageID uuid.UUID, interest *stream.Interest) (Attachment, error) {
	message, err := s.store.FindMessage(ctx, owner, messageID)
	if err == nil && message.Role != RoleAssistant {
		err = ErrNoMessage
	}
	if err != nil {
		return Attachment{}, err
	}
	if text := interest.Text(); text != nil {
		return Attachment{Text: text, Leave: interest.Leave}, nil
	}
	if !message.Status.Terminal() {
		// It may have ended, and left the hub, since it was read: the hub is left after the answer is stored.
		if message, err = s.store.FindMessage(ctx, owner, messageID); err != nil {
			return Attachment{}, err
		}
	}
	if message.Status.Terminal() {
		return Attachment{Text: replay(message), Leave: interest.Leave}, nil
	}
	interest.Mirror()
	return Attachment{Opened: interest.Opened(), Leave: interest.Leave, Patience: s.cfg.Patience}, nil
}

// Follow is Attach for an answer that Send has just returned, so that nothing need be read again while it is written here
// or when it was complete.
func (s *Service) Follow(ctx context.Context, owner Owner, answer Message) (Attachment, error) {
	interest := s.hub.Join(answer.ID.String())
	if text := interest.Text(); text != nil {
		return Attachment{Text: text, Leave: interest.Leave}, nil
	}
	if answer.Status.Terminal() {
		return Attachment{Text: replay(answer), Leave: interest.Leave}, nil
	}
	attachment, err := s.attach(ctx, owner, answer.ID, interest)
	if err != nil {
		interest.Leave()
	}
	return attachment, err
}

// WaitFor returns the exchange that an answer belongs to once it is complete.
func (s *Service) WaitFor(ctx context.Context, owner Owner, exchange Exchange) (Exchange, error) {
	for !exchange.Answer.Status.Terminal() {
		attachment, err := s.Attach(ctx, owner, exchange.Answer.ID)
		if err != nil {
			return Exchange{}, err
		}
		if attachment.Text != nil {
			err = attachment.Text.WaitClosed(ctx)
		} else {
			select {
			case <-attachment.Opened:
			case <-time.After(attachment.Patience):
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		attachment.Leave()
		if err != nil {
			return Exchange{}, fault.Wrap(err, fault.Canceled, "接続が切れました。")
		}
		if exchange.Answer, err = s.store.FindMessage(ctx, owner, exchange.Answer.ID); err != nil {
			return Exchange{}, err
		}
	}
	return exchange, nil
}

// replay returns a complete answer as a text that can be watched.
func replay(m Message) *stream.Text {
	text := stream.NewText(head(m))
	for _, step := range m.Steps {
		text.PutStep(step.Kind, string(step.Status), step.Detail)
	}
	for _, c := range m.Citations {
		text.PutSource(source(c))
	}
	text.AppendText(m.Content)
	text.Finish(end(m))
	return text
}

func source(c Citation) stream.Source {
	return stream.Source{
		SourceID: c.ChunkEmbeddingID.String(), MediaType: "text/plain", Title: c.Filename, Filename: c.Filename,
		Index: c.Index, Page: c.Page,
	}
}

func head(m Message) stream.Head {
	metadata := map[string]any{"thread_id": m.ThreadID}
	if m.QuestionID != nil {
		metadata["user_message_id"] = *m.QuestionID
	}
	return stream.Head{MessageID: m.ID.String(), Run: m.Run, Metadata: metadata}
}

// end returns how a stream ends for an answer that is complete.
func end(m Message) stream.End {
	switch {
	case m.Status == StatusFailed && m.Failure != nil:
		return stream.End{
			Outcome: stream.Failed, ErrorText: m.Failure.Detail, Code: m.Failure.Code, Retryable: m.Failure.Retryable,
		}
	case m.FinishReason == FinishStopped:
		return stream.End{Outcome: stream.Aborted, Reason: string(FinishStopped)}
	}
	return stream.End{
		Outcome: stream.Finished, FinishReason: string(m.FinishReason),
		Metadata: map[string]any{"usage": map[string]int{"input_tokens": m.InputTokens, "output_tokens": m.OutputTokens}},
	}
}

var (
	errStopped  = errors.New("chat: stopped by its owner")
	errShutdown = errors.New("chat: the server stops")
	errRefused  = errors.New("chat: the question was not stored")
	errTooLong  = errors.New("chat: the answer exceeds its limit")
)
