package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/bench/projectdb"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extractor"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/index"
)

const (
	generatedPassages = 10 // Of each generated document.
	passageLength     = 300
	searchSize        = 30  // Passages of a search, as for an answer.
	largestLoss       = 1.0 // Goal: recall is at most this many points below that of the exact ranking.
)

// library is an exact index of the passages of all documents.
type library struct {
	passages []index.Passage
	at       []passageID // Of each passage.
	golds    map[uuid.UUID]article
}

// passageID identifies a passage.
type passageID struct {
	source  uuid.UUID
	ordinal int
}

// measureProject asks every question about a project with the articles and generated documents. It compares the
// passages of a search in the project with those of the exact ranking.
func measureProject(ctx context.Context, w io.Writer, reader *extractor.Extractor, dir string, documents int) (
	met bool, _ error,
) {
	articles, number, err := readArticles(ctx, reader, dir)
	if err != nil {
		return false, err
	}
	questions, err := linesOf[question](filepath.Join(dir, "questions.jsonl"))
	if err != nil {
		return false, err
	}
	folder, err := os.MkdirTemp("", "tsumugi-eval-")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := os.Chmod(folder, 0o755); err != nil { //nolint:gosec // The account of the database must reach its folder.
		return false, err
	}
	p, err := projectdb.New(ctx, filepath.Join(folder, "database"))
	if err != nil {
		return false, err
	}
	defer p.Close(ctx)
	l, sources, err := fillProject(ctx, p, articles, documents)
	if err != nil {
		return false, err
	}
	grown, err := p.Index(ctx, func(int64) {})
	if err != nil {
		return false, err
	}
	n := float64(len(l.passages))
	_, _ = fmt.Fprintf(w, "\n%d passages of %d documents; indexed %.0f in a second; the index takes %.0f MB, %.2f kB for "+
		"each passage\n", len(l.passages), documents, n/grown.Took.Seconds(), float64(grown.Database)/1e6,
		float64(grown.Database)/1e3/n)
	return l.compare(ctx, w, p, questions, func(q question) uuid.UUID { return sources[number[q.Doc]] })
}

// fillProject stores the articles and generated documents. It returns the ids of the articles.
func fillProject(ctx context.Context, p *projectdb.Project, articles []article, documents int) (library, []uuid.UUID,
	error,
) {
	l := library{golds: make(map[uuid.UUID]article)}
	var texts []string
	var ids []uuid.UUID
	for _, a := range articles {
		id, err := l.add(ctx, p, a.Filename, a.Chunks)
		if err != nil {
			return l, nil, err
		}
		l.golds[id], ids = a, append(ids, id)
		for _, c := range a.Chunks {
			texts = append(texts, c.Text)
		}
	}
	g := newGenerator(texts)
	for i := len(articles); i < documents; i++ {
		passages := make([]datasource.Chunk, generatedPassages)
		for n := range passages {
			passages[n] = datasource.Chunk{Ordinal: n, Page: 1, Text: g.text(passageLength)}
		}
		if _, err := l.add(ctx, p, fmt.Sprintf("%s%d.txt", g.text(4), i), passages); err != nil {
			return l, nil, err
		}
	}
	return l, ids, nil
}

// add stores a document.
func (l *library) add(ctx context.Context, p *projectdb.Project, filename string, passages []datasource.Chunk) (
	uuid.UUID, error,
) {
	id, err := p.Add(ctx, filename, passages)
	title := strings.TrimSuffix(filename, filepath.Ext(filename))
	for i, c := range passages {
		// In one index, the title of each document is a heading of its passages.
		headings := title + "\n" + extract.Headings(c.Locator)
		l.passages = append(l.passages, index.Passage{Text: c.Text, Headings: headings})
		l.at = append(l.at, passageID{id, i})
	}
	return id, err
}

