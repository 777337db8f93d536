// Package datasource keeps the files that people upload for the assistants, and reads them: their text is cut into chunks
// that can be found and cited.
//
// Reading is a job: it outlives the server that accepted the file, and whichever server has room does it. Who uploaded a
// file is told of each step by Events. The package imports fault, its own extract, and blob buckets; it knows no database.
package datasource

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
)

// Limits of what one person may keep.
const (
	MaxSize    = 30 << 20 // Of a file, in bytes.
	MaxSources = 1000     // Of a person.
)

// Owner names the person whose data sources are meant. Nobody else sees them.
type Owner struct {
	OrganizationID uuid.UUID
	UserID         uuid.UUID
}

// Status says how far a data source is.
type Status string

// A data source waits, is read, and can be used or not. One that could not be read waits again when it is uploaded again.
const (
	Pending Status = "pending"
	Running Status = "running"
	Success Status = "success"
	Failed  Status = "failed"
)

// Source is a file and what became of it.
type Source struct {
	ID         uuid.UUID
	Filename   string
	MediaType  string
	Size       int64 // Bytes.
	SHA256     []byte
	Status     Status
	Failure    string // Why it could not be read, as a person understands it. Of failed ones.
	PageCount  int    // 0 until it is read,
	ChunkCount int    // as this.
	Revision   int    // Counts its changes, from 1: a record with a higher one is newer.
	CreatedAt  time.Time
}

// Reading is an attempt to read a data source.
type Reading struct {
	Source
	Owner   Owner
	Attempt int // From 1.
}

// Chunk is a piece of a data source's text.
type Chunk struct {
	Ordinal int // From 0.
	Page    int // From 1.
	Text    string
}

// Store keeps data sources, and has them read. What belongs to somebody else does not exist: the error has the code
// fault.NotFound.
type Store interface {
	// LoosenFile stores that the file of this id, which is about to be written or belongs to nothing, is loose after a time
	// unless CreateSource takes it.
	LoosenFile(ctx context.Context, id uuid.UUID, after time.Duration) error

	// CreateSource stores a data source whose file was written, and has it read. LoosenFile must have been called before. If the owner has one of the
	// same content, the file is loose at once and the one that is there is returned, with created false; it is read again if
	// it had failed. A person who has MaxSources is refused with fault.Conflict.
	CreateSource(ctx context.Context, owner Owner, source Source) (_ Source, created bool, _ error)

	ListSources(ctx context.Context, owner Owner, offset, limit int) ([]Source, error) // Newest first.
	FindSource(ctx context.Context, owner Owner, id uuid.UUID) (Source, error)
	DeleteSource(ctx context.Context, owner Owner, id uuid.UUID) error // Its file is loose then.

	// BeginReading stores that a data source is being read. Earlier readings of it store nothing any more.
	BeginReading(ctx context.Context, id uuid.UUID) (Reading, error)
	// EndReading stores what a reading found: pages and chunks, or a failure. If the data source is gone, or another reading
	// was begun, nothing is stored and the error has the code fault.NotFound.
	EndReading(ctx context.Context, reading Reading, found Found) (Source, error)

	// LooseFiles returns the ids of some files that are to be removed: none of a data source that is there, whoever has
	// loosened it. FileRemoved forgets one.
	LooseFiles(ctx context.Context) ([]uuid.UUID, error)
	FileRemoved(ctx context.Context, id uuid.UUID) error

	// WorkSources has the worker read what waits to be read, a few at a time, until the context ends and the worker is done.
	// What the worker returns an error for comes again.
	WorkSources(ctx context.Context, worker Worker, log *slog.Logger)
}

// Found is what reading a data source brought: either a failure or the rest.
type Found struct {
	Failure   string
	PageCount int
	Chunks    []Chunk
}

// Worker reads a data source.
type Worker interface {
	ReadSource(ctx context.Context, id uuid.UUID) error
}

// Events is told what has become of data sources once it is committed. Its methods are called from many goroutines and never
// block. Two events about one data source may overtake each other: the record with the higher Revision is the newer one.
type Events interface {
	SourceChanged(owner Owner, source Source)
	SourceDeleted(owner Owner, id uuid.UUID)
}
