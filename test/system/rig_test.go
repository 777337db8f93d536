package system_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/pdf/pdftest"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/store/postgres"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/cluster"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// waitLimit is the default limit for waiting. It suffices on a busy machine.
const waitLimit = 5 * time.Minute

// shortLease is the lease in tests that kill many servers. The default of 3 s would make them slow.
const shortLease = "TSUMUGI_LEASE=2s"

// settings returns the settings of every server. The model follows the directive in a question, and the number of
// streams per user is not limited.
func settings(t *testing.T, more ...string) []string {
	t.Helper()
	return append(commonSettings(t), append([]string{"OPENAI_BASE_URL=" + newModel(t), "OPENAI_API_KEY=test"}, more...)...)
}

// commonSettings are the settings of every server without those of its model.
func commonSettings(t *testing.T) []string {
	t.Helper()
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TSUMUGI_DEMO_PASSWORD=" + demoPassword,
		"TSUMUGI_LIMITS=off", pdftest.CacheVariable + "=" + pdftest.Cache(t),
	}
}

// newModel starts a model and returns its base URL.
func newModel(t *testing.T) string {
	t.Helper()
	model := httptest.NewServer(llmtest.NewHandler(20 * time.Millisecond))
	t.Cleanup(func() {
		model.CloseClientConnections()
		model.Close()
	})
	return model.URL + "/v1"
}

// heldModel is a model that begins its answers when begin is called and ends them when end is called.
type heldModel struct {
	setting    string
	begin, end func()
}

func newHeldModel(t *testing.T) heldModel {
	t.Helper()
	begun, ended, handler := make(chan struct{}), make(chan struct{}), llmtest.NewHandler(20*time.Millisecond)
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-begun:
			handler.ServeHTTP(&heldWriter{w, r, ended}, r)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() {
		model.CloseClientConnections()
		model.Close()
	})
	return heldModel{
		setting: "OPENAI_BASE_URL=" + model.URL + "/v1",
		begin:   sync.OnceFunc(func() { close(begun) }), end: sync.OnceFunc(func() { close(ended) }),
	}
}

// heldWriter delays the end of a stream.
type heldWriter struct {
	http.ResponseWriter
	request *http.Request
	ended   <-chan struct{}
}

func (w *heldWriter) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(`"finish_reason":"stop"`)) {
		select {
		case <-w.ended:
		case <-w.request.Context().Done():
		}
	}
	return w.ResponseWriter.Write(b)
}

func (w *heldWriter) Flush() { w.ResponseWriter.(http.Flusher).Flush() } //nolint:forcetypeassert // It is net/http's.

// rig is a cluster of servers and a client of the demo user.
type rig struct {
	*cluster.Cluster
	*client
}

func newRig(t *testing.T, servers int, more ...string) *rig {
	t.Helper()
	return newRigOn(t, folder(t), servers, more...)
}

// newRigOn starts n servers with their data in the given folder.
func newRigOn(t *testing.T, data string, servers int, more ...string) *rig {
	t.Helper()
	return newRigOf(t, built.path(t), data, servers, settings(t, more...))
}

// newRigOf starts n servers of a program with these settings, with their data in the given folder. Servers of the
// program under test start on a copy of the seed.
func newRigOf(t *testing.T, program, data string, servers int, environ []string) *rig {
	t.Helper()
	if program == built.path(t) {
		seed.copyTo(t, data)
	}
	began := time.Now()
	c, err := cluster.Start(t.Context(), cluster.Config{
		Program: program, Servers: servers, Data: data, Environ: environ, Fragile: true,
		Host:             cluster.Loopback(t.Context()),
		PostgresSettings: map[string]string{"shared_buffers": "32MB", "autovacuum": "off"},
	})
	must.Succeed(t, err)
	t.Cleanup(func() {
		// The data is not needed any more, so the servers are killed instead of stopped.
		for i := range servers {
			c.Kill(i)
		}
		ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
		defer cancel()
		if err := c.Stop(ctx); err != nil {
			t.Error(err)
		}
		showLogs(t, data)
	})
	r := &rig{c, signIn(t, c.URL())}
	t.Logf("started in %v", time.Since(began).Round(time.Millisecond))
	return r
}

// folder returns a new folder that the database's operating system account can access.
func folder(t *testing.T) string {
	t.Helper()
	dir := must.Get(os.MkdirTemp(storetest.TempRoot(), "tsumugi-system-*"))(t)
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	must.Succeed(t, os.Chmod(dir, 0o755))
	return dir
}

