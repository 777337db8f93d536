package chat_test

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/test/leak"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestMain(m *testing.M) { leak.Main(storetest.Suite{M: m}) }

// chatSkill and formSkill are two of the built-in skills.
var chatSkill, formSkill skill.Skill

func init() {
	_, skills, err := skill.Builtin()
	if err != nil {
		panic(err)
	}
	for _, s := range skills {
		if s.Kind == "" && s.FormType == skill.FormChat && s.TaskType == "" {
			chatSkill = s
		}
		if s.Kind == "translation" {
			formSkill = s
		}
	}
}

// fixture is a database with one member and one thread, and a server on it.
type fixture struct {
	t      *testing.T
	db     *store.DB
	owner  identity.Owner
	thread chat.Thread
	server *server
}

// server is a chat service with its hub, like one process.
type server struct {
	*chat.Service
	hub *stream.Hub
}

func newFixture(t *testing.T, model llm.Model) *fixture {
	t.Helper()
	return newFixtureOn(t, storetest.New(t), model)
}

// newFixtureOn is newFixture on an empty database with the current schema.
func newFixtureOn(t *testing.T, db *store.DB, model llm.Model) *fixture {
	t.Helper()
	f := &fixture{t: t, db: db}
	must.Succeed(t, skill.Seed(t.Context(), f.db))
	f.owner = f.member()
	f.server = f.start(model, f.db, chat.Config{})
	f.thread = f.newThread(chatSkill)
	return f
}

// member adds an organization with one member.
func (f *fixture) member() identity.Owner {
	f.t.Helper()
	organizationID := newID()
	must.Succeed(f.t, f.db.CreateOrganization(f.t.Context(), org.Organization{
		ID: organizationID, Name: "試験",
		AuthType: "cognito",
	}))
	return f.colleague(organizationID)
}

// colleague adds a member to an organization.
func (f *fixture) colleague(organizationID uuid.UUID) identity.Owner {
	f.t.Helper()
	owner := identity.Owner{OrganizationID: organizationID, UserID: newID()}
	must.Succeed(f.t, f.db.CreateUser(f.t.Context(), identity.NewUser{
		ID: owner.UserID, OrganizationID: owner.OrganizationID, Subject: owner.UserID.String(), Name: "試験",
		Email: owner.UserID.String() + "@test.example", Role: identity.RoleGeneralUser, AuthType: identity.AuthCognito,
	}))
	return owner
}

// start starts a server with a new feed on the fixture's database. It is stopped with the test, without waiting for its
// answers.
func (f *fixture) start(model llm.Model, db chat.Store, cfg chat.Config) *server {
	f.t.Helper()
	return f.startWith(chat.Deps{Store: db, Model: model}, cfg)
}

// startWith is start with further dependencies. A server without a model takes over nothing.
func (f *fixture) startWith(n chat.Deps, cfg chat.Config) *server {
	f.t.Helper()
	if n.Feed == nil {
		feed := must.Get(stream.NewFeed(nil))(f.t)
		n.Feed = feed
	}
	if cfg.Epoch == nil {
		cfg.Epoch = func() int { return 1 } // Runs are numbered from 1.
	}
	if n.Store == nil {
		n.Store = f.db
	}
	if n.Hub == nil {
		n.Hub = stream.NewHub(stream.HubConfig{})
	}
	if n.Model == nil {
		n.Model = llmtest.NewLive() // Its calls are never answered.
		cfg.Lease, cfg.Sweep = cmp.Or(cfg.Lease, time.Hour), cmp.Or(cfg.Sweep, time.Hour)
	}
	n.Skills, n.Log = skill.NewService(f.db, skill.Config{}), slog.New(slog.DiscardHandler)
	s := &server{hub: n.Hub, Service: chat.NewService(n, cfg)}
	must.Succeed(f.t, s.Start(f.t.Context()))
	f.t.Cleanup(s.kill)
	return s
}

// kill stops a server at once. It may be repeated.
func (s *server) kill() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.Stop(ctx)
}

