package datasource

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/index"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/lru"
	"github.com/tsumugi-ai/tsumugi/internal/timeout"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
	"github.com/tsumugi-ai/tsumugi/internal/work"
)

const (
	orphanAfter   = time.Hour // A file without a data source becomes an orphan after this time. Uploads are shorter.
	sweepInterval = time.Minute
	sweepTimeout  = 30 * time.Second
)

// Service manages data sources. It is safe for concurrent use.
type Service struct {
	store     Store
	files     Files
	extractor Extractor
	changed   func(owner identity.Owner, source Source) // Config.Changed.
	deleted   func(owner identity.Owner, id uuid.UUID)  // Config.Deleted.
	readers   *readers
	embedder  *embedder
	indexes   *lru.Cache[indexKey, any]
	vectors   *lru.Cache[vectorKey, index.Vectors]
	places    *lru.Cache[uuid.UUID, []extract.Rect] // Cache of the places of passages.
	pages     *lru.Cache[pageKey, []byte]           // Cache of the pictures of pages.
	log       *slog.Logger

	stats struct{ read, unreadable, interrupted atomic.Int64 }

	viewSlots chan struct{} // Holds a value for each view in progress.
	transient chan struct{} // Holds a value for each file that is read without being stored.
	orphans   work.Signal   // There may be a file to remove.
	swept     uuid.UUID     // The last orphan that removeOrphans, which alone uses it, tried to remove. Nil at the end.
	projects  work.Signal   // There may be passages to index for a project.
	group     *work.Group
}

// Stats are numbers of readings that this server has ended since its start, and of its requests to the embedding model.
type Stats struct {
	Read        int64
	Unreadable  int64 // It ended with a failure.
	Interrupted int64 // The file was queued again.

	Embedded        int64 // Passages and questions that received a vector.
	EmbedFailures   int64 // Failed requests to the embedding model.
	EmbedderFailing bool  // The last request to the embedding model failed.
}

// Stats returns the numbers of readings and of requests to the embedding model.
func (s *Service) Stats() Stats {
	e := s.embedder
	return Stats{
		s.stats.read.Load(), s.stats.unreadable.Load(), s.stats.interrupted.Load(),
		e.embedded.Load(), e.failures.Load(), e.failing.Load(),
	}
}

// NewService returns a Service. It reads no file before Start.
func NewService(store Store, files Files, extractor Extractor, log *slog.Logger, cfg Config) *Service {
	cfg = cfg.withDefaults()
	s := &Service{
		store: store, files: files, extractor: extractor, changed: cfg.Changed, deleted: cfg.Deleted, log: log,
		viewSlots: make(chan struct{}, maxViews), transient: make(chan struct{}, transientSlots),
		orphans: work.NewSignal(), projects: work.NewSignal(), group: work.NewGroup(log),
	}
	s.readers = newReaders(s, cfg)
	s.indexes, s.places = lru.New[indexKey, any](cfg.Cache), lru.New[uuid.UUID, []extract.Rect](placeBytes)
	s.pages = lru.New[pageKey, []byte](pageBytes)
	s.vectors = lru.New[vectorKey, index.Vectors](cfg.Vectors)
	s.embedder = newEmbedder(s, cfg.Embedding)
	return s
}

// Start starts to read uploaded files, including those uploaded through other servers, and to remove orphans. Call it
// once, and call Stop afterwards.
func (s *Service) Start() {
	s.group.Go(func(ctx context.Context) {
		s.store.WatchQueue(ctx, func() { s.readers.Wake(); s.projects.Wake() })
	})
	s.group.Every(projectInterval, s.projects, s.indexProjects, "datasource: indexing projects failed, retrying")
	s.group.Every(sweepInterval, s.orphans, s.removeOrphans, "datasource: removing orphaned files failed, retrying")
	s.group.Go(s.prepare)
	s.readers.Start()
	s.embedder.start()
}

// prepare prepares the readers of formats before the first upload.
func (s *Service) prepare(ctx context.Context) {
	if err := s.extractor.Prepare(ctx, transientName); err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "datasource: preparing to read files failed", "err", err)
	}
}

// Stop stops the goroutines of Start and waits for them. Running readings are queued again, for another server or the
// next start.
func (s *Service) Stop() { s.group.Stop() }