// at returns a function for a follower that uses only one server.
func (r *rig) at(server int) func() string {
	url := r.Server(server).URL()
	return func() string { return url }
}

// anywhere returns the URL of the balancer.
func (r *rig) anywhere() string { return r.URL() }

// single is one server with an embedded database, and a client of the demo user.
type single struct {
	cfg cluster.ProcessConfig
	*client

	mu      sync.Mutex
	process *cluster.Process // Guarded by mu.
}

func newSingle(t *testing.T, more ...string) *single {
	t.Helper()
	data := folder(t)
	seed.copyTo(t, filepath.Join(data, "data"))
	return newSingleOn(t, data, more...)
}

// newSingleOn starts a server with its data in the given folder.
func newSingleOn(t *testing.T, data string, more ...string) *single {
	t.Helper()
	address := must.Get(cluster.FreeAddress(t.Context(), cluster.Loopback(t.Context())))(t)
	s := &single{cfg: cluster.ProcessConfig{
		Program: built.path(t), Listen: address, Data: filepath.Join(data, "data"),
		Log:     filepath.Join(data, "server.log"),
		Environ: settings(t, more...),
	}}
	s.restart(t)
	t.Cleanup(func() {
		s.running().Kill()
		// The embedded database notices that the server has exited, and writes files until it has stopped.
		await(t, "the database has stopped", waitLimit, func() bool {
			_, err := postgres.Running(filepath.Join(s.cfg.Data, "postgres"))
			return errors.Is(err, postgres.ErrNotRunning)
		})
		showLogs(t, data)
	})
	s.client = signIn(t, s.url())
	return s
}

// restart starts the server after its process has exited.
func (s *single) restart(t *testing.T) {
	t.Helper()
	p := must.Get(cluster.Launch(t.Context(), s.cfg))(t)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = p
}

func (s *single) running() *cluster.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process
}

func (s *single) url() string { return "http://" + s.cfg.Listen }

// showLogs prints the last part of every log if the test failed.
func showLogs(t *testing.T, dir string) {
	if !t.Failed() {
		return
	}
	_ = filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() || filepath.Ext(path) != ".log" || strings.Contains(path, "postgres") {
			return nil //nolint:nilerr // Unreadable logs are skipped.
		}
		text, _ := os.ReadFile(path)
		const most = 6 << 10
		t.Logf("%s:\n%s", filepath.Base(path), text[max(0, len(text)-most):])
		return nil
	})
}

// await repeats f until it returns true, and fails the test after limit.
func await(t *testing.T, what string, limit time.Duration, f func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(limit)
	for !f() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s: not within %v", what, limit)
		}
	}
}

// join waits for a group. It fails the test when ctx ends first.
func join(ctx context.Context, t *testing.T, group *sync.WaitGroup) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		t.Fatal("not everything that was waited for has happened: ", ctx.Err())
	}
}

// answer describes the model's answer.
type answer struct {
	chars int
	rate  float64 // Tokens of four characters per second; 0 is 50.
	seed  uint64
	more  string // Further fields of the directive, with a leading comma.
}

// in returns a question that requests this answer.
func (a answer) in(threadID string) question {
	rate := cmp.Or(a.rate, 50)
	return question{
		RequestID: newID(), ThreadID: threadID, want: llmtest.Markdown(a.chars, a.seed),
		Content: fmt.Sprintf(`%s {"chars":%d,"seed":%d,"tokens_per_second":%g,"token_chars":4%s}`, llmtest.Marker,
			a.chars, a.seed, rate, a.more),
	}
}

// asked is a stored question with its answer in progress.
type asked struct {
	question
	exchange
}

// askMany asks one question in each of n new threads and returns when the server has accepted all.
func (c *client) askMany(t *testing.T, base string, n int, a answer) []asked {
	t.Helper()
	all := make([]asked, n)
	var sends sync.WaitGroup
	for i := range n {
		sends.Go(func() {
			b := a
			b.seed = a.seed + uint64(i) //nolint:gosec // Small.
			if b.more != "" {
				b.more = strings.ReplaceAll(b.more, "KEY", newID())
			}
			q := b.in(c.thread(t, base))
			all[i] = asked{q, c.ask(t, base, q)}
		})
	}
	sends.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return all
}

// watcher returns a follower of an answer in progress.
func (c *client) watcher(a asked, where func() string) *follower {
	return &follower{client: c, where: where, method: http.MethodGet, path: "/v1/message/" + a.Answer.ID + "/stream"}
}

