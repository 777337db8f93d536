package datasource

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Codes that only uploads have.
const (
	UnsupportedType fault.Code = "unsupported_media_type" // Nothing here reads files of this kind.
	StorageFull     fault.Code = "storage_full"           // There is no room for the file.
)

const (
	uploadPatience = time.Hour // After it a file that is no data source's is loose. No upload takes so long.
	sweepInterval  = time.Minute
	sweepTimeout   = 30 * time.Second
	storeTimeout   = 5 * time.Second // For the database, while a person waits.
)

// Service keeps data sources. It is safe for concurrent use.
type Service struct {
	store  Store
	files  *blob.Bucket
	events Events
	log    *slog.Logger

	loose   chan struct{}      // Holds a value while there may be a file to remove.
	stop    context.CancelFunc // Set by Start.
	running sync.WaitGroup     // The goroutines of Start.
}

// NewService returns a Service that keeps files in a bucket. Where events is nil, nobody is told. Nothing is read before
// Start.
func NewService(store Store, files *blob.Bucket, events Events, log *slog.Logger) *Service {
	if events == nil {
		events = noEvents{}
	}
	return &Service{store: store, files: files, events: events, log: log, loose: make(chan struct{}, 1)}
}

type noEvents struct{}

func (noEvents) SourceChanged(Owner, Source)    {}
func (noEvents) SourceDeleted(Owner, uuid.UUID) {}

// Start begins to read what is uploaded, here or through other servers, and to remove files that are not needed. It is
// called once; Stop must be called.
func (s *Service) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	s.running.Go(func() { s.store.WorkSources(ctx, s, s.log) })
	s.running.Go(func() { s.sweep(ctx) })
}

// Stop ends what Start began, and waits for it. What is being read now is read again by another server, or after the next
// start.
func (s *Service) Stop() {
	s.stop()
	s.running.Wait()
}

// Upload keeps a file of a person and has it read. created is false if they have one of the same content: that one is
// returned, and read again if it had failed. A name that says nothing readable is refused with UnsupportedType, an empty file
// with fault.Invalid, one above MaxSize with fault.TooLarge, and StorageFull says that there is no room. An error of content
// is returned as it is.
func (s *Service) Upload(ctx context.Context, owner Owner, filename string, content io.Reader) (_ Source, created bool, _ error) {
	filename = cleanFilename(filename)
	if filename == "" {
		return Source{}, false, fault.InvalidField("file", "ファイル名がありません。名前を付けてから、もう一度アップロードしてください。")
	}
	format, ok := extract.FormatOf(filename)
	if !ok {
		return Source{}, false, fault.Errorf(UnsupportedType,
			"この形式のファイルには対応していません。テキスト（.txt）、Markdown（.md）、CSV、TSV、HTML のファイルをアップロードしてください。")
	}
	source := Source{ID: uuid.Must(uuid.NewV7()), Filename: filename, MediaType: format.MediaType}
	if err := s.loosen(ctx, source.ID, uploadPatience); err != nil {
		return Source{}, false, err
	}
	stored, created, err := s.keep(ctx, owner, source, content)
	if err != nil {
		s.discard(ctx, source.ID)
		return Source{}, false, err
	}
	if !created {
		s.lookForLoose()
	}
	s.events.SourceChanged(owner, stored)
	return stored, created, nil
}

