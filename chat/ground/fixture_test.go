package ground_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/chat/ground"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/bucket"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/extracttest"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/test/leak"
)

func TestMain(m *testing.M) { leak.Main(storetest.Suite{M: m}) }

// fixture is a server with one person. It extracts uploaded files after start is called.
type fixture struct {
	t       *testing.T
	db      *store.DB
	owner   identity.Owner
	sources *datasource.Service
	chat    *chat.Service
	skills  map[string]uuid.UUID
	asked   chan llm.Request // Requests received by the model.
}

// newFixture returns a server that uses model.
func newFixture(t *testing.T, cfg ground.Config, model llm.Model) *fixture {
	t.Helper()
	f := &fixture{t: t, db: storetest.New(t), skills: make(map[string]uuid.UUID), asked: make(chan llm.Request, 10)}
	f.must(skill.Seed(t.Context(), f.db))
	organization := newID()
	f.must(f.db.CreateOrganization(t.Context(), org.Organization{ID: organization, Name: "試験", AuthType: "cognito"}))
	f.owner = f.person(organization, identity.RoleOrganizationAdmin)
	_, builtin, err := skill.Builtin()
	f.must(err)
	for _, s := range builtin {
		f.skills[s.Name] = s.ID
	}
	files, err := bucket.Open(t.TempDir())
	f.must(err)
	t.Cleanup(func() { f.must(files.Close()) })
	log := slog.New(slog.DiscardHandler)
	f.sources = datasource.NewService(f.db, files, extracttest.InProcess{}, log,
		datasource.Config{Poll: 20 * time.Millisecond})
	f.chat = f.serve(cfg, model)
	return f
}

// unlimited is a time limit that no test reaches.
const unlimited = time.Hour

// serve starts another server's chat service. It can summarize if the configuration has a budget.
func (f *fixture) serve(cfg ground.Config, model llm.Model) *chat.Service {
	f.t.Helper()
	feed, err := stream.NewFeed(nil)
	f.must(err)
	if cfg.Summaries.Budget != nil {
		cfg.Summaries.Model, cfg.Summaries.Notes = f.listening(model), f.db
	}
	cfg.EstimateTime = unlimited
	if cfg.Searches.Web != nil {
		cfg.Searches.Model = f.listening(model)
	}
	grounder := ground.New(f.sources, cfg)
	s := chat.NewService(chat.Deps{
		Store: f.db, Skills: skill.NewService(f.db, skill.Config{WebSearch: cfg.Searches.Web != nil}),
		Model: f.listening(model), Feed: feed, Log: slog.New(slog.DiscardHandler),
		Hub: stream.NewHub(stream.HubConfig{}), Grounder: grounder, SourceTools: grounder.SourceTools,
	}, chat.Config{Alone: true, Lease: unlimited, SendTimeout: unlimited})
	f.must(s.Start(f.t.Context()))
	f.t.Cleanup(func() { stop(s) })
	return s
}

// stop stops a service at once, so that another service takes over its generations.
func stop(s *chat.Service) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.Stop(ctx)
}

// listening returns a model that also sends its requests to f.asked.
func (f *fixture) listening(model llm.Model) llm.Model {
	return llmtest.Func(func(ctx context.Context, req llm.Request, emit func(string)) (llm.Result, error) {
		select {
		case f.asked <- req:
		default: // No test reads it.
		}
		return model.Stream(ctx, req, emit)
	})
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

func (f *fixture) member(organization uuid.UUID) identity.Owner {
	f.t.Helper()
	return f.person(organization, identity.RoleGeneralUser)
}

// person adds a person with a role to an organization.
func (f *fixture) person(organization uuid.UUID, role identity.Role) identity.Owner {
	f.t.Helper()
	id := newID()
	f.must(f.db.CreateUser(f.t.Context(), identity.NewUser{
		ID: id, OrganizationID: organization, Subject: id.String(), Email: id.String() + "@test.example", Name: "試験",
		Role: role, AuthType: identity.AuthCognito,
	}))
	return identity.Owner{OrganizationID: organization, UserID: id}
}

// start processes uploaded files until the test ends.
func (f *fixture) start() {
	f.sources.Start()
	f.t.Cleanup(f.sources.Stop)
}

// upload uploads a file.
func (f *fixture) upload(name, text string) uuid.UUID {
	f.t.Helper()
	source, _, err := f.sources.Upload(f.t.Context(), f.owner, uuid.Nil, name,
		strings.NewReader(text))
	f.must(err)
	return source.ID
}

// read uploads a file and waits until it is ready.
func (f *fixture) read(name, text string) uuid.UUID {
	f.t.Helper()
	id := f.upload(name, text)
	thread := f.thread("汎用チャット")
	p := chat.Preparation{RequestID: newID(), ThreadID: thread, SourceIDs: []uuid.UUID{id}}
	prepared, err := f.chat.Prepare(f.t.Context(), f.owner, p)
	f.must(err)
	prepared, err = f.chat.AwaitPreparation(f.t.Context(), f.owner, p, prepared)
	f.must(err)
	if prepared.Status != datasource.Success {
		f.t.Fatalf("%s: %+v", name, prepared)
	}
	return id
}

// thread returns a new thread of a skill. The thread has a title, so that the model receives no request for one.
func (f *fixture) thread(skillName string) uuid.UUID {
	f.t.Helper()
	thread, err := f.chat.CreateThread(f.t.Context(), f.owner, chat.NewThread{SkillID: f.skills[skillName], Title: "題"})
	f.must(err)
	return thread.ID
}

// ask returns the answer to a question and accepts any cost.
func (f *fixture) ask(thread uuid.UUID, content string, ids ...uuid.UUID) chat.Message {
	f.t.Helper()
	exchange, err := f.chat.Send(f.t.Context(), f.owner, chat.Question{
		RequestID: newID(), ThreadID: thread, Content: content, DataSourceIDs: ids, AcceptTokens: math.MaxInt,
	})
	f.must(err)
	exchange, err = f.chat.WaitFor(f.t.Context(), f.owner, exchange)
	f.must(err)
	return exchange.Answer
}

// lastRequest returns the model's request for the last question.
func (f *fixture) lastRequest() llm.Request {
	f.t.Helper()
	select {
	case req := <-f.asked:
		return req
	default:
		f.t.Fatal("the model was not asked")
		panic("unreachable")
	}
}

// chunk is a chunk of a stream.
type chunk struct {
	Type     string
	SourceID string `json:"sourceId"`
	URL      string
	Title    string
	Data     chat.Step // Of a data-step.
}

// streamed returns the chunks of an answer's stream.
func (f *fixture) streamed(id uuid.UUID) (list []chunk) {
	f.t.Helper()
	attachment, err := f.chat.Attach(f.t.Context(), f.owner, id)
	f.must(err)
	defer attachment.Leave()
	w := attachment.Text.Watch("")
	for b := w.Take(); b != nil; b = w.Take() {
		for line := range strings.Lines(string(b)) {
			if data, found := strings.CutPrefix(line, "data: {"); found {
				var c chunk
				f.must(json.Unmarshal([]byte("{"+data), &c))
				list = append(list, c)
			}
		}
	}
	return list
}
