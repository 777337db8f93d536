package datasource_test

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/extracttest"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// queue is a store with files for synctest. It serves people without a running reading first, and then in order of
// arrival. Tests of the database cover the fairness between people.
type queue struct {
	datasource.Store
	datasource.Files

	mu      sync.Mutex
	waiting []datasource.Reading                      // Guarded by mu.
	running map[uuid.UUID]datasource.Reading          // Guarded by mu.
	took    map[uuid.UUID]time.Duration               // Reading time of each file.
	ended   map[uuid.UUID]time.Time                   // Guarded by mu.
	back    map[uuid.UUID][]datasource.RequeueOptions // Guarded by mu.
	tell    func()                                    // Guarded by mu.
}

func newQueue() *queue {
	return &queue{
		running: make(map[uuid.UUID]datasource.Reading), took: make(map[uuid.UUID]time.Duration),
		ended: make(map[uuid.UUID]time.Time),
		back:  make(map[uuid.UUID][]datasource.RequeueOptions),
	}
}

// add queues a person's file with the given reading time.
func (q *queue) add(person uuid.UUID, takes time.Duration) uuid.UUID {
	q.mu.Lock()
	defer q.mu.Unlock()
	id := uuid.New()
	q.took[id] = takes
	q.waiting = append(q.waiting, datasource.Reading{
		Source: datasource.Source{ID: id, Filename: "a.txt"}, Owner: identity.Owner{UserID: person},
	})
	if q.tell != nil {
		q.tell()
	}
	return id
}

// idle reports whether a person has no running reading. The caller must hold mu.
func (q *queue) idle(person uuid.UUID) bool {
	for _, r := range q.running {
		if r.Owner.UserID == person {
			return false
		}
	}
	return true
}

func (q *queue) ClaimReading(_ context.Context, quick bool, _ time.Duration) (datasource.Reading, bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	may := func(r datasource.Reading) bool { return !quick || !r.Slow }
	i := slices.IndexFunc(q.waiting, func(r datasource.Reading) bool { return may(r) && q.idle(r.Owner.UserID) })
	if i < 0 {
		i = slices.IndexFunc(q.waiting, may)
	}
	if i < 0 {
		return datasource.Reading{}, false, nil
	}
	r := q.waiting[i]
	q.waiting = slices.Delete(q.waiting, i, i+1)
	r.Attempt++
	r.Revision++
	q.running[r.ID] = r
	return r, true, nil
}

func (q *queue) HasWaitingReading(context.Context) (bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.ContainsFunc(q.waiting, func(r datasource.Reading) bool { return !r.Slow && q.idle(r.Owner.UserID) }),
		nil
}

func (q *queue) RenewReadings(_ context.Context, held []datasource.Reading, _ time.Duration) (lost []uuid.UUID,
	_ error,
) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range held {
		if _, ok := q.running[r.ID]; !ok {
			lost = append(lost, r.ID)
		}
	}
	return lost, nil
}

func (q *queue) RequeueReading(
	_ context.Context, r datasource.Reading, options datasource.RequeueOptions,
) (datasource.Source, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, ok := q.running[r.ID]; !ok {
		return datasource.Source{}, fault.Errorf(fault.NotFound, "ファイルが見つかりません。")
	}
	delete(q.running, r.ID)
	q.back[r.ID] = append(q.back[r.ID], options)
	r.Slow = r.Slow || options.Slow
	q.waiting = append(q.waiting, r)
	return r.Source, nil
}

func (q *queue) ReportProgress(_ context.Context, r datasource.Reading, _ datasource.Stage, _, _ int) (
	datasource.Source, error,
) {
	return r.Source, nil
}

func (q *queue) FinishReading(
	_ context.Context, r datasource.Reading, _ datasource.ReadingResult,
) (datasource.Source, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.running, r.ID)
	q.ended[r.ID] = time.Now()
	return r.Source, nil
}

func (q *queue) WatchQueue(ctx context.Context, tell func()) {
	q.mu.Lock()
	q.tell = tell
	q.mu.Unlock()
	tell()
	<-ctx.Done()
}

func (q *queue) IndexProjects(context.Context, int) (int, error) { return 0, nil }

func (q *queue) ListOrphans(context.Context, uuid.UUID) ([]uuid.UUID, error) { return nil, nil }

func (q *queue) Open(ctx context.Context, id uuid.UUID) (io.ReadCloser, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return io.NopCloser(&slowFile{ctx: ctx, takes: q.took[id]}), nil
}

// slowFile is a file with a reading time.
type slowFile struct {
	ctx   context.Context
	takes time.Duration
	read  bool
}

