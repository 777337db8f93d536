// Package picture keeps the pictures that people add to their questions.
//
// What is kept was decoded, scaled down and encoded again, by package raster in a process of its own. A picture belongs
// to the person who uploaded it; once a question has it, it lives as long as the last question that does. One that no
// question has is removed after a day. The package imports fault, datasource for the codes that uploads share, its own
// raster, and extract for refusals; it knows no database and no file system.
package picture

import (
	"context"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/picture/raster"
)

// MaxPerQuestion is how many pictures a question may have.
const MaxPerQuestion = 10

// Owner identifies the person who owns pictures. They are shown to that person only.
type Owner struct {
	OrganizationID uuid.UUID
	UserID         uuid.UUID
}

// Picture is a picture as it is kept. Its file is the thumbnail and, after that, the full form.
type Picture struct {
	ID            uuid.UUID
	Width         int // Of the full form, in pixels,
	Height        int // as this.
	MediaType     string
	Size          int64 // Of the full form, in bytes.
	ThumbnailSize int64
}

// Store keeps what is known of pictures. For a picture of somebody else, the error has the code fault.NotFound, as if
// it did not exist.
type Store interface {
	// MarkOrphan stores that the file of this id, which is about to be written or belongs to nothing, is an orphan
	// after a time unless CreatePicture claims it.
	MarkOrphan(ctx context.Context, id uuid.UUID, after time.Duration) error

	// CreatePicture stores a picture whose file was written. MarkOrphan must have been called before. If the owner has
	// created one with the same request id, the new file is an orphan at once and the existing one is returned, with
	// created false. datasource.StorageLimit says that the owner's files would have more than limit bytes together, or
	// the organization's more than its contract allows. The errors for an owner who was removed or signed out
	// meanwhile are those of datasource.Store.
	CreatePicture(ctx context.Context, owner Owner, session uuid.UUID, requestID *uuid.UUID, picture Picture,
		limit int64) (_ Picture, created bool, _ error)

	// FindPictures returns pictures in the order of their ids. fault.NotFound says that one is missing.
	FindPictures(ctx context.Context, owner Owner, ids []uuid.UUID) ([]Picture, error)

	// DeletePicture removes a picture; its file becomes an orphan. fault.Conflict says that a question has it.
	DeletePicture(ctx context.Context, owner Owner, id uuid.UUID) error

	// DeleteUnused removes pictures that are older than age and that no question has, at most limit, and returns how
	// many. Servers that call it at the same time share the work.
	DeleteUnused(ctx context.Context, age time.Duration, limit int) (int, error)
}

// Files stores files by id. *bucket.Bucket is one.
type Files interface {
	// Write stores a file whole and durably, or not at all.
	Write(ctx context.Context, id uuid.UUID, content io.Reader) error
	// Open returns a file, which the caller closes.
	Open(ctx context.Context, id uuid.UUID) (io.ReadCloser, error)
}

// Reader reads untrusted pictures in isolation. It is safe for concurrent use.
type Reader interface {
	// ReadPicture returns a picture as it is kept. An *extract.Unreadable says what is wrong with the file; any other
	// error says nothing about it.
	ReadPicture(ctx context.Context, file io.Reader) (raster.Picture, error)
}
