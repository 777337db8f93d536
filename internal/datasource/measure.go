package datasource

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/index"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

const (
	measureFrom        = 100             // Passages with vectors required for a measurement.
	measurePeople      = 5               // People whose data sources are used, at random.
	measureTrials      = 200             // Total number of questions.
	measureMaxPassages = 4000            // Largest number of passages of one person.
	measureLease       = 5 * time.Minute // Lease of one server for the measurement.
)

// measureIfDue measures the weight of vectors if their number has doubled since the last measurement, and reports
// whether it did.
//
// The questions are taken from the corpus: a sentence is removed from its passage, and the search must find the
// remaining passage among the others (an inverse cloze task). The question then shares few words with its passage, like
// a person's question that uses other words than the document.
func (e *embedder) measureIfDue(ctx context.Context) bool {
	state := e.state.Load()
	if state == nil || state.Embedded < measureFrom || state.Embedded < 2*state.Measured {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, measureLease)
	defer cancel()
	sample, claimed, err := e.service.store.ClaimMeasure(ctx, state.ID, measurePeople, MaxSearchSources, measureLease)
	if err == nil && !claimed {
		return false
	}
	var weight float64
	if err == nil {
		weight, err = e.measure(ctx, *state, sample)
	}
	if err == nil {
		err = e.service.store.PutWeight(ctx, state.ID, weight, state.Embedded)
	}
	if err != nil && ctx.Err() == nil {
		e.service.log.WarnContext(ctx, "datasource: measuring the weight of vectors failed, retrying",
			"model", e.cfg.Model.Name, "err", err)
	}
	return err == nil
}

// measure evaluates questions about some people's data sources.
func (e *embedder) measure(
	ctx context.Context, state ModelState, sample map[identity.Owner][]uuid.UUID,
) (weight float64, _ error) {
	var trials []index.Trial
	for owner, ids := range sample {
		of, err := e.tryOut(ctx, state, owner, ids, measureTrials/len(sample))
		if err != nil {
			return 0, err
		}
		trials = append(trials, of...)
	}
	weight, words, fused := index.Weigh(trials)
	e.service.log.InfoContext(ctx, "measured what vectors are worth", "model", e.cfg.Model.Name, "passages",
		state.Embedded, "questions", len(trials), "mrr_words", words, "mrr_fused", fused, "weight", weight)
	return weight, nil
}

// cloze is a question: a sentence removed from a passage.
type cloze struct {
	document, passage int
	sentence          string
}

// tryOut evaluates questions about one person's data sources.
func (e *embedder) tryOut(ctx context.Context, state ModelState, owner identity.Owner, ids []uuid.UUID, count int) (
	[]index.Trial, error,
) {
	of, err := e.service.store.FindIndexes(ctx, owner, ids)
	if err != nil {
		return nil, err
	}
	passages := 0
	of = slices.DeleteFunc(of, func(o IndexedSource) bool {
		passages += o.Passages
		return passages > measureMaxPassages
	})
	vectors, ok, err := e.service.openVectors(ctx, owner, of, state.ID)
	if err != nil || !ok {
		return nil, err
	}
	documents := make([]Document, len(of))
	for i, o := range of {
		d := Document{Filename: o.Filename, Vectors: vectors[i]}
		if d.Chunks, err = e.service.store.ListChunks(ctx, owner, o); err != nil {
			return nil, err
		}
		if len(d.Chunks)*d.Vectors.Dimensions != len(d.Vectors.Values) {
			return nil, nil // It was read again meanwhile.
		}
		documents[i] = d
	}
	return e.cfg.RunTrials(ctx, documents, count)
}

// Document is the searchable content of a data source.
type Document struct {
	Filename string
	Chunks   []Chunk
	Vectors  index.Vectors // Of the chunks.
}

// RunTrials draws at most count questions from documents, and evaluates the search by words alone and with vectors. It
// does not modify documents.
func (e Embedding) RunTrials(ctx context.Context, documents []Document, count int) ([]index.Trial, error) {
	documents = slices.Clone(documents)
	for i, d := range documents {
		documents[i].Chunks, documents[i].Vectors.Values = slices.Clone(d.Chunks), slices.Clone(d.Vectors.Values)
	}
	questions := drawQuestions(documents, count)
	if len(questions) == 0 {
		return nil, nil
	}
	sentences := make([]string, len(questions))
	for i, q := range questions {
		sentences[i] = q.sentence
	}
	for i, d := range documents { // Recompute the vectors of the shortened passages.
		var left []Chunk
		for _, q := range questions {
			if q.document == i {
				left = append(left, d.Chunks[q.passage])
			}
		}
		vectors, err := e.Passages(ctx, d.Filename, left)
		if err != nil {
			return nil, err
		}
		for j, c := range left {
			copy(d.Vectors.Values[c.Ordinal*d.Vectors.Dimensions:], vectors[j])
		}
	}
	asked, err := e.Questions(ctx, sentences)
	if err != nil {
		return nil, err
	}
	c, err := collectionOf(documents)
	if err != nil {
		return nil, err
	}
	trials := make([]index.Trial, len(questions))
	for i, q := range questions {
		scores, err := c.Scores(index.NewQuery(q.sentence))
		if err != nil {
			return nil, err
		}
		similarities := make([][]float64, len(documents))
		for j, d := range documents {
			similarities[j] = d.Vectors.Similarities(asked[i])
		}
		trials[i] = index.NewTrial(scores, similarities, q.document, q.passage)
	}
	return trials, nil
}

// collectionOf builds the searchable indexes of documents.
func collectionOf(documents []Document) (index.Collection, error) {
	packed := make([]index.PackedIndex, len(documents))
	c := index.Collection{Part: func(document, part int) []byte { return packed[document].Parts[part] }}
	for i, d := range documents {
		packed[i] = buildIndex(d.Filename, d.Chunks)
		opened, err := index.Open(packed[i].Head)
		if err != nil {
			return c, err
		}
		c.Documents = append(c.Documents, opened)
	}
	return c, nil
}

// drawQuestions removes sentences from passages, at most count and from at most one passage in four.
func drawQuestions(documents []Document, count int) (drawn []cloze) {
	var all []cloze
	for i, d := range documents {
		for j := range d.Chunks {
			all = append(all, cloze{document: i, passage: j})
		}
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] }) //nolint:gosec // A sample; no secret.
	for _, q := range all[:len(all)/4] {
		chunk := &documents[q.document].Chunks[q.passage]
		if q.sentence = longestSentence(chunk.Text); q.sentence == "" || len(drawn) == count {
			continue
		}
		chunk.Text = strings.Replace(chunk.Text, q.sentence, "", 1)
		drawn = append(drawn, q)
	}
	return drawn
}

// longestSentence returns the longest suitable sentence of a passage, "" if the rest of the passage would be too short.
func longestSentence(text string) (longest string) {
	const least, most, left = 12, 120, 60 // Characters.
	rest := text
	for rest != "" {
		at := strings.IndexAny(rest, "。！？\n")
		if at < 0 {
			at = len(rest) - 1
		}
		_, width := utf8.DecodeRuneInString(rest[at:])
		sentence := strings.TrimSpace(rest[:min(at+width, len(rest))])
		rest = rest[min(at+width, len(rest)):]
		if n := utf8.RuneCountInString(sentence); n >= least && n <= most && len(sentence) > len(longest) {
			longest = sentence
		}
	}
	if utf8.RuneCountInString(text)-utf8.RuneCountInString(longest) < left {
		return ""
	}
	return longest
}
