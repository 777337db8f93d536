package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
)

// fakeServer implements the part of the server that the scenarios use, with package stream and without a database. It
// can simulate faults.
type fakeServer struct {
	model   llm.Model
	streams *sse.Server
	limit   int64 // Maximum number of concurrent streams; 0 for no limit.
	wrong   bool  // The stored text differs from the streamed one.

	open atomic.Int64
	ids  atomic.Int64

	mu      sync.Mutex
	answers map[string]*written // Guarded by mu.
}

type written struct {
	text *stream.Text
	stop context.CancelFunc
}

// newFakeServer serves a fakeServer until the test ends, and returns its URL.
func newFakeServer(t *testing.T, h *fakeServer) string {
	t.Helper()
	model := httptest.NewServer(llmtest.NewHandler(0))
	t.Cleanup(model.Close)
	var err error
	if h.model, err = llm.NewClient(llm.Config{BaseURL: model.URL + "/v1", Model: "m"}); err != nil {
		t.Fatal(err)
	}
	h.streams = sse.NewServer(sse.Config{RetryMin: time.Millisecond, RetryMax: 5 * time.Millisecond})
	h.answers = make(map[string]*written)
	mux := http.NewServeMux()
	say := func(pattern, body string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
	}
	say("POST /v1/auth-type", `{"client_id":"c","endpoint":"/pool/"}`)
	say("POST /pool/", `{"AuthenticationResult":{"IdToken":"token"}}`)
	say("GET /v1/skill", `{"items":[{"id":"s","form_type":"chat"}]}`)
	say("POST /v1/thread", `{"id":"t"}`)
	say("GET /v1/thread", `{}`)
	say("DELETE /v1/thread/t", `{}`)
	say("GET /metrics", "process_resident_memory_bytes 1e8\nprocess_cpu_seconds_total 12.5\ngo_goroutines 42\n")
	mux.HandleFunc("POST /v1/message/async", h.ask)
	mux.HandleFunc("GET /v1/message", h.list)
	mux.HandleFunc("GET /v1/message/{id}/stream", h.watch)
	mux.HandleFunc("POST /v1/message/{id}/stop", h.stopAnswer)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server.URL
}

func (h *fakeServer) ask(w http.ResponseWriter, r *http.Request) {
	var body struct{ Content string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	id := strconv.FormatInt(h.ids.Add(1), 10)
	ctx, cancel := context.WithCancel(context.Background())
	a := &written{text: stream.NewText(stream.Head{MessageID: id, Run: 1}), stop: cancel}
	h.mu.Lock()
	h.answers[id] = a
	h.mu.Unlock()
	go func() { // Ends when the answer is complete.
		defer cancel()
		_, err := h.model.Stream(ctx, llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: body.Content}}},
			a.text.AppendText)
		if err != nil {
			a.text.Finish(stream.End{Outcome: stream.Aborted, Reason: "stopped"})
			return
		}
		a.text.Finish(stream.End{Outcome: stream.Finished, FinishReason: "stop"})
	}()
	_, _ = fmt.Fprintf(w, `{"answer":{"id":%q}}`, id)
}

func (h *fakeServer) find(id string) *written {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.answers[id]
}

func (h *fakeServer) list(w http.ResponseWriter, _ *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list struct {
		Items []map[string]string `json:"items"`
	}
	for id, a := range h.answers {
		text := a.text.Text()
		if h.wrong {
			text += "。"
		}
		list.Items = append(list.Items, map[string]string{"id": id, "role": "assistant", "content": text})
	}
	_ = json.NewEncoder(w).Encode(list)
}

