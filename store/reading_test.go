package store_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func (f *fixture) next(t *testing.T, lease time.Duration) datasource.Reading {
	t.Helper()
	reading, found, err := f.ClaimReading(t.Context(), false, lease)
	must.Succeed(t, err)
	if !found {
		t.Fatal("nothing waits")
	}
	return reading
}

func (f *fixture) nothingWaits(t *testing.T) {
	t.Helper()
	if reading, found, err := f.ClaimReading(t.Context(), false, time.Hour); err != nil || found {
		t.Errorf("%+v waits, %v", reading, err)
	}
}

// endReading ends a reading.
func (f *fixture) endReading(t *testing.T, reading datasource.Reading) {
	t.Helper()
	must.Get(f.FinishReading(t.Context(), reading, datasource.ReadingResult{Failure: "読めません。"}))(t)
}

// TestUserWithFewestReadingsIsNext: the user with the fewest readings is next, however many files others have uploaded
// before.
func TestUserWithFewestReadingsIsNext(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ann, bob, mallory := f.ann, f.bob, f.mallory
	var files []uuid.UUID
	for i := range 5 {
		files = append(files, f.source(t, ann, fmt.Sprint(i)).ID)
	}
	first := f.next(t, time.Hour)
	f.source(t, bob, "一つ目")
	f.source(t, bob, "二つ目")
	f.source(t, mallory, "一つ目")
	second, third := f.next(t, time.Hour), f.next(t, time.Hour)
	if first.Owner != ann || first.ID != files[0] || second.Owner != bob || third.Owner != mallory {
		t.Errorf("began with %+v, %+v, %+v", first.Owner, second.Owner, third.Owner)
	}
	// With equal numbers, the user who was served least recently is next.
	if next := f.next(t, time.Hour); next.Owner != ann || next.ID != files[1] {
		t.Errorf("then %+v", next)
	}
	f.endReading(t, second)
	if next := f.next(t, time.Hour); next.Owner != bob {
		t.Errorf("bob has none, and next is %+v", next)
	}
	var rest []uuid.UUID
	for range 3 {
		rest = append(rest, f.next(t, time.Hour).ID)
	}
	if !slices.Equal(rest, files[2:]) {
		t.Errorf("the rest is %v, want %v", rest, files[2:])
	}
	f.nothingWaits(t)
}

// TestSingleFileIsReadBeforeAHundredOfAnotherUser: a single file is next although another user has uploaded a hundred
// files before it.
func TestSingleFileIsReadBeforeAHundredOfAnotherUser(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ann, bob := f.ann, f.bob
	for i := range 100 {
		f.source(t, ann, fmt.Sprint(i))
	}
	running := []datasource.Reading{f.next(t, time.Hour), f.next(t, time.Hour)}
	f.endReading(t, running[0])
	file := f.source(t, bob, "一つ")
	if next := f.next(t, time.Hour); next.ID != file.ID {
		t.Errorf("next is %+v", next)
	}
	// Files of removed users come last.
	f.exec(t, `UPDATE data_sources SET user_id = NULL WHERE user_id = $1`, ann.UserID)
	f.source(t, bob, "二つ")
	f.source(t, f.mallory, "一つ")
	owners := []uuid.UUID{f.next(t, time.Hour).Owner.UserID, f.next(t, time.Hour).Owner.UserID}
	if want := []uuid.UUID{f.mallory.UserID, bob.UserID}; !slices.Equal(owners, want) {
		t.Errorf("next are files of %v, want %v", owners, want)
	}
	if next := f.next(t, time.Hour); next.Owner.UserID != uuid.Nil {
		t.Errorf("then %+v", next)
	}
}

// TestServersTakeEachReadingOnce: concurrent servers begin each reading once, in a fair order.
func TestServersTakeEachReadingOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 8 {
		f.source(t, f.ann, fmt.Sprint(i))
	}
	for i := range 2 {
		f.source(t, f.bob, fmt.Sprint(i))
	}
	var mu sync.Mutex
	taken := make(map[uuid.UUID]int)
	owners := make(map[uuid.UUID]int)
	var servers sync.WaitGroup
	for range 4 {
		servers.Go(func() {
			reading, found, err := f.ClaimReading(t.Context(), false, time.Hour)
			if err != nil || !found {
				t.Errorf("found %v, %v", found, err)
			}
			mu.Lock()
			defer mu.Unlock()
			taken[reading.ID]++
			owners[reading.Owner.UserID]++
		})
	}
	servers.Wait()
	if len(taken) != 4 || owners[f.ann.UserID] != 2 || owners[f.bob.UserID] != 2 {
		t.Errorf("taken %v, of %v", taken, owners)
	}
}