// Upload stores a person's file and queues it for reading. If the person has a data source with the same content,
// Upload returns it with created false; if that had failed, it is queued again. The error has the code
// fault.UnsupportedType for a name without a supported extension, fault.Invalid for an empty file, fault.TooLarge for a
// file above MaxSize, and fault.StorageFull if there is no space. Errors of content are returned unchanged. If the
// person was removed, disabled or signed out during the upload, the code is fault.Unauthenticated, and nothing is
// stored.
func (s *Service) Upload(ctx context.Context, owner identity.Owner, session uuid.UUID, filename string,
	content io.Reader,
) (_ Source, created bool, _ error) {
	stored, created, err := s.upload(ctx, filename, content, func(ctx context.Context, source Source) (Source, bool, error) {
		return s.store.CreateSource(ctx, owner, session, source, s.readers.cfg.StoragePerPerson)
	})
	if err == nil {
		s.changed(owner, stored)
	}
	return stored, created, err
}

// UploadToProject is Upload for a file that belongs to a project. It sends no event.
func (s *Service) UploadToProject(ctx context.Context, uploader identity.Actor, projectID uuid.UUID, filename string,
	content io.Reader,
) (_ Source, created bool, _ error) {
	return s.upload(ctx, filename, content, func(ctx context.Context, source Source) (Source, bool, error) {
		return s.store.CreateProjectSource(ctx, uploader, projectID, source)
	})
}

// upload writes a file and calls create to store its data source.
func (s *Service) upload(ctx context.Context, filename string, content io.Reader,
	create func(context.Context, Source) (Source, bool, error),
) (_ Source, created bool, _ error) {
	filename = cleanFilename(filename)
	if filename == "" {
		return Source{}, false, fault.InvalidFile(fault.Invalid, "ファイル名がありません。名前を付けてから、もう一度アップロードしてください。")
	}
	format, ok := extract.FormatOf(filename)
	if !ok {
		return Source{}, false, fault.InvalidFile(fault.UnsupportedType, "%s", cmp.Or(extract.OldOffice(filename),
			"対応していない形式です。PDF、Word（.docx）、Excel（.xlsx）、PowerPoint（.pptx）、テキスト（.txt）、Markdown（.md）、CSV、TSV、HTMLの"+
				"いずれかに変換してください。"))
	}
	source := Source{ID: uuidv7.New(), Filename: filename, MediaType: format.MediaType}
	if err := s.markOrphan(ctx, source.ID, orphanAfter); err != nil {
		return Source{}, false, err
	}
	stored, created, err := s.keep(ctx, source, content, create)
	if err != nil {
		s.discard(ctx, source.ID)
		return Source{}, false, err
	}
	if !created {
		s.orphans.Wake()
	}
	return stored, created, nil
}

// keep writes the file of a source and calls create.
func (s *Service) keep(ctx context.Context, source Source, content io.Reader,
	create func(context.Context, Source) (Source, bool, error),
) (_ Source, created bool, err error) {
	if source.Size, source.SHA256, err = s.write(ctx, source.ID, content); err != nil {
		return Source{}, false, err
	}
	if source.Size == 0 {
		return Source{}, false, fault.InvalidFile(fault.Invalid, "ファイルが空です。内容のあるファイルをアップロードしてください。")
	}
	ctx, cancel := context.WithTimeout(ctx, timeout.Store)
	defer cancel()
	return create(ctx, source)
}

func (s *Service) markOrphan(ctx context.Context, id uuid.UUID, after time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout.Store)
	defer cancel()
	return s.store.MarkOrphan(ctx, id, after)
}

// discard removes the file of a failed upload soon, or after orphanAfter if the database is unavailable.
func (s *Service) discard(ctx context.Context, id uuid.UUID) {
	if s.markOrphan(context.WithoutCancel(ctx), id, 0) == nil {
		s.orphans.Wake()
	}
}

// write stores a file and returns its size in bytes and its SHA-256.
func (s *Service) write(ctx context.Context, id uuid.UUID, content io.Reader) (size int64, sum []byte, err error) {
	file := &uploadReader{content: content, hash: sha256.New()}
	if err := s.files.Write(ctx, id, file); err != nil {
		return 0, nil, err
	}
	return file.size, file.hash.Sum(nil), nil
}

// uploadReader computes the size and the hash of a file while it is read. It returns an error beyond MaxSize.
type uploadReader struct {
	content io.Reader
	hash    hash.Hash
	size    int64
}

func (m *uploadReader) Read(p []byte) (int, error) {
	n, err := m.content.Read(p)
	if m.size += int64(n); m.size > MaxSize {
		return 0, fault.OversizedFile("ファイルが大きすぎます。%d MB以下のファイルをアップロードしてください。", MaxSize)
	}
	_, _ = m.hash.Write(p[:n]) // Writing to a hash cannot fail.
	return n, err
}

