package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extractor"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/index"
)

// Goals of retrieval, in percent.
var goals = []struct {
	name     string
	all      bool
	at1, at5 float64
}{{"own article", false, 93, 98}, {"all articles", true, 91.7, 97.2}}

type question struct {
	Q, Doc string
	PID    string // Document, "p", and the number of the gold paragraph from 0, as in d00p012.
}

// article is a document that is searched.
type article struct {
	datasource.Document
	index  *index.Document
	packed index.PackedIndex
	golds  [][2]int // Byte ranges of the paragraphs, without the title.
}

// measureFinding searches the passage for every question, first in the question's article and then in all articles. The
// rank of a question is the place of the first passage with text of the gold paragraph. With an embedder, it searches
// by words only, and then with vectors at the weight that the server would use.
func measureFinding(ctx context.Context, w io.Writer, reader *extractor.Extractor, dir string,
	embedding datasource.Embedding,
) (met bool, _ error) {
	articles, number, err := readArticles(ctx, reader, dir)
	if err != nil {
		return false, err
	}
	questions, err := linesOf[question](filepath.Join(dir, "questions.jsonl"))
	if err != nil {
		return false, err
	}
	met, err = measureRecall(w, articles, number, questions, nil, 0)
	if err != nil || embedding.Embed == nil {
		return met, err
	}
	asked, weight, err := embedAll(ctx, w, embedding, articles, questions)
	if err != nil {
		return false, err
	}
	also, err := measureRecall(w, articles, number, questions, asked, weight)
	return met && also, err
}

// embedAll embeds articles and questions, and measures the quality of the vectors.
func embedAll(ctx context.Context, w io.Writer, embedding datasource.Embedding, articles []article,
	questions []question,
) (asked [][]float32, weight float64, _ error) {
	documents := make([]datasource.Document, len(articles))
	for i := range articles {
		d := &articles[i].Document
		vectors, err := embedding.Passages(ctx, d.Filename, d.Chunks)
		if err != nil {
			return nil, 0, err
		}
		d.Vectors = index.Vectors{Dimensions: len(vectors[0]), Values: slices.Concat(vectors...)}
		documents[i] = *d
	}
	var trials []index.Trial
	for part := range slices.Chunk(documents, datasource.MaxSearchSources) {
		of, err := embedding.RunTrials(ctx, part, 100)
		if err != nil {
			return nil, 0, err
		}
		trials = append(trials, of...)
	}
	weight, words, fused := index.Weigh(trials)
	_, _ = fmt.Fprintf(w, "\n%s: weight %g; of %d questions of its own MRR %.4f by words, %.4f with vectors\n",
		embedding.Model.Name, weight, len(trials), words, fused)
	texts := make([]string, len(questions))
	for i, q := range questions {
		texts[i] = q.Q
	}
	asked, err := embedding.Questions(ctx, texts)
	return asked, weight, err
}

// measureRecall searches for every question and prints recall and mean reciprocal rank (MRR). asked holds the vectors
// of the questions, or is nil.
func measureRecall(w io.Writer, articles []article, number map[string]int, questions []question, asked [][]float32,
	weight float64,
) (met bool, err error) {
	met = true
	_, _ = fmt.Fprintf(w, "%-14s %9s %9s %9s %9s %8s\n", "recall", "@1", "@3", "@5", "@10", "MRR")
	for _, goal := range goals {
		ranks := make([]int, len(questions))
		for i, q := range questions {
			var vector []float32
			if asked != nil {
				vector = asked[i]
			}
			if ranks[i], err = rank(articles, number, q, goal.all, vector, weight); err != nil {
				return false, err
			}
		}
		at := func(k int) float64 { return share(ranks, k) }
		mrr := 0.0
		for _, r := range ranks {
			if r > 0 {
				mrr += 1 / float64(r) / float64(len(ranks))
			}
		}
		verdict := ""
		if at(1) < goal.at1 || at(5) < goal.at5 {
			met, verdict = false, fmt.Sprintf("  missed: @1 ≥ %g, @5 ≥ %g", goal.at1, goal.at5)
		}
		_, _ = fmt.Fprintf(w, "%-14s %8.2f%% %8.2f%% %8.2f%% %8.2f%% %8.4f%s\n", goal.name, at(1), at(3), at(5), at(10),
			mrr, verdict)
	}
	return met, nil
}

