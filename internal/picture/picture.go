// Package picture stores the pictures that people add to their questions.
//
// Package raster decodes, scales and re-encodes each picture in a separate process before it is stored. A picture
// belongs to the person who uploaded it. A picture in a question lives as long as the last question that contains it. A
// picture in no question is removed after a day.
//
// The original is not stored: otherwise each later use would have to handle EXIF, formats and sizes, and the place and
// time of a photograph. The browser cannot scale pictures instead, because programs call the API too. A model receives
// pictures within the request, as data: URLs. A URL of this server would have to be reachable for the provider, and
// would stay valid after its thread is deleted.
//
// The package imports fault, timeout, uuidv7, sandbox and raster. It must not depend on a database or a file system.
package picture

import (
	"context"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// MaxPerQuestion is the largest number of pictures in a question.
const MaxPerQuestion = 10

// Picture describes a stored picture. Its file contains the thumbnail, followed by the full form.
type Picture struct {
	ID            uuid.UUID
	Width         int // Of the full form, in pixels.
	Height        int // Of the full form, in pixels.
	MediaType     string
	Size          int64 // Of the full form, in bytes.
	ThumbnailSize int64
	Shared        bool // Another member's picture, which its reader sees in a shared thread. Set by FindReadablePicture.
}

// Store stores the records of pictures. For another person's picture, the error has the code fault.NotFound, as for a
// picture that does not exist.
type Store interface {
	// MarkOrphan records that the file with this id becomes an orphan after the given time, unless CreatePicture claims
	// it. The file is about to be written or belongs to no picture.
	MarkOrphan(ctx context.Context, id uuid.UUID, after time.Duration) error

	// CreatePicture stores a picture whose file was written. The caller must call MarkOrphan first. If the owner has
	// already created a picture with the same request id, the new file becomes an orphan at once, and CreatePicture
	// returns the existing picture with created false. The error has the code fault.StorageLimit if the owner's
	// files would exceed limit bytes, or the organization's files its contractual limit. For an owner who was
	// removed or signed out meanwhile, the errors are those of datasource.Store.
	CreatePicture(ctx context.Context, owner identity.Owner, session uuid.UUID, requestID *uuid.UUID, picture Picture,
		limit int64) (_ Picture, created bool, _ error)

	// FindPictures returns pictures in the order of ids. It returns fault.NotFound if one is missing.
	FindPictures(ctx context.Context, owner identity.Owner, ids []uuid.UUID) ([]Picture, error)

	// FindReadablePicture returns a picture of the reader, or of a question in a shared thread that the reader may read.
	FindReadablePicture(ctx context.Context, reader identity.Owner, id uuid.UUID) (Picture, error)

	// DeletePicture removes a picture and makes its file an orphan. It returns fault.Conflict if a question contains
	// it.
	DeletePicture(ctx context.Context, owner identity.Owner, id uuid.UUID) error

	// DeleteUnused removes at most limit pictures that are older than age and in no question, and returns their number.
	// Servers that call it concurrently remove different pictures.
	DeleteUnused(ctx context.Context, age time.Duration, limit int) (int, error)
}

// Files stores files by id. *bucket.Bucket implements it.
type Files interface {
	// Write stores a file completely and durably, or not at all.
	Write(ctx context.Context, id uuid.UUID, content io.Reader) error
	// Open returns a file. The caller must close it.
	Open(ctx context.Context, id uuid.UUID) (io.ReadCloser, error)
}
