package store_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/proofread"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// silence sets the age of a server's last heartbeat.
func (f *fixture) silence(t *testing.T, serverID uuid.UUID, age time.Duration) {
	t.Helper()
	f.exec(t, `UPDATE servers SET heartbeat_at = now() - $2::interval WHERE id = $1`, serverID, age)
}

// renew registers a server or sends its heartbeat.
func (f *fixture) renew(t *testing.T, serverID uuid.UUID, held ...chat.RunID) chat.Renewal {
	t.Helper()
	renewal := must.Get(f.Renew(t.Context(), serverID, held))(t)
	return renewal
}

func TestR20_GenerationsOfADeadServerAreTakenOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dead, alive := newID(), newID()
	f.renew(t, dead)
	f.renew(t, alive)
	thread := f.thread(t, f.ann)
	b := question(f.ann, thread.ID, dead)
	begun := must.Get(f.BeginGeneration(t.Context(), b))(t)
	f.exchange(t, f.bob, f.thread(t, f.bob).ID, dead, "済み", "済み") // Complete, so no server takes it over.

	take := func() []chat.StoredGeneration {
		jobs := must.Get(f.TakeOver(t.Context(), alive, nil, lease, 10, 0))(t)
		return jobs
	}
	if jobs := take(); len(jobs) != 0 {
		t.Errorf("while the server lives: %+v", jobs)
	}
	f.silence(t, dead, lease-2*time.Second)
	if jobs := take(); len(jobs) != 0 {
		t.Errorf("within the lease: %+v", jobs)
	}
	f.silence(t, dead, lease+time.Second)
	jobs := take()
	if len(jobs) != 1 {
		t.Fatalf("after the lease: %+v", jobs)
	}
	j := jobs[0]
	if j.Owner != f.ann || j.Thread.ID != thread.ID || j.Stopped || j.Question.Content != b.Question.Content ||
		j.Question.Prompt != b.Question.Prompt || j.Answer.ID != begun.Answer.ID || j.Answer.Run != 2 {
		t.Errorf("job: %+v", j)
	}
	if jobs := take(); len(jobs) != 0 {
		t.Errorf("once more: %+v", jobs)
	}

	// The old server was only slow. Its run has ended, so that its outcome is refused.
	if err := f.end(t, outcome(f.ann, begun, dead, "遅い")); !errors.Is(err, chat.ErrStaleRun) {
		t.Errorf("the end of run 1: %v", err)
	}
	late := outcome(f.ann, begun, dead, "遅い")
	late.Run = 2
	if err := f.end(t, late); !errors.Is(err, chat.ErrStaleRun) {
		t.Errorf("run 2 by the wrong server: %v", err)
	}
	late = outcome(f.ann, begun, alive, "新しい")
	late.Run = 2
	must.Succeed(t, f.end(t, late))
	got, err := f.FindMessage(t.Context(), f.ann, begun.Answer.ID)
	if err != nil || got.Content != "新しい" || got.Run != 2 {
		t.Errorf("stored: %+v, %v", got, err)
	}
}

func TestServersWithoutARowAreDead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	gone, alive := newID(), newID()
	f.renew(t, gone)
	begun := must.Get(f.BeginGeneration(t.Context(), question(f.ann, f.thread(t, f.ann).ID, gone)))(t)
	must.Get(f.RequestStop(t.Context(), f.ann, begun.Answer.ID))(t)
	must.Succeed(t, f.RemoveServer(t.Context(), gone))
	must.Succeed(t, f.RemoveServer(t.Context(), gone))
	jobs, err := f.TakeOver(t.Context(), alive, nil, lease, 10, 0)
	if err != nil || len(jobs) != 1 || !jobs[0].Stopped {
		t.Errorf("TakeOver = %+v, %v", jobs, err)
	}
}

func TestOwnGenerationsThatAreNotHeldAreTakenOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := newID()
	f.renew(t, server)
	held := must.Get(f.BeginGeneration(t.Context(), question(f.ann, f.thread(t, f.ann).ID, server)))(t)
	lost := must.Get(f.BeginGeneration(t.Context(), question(f.ann, f.thread(t, f.ann).ID, server)))(t)
	take := func() []chat.StoredGeneration {
		jobs := must.Get(f.TakeOver(t.Context(), server, []uuid.UUID{held.Answer.ID}, lease, 10, 0))(t)
		return jobs
	}
	if jobs := take(); len(jobs) != 0 {
		t.Errorf("right after they began: %+v", jobs)
	}
	f.exec(t, `UPDATE generations SET started_at = now() - interval '9 seconds'`)
	if jobs := take(); len(jobs) != 1 || jobs[0].Answer.ID != lost.Answer.ID || jobs[0].Answer.Run != 2 {
		t.Errorf("after the lease: %+v", jobs)
	}
	if jobs := take(); len(jobs) != 0 {
		t.Errorf("once more: %+v", jobs)
	}
}

