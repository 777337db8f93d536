package llmtest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"unicode"
)

// The embedding models of the Handler.
const (
	Embed       = "tsumugi-embed"        // Vector: similar vectors for similar texts.
	EmbedNoise  = "tsumugi-embed-noise"  // Noise: meaningless vectors.
	EmbedSmall  = "tsumugi-embed-small"  // Like Embed, but it refuses more than SmallBatch texts in a request.
	EmbedBroken = "tsumugi-embed-broken" // Always fails.
)

// SmallBatch is the maximum number of texts in a request to EmbedSmall.
const SmallBatch = 8

const dimensions = 256

// alike maps synonyms to one word for Vector.
var alike = strings.NewReplacer("年休", "有給休暇", "有休", "有給休暇", "テレワーク", "在宅勤務", "リモートワーク", "在宅勤務", "給料", "賃金",
	"給与", "賃金", "クビ", "解雇", "辞める", "退職", "通勤費", "通勤手当", "残業", "時間外労働", "ボーナス", "賞与")

// Vector returns a vector of the character pairs of a text. Pairs without hiragana have a higher weight.
func Vector(text string) []float32 {
	v := make([]float32, dimensions)
	var last rune
	for _, r := range alike.Replace(text) {
		if unicode.IsLetter(last) && unicode.IsLetter(r) {
			hash := fnv.New32a()
			_, _ = hash.Write([]byte(string([]rune{last, r})))
			sum, weight := hash.Sum32(), float32(1)
			if unicode.Is(unicode.Hiragana, last) || unicode.Is(unicode.Hiragana, r) {
				weight = 0.2
			}
			if sum>>31 == 1 {
				weight = -weight
			}
			v[sum%dimensions] += weight
		}
		last = r
	}
	return v
}

// Noise returns a pseudorandom vector that is a function of the text.
func Noise(text string) []float32 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(text))
	random := rand.New(rand.NewPCG(hash.Sum64(), 1)) //nolint:gosec // The same each time.
	v := make([]float32, dimensions)
	for i := range v {
		v[i] = float32(random.NormFloat64())
	}
	return v
}

// embed serves POST /v1/embeddings.
func embed(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<20))
	if err == nil {
		err = json.Unmarshal(body, &request)
	}
	vector := Vector
	switch {
	case err != nil:
		writeError(w, http.StatusBadRequest, err.Error())
		return
	case request.Model == EmbedBroken:
		writeError(w, http.StatusInternalServerError, "llmtest: broken")
		return
	case request.Model == EmbedSmall && len(request.Input) > SmallBatch:
		writeError(w, http.StatusBadRequest, fmt.Sprintf("batch size %d > maximum allowed batch size %d",
			len(request.Input),
			SmallBatch))
		return
	case request.Model == EmbedNoise:
		vector = Noise
	case request.Model != Embed && request.Model != EmbedSmall:
		writeError(w, http.StatusNotFound, "llmtest: no such embedding model")
		return
	}
	data := make([]map[string]any, len(request.Input))
	for i, text := range request.Input {
		data[i] = map[string]any{"object": "embedding", "index": i, "embedding": vector(text)}
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "model": request.Model, "data": data})
}
