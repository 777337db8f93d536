package picture

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/picture/raster"
	"github.com/tsumugi-ai/tsumugi/internal/timeout"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
	"github.com/tsumugi-ai/tsumugi/internal/work"
)

// Limits for reading pictures on this server, while people wait. They bound the memory of the server, which holds each
// uploaded picture, and of the processes that read them, which may each use their full memory limit.
const (
	maxUploads  = 8 // Concurrent uploads.
	maxReaders  = 2 // Concurrent readers.
	slotTimeout = 20 * time.Second
	readTime    = 70 * time.Second // The reader gives its own error after one minute, except on a busy machine.
)

const (
	orphanAfter   = time.Hour // A file without a picture becomes an orphan after this time.
	unusedAfter   = 24 * time.Hour
	sweepInterval = 10 * time.Minute
	sweepTimeout  = 30 * time.Second
	sweepBatch    = 100
)

// ErrNoPicture is the error for a picture that does not exist or belongs to another person.
var ErrNoPicture = fault.Errorf(fault.NotFound, "画像が見つかりません。もう一度追加してください。")

var errBusy = fault.Errorf(fault.Unavailable, "画像の読み取りが混み合っています。少し時間をおいて、もう一度お試しください。")

// Service stores pictures. It is safe for concurrent use.
type Service struct {
	store Store
	files Files
	read  func(context.Context, io.Reader) (raster.Picture, error)
	limit int64 // The largest total size of a person's files, in bytes.

	uploadSlots chan struct{} // Holds a value for each upload in progress.
	readSlots   chan struct{} // Holds a value for each picture being read.
	group       *work.Group
}

// NewService returns a Service. read is the method of a Reader. limit is the largest total size of a person's files in
// bytes, including data sources.
func NewService(store Store, files Files, read func(context.Context, io.Reader) (raster.Picture, error),
	log *slog.Logger, limit int64,
) *Service {
	return &Service{
		store: store, files: files, read: read, limit: limit,
		uploadSlots: make(chan struct{}, maxUploads), readSlots: make(chan struct{}, maxReaders),
		group: work.NewGroup(log),
	}
}

// Start starts the removal of unused pictures. Every server runs it, so that no leader is necessary. Call it once, and
// call Stop afterwards.
func (s *Service) Start() {
	s.group.Every(sweepInterval, nil, s.removeUnused, "picture: removal of unused pictures failed, retrying")
}

// Stop stops the goroutine of Start and waits for it.
func (s *Service) Stop() { s.group.Stop() }

// Upload reads a picture and stores it. requestID makes the call idempotent; it may be nil. An unreadable picture
// returns an error with the code fault.UnsupportedType, fault.TooLarge or fault.Invalid and a text that helps the
// person. The code is fault.StorageLimit or fault.StorageFull if there is no space, and fault.Unavailable if too many
// pictures are being read. Upload returns an error of content unchanged.
func (s *Service) Upload(ctx context.Context, owner identity.Owner, session uuid.UUID, requestID *uuid.UUID,
	content io.Reader,
) (_ Picture, created bool, _ error) {
	read, err := s.receive(ctx, content)
	if err != nil {
		return Picture{}, false, err
	}
	p := Picture{
		ID: uuidv7.New(), Width: read.Width, Height: read.Height, MediaType: read.MediaType,
		Size: int64(len(read.Full)), ThumbnailSize: int64(len(read.Thumbnail)),
	}
	file := p.ID
	if err := s.markOrphan(ctx, file, orphanAfter); err != nil {
		return Picture{}, false, err
	}
	err = s.files.Write(ctx, file, io.MultiReader(bytes.NewReader(read.Thumbnail), bytes.NewReader(read.Full)))
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, timeout.Store)
		defer cancel()
		p, created, err = s.store.CreatePicture(ctx, owner, session, requestID, p, s.limit)
	}
	if err != nil { // The file is removed soon, or after orphanAfter if the database is unavailable.
		_ = s.markOrphan(context.WithoutCancel(ctx), file, 0)
		return Picture{}, false, err
	}
	return p, created, nil
}

