// Package datasource keeps the files that people upload for the assistants, and reads them: their text is cut into
// chunks that can be found and cited.
//
// A file waits until a server has room to read it, whichever that is; people take turns. A server holds what it reads
// by a lease: when it dies, another one begins anew. The person who uploaded a file is told of each step by Events. The
// package imports fault, ngram, and its own extract and index; it knows no database and no file system.
package datasource

import (
	"context"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/index"
)

// Limits of what one person may keep.
const (
	MaxSize    = extract.MaxSize // Of a file, in bytes.
	MaxSources = 1000            // Of a person.
)

// Owner names the person whose data sources are meant. Nobody else sees them.
type Owner struct {
	OrganizationID uuid.UUID
	UserID         uuid.UUID
}

// Status says how far a data source is.
type Status string

// A data source waits, is read, and can be used or not. One that could not be read waits again when it is uploaded
// again.
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
	Number  int64 // Names it among the readings of the data source.
	Attempt int   // From 1.
	Slow    bool  // It has given way to another person's file before.
}

// PutBack is how a reading that ends without a result waits again.
type PutBack struct {
	After  time.Duration // Not before this.
	Slow   bool          // It gave way, or took too long.
	Counts bool          // It was an attempt. One that was interrupted is none.
}

// Chunk is a passage of a data source, as extract cuts them.
type Chunk struct {
	Ordinal    int    // From 0.
	Page       int    // From 1.
	Start, End int    // Where it stands in the page's text, in bytes.
	Locator    string // Where that is for a reader: "第1章 > 1.1 目的", "スライド 3", "Sheet1!B12:F20", or "".
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

// Store keeps data sources, and has them read. What belongs to somebody else does not exist: the error has the code
// fault.NotFound.
type Store interface {
	EmbeddingStore

	// LoosenFile stores that the file of this id, which is about to be written or belongs to nothing, is loose after a
	// time unless CreateSource takes it.
	LoosenFile(ctx context.Context, id uuid.UUID, after time.Duration) error

	// CreateSource stores a data source whose file was written, and has it read. LoosenFile must have been called
	// before. If the owner has one of the same content, the file is loose at once and the one that is there is
	// returned, with created false; it is read again if it had failed. A person who has MaxSources is refused with
	// fault.Conflict, and with StorageLimit one whose files would have more than limit bytes together, or whose
	// organization's more than its contract allows. session is the owner's, uuid.Nil where nobody keeps it. If it was
	// ended meanwhile, or the owner is no longer an active member, the error has the code fault.Unauthenticated.
	CreateSource(ctx context.Context, owner Owner, session uuid.UUID, source Source, limit int64) (_ Source,
		created bool, _ error)

	ListSources(ctx context.Context, owner Owner, offset, limit int) ([]Source, error) // Newest first.
	FindSource(ctx context.Context, owner Owner, id uuid.UUID) (Source, error)
	// FindSources returns those of some data sources that are the owner's, in their order.
	FindSources(ctx context.Context, owner Owner, ids []uuid.UUID) ([]Source, error)
	DeleteSource(ctx context.Context, owner Owner, id uuid.UUID) error // Its file is loose then.

	// NextReading begins the reading whose turn it is, found is false if nothing waits: that of the person with the
	// fewest readings that run on all servers, and among these of the one who was served least recently. quick passes
	// over files that are known to be slow. The reading is the caller's for the time of a lease, and longer by
	// KeepReadings; earlier readings of the data source store nothing any more.
	NextReading(ctx context.Context, quick bool, lease time.Duration) (_ Reading, found bool, _ error)
	// SomebodyWaits reports whether a file that is not known to be slow waits for a person of whom nothing is read.
	SomebodyWaits(ctx context.Context) (bool, error)
	// KeepReadings renews the leases of readings, and returns the ids of those that are no longer the caller's.
	KeepReadings(ctx context.Context, held []Reading, lease time.Duration) (lost []uuid.UUID, _ error)
	// PutBack has a data source wait to be read again.
	PutBack(ctx context.Context, reading Reading, how PutBack) (Source, error)
	// TellProgress stores how far a reading is. As with PutBack, it is refused where the reading is not the last one.
	TellProgress(ctx context.Context, reading Reading, stage Stage, done, total int) (Source, error)
	// StopReading has a data source that waits or is read fail for a reason. fault.Conflict says that nothing is to be
	// stopped.
	StopReading(ctx context.Context, owner Owner, id uuid.UUID, reason string) (Source, error)
	// ReadAgain has a data source that failed wait to be read. One that waits or is read is returned as it is;
	// fault.Conflict says that it was read.
	ReadAgain(ctx context.Context, owner Owner, id uuid.UUID) (Source, error)
	// EndReading stores what a reading found: pages and chunks, or a failure. As with PutBack, if the data source is
	// gone, or another reading was begun, nothing is stored and the error has the code fault.NotFound.
	EndReading(ctx context.Context, reading Reading, found Found) (Source, error)
	// WatchWaiting calls tell whenever there may be something to read, until the context ends.
	WatchWaiting(ctx context.Context, tell func())

	// FindIndexes returns those of some data sources that are the owner's and were read, in their order.
	FindIndexes(ctx context.Context, owner Owner, ids []uuid.UUID) ([]Indexed, error)
	// IndexHeads returns the heads of indexes; what was read again is missing.
	IndexHeads(ctx context.Context, owner Owner, of []Indexed) (map[uuid.UUID][]byte, error)
	// IndexParts returns parts of indexes, of each one those with some numbers. What was read again is missing.
	IndexParts(ctx context.Context, owner Owner, of []Indexed, numbers [][]int) ([]map[int][]byte, error)
	// ReplaceIndex stores the index of a data source anew, unless it was read again meanwhile.
	ReplaceIndex(ctx context.Context, owner Owner, of Indexed, packed index.Packed) error
	// ListChunks returns all passages of a data source in order, none if it was read again meanwhile.
	ListChunks(ctx context.Context, owner Owner, of Indexed) ([]Chunk, error)
	// FindPassages returns those passages of a data source that have some ordinals, in order.
	FindPassages(ctx context.Context, owner Owner, sources []uuid.UUID, ordinals [][]int) ([]Passage, error)
	// FindPassage returns one passage, with the model and the length of its vector if it has one: of several that of
	// the model used last.
	FindPassage(ctx context.Context, owner Owner, id uuid.UUID) (EmbeddedPassage, error)
	// ListPassages returns at most limit passages of a data source in order, from a page on and without the first offset
	// ones of those.
	ListPassages(ctx context.Context, owner Owner, id uuid.UUID, page, offset, limit int) ([]Passage, error)
	// StorageUsed returns the bytes that the files of a person have together.
	StorageUsed(ctx context.Context, owner Owner) (int64, error)

	// LooseFiles returns the ids of some files that are to be removed: none of a data source that is there, whoever has
	// loosened it. FileRemoved forgets one.
	LooseFiles(ctx context.Context) ([]uuid.UUID, error)
	FileRemoved(ctx context.Context, id uuid.UUID) error
}

// Files keeps the files, each under an id. It is safe for concurrent use, by several servers too.
type Files interface {
	// Write keeps a file whole and for good, or not at all. StorageFull says that there is no room. An error of content
	// is returned as it is.
	Write(ctx context.Context, id uuid.UUID, content io.Reader) error
	// Open returns a file, which the caller closes.
	Open(ctx context.Context, id uuid.UUID) (io.ReadCloser, error)
	// Remove removes a file, and what is left of it by a server that died while it wrote. One that is not there is no
	// error.
	Remove(ctx context.Context, id uuid.UUID) error
}

// Extractor reads files where they can do no harm. It is safe for concurrent use.
type Extractor interface {
	// Extract calls page for each page of a file, whose format its name tells, with the number of pages, 0 while that
	// is unknown. An *extract.Unreadable says what is wrong with the file; any other error nothing about it.
	Extract(ctx context.Context, filename string, file io.Reader, page func(p extract.Page, total int) error) error
	// RenderPage returns a page, from 1, as a PNG that is width pixels wide. extract.ErrNoPage says that there is none.
	RenderPage(ctx context.Context, filename string, file io.Reader, page, width int) ([]byte, error)
	// Locate returns where the text of a page stands from one byte to another, as RenderPage shows it.
	Locate(ctx context.Context, filename string, file io.Reader, page, from, to int) (extract.Place, error)
}

// Found is what reading a data source brought: either a failure or the rest.
type Found struct {
	Failure   string
	Notice    string // What could not be read.
	PageCount int
	Chunks    []Chunk
	Index     index.Packed
}

// Events is told what has become of data sources once it is committed. Its methods are called from many goroutines and
// never block. Two events about one data source may overtake each other: the record with the higher Revision is the
// newer one.
type Events interface {
	SourceChanged(owner Owner, source Source)
	SourceDeleted(owner Owner, id uuid.UUID)
}