// keep writes the file of a source and stores the source.
func (s *Service) keep(ctx context.Context, owner Owner, source Source, content io.Reader) (_ Source, created bool, err error) {
	if source.Size, source.SHA256, err = s.write(ctx, source.ID, content); err != nil {
		return Source{}, false, err
	}
	if source.Size == 0 {
		return Source{}, false, fault.InvalidField("file", "ファイルが空です。内容のあるファイルをアップロードしてください。")
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return s.store.CreateSource(ctx, owner, source)
}

func (s *Service) loosen(ctx context.Context, id uuid.UUID, after time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return s.store.LoosenFile(ctx, id, after)
}

// discard has the file of an upload that failed removed at once. If it cannot say so now, the file is loose later.
func (s *Service) discard(ctx context.Context, id uuid.UUID) {
	if s.loosen(context.WithoutCancel(ctx), id, 0) == nil {
		s.lookForLoose()
	}
}

// write keeps a file whole, or not at all, and returns its size in bytes and its SHA-256.
func (s *Service) write(ctx context.Context, id uuid.UUID, content io.Reader) (size int64, sum []byte, err error) {
	ctx, cancel := context.WithCancel(ctx) // A writer whose context has ended keeps nothing.
	defer cancel()
	var file *os.File // Where the bucket is a folder.
	w, err := s.files.NewWriter(ctx, fileKey(id), &blob.WriterOptions{
		ContentType: "application/octet-stream", DisableContentTypeDetection: true,
		BeforeWrite: func(as func(any) bool) error {
			as(&file)
			return nil
		},
	})
	if err != nil {
		return 0, nil, storageError(err)
	}
	hash := sha256.New()
	source := &reader{Reader: io.LimitReader(content, MaxSize+1)}
	size, err = io.Copy(io.MultiWriter(hash, w), source)
	switch {
	case source.err != nil:
		err = source.err
	case err != nil:
		err = storageError(err)
	case size > MaxSize:
		err = fault.Errorf(fault.TooLarge, "ファイルが大きすぎます。%d MB 以下のファイルをアップロードしてください。", MaxSize>>20)
	case file != nil: // What is committed to the database after this must not be lost alone.
		err = storageError(file.Sync())
	}
	if err != nil {
		cancel()
		_ = w.Close() // It says that it was canceled.
		return 0, nil, err
	}
	return size, hash.Sum(nil), storageError(w.Close())
}

// reader remembers why reading failed, so that it is not taken for a failure to write.
type reader struct {
	io.Reader
	err error
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// storageError gives a failure of the bucket its code.
func storageError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fault.Wrap(err, StorageFull, "サーバーの保存容量に空きがないため、ファイルを保存できません。管理者にお知らせください。")
	}
	return err
}

func fileKey(id uuid.UUID) string { return "data-source/" + id.String() }

// List returns a page of a person's data sources, newest first.
func (s *Service) List(ctx context.Context, owner Owner, offset, limit int) ([]Source, error) {
	return s.store.ListSources(ctx, owner, offset, limit)
}

// Open returns a data source and its file, which the caller closes.
func (s *Service) Open(ctx context.Context, owner Owner, id uuid.UUID) (Source, io.ReadCloser, error) {
	finding, cancel := context.WithTimeout(ctx, storeTimeout)
	source, err := s.store.FindSource(finding, owner, id)
	cancel()
	if err != nil {
		return Source{}, nil, err
	}
	file, err := s.files.NewReader(ctx, fileKey(id), nil)
	return source, file, err
}

// Delete removes a data source, whatever becomes of it just now. Its file is removed soon after.
func (s *Service) Delete(ctx context.Context, owner Owner, id uuid.UUID) error {
	if err := s.store.DeleteSource(ctx, owner, id); err != nil {
		return err
	}
	s.lookForLoose()
	s.events.SourceDeleted(owner, id)
	return nil
}

// lookForLoose has sweep look now.
func (s *Service) lookForLoose() {
	select {
	case s.loose <- struct{}{}:
	default:
	}
}

// sweep removes loose files until the context ends.
func (s *Service) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepInterval)
	defer tick.Stop()
	for {
		if err := s.removeLoose(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("files that are not needed any more are removed later", "err", err)
		}
		select {
		case <-tick.C:
		case <-s.loose:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Service) removeLoose(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	for {
		ids, err := s.store.LooseFiles(ctx)
		if err != nil || len(ids) == 0 {
			return err
		}
		for _, id := range ids {
			if err := s.removeFile(ctx, id); err != nil {
				return err
			}
			if err := s.store.FileRemoved(ctx, id); err != nil {
				return err
			}
		}
	}
}

// removeFile removes a file, and what a server has left of it that died while it wrote.
func (s *Service) removeFile(ctx context.Context, id uuid.UUID) error {
	found := s.files.List(&blob.ListOptions{Prefix: fileKey(id)})
	for {
		object, err := found.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = s.files.Delete(ctx, object.Key)
		}
		if err != nil && gcerrors.Code(err) != gcerrors.NotFound { // Another server was faster.
			return err
		}
	}
}
