package picture_test

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/picture"
	"github.com/tsumugi-ai/tsumugi/internal/picture/picturetest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// fullStore is a Store that refuses every picture because of the storage limit.
type fullStore struct {
	picture.Store

	orphans map[uuid.UUID]time.Duration
}

func (s fullStore) MarkOrphan(_ context.Context, id uuid.UUID, after time.Duration) error {
	s.orphans[id] = after
	return nil
}

func (fullStore) CreatePicture(context.Context, identity.Owner, uuid.UUID, *uuid.UUID, picture.Picture, int64) (
	picture.Picture, bool, error,
) {
	return picture.Picture{}, false, fault.Errorf(fault.StorageLimit, "保存できるファイルの合計を超えます。")
}

// writtenFiles are the ids of written files.
type writtenFiles struct {
	picture.Files

	ids []uuid.UUID
}

func (f *writtenFiles) Write(_ context.Context, id uuid.UUID, content io.Reader) error {
	f.ids = append(f.ids, id)
	_, err := io.Copy(io.Discard, content)
	return err
}

func TestFileOfARefusedPictureIsRemovedAtOnce(t *testing.T) {
	t.Parallel()
	var content bytes.Buffer
	must.Succeed(t, png.Encode(&content, image.NewGray(image.Rect(0, 0, 4, 4))))
	store, files := fullStore{orphans: make(map[uuid.UUID]time.Duration)}, new(writtenFiles)
	service := picture.NewService(store, files, picturetest.Read, slog.New(slog.DiscardHandler), 1)
	_, _, err := service.Upload(t.Context(), identity.Owner{}, uuid.Nil, nil, &content)
	if fault.CodeOf(err) != fault.StorageLimit || len(files.ids) != 1 {
		t.Fatalf("error %v, %d files", err, len(files.ids))
	}
	after, found := store.orphans[files.ids[0]]
	if !found || after != 0 || len(store.orphans) != 1 {
		t.Errorf("orphans %v, want the file %s at once", store.orphans, files.ids[0])
	}
}
