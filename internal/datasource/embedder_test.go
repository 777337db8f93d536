package datasource_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// embedFunc is an embedder that computes each vector with a function, and fails while it is unavailable.
type embedFunc struct {
	vector func(text string) []float32
	away   atomic.Bool
	calls  atomic.Int64

	mu    sync.Mutex
	texts []string // Guarded by mu.
}

func (e *embedFunc) Embed(_ context.Context, texts []string) ([][]float32, error) {
	e.calls.Add(1)
	if e.away.Load() {
		return nil, errors.New("away")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.texts = append(e.texts, texts...)
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = e.vector(text)
	}
	return vectors, nil
}

func embedding(e *embedFunc, model string) datasource.Config {
	return datasource.Config{Embedding: datasource.Embedding{
		Embed: e.Embed, Interval: 20 * time.Millisecond,
		Model: datasource.EmbeddingModel{Name: model, QueryPrefix: "query: ", PassagePrefix: "passage: "},
	}}
}

// matters returns the vector of a text's topics. A word consists of m, a topic number, and a letter for its synonym.
func matters(text string) []float32 {
	v := make([]float32, 60)
	for word := range strings.FieldsSeq(text) {
		var matter int
		var way rune
		if n, _ := fmt.Sscanf(word, "m%02d%c", &matter, &way); n == 2 {
			v[matter]++
		}
	}
	return v
}

// manual returns a text of 60 paragraphs. Each is about one topic, with a different synonym in each sentence.
func manual() string {
	r := rand.New(rand.NewPCG(2, 2)) //nolint:gosec // Reproducible.
	var b strings.Builder
	for matter := range 60 {
		for sentence := range 8 {
			for range 6 {
				fmt.Fprintf(&b, "m%02d%c ", matter, 'a'+sentence)
			}
			fmt.Fprintf(&b, "is x%d.\n", r.IntN(9))
		}
		b.WriteString("\n\n")
	}
	return b.String()
}

// manuals uploads four manuals and waits until they are read.
func (f *fixture) manuals() []uuid.UUID {
	f.t.Helper()
	var files [][2]string
	for _, letter := range []string{"x", "y", "z", "w"} {
		files = append(files, [2]string{"手引" + letter + ".txt", strings.ReplaceAll(manual(), "x", letter)})
	}
	return f.read(f.ann, files...)
}

// weight waits until the weight of a model was measured over most passages, so that no further measurement follows.
func (f *fixture) weight(model string) (weight float64) {
	f.t.Helper()
	conn, err := pgx.Connect(f.t.Context(), f.dsn)
	f.must(err)
	defer func() { _ = conn.Close(context.Background()) }()
	must.Become(f.t, "the weight is measured", func() bool {
		var done bool
		err := conn.QueryRow(f.t.Context(), `
			SELECT weight, 2 * measured > (SELECT count(*) FROM data_source_chunks) FROM embedding_models
			WHERE name = $1`,
			model).Scan(&weight, &done)
		return err == nil && done
	})
	return weight
}

// embedded waits until all passages have a vector of a model.
func (f *fixture) embedded(model string) {
	f.t.Helper()
	conn, err := pgx.Connect(f.t.Context(), f.dsn)
	f.must(err)
	defer func() { _ = conn.Close(context.Background()) }()
	must.Become(f.t, "all passages have vectors", func() bool {
		var complete bool
		f.must(conn.QueryRow(f.t.Context(), `
			SELECT (SELECT count(*) FROM data_source_chunks) =
			       (SELECT count(*) FROM embedding_vectors v JOIN embedding_models m ON m.id = v.model_id
			           WHERE m.name = $1)`,
			model).Scan(&complete))
		return complete
	})
}

func ids(found []datasource.RetrievedPassage) (list []uuid.UUID) {
	for _, r := range found {
		list = append(list, r.ID)
	}
	return list
}

