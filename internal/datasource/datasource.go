// Package datasource keeps the files that people upload for the assistants, and reads them: their text is cut into
// chunks that can be found and cited.
//
// A file waits until any server has room to read it; people take turns. A server holds a lease on what it reads: when
// the server dies, another one starts the reading again. Events reports each step to the person who uploaded the file.
// The package imports fault, ngram, redline, and its own extract and index; it knows no database and no file system.
package datasource

import (
	"context"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/index"
	"github.com/tsumugi-ai/tsumugi/internal/redline"
)

// Limits of what one person may keep.
const (
	MaxSize    = extract.MaxSize // Of a file, in bytes.
	MaxSources = 1000            // Of a person.
)

// Owner identifies the person who owns data sources. Nobody else sees them.
type Owner struct {
	OrganizationID uuid.UUID
	UserID         uuid.UUID
}

// Status is the state of a data source.
type Status string

// A data source waits, is read, and is usable or not. A failed one waits again when its file is uploaded again.
const (
	Pending Status = "pending"
	Running Status = "running"
	Success Status = "success"
	Failed  Status = "failed"
)

// Stage is a part of reading a file.
type Stage string

// The stages, in order.
const (
	StageReading   Stage = "reading"   // Its pages are read.
	StageIndexing  Stage = "indexing"  // Its text is made to be found.
	StageEmbedding Stage = "embedding" // Its meaning is made to be found. By its words it can be found already.
)

// Source is an uploaded file and its state.
type Source struct {
	ID         uuid.UUID
	Filename   string
	MediaType  string
	Size       int64 // Bytes.
	SHA256     []byte
	Status     Status
	Failure    string // Why it could not be read, as a person understands it. Of failed ones.
	Notice     string // What could not be read of it, as a person understands it. Of successful ones.
	PageCount  int    // 0 until it is read,
	ChunkCount int    // as this.
	Stage      Stage  // What is done with it now. Of running ones, and StageEmbedding of those that were read.
	Done       int    // How much of that is done,
	Total      int    // and of how much: pages, or what the stage counts. 0 while that is unknown.
	Revision   int    // Counts its changes, from 1: a record with a higher one is newer.
	CreatedAt  time.Time
}

// Reading is an attempt to read a data source.
type Reading struct {
	Source
	Owner   Owner
	Number  int64 // Identifies it among the readings of the data source.
	Attempt int   // From 1.
	Slow    bool  // It was interrupted for another person's file before.
}

// PutBack says how a reading without a result is queued again.
type PutBack struct {
	After  time.Duration // Not before this.
	Slow   bool          // It was interrupted for another file, or took too long.
	Counts bool          // It counts as an attempt. An interrupted reading does not.
}

// Chunk is a passage of a data source, as extract cuts them.
type Chunk struct {
	Ordinal    int    // From 0.
	Page       int    // From 1.
	Start, End int    // Its byte range in the page's text.
	Locator    string // Its place for a reader: "第1章 > 1.1 目的", "スライド 3", "Sheet1!B12:F20", or "".
	Text       string
}

// Passage is a chunk as it is found and cited.
type Passage struct {
	Chunk
	ID       uuid.UUID
	SourceID uuid.UUID
	Filename string
}

// Indexed is a data source that can be searched.
type Indexed struct {
	ID       uuid.UUID
	Filename string
	Reading  int64 // Names what was read: it changes when the data source is read again.
	Passages int   // How many it has.
	Version  int   // Of the packed form; 0 if there is none.
}

