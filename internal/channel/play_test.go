package channel_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/channel/channeltest"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/stream"
)

// play holds answers, a surface and the rows of deliveries in memory, so that tests can use the fake clock of synctest.
type play struct {
	t       *testing.T
	surface *channeltest.Surface
	rows    *rows
	answers *answers

	installed installed
	config    channel.Config
}

func newPlay(t *testing.T, traits channel.Traits) *play {
	t.Helper()
	return &play{
		t: t, surface: channeltest.New(traits), rows: &rows{list: make(map[uuid.UUID]*row)},
		answers: &answers{list: make(map[uuid.UUID]*answerOf)},
	}
}

// slack returns the traits of Slack.
func slack() channel.Traits {
	return channel.Traits{
		CanAppend: true, CanReplace: true, MinInterval: time.Second, MaxCharacters: 11_000, MaxMessages: 5,
		AppendLifetime: 4*time.Minute + 30*time.Second,
	}
}

// process is a server that a test can kill.
type process struct {
	*channel.Service
	dead atomic.Bool
}

// start starts a server.
func (p *play) start() *process {
	s, config := &process{}, p.config
	config.PublicURL = "https://tsumugi.example"
	mortal := &mortalSurface{Surface: p.surface, process: s}
	s.Service = channel.NewService(channel.Deps{
		Store: &mortalStore{Store: p.rows, process: s}, Installations: p.installed, Chat: p.answers,
		Surfaces: map[string]channel.Surface{channeltest.Name: mortal}, Log: slog.New(slog.DiscardHandler),
	}, config)
	s.Start()
	return s
}

// kill ends a server at once: its later calls have no effect.
func (s *process) kill() {
	s.dead.Store(true)
	s.Stop()
}

// ask begins an answer with a delivery.
func (p *play) ask(installation uuid.UUID) *answerOf {
	a := &answerOf{id: newID(), changed: make(chan struct{})}
	a.run(1)
	p.answers.mu.Lock()
	p.answers.list[a.id] = a
	p.answers.mu.Unlock()
	p.rows.mu.Lock()
	defer p.rows.mu.Unlock()
	p.rows.list[a.id] = &row{Delivery: channel.Delivery{
		AnswerID: a.id, OrganizationID: newID(), UserID: newID(), ThreadID: newID(), QuestionID: newID(),
		InstallationID: installation, Channel: "C", Thread: "T", Person: "U",
	}}
	return a
}

// await waits until an answer is delivered.
func (p *play) await(a *answerOf) {
	p.t.Helper()
	for range 3600 * 4 {
		if p.over(a) {
			return
		}
		time.Sleep(250 * time.Millisecond) // On the fake clock.
	}
	p.t.Fatal("the answer is not delivered")
}

// over reports whether the delivery of an answer has ended.
func (p *play) over(a *answerOf) bool {
	p.rows.mu.Lock()
	defer p.rows.mu.Unlock()
	return p.rows.list[a.id].Ended
}

// shows checks that the messages of an answer contain exactly its text, and that no rule of the surface was violated.
func (p *play) shows(a *answerOf, text string, state channel.State) {
	p.t.Helper()
	traits := p.surface.Traits()
	want := channel.Split(text, traits.MaxCharacters, true)
	want = want[:min(len(want), traits.MaxMessages)]
	i := 0
	for _, m := range p.surface.Messages() {
		if m.Draft.AnswerID != a.id {
			continue
		}
		if i >= len(want) || m.Draft.Markdown != want[i].Markdown || m.Draft.Part != i || m.Streaming {
			p.t.Fatalf("message %d of %d (part %d, streaming %v) says %q", i, len(want), m.Draft.Part, m.Streaming,
				m.Draft.Markdown)
		}
		if last := i == len(want)-1; m.Draft.Last != last || last && m.Draft.State != state {
			p.t.Errorf("message %d: last %v, %s", i, m.Draft.Last, m.Draft.State)
		}
		i++
	}
	if i != len(want) {
		p.t.Fatalf("%d messages, not %d", i, len(want))
	}
	for _, v := range p.surface.Violations() {
		p.t.Error(v)
	}
}

// rows is a DeliveryStore in memory.
type rows struct {
	channel.Store
	mu   sync.Mutex
	list map[uuid.UUID]*row // Guarded by mu.
}

type row struct {
	channel.Delivery
	until time.Time
}

