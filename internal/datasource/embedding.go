package datasource

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/index"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// Embedder converts texts to vectors. It must be safe for concurrent use.
type Embedder interface {
	// Embed returns a vector for each text, all of the same length.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

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

// EmbeddingStore stores vectors of passages.
type EmbeddingStore interface {
	// UseModel returns the state of a model and adds the model if it is new. Each call also removes some vectors of
	// models that no server has used for a day.
	UseModel(ctx context.Context, model EmbeddingModel) (ModelState, error)
	// ClaimEmbedding claims a turn for a data source with passages without vectors, and returns at most limit of them.
	// It selects the data source with the fewest turns, and among these the newest. found is false if there is none.
	// The caller holds the turn for a lease, which RenewEmbedding and PutVectors renew.
	ClaimEmbedding(ctx context.Context, modelID, limit int, lease time.Duration) (_ EmbeddingTurn, found bool, _ error)
	// RenewEmbedding renews the lease of a turn. It returns fault.NotFound if the caller has lost the turn.
	RenewEmbedding(ctx context.Context, turn EmbeddingTurn, lease time.Duration) error
	// PutVectors stores vectors. Like RenewEmbedding, it returns fault.NotFound if the turn is not the latest one. It
	// returns fault.Conflict if earlier vectors of the model have another length. With e.ReturnSource, it returns the data
	// source.
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
}