func (f *fixture) newThread(sk skill.Skill) chat.Thread {
	f.t.Helper()
	thread := must.Get(f.server.CreateThread(f.t.Context(), f.owner, chat.NewThread{SkillID: sk.ID}))(f.t)
	return thread
}

// named sets the title of the thread, so that none is generated.
func (f *fixture) named() {
	f.t.Helper()
	if _, err := f.server.EditThread(f.t.Context(), f.owner, f.thread.ID,
		chat.ThreadEdit{Title: new("題")}); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) question(content string) chat.Question {
	return chat.Question{RequestID: newID(), ThreadID: f.thread.ID, Content: content}
}

func (f *fixture) send(q chat.Question) chat.Exchange {
	f.t.Helper()
	return f.sendTo(f.server, q)
}

// sendTo sends a question, and repeats the request if a busy machine exceeds the timeout.
func (f *fixture) sendTo(s *server, q chat.Question) (exchange chat.Exchange) {
	f.t.Helper()
	f.patiently(func() (err error) {
		exchange, err = s.Send(f.t.Context(), f.owner, q)
		return err
	})
	return exchange
}

// patiently calls do until it no longer times out on a busy machine.
func (f *fixture) patiently(do func() error) {
	f.t.Helper()
	err := do()
	for end := time.Now().Add(time.Minute); fault.CodeOf(err) == fault.Unavailable && time.Now().Before(end); {
		err = do()
	}
	must.Succeed(f.t, err)
}

// wait returns an exchange after its answer was stored and its stream has ended.
func (f *fixture) wait(exchange chat.Exchange) chat.Exchange {
	f.t.Helper()
	return f.waitAt(f.server, exchange)
}

func (f *fixture) waitAt(s *server, exchange chat.Exchange) (complete chat.Exchange) {
	f.t.Helper()
	f.patiently(func() (err error) {
		complete, err = s.WaitFor(f.t.Context(), f.owner, exchange)
		return err
	})
	return complete
}

// follow reads an answer's stream to its end.
func (f *fixture) follow(s *server, answer uuid.UUID, cursor string) string {
	f.t.Helper()
	return f.drain(f.attach(s, answer).Watch(cursor))
}

// watch returns the position of a new client in an answer's live text.
func (f *fixture) watch(s *server, answer uuid.UUID) *stream.Watch {
	f.t.Helper()
	return f.attach(s, answer).Watch("")
}

// attach returns an answer's text.
func (f *fixture) attach(s *server, answer uuid.UUID) *stream.Text {
	f.t.Helper()
	var attachment chat.Attachment
	f.patiently(func() (err error) {
		attachment, err = s.Attach(f.t.Context(), f.owner, answer)
		return err
	})
	if attachment.Text == nil {
		f.t.Fatal("nobody writes the answer")
	}
	return attachment.Text
}

// await waits for a channel to be closed.
func await(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(time.Minute):
		t.Fatalf("waited in vain: %s", what)
	}
}

// drain reads a watch to the end of its text.
func (f *fixture) drain(w *stream.Watch) string {
	f.t.Helper()
	return f.drainUntil(w, "\x00") // Occurs in no stream.
}

// drainUntil returns the output of a watch up to its end, or up to a write that contains text.
func (f *fixture) drainUntil(w *stream.Watch, text string) string {
	f.t.Helper()
	var all []byte
	for {
		for b := w.Take(); b != nil; b = w.Take() {
			all = append(all, b...)
		}
		if bytes.Contains(all, []byte(text)) {
			return string(all)
		}
		more, over := w.Wait()
		if over {
			return string(all)
		}
		select {
		case <-more:
		case <-f.t.Context().Done():
			f.t.Fatal("the stream does not end")
		case <-time.After(time.Minute):
			f.t.Fatal("the stream does not end")
		}
	}
}

func (f *fixture) messages() []chat.Message {
	f.t.Helper()
	messages := must.Get(f.server.ListMessages(f.t.Context(), f.owner, f.thread.ID, nil, 0, 100))(f.t)
	return messages
}

func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }
