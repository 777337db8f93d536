package index_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/index"
)

func TestSimilaritiesAreCosines(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // Reproducible.
	for _, dimensions := range []int{1, 3, 4, 17} {
		v, query := index.Vectors{Dimensions: dimensions}, random32(r, dimensions)
		var want []float64
		for range 5 {
			passage := random32(r, dimensions)
			want = append(want, cosine(passage, query))
			index.Normalize(passage)
			v.Values = index.AppendVector(v.Values, index.PackVector(passage))
		}
		index.Normalize(query)
		for i, got := range v.Similarities(query) {
			if math.Abs(got-want[i]) > 1e-5 {
				t.Errorf("%d dimensions: %v, want %v", dimensions, got, want[i])
			}
		}
	}
	if got := (index.Vectors{}).Similarities([]float32{1}); len(got) != 0 {
		t.Errorf("of none: %v", got)
	}
	zeros := []float32{0, 0}
	if index.Normalize(zeros); !slices.Equal(zeros, []float32{0, 0}) {
		t.Errorf("zeros became %v", zeros)
	}
}

func random32(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func cosine(a, b []float32) float64 {
	ab, aa, bb := 0.0, 0.0, 0.0
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	return ab / math.Sqrt(aa*bb)
}

func TestFuse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		scores, similarities, want [][]float64
		weight                     float64
	}{
		{[][]float64{{4, 0}, {2}}, [][]float64{{0.1, 0.7}, {0.1}}, [][]float64{{4, 2}, {2}}, 0.5},
		{[][]float64{{4, 0}}, [][]float64{{0.1, 0.7}}, [][]float64{{4, 0}}, 0},
		{[][]float64{{0, 0}}, [][]float64{{0.1, 0.7}}, [][]float64{{0, 0.5}}, 0.5}, // No result by words.
		{[][]float64{{1, 2}}, [][]float64{{0.3, 0.3}}, [][]float64{{1, 2}}, 1},
		{[][]float64{}, [][]float64{}, [][]float64{}, 1},
	} {
		index.Fuse(test.scores, test.similarities, test.weight)
		if !slices.EqualFunc(test.scores, test.want, slices.Equal) {
			t.Errorf("%+v", test)
		}
	}
}

// trials simulates questions about 50 passages. words and meaning return the score and the similarity of the right
// passage and of the others.
func trials(count int, words, meaning func(right bool) float64) (all []index.Trial) {
	for range count {
		scores, similarities := [][]float64{make([]float64, 50)}, [][]float64{make([]float64, 50)}
		for i := range scores[0] {
			scores[0][i], similarities[0][i] = words(i == 20), meaning(i == 20)
		}
		all = append(all, index.NewTrial(scores, similarities, 0, 20))
	}
	return all
}

// TestR80_NoiseHasNoWeight also covers vectors that add no information to the words.
func TestR80_NoiseHasNoWeight(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 5)) //nolint:gosec // Reproducible.
		drawn := func(distance float64) func(bool) float64 {
			return func(right bool) float64 {
				if right {
					return max(0, 3+distance+r.NormFloat64())
				}
				return max(0, 3+r.NormFloat64())
			}
		}
		noise := func(bool) float64 { return r.NormFloat64() }
		for _, words := range []float64{0, 1, 3} {
			if w, _, _ := index.Weigh(trials(200, drawn(words), noise)); w != 0 {
				t.Errorf("seed %d: noise has the weight %v with words of %v", seed, w, words)
			}
		}
		if w, before, after := index.Weigh(trials(200, drawn(2), drawn(2))); w == 0 || after < before+0.01 {
			t.Errorf("seed %d: good vectors weigh %v, %v to %v", seed, w, before, after)
		}
		if w, _, _ := index.Weigh(trials(30, drawn(0), drawn(5))); w != 0 {
			t.Errorf("seed %d: of 30 trials a weight of %v is concluded", seed, w)
		}
	}
}

func BenchmarkSimilarities(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // Reproducible.
	v, query := index.Vectors{Dimensions: 1536, Values: random32(r, 1000*1536)}, random32(r, 1536)
	for b.Loop() {
		v.Similarities(query)
	}
}
