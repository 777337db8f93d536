package datasource_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/extracttest"
	"github.com/tsumugi-ai/tsumugi/internal/work"
)

// lockedFiles is a store and bucket with orphaned files. ListOrphans returns two at a time. Removing a locked file fails.
type lockedFiles struct {
	*queue
	orphans  []uuid.UUID
	locked   []uuid.UUID
	delay    time.Duration // Until Remove fails.
	attempts int
}

func (f *lockedFiles) ListOrphans(ctx context.Context, after uuid.UUID) ([]uuid.UUID, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	later := slices.DeleteFunc(slices.Clone(f.orphans), func(o uuid.UUID) bool {
		return bytes.Compare(o[:], after[:]) <= 0
	})
	return later[:min(2, len(later))], nil
}

func (f *lockedFiles) DeleteOrphan(_ context.Context, id uuid.UUID) error {
	f.orphans = slices.DeleteFunc(f.orphans, func(o uuid.UUID) bool { return o == id })
	return nil
}

func (f *lockedFiles) Remove(ctx context.Context, id uuid.UUID) error {
	if slices.Contains(f.locked, id) {
		f.attempts++
		work.Sleep(ctx, f.delay)
		return errors.New("access denied")
	}
	return nil
}

func (f *lockedFiles) Write(context.Context, uuid.UUID, io.Reader) error { return nil }

// TestFilesThatCannotBeRemovedDoNotStopOthers: files that the bucket does not remove, such as those with a legal hold, do
// not keep the others from being removed, even if they fill a batch. They are tried again by the next sweep.
func TestFilesThatCannotBeRemovedDoNotStopOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &lockedFiles{queue: newQueue(), orphans: []uuid.UUID{{1}, {2}, {3}, {4}, {5}}}
		f.locked = slices.Clone(f.orphans[:2])
		s := datasource.NewService(f, f, extracttest.InProcess{}, slog.New(slog.DiscardHandler), datasource.Config{})
		s.Start()
		synctest.Wait()
		s.Stop()
		if !slices.Equal(f.orphans, f.locked) || f.attempts != 2 {
			t.Errorf("%d files are left, %d attempts", len(f.orphans), f.attempts)
		}
	})
}

// TestFilesThatAreSlowlyRefusedDoNotStopOthers: the refusals take longer than a sweep. The next sweeps continue.
func TestFilesThatAreSlowlyRefusedDoNotStopOthers(t *testing.T) {
	t.Parallel()
	for name, delay := range map[string]time.Duration{"some in a sweep": 11 * time.Second, "none in a sweep": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &lockedFiles{queue: newQueue(), orphans: []uuid.UUID{{1}, {2}, {3}, {4}, {5}, {6}, {7}}, delay: delay}
				f.locked = slices.Clone(f.orphans[:6])
				s := datasource.NewService(f, f, extracttest.InProcess{}, slog.New(slog.DiscardHandler), datasource.Config{})
				s.Start()
				time.Sleep(10 * time.Minute)
				s.Stop()
				if !slices.Equal(f.orphans, f.locked) || f.attempts < 8 {
					t.Errorf("%d files are left, %d attempts", len(f.orphans), f.attempts)
				}
			})
		})
	}
}