// FindAll returns the existing data sources of the owner with the given ids, in the order of ids.
func (s *Service) FindAll(ctx context.Context, owner identity.Owner, ids []uuid.UUID) ([]Source, error) {
	return s.store.FindSources(ctx, owner, ids)
}

// Find returns a data source that a person may open: their own, or a file of one of their projects.
func (s *Service) Find(ctx context.Context, owner identity.Owner, id uuid.UUID) (Source, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout.Store)
	defer cancel()
	return s.store.FindSource(ctx, owner, id)
}

// Storage is the used storage and the limit of a person, in bytes.
type Storage struct{ Used, Limit int64 }

// Storage returns the used storage and the limit of a person.
func (s *Service) Storage(ctx context.Context, owner identity.Owner) (Storage, error) {
	used, err := s.store.StorageUsed(ctx, owner)
	return Storage{Used: used, Limit: s.readers.cfg.StoragePerPerson}, err
}

// Passages returns at most limit passages of a data source in order. It starts at a page and skips the first offset
// passages from there. A data source that was not read has none.
func (s *Service) Passages(
	ctx context.Context, owner identity.Owner, id uuid.UUID, page, offset, limit int,
) ([]Passage, error) {
	if _, err := s.Find(ctx, owner, id); err != nil {
		return nil, err
	}
	return s.store.ListPassages(ctx, owner, id, page, offset, limit)
}

// Open returns a data source and its file. The caller must close the file.
func (s *Service) Open(ctx context.Context, owner identity.Owner, id uuid.UUID) (Source, io.ReadCloser, error) {
	source, err := s.Find(ctx, owner, id)
	if err != nil {
		return Source{}, nil, err
	}
	file, err := s.files.Open(ctx, id)
	return source, file, err
}

// Delete removes a data source, even during its reading. Its file is removed soon afterwards.
func (s *Service) Delete(ctx context.Context, owner identity.Owner, id uuid.UUID) error {
	if err := s.store.DeleteSource(ctx, owner, id); err != nil {
		return err
	}
	s.orphans.Wake()
	s.deleted(owner, id)
	return nil
}

// stopReason is the displayed reason of a reading that its owner stopped.
const stopReason = "読み取りを中止しました。読み取るには、「やり直す」を押してください。"

// StopReading cancels a queued or running reading. The data source fails and can be read again. The error has the code
// fault.Conflict if there is nothing to cancel.
func (s *Service) StopReading(ctx context.Context, owner identity.Owner, id uuid.UUID) (Source, error) {
	source, err := s.store.StopReading(ctx, owner, id, stopReason)
	if err != nil {
		return Source{}, err
	}
	s.readers.abandon(id) // Another server detects it when it renews its leases.
	s.changed(ownerOf(source, owner), source)
	return source, nil
}

// RetryReading queues a failed data source again. It returns fault.Conflict if the data source was read successfully.
func (s *Service) RetryReading(ctx context.Context, owner identity.Owner, id uuid.UUID) (Source, error) {
	source, err := s.store.RetryReading(ctx, owner, id)
	if err == nil {
		s.changed(ownerOf(source, owner), source)
	}
	return source, err
}

// ownerOf returns the owner of a data source, which an editor of one of its projects may have changed.
func ownerOf(source Source, editor identity.Owner) identity.Owner {
	return identity.Owner{OrganizationID: editor.OrganizationID, UserID: source.UserID}
}

// removeOrphans removes files without a data source, and returns the first error. It leaves files that cannot be removed
// to a later call. If it ends early, the next call continues with the next file, so that slow refusals stop no others.
func (s *Service) removeOrphans(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	var failure error
	for {
		ids, err := s.store.ListOrphans(ctx, s.swept)
		if err != nil {
			return cmp.Or(failure, err)
		}
		if len(ids) == 0 {
			s.swept = uuid.Nil
			return failure
		}
		for _, id := range ids {
			if ctx.Err() != nil {
				return cmp.Or(failure, ctx.Err())
			}
			s.swept = id
			if err := s.files.Remove(ctx, id); err != nil {
				failure = cmp.Or(failure, fmt.Errorf("file %s: %w", id, err))
				continue
			}
			if err := s.store.DeleteOrphan(ctx, id); err != nil {
				return err
			}
		}
	}
}