func (r *rows) WatchChannels(ctx context.Context, notify func()) {
	notify()
	<-ctx.Done()
}

func (r *rows) ClaimEvents(context.Context, int, bool, time.Duration) ([]channel.Event, error) {
	return nil, nil
}
func (r *rows) CountEvents(context.Context) (int, error)                 { return 0, nil }
func (r *rows) DeleteExpiredEvents(context.Context, time.Duration) error { return nil }

func (r *rows) ClaimDeliveries(_ context.Context, limit int, lease time.Duration) (list []channel.Delivery, _ error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, row := range r.list {
		if row.Ended || !row.until.Before(time.Now()) || len(list) == limit {
			continue
		}
		row.Claim, row.until = newID(), time.Now().Add(lease)
		d := row.Delivery
		d.Progress = copied(d.Progress)
		list = append(list, d)
	}
	return list, nil
}

func copied(p channel.DeliveryProgress) channel.DeliveryProgress {
	p.Messages, p.Obsolete = append([]channel.PostedMessage(nil), p.Messages...), append([]channel.Ref(nil), p.Obsolete...)
	return p
}

// change updates a claimed row.
func (r *rows) change(d channel.Delivery, change func(*row)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	row := r.list[d.AnswerID]
	if row == nil || row.Claim != d.Claim {
		return channel.ErrClaimLost
	}
	row.Progress = copied(d.Progress)
	change(row)
	return nil
}

func (r *rows) SaveDelivery(_ context.Context, d channel.Delivery) error {
	return r.change(d, func(*row) {})
}

func (r *rows) EndDelivery(_ context.Context, d channel.Delivery) error {
	return r.change(d, func(row *row) { row.Ended, row.Claim = true, uuid.Nil })
}

func (r *rows) ReleaseDelivery(_ context.Context, d channel.Delivery, after time.Duration) error {
	return r.change(d, func(row *row) { row.Claim, row.until = uuid.Nil, time.Now().Add(after) })
}

func (r *rows) CheckMember(context.Context, identity.Owner) error { return nil }

func (r *rows) RenewDeliveries(
	_ context.Context, held []channel.Delivery, lease time.Duration,
) (lost []uuid.UUID, _ error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range held {
		if row := r.list[d.AnswerID]; row == nil || row.Claim != d.Claim {
			lost = append(lost, d.AnswerID)
		} else {
			row.until = time.Now().Add(lease)
		}
	}
	return lost, nil
}

var errDead = errors.New("the process is dead")

// mortalStore is a process's connection to the store. It fails after the process was killed.
type mortalStore struct {
	channel.Store
	process *process
}

func (s *mortalStore) ClaimDeliveries(ctx context.Context, limit int, lease time.Duration) ([]channel.Delivery, error) {
	if s.process.dead.Load() {
		return nil, errDead
	}
	return s.Store.ClaimDeliveries(ctx, limit, lease)
}

func (s *mortalStore) RenewDeliveries(
	ctx context.Context, held []channel.Delivery, lease time.Duration,
) ([]uuid.UUID, error) {
	if s.process.dead.Load() {
		return nil, errDead
	}
	return s.Store.RenewDeliveries(ctx, held, lease)
}

func (s *mortalStore) SaveDelivery(ctx context.Context, d channel.Delivery) error {
	return s.process.call(func() error { return s.Store.SaveDelivery(ctx, d) })
}

func (s *mortalStore) EndDelivery(ctx context.Context, d channel.Delivery) error {
	return s.process.call(func() error { return s.Store.EndDelivery(ctx, d) })
}

func (s *mortalStore) ReleaseDelivery(ctx context.Context, d channel.Delivery, after time.Duration) error {
	return s.process.call(func() error { return s.Store.ReleaseDelivery(ctx, d, after) })
}

func (s *mortalStore) EndEvent(ctx context.Context, e channel.Event) error {
	return s.process.call(func() error { return s.Store.EndEvent(ctx, e) })
}

func (s *mortalStore) RequeueEvent(ctx context.Context, e channel.Event, after time.Duration) error {
	return s.process.call(func() error { return s.Store.RequeueEvent(ctx, e, after) })
}

// call makes a call, unless the process was killed.
func (p *process) call(call func() error) error {
	if p.dead.Load() {
		return errDead
	}
	return call()
}

// mortalSurface is a process's access to the surface. It fails after the process was killed.
type mortalSurface struct {
	channel.Surface
	process *process
}