// TestReadingOfASilentServerIsTakenOver: only the readings of a server that does not renew its lease are taken over.
func TestReadingOfASilentServerIsTakenOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.source(t, f.ann, "本文")
	held := f.next(t, time.Hour)
	f.nothingWaits(t)
	lost, err := f.RenewReadings(t.Context(), []datasource.Reading{held}, -time.Second)
	must.Succeed(t, err)
	if len(lost) != 0 {
		t.Errorf("lost %v", lost)
	}
	next := f.next(t, time.Hour)
	if next.ID != held.ID || next.Attempt != 2 || next.Revision <= held.Revision {
		t.Errorf("taken over as %+v", next)
	}
	if lost, err = f.RenewReadings(t.Context(), []datasource.Reading{held}, time.Hour); err != nil ||
		!slices.Equal(lost, []uuid.UUID{held.ID}) {
		t.Errorf("the one that was silent lost %v, %v", lost, err)
	}
	if lost, err = f.RenewReadings(t.Context(), []datasource.Reading{next}, time.Hour); err != nil || len(lost) != 0 {
		t.Errorf("the next one lost %v, %v", lost, err)
	}
	f.nothingWaits(t)
}

// TestInterruptedReadingIsMarkedSlow: a reading that was interrupted for others waits for a slot for slow files. The
// interruption does not count as an attempt.
func TestInterruptedReadingIsMarkedSlow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.source(t, f.ann, "とても長い本文")
	slow := f.next(t, time.Hour)
	waits := func(want bool) {
		t.Helper()
		if got, err := f.HasWaitingReading(t.Context()); err != nil || got != want {
			t.Errorf("a user waits: %v, %v", got, err)
		}
	}
	waits(false)
	f.source(t, f.ann, "もう一つ")
	waits(false) // Their other reading is running.
	f.source(t, f.bob, "短い本文")
	waits(true)
	back := must.Get(f.RequeueReading(t.Context(), slow, datasource.RequeueOptions{Slow: true}))(t)
	if back.Status != datasource.Pending || back.Revision <= slow.Revision {
		t.Errorf("put back as %+v", back)
	}
	for range 2 {
		reading, found, err := f.ClaimReading(t.Context(), true, time.Hour)
		if err != nil || !found || reading.ID == slow.ID {
			t.Fatalf("the next quick one is %+v, %v, %v", reading, found, err)
		}
	}
	if reading, found, err := f.ClaimReading(t.Context(), true, time.Hour); err != nil || found {
		t.Errorf("as quick counts %+v, %v", reading, err)
	}
	waits(false)
	if again := f.next(t, time.Hour); again.ID != slow.ID || !again.Slow || again.Attempt != 1 {
		t.Errorf("again %+v", again)
	}
}

func TestFailedReadingIsRetriedWhenDue(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.source(t, f.ann, "本文")
	_, err := f.RequeueReading(t.Context(), f.next(t, time.Hour), datasource.RequeueOptions{After: time.Hour, CountAttempt: true})
	must.Succeed(t, err)
	f.nothingWaits(t)
	f.exec(t, `UPDATE data_sources SET read_after = now()`)
	if again := f.next(t, time.Hour); again.Attempt != 2 {
		t.Errorf("again %+v", again)
	}
}

// TestProgressIsOfTheLastReading: progress increments the revision and is cleared when the reading ends.
func TestProgressIsOfTheLastReading(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.source(t, f.ann, "本文")
	silent := f.next(t, 0)
	held := f.next(t, time.Hour)
	told, err := f.ReportProgress(t.Context(), held, datasource.StageReading, 120, 1000)
	must.Succeed(t, err)
	if told.Stage != datasource.StageReading || told.Done != 120 || told.Total != 1000 ||
		told.Revision <= held.Revision {
		t.Errorf("notified of %+v", told)
	}
	_, err = f.ReportProgress(t.Context(), silent, datasource.StageReading, 1, 1)
	wantCode(t, err, fault.NotFound)
	if lost, err := f.RenewReadings(t.Context(), []datasource.Reading{held}, time.Hour); err != nil || len(lost) != 0 {
		t.Errorf("lost %v, %v", lost, err)
	}
	ended := must.Get(f.FinishReading(t.Context(), held, datasource.ReadingResult{PageCount: 1}))(t)
	if ended.Stage != "" || ended.Revision <= told.Revision {
		t.Errorf("ended as %+v", ended)
	}
}