// compare prints the recall of both rankings, and the time and memory of a search.
func (l *library) compare(ctx context.Context, w io.Writer, p *projectdb.Project, questions []question,
	source func(question) uuid.UUID,
) (met bool, _ error) {
	exact, found, err := l.exactRanks(questions, source)
	if err != nil {
		return false, err
	}
	// The first questions fill the memory of the database.
	for _, q := range questions[:min(100, len(questions))] {
		if _, err := p.Search(ctx, q.Q, searchSize); err != nil {
			return false, err
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	ranks, took, same := make([]int, len(questions)), make([]time.Duration, len(questions)), 0
	for i, q := range questions {
		began := time.Now()
		passages, err := p.Search(ctx, q.Q, searchSize)
		if err != nil {
			return false, err
		}
		took[i] = time.Since(began)
		ids := make([]passageID, len(passages))
		for j, h := range passages {
			ids[j] = passageID{h.SourceID, h.Ordinal}
		}
		if ranks[i], err = l.rank(q, source(q), ids); err != nil {
			return false, err
		}
		if len(ids) > 0 && ids[0] == found[i] {
			same++
		}
	}
	runtime.ReadMemStats(&after)
	slices.Sort(took)
	count := len(questions)
	_, _ = fmt.Fprintf(w, "%-14s %9s %9s\n%-14s %8.2f%% %8.2f%%\n%-14s %8.2f%% %8.2f%%\n", "recall", "@1", "@5", "exact",
		share(exact, 1), share(exact, 5), "project", share(ranks, 1), share(ranks, 5))
	_, _ = fmt.Fprintf(w, "%.2f%% have the same first passage; p50 %.1f ms, p95 %.1f ms; a search allocates %.1f MB in "+
		"the server\n", 100*float64(same)/float64(count), milliseconds(took[count/2]), milliseconds(took[count*95/100]),
		float64(after.TotalAlloc-before.TotalAlloc)/1e6/float64(count))
	for _, k := range []int{1, 5} {
		if share(ranks, k) < share(exact, k)-largestLoss {
			_, _ = fmt.Fprintf(w, "missed: @%d at most %g below the exact ranking\n", k, largestLoss)
			return false, nil
		}
	}
	return true, nil
}

// exactRanks returns the rank of each question in the exact ranking of all passages, and the first passage.
func (l *library) exactRanks(questions []question, source func(question) uuid.UUID) (ranks []int, first []passageID,
	_ error,
) {
	packed := index.Build("", l.passages)
	document, err := index.Open(packed.Head)
	if err != nil {
		return nil, nil, err
	}
	all := index.Collection{
		Documents: []*index.Document{document}, Part: func(_, part int) []byte { return packed.Parts[part] },
	}
	ranks, first = make([]int, len(questions)), make([]passageID, len(questions))
	for i, q := range questions {
		scores, err := all.Scores(index.NewQuery(q.Q))
		if err != nil {
			return nil, nil, err
		}
		var ids []passageID
		for _, h := range index.Best(scores, searchSize) {
			ids = append(ids, l.at[h.Passage])
		}
		if len(ids) > 0 {
			first[i] = ids[0]
		}
		if ranks[i], err = l.rank(q, source(q), ids); err != nil {
			return nil, nil, err
		}
	}
	return ranks, first, nil
}

// rank returns the place of the first passage with text of the gold paragraph, or 0.
func (l *library) rank(q question, source uuid.UUID, ids []passageID) (int, error) {
	own := l.golds[source]
	gold, err := own.gold(q)
	if err != nil {
		return 0, err
	}
	return 1 + slices.IndexFunc(ids, func(id passageID) bool {
		return id.source == source && own.overlaps(id.ordinal, gold)
	}), nil
}

// share returns the percentage of ranks from 1 to k.
func share(ranks []int, k int) float64 {
	hits := 0
	for _, r := range ranks {
		if r > 0 && r <= k {
			hits++
		}
	}
	return 100 * float64(hits) / float64(max(len(ranks), 1))
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// generator generates texts by a Markov chain over the characters of given texts. The texts contain the same pairs of
// characters as the given texts, in about the same frequency.
type generator struct {
	following map[[2]rune][]rune
	last      [2]rune
	random    *rand.Rand
}

func newGenerator(texts []string) *generator {
	g := &generator{
		following: make(map[[2]rune][]rune),
		random:    rand.New(rand.NewPCG(3, 4)), //nolint:gosec // The texts are the same in each run.
	}
	all := []rune(strings.Join(texts, "\n"))
	for i, r := range all {
		// The end is followed by the beginning, so that every pair has a next character.
		before := [2]rune{all[(i+len(all)-2)%len(all)], all[(i+len(all)-1)%len(all)]}
		g.following[before] = append(g.following[before], r)
		g.last = before
	}
	return g
}

// text returns a text of a number of characters.
func (g *generator) text(length int) string {
	var text strings.Builder
	for range length {
		next := g.following[g.last]
		r := next[g.random.IntN(len(next))]
		g.last = [2]rune{g.last[1], r}
		text.WriteRune(r)
	}
	return text.String()
}
