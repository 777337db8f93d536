package siem_test

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"

	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/siem"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
	"github.com/tsumugi-ai/tsumugi/internal/work"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/leak"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestMain(m *testing.M) { leak.Main(storetest.Suite{M: m}) }

// quick are short delays.
var quick = siem.Config{
	Poll: 5 * time.Millisecond, Retry: 5 * time.Millisecond, MaxRetry: 20 * time.Millisecond,
	Lease: work.Lease{Duration: time.Minute, Renewal: 20 * time.Millisecond},
}

// logs is a log that tests read. It is safe for concurrent use.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer // Guarded by mu.
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logs) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// fixture is a database without events.
type fixture struct {
	*store.DB
	t   *testing.T
	sql *pgxpool.Pool
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	dsn := storetest.DSN(t)
	db := must.Get(store.Open(t.Context(), dsn))(t)
	t.Cleanup(db.Close)
	return &fixture{DB: db, t: t, sql: storetest.Pool(t, dsn)}
}

// serve sends to sinks until the test ends or stop is called.
func (f *fixture) serve(db siem.Store, log *slog.Logger, sinks ...siem.Sink) (s *siem.Service, stop func()) {
	f.t.Helper()
	s = siem.NewService(db, sinks, quick, log)
	s.Start()
	stop = sync.OnceFunc(s.Stop)
	f.t.Cleanup(stop)
	return s, stop
}

// awaitSent waits until the cursors show that all events were sent.
func (f *fixture) awaitSent() {
	f.t.Helper()
	for {
		backlogs := must.Get(f.SinkBacklogs(f.t.Context()))(f.t)
		if !slices.ContainsFunc(backlogs, func(b siem.Backlog) bool { return b.Waiting > 0 }) {
			return
		}
		work.Sleep(f.t.Context(), time.Millisecond)
	}
}

// execer is a transaction or a pool.
type execer interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// record adds an event with a label and a detail, and returns its id.
func (f *fixture) record(q execer, label, detail string) (id string) {
	f.t.Helper()
	err := q.QueryRow(f.t.Context(), `
		INSERT INTO audit_events (id, actor_kind, actor_name, action, target_kind, target_label, details, address)
		VALUES ($1, 'operator', 'root', 'organization.edit', 'organization', $2,
		        jsonb_build_array(jsonb_build_object('field', 'name', 'after', $3::text)), '2001:db8::1')
		RETURNING id::text`, uuidv7.New(), label, detail).Scan(&id)
	must.Succeed(f.t, err)
	return id
}

// recordMany adds n events of one day and returns their ids, oldest first.
func (f *fixture) recordMany(n int) []string {
	f.t.Helper()
	rows := must.Get(f.sql.Query(f.t.Context(), `
		INSERT INTO audit_events (id, at, actor_kind, action)
		SELECT gen_random_uuid(), now() + i * interval '1 day' / $1, 'system', 'organization.edit'
		FROM generate_series(1, $1::int) i
		RETURNING id::text`, n))(f.t)
	ids := must.Get(pgx.CollectRows(rows, pgx.RowTo[string]))(f.t)
	return ids
}

// TestEveryActionIsMapped finds the actions in the source code.
func TestEveryActionIsMapped(t *testing.T) {
	t.Parallel()
	constant := regexp.MustCompile(`\bAction\w*\s*=\s*"([a-z_]+\.[a-z_]+)"`)
	found := slices.Clone(org.Actions())
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == ".cache"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, match := range constant.FindAllSubmatch(text, -1) {
			found = append(found, org.Action(match[1]))
		}
		return err
	})
	must.Succeed(t, err)
	if len(found) < len(org.Actions())+60 {
		t.Errorf("found only %d constants", len(found)-len(org.Actions()))
	}
	for _, action := range found {
		if !slices.Contains(org.Actions(), action) {
			t.Errorf("org.Actions lacks %s", action)
		}
		if !siem.HasActivity(action) {
			t.Errorf("%s has no activity of OCSF", action)
		}
		if len(action) > 32 {
			t.Errorf("%s is too long for the message id of syslog", action)
		}
	}
}

// TestLateCommitIsSent commits an event after another one that began later was sent.
func TestLateCommitIsSent(t *testing.T) {
	t.Parallel()
	f, c := newFixture(t), newCollector(t)
	f.serve(f.DB, slog.New(slog.DiscardHandler), c.sink(t, nil))
	first := must.Get(f.sql.Begin(t.Context()))(t)
	early := f.record(first, "first", "")
	late := f.record(f.sql, "second", "")
	if got := c.expect(t, 1); got[0] != late {
		t.Errorf("got %s, want %s", got, late)
	}
	must.Succeed(t, first.Commit(t.Context()))
	if got := c.expect(t, 1); got[0] != early {
		t.Errorf("got %s, want %s", got, early)
	}
}

// TestChangedEventIsSentAgain counts an event, which gets another id for receivers.
func TestChangedEventIsSentAgain(t *testing.T) {
	t.Parallel()
	f, c := newFixture(t), newCollector(t)
	f.serve(f.DB, slog.New(slog.DiscardHandler), c.sink(t, nil))
	id := f.record(f.sql, "counted", "")
	c.expect(t, 1)
	if _, err := f.sql.Exec(t.Context(), `UPDATE audit_events SET times = 2, last_at = now()`); err != nil {
		t.Fatal(err)
	}
	if got := c.expect(t, 1); got[0] != id+"-1" {
		t.Errorf("got %s, want %s-1", got, id)
	}
}

