package system_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/pdf/pdftest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// previousRelease is the file with the commit of the previous release. A release replaces it.
const previousRelease = "previous_release"

// previousProgram builds the previous release from the repository's history, with an empty page as the app.
// TSUMUGI_TEST_PREVIOUS_PROGRAM names an existing program to use instead. It skips the test if the repository does not
// have the commit, as in a source archive or a shallow clone.
func previousProgram(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("TSUMUGI_TEST_PREVIOUS_PROGRAM"); path != "" {
		return path
	}
	text := must.Get(os.ReadFile(previousRelease))(t)
	commit := strings.TrimSpace(string(text))
	out, err := exec.CommandContext(t.Context(), "git", "cat-file", "-e", commit+"^{commit}").CombinedOutput()
	if err != nil {
		t.Skipf("the previous release, %s, is not in the repository: %v: %s", commit, err, bytes.TrimSpace(out))
	}
	dir := t.TempDir()
	source, archive := filepath.Join(dir, "source"), filepath.Join(dir, "source.tar")
	path := filepath.Join(dir, "tsumugi")
	must.Succeed(t, os.Mkdir(source, 0o700))
	run := func(in, name string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir, cmd.Env = in, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", name, err, bytes.TrimSpace(out))
		}
	}
	run("../..", "git", "archive", "--output="+archive, commit) // In a folder of the repository, it is a part only.
	run(source, "tar", "-xf", archive)
	for _, embedded := range []string{"web/dist", "extension/dist"} {
		must.Succeed(t, os.MkdirAll(filepath.Join(source, embedded), 0o700))
		must.Succeed(t, os.WriteFile(filepath.Join(source, embedded, "index.html"), nil, 0o600))
	}
	// With -trimpath, the build cache has the packages of an earlier test run. The flags are those of scripts/build, so
	// that it also has the libraries.
	run(source, "go", "build", "-tags", "disable_grpc_modules", "-trimpath", "-ldflags", "-s -w", "-o", path,
		"./cmd/tsumugi")
	return path
}

// TestRollingUpgrade replaces two servers of the previous release by this program, one after the other, while users of
// both servers make all kinds of calls and watch answers. No call fails, and no text is lost or repeated, whichever
// release writes it and through whichever release it is watched.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	previous, next := previousProgram(t), built.path(t)
	data := folder(t)
	// The previous release does not start with settings that it does not know, so this link replaces one.
	environ := slices.DeleteFunc(settings(t), func(setting string) bool {
		return strings.HasPrefix(setting, pdftest.CacheVariable)
	})
	must.Succeed(t, os.Mkdir(filepath.Join(data, "cache"), 0o700))
	must.Succeed(t, os.Symlink(pdftest.Cache(t), filepath.Join(data, "cache", "pdfium")))
	r := newRigOf(t, previous, data, 2, environ)
	ctx, cancel := context.WithTimeout(t.Context(), 2*waitLimit)
	defer cancel()
	l := startLoad(ctx, t, r)
	l.await(ctx, "two servers of the previous release")
	r.UseProgram(next)
	var watching followers
	var all []asked
	for server, state := range []string{"one server of each release", "two servers of this release"} {
		all = append(all, watchEverywhere(ctx, t, r, &watching, uint64(100*server))...) //nolint:gosec // Small.
		began := time.Now()
		l.replace(ctx, server)
		t.Logf("server %d replaced in %v", server+1, time.Since(began).Round(time.Millisecond))
		checkEvents(ctx, t, r)
		l.await(ctx, state)
	}
	l.end()
	join(ctx, t, &watching.wait)
	r.stored(t, r.anywhere(), all)
	checkNotRestarted(t, &watching)
	t.Logf("%d calls, %d of them repeated; %d streams in %d connections", l.calls.Load(), l.repeats.Load(),
		len(watching.all), watching.sum(func(f *follower) int { return f.connections }))
}

// watchEverywhere asks questions through each server and begins to watch each answer through each server. It returns
// when all followers have read text.
func watchEverywhere(ctx context.Context, t *testing.T, r *rig, watching *followers, seed uint64) (all []asked) {
	t.Helper()
	var begun sync.WaitGroup
	for from := range r.Len() {
		// The shorter answers end before the server is replaced, the longer ones while it stops, or later.
		for i, chars := range []int{100, 400, 1000} {
			a := answer{chars: chars, rate: 20, seed: seed + uint64(10*from+i)} //nolint:gosec // Small.
			all = append(all, r.askMany(t, r.at(from)(), 1, a)...)
		}
	}
	for _, a := range all {
		for through := range r.Len() {
			f := r.watcher(a, r.at(through))
			begun.Add(1)
			f.onEvent = spoken(&begun)
			watching.run(ctx, t, f, a.want)
		}
	}
	join(ctx, t, &begun)
	return all
}

// checkEvents renames a thread through each server and waits for the event through the other one.
func checkEvents(ctx context.Context, t *testing.T, r *rig) {
	t.Helper()
	for from := range r.Len() {
		id := r.thread(t, r.at(from)())
		socket := r.listen(ctx, t, r.at(1-from)())
		title := "題 " + id
		must.Succeed(t, r.call(ctx, http.MethodPut, r.at(from)()+"/v1/thread/"+id, map[string]string{"title": title}, nil))
		for socket.next(ctx, t).Thread.Title != title {
		}
	}
}