func (f *slowFile) Read(p []byte) (int, error) {
	if f.read {
		return 0, io.EOF
	}
	select {
	case <-time.After(f.takes):
		f.read = true
		return copy(p, "本文"), nil
	case <-f.ctx.Done():
		return 0, f.ctx.Err()
	}
}

// start starts to read the files. stop stops it.
func (q *queue) start() (stop func()) {
	s := datasource.NewService(q, q, extracttest.InProcess{}, slog.New(slog.DiscardHandler), datasource.Config{})
	s.Start()
	synctest.Wait()
	return s.Stop
}

// since returns the times from began to the end of each file's reading.
func (q *queue) since(began time.Time, ids ...uuid.UUID) (took []time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range ids {
		took = append(took, q.ended[id].Sub(began))
	}
	return took
}

// TestSlowFilesDoNotDelayOthers queues twenty files of one person that take eight seconds each, and later a small file
// of another person.
func TestSlowFilesDoNotDelayOthers(t *testing.T) {
	t.Parallel()
	for _, later := range []time.Duration{
		0, time.Second, 2500 * time.Millisecond, 3900 * time.Millisecond,
		5 * time.Second, 20 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue()
			ann, bob := uuid.New(), uuid.New()
			var slow []uuid.UUID
			for range 20 {
				slow = append(slow, q.add(ann, 8*time.Second))
			}
			began := time.Now()
			stop := q.start()
			<-time.After(later)
			small := q.add(bob, 10*time.Millisecond)
			<-time.After(3 * time.Minute)
			stop()
			if took := q.since(began.Add(later), small)[0]; took < 0 || took > 3500*time.Millisecond {
				t.Errorf("a small file %v later took %v", later, took)
			}
			// No file is lost, and at most one of the slow files is read twice.
			all := q.since(began, slow...)
			if last := slices.Max(all); slices.Min(all) <= 0 || last > 100*time.Second || len(q.back) > 1 {
				t.Errorf("a small file %v later: the slow files took %v, %d were interrupted", later, last, len(q.back))
			}
		})
	}
}

// TestSlowFileIsInterruptedOnce verifies that an interrupted file is then read to its end, regardless of further small
// files.
func TestSlowFileIsInterruptedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		ann := uuid.New()
		slow := []uuid.UUID{q.add(ann, 30*time.Second), q.add(ann, 30*time.Second)}
		began := time.Now()
		defer q.start()()
		for range 300 {
			<-time.After(time.Second)
			q.add(uuid.New(), 900*time.Millisecond)
		}
		<-time.After(time.Minute)
		if took := q.since(began, slow...); slices.Min(took) <= 0 || slices.Max(took) > 62*time.Second {
			t.Errorf("took %v", took)
		}
		for id, back := range q.back {
			if len(back) != 1 || back[0] != (datasource.RequeueOptions{Slow: true}) {
				t.Errorf("%s was put back as %+v", id, back)
			}
		}
		if len(q.ended) != 302 {
			t.Errorf("%d files were read", len(q.ended))
		}
	})
}

// TestReadingEndsWithItsServer verifies that a stopped server queues its reading again at once. A reading that exceeds
// its time limit counts as an attempt and is known to be slow.
func TestReadingEndsWithItsServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		id := q.add(uuid.New(), time.Hour)
		began := time.Now()
		stop := q.start()
		<-time.After(13 * time.Minute)
		if back := q.back[id]; len(back) != 1 || !back[0].CountAttempt || !back[0].Slow || back[0].After == 0 {
			t.Errorf("after its time it was put back as %+v", back)
		}
		stop()
		if back := q.back[id]; len(back) != 2 || back[1] != (datasource.RequeueOptions{}) ||
			time.Since(began) != 13*time.Minute {
			t.Errorf("after %v it was put back as %+v", time.Since(began), back)
		}
	})
}

// TestLostReadingIsCancelled covers a deleted file and a file taken over by another server.
func TestLostReadingIsCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		person := uuid.New()
		ids := []uuid.UUID{q.add(person, 50*time.Second), q.add(person, 50*time.Second), q.add(person, time.Second)}
		began := time.Now()
		defer q.start()()
		q.mu.Lock()
		delete(q.running, ids[0])
		delete(q.running, ids[1])
		q.mu.Unlock()
		<-time.After(10 * time.Second)
		if took := q.since(began, ids[2])[0]; took <= 0 || took > 3*time.Second || len(q.back) != 0 {
			t.Errorf("the next one took %v, put back %v", took, q.back)
		}
	})
}
