package index_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/index"
	"github.com/tsumugi-ai/tsumugi/internal/ngram"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// document is the input for an index.
type document struct {
	title    string
	passages []index.Passage
}

// collection builds and opens the indexes of documents.
func collection(t testing.TB, documents []document) index.Collection {
	t.Helper()
	packed := make([]index.PackedIndex, len(documents))
	c := index.Collection{Part: func(document, part int) []byte { return packed[document].Parts[part] }}
	for i, d := range documents {
		packed[i] = index.Build(d.title, d.passages)
		opened := must.Get(index.Open(packed[i].Head))(t)
		c.Documents = append(c.Documents, opened)
	}
	return c
}

// search returns the k best passages.
func search(t testing.TB, c index.Collection, query string, k int) []index.Hit {
	t.Helper()
	scores := must.Get(c.Scores(index.NewQuery(query)))(t)
	return index.Best(scores, k)
}

// naive is a direct implementation of BM25 without packing or optimizations.
func naive(documents []document, query string, k int) []index.Hit {
	type passage struct {
		hit    index.Hit
		counts map[string]float64
		length float64
	}
	var all []passage
	total := 0.0
	for i, d := range documents {
		for j, p := range d.passages {
			one := passage{hit: index.Hit{Document: i, Passage: j}, counts: make(map[string]float64)}
			for token := range ngram.Fold(p.Text).Tokens() {
				one.counts[token]++
				one.length++
			}
			context := make(map[string]bool)
			for _, text := range []string{d.title, p.Headings} {
				for token := range ngram.Fold(text).Tokens() {
					context[token] = true
				}
			}
			for token := range context {
				one.counts[token]++
			}
			total += one.length
			all = append(all, one)
		}
	}
	asked := make(map[string]float64)
	for token := range ngram.Fold(query).Tokens() {
		asked[token]++
	}
	var tokens []string
	for token := range asked {
		tokens = append(tokens, token)
	}
	slices.Sort(tokens)
	n := float64(len(all))
	for _, token := range tokens {
		having := 0.0
		for _, p := range all {
			if p.counts[token] > 0 {
				having++
			}
		}
		weight := asked[token] * math.Log(1+(n-having+0.5)/(having+0.5)) * (0.9 + 1)
		for i, p := range all {
			if tf := p.counts[token]; tf > 0 {
				all[i].hit.Score += weight * tf / (tf + 0.9*(1-0.4+0.4*p.length/max(total/n, 1)))
			}
		}
	}
	var hits []index.Hit
	for _, p := range all {
		if p.hit.Score > 0 {
			hits = append(hits, p.hit)
		}
	}
	slices.SortFunc(hits, func(a, b index.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Document, b.Document),
			cmp.Compare(a.Passage, b.Passage))
	})
	return hits[:min(k, len(hits))]
}

// sameHits reports whether both lists are equal except for rounding of scores.
func sameHits(a, b []index.Hit) bool {
	return slices.EqualFunc(a, b, func(x, y index.Hit) bool {
		return x.Document == y.Document && x.Passage == y.Passage &&
			math.Abs(x.Score-y.Score) <= 1e-12*math.Abs(y.Score)
	})
}

// random returns documents and a query with few distinct characters, so that most occur in many passages.
func random(seed uint64) (documents []document, query string) {
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // Reproducible.
	text := func(most int) string {
		var b strings.Builder
		for range r.IntN(most + 1) {
			b.WriteString([]string{"の", "は", "会", "議", "予", "算", "、", "web", " 12", "ガ", "ｶﾞ", "東京", "\n"}[r.IntN(13)])
		}
		return b.String()
	}
	for range 1 + r.IntN(4) {
		d := document{title: text(4)}
		for range r.IntN(60) {
			d.passages = append(d.passages, index.Passage{Text: text(80), Headings: text(3)})
		}
		documents = append(documents, d)
	}
	return documents, text(12)
}

func TestScoresEqualNaiveBM25(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		documents, query := random(seed)
		if got, want := search(t, collection(t, documents), query, 10),
			naive(documents, query, 10); !sameHits(got, want) {
			t.Fatalf("seed %d, %q: %+v, want %+v", seed, query, got, want)
		}
	}
}

