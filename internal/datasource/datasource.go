// Package datasource stores the files that people upload for the assistants, and splits their text into chunks for
// search and citation.
//
// A file is queued until a server has capacity to read it. People with queued files are served in turn. A server holds
// a lease while it reads a file. If the server dies, another server reads the file from the beginning. Events reports
// each step to the person who uploaded the file. The package imports fault, timeout, uuidv7, lru, ngram, redline,
// and its own packages extract and index. It must not depend on a database or a file system.
package datasource

import (
	"context"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/index"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/redline"
)

// Limits for the files of one person.
const (
	MaxSize    = extract.MaxSize // Size of a file, in bytes.
	MaxSources = 1000            // Number of data sources of a person.
)

// Status is the state of a data source.
type Status string

// The states of a data source. Uploading the file of a failed data source again queues it again.
const (
	Pending Status = "pending"
	Running Status = "running"
	Success Status = "success"
	Failed  Status = "failed"
)

// Stage is a stage of processing a file.
type Stage string

// The stages, in order.
const (
	StageReading   Stage = "reading"   // The pages are extracted.
	StageIndexing  Stage = "indexing"  // The text index is built.
	StageEmbedding Stage = "embedding" // The vectors are computed. Search by words is already possible.
)

// Source is an uploaded file and its state.
type Source struct {
	ID         uuid.UUID
	UserID     uuid.UUID // The owner. uuid.Nil for a file that only skills and projects use.
	Filename   string
	MediaType  string
	Size       int64 // Bytes.
	SHA256     []byte
	Status     Status
	Failure    string // The reason for a failed reading, for display.
	Notice     string // What could not be read, for display. Only with status Success.
	PageCount  int    // 0 until the file is read.
	ChunkCount int    // 0 until the file is read.
	Stage      Stage  // The current stage with status Running, or StageEmbedding with status Success.
	Done       int    // Completed units of the stage,
	Total      int    // of this total: pages, or the unit of the stage. 0 while it is unknown.
	Revision   int    // Number of changes, from 1. The record with the higher revision is newer.
	CreatedAt  time.Time
}

// Reading is an attempt to read a data source.
type Reading struct {
	Source
	Owner   identity.Owner
	Number  int64 // Unique among the readings of the data source.
	Attempt int   // From 1.
	Slow    bool  // It was already interrupted for another person's file.
}

// RequeueOptions describes how an unfinished reading is queued again.
type RequeueOptions struct {
	After        time.Duration // Minimum delay.
	Slow         bool          // It was interrupted for another file, or took too long.
	CountAttempt bool          // It counts as an attempt. An interrupted reading does not.
}

// Chunk is a passage of a data source, as split by extract.
type Chunk = extract.Passage

// Passage is a chunk with its id and its data source.
type Passage struct {
	Chunk
	ID       uuid.UUID
	SourceID uuid.UUID
	Filename string
}

// IndexedSource is a searchable data source.
type IndexedSource struct {
	ID       uuid.UUID
	Filename string
	Reading  int64 // Identifies the extracted text: it changes when the data source is read again.
	Passages int   // Number of passages.
	Version  int   // Version of the packed index; 0 if there is none.
}