// TestR80_VectorsAreUsedOnceTheyImproveResults verifies search by words until the measurement and while the embedder is
// unavailable.
func TestR80_VectorsAreUsedOnceTheyImproveResults(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	model := &embedFunc{vector: matters}
	s := f.serviceWith(f.db, embedding(model, "good"))
	f.start(s)
	sources := f.manuals()
	if w := f.weight("good"); w <= 0 {
		t.Fatalf("the weight is %v", w)
	}
	byWords := f.retrieve(f.Service, f.ann, sources[:1], "m33z m33z")
	if len(byWords) != 0 {
		t.Fatalf("words that are in no passage find %+v", byWords)
	}
	var found []datasource.RetrievedPassage
	must.Become(f.t, "the server reads the weight", func() bool { // The server reads the weight at its next check.
		found = f.retrieve(s, f.ann, sources[:1], "m33z m33z")
		return len(found) > 0
	})
	if !strings.Contains(found[0].Text, "m33a") {
		t.Errorf("found %q", found[0].Text)
	}
	model.mu.Lock()
	if !slices.Contains(model.texts, "query: m33z m33z") || !slices.ContainsFunc(model.texts, func(text string) bool {
		return strings.HasPrefix(text, "passage: 手引x\n") && strings.Contains(text, "m00a")
	}) {
		t.Errorf("embedded %.300q", model.texts)
	}
	model.mu.Unlock()
	passage, err := s.FindPassage(t.Context(), f.ann, found[0].ID)
	if err != nil || passage.Model != "good" || passage.Dimensions != 60 {
		t.Errorf("%v, %+v", err, passage)
	}

	before := s.Stats()
	if before.Embedded == 0 || before.EmbedFailures != 0 || before.EmbedderFailing {
		t.Errorf("%+v", before)
	}
	model.away.Store(true)
	want := f.retrieve(f.Service, f.ann, sources, "m33a")
	if got := f.retrieve(s, f.ann, sources, "m33a"); !slices.Equal(ids(got), ids(want)) || len(want) == 0 {
		t.Errorf("while it is away %d are found, want %d", len(got), len(want))
	}
	if after := s.Stats(); after.Embedded != before.Embedded || after.EmbedFailures != 1 || !after.EmbedderFailing {
		t.Errorf("%+v", after)
	}
	calls := model.calls.Load()
	f.retrieve(s, f.ann, sources, "m33a")
	if model.calls.Load() != calls {
		t.Error("the embedder was called again during the pause")
	}
}

// TestR80_NoiseChangesNothing verifies that random vectors do not change passages, order or scores.
func TestR80_NoiseChangesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.serviceWith(f.db, embedding(&embedFunc{vector: llmtest.Noise}, "noise"))
	f.start(s)
	sources := f.manuals()
	if w := f.weight("noise"); w != 0 {
		t.Fatalf("noise weighs %v", w)
	}
	for _, query := range []string{"m01a", "x3 m20b y4", "m59h m02a is", "手引", "何もない"} {
		a, b := f.retrieve(f.Service, f.ann, sources, query), f.retrieve(s, f.ann, sources, query)
		if !slices.EqualFunc(a, b, func(x, y datasource.RetrievedPassage) bool { return x.ID == y.ID && x.Score == y.Score }) {
			t.Errorf("%q: %+v, want %+v", query, b, a)
		}
	}
}

// TestR80_ModelsAreNeverMixed verifies that search uses words until all passages have vectors of the new model. Vectors
// of the first model remain for servers that still use it, and are removed one day later.
func TestR80_ModelsAreNeverMixed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.serviceWith(f.db, embedding(&embedFunc{vector: matters}, "first"))
	first.Start()
	sources := f.manuals()
	f.weight("first")
	f.embedded("first") // The weight is measured before all passages have vectors.
	first.Stop()

	longer := &embedFunc{vector: func(text string) []float32 { return append(matters(text), 0, 0) }}
	longer.away.Store(true)
	f.exec(`INSERT INTO embedding_models (name, query_prefix, passage_prefix, weight, measured)
		VALUES ('second', 'query: ', 'passage: ', 1, 1000)`) // A weight that was measured before.
	second := f.serviceWith(f.db, embedding(longer, "second"))
	f.start(second)
	must.Become(f.t, "the second model embeds", func() bool { return longer.calls.Load() > 0 })
	want := f.retrieve(f.Service, f.ann, sources, "m33a m33z")
	for range 3 {
		got := f.retrieve(second, f.ann, sources, "m33a m33z")
		if !slices.EqualFunc(got, want,
			func(x, y datasource.RetrievedPassage) bool { return x.ID == y.ID && x.Score == y.Score }) {
			t.Errorf("found %+v, want %+v", got, want)
		}
	}
	longer.away.Store(false)
	f.exec(`UPDATE embeddings SET not_before = now()`) // Skip the pause.
	another := f.serviceWith(f.db, embedding(longer, "second"))
	f.start(another)
	f.embedded("second")
	must.Become(f.t, "the server uses the vectors", func() bool { return len(f.retrieve(another, f.ann, sources, "m33z")) > 0 })
	f.embedded("first")
	f.exec(`UPDATE embedding_models SET used_at = now() - interval '25 hours' WHERE name = 'first'`)
	f.start(f.serviceWith(f.db, embedding(longer, "second")))
	must.Become(f.t, "the vectors are removed", func() bool {
		return f.count(`SELECT count(*) FROM embedding_vectors v JOIN embedding_models m ON m.id = v.model_id
			WHERE m.name = 'first'`) == 0
	})
}