// TestStoppedReadingStoresNothing: a stopped reading stores no result and can be started again.
func TestStoppedReadingStoresNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ann, bob := f.ann, f.bob
	source := f.source(t, ann, "本文")
	held := f.next(t, time.Hour)
	_, err := f.StopReading(t.Context(), bob, source.ID, "中止")
	wantCode(t, err, fault.NotFound)
	stopped := must.Get(f.StopReading(t.Context(), ann, source.ID, "中止"))(t)
	if stopped.Status != datasource.Failed || stopped.Failure != "中止" || stopped.Revision <= held.Revision {
		t.Errorf("stopped as %+v", stopped)
	}
	if lost, err := f.RenewReadings(t.Context(), []datasource.Reading{held}, time.Hour); err != nil ||
		!slices.Equal(lost, []uuid.UUID{source.ID}) {
		t.Errorf("lost %v, %v", lost, err)
	}
	_, err = f.FinishReading(t.Context(), held, datasource.ReadingResult{PageCount: 1})
	wantCode(t, err, fault.NotFound)
	_, err = f.StopReading(t.Context(), ann, source.ID, "中止")
	wantCode(t, err, fault.Conflict)
	f.nothingWaits(t)

	_, err = f.RetryReading(t.Context(), bob, source.ID)
	wantCode(t, err, fault.NotFound)
	again := must.Get(f.RetryReading(t.Context(), ann, source.ID))(t)
	if again.Status != datasource.Pending || again.Failure != "" {
		t.Errorf("again as %+v", again)
	}
	next := f.next(t, time.Hour)
	if next.ID != source.ID || next.Attempt != 1 {
		t.Errorf("next is %+v", next)
	}
	if same, err := f.RetryReading(t.Context(), ann, source.ID); err != nil || same.Status != datasource.Running {
		t.Errorf("one that is read: %+v, %v", same, err)
	}
	must.Get(f.FinishReading(t.Context(), next, datasource.ReadingResult{PageCount: 1}))(t)
	_, err = f.RetryReading(t.Context(), ann, source.ID)
	wantCode(t, err, fault.Conflict)
}

// TestStorageLimits checks the limits of a user and of an organization.
func TestStorageLimits(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ann := f.ann
	create := func(text string, limit int64) error {
		s := newSource(text)
		must.Succeed(t, f.MarkOrphan(t.Context(), s.ID, time.Hour))
		_, _, err := f.CreateSource(t.Context(), ann, uuid.Nil, s, limit)
		return err
	}
	must.Succeed(t, create("0123456789", 15))
	wantCode(t, create("abcdefghij", 15), fault.StorageLimit)
	must.Succeed(t, create("abcde", 15))
}

// TestUploadsAtOnceKeepTheLimitOfTheOrganization: concurrent uploads of two users are accepted until the organization's
// limit is reached.
func TestUploadsAtOnceKeepTheLimitOfTheOrganization(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.exec(t, `UPDATE contracts SET storage = 35 WHERE organization_id = $1`, f.ann.OrganizationID)
	var taken, refused atomic.Int32
	var uploads sync.WaitGroup
	for i := range 8 {
		owner := []identity.Owner{f.ann, f.bob}[i%2]
		s := newSource(fmt.Sprintf("0123456789%d", i)[1:])
		must.Succeed(t, f.MarkOrphan(t.Context(), s.ID, time.Hour))
		uploads.Go(func() {
			_, _, err := f.CreateSource(t.Context(), owner, uuid.Nil, s, 1<<40)
			switch {
			case err == nil:
				taken.Add(1)
			case fault.CodeOf(err) == fault.StorageLimit:
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	uploads.Wait()
	if taken.Load() != 3 || refused.Load() != 5 {
		t.Errorf("%d files were taken, %d refused", taken.Load(), refused.Load())
	}
}