// Store stores data sources and the queue of files to read. For another person's data source, the error has the code
// fault.NotFound, as for a data source that does not exist.
type Store interface {
	// MarkOrphan records that the file with this id becomes an orphan after the given time, unless CreateSource claims
	// it. The file is about to be written or belongs to no data source.
	MarkOrphan(ctx context.Context, id uuid.UUID, after time.Duration) error

	// CreateSource stores a data source whose file was written, and queues it. The caller must call MarkOrphan first.
	// If the owner has a data source with the same content, the new file becomes an orphan at once, and CreateSource
	// returns the existing data source with created false; if that had failed, it is queued again. The error has the
	// code fault.Conflict if the owner has MaxSources, and fault.StorageLimit if the owner's files would exceed limit
	// bytes, or the organization's files its contractual limit. session is the owner's session, or uuid.Nil for uploads
	// without one. If the session has ended meanwhile, or the owner is no longer an active member, the code is
	// fault.Unauthenticated.
	CreateSource(ctx context.Context, owner identity.Owner, session uuid.UUID, source Source, limit int64) (_ Source,
		created bool, _ error)

	// CreateProjectSource is CreateSource for a file that belongs to a project instead of its uploader, who must be able to
	// add files to the project. Of files with the same content, those of the project count. Other errors: those of
	// package project.
	CreateProjectSource(ctx context.Context, uploader identity.Actor, projectID uuid.UUID, source Source) (
		_ Source, created bool, _ error)

	ListSources(ctx context.Context, owner identity.Owner, offset, limit int) ([]Source, error) // Newest first.
	// FindSource returns a data source that a person may open: their own, or a file of one of their
	// projects. The same applies to FindPassage and ListPassages.
	FindSource(ctx context.Context, owner identity.Owner, id uuid.UUID) (Source, error)
	// FindSources returns the data sources with the given ids that belong to the owner, in the order of ids.
	FindSources(ctx context.Context, owner identity.Owner, ids []uuid.UUID) ([]Source, error)
	DeleteSource(ctx context.Context, owner identity.Owner, id uuid.UUID) error // Its file becomes an orphan.

	// ClaimReading claims the next reading; found is false if none is queued. It selects the person with the fewest
	// running readings on all servers, and among these the person served least recently. quick skips files that are
	// known to be slow. The caller holds the reading for a lease, which RenewReadings extends. Earlier readings of the
	// data source can no longer store anything.
	ClaimReading(ctx context.Context, quick bool, lease time.Duration) (_ Reading, found bool, _ error)
	// HasWaitingReading reports whether a file that is not known to be slow is queued for a person without a running
	// reading.
	HasWaitingReading(ctx context.Context) (bool, error)
	// RenewReadings extends the leases of readings and returns the ids of those that the caller has lost.
	RenewReadings(ctx context.Context, held []Reading, lease time.Duration) (lost []uuid.UUID, _ error)
	// RequeueReading queues a data source again.
	RequeueReading(ctx context.Context, reading Reading, options RequeueOptions) (Source, error)
	// ReportProgress stores the progress of a reading. Like RequeueReading, it returns an error if the reading is no
	// longer the current one.
	ReportProgress(ctx context.Context, reading Reading, stage Stage, done, total int) (Source, error)
	// StopReading sets a queued or running data source to Failed with a reason. The person owns the data source, or edits
	// a project that has it; the same applies to RetryReading. StopReading returns fault.Conflict if the data source is in
	// neither state.
	StopReading(ctx context.Context, owner identity.Owner, id uuid.UUID, reason string) (Source, error)
	// RetryReading queues a failed data source again. It returns a queued or running one unchanged, and fault.Conflict for
	// one that was read successfully.
	RetryReading(ctx context.Context, owner identity.Owner, id uuid.UUID) (Source, error)
	// FinishReading stores the result of a reading: pages and chunks, or a failure. If the data source was deleted or
	// another reading has started, it stores nothing and returns fault.NotFound, like RequeueReading.
	FinishReading(ctx context.Context, reading Reading, result ReadingResult) (Source, error)
	// WatchQueue calls notify whenever a file may be queued, until the context is canceled.
	WatchQueue(ctx context.Context, notify func())

	// FindIndexes returns those of the given data sources that belong to the owner and were read, in the given order.
	FindIndexes(ctx context.Context, owner identity.Owner, ids []uuid.UUID) ([]IndexedSource, error)
	// IndexHeads returns the heads of indexes. It omits data sources that were read again.
	IndexHeads(ctx context.Context, owner identity.Owner, of []IndexedSource) (map[uuid.UUID][]byte, error)
	// IndexParts returns the parts of each index with the given numbers. It omits data sources that were read again.
	IndexParts(ctx context.Context, owner identity.Owner, of []IndexedSource, numbers [][]int) ([]map[int][]byte, error)
	// ReplaceIndex replaces the index of a data source unless the data source was read again meanwhile.
	ReplaceIndex(ctx context.Context, owner identity.Owner, of IndexedSource, packed index.PackedIndex) error
	// ListChunks returns all chunks of a data source in order, none if it was read again meanwhile.
	ListChunks(ctx context.Context, owner identity.Owner, of IndexedSource) ([]Chunk, error)
	// FindPassages returns the passages of data sources with the given ordinals, in order.
	FindPassages(ctx context.Context, owner identity.Owner, sources []uuid.UUID, ordinals [][]int) ([]Passage, error)
	// FindPassage returns a passage, and the model and length of its vector if it has one. If it has several vectors,
	// FindPassage returns the model that was used last.
	FindPassage(ctx context.Context, owner identity.Owner, id uuid.UUID) (EmbeddedPassage, error)
	// ListPassages returns at most limit passages of a data source in order. It starts at a page and skips the first
	// offset passages from there.
	ListPassages(ctx context.Context, owner identity.Owner, id uuid.UUID, page, offset, limit int) ([]Passage, error)
	// StorageUsed returns the total size of a person's files in bytes.
	StorageUsed(ctx context.Context, owner identity.Owner) (int64, error)

	// ListOrphans returns the ids of some files to remove, the next ones above after in the order of the ids, never the
	// id of an existing data source. Call DeleteOrphan after a file was removed.
	ListOrphans(ctx context.Context, after uuid.UUID) ([]uuid.UUID, error)
	DeleteOrphan(ctx context.Context, id uuid.UUID) error

	// Vectors of passages.

	// UseModel returns the state of a model and adds the model if it is new. Each call also removes some vectors of
	// models that no server has used for a day.
	UseModel(ctx context.Context, model EmbeddingModel) (ModelState, error)
	// ClaimEmbedding claims a turn for a data source with passages without vectors, and returns at most limit of them.
	// It prefers data sources with few turns, then newer ones. If there is no such data source, found is false.
	// The caller holds the turn for a lease, which RenewEmbedding and PutVectors renew.
	ClaimEmbedding(ctx context.Context, modelID, limit int, lease time.Duration) (_ EmbeddingTurn, found bool, _ error)
	// RenewEmbedding renews the lease of a turn. It returns fault.NotFound if the caller has lost the turn.
	RenewEmbedding(ctx context.Context, turn EmbeddingTurn, lease time.Duration) error
	// PutVectors stores vectors. Like RenewEmbedding, it returns fault.NotFound if the turn is not the latest one. It
	// returns fault.Conflict if earlier vectors of the model have another length. With e.ReturnSource, it returns the
	// data source.
	PutVectors(ctx context.Context, turn EmbeddingTurn, e VectorBatch) (*Source, error)
	// PauseEmbedding ends a failed turn. The next turn starts after a pause that grows with each failure.
	PauseEmbedding(ctx context.Context, turn EmbeddingTurn, pause time.Duration) error
	// FindVectors returns the vectors of all passages of data sources, in order. ok is false if a passage has no vector
	// of the model, or if the vectors exceed limit bytes in total.
	FindVectors(ctx context.Context, owner identity.Owner, of []IndexedSource, modelID, limit int) (
		_ []index.Vectors, ok bool, _ error,
	)
	// ClaimMeasure claims the measurement of a model's weight for a lease; claimed is false if another server holds it.
	// It returns embedded data sources of several people, at most limit for each person.
	ClaimMeasure(ctx context.Context, modelID, people, limit int, lease time.Duration) (_ map[identity.Owner][]uuid.UUID,
		claimed bool, _ error)
	// PutWeight stores a measured weight. embedded is the number of passages with vectors at the measurement.
	PutWeight(ctx context.Context, modelID int, weight float64, embedded int64) error

	// The index of the passages of projects. These methods find no passages if the project does not exist or the actor
	// has no role in it.

	// FindProjectSources returns at most limit data sources of a project, in the order of adding. It returns
	// fault.NotFound if the actor has no role in the project.
	FindProjectSources(ctx context.Context, actor identity.Owner, projectID uuid.UUID, limit int) ([]Source, error)
	// IndexProjects updates the index of a project for data sources that were added, read or removed, and returns the
	// number of data sources, 0 if no index must be updated. It writes and removes at most limit passages.
	IndexProjects(ctx context.Context, limit int) (int, error)
	// FindProjectIndex returns the state of a project's index. It returns fault.NotFound if the actor has no role in the
	// project.
	FindProjectIndex(ctx context.Context, actor identity.Owner, projectID uuid.UUID, keys []int32) (ProjectIndex, error)
	// FindCandidates returns the ordinals of passages by data source, and for each key the number of passages with it.
	FindCandidates(ctx context.Context, actor identity.Owner, projectID uuid.UUID, query CandidateQuery) (
		sources []uuid.UUID, ordinals [][]int, having []int, _ error)
	// FindProjectPassages is like FindPassages for the data sources of a project. It omits passages that do not
	// exist.
	FindProjectPassages(ctx context.Context, actor identity.Owner, projectID uuid.UUID, sources []uuid.UUID,
		ordinals [][]int) ([]Passage, error)
	// FindPassageVectors returns the vectors of passages by their ids, in order. ok is false if one has no vector of the
	// model.
	FindPassageVectors(ctx context.Context, actor identity.Owner, projectID uuid.UUID, ids []uuid.UUID, modelID int) (
		_ index.Vectors, ok bool, _ error)
}

