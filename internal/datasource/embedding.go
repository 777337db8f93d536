package datasource

import (
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// EmbeddingModel identifies a model. Vectors of different models are never compared.
type EmbeddingModel struct {
	Name          string // The provider's name for the model.
	QueryPrefix   string // Prefix of a question, for models that require one.
	PassagePrefix string // Prefix of a passage.
}

// ModelState is the shared state of an EmbeddingModel.
type ModelState struct {
	ID       int
	Weight   float64 // Measured weight of similarity relative to words; 0 disables vectors.
	Measured int64   // Number of passages with vectors at the last measurement.
	Embedded int64   // Current number of passages with vectors.
}

// EmbeddingTurn is a server's claim to embed passages of a data source.
type EmbeddingTurn struct {
	Owner    identity.Owner
	SourceID uuid.UUID
	Filename string
	ModelID  int
	Turn     int64 // Unique among the turns of the data source and the model.
	Total    int   // Number of passages of the data source.
	Chunks   []Chunk
}

// VectorBatch contains the vectors of consecutive passages of a turn.
type VectorBatch struct {
	From         int         // Ordinal of the first passage.
	Vectors      [][]float32 // Of unit length.
	Lease        time.Duration
	ReturnSource bool // Return the data source to report its progress.
}

// EmbeddedPassage is a passage and a description of its vector.
type EmbeddedPassage struct {
	Passage
	Model      string // "" without a vector.
	Dimensions int    // 0 without a vector.
}
