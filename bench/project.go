package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/bench/projectdb"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
)

// The passages of a project.
const (
	projectSources  = 10_000
	projectPassages = 50 // Of each data source.
	projectQueries  = 100
)

// measureProject asks questions about all passages of a project, first with nothing in the memory of the database, and
// measures the growth of the database by the index.
func measureProject(ctx context.Context, b *bench) error {
	sources := projectSources
	if b.quick {
		sources /= 50
	}
	t := newTable("Passages of a project",
		fmt.Sprintf("The 30 best of %d passages of 400 characters in %d data sources; ms from the question to the "+
			"passages and their neighbours, %d questions. Cold: the database was just started. The index is written by "+
			"the server.", sources*projectPassages, sources, projectQueries), "", ours)
	b.report.Sections = append(b.report.Sections, t)
	p, err := projectdb.New(ctx, filepath.Join(b.dir, "project"))
	if err != nil {
		return err
	}
	defer p.Close(ctx)
	words := vocabulary()
	b.say("Project: filling %d passages", sources*projectPassages)
	if err := fill(ctx, p, words, sources); err != nil {
		return err
	}
	if err := indexProject(ctx, p, b, t, sources*projectPassages); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(7, 8)) //nolint:gosec // The questions are the same in each run.
	for range b.rounds {
		if err := p.Restart(ctx); err != nil {
			return err
		}
		b.say("Project")
		for _, state := range []string{"cold", "warm"} {
			var took []float64
			for range projectQueries {
				question := words.text(random, 8) + "について教えてください。"
				began := time.Now()
				found, err := p.Search(ctx, question, 30)
				if err != nil || len(found) == 0 {
					return fmt.Errorf("%d passages: %w", len(found), err)
				}
				took = append(took, float64(time.Since(began).Microseconds())/1000)
			}
			t.add("p50, "+state, ours, 1, quantile(took, 0.5))
			t.add("p95, "+state, ours, 1, quantile(took, 0.95))
		}
	}
	b.report.atMostMedian(fmt.Sprintf("passages of a project with %d, warm, p95", sources*projectPassages),
		t, "p95, warm", ours, 150, 0, " ms")
	return nil
}

// fill stores data sources.
func fill(ctx context.Context, p *projectdb.Project, words vocabularyOf, sources int) error {
	random := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // The texts are the same in each run.
	passages := make([]datasource.Chunk, projectPassages)
	for i := range sources {
		for n := range passages {
			passages[n] = datasource.Chunk{Page: 1 + n/2, Text: words.text(random, 400)}
		}
		if _, err := p.Add(ctx, fmt.Sprintf("資料%d.txt", i), passages); err != nil {
			return err
		}
	}
	return nil
}

// indexProject indexes the data sources and reports the time and the growth of the database.
func indexProject(ctx context.Context, p *projectdb.Project, b *bench, t *table, passages int) error {
	b.say("Project: indexing")
	reported := time.Now()
	grown, err := p.Index(ctx, func(indexed int64) {
		if time.Since(reported) > 30*time.Second {
			reported = time.Now()
			b.say("Project: %d passages are indexed", indexed)
		}
	})
	t.add("indexed passages per second", ours, 0, float64(passages)/grown.Took.Seconds())
	t.add("growth of the database, kB per passage", ours, 1, float64(grown.Database)/1000/float64(passages))
	t.add("of it GIN, kB per passage", ours, 1, float64(grown.GIN)/1000/float64(passages))
	return err
}

// vocabularyOf is a list of words. The frequency of a word is the inverse of its rank, as in natural language.
type vocabularyOf []string

// vocabulary returns 50,000 words of two to four characters after the office vocabulary.
func vocabulary() vocabularyOf {
	random := rand.New(rand.NewPCG(9, 10)) //nolint:gosec // The words are the same in each run.
	words := append(vocabularyOf{}, searchWords...)
	for len(words) < 50_000 {
		var word strings.Builder
		for range 2 + random.IntN(3) {
			word.WriteRune('一' + rune(3000*math.Pow(random.Float64(), 3)))
		}
		words = append(words, word.String())
	}
	return words
}

// text returns a text of about length characters.
func (v vocabularyOf) text(random *rand.Rand, length int) string {
	var text strings.Builder
	for text.Len() < 3*length {
		text.WriteString(v[int(math.Pow(float64(len(v)), random.Float64()))-1])
		text.WriteString([]string{"の", "を", "に", "は", "と", "、", "です。", "します。"}[random.IntN(8)])
	}
	return text.String()
}
