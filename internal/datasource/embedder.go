package datasource

import (
	"context"
	"errors"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/index"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

const (
	turnPassages  = 512              // Embedded in a turn, so that a long file delays others little.
	batchPassages = 64               // Embedded, stored and told at once.
	embedLease    = 10 * time.Second // A server silent for longer has lost its turn.
	askTimeout    = 2 * time.Second  // For the vector of a question. Without it passages are found by words alone.
	askPause      = 30 * time.Second // No vector is asked for so long after that failed.
)

// Embedding configures what passages mean. The zero value finds them by their words alone.
type Embedding struct {
	Embedder Embedder // Nil for none.
	Model    EmbeddingModel
	// How often it is looked for passages without vectors, and what pauses after failures begin with. Default 15 s.
	Rest time.Duration
}

// Questions returns a vector of unit length for each question.
func (e Embedding) Questions(ctx context.Context, questions []string) ([][]float32, error) {
	texts := make([]string, len(questions))
	for i, q := range questions {
		texts[i] = e.Model.QueryPrefix + q
	}
	return e.embed(ctx, texts)
}

// Passages returns a vector of unit length for each passage of a data source: of its text and, as with its words, of
// title and headings.
func (e Embedding) Passages(ctx context.Context, filename string, chunks []Chunk) ([][]float32, error) {
	title := strings.TrimSuffix(filename, path.Ext(filename)) + "\n"
	texts := make([]string, len(chunks))
	for i, c := range chunks {
		texts[i] = e.Model.PassagePrefix + title
		if headings := extract.Headings(c.Locator); headings != "" {
			texts[i] += headings + "\n"
		}
		texts[i] += c.Text
	}
	return e.embed(ctx, texts)
}

func (e Embedding) embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := e.Embedder.Embed(ctx, texts)
	for _, v := range vectors {
		index.Normalize(v)
	}
	return vectors, err
}

// embedder embeds passages in the background, and questions when they are asked.
//
// Whatever is wrong with vectors, passages are found by their words: while the embedder is away or slow, until all
// passages that are searched have vectors of this server's model, and where vectors have not shown to find more.
type embedder struct {
	service *Service
	cfg     Embedding
	woken   chan struct{} // Holds a value while there may be passages to embed.
	state   atomic.Pointer[ModelState]
	away    atomic.Int64 // Until when, in Unix nanoseconds, no question is embedded.
}

// wake has run look now.
func (e *embedder) wake() {
	select {
	case e.woken <- struct{}{}:
	default:
	}
}

// run embeds what has no vectors until the context ends.
func (e *embedder) run(ctx context.Context) {
	if e.cfg.Embedder == nil {
		return
	}
	rest := time.NewTicker(e.cfg.Rest)
	defer rest.Stop()
	for {
		if err := e.work(ctx); err != nil && ctx.Err() == nil {
			e.service.log.WarnContext(ctx, "passages are embedded later", "model", e.cfg.Model.Name, "err", err)
		} else if err == nil && e.measureIfDue(ctx) {
			continue
		}
		select {
		case <-rest.C:
		case <-e.woken:
		case <-ctx.Done():
			return
		}
	}
}

// work embeds until all passages have vectors.
func (e *embedder) work(ctx context.Context) error {
	for ctx.Err() == nil {
		state, err := e.service.store.UseModel(ctx, e.cfg.Model)
		if err != nil {
			return err
		}
		e.state.Store(&state)
		turn, found, err := e.service.store.NextEmbedding(ctx, state.ID, turnPassages, embedLease)
		if err != nil || !found {
			return err
		}
		if err := e.turn(ctx, turn); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// turn embeds the passages of a turn. One that was deleted meanwhile, or that another server goes on with, is no error.
func (e *embedder) turn(ctx context.Context, turn EmbeddingTurn) error {
	own, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		e.keep(own, turn, cancel)
	}()
	defer func() { cancel(nil); <-kept }()
	err := e.embed(own, turn)
	if err == nil || fault.CodeOf(err) == fault.NotFound || errors.Is(context.Cause(own), errLost) {
		return nil
	}
	pause, free := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer free()
	return errors.Join(err, e.service.store.PauseEmbedding(pause, turn, e.cfg.Rest))
}

// keep renews the lease of a turn until the context ends.
func (e *embedder) keep(ctx context.Context, turn EmbeddingTurn, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(embedLease / 4)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if err := e.service.store.KeepEmbedding(ctx, turn, embedLease); fault.CodeOf(err) == fault.NotFound {
			cancel(errLost)
		}
	}
}

