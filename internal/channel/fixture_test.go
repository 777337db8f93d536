package channel_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/channel/channeltest"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/project"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/stream"
)

// fixture is an organization with two members and a connected workspace, and a server.
type fixture struct {
	t            *testing.T
	dsn          string
	sql          *pgxpool.Pool
	db           *store.DB
	surface      *channeltest.Surface
	model        *llmtest.Live
	chat         *chat.Service
	sources      *sources
	projects     *project.Service
	installation channel.Installation
	sato, suzuki identity.Owner
	events       int

	mu    sync.Mutex
	links map[string]channel.LinkedMember // Guarded by mu. By person.
}

// newFixture returns a fixture with a scripted model.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{
		t: t, dsn: storetest.DSN(t), surface: channeltest.New(channeltest.Traits()), model: llmtest.NewLive(),
		links: make(map[string]channel.LinkedMember),
	}
	f.db, f.sql = f.open(), storetest.Pool(t, f.dsn)
	f.must(skill.Seed(t.Context(), f.db))
	organization := newID()
	f.must(f.db.CreateOrganization(t.Context(), org.Organization{ID: organization, Name: "試験", AuthType: "cognito"}))
	f.sato, f.suzuki = f.member(organization, "sato"), f.member(organization, "suzuki")
	f.installation = channel.Installation{
		ID: newID(), OrganizationID: organization, Surface: channeltest.Name, TeamID: "T1",
	}
	f.exec(`INSERT INTO channel_installations (id, organization_id, surface, team_id, source)
	        VALUES ($1, $2, $3, 'T1', 'stored')`, f.installation.ID, organization, channeltest.Name)
	f.chat = f.startChat(chat.Deps{Model: f.model})
	f.sources = &sources{Store: f.db}
	f.projects = project.NewService(f.db, project.Config{}, f.log())
	return f
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) open() *store.DB {
	f.t.Helper()
	db, err := store.Open(f.t.Context(), f.dsn+" pool_max_conns=8")
	if err != nil {
		db, err = store.Open(f.t.Context(), f.dsn)
	}
	f.must(err)
	f.t.Cleanup(db.Close)
	return db
}

// member adds a member who is linked with the person of the same name.
func (f *fixture) member(organization uuid.UUID, name string) identity.Owner {
	f.t.Helper()
	owner := identity.Owner{OrganizationID: organization, UserID: newID()}
	f.must(f.db.CreateUser(f.t.Context(), identity.NewUser{
		ID: owner.UserID, OrganizationID: organization, Subject: name, Name: name, Email: name + "@test.example",
		Role: identity.RoleGeneralUser, AuthType: identity.AuthCognito,
	}))
	f.link(name, channel.LinkedMember{
		State: channel.LinkActive, Owner: owner, Name: name, Email: name + "@test.example",
	})
	return owner
}

func (f *fixture) link(person string, linked channel.LinkedMember) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.links[person] = linked
}

// linkOf returns the link of a person.
func (f *fixture) linkOf(person string) channel.LinkedMember {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.links[person]
}

// exec executes an SQL statement.
func (f *fixture) exec(sql string, args ...any) {
	f.t.Helper()
	_, err := f.sql.Exec(f.t.Context(), sql, args...)
	f.must(err)
}

// count returns the number returned by an SQL query.
func (f *fixture) count(sql string, args ...any) (n int) {
	f.t.Helper()
	f.must(f.sql.QueryRow(f.t.Context(), sql, args...).Scan(&n))
	return n
}

func (f *fixture) startChat(needs chat.Deps) *chat.Service {
	f.t.Helper()
	feed, err := stream.NewFeed(nil)
	f.must(err)
	hub := stream.NewHub(stream.HubConfig{})
	budget := org.NewBudget(f.db, f.log())
	f.t.Cleanup(budget.Stop)
	needs.Store, needs.Skills, needs.Hub, needs.Feed = f.db, f.skills(), hub, feed
	needs.Log, needs.Budget = f.log(), budget
	s := chat.NewService(needs, chat.Config{Lease: time.Hour})
	f.must(s.Start(f.t.Context()))
	f.t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		s.Stop(ctx)
	})
	return s
}

// start starts a server on the fixture's database.
func (f *fixture) start() *channel.Service { return f.startWith(channel.Config{}) }

func (f *fixture) startWith(cfg channel.Config) *channel.Service {
	f.t.Helper()
	cfg.PublicURL, cfg.Poll, cfg.BusyRetry = "https://tsumugi.example", 20*time.Millisecond, 10*time.Millisecond
	cfg.LinkRetry = 10 * time.Millisecond
	cfg.MinPause = 10 * time.Millisecond
	s := channel.NewService(channel.Deps{
		Store: f.db, Installations: f, Links: f, Surfaces: map[string]channel.Surface{channeltest.Name: f.surface},
		Chat: f.chat, Skills: f.skills(), Projects: f.projects, Sources: f.sources, Log: f.log(),
	}, cfg)
	s.Start()
	f.t.Cleanup(s.Stop)
	return s
}

func (f *fixture) skills() *skill.Service { return skill.NewService(f.db, skill.Config{}) }