// load is the users who make calls through all servers until end is called.
type load struct {
	*rig
	t        *testing.T
	workers  []*worker
	stopping []atomic.Bool // By server: it is being replaced and may refuse calls.
	number   atomic.Int64  // The number of the last round.
	calls    atomic.Int64
	repeats  atomic.Int64
	enough   chan struct{}
	wait     sync.WaitGroup
	changed  chan struct{} // Receives after a round.
}

// worker makes the calls of one user through one server.
type worker struct {
	visitor
	name  string
	steps []step

	mu     sync.Mutex
	done   []bool  // Guarded by mu. By step: it has succeeded since reset.
	last   []error // Guarded by mu. By step: the last refusal.
	rounds int     // Guarded by mu. Complete rounds since reset, without the one that was running then.
}

func startLoad(ctx context.Context, t *testing.T, r *rig) *load {
	t.Helper()
	l := &load{
		rig: r, t: t, stopping: make([]atomic.Bool, r.Len()), enough: make(chan struct{}),
		changed: make(chan struct{}, 1),
	}
	picture := blackPNG(t, 20)
	for email, steps := range map[string][]step{demoUser: memberSteps, demoAdministrator: administratorSteps} {
		c := signInAs(t, r.URL(), email)
		for server := range r.Len() {
			l.workers = append(l.workers, &worker{
				visitor: visitor{client: c, server: server, base: r.at(server)(), picture: picture},
				name:    email, steps: steps, done: make([]bool, len(steps)), last: make([]error, len(steps)),
			})
		}
	}
	for _, w := range l.workers {
		l.wait.Go(func() { l.run(ctx, w) })
	}
	return l
}

// end waits until all workers have finished their round.
func (l *load) end() {
	close(l.enough)
	l.wait.Wait()
}

// replace stops a server gracefully and starts the program that takes its place.
func (l *load) replace(ctx context.Context, server int) {
	l.t.Helper()
	l.stopping[server].Store(true)
	must.Succeed(l.t, l.StopServer(ctx, server))
	must.Succeed(l.t, l.Restart(ctx, server))
	l.stopping[server].Store(false)
}

// await waits until every call has succeeded through every server.
func (l *load) await(ctx context.Context, state string) {
	l.t.Helper()
	began := time.Now()
	for _, w := range l.workers {
		w.reset()
	}
	for slices.ContainsFunc(l.workers, func(w *worker) bool { return !w.complete() }) {
		select {
		case <-l.changed:
		case <-ctx.Done():
			for _, w := range l.workers {
				w.report(l.t, state)
			}
			l.t.FailNow()
		}
	}
	l.t.Logf("%s: every call has succeeded after %v", state, time.Since(began).Round(time.Millisecond))
}

func (l *load) run(ctx context.Context, w *worker) {
	for ctx.Err() == nil {
		select {
		case <-l.enough:
			return
		default:
		}
		w.startRound(int(l.number.Add(1)))
		for i, s := range w.steps {
			err := l.perform(ctx, w, s)
			w.mu.Lock()
			w.done[i] = w.done[i] || err == nil
			if err != nil {
				w.last[i] = err
			}
			w.mu.Unlock()
		}
		w.mu.Lock()
		w.rounds++
		w.mu.Unlock()
		select {
		case l.changed <- struct{}{}:
		default: // An earlier signal is pending.
		}
		pause(ctx, time.Second) // Leaves processor time for the tests that run at the same time.
	}
}

// perform makes a call, and repeats it while its server is being replaced. It returns a refusal, and fails the test
// after any other error.
func (l *load) perform(ctx context.Context, w *worker, s step) error {
	for {
		stopping := l.stopping[w.server].Load()
		err := w.make(ctx, s)
		l.calls.Add(1)
		stopping = stopping || l.stopping[w.server].Load()
		p, isProblem := errors.AsType[*problem](err)
		switch {
		case err == nil || ctx.Err() != nil || errors.Is(err, errSkipped),
			isProblem && p.Status < http.StatusInternalServerError:
			return err
		case stopping && (!isProblem || p.Status == http.StatusServiceUnavailable && p.RetryAfter != ""):
			l.repeats.Add(1)
			pause(ctx, 200*time.Millisecond)
			continue
		}
		l.t.Errorf("%s %s through server %d as %s: %v", s.method, s.path, w.server+1, w.name, err)
		return err
	}
}

// reset forgets the calls so far.
func (w *worker) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.done)
	clear(w.last)
	w.rounds = -1
}

// complete reports whether each call has succeeded, and a whole round is over.
func (w *worker) complete() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rounds > 0 && !slices.Contains(w.done, false)
}

// report fails the test with the calls that have not succeeded.
func (w *worker) report(t *testing.T, state string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, s := range w.steps {
		if !w.done[i] {
			t.Errorf("%s: %s %s through server %d as %s has not succeeded: %v", state, s.method, s.path, w.server+1,
				w.name, w.last[i])
		}
	}
}