func readArticles(ctx context.Context, reader *extractor.Extractor, dir string) (list []article, number map[string]int,
	_ error,
) {
	type document struct{ Doc, File string }
	documents, err := linesOf[document](filepath.Join(dir, "documents.jsonl"))
	if err != nil {
		return nil, nil, err
	}
	number = make(map[string]int)
	for _, d := range documents {
		pages, err := pagesOf(ctx, reader, filepath.Join(dir, d.File))
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", d.File, err)
		}
		name := filepath.Base(d.File)
		a := article{Document: datasource.Document{Filename: name}, golds: paragraphs(pages[0].Text)}
		var indexed []index.Passage
		for _, p := range extract.Split(pages) {
			a.Chunks = append(a.Chunks, p)
			indexed = append(indexed, index.Passage{Text: p.Text, Headings: extract.Headings(p.Locator)})
		}
		a.packed = index.Build(strings.TrimSuffix(name, filepath.Ext(name)), indexed)
		if a.index, err = index.Open(a.packed.Head); err != nil {
			return nil, nil, err
		}
		number[d.Doc] = len(list)
		list = append(list, a)
	}
	return list, number, nil
}

// paragraphs returns the byte ranges of an article's paragraphs, except the first one, which is its title.
func paragraphs(text string) (list [][2]int) {
	offset := 0
	for _, p := range strings.Split(text, "\n\n") {
		if strings.TrimSpace(p) != "" {
			list = append(list, [2]int{offset, offset + len(p)})
		}
		offset += len(p) + len("\n\n")
	}
	return list[min(1, len(list)):]
}

// gold returns the byte range of the gold paragraph of a question.
func (a article) gold(q question) (gold [2]int, _ error) {
	paragraph, err := strconv.Atoi(q.PID[strings.LastIndexByte(q.PID, 'p')+1:])
	if err != nil || paragraph >= len(a.golds) {
		return gold, fmt.Errorf("no paragraph %s of %s", q.PID, q.Doc)
	}
	return a.golds[paragraph], nil
}

// overlaps reports whether a passage has text in a byte range.
func (a article) overlaps(passage int, within [2]int) bool {
	p := a.Chunks[passage]
	return p.Start < within[1] && within[0] < p.End
}

// rank returns the place of the first passage with text of the gold paragraph, or 0 if it is not among the first
// hundred.
func rank(articles []article, number map[string]int, q question, all bool, vector []float32, weight float64) (int,
	error,
) {
	own, known := number[q.Doc]
	if !known {
		return 0, fmt.Errorf("no document %s", q.Doc)
	}
	gold, err := articles[own].gold(q)
	if err != nil {
		return 0, err
	}
	searched := articles
	if !all {
		searched = articles[own : own+1]
	}
	c := index.Collection{Part: func(document, part int) []byte { return searched[document].packed.Parts[part] }}
	for _, a := range searched {
		c.Documents = append(c.Documents, a.index)
	}
	scores, err := c.Scores(index.NewQuery(q.Q))
	if err != nil {
		return 0, err
	}
	if vector != nil {
		similarities := make([][]float64, len(searched))
		for i, a := range searched {
			similarities[i] = a.Vectors.Similarities(vector)
		}
		index.Fuse(scores, similarities, weight)
	}
	return 1 + slices.IndexFunc(index.Best(scores, 100), func(h index.Hit) bool {
		return (!all || h.Document == own) && articles[own].overlaps(h.Passage, gold)
	}), nil
}
