package system_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestR21_DatabaseRestartsInMidAnswer restarts PostgreSQL while answers are being written. Their streams must not be
// interrupted.
func TestR21_DatabaseRestartsInMidAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	all := r.askMany(t, r.at(0)(), 20, answer{chars: 400, rate: 20})
	var fs followers
	var begun sync.WaitGroup
	for i, a := range all {
		f := r.watcher(a, r.at(i%2))
		begun.Add(1)
		f.onEvent = spoken(&begun)
		fs.run(ctx, t, f, a.want)
	}
	join(ctx, t, &begun)
	must.Succeed(t, r.StopPostgres(ctx))
	must.Succeed(t, r.StartPostgres(ctx))
	join(ctx, t, &fs.wait)
	r.stored(t, r.at(1)(), all)
	// Clients of the writing server depend on no other server. A busy relay may end the other streams; their clients
	// reconnect.
	for i, f := range fs.all {
		if i%2 == 0 && f.connections != 1 {
			t.Errorf("stream %d took %d connections", i, f.connections)
		}
	}
	for server := range r.Len() {
		more := r.askMany(t, r.at(server)(), 2, answer{chars: 20})
		for _, a := range more {
			fs.run(ctx, t, r.watcher(a, r.anywhere), a.want)
		}
	}
	join(ctx, t, &fs.wait)
}

// TestR21_DatabaseIsStoppedForHalfAMinute stops PostgreSQL for 30 s. Running answers continue, new requests are soon
// refused with an explanation, the number of threads stays bounded, and the servers recover without help.
func TestR21_DatabaseIsStoppedForHalfAMinute(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	ctx, cancel := context.WithTimeout(t.Context(), 2*waitLimit)
	defer cancel()
	threadID := r.thread(t, r.anywhere())
	all := r.askMany(t, r.at(0)(), 20, answer{chars: 2400, rate: 20}) // The answers last as long as the outage.
	var fs followers
	var begun, spoken sync.WaitGroup
	away := make(chan struct{})
	for i, a := range all {
		f := r.watcher(a, r.at(i%2))
		begun.Add(1)
		spoken.Add(1)
		started, spoke := sync.OnceFunc(begun.Done), sync.OnceFunc(spoken.Done)
		f.onEvent = func(e event) {
			if e.Type != "text-delta" {
				return
			}
			started()
			select {
			case <-away:
				spoke()
			default:
			}
		}
		fs.run(ctx, t, f, a.want)
	}
	join(ctx, t, &begun)
	must.Succeed(t, r.StopPostgres(ctx))
	stopped := time.Now()
	close(away)
	before := [2]int{r.threads(t, 0), r.threads(t, 1)}
	slowest, refused := r.refusedWhile(ctx, t, threadID, stopped.Add(30*time.Second))
	join(ctx, t, &spoken) // The text was written during the outage.
	for i := range before {
		if after := r.threads(t, i); after > before[i]+50 {
			t.Errorf("server %d: %d goroutines or threads, %d before", i+1, after, before[i])
		}
	}
	must.Succeed(t, r.StartPostgres(ctx))
	began := time.Now()
	for server := range r.Len() {
		await(t, "the server heals", waitLimit, func() bool { return ready(ctx, r.at(server)()) == http.StatusOK })
	}
	healed := time.Since(began)
	join(ctx, t, &fs.wait)
	t.Logf("%d questions refused, the slowest after %v; ready again after %v; all stored after %v; %d answers "+
		"restarted", refused,
		slowest.Round(time.Millisecond), healed.Round(time.Millisecond), time.Since(began).Round(time.Millisecond),
		fs.sum(func(f *follower) int { return f.resets }))
	if resets := fs.sum(func(f *follower) int { return f.resets }); resets > 0 {
		t.Errorf("%d answers were restarted although their server kept running", resets)
	}
	r.stored(t, r.anywhere(), all)
}

// refusedWhile asks questions through both servers until the given time, ten at once. It returns the longest time to a
// refusal and the number of refusals.
func (r *rig) refusedWhile(ctx context.Context, t *testing.T, threadID string, until time.Time) (slowest time.Duration,
	refused int,
) {
	for time.Now().Before(until) {
		var mu sync.Mutex
		var asks sync.WaitGroup
		for i := range 20 {
			asks.Go(func() {
				began := time.Now()
				err := r.call(ctx, http.MethodPost, r.at(i%2)()+"/v1/message/async", answer{chars: 10}.in(threadID),
					nil)
				mu.Lock()
				defer mu.Unlock()
				refused++
				slowest = max(slowest, time.Since(began))
				if !refusedInJapanese(err, http.StatusServiceUnavailable) {
					t.Errorf("a question without a database: %v", err)
				}
			})
		}
		asks.Wait()
		pause(ctx, time.Second)
	}
	if slowest > time.Minute { // 5 s on an idle machine.
		t.Errorf("a question was refused after %v", slowest)
	}
	return slowest, refused
}