func (f *fixture) log() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (f *fixture) FindInstallation(_ context.Context, surface, _, team string) (channel.Installation, error) {
	if surface != channeltest.Name || team != "T1" {
		return channel.Installation{}, channel.ErrNotInstalled
	}
	return f.Installation(context.Background(), f.installation.ID)
}

func (f *fixture) Installation(context.Context, uuid.UUID) (channel.Installation, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.installation, nil
}

func (f *fixture) EraseInstallation(ctx context.Context, id uuid.UUID) error {
	return f.db.EraseInstallation(ctx, id)
}

// policy sets the policy of the installation.
func (f *fixture) policy(p channel.Policy) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.installation.Policy = p
}

func (f *fixture) FindLink(_ context.Context, to channel.Target) (channel.LinkedMember, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if linked, ok := f.links[to.Person]; ok {
		return linked, nil
	}
	return channel.LinkedMember{State: channel.LinkNone}, nil
}

func (f *fixture) Invite(_ context.Context, to channel.Target) (string, error) {
	return "https://tsumugi.example/setting/slack?state=" + to.Person, nil
}

func (f *fixture) RemoveLink(_ context.Context, to channel.Target) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, linked := f.links[to.Person]
	delete(f.links, to.Person)
	return linked, nil
}

// event returns an event with a new id.
func (f *fixture) event(kind channel.Kind, person string) channel.IncomingEvent {
	f.events++
	return channel.IncomingEvent{
		Surface: channeltest.Name, TeamID: "T1", EventID: "Ev" + strconv.Itoa(f.events), Kind: kind, Channel: "C1",
		Thread: "thread", Person: person,
	}
}

// mention returns a question of a person in the thread.
func (f *fixture) mention(person, text string, files ...channel.File) channel.IncomingEvent {
	in := f.event(channel.KindQuestion, person)
	in.Message, in.Text, in.Files = f.surface.AddMessage(person, text, files...), text, files
	return in
}

func (f *fixture) take(s *channel.Service, in channel.IncomingEvent) {
	f.t.Helper()
	f.must(s.Enqueue(f.t.Context(), in))
}

// until waits for a condition, which it checks after each call of the surface.
func (f *fixture) until(what string, holds func() bool) {
	f.t.Helper()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	for {
		changed := f.surface.Changed()
		if holds() {
			return
		}
		select {
		case <-changed:
		case <-limit.C:
			f.t.Fatalf("waited in vain: %s", what)
		}
	}
}

// told waits for a notice of a kind to a person, and returns it.
func (f *fixture) told(person string, kind channel.NoticeKind) (n channel.Notice) {
	f.t.Helper()
	f.until(fmt.Sprintf("%s is told (%s)", person, kind), func() bool {
		for _, notice := range f.surface.Notices() {
			if notice.To.Person == person && notice.Notice.Kind == kind {
				n = notice.Notice
				return true
			}
		}
		return false
	})
	return n
}

// answered waits until n answers are final, and returns their last messages.
func (f *fixture) answered(n int) (list []channeltest.Message) {
	f.t.Helper()
	f.until(fmt.Sprintf("%d answers", n), func() bool {
		list = slices.DeleteFunc(f.surface.Messages(), func(m channeltest.Message) bool {
			return m.Draft.State == channel.StateWriting || !m.Draft.Last
		})
		return len(list) >= n
	})
	return list
}

// say sets the model's answer to the next question.
func (f *fixture) say(text string) *llmtest.Call {
	f.t.Helper()
	call := f.model.Next(f.t)
	call.Emit(text)
	call.Finish()
	return call
}

// read returns the last message of a model's request.
func read(call *llmtest.Call) string {
	return call.Request.Messages[len(call.Request.Messages)-1].Content
}

// sources are data sources without extraction.
type sources struct {
	Store *store.DB
	mu    sync.Mutex
	list  map[uuid.UUID]datasource.Source // Guarded by mu.
	read  map[uuid.UUID]string            // Guarded by mu.
	state datasource.Status
}

func (s *sources) Upload(ctx context.Context, owner identity.Owner, session uuid.UUID, name string,
	content io.Reader,
) (datasource.Source, bool, error) {
	b, err := io.ReadAll(content)
	if err != nil {
		return datasource.Source{}, false, err
	}
	source := datasource.Source{
		ID: newID(), Filename: name, MediaType: "text/plain", Size: int64(len(b)), SHA256: make([]byte, 32),
	}
	copy(source.SHA256, source.ID[:])
	if err := s.Store.MarkOrphan(ctx, source.ID, time.Hour); err != nil {
		return datasource.Source{}, false, err
	}
	stored, created, err := s.Store.CreateSource(ctx, owner, session, source, 1<<30)
	if err != nil {
		return datasource.Source{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list == nil {
		s.list, s.read = make(map[uuid.UUID]datasource.Source), make(map[uuid.UUID]string)
	}
	stored.Status = s.state
	s.list[stored.ID], s.read[stored.ID] = stored, string(b)
	return stored, created, nil
}

func (s *sources) Find(_ context.Context, _ identity.Owner, id uuid.UUID) (datasource.Source, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.list[id]
	found.Status = s.state
	return found, nil
}

// set sets the status of all data sources.
func (s *sources) set(status datasource.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = status
}

// texts returns the uploaded texts.
func (s *sources) texts() (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range s.read {
		list = append(list, text)
	}
	slices.Sort(list)
	return list
}
