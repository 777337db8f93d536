// Package offline is the engine that answers when no language model is configured. It implements OpenAI's protocol, so
// that the same client can use it.
//
// It implements the tasks that work well without a model: extractive summaries, answers quoted from documents, titles,
// drafts of minutes, mechanical proofreading. To other requests it answers that no model is connected. It recognizes
// the task by the tags in the prompt (see prompt). It imports packages llm and answer. The answer is a pure function of
// the request.
package offline

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/internal/inproc"
)

const (
	// ModelName is the engine's name in the protocol.
	ModelName = "tsumugi-offline"
	// BaseURL is the base URL for a client with NewTransport. The host does not exist.
	BaseURL = "http://offline.invalid/v1"
	// DefaultPace sends about 170 characters a second: fast to read, and visibly streamed.
	DefaultPace = 15 * time.Millisecond
)

const (
	maxRequest = 32 << 20 // Bytes of a request's body.
	maxPiece   = 4        // Characters in a chunk.
)

// Config configures the engine.
type Config struct {
	Pace time.Duration // Delay between the pieces of an answer; 0 for none.
}

// NewHandler returns the engine as a server: POST /v1/chat/completions, with and without streaming, and GET
// /v1/models.
func NewHandler(cfg Config) http.Handler {
	h := &handler{cfg: cfg, engine: newEngine()}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", h.complete)
	mux.HandleFunc("GET /v1/models", h.models)
	return mux
}

// NewTransport returns a transport that serves every request with the in-process engine, without a socket.
func NewTransport(cfg Config) http.RoundTripper {
	return &inproc.Transport{Handler: NewHandler(cfg)}
}

type handler struct {
	cfg    Config
	engine *engine
}

// request holds the fields of a chat completion request that the engine reads.
type request struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    llm.Role `json:"role"`
		Content string   `json:"content"`
	} `json:"messages"`
	Stream              bool `json:"stream"`
	MaxTokens           int  `json:"max_tokens"`
	MaxCompletionTokens int  `json:"max_completion_tokens"`
	StreamOptions       *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Stop           []string `json:"stop"`
	ResponseFormat *struct {
		Type string `json:"type"`
	} `json:"response_format"`
}

func (h *handler) models(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []map[string]any{
		{"id": ModelName, "object": "model", "created": 0, "owned_by": "tsumugi"},
	}})
}

func (h *handler) complete(w http.ResponseWriter, r *http.Request) {
	var req request
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&req); err != nil {
		refuse(w, "the body is no chat completion request")
		return
	}
	if len(req.Messages) == 0 {
		refuse(w, "messages is empty")
		return
	}
	messages := make([]llm.Message, len(req.Messages))
	input := 0
	for i, m := range req.Messages {
		messages[i] = llm.Message{Role: m.Role, Content: m.Content}
		input += llm.EstimateTokens(m.Content)
	}
	task := readPrompt(messages).task
	if f := req.ResponseFormat; f != nil && f.Type != "text" && task != "proofreading" {
		refuse(w, "response_format is not supported")
		return
	}
	text := strings.TrimSpace(h.engine.answer(r.Context(), messages))
	if r.Context().Err() != nil {
		return
	}
	for _, stop := range req.Stop {
		text, _, _ = strings.Cut(text, stop)
	}
	c := completion{finish: llm.FinishStop, created: time.Now().Unix(), input: input}
	c.pieces = cutPieces(text)
	if limit := max(req.MaxTokens, req.MaxCompletionTokens); limit > 0 {
		c.limit(limit)
	}
	if !req.Stream {
		c.writeWhole(w)
		return
	}
	c.usage = req.StreamOptions != nil && req.StreamOptions.IncludeUsage
	pace := h.cfg.Pace
	switch task {
	case notesName:
		pace = 0 // The app does not show this answer while it is written.
	case "proofreading":
		pace /= 8 // The app shows a sixth of this answer.
	}
	c.stream(w, r, pace)
}

// completion is a complete answer with its metadata.
type completion struct {
	pieces  []string
	finish  llm.FinishReason
	created int64
	usage   bool // The client requested the usage.
	input   int  // Tokens.
}

// limit truncates the answer to a number of tokens.
func (c *completion) limit(tokens int) {
	sum := 0
	for i, piece := range c.pieces {
		if sum += llm.EstimateTokens(piece); sum > tokens {
			c.pieces, c.finish = c.pieces[:i], llm.FinishLength
			return
		}
	}
}

func (c *completion) tokens() map[string]int {
	output := llm.EstimateTokens(strings.Join(c.pieces, ""))
	return map[string]int{"prompt_tokens": c.input, "completion_tokens": output, "total_tokens": c.input + output}
}

func (c *completion) writeWhole(w http.ResponseWriter) {
	writeJSON(w, http.StatusOK, map[string]any{
		"id": "chatcmpl-offline", "object": "chat.completion", "created": c.created, "model": ModelName,
		"choices": []map[string]any{{
			"index": 0, "finish_reason": c.finish,
			"message": map[string]string{"role": "assistant", "content": strings.Join(c.pieces, "")},
		}},
		"usage": c.tokens(),
	})
}

// stream sends the answer piece by piece until the client disconnects.
func (c *completion) stream(w http.ResponseWriter, r *http.Request, pace time.Duration) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	var tick <-chan time.Time
	if pace > 0 {
		ticker := time.NewTicker(pace)
		defer ticker.Stop()
		tick = ticker.C
	}
	for i, piece := range c.pieces {
		if i > 0 && tick != nil {
			select {
			case <-tick:
			case <-r.Context().Done():
				return
			}
		}
		if !c.send(w, []map[string]any{{
			"index": 0, "delta": map[string]string{"content": piece},
			"finish_reason": nil,
		}}, nil) {
			return
		}
	}
	if !c.send(w, []map[string]any{{"index": 0, "delta": map[string]string{}, "finish_reason": c.finish}}, nil) {
		return
	}
	if c.usage && !c.send(w, []map[string]any{}, c.tokens()) {
		return
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n") // The client may have disconnected.
}

func (c *completion) send(w http.ResponseWriter, choices []map[string]any, usage map[string]int) bool {
	chunk := map[string]any{
		"id": "chatcmpl-offline", "object": "chat.completion.chunk", "created": c.created, "model": ModelName,
		"choices": choices,
	}
	if usage != nil {
		chunk["usage"] = usage
	}
	data, err := json.Marshal(chunk)
	if err != nil {
		return false
	}
	if _, err := fmt.Fprintf(w, "data: %s\n\n", data); err != nil {
		return false
	}
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	return true
}

// cutPieces splits an answer into pieces of one to maxPiece characters, similar to a model's tokens, never inside a
// grapheme of several code points.
func cutPieces(text string) []string {
	var pieces []string
	// Uneven but deterministic: a linear congruential generator (Knuth's MMIX).
	state := uint64(len(text))
	for len(text) > 0 {
		state = state*6364136223846793005 + 1442695040888963407
		size := 1 + int(state>>33)%maxPiece
		end := 0
		for n := 0; end < len(text); {
			r, width := utf8.DecodeRuneInString(text[end:])
			if n == size && !isExtender(r) && !strings.HasSuffix(text[:end], "\u200d") {
				break
			}
			if !isExtender(r) && n < size {
				n++
			}
			end += width
		}
		pieces = append(pieces, text[:end])
		text = text[end:]
	}
	return pieces
}

func refuse(w http.ResponseWriter, message string) {
	writeJSON(w, http.StatusBadRequest, map[string]any{
		"error": map[string]any{"message": message, "type": "invalid_request_error", "code": nil},
	})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // The client may have disconnected.
}
