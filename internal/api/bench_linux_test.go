package api_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// BenchmarkQuestion asks over HTTP and reads an answer of 300 tokens to its end. It includes everything that a question
// needs in the program: a signed token, the database, the model's HTTP client, live events, the log. The model sends
// all tokens at once, so that the result is the cost of a question and not of its tokens. It also counts about forty
// allocations of the model and of the client.
func BenchmarkQuestion(b *testing.B) {
	for _, titled := range []bool{true, false} {
		b.Run(fmt.Sprintf("titled=%v", titled), func(b *testing.B) {
			q := newQuestions(b)
			defer q.stop()
			q.ask(b, titled) // Opens connections and prepares statements.
			b.ReportAllocs()
			q.cpu, q.waits = 0, 0
			for b.Loop() {
				q.ask(b, titled)
			}
			b.ReportMetric(float64(q.cpu.Microseconds())/float64(b.N), "cpu-µs/op")
			b.ReportMetric(float64(q.waits)/float64(b.N), "waits/op")
		})
	}
}

// questions is a running program with prepared requests.
type questions struct {
	db      *store.DB
	owner   identity.Owner
	skillID uuid.UUID
	server  *httptest.Server
	token   string
	ready   [][]byte // Prepared requests.
	buf     [32 << 10]byte
	cpu     time.Duration // CPU time of this process during the questions, without PostgreSQL's.
	waits   int64         // Number of waits of its threads.
	stop    func()
}

func newQuestions(b *testing.B) *questions {
	ctx, log := b.Context(), slog.New(slog.NewJSONHandler(io.Discard, nil))
	q := &questions{db: storetest.New(b)}
	_, skills, err := skill.Builtin()
	key, keyErr := rsa.GenerateKey(rand.Reader, 2048)
	provider := httptest.NewServer(answers())
	model, modelErr := llm.NewClient(llm.Config{BaseURL: provider.URL + "/v1", Model: llmtest.ModelName})
	feed, feedErr := stream.NewFeed(nil)
	must.Succeed(b, errors.Join(err, keyErr, modelErr, feedErr, skill.Seed(ctx, q.db)))
	q.skillID = skills[0].ID
	o := org.Organization{ID: uuid.New(), Name: "紡績", AuthType: "cognito", MailDomains: []string{"tsumugi.example"}}
	u := identity.NewUser{
		ID: uuid.New(), OrganizationID: o.ID, Subject: "alice", Email: "alice@tsumugi.example", Name: "試験",
		Role: identity.RoleGeneralUser, AuthType: identity.AuthCognito,
	}
	q.owner = identity.Owner{OrganizationID: o.ID, UserID: u.ID}
	must.Succeed(b, errors.Join(q.db.CreateOrganization(ctx, o), q.db.CreateUser(ctx, u)))
	people := identity.NewService(q.db, identity.NewPoolVerifier(time.Now, identity.Issuer{
		URL: "issuer", ClientID: "client", AuthType: identity.AuthCognito, Key: func(context.Context) jwt.Keyfunc {
			return func(*jwt.Token) (any, error) { return &key.PublicKey, nil }
		},
	}), log)
	q.token = must.Get(jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{
		"sub": "alice", "iss": "issuer", "aud": "client", "token_use": "id", "exp": time.Now().Add(time.Hour).Unix(),
		"email": u.Email, "name": u.Name, "cognito:username": uuid.NewString(), "event_id": uuid.NewString(),
	}).SignedString(key))(b)
	events, streams := api.NewLiveEvents(feed), sse.NewServer(sse.Config{Fast: true})
	live := api.NewLive(feed, people, nil, log, api.LiveConfig{})
	present := api.NewPresence(streams, live, api.NewTransfers())
	people.Start(present.UserChanged, present.ConnectedUsers) // Remembers the people who ask.
	service := chat.NewService(chat.Deps{
		Store: q.db, Skills: skill.NewService(q.db, skill.Config{}), Model: model,
		Hub: stream.NewHub(stream.HubConfig{}), Feed: feed, Log: log, Events: events,
	}, chat.Config{Alone: true})
	handler, err := api.New(api.Services{
		Identity: people, Skill: skill.NewService(q.db, skill.Config{}), Chat: service, Stream: streams,
		Live: live, App: fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}},
	}, api.Config{}, log)
	must.Succeed(b, errors.Join(err, service.Start(ctx)))
	q.server = httptest.NewServer(handler)
	q.stop = func() {
		service.Stop(context.Background())
		people.Stop()
		streams.Close()
		feed.Close()
		q.server.Close()
		provider.Close()
	}
	return q
}

// answers returns a model that sends the same 300 tokens for every request at once.
func answers() http.Handler {
	var events []byte
	for range 300 {
		events = llmtest.AppendTextChunk(events, []byte("紡ぐ"))
	}
	events = append(events,
		`data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],`+
			`"usage":{"prompt_tokens":10,"completion_tokens":300}}`+"\n\ndata: [DONE]\n\n"...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(events)
	})
}

// ask asks in a new thread and reads the answer to its end.
func (q *questions) ask(b *testing.B, titled bool) {
	if len(q.ready) == 0 {
		b.StopTimer()
		q.prepare(b, titled)
		b.StartTimer()
	}
	request := q.ready[0]
	q.ready = q.ready[1:]
	before := usage(b)
	defer func() {
		after := usage(b)
		q.cpu += time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
		q.waits += after.Nvcsw - before.Nvcsw
	}()
	conn, err := net.Dial("tcp", q.server.Listener.Addr().String()) //nolint:noctx // Of a benchmark.
	must.Succeed(b, err)
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write(request); err != nil {
		b.Fatal(err)
	}
	n := 0
	for {
		got, err := conn.Read(q.buf[n:])
		if n += got; errors.Is(err, io.EOF) {
			break
		}
		must.Succeed(b, err)
	}
	if got := q.buf[:n]; !bytes.HasSuffix(got, []byte("[DONE]\n\n")) || bytes.Count(got, []byte("紡ぐ")) < 300 {
		b.Fatalf("%.300s", got)
	}
}

func usage(b *testing.B) (u syscall.Rusage) {
	must.Succeed(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return u
}

// prepare creates requests, each in a separate thread.
func (q *questions) prepare(b *testing.B, titled bool) {
	for range 100 {
		thread := chat.NewThread{ID: uuid.Must(uuid.NewV7()), SkillID: q.skillID}
		if titled {
			thread.Title = "題"
		}
		if _, err := q.db.CreateThread(b.Context(), q.owner, thread); err != nil {
			b.Fatal(err)
		}
		body := fmt.Sprintf(`{"request_id":"%s","thread_id":"%s","content":"今週の予定を教えてください。"}`, uuid.New(), thread.ID)
		q.ready = append(q.ready, fmt.Appendf(nil, "POST /v1/message/stream HTTP/1.1\r\nHost: localhost\r\n"+
			"Authorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", q.token,
			len(body), body))
	}
}