// Files stores files by id. It is safe for concurrent use, also by several servers.
type Files interface {
	// Write stores a file completely and durably, or not at all. The error has the code fault.StorageFull if there is no
	// space. Errors of content are returned unchanged.
	Write(ctx context.Context, id uuid.UUID, content io.Reader) error
	// Open returns a file. The caller must close it.
	Open(ctx context.Context, id uuid.UUID) (io.ReadCloser, error)
	// Remove removes a file and all remains of an interrupted Write. A missing file is not an error.
	Remove(ctx context.Context, id uuid.UUID) error
}

// Extractor reads untrusted files in isolation. It is safe for concurrent use.
type Extractor interface {
	// Prepare waits until the reader for the extension of filename is compiled, which may take minutes. The time limits
	// of a file start after it. Errors are unrelated to any file.
	Prepare(ctx context.Context, filename string) error
	// Extract calls page for each page of a file. total is the number of pages, 0 while it is unknown. The extension of
	// filename defines the format. A *fault.UnreadableError describes a defect of the file. Any other error is
	// unrelated to the file.
	Extract(ctx context.Context, filename string, file io.Reader, page func(p extract.Page, total int) error) error
	// RenderPage returns a page, from 1, as a PNG with the given width in pixels. It returns extract.ErrNoPage if the
	// page does not exist.
	RenderPage(ctx context.Context, filename string, file io.Reader, page, width int) ([]byte, error)
	// Locate returns the place of the bytes [from, to) of a page's text in the coordinates of RenderPage.
	Locate(ctx context.Context, filename string, file io.Reader, page, from, to int) (extract.Place, error)
	// Paragraphs returns the text of a Word document for proofreading, see redline.Text.
	Paragraphs(ctx context.Context, file io.Reader) (string, error)
	// Redline applies an edit of the text of Paragraphs to a Word document.
	Redline(ctx context.Context, file io.Reader, edit redline.Edit) ([]byte, error)
}

// ReadingResult is the result of a reading: either a failure or the other fields.
type ReadingResult struct {
	Failure   string
	Notice    string // What could not be read.
	PageCount int
	Chunks    []Chunk
	Index     index.PackedIndex
}