// followers are followers that run in the background.
type followers struct {
	all  []*follower
	wait sync.WaitGroup
}

// run follows f in the background and compares its text with the model's.
func (fs *followers) run(ctx context.Context, t *testing.T, f *follower, want string) {
	fs.all = append(fs.all, f)
	fs.wait.Go(func() {
		if err := f.follow(ctx); errors.Is(err, context.Canceled) {
			return // The test has failed already.
		} else if err != nil {
			t.Error(err)
		} else if got := string(f.text); digest(got) != digest(want) {
			t.Errorf("message %s: %d bytes after %d connections and %d resets, want %d", f.messageID, len(got),
				f.connections, f.resets, len(want))
		}
	})
}

func (fs *followers) sum(of func(f *follower) int) (n int) {
	for _, f := range fs.all {
		n += of(f)
	}
	return n
}

// stored checks that each question is stored once and that its answer is complete.
func (c *client) stored(t *testing.T, base string, all []asked) {
	t.Helper()
	for _, a := range all {
		messages, err := c.messages(t.Context(), base, a.ThreadID)
		if err != nil {
			t.Error(err)
			continue
		}
		if len(messages) != 2 || messages[1].ID != a.Answer.ID || messages[1].Status != "success" ||
			digest(messages[1].Content) != digest(a.want) {
			t.Errorf("thread %s: stored %d messages, the last %.200v, want %d bytes", a.ThreadID, len(messages),
				messages, len(a.want))
		}
	}
}

// talkLength is the number of questions in a thread. Longer threads would use up the organization's tokens.
const talkLength = 30

// talk asks questions in new threads until enough is closed. It follows each answer to its end, calls answered, and
// checks the stored messages of each thread. It returns the number of questions and the number of restarts of answers.
func (c *client) talk(ctx context.Context, t *testing.T, where func() string, enough <-chan struct{},
	a answer, answered func(),
) (questions, resets int) {
	var wants []string
	threadID, err := c.threadWithRetries(ctx, where)
	if err != nil {
		t.Error(err)
		return 0, 0
	}
	for {
		select {
		case <-enough:
			c.checkThread(ctx, t, where, threadID, wants)
			return questions, resets
		default:
		}
		if len(wants) == talkLength {
			c.checkThread(ctx, t, where, threadID, wants)
			wants = nil
			if threadID, err = c.threadWithRetries(ctx, where); err != nil {
				t.Error(err)
				return questions, resets
			}
		}
		a.seed++
		a.chars = 40 + int(a.seed*37%200)
		q := a.in(threadID)
		f := &follower{client: c, where: where, method: http.MethodPost, path: "/v1/message/stream", body: q}
		if err := f.follow(ctx); err != nil {
			t.Errorf("question %d of thread %s: %v", len(wants)+1, threadID, err)
			return questions, resets
		}
		questions++
		if digest(string(f.text)) != digest(q.want) {
			t.Errorf("message %s: %d bytes, want %d", f.messageID, len(f.text), len(q.want))
		}
		answered()
		wants = append(wants, q.want)
		resets += f.resets
	}
}

// checkThread checks the stored messages of a thread.
func (c *client) checkThread(ctx context.Context, t *testing.T, where func() string, threadID string, wants []string) {
	var messages []message
	err := withRetries(ctx, func() (err error) {
		messages, err = c.messages(ctx, where(), threadID)
		return err
	})
	if err != nil {
		t.Error(err)
		return
	}
	if len(messages) != 2*len(wants) {
		t.Errorf("thread %s has %d messages for %d questions", threadID, len(messages), len(wants))
		return
	}
	for i, want := range wants {
		if got := messages[2*i+1]; got.Role != "assistant" || got.Status != "success" ||
			digest(got.Content) != digest(want) {
			t.Errorf("thread %s, answer %d: %s with %d bytes, want %d", threadID, i+1, got.Status, len(got.Content),
				len(want))
		}
	}
}

// spoken returns a hook that signals the first text of an answer.
func spoken(group *sync.WaitGroup) func(event) {
	done := sync.OnceFunc(group.Done)
	return func(e event) {
		if e.Type == "text-delta" {
			done()
		}
	}
}

// ready returns the status of a server's readiness check, or 0 if the server cannot be reached.
func ready(ctx context.Context, base string) int {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", http.NoBody)
	if err != nil {
		return 0
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// isProblem reports whether err is a problem with this status.
func isProblem(err error, status int) bool {
	p, ok := errors.AsType[*problem](err)
	return ok && p.Status == status
}