// Store keeps data sources and the queue of those to read. For a data source of somebody else, the error has the code
// fault.NotFound, as if it did not exist.
type Store interface {
	EmbeddingStore

	// MarkOrphan stores that the file of this id, which is about to be written or belongs to nothing, is an orphan
	// after a time unless CreateSource claims it.
	MarkOrphan(ctx context.Context, id uuid.UUID, after time.Duration) error

	// CreateSource stores a data source whose file was written, and queues it. MarkOrphan must have been called before.
	// If the owner has one with the same content, the new file is an orphan at once and the existing one is returned,
	// with created false; it is read again if it had failed. A person who has MaxSources is refused with
	// fault.Conflict, and with StorageLimit one whose files would have more than limit bytes together, or whose
	// organization's more than its contract allows. session is the owner's, uuid.Nil where nobody keeps it. If it was
	// ended meanwhile, or the owner is no longer an active member, the error has the code fault.Unauthenticated.
	CreateSource(ctx context.Context, owner Owner, session uuid.UUID, source Source, limit int64) (_ Source,
		created bool, _ error)

	ListSources(ctx context.Context, owner Owner, offset, limit int) ([]Source, error) // Newest first.
	FindSource(ctx context.Context, owner Owner, id uuid.UUID) (Source, error)
	// FindSources returns those of some data sources that are the owner's, in their order.
	FindSources(ctx context.Context, owner Owner, ids []uuid.UUID) ([]Source, error)
	DeleteSource(ctx context.Context, owner Owner, id uuid.UUID) error // Its file becomes an orphan.

	// NextReading begins the next reading; found is false if nothing waits. The person with the fewest running readings
	// on all servers is next, and among equals the one served least recently. quick skips files that are known to be
	// slow. The caller holds the reading for a lease, which RenewReadings extends; earlier readings of the data source
	// can no longer store anything.
	NextReading(ctx context.Context, quick bool, lease time.Duration) (_ Reading, found bool, _ error)
	// AnyoneWaits reports whether a file that is not known to be slow waits for a person without a running reading.
	AnyoneWaits(ctx context.Context) (bool, error)
	// RenewReadings extends the leases of readings, and returns the ids of those that the caller has lost.
	RenewReadings(ctx context.Context, held []Reading, lease time.Duration) (lost []uuid.UUID, _ error)
	// PutBack queues a data source again.
	PutBack(ctx context.Context, reading Reading, how PutBack) (Source, error)
	// ReportProgress stores the progress of a reading. As with PutBack, it fails if the reading is no longer the
	// current one.
	ReportProgress(ctx context.Context, reading Reading, stage Stage, done, total int) (Source, error)
	// StopReading fails a data source that waits or is read, for a reason. fault.Conflict says that there is nothing to
	// stop.
	StopReading(ctx context.Context, owner Owner, id uuid.UUID, reason string) (Source, error)
	// ReadAgain queues a failed data source again. One that waits or is read is returned as it is; fault.Conflict says
	// that it was read successfully.
	ReadAgain(ctx context.Context, owner Owner, id uuid.UUID) (Source, error)
	// EndReading stores the result of a reading: pages and chunks, or a failure. As with PutBack, if the data source
	// was deleted or another reading has begun, nothing is stored and the error has the code fault.NotFound.
	EndReading(ctx context.Context, reading Reading, found Found) (Source, error)
	// WatchWaiting calls notify whenever there may be something to read, until the context ends.
	WatchWaiting(ctx context.Context, notify func())

	// FindIndexes returns those of the given data sources that are the owner's and were read, in the given order.
	FindIndexes(ctx context.Context, owner Owner, ids []uuid.UUID) ([]Indexed, error)
	// IndexHeads returns the heads of indexes; what was read again is missing.
	IndexHeads(ctx context.Context, owner Owner, of []Indexed) (map[uuid.UUID][]byte, error)
	// IndexParts returns parts of indexes, of each one those with some numbers. What was read again is missing.
	IndexParts(ctx context.Context, owner Owner, of []Indexed, numbers [][]int) ([]map[int][]byte, error)
	// ReplaceIndex replaces the index of a data source, unless that was read again meanwhile.
	ReplaceIndex(ctx context.Context, owner Owner, of Indexed, packed index.Packed) error
	// ListChunks returns all passages of a data source in order, none if it was read again meanwhile.
	ListChunks(ctx context.Context, owner Owner, of Indexed) ([]Chunk, error)
	// FindPassages returns the passages of data sources with the given ordinals, in order.
	FindPassages(ctx context.Context, owner Owner, sources []uuid.UUID, ordinals [][]int) ([]Passage, error)
	// FindPassage returns one passage, with the model and the length of its vector if it has one: of several that of
	// the model used last.
	FindPassage(ctx context.Context, owner Owner, id uuid.UUID) (EmbeddedPassage, error)
	// ListPassages returns at most limit passages of a data source in order, from a page on and without the first
	// offset ones of those.
	ListPassages(ctx context.Context, owner Owner, id uuid.UUID, page, offset, limit int) ([]Passage, error)
	// StorageUsed returns the bytes that the files of a person have together.
	StorageUsed(ctx context.Context, owner Owner) (int64, error)

	// ListOrphans returns the ids of some files to remove, never that of a data source that exists. ForgetOrphan is
	// called once one is removed.
	ListOrphans(ctx context.Context) ([]uuid.UUID, error)
	ForgetOrphan(ctx context.Context, id uuid.UUID) error
}

// Files stores files by id. It is safe for concurrent use, by several servers too.
type Files interface {
	// Write stores a file whole and durably, or not at all. StorageFull says that there is no room. An error of content
	// is returned as it is.
	Write(ctx context.Context, id uuid.UUID, content io.Reader) error
	// Open returns a file, which the caller closes.
	Open(ctx context.Context, id uuid.UUID) (io.ReadCloser, error)
	// Remove removes a file, and what a server that died while writing left of it. A missing file is no error.
	Remove(ctx context.Context, id uuid.UUID) error
}

// Extractor reads untrusted files in isolation. It is safe for concurrent use.
type Extractor interface {
	// Prepare waits until the code that reads files with the extension of filename is compiled, which may take minutes.
	// Time limits of a file start after it. An error is never the fault of a file.
	Prepare(ctx context.Context, filename string) error
	// Extract calls page for each page of a file, with the number of pages, 0 while that is unknown. The extension of
	// filename is the file's format. An *extract.Unreadable says what is wrong with the file; any other error says
	// nothing about it.
	Extract(ctx context.Context, filename string, file io.Reader, page func(p extract.Page, total int) error) error
	// RenderPage returns a page, from 1, as a PNG that is width pixels wide. extract.ErrNoPage says that there is none.
	RenderPage(ctx context.Context, filename string, file io.Reader, page, width int) ([]byte, error)
	// Locate returns where the text of a page stands from one byte to another, as RenderPage shows it.
	Locate(ctx context.Context, filename string, file io.Reader, page, from, to int) (extract.Place, error)
	// Paragraphs returns the text of a Word document as it is proofread: see redline.Text.
	Paragraphs(ctx context.Context, file io.Reader) (string, error)
	// Redline returns a Word document with an edit of what Paragraphs returns.
	Redline(ctx context.Context, file io.Reader, edit redline.Edit) ([]byte, error)
}

// Found is the result of a reading: either a failure or the rest.
type Found struct {
	Failure   string
	Notice    string // What could not be read.
	PageCount int
	Chunks    []Chunk
	Index     index.Packed
}

// Events receives changes of data sources after they are committed. Its methods are called from many goroutines and
// never block. Events of one data source may arrive out of order: the record with the higher Revision is the newer one.
type Events interface {
	SourceChanged(owner Owner, source Source)
	SourceDeleted(owner Owner, id uuid.UUID)
}