func (s *mortalSurface) Begin(ctx context.Context, to channel.Target, d channel.Draft) (channel.Ref, error) {
	if s.process.dead.Load() {
		return "", errDead
	}
	ref, err := s.Surface.Begin(ctx, to, d)
	if s.process.dead.Load() {
		return "", errDead
	}
	return ref, err
}

func (s *mortalSurface) Append(ctx context.Context, to channel.Target, ref channel.Ref, from, d channel.Draft) error {
	return s.make(func() error { return s.Surface.Append(ctx, to, ref, from, d) })
}

func (s *mortalSurface) Replace(ctx context.Context, to channel.Target, ref channel.Ref, d channel.Draft) error {
	return s.make(func() error { return s.Surface.Replace(ctx, to, ref, d) })
}

func (s *mortalSurface) Finish(ctx context.Context, to channel.Target, ref channel.Ref, from, d channel.Draft) error {
	return s.make(func() error { return s.Surface.Finish(ctx, to, ref, from, d) })
}

func (s *mortalSurface) Attach(ctx context.Context, to channel.Target, a channel.Attachment) error {
	return s.make(func() error { return s.Surface.Attach(ctx, to, a) })
}

// make makes a call, unless the process was killed before. It fails if the process is killed during the call.
func (s *mortalSurface) make(call func() error) error {
	if s.process.dead.Load() {
		return errDead
	}
	err := call()
	if s.process.dead.Load() {
		return errDead
	}
	return err
}

// installed returns an installation for every id, or an error.
type installed struct{ failure error }

func (installed) FindInstallation(context.Context, string, string, string) (channel.Installation, error) {
	return channel.Installation{}, channel.ErrNotInstalled
}

func (i installed) Installation(_ context.Context, id uuid.UUID) (channel.Installation, error) {
	return channel.Installation{ID: id, Surface: channeltest.Name}, i.failure
}

func (installed) EraseInstallation(context.Context, uuid.UUID) error { return nil }

// answers holds answers written by a test.
type answers struct {
	channel.Chat
	mu   sync.Mutex
	list map[uuid.UUID]*answerOf // Guarded by mu.
}

// answerOf is an answer written by a test.
type answerOf struct {
	id      uuid.UUID
	mu      sync.Mutex
	text    *stream.Text  // Guarded by mu, like the fields below.
	stored  *chat.Message // Nil until the answer ends.
	deleted bool
	changed chan struct{}
}

// run begins a run.
func (a *answerOf) run(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.text != nil {
		defer a.text.Abandon()
	}
	a.text = stream.NewText(stream.Head{MessageID: a.id.String(), Run: n})
}

// write appends to the answer.
func (a *answerOf) write(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.text.AppendText(text)
}

// finish ends the answer.
func (a *answerOf) finish() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stored = &chat.Message{
		ID: a.id, Role: chat.RoleAssistant, Status: chat.StatusSuccess, FinishReason: chat.FinishStop,
		Content: a.text.Text(), Run: a.text.Run(),
	}
	a.text.Finish(stream.End{Outcome: stream.Finished})
	return a.stored.Content
}

func (a *answers) find(id uuid.UUID) *answerOf {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.list[id]
}

func (a *answers) Attach(_ context.Context, _ identity.Owner, id uuid.UUID) (chat.Attachment, error) {
	found := a.find(id)
	found.mu.Lock()
	defer found.mu.Unlock()
	if found.deleted {
		return chat.Attachment{}, chat.ErrNoMessage
	}
	return chat.Attachment{Text: found.text, Leave: func() {}}, nil
}

// FindThread returns a thread in no project.
func (a *answers) FindThread(_ context.Context, _ identity.Owner, id uuid.UUID) (chat.Thread, error) {
	return chat.Thread{ID: id}, nil
}

func (a *answers) FindMessage(_ context.Context, _ identity.Owner, id uuid.UUID) (chat.Message, error) {
	found := a.find(id)
	found.mu.Lock()
	defer found.mu.Unlock()
	if found.deleted {
		return chat.Message{}, fault.Errorf(fault.NotFound, "x")
	}
	if found.stored == nil {
		return chat.Message{ID: id, Status: chat.StatusRunning}, nil
	}
	return *found.stored, nil
}

func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// sentences returns n distinct sentences.
func sentences(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat("文", 1+i%7) + "です。")
	}
	return b.String()
}