func (f *fixture) count(sql string) (n int) {
	f.t.Helper()
	conn, err := pgx.Connect(f.t.Context(), f.dsn)
	f.must(err)
	defer func() { _ = conn.Close(context.Background()) }()
	f.must(conn.QueryRow(f.t.Context(), sql).Scan(&n))
	return n
}

// TestEmbeddingIsTakenOver verifies that another server continues after the last batch of a dead server. The test also
// checks the progress, and that the file remains searchable.
func TestEmbeddingIsTakenOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start(f.Service)
	source := f.read(f.ann, [2]string{"手引.txt", strings.Repeat(manual(), 3)})[0]
	state, err := f.db.UseModel(t.Context(),
		datasource.EmbeddingModel{Name: "m", QueryPrefix: "query: ", PassagePrefix: "passage: "})
	f.must(err)
	dead, found, err := f.db.ClaimEmbedding(t.Context(), state.ID, 512, time.Hour)
	if err != nil || !found || dead.SourceID != source || len(dead.Chunks) < 100 {
		t.Fatalf("%v, %v, %d passages", err, found, len(dead.Chunks))
	}
	if _, found, err := f.db.ClaimEmbedding(t.Context(), state.ID, 512, time.Hour); found || err != nil {
		t.Fatalf("two servers have the same turn, %v", err)
	}
	put := datasource.VectorBatch{
		Vectors: [][]float32{make([]float32, 60), make([]float32, 60)}, Lease: time.Hour, ReturnSource: true,
	}
	told, err := f.db.PutVectors(t.Context(), dead, put)
	if err != nil || told.Stage != datasource.StageEmbedding || told.Done != 2 || told.Status != datasource.Success {
		t.Fatalf("%v, progress %+v", err, told)
	}
	if got := f.retrieve(f.Service, f.ann, []uuid.UUID{source}, "m33a"); len(got) == 0 {
		t.Error("nothing is found while it is embedded")
	}
	f.exec(`UPDATE embeddings SET not_before = now()`)
	model := &embedFunc{vector: matters}
	f.start(f.serviceWith(f.db, embedding(model, "m")))
	f.embedded("m")
	wantCode(t, f.db.RenewEmbedding(t.Context(), dead, time.Hour), "not_found")
	put.From = 2
	_, err = f.db.PutVectors(t.Context(), dead, put)
	wantCode(t, err, "not_found")
	must.Become(f.t, "the data source is embedded", func() bool {
		now, err := f.Find(t.Context(), f.ann, source)
		return err == nil && now.Stage == ""
	})
	model.mu.Lock()
	defer model.mu.Unlock()
	if strings.Contains(model.texts[0], dead.Chunks[0].Text) || !strings.Contains(model.texts[0], dead.Chunks[2].Text) {
		t.Errorf("it began with %q", model.texts[0])
	}
	f.must(f.Delete(t.Context(), f.ann, source))
	if n := f.count(`SELECT count(*) FROM embedding_vectors`); n != 0 {
		t.Errorf("%d vectors of the deleted data source remain", n)
	}
}

// TestVectorsOfAnotherLengthAreRefused replaces the model behind a name.
func TestVectorsOfAnotherLengthAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start(f.Service)
	f.read(f.ann, [2]string{"手引.txt", manual()})
	state, err := f.db.UseModel(t.Context(), datasource.EmbeddingModel{Name: "m"})
	f.must(err)
	turn, _, err := f.db.ClaimEmbedding(t.Context(), state.ID, 512, time.Hour)
	f.must(err)
	_, err = f.db.PutVectors(t.Context(), turn, datasource.VectorBatch{Vectors: [][]float32{{1, 0}}, Lease: time.Hour})
	f.must(err)
	_, err = f.db.PutVectors(t.Context(), turn,
		datasource.VectorBatch{From: 1, Vectors: [][]float32{{1}}, Lease: time.Hour})
	wantCode(t, err, "conflict")
}
