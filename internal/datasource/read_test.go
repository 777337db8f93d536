package datasource_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/extracttest"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/store"
)

// TestEachFileIsReadByOneServer runs two servers that share the queue.
func TestEachFileIsReadByOneServer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	db, err := store.Open(t.Context(), f.dsn)
	f.must(err)
	t.Cleanup(db.Close)
	f.start(f.Service)
	other := f.service(db)
	f.start(other)
	const n = 20
	for i := range n {
		f.upload(f.ann, "a.txt", strings.Repeat("あ", i+1))
	}
	count := func(all []told, status datasource.Status) (n int) {
		for _, event := range all {
			if event.source.Status == status {
				n++
			}
		}
		return n
	}
	all := f.await(func(all []told) bool { return count(all, datasource.Success) == n })
	if running := count(all, datasource.Running); running != n {
		t.Errorf("%d readings of %d files", running, n)
	}
	if read := f.Stats().Read + other.Stats().Read; read != n {
		t.Errorf("the statistics have %d readings of %d files", read, n)
	}
}

func TestFailedReadingIsRetried(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	source, _ := f.upload(f.ann, "a.txt", "消えるファイル")
	f.must(os.Remove(filepath.Join(f.dir, "data-source", source.ID.String())))
	f.start(f.Service)
	all := f.ended(source)
	if last := all[len(all)-1]; last.Status != datasource.Failed || !strings.Contains(last.Failure, "管理者") ||
		len(all) != 1+2*5 {
		t.Errorf("events %v, ended as %+v", statuses(all), last)
	}
	if got := f.Stats(); got != (datasource.Stats{Unreadable: 1, Interrupted: 4}) {
		t.Errorf("statistics %+v", got)
	}
}

// TestFileThatCrashesServersFails verifies that the sixth attempt does not read the file.
func TestFileThatCrashesServersFails(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	source, _ := f.upload(f.ann, "a.txt", "読めるはずのファイル")
	for range 5 {
		_, found, err := f.db.ClaimReading(t.Context(), false, 0) // Then the server dies.
		if f.must(err); !found {
			t.Fatal("nothing waits")
		}
	}
	f.start(f.Service)
	all := f.ended(source)
	if last := all[len(all)-1]; last.Status != datasource.Failed || last.Failure == "" {
		t.Errorf("ended as %+v", last)
	}
}

// unprepared is an extractor whose Prepare blocks until the test closes prepared.
type unprepared struct {
	extracttest.InProcess
	limited  chan bool // Receives for each blocked call whether its context has a deadline.
	prepared chan struct{}
}

func (u unprepared) Prepare(ctx context.Context, _ string) error {
	_, limited := ctx.Deadline()
	select {
	case u.limited <- limited:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-u.prepared:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestPreparingDoesNotCountForAFile verifies that compilation starts with the service and that no time limit includes
// it.
func TestPreparingDoesNotCountForAFile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	e := unprepared{limited: make(chan bool), prepared: make(chan struct{})}
	s := f.serviceReading(f.db, e, datasource.Config{
		Poll: 20 * time.Millisecond,
	})
	wait := func(what string) {
		t.Helper()
		if <-e.limited {
			t.Errorf("%s waits with a time limit", what)
		}
	}
	f.start(s)
	wait("the service")
	source, _ := f.upload(f.ann, "規程.pdf", "本文")
	wait("a reading")
	passing := make(chan error, 1)
	go func() {
		_, err := s.ReadTransient(t.Context(), strings.NewReader("本文"))
		passing <- err
	}()
	wait("a page of the browser")
	close(e.prepared)
	f.must(<-passing)
	all := f.ended(source)
	if last := all[len(all)-1]; last.Status != datasource.Success {
		t.Errorf("ended as %+v", last)
	}
	go func() {
		_, err := s.RenderPage(t.Context(), f.ann, source.ID, 1, 400)
		passing <- err
	}()
	wait("a page to look at")
	f.must(<-passing)
}

// slowly is an extractor that waits for the test before each page.
type slowly struct {
	extracttest.InProcess
	read chan struct{} // Receives a value for each page.
}

func (s slowly) Extract(ctx context.Context, _ string, _ io.Reader, page func(extract.Page, int) error) error {
	for i := range 3 {
		select {
		case s.read <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := page(extract.Page{Number: i + 1, Text: "本文"}, 3); err != nil {
			return err
		}
	}
	return nil
}

// TestProgressStopAndReadAgain verifies that a reading reports its progress, ends when it is stopped, and starts again.
func TestProgressStopAndReadAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	pages := slowly{read: make(chan struct{})}
	s := f.serviceReading(f.db, pages, datasource.Config{
		Poll: 20 * time.Millisecond, ProgressInterval: time.Nanosecond,
	})
	f.start(s)
	source, _ := f.upload(f.ann, "a.txt", "本文")
	at := func(status datasource.Status, done int) {
		f.await(func(all []told) bool {
			return slices.ContainsFunc(all, func(e told) bool {
				return e.source.ID == source.ID && e.source.Status == status && e.source.Done == done
			})
		})
	}
	<-pages.read
	at(datasource.Running, 1)
	<-pages.read
	at(datasource.Running, 2)
	_, err := s.StopReading(t.Context(), f.bob, source.ID)
	if fault.CodeOf(err) != fault.NotFound {
		t.Errorf("somebody else stops it: %v", err)
	}
	stopped, err := s.StopReading(t.Context(), f.ann, source.ID)
	f.must(err)
	if stopped.Status != datasource.Failed || !strings.Contains(stopped.Failure, "やり直す") {
		t.Errorf("stopped as %+v", stopped)
	}
	_, err = s.RetryReading(t.Context(), f.ann, source.ID)
	f.must(err)
	for range 3 {
		<-pages.read
	}
	f.await(func(all []told) bool {
		return slices.ContainsFunc(all, func(e told) bool {
			return e.source.Status == datasource.Success &&
				e.source.PageCount == 3
		})
	})
}