func (s *Service) markOrphan(ctx context.Context, id uuid.UUID, after time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout.Store)
	defer cancel()
	return s.store.MarkOrphan(ctx, id, after)
}

// receive reads an uploaded picture and returns it in the stored form.
func (s *Service) receive(ctx context.Context, content io.Reader) (raster.Picture, error) {
	leave, err := enter(ctx, s.uploadSlots)
	if err != nil {
		return raster.Picture{}, err
	}
	defer leave()
	file, err := io.ReadAll(io.LimitReader(content, raster.MaxSize+1))
	switch {
	case err != nil:
		return raster.Picture{}, err
	case len(file) == 0:
		return raster.Picture{}, fault.EmptyFile()
	case len(file) > raster.MaxSize:
		return raster.Picture{}, fault.OversizedFile("画像が大きすぎます。%d MB以下の画像を追加してください。", raster.MaxSize)
	}
	done, err := enter(ctx, s.readSlots)
	if err != nil {
		return raster.Picture{}, err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	read, err := s.read(ctx, bytes.NewReader(file))
	if errors.Is(err, context.DeadlineExceeded) {
		err = errBusy
	}
	if wrong, ok := errors.AsType[*fault.UnreadableError](err); ok {
		err = wrong.Refusal()
	}
	return read, err
}

// enter waits until places has capacity, at most for patience.
func enter(ctx context.Context, places chan struct{}) (leave func(), _ error) {
	tooLong := time.NewTimer(slotTimeout)
	defer tooLong.Stop()
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-tooLong.C:
		return nil, errBusy
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Find returns a person's pictures in the order of ids. It returns fault.NotFound if one is missing.
func (s *Service) Find(ctx context.Context, owner identity.Owner, ids []uuid.UUID) ([]Picture, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout.Store)
	defer cancel()
	return s.store.FindPictures(ctx, owner, ids)
}

// FindReadable returns a picture that the reader may see: their own, or one of a shared thread.
func (s *Service) FindReadable(ctx context.Context, reader identity.Owner, id uuid.UUID) (Picture, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout.Store)
	defer cancel()
	return s.store.FindReadablePicture(ctx, reader, id)
}

// Form is one of the two forms of a picture.
type Form string

// The forms of a picture.
const (
	Full      Form = "full"
	Thumbnail Form = "thumbnail"
)

// Open returns a picture that the reader may see, and one of its forms. The caller must close the reader.
func (s *Service) Open(
	ctx context.Context, owner identity.Owner, id uuid.UUID, form Form,
) (Picture, io.ReadCloser, error) {
	p, err := s.FindReadable(ctx, owner, id)
	if err != nil {
		return Picture{}, nil, err
	}
	file, err := s.files.Open(ctx, id)
	if err != nil {
		return Picture{}, nil, err
	}
	if form == Thumbnail {
		return p, part{io.LimitReader(file, p.ThumbnailSize), file}, nil
	}
	if _, err := io.CopyN(io.Discard, file, p.ThumbnailSize); err != nil {
		return Picture{}, nil, errors.Join(err, file.Close())
	}
	return p, part{io.LimitReader(file, p.Size), file}, nil
}

// part is a section of a file.
type part struct {
	io.Reader
	io.Closer
}

// Load returns the full form of a picture.
func (s *Service) Load(ctx context.Context, owner identity.Owner, id uuid.UUID) ([]byte, error) {
	p, file, err := s.Open(ctx, owner, id, Full)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	content := make([]byte, p.Size)
	_, err = io.ReadFull(file, content)
	return content, err
}

// Delete removes an unused picture. It returns fault.Conflict if a question contains it.
func (s *Service) Delete(ctx context.Context, owner identity.Owner, id uuid.UUID) error {
	ctx, cancel := context.WithTimeout(ctx, timeout.Store)
	defer cancel()
	return s.store.DeletePicture(ctx, owner, id)
}

// removeUnused removes unused pictures in batches.
func (s *Service) removeUnused(ctx context.Context) error {
	for {
		batch, cancel := context.WithTimeout(ctx, sweepTimeout)
		n, err := s.store.DeleteUnused(batch, unusedAfter, sweepBatch)
		cancel()
		if err != nil || n < sweepBatch {
			return err
		}
	}
}