func FuzzScores(f *testing.F) {
	f.Add("規程", "第1章", "第1条（目的） 目的を定める。", "Web API 1,000円", "目的は何か", uint8(3))
	f.Add("", "", "", "\xff\u3099", "😀", uint8(0))
	f.Fuzz(func(t *testing.T, title, headings, a, b, query string, k uint8) {
		documents := []document{
			{title, []index.Passage{{Text: a, Headings: headings}, {Text: b}, {Text: a + b, Headings: headings}}},
			{b, nil},
			{headings, []index.Passage{{Text: query}, {Text: b + query + a}}},
		}
		if len(slices.Collect(ngram.Fold(query).Tokens())) > 200 {
			return // More terms than a query uses.
		}
		if got, want := search(t, collection(t, documents), query, int(k)),
			naive(documents, query, int(k)); !sameHits(got, want) {
			t.Fatalf("%+v, want %+v", got, want)
		}
	})
}

// TestPackingIsDeterministic ensures that the indexes of different servers can be compared.
func TestPackingIsDeterministic(t *testing.T) {
	t.Parallel()
	documents, _ := random(7)
	for _, d := range documents {
		a, b := index.Build(d.title, d.passages), index.Build(d.title, d.passages)
		if !bytes.Equal(a.Head, b.Head) || !slices.EqualFunc(a.Parts, b.Parts, bytes.Equal) {
			t.Error("two builds differ")
		}
	}
}

// TestPartsAreSmall verifies that a query reads only a few small parts of a large document.
func TestPartsAreSmall(t *testing.T) {
	t.Parallel()
	d := document{title: "台帳"}
	for i := range 3000 {
		d.passages = append(d.passages, index.Passage{Text: fmt.Sprintf("番号%d、管理番号%X、%c%c%c。", i, i*7919, '一'+i,
			'一'+i*2, '一'+i*3)})
	}
	packed := index.Build(d.title, d.passages)
	opened := must.Get(index.Open(packed.Head))(t)
	large := 0
	for _, part := range packed.Parts {
		if len(part) > 16<<10 {
			large++
		}
	}
	if len(packed.Parts) < 32 || large > 10 {
		t.Errorf("%d of %d parts are large", large, len(packed.Parts))
	}
	if parts := opened.Parts(index.NewQuery("番号12")); len(parts) == 0 || len(parts) > 4 {
		t.Errorf("a query of four tokens reads %d parts", len(parts))
	}
	if hits := search(t, collection(t, []document{d}), "番号2026", 1); len(hits) != 1 || hits[0].Passage != 2026 {
		t.Errorf("found %+v", hits)
	}
}

// FuzzCorrupt verifies that arbitrary bytes cause an error or a result, but never a panic.
func FuzzCorrupt(f *testing.F) {
	packed := index.Build("規程", []index.Passage{{Text: "第1条 目的の目的"}, {Text: "第2条 範囲"}})
	f.Add(packed.Head, packed.Parts[0])
	f.Add([]byte{index.Version, 16, 0xff, 0xff, 0xff, 0xff, 0x0f}, []byte{1, 'a', 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, head, part []byte) {
		opened, err := index.Open(head)
		if err != nil {
			return
		}
		c := index.Collection{Documents: []*index.Document{opened}, Part: func(int, int) []byte { return part }}
		scores, err := c.Scores(index.NewQuery("目的の範囲 12 条"))
		if err == nil && len(index.Best(scores, 3)) > 3 {
			t.Fatal("Best returned more than k passages")
		}
	})
}

func BenchmarkBuild(b *testing.B) {
	d := document{title: "就業規則"}
	r := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // Reproducible.
	for range 2500 {
		var text strings.Builder
		for range 400 {
			text.WriteRune('一' + rune(math.Pow(r.Float64(), 6)*3000))
		}
		d.passages = append(d.passages, index.Passage{Text: text.String()})
	}
	for b.Loop() {
		index.Build(d.title, d.passages)
	}
	size := 0
	for _, part := range index.Build(d.title, d.passages).Parts {
		size += len(part)
	}
	b.ReportMetric(float64(size), "bytes")
}
