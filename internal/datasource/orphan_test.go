package datasource_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/extracttest"
)

// lockedFiles has orphans, listed two at a time, of which the first one cannot be removed from the bucket.
type lockedFiles struct {
	*queue
	orphans  []uuid.UUID
	locked   uuid.UUID
	attempts int
}

func (f *lockedFiles) ListOrphans(context.Context) ([]uuid.UUID, error) {
	return slices.Clone(f.orphans[:min(2, len(f.orphans))]), nil
}

func (f *lockedFiles) DeleteOrphan(_ context.Context, id uuid.UUID) error {
	f.orphans = slices.DeleteFunc(f.orphans, func(o uuid.UUID) bool { return o == id })
	return nil
}

func (f *lockedFiles) Remove(_ context.Context, id uuid.UUID) error {
	if id == f.locked {
		f.attempts++
		return errors.New("access denied")
	}
	return nil
}

func (f *lockedFiles) Write(context.Context, uuid.UUID, io.Reader) error { return nil }

// TestFileThatCannotBeRemovedDoesNotStopOthers: a file that the bucket does not remove, such as one with a legal hold,
// does not keep the others from being removed. It is tried again by the next sweep.
func TestFileThatCannotBeRemovedDoesNotStopOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &lockedFiles{queue: newQueue(), orphans: []uuid.UUID{uuid.New(), uuid.New(), uuid.New(), uuid.New()}}
		f.locked = f.orphans[0]
		s := datasource.NewService(f, f, extracttest.InProcess{}, nil, slog.New(slog.DiscardHandler), datasource.Config{})
		s.Start()
		synctest.Wait()
		s.Stop()
		if !slices.Equal(f.orphans, []uuid.UUID{f.locked}) || f.attempts != 1 {
			t.Errorf("%d files are left, %d attempts", len(f.orphans), f.attempts)
		}
	})
}
