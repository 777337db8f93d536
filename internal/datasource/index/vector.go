package index

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// Vectors contains the vectors of a document's passages in order. Each has unit length.
type Vectors struct {
	Dimensions int
	Values     []float32
}

// Normalize scales a vector to unit length. It does not change a zero vector.
func Normalize(v []float32) {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return
	}
	scale := float32(1 / math.Sqrt(sum))
	for i := range v {
		v[i] *= scale
	}
}

// PackVector returns the stored form of a vector: float32, little endian.
func PackVector(v []float32) []byte {
	packed := make([]byte, 0, 4*len(v))
	for _, x := range v {
		packed = binary.LittleEndian.AppendUint32(packed, math.Float32bits(x))
	}
	return packed
}

// AppendVector appends a stored vector.
func AppendVector(to []float32, packed []byte) []float32 {
	for ; len(packed) >= 4; packed = packed[4:] {
		to = append(to, math.Float32frombits(binary.LittleEndian.Uint32(packed)))
	}
	return to
}

// Similarities returns the cosine similarity of each passage's vector to that of a query.
func (v Vectors) Similarities(query []float32) []float64 {
	similar := make([]float64, 0, len(v.Values)/max(v.Dimensions, 1))
	for passage := range slices.Chunk(v.Values, max(v.Dimensions, 1)) {
		similar = append(similar, float64(dot(passage, query)))
	}
	return similar
}

// dot returns the scalar product. Four independent sums allow parallel execution in the processor.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	b = b[:min(len(a), len(b))]
	a = a[:len(b)]
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a, b = a[4:], b[4:]
	}
	for i, x := range a {
		s0 += x * b[i]
	}
	return s0 + s1 + s2 + s3
}

// Fuse adds similarities to the scores of passages. The most similar passage gets weight times the highest score, and a
// passage of average similarity gets nothing. A weight of 0 changes nothing. Both arguments are by document.
func Fuse(scores, similarities [][]float64, weight float64) {
	if weight <= 0 {
		return
	}
	highest, sum, count, most := 0.0, 0.0, 0, math.Inf(-1)
	for i, list := range similarities {
		for j, s := range list {
			sum, count, most = sum+s, count+1, max(most, s)
			highest = max(highest, scores[i][j])
		}
	}
	average := sum / float64(max(count, 1))
	if most <= average {
		return
	}
	highest = cmp.Or(highest, 1)
	for i, list := range similarities {
		for j, s := range list {
			scores[i][j] += weight * highest * max(0, (s-average)/(most-average))
		}
	}
}

// weights are the candidate weights in ascending order.
var weights = [...]float64{0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2}

// Trial is the result of one question with a known answer: the reciprocal rank of the passage with the answer, by words
// alone and with each of the weights.
type Trial struct {
	words float64
	fused [len(weights)]float64
}

// NewTrial returns the trial of a question whose answer is in a passage of a document.
func NewTrial(scores, similarities [][]float64, document, passage int) Trial {
	t := Trial{words: reciprocalRank(scores, document, passage)}
	for i, weight := range weights {
		fused := make([][]float64, len(scores))
		for j, list := range scores {
			fused[j] = slices.Clone(list)
		}
		Fuse(fused, similarities, weight)
		t.fused[i] = reciprocalRank(fused, document, passage)
	}
	return t
}

// reciprocalRank returns the reciprocal of a passage's rank. Earlier passages with the same score rank higher. A
// passage with score 0 has rank 0.
func reciprocalRank(scores [][]float64, document, passage int) float64 {
	own := scores[document][passage]
	if own <= 0 {
		return 0
	}
	rank := 1
	for i, list := range scores {
		for j, score := range list {
			if score > own || score == own && (i < document || i == document && j < passage) {
				rank++
			}
		}
	}
	return 1 / float64(rank)
}

// The minimum gain for a weight above 0.
const (
	minTrials         = 40
	minGain           = 0.01 // Increase of the mean reciprocal rank.
	minStandardErrors = 3    // Standard errors by which the gain must exceed zero.
)

// Weigh returns the best weight of vectors, and the mean reciprocal ranks by words alone and with that weight. The
// weight is 0 unless the gain is significant. Among weights that are not significantly worse than the best one, it is
// the smallest.
func Weigh(trials []Trial) (weight, words, fused float64) {
	n := float64(len(trials))
	for _, t := range trials {
		words += t.words / n
	}
	var gains, errs [len(weights)]float64
	sure := func(i int) bool { return gains[i] >= minGain && gains[i] > minStandardErrors*errs[i] }
	best, doubt := 0.0, 0.0
	for i := range weights {
		sum, squares := 0.0, 0.0
		for _, t := range trials {
			d := t.fused[i] - t.words
			sum, squares = sum+d, squares+d*d
		}
		gains[i] = sum / n
		errs[i] = math.Sqrt(max(0, squares/n-gains[i]*gains[i]) / n)
		if sure(i) && gains[i] > best {
			best, doubt = gains[i], errs[i]
		}
	}
	for i, w := range weights {
		if len(trials) >= minTrials && sure(i) && gains[i] >= best-doubt {
			return w, words, words + gains[i]
		}
	}
	return 0, words, words
}