// refusedInJapanese reports whether err is a problem with this status and a Japanese detail text.
func refusedInJapanese(err error, status int) bool {
	p, ok := errors.AsType[*problem](err)
	return ok && p.Status == status && len([]rune(p.Detail)) > 5 &&
		unicode.In([]rune(p.Detail)[0], unicode.Katakana, unicode.Hiragana, unicode.Han)
}

// threads returns the number of operating system threads of a server's process.
func (r *rig) threads(t *testing.T, server int) int {
	t.Helper()
	status := must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/status", r.Server(server).PID())))(t)
	match := regexp.MustCompile(`Threads:\s+(\d+)`).FindSubmatch(status)
	n := must.Get(strconv.Atoi(string(match[1])))(t)
	return n
}

// fullDisk makes the database report a full disk on every write. room ends this.
func fullDisk(ctx context.Context, t *testing.T, dsn string) (room func()) {
	t.Helper()
	exec := func(sql string) {
		t.Helper()
		conn, err := pgx.Connect(ctx, dsn)
		must.Succeed(t, err)
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, sql)
		must.Succeed(t, err)
	}
	exec(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
		CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON messages FOR EACH ROW EXECUTE FUNCTION full_disk();
		CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON threads FOR EACH ROW EXECUTE FUNCTION full_disk()`)
	return func() { exec(`DROP FUNCTION full_disk() CASCADE`) }
}

func TestR23_FullDisk(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	r.fullDisk(ctx, t, func() (room func()) { return fullDisk(ctx, t, r.DSN()) })
}

// TestR23_FullDiskForReal fills the database's disk. If this process may not mount a small disk, it simulates the
// failure as TestR23_FullDisk does.
func TestR23_FullDiskForReal(t *testing.T) {
	t.Parallel()
	data := folder(t)
	disk := filepath.Join(data, "postgres")
	must.Succeed(t, os.Mkdir(disk, 0o755))
	small := smallDisk(t, disk)
	r := newRigOn(t, data, 2)
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	r.fullDisk(ctx, t, func() (room func()) {
		if !small {
			t.Log("no disk can be mounted here")
			return fullDisk(ctx, t, r.DSN())
		}
		filler := filepath.Join(disk, "filler")
		file, err := os.Create(filler)
		must.Succeed(t, err)
		_, err = io.Copy(file, zeros{})
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("the disk is not full: %v", err)
		}
		must.Succeed(t, file.Close())
		return func() { must.Succeed(t, os.Remove(filler)) }
	})
}

// zeros is an endless reader.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// fullDisk calls fill while answers are being written. The answers continue and are stored when there is space again.
// New requests are refused, and stored data can still be read.
func (r *rig) fullDisk(ctx context.Context, t *testing.T, fill func() (room func())) {
	t.Helper()
	before := r.askMany(t, r.at(0)(), 1, answer{chars: 20})
	var read followers
	read.run(ctx, t, r.watcher(before[0], r.anywhere), before[0].want)
	join(ctx, t, &read.wait)

	all := r.askMany(t, r.at(0)(), 10, answer{chars: 400, rate: 20})
	var fs followers
	var written sync.WaitGroup
	for i, a := range all {
		f := r.watcher(a, r.at(i%2))
		written.Add(1)
		whole := sync.OnceFunc(written.Done)
		f.onEvent = func(event) {
			if len(f.text) == len(a.want) {
				whole()
			}
		}
		fs.run(ctx, t, f, a.want)
	}
	var threads []string
	for range 40 {
		threads = append(threads, r.thread(t, r.anywhere()))
	}
	room := fill()
	// A few questions may still fit on a full disk.
	refused := false
	for _, threadID := range threads {
		q := answer{chars: 10}.in(threadID)
		for len(q.Content) < 16<<10 {
			q.Content += rand.Text()
		}
		err := r.call(ctx, http.MethodPost, r.anywhere()+"/v1/message/async", q, nil)
		if err == nil {
			continue
		}
		if refused = true; !refusedInJapanese(err, http.StatusServiceUnavailable) ||
			!strings.Contains(err.Error(), "保存容量") {
			t.Errorf("a question with a full disk: %v", err)
		}
		t.Logf("a question: %v", err)
		break
	}
	if !refused {
		t.Error("no question is refused")
	}
	join(ctx, t, &written)
	r.stored(t, r.anywhere(), before)
	for _, a := range all {
		messages := must.Get(r.messages(ctx, r.anywhere(), a.ThreadID))(t)
		if messages[1].Status == "failed" {
			t.Error("an answer that could not be stored has failed")
		}
	}
	room()
	join(ctx, t, &fs.wait)
	r.stored(t, r.anywhere(), all)
	if resets := fs.sum(func(f *follower) int { return f.resets }); resets > 0 {
		t.Errorf("%d answers were restarted", resets)
	}
}
