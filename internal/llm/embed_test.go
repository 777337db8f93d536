package llm_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// embeddings is a server that records the sizes of batches. Its answer function is configurable.
type embeddings struct {
	*httptest.Server
	mu      sync.Mutex
	batches []int // Guarded by mu.
	texts   []string
}

func newEmbeddings(t *testing.T, answer func(w http.ResponseWriter, texts []string)) *embeddings {
	t.Helper()
	e := &embeddings{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct{ Input []string }
		_ = json.NewDecoder(r.Body).Decode(&request)
		e.mu.Lock()
		e.batches, e.texts = append(e.batches, len(request.Input)), append(e.texts, request.Input...)
		e.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		answer(w, request.Input)
	}))
	t.Cleanup(e.Close)
	return e
}

// count answers each text with a vector of the text's length, last text first.
func count(w http.ResponseWriter, texts []string) {
	var data []map[string]any
	for i, text := range slices.Backward(texts) {
		data = append(data, map[string]any{"index": i, "embedding": []int{len(text), 1}})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
}

func newEmbedder(t *testing.T, url, model string) *llm.Embedder {
	t.Helper()
	e := must.Get(llm.NewEmbedder(llm.Config{
		BaseURL: url, Model: model, Backoff: time.Millisecond, MaxBackoff: time.Millisecond,
		FirstTokenTimeout: time.Minute,
	}))(t)
	return e
}

func numbered(n int) (texts []string) {
	for i := range n {
		texts = append(texts, strings.Repeat("字", i+1))
	}
	return texts
}

func TestEmbed(t *testing.T) {
	t.Parallel()
	server := newEmbeddings(t, count)
	vectors, err := newEmbedder(t, server.URL, "m").Embed(t.Context(), numbered(150))
	if err != nil || len(vectors) != 150 {
		t.Fatalf("%d vectors, %v", len(vectors), err)
	}
	for i, v := range vectors {
		if v[0] != float32(3*(i+1)) {
			t.Fatalf("vector %d is %v", i, v)
		}
	}
	if !slices.Equal(server.batches, []int{64, 64, 22}) {
		t.Errorf("batches of %v", server.batches)
	}
}

// TestEmbedHalvesRefusedBatches: a refused batch is halved, and later batches have the accepted size.
func TestEmbedHalvesRefusedBatches(t *testing.T) {
	t.Parallel()
	for status, mostTexts := range map[int]int{
		http.StatusBadRequest: 10, http.StatusRequestEntityTooLarge: 32, 422: 1,
	} {
		server := newEmbeddings(t, func(w http.ResponseWriter, texts []string) {
			if len(texts) > mostTexts {
				w.WriteHeader(status)
				return
			}
			count(w, texts)
		})
		e := newEmbedder(t, server.URL, "m")
		for again := range 2 {
			vectors, err := e.Embed(t.Context(), numbered(64))
			if err != nil || len(vectors) != 64 || vectors[63][0] != 192 {
				t.Fatalf("status %d: %d vectors, %v", status, len(vectors), err)
			}
			if largest := slices.Max(server.batches); (largest > mostTexts) != (again == 0) {
				t.Errorf("status %d: batches of %v", status, server.batches)
			}
			server.batches = nil
		}
	}
}

// TestEmbedShortensATextThatIsRefusedAlone: the other texts are still sent in batches.
func TestEmbedShortensATextThatIsRefusedAlone(t *testing.T) {
	t.Parallel()
	server := newEmbeddings(t, func(w http.ResponseWriter, texts []string) {
		if slices.ContainsFunc(texts, func(text string) bool { return len(text) > 3*300 }) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		count(w, texts)
	})
	e := newEmbedder(t, server.URL, "m")
	texts := numbered(64)
	texts[40] = strings.Repeat("長", 500)
	vectors, err := e.Embed(t.Context(), texts)
	if err != nil || vectors[40][0] != 750 || vectors[63][0] != 192 {
		t.Fatalf("%v", err)
	}
	server.batches = nil
	if _, err := e.Embed(t.Context(), numbered(64)); err != nil || !slices.Equal(server.batches, []int{64}) {
		t.Errorf("batches of %v, %v", server.batches, err)
	}
	texts = []string{"短い"}
	server = newEmbeddings(t, func(w http.ResponseWriter, _ []string) { w.WriteHeader(http.StatusBadRequest) })
	_, err = newEmbedder(t, server.URL, "m").Embed(t.Context(), texts)
	wantCode(t, err, llm.CodeBadRequest)
}

func TestEmbedRefusesInvalidVectors(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"data":[]}`, `{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`,
		`{"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]}`,
		`{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[]}]}`,
		`{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}]}`,
		`{"data":[{"index":0,"embedding":[1e99]},{"index":1,"embedding":[1]}]}`,
		`<html>`, ``, `null`,
	} {
		server := newEmbeddings(t, func(w http.ResponseWriter, _ []string) { _, _ = fmt.Fprint(w, body) })
		_, err := newEmbedder(t, server.URL, "m").Embed(t.Context(), []string{"a", "b"})
		wantCode(t, err, llm.CodeBadResponse)
	}
}

func TestEmbedRetriesAndGivesUp(t *testing.T) {
	t.Parallel()
	calls := 0
	server := newEmbeddings(t, func(w http.ResponseWriter, texts []string) {
		if calls++; calls < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		count(w, texts)
	})
	if _, err := newEmbedder(t, server.URL, "m").Embed(t.Context(), []string{"a"}); err != nil || calls != 3 {
		t.Errorf("%d calls, %v", calls, err)
	}
	fake := httptest.NewServer(llmtest.NewHandler(0))
	defer fake.Close()
	_, err := newEmbedder(t, fake.URL, llmtest.EmbedBroken).Embed(t.Context(), []string{"a"})
	wantCode(t, err, llm.CodeUnavailable)
	if v, err := newEmbedder(t, fake.URL, llmtest.EmbedSmall).Embed(t.Context(), numbered(40)); err != nil ||
		len(v) != 40 {
		t.Errorf("%d vectors, %v", len(v), err)
	}
}