// TestReceiverIsAwayForADay records many events while the receiver is unreachable, hangs, and answers with errors.
func TestReceiverIsAwayForADay(t *testing.T) {
	t.Parallel()
	f, c, log := newFixture(t), newCollector(t), &logs{}
	closed := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	_ = closed.Close()
	reachable := &atomic.Bool{}
	transport := c.Client().Transport.(*http.Transport).Clone()
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if !reachable.Load() {
			address = closed.Addr().String()
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	sink := must.Get(siem.NewOTLP(siem.OTLPConfig{
		URL: c.URL, Client: &http.Client{Transport: transport}, Timeout: 3 * time.Second,
	}, log.logger()))(t)
	failing, count := make(chan struct{}), new(atomic.Int32)
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	c.set(func(w http.ResponseWriter, _ *http.Request) {
		switch calls := count.Add(1); {
		case calls == 1:
			failing <- struct{}{}
			<-hang
		case calls <= 4:
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
		case calls == 5:
			w.WriteHeader(http.StatusUnauthorized)
		case calls == 6:
			_, _ = io.WriteString(w, "<html>Sign in to the network</html>")
			c.set(nil)
		}
	})
	s, _ := f.serve(f.DB, log.logger(), sink)
	want := f.recordMany(1500)
	for !strings.Contains(log.String(), "connection refused") {
		if t.Context().Err() != nil {
			t.Fatal("no attempt to connect")
		}
		work.Sleep(t.Context(), time.Millisecond)
	}
	reachable.Store(true)
	<-failing
	backlogs, err := f.SinkBacklogs(t.Context())
	if err != nil || len(backlogs) != 1 || backlogs[0].Waiting != 1500 || backlogs[0].Oldest.IsZero() {
		t.Errorf("%+v, %v", backlogs, err)
	}
	if got := c.expect(t, 1500); !slices.Equal(got, want) {
		t.Error("the events arrived in another order")
	}
	for _, part := range []string{"context deadline exceeded", "503", "401", "web page", "accepts events again"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("the log lacks %s: %s", part, log)
		}
	}
	if stats := s.Stats(); len(stats) != 1 || stats[0].Sink != "otlp" || stats[0].Refused != 0 {
		t.Errorf("%+v", stats)
	}
}

// severed is a database that can become unreachable, as for a server that was killed.
type severed struct {
	*store.DB

	dead atomic.Bool
}

func (s *severed) AcquireSlot(
	ctx context.Context, name string, slots int, holder uuid.UUID, lease time.Duration,
) (bool, error) {
	if s.dead.Load() {
		return false, io.ErrUnexpectedEOF
	}
	return s.DB.AcquireSlot(ctx, name, slots, holder, lease)
}

func (s *severed) ReleaseSlot(ctx context.Context, name string, holder uuid.UUID) error {
	if s.dead.Load() {
		return io.ErrUnexpectedEOF
	}
	return s.DB.ReleaseSlot(ctx, name, holder)
}

// TestAnotherServerContinues stops a server, and kills the one that has continued.
func TestAnotherServerContinues(t *testing.T) {
	t.Parallel()
	f, c, log := newFixture(t), newCollector(t), slog.New(slog.DiscardHandler)
	var senders sync.Map // By the user agent.
	sink := func(name string) siem.Sink {
		sink, err := siem.NewOTLP(siem.OTLPConfig{URL: c.URL, Headers: "server=" + name, Client: c.Client()}, log)
		must.Succeed(t, err)
		return sink
	}
	c.set(func(_ http.ResponseWriter, r *http.Request) {
		for _, record := range records(t, r) {
			senders.Store(idOf(record), r.Header.Get("Server"))
			c.arrived <- []*logspb.LogRecord{record}
		}
	})
	sentBy := func(ids []string, want string) {
		t.Helper()
		if got := c.expect(t, len(ids)); !slices.Equal(got, ids) {
			t.Errorf("got %v, want %v", got, ids)
		}
		for _, id := range ids {
			if got, _ := senders.Load(id); got != want {
				t.Errorf("%s was sent by %v, want %s", id, got, want)
			}
		}
	}
	_, stop := f.serve(f.DB, log, sink("a"))
	ids := f.recordMany(300)
	if got := c.expect(t, 300); !slices.Equal(got, ids) {
		t.Fatal("the first server has not sent the events")
	}
	b := &severed{DB: f.DB}
	f.serve(b, log, sink("b"))
	sentBy([]string{f.record(f.sql, "a", "")}, "a")
	f.awaitSent()
	stop()
	sentBy([]string{f.record(f.sql, "b", "")}, "b")

	b.dead.Store(true)
	f.serve(f.DB, log, sink("c"))
	if _, err := f.sql.Exec(t.Context(), `UPDATE channel_holds SET held_until = now() - interval '1 s'`); err != nil {
		t.Fatal(err) // The lease expires.
	}
	ids = f.recordMany(250)
	missing := make(map[string]bool)
	for _, id := range ids {
		missing[id] = true
	}
	for len(missing) > 0 { // The killed server may have sent some of them before it has noticed.
		delete(missing, c.expect(t, 1)[0])
	}
}
