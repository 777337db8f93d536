package datasource

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/index"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/timeout"
	"github.com/tsumugi-ai/tsumugi/internal/work"
)

const (
	turnPassages    = 512              // Passages of one turn. It limits the delay that a long file causes for others.
	batchPassages   = 64               // Passages that are embedded, stored and reported together.
	questionTimeout = 2 * time.Second  // For the vector of a question. After it, the search uses words only.
	questionPause   = 30 * time.Second // Pause after a failure, during which no question is embedded.
)

// embedLease is the lease of a turn.
var embedLease = work.Lease{Duration: 10 * time.Second, Renewal: 2500 * time.Millisecond}

// Embedding configures semantic search. The zero value disables it, so that search uses words only.
type Embedding struct {
	// Embed returns a vector for each text, all of the same length. It must be safe for concurrent use. Nil disables
	// semantic search.
	Embed func(ctx context.Context, texts []string) ([][]float32, error)
	Model EmbeddingModel
	// Interval of searching for passages without vectors, and the first pause after a failure. Default 15 s.
	Interval time.Duration
}

// Questions returns a vector of unit length for each question.
func (e Embedding) Questions(ctx context.Context, questions []string) ([][]float32, error) {
	texts := make([]string, len(questions))
	for i, q := range questions {
		texts[i] = e.Model.QueryPrefix + q
	}
	return e.embed(ctx, texts)
}

// Passages returns a vector of unit length for each passage of a data source. Like the index, it includes the title and
// the headings in the text of a passage.
func (e Embedding) Passages(ctx context.Context, filename string, chunks []Chunk) ([][]float32, error) {
	texts := make([]string, len(chunks))
	for i, c := range chunks {
		texts[i] = e.Model.PassagePrefix + title(filename) + "\n"
		if headings := extract.Headings(c.Locator); headings != "" {
			texts[i] += headings + "\n"
		}
		texts[i] += c.Text
	}
	return e.embed(ctx, texts)
}

func (e Embedding) embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := e.Embed(ctx, texts)
	for _, v := range vectors {
		index.Normalize(v)
	}
	return vectors, err
}

// embedder computes the vectors of passages in the background, and those of questions on request.
//
// Search always works by words. It does so without vectors while the embedding model is unavailable or slow, while some
// of the searched passages have no vector of this server's model, and unless measurements have shown that vectors improve
// the results.
type embedder struct {
	service     *Service
	cfg         Embedding
	wakeup      work.Signal // There may be passages to embed.
	state       atomic.Pointer[ModelState]
	pausedUntil atomic.Int64 // End of the pause for questions, in Unix nanoseconds.

	embedded, failures atomic.Int64 // See Stats.
	failing            atomic.Bool
}

func newEmbedder(service *Service, cfg Embedding) *embedder {
	e := &embedder{service: service, cfg: cfg, wakeup: work.NewSignal()}
	if cfg.Embed != nil {
		e.cfg.Embed = func(ctx context.Context, texts []string) ([][]float32, error) {
			vectors, err := cfg.Embed(ctx, texts)
			e.count(ctx, len(texts), err)
			return vectors, err
		}
	}
	return e
}

// count counts a request for Stats.
func (e *embedder) count(ctx context.Context, texts int, err error) {
	switch {
	case err == nil:
		e.embedded.Add(int64(texts))
		e.failing.Store(false)
	case !errors.Is(ctx.Err(), context.Canceled): // The caller still needs the vectors.
		e.failures.Add(1)
		e.failing.Store(true)
	}
}

// start starts to embed passages without vectors.
func (e *embedder) start() {
	if e.cfg.Embed != nil {
		e.service.group.Every(e.cfg.Interval, e.wakeup, e.run, "passages are embedded later", "model", e.cfg.Model.Name)
	}
}

// run embeds until all passages have vectors, and measures the weight of the vectors when due.
func (e *embedder) run(ctx context.Context) error {
	for {
		if err := e.embedAll(ctx); err != nil || !e.measureIfDue(ctx) {
			return err
		}
	}
}