// embed stores vectors of the passages of a turn, batch by batch.
func (e *embedder) embed(ctx context.Context, turn EmbeddingTurn) error {
	told := time.Now()
	for from := 0; from < len(turn.Chunks); from += batchPassages {
		batch := turn.Chunks[from:min(from+batchPassages, len(turn.Chunks))]
		vectors, err := e.cfg.Passages(ctx, turn.Filename, batch)
		if err != nil {
			return err
		}
		embedded := Embedded{From: batch[0].Ordinal, Vectors: vectors, Lease: embedLease}
		done := embedded.From + len(batch)
		if from+batchPassages >= len(turn.Chunks) {
			embedded.Lease = 0
		}
		embedded.Tell = done == turn.Total || time.Since(told) >= e.service.readers.cfg.Told
		source, err := e.service.store.PutVectors(ctx, turn, embedded)
		if err != nil {
			return err
		}
		if source != nil {
			told = time.Now()
			e.service.events.SourceChanged(turn.Owner, *source)
		}
	}
	return nil
}

// meaning is what a question means, being asked for.
type meaning struct {
	embedder *embedder // Nil if it does not matter.
	state    ModelState
	ctx      context.Context //nolint:containedctx // Of one Retrieve.
	end      context.CancelFunc
	vector   chan []float32 // Receives one, or nil.
}

// ask begins to embed a question. end must be called.
func (e *embedder) ask(ctx context.Context, query string) meaning {
	m := meaning{end: func() {}}
	state := e.state.Load()
	if state == nil || state.Weight <= 0 || time.Now().UnixNano() < e.away.Load() {
		return m
	}
	limited, cancel := context.WithTimeout(ctx, askTimeout)
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
		if ctx.Err() == nil && !errors.Is(limited.Err(), context.Canceled) { // It is still wanted.
			e.away.Store(time.Now().Add(askPause).UnixNano())
			e.service.log.WarnContext(ctx, "passages are found by words alone for a while", "model", e.cfg.Model.Name,
				"err", err)
		}
	}()
	return m
}

// fuse adds to the scores of passages what they mean, if that is known of all of them in time.
func (m meaning) fuse(owner Owner, of []Indexed, scores [][]float64) {
	if m.embedder == nil || len(of) == 0 {
		return
	}
	vectors, ok, err := m.embedder.service.openVectors(m.ctx, owner, of, m.state.ID)
	if err != nil || !ok {
		return
	}
	query := <-m.vector
	similarities := make([][]float64, len(vectors))
	for i, v := range vectors {
		if v.Dimensions != len(query) || len(v.Values) != len(scores[i])*v.Dimensions {
			return
		}
		similarities[i] = v.Similarities(query)
	}
	index.Fuse(scores, similarities, m.state.Weight)
}

// vectorKey names the vectors of a data source, of this server's model.
type vectorKey struct {
	source  uuid.UUID
	reading int64
}

// openVectors returns the vectors of data sources, from memory where they are there. ok is false if some are missing,
// or if they are more than may be kept in memory.
func (s *Service) openVectors(ctx context.Context, owner Owner, of []Indexed, modelID int) (vectors []index.Vectors,
	ok bool, _ error,
) {
	vectors = make([]index.Vectors, len(of))
	var missing []Indexed
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