// TestStartAlone: a server without other servers takes over all generations that are running when it starts.
func TestStartAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	before, now := newID(), newID()
	f.renew(t, before)
	must.Get(f.BeginGeneration(t.Context(), question(f.ann, f.thread(t, f.ann).ID, before)))(t)
	f.renew(t, now)
	if jobs, err := f.TakeOver(t.Context(), now, nil, 0, 10, 0); err != nil || len(jobs) != 1 {
		t.Errorf("TakeOver = %+v, %v", jobs, err)
	}
}

// TestSeveralServersShareTheWork: when many servers take over at once, each generation is taken by exactly one of them,
// as run 2.
func TestSeveralServersShareTheWork(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dead := newID()
	want := make(map[uuid.UUID]bool)
	for range 40 {
		begun := must.Get(f.BeginGeneration(t.Context(), question(f.ann, f.thread(t, f.ann).ID, dead)))(t)
		want[begun.Answer.ID] = true
	}
	var mu sync.Mutex // Guards taken.
	var taken []uuid.UUID
	var wg sync.WaitGroup
	for range 6 {
		server := newID()
		f.renew(t, server)
		wg.Go(func() {
			var held []uuid.UUID
			for range 20 {
				jobs, err := f.TakeOver(t.Context(), server, held, lease, 3, 0)
				if err != nil {
					t.Errorf("TakeOver: %v", err)
					return
				}
				if len(jobs) > 3 {
					t.Errorf("%d jobs, more than the limit", len(jobs))
				}
				mu.Lock()
				for _, j := range jobs {
					held = append(held, j.Answer.ID)
					taken = append(taken, j.Answer.ID)
					if j.Answer.Run != 2 {
						t.Errorf("run %d", j.Answer.Run)
					}
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(taken) != len(want) {
		t.Errorf("%d taken, want %d", len(taken), len(want))
	}
	slices.SortFunc(taken, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	if n := len(slices.Compact(taken)); n != len(want) {
		t.Errorf("%d different ones taken, want %d", n, len(want))
	}
}

func TestLongDeadServersAreRemoved(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	old, recent, self := newID(), newID(), newID()
	for _, id := range []uuid.UUID{old, recent, self} {
		f.renew(t, id)
	}
	f.silence(t, old, 2*time.Hour)
	f.silence(t, recent, time.Minute)
	f.silence(t, self, 2*time.Hour) // It was suspended and will renew its own row.
	must.Get(f.TakeOver(t.Context(), self, nil, lease, 10, 0))(t)
	if n := value[int](t, f, `SELECT count(*) FROM servers WHERE id = ANY ($1)`, []uuid.UUID{recent, self}); n != 2 {
		t.Errorf("%d of two servers are left", n)
	}
	if n := value[int](t, f, `SELECT count(*) FROM servers`); n != 2 {
		t.Errorf("%d servers are left", n)
	}
}

// TestEndRacesTakeOver: when a slow server ends its run while another server takes it over, exactly one of them
// succeeds.
func TestEndRacesTakeOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for range 25 {
		slow, other := newID(), newID()
		begun := must.Get(f.BeginGeneration(t.Context(), question(f.ann, f.thread(t, f.ann).ID, slow)))(t)
		var wg sync.WaitGroup
		var endErr, takeErr error
		var jobs []chat.StoredGeneration
		wg.Go(func() { endErr = f.end(t, outcome(f.ann, begun, slow, "遅い")) })
		wg.Go(func() { jobs, takeErr = f.TakeOver(t.Context(), other, nil, lease, 100, 0) })
		wg.Wait()
		must.Succeed(t, takeErr)
		if endErr != nil && !errors.Is(endErr, chat.ErrStaleRun) {
			t.Fatal(endErr)
		}
		took := slices.ContainsFunc(jobs, func(j chat.StoredGeneration) bool { return j.Answer.ID == begun.Answer.ID })
		if ended := endErr == nil; ended == took {
			t.Fatalf("ended: %v, taken over: %v", ended, took)
		}
	}
}

func TestRenewReportsLostAndStopped(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server, other := newID(), newID()
	f.renew(t, server)
	begin := func() chat.StoredGeneration {
		begun := must.Get(f.BeginGeneration(t.Context(), question(f.ann, f.thread(t, f.ann).ID, server)))(t)
		return begun
	}
	own, stopped, ended, deleted, foreign := begin(), begin(), begin(), begin(), begin()
	must.Get(f.RequestStop(t.Context(), f.ann, stopped.Answer.ID))(t)
	must.Succeed(t, f.end(t, outcome(f.ann, ended, server, "済み")))
	must.Get(f.DeleteThread(t.Context(), f.ann, deleted.Answer.ThreadID))(t)
	f.exec(t, `UPDATE generations SET server_id = $2, run = 2 WHERE message_id = $1`, foreign.Answer.ID, other)
	var held []chat.RunID
	for _, b := range []chat.StoredGeneration{own, stopped, ended, deleted, foreign} {
		held = append(held, chat.RunID{MessageID: b.Answer.ID, Run: 1})
	}
	renewal := f.renew(t, server, held...)
	lost := map[uuid.UUID]bool{}
	for _, id := range renewal.Lost {
		lost[id] = true
	}
	if len(lost) != 3 || !lost[ended.Answer.ID] || !lost[deleted.Answer.ID] || !lost[foreign.Answer.ID] {
		t.Errorf("lost: %v", renewal.Lost)
	}
	if !slices.Equal(renewal.Stopped, []uuid.UUID{stopped.Answer.ID}) {
		t.Errorf("stopped: %v", renewal.Stopped)
	}

	// Runs that other servers mirror: the title and the end event of a run that has just ended may not be published
	// yet.
	over := func(ago time.Duration) map[uuid.UUID]bool {
		runs := must.Get(f.EndedRuns(t.Context(), held, ago))(t)
		found := map[uuid.UUID]bool{}
		for _, run := range runs {
			found[run.MessageID] = run.Run == 1
		}
		return found
	}
	if got := over(time.Hour); len(got) != 2 || !got[deleted.Answer.ID] || !got[foreign.Answer.ID] {
		t.Errorf("over: %v", got)
	}
	if got := over(0); len(got) != 3 || !got[ended.Answer.ID] {
		t.Errorf("over at once: %v", got)
	}
}

// TestLeaseIsRenewedWhileEveryConnectionIsTaken: a server that uses all connections of the pool can still renew its
// lease and is not considered dead.
func TestLeaseIsRenewedWhileEveryConnectionIsTaken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := newID()
	release := must.Get(f.Occupy(t.Context()))(t)
	defer release()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if _, err := f.Renew(ctx, server, nil); err != nil {
		t.Errorf("renewing: %v", err)
	}
	if err := f.RemoveServer(ctx, server); err != nil {
		t.Errorf("leaving: %v", err)
	}
	if err := f.Ping(ctx); err != nil {
		t.Errorf("a busy server is not ready: %v", err)
	}
	over, end := context.WithTimeout(ctx, time.Millisecond)
	defer end()
	if _, err := f.ListThreads(over, f.ann, chat.ThreadFilter{}, 0, 1); fault.CodeOf(err) != fault.Unavailable ||
		!strings.Contains(fault.DetailOf(err), "混み合って") {
		t.Errorf("a call that finds no connection: %v", err)
	}
}

// TestR20_RenewalRacesTakeOver: a server that was silent for longer than its lease renews it while another server takes
// over. The renewal reports exactly the generations that were taken over, whether or not the server has a row.
func TestR20_RenewalRacesTakeOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	taken := 0
	for i := range 60 {
		slow, other := newID(), newID()
		if i%2 == 0 {
			f.renew(t, slow)
			f.silence(t, slow, lease+time.Second)
		}
		begun := must.Get(f.BeginGeneration(t.Context(), question(f.ann, f.thread(t, f.ann).ID, slow)))(t)
		held := chat.RunID{MessageID: begun.Answer.ID, Run: 1}
		var wg sync.WaitGroup
		var renewal chat.Renewal
		var jobs []chat.StoredGeneration
		var renewErr, takeErr error
		renew := func() { renewal, renewErr = f.Renew(t.Context(), slow, []chat.RunID{held}) }
		take := func() { jobs, takeErr = f.TakeOver(t.Context(), other, nil, lease, 100, 0) }
		if i%4 < 2 {
			renew, take = take, renew
		}
		wg.Go(renew)
		wg.Go(take)
		wg.Wait()
		must.Succeed(t, renewErr)
		must.Succeed(t, takeErr)
		took := slices.ContainsFunc(jobs, func(j chat.StoredGeneration) bool { return j.Answer.ID == begun.Answer.ID })
		if lost := len(renewal.Lost) > 0; lost != took {
			t.Fatalf("taken over: %v, lost: %v", took, lost)
		}
		if took {
			taken++
		}
		must.Succeed(t, f.RemoveServer(t.Context(), slow))
		f.exec(t, `UPDATE generations SET ended_at = now() WHERE message_id = $1`, begun.Answer.ID)
	}
	t.Logf("%d of 60 were taken over", taken)
}

// TestUnstorableOutcomesAreReported: the database refuses an outcome because of its content.
func TestUnstorableOutcomesAreReported(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := newID()
	begun := must.Get(f.BeginGeneration(t.Context(), question(f.ann, f.thread(t, f.ann).ID, server)))(t)
	if begun.Thread.ID != begun.Answer.ThreadID || !begun.Thread.Running || begun.Thread.SkillName == "" {
		t.Errorf("its thread: %+v", begun.Thread)
	}
	o := outcome(f.ann, begun, server, "回答")
	o.Proofread = &proofread.Result{Text: strings.Repeat("あ", 6<<20)}
	wantCode(t, f.end(t, o), fault.Invalid)
	must.Succeed(t, f.end(t, outcome(f.ann, begun, server, "回答")))
}
