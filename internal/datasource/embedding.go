package datasource

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/index"
)

// Embedder turns texts into vectors. It is safe for concurrent use.
type Embedder interface {
	// Embed returns a vector for each text, all of the same length.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// EmbeddingModel names what turns texts into vectors. Vectors of different ones are never compared.
type EmbeddingModel struct {
	Name          string // As the provider calls it.
	QueryPrefix   string // What stands before a question,
	PassagePrefix string // and before a passage, as some models want it.
}

// ModelState is what all servers know of an EmbeddingModel.
type ModelState struct {
	ID       int
	Weight   float64 // What similarity is worth beside words, as measured; 0 for nothing.
	Measured int64   // How many passages had vectors then,
	Embedded int64   // and how many have now.
}

// EmbeddingTurn is a server's turn to embed passages of a data source.
type EmbeddingTurn struct {
	Owner    Owner
	SourceID uuid.UUID
	Filename string
	ModelID  int
	Turn     int64 // Names it among those of the data source and the model.
	Total    int   // The passages of the data source.
	Chunks   []Chunk
}

// Embedded are passages of a turn that were embedded, from one on.
type Embedded struct {
	From    int         // The ordinal of the first one.
	Vectors [][]float32 // Of unit length.
	Lease   time.Duration
	Tell    bool // Whether progress is to be told.
}

// EmbeddedPassage is a passage and what is known of its vector.
type EmbeddedPassage struct {
	Passage
	Model      string // "" without a vector,
	Dimensions int    // and 0.
}

// EmbeddingStore keeps vectors of passages.
type EmbeddingStore interface {
	// UseModel returns what is known of a model, adding it if it is new. Vectors of models that no server has used for
	// a day are removed, some with each call.
	UseModel(ctx context.Context, model EmbeddingModel) (ModelState, error)
	// NextEmbedding begins a turn with a data source that has passages without vectors, at most limit of them: the one
	// that had the fewest turns, among those the newest. found is false if there is none. The turn is the caller's for
	// the time of a lease, which KeepEmbedding and PutVectors renew.
	NextEmbedding(ctx context.Context, modelID, limit int, lease time.Duration) (_ EmbeddingTurn, found bool, _ error)
	// KeepEmbedding renews the lease of a turn. fault.NotFound says that it is no longer the caller's.
	KeepEmbedding(ctx context.Context, turn EmbeddingTurn, lease time.Duration) error
	// PutVectors stores vectors. As with KeepEmbedding, it is refused where the turn is not the last one;
	// fault.Conflict says that vectors of the model had another length before. The data source is returned if it is to
	// be told.
	PutVectors(ctx context.Context, turn EmbeddingTurn, e Embedded) (*Source, error)
	// PauseEmbedding ends a turn that failed. The next one begins after a pause that grows with each failure.
	PauseEmbedding(ctx context.Context, turn EmbeddingTurn, pause time.Duration) error
	// FindVectors returns the vectors of data sources, all of their passages in order. ok is false if there are not
	// vectors of the model for all passages of all of them, or if they are more than limit bytes together.
	FindVectors(ctx context.Context, owner Owner, of []Indexed, modelID, limit int) (
		_ []index.Vectors, ok bool, _ error,
	)
	// ClaimMeasure has the caller measure the weight of a model for the time of a lease, unless another server does,
	// and returns data sources of some people that are embedded, at most limit of each person.
	ClaimMeasure(ctx context.Context, modelID, people, limit int, lease time.Duration) (_ map[Owner][]uuid.UUID,
		claimed bool, _ error)
	// PutWeight stores what was measured, when so many passages had vectors.
	PutWeight(ctx context.Context, modelID int, weight float64, embedded int64) error
}