// embedAll embeds until all passages have vectors.
func (e *embedder) embedAll(ctx context.Context) error {
	for ctx.Err() == nil {
		state, err := e.service.store.UseModel(ctx, e.cfg.Model)
		if err != nil {
			return err
		}
		e.state.Store(&state)
		turn, found, err := e.service.store.ClaimEmbedding(ctx, state.ID, turnPassages, embedLease.Duration)
		if err != nil || !found {
			return err
		}
		if err := e.turn(ctx, turn); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// turn embeds the passages of a turn. It returns no error if the data source was deleted or another server has taken
// over.
func (e *embedder) turn(ctx context.Context, turn EmbeddingTurn) error {
	err := embedLease.Hold(ctx, func(ctx context.Context) error {
		err := e.service.store.RenewEmbedding(ctx, turn, embedLease.Duration)
		if fault.CodeOf(err) == fault.NotFound {
			return work.ErrLost
		}
		return err
	}, func(ctx context.Context) error { return e.embed(ctx, turn) })
	if err == nil || fault.CodeOf(err) == fault.NotFound || errors.Is(err, work.ErrLost) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout.Store)
	defer cancel()
	return errors.Join(err, e.service.store.PauseEmbedding(ctx, turn, e.cfg.Interval))
}

// embed computes and stores the vectors of a turn in batches.
func (e *embedder) embed(ctx context.Context, turn EmbeddingTurn) error {
	told := time.Now()
	for from := 0; from < len(turn.Chunks); from += batchPassages {
		batch := turn.Chunks[from:min(from+batchPassages, len(turn.Chunks))]
		vectors, err := e.cfg.Passages(ctx, turn.Filename, batch)
		if err != nil {
			return err
		}
		embedded := VectorBatch{From: batch[0].Ordinal, Vectors: vectors, Lease: embedLease.Duration}
		done := embedded.From + len(batch)
		if from+batchPassages >= len(turn.Chunks) {
			embedded.Lease = 0
		}
		embedded.ReturnSource = done == turn.Total || time.Since(told) >= e.service.readers.cfg.ProgressInterval
		source, err := e.service.store.PutVectors(ctx, turn, embedded)
		if err != nil {
			return err
		}
		if source != nil {
			told = time.Now()
			e.service.changed(turn.Owner, *source)
		}
	}
	return nil
}

// questionVector is a pending vector of a question.
type questionVector struct {
	embedder *embedder // Nil if vectors are not used.
	state    ModelState
	ctx      context.Context //nolint:containedctx // The context of one Retrieve.
	end      context.CancelFunc
	vector   chan []float32 // Receives one vector, or nil.
}

// ask starts to embed a question. The caller must call end.
func (e *embedder) ask(ctx context.Context, query string) questionVector {
	m := questionVector{end: func() {}}
	state := e.state.Load()
	if state == nil || state.Weight <= 0 || time.Now().UnixNano() < e.pausedUntil.Load() {
		return m
	}
	limited, cancel := context.WithTimeout(ctx, questionTimeout)
	m.embedder, m.state, m.ctx, m.vector = e, *state, limited, make(chan []float32, 1)
	ended := make(chan struct{})
	m.end = func() { cancel(); <-ended }
	go func() {
		defer close(ended)
		vectors, err := e.cfg.Questions(limited, []string{query})
		if err == nil {
			m.vector <- vectors[0]
			return
		}
		m.vector <- nil
		if ctx.Err() == nil && !errors.Is(limited.Err(), context.Canceled) { // The caller still needs the vector.
			e.pausedUntil.Store(time.Now().Add(questionPause).UnixNano())
			e.service.log.WarnContext(ctx, "passages are found by words alone for a while", "model", e.cfg.Model.Name,
				"err", err)
		}
	}()
	return m
}

// fuse adds the similarities to the scores, if all vectors are available in time. open returns the vectors of the scored
// passages; ok is false if one is missing.
func (m questionVector) fuse(scores [][]float64,
	open func(ctx context.Context, modelID int) (_ []index.Vectors, ok bool, _ error),
) {
	if m.embedder == nil || len(scores) == 0 {
		return
	}
	vectors, ok, err := open(m.ctx, m.state.ID)
	if err != nil || !ok {
		return
	}
	query := <-m.vector
	similarities := make([][]float64, 0, len(scores))
	for i, list := range scores {
		v := vectors[i]
		if v.Dimensions != len(query) || len(v.Values) != len(list)*v.Dimensions {
			return
		}
		similarities = append(similarities, v.Similarities(query))
	}
	index.Fuse(scores, similarities, m.state.Weight)
}

// vectorKey identifies the vectors of a data source for this server's model.
type vectorKey struct {
	source  uuid.UUID
	reading int64
}

// openVectors returns the vectors of data sources and caches them in memory. ok is false if some are missing, or if
// they exceed the size of the cache.
func (s *Service) openVectors(
	ctx context.Context, owner identity.Owner, of []IndexedSource, modelID int,
) (vectors []index.Vectors, ok bool, _ error) {
	vectors = make([]index.Vectors, len(of))
	var missing []IndexedSource
	var places []int
	for i, o := range of {
		if kept, found := s.vectors.Get(vectorKey{o.ID, o.Reading}); found {
			vectors[i] = kept
		} else {
			missing, places = append(missing, o), append(places, i)
		}
	}
	if len(missing) == 0 {
		return vectors, true, nil
	}
	read, ok, err := s.store.FindVectors(ctx, owner, missing, modelID, s.vectors.Limit())
	if err != nil || !ok {
		return nil, false, err
	}
	for i, v := range read {
		vectors[places[i]] = v
		s.vectors.Put(vectorKey{missing[i].ID, missing[i].Reading}, v, 4*len(v.Values))
	}
	return vectors, true, nil
}