func (h *fakeServer) watch(w http.ResponseWriter, r *http.Request) {
	text, cursor := h.find(r.PathValue("id")).text, r.Header.Get("Last-Event-ID")
	if text.AtEnd(cursor) {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if open := h.open.Add(1); h.limit > 0 && open > h.limit {
		h.open.Add(-1)
		w.Header().Set("Retry-After", strconv.Itoa(2+rand.IntN(9)))
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	h.streams.Serve(w, r, sse.Delivery{
		Watch: text.Watch(cursor), Until: time.Now().Add(time.Minute), Done: func(error) { h.open.Add(-1) },
	})
}

func (h *fakeServer) stopAnswer(_ http.ResponseWriter, r *http.Request) {
	h.find(r.PathValue("id")).stop()
}

// figures runs a scenario and returns its figures.
func figures(t *testing.T, url string, args ...string) (map[string]float64, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "result.json")
	err := run(t.Context(), append([]string{"--url", url, "--password", "p", "--json", file}, args...), io.Discard,
		io.Discard)
	text, failed := os.ReadFile(file)
	var r report
	if failed != nil || json.Unmarshal(text, &r) != nil {
		t.Fatalf("%v, %v: %s", err, failed, text)
	}
	found := make(map[string]float64)
	for _, f := range r.Figures {
		found[f.Name] = f.Value
	}
	return found, err
}

const (
	rowRight = "clients whose text is the stored one, byte for byte"
	rowWrong = "clients whose text differs"
)

func TestR76_Idle(t *testing.T) {
	t.Parallel()
	got, err := figures(t, newFakeServer(t, &fakeServer{}), "idle", "--streams", "20", "--answers", "2", "--duration",
		"10ms")
	if err != nil || got[rowRight] != 20 || got["memory of the server, MB"] != 100 || got["goroutines"] != 42 {
		t.Errorf("%v %v", got, err)
	}
}

func TestR77_Deliver(t *testing.T) {
	t.Parallel()
	got, err := figures(t, newFakeServer(t, &fakeServer{}), "deliver", "--streams", "20", "--answers", "3", "--rate",
		"100",
		"--duration", "300ms")
	if err != nil || got[rowRight] != 20 || got["tokens delivered when they were due"] != 20*30 {
		t.Errorf("%v %v", got, err)
	}
}

func TestR31_Drop(t *testing.T) {
	t.Parallel()
	got, err := figures(t, newFakeServer(t, &fakeServer{}), "drop", "--streams", "20", "--answers", "2", "--rate", "50",
		"--duration", "1s")
	if err != nil || got[rowRight] != 20 || got["times that a client came back"] < 20 {
		t.Errorf("%v %v", got, err)
	}
}

func TestR31_Cap(t *testing.T) {
	t.Parallel()
	got, err := figures(t, newFakeServer(t, &fakeServer{limit: 10}), "cap", "--streams", "40")
	if err != nil || got[rowRight] != 10 || got["streams that were answered 503"] != 30 ||
		got["different Retry-After among them"] < 2 {
		t.Errorf("%v %v", got, err)
	}
	if _, err = figures(t, newFakeServer(t, &fakeServer{}), "cap", "--streams", "5"); err == nil ||
		!strings.Contains(err.Error(), "nobody was refused") {
		t.Errorf("without a limit: %v", err)
	}
}

func TestR78_Mixed(t *testing.T) {
	t.Parallel()
	got, err := figures(t, newFakeServer(t, &fakeServer{}), "mixed", "--chats", "4", "--rate", "1000", "--duration",
		"1s")
	if err != nil || got[rowRight] < 8 || got[rowRight] != 2*got["questions"] {
		t.Errorf("%v %v", got, err)
	}
}

func TestATextThatDiffersFailsTheRun(t *testing.T) {
	t.Parallel()
	got, err := figures(t, newFakeServer(t, &fakeServer{wrong: true}), "deliver", "--streams", "4", "--answers", "2",
		"--rate",
		"100", "--duration", "100ms")
	if err == nil || got[rowWrong] != 4 {
		t.Errorf("%v %v", got, err)
	}
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"name a scenario": nil, "nonsense": {"nonsense"}, "surplus": {"idle", "surplus"},
		"negative": {"idle", "--streams", "-1"},
		"no URL":   {"--url", "127.0.0.1:8080", "idle"}, "open files": {"idle", "--streams", "100000000"},
	} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
	}
}
