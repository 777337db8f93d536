// Package offline is the engine that answers when no language model is configured. It implements OpenAI's protocol, so
// that the same client can use it.
//
// It implements the tasks that work well without a model: extractive summaries, answers quoted from documents, titles
// and proofreading by rules. It shows how tools are used. To other requests it answers that no model is connected. It
// imports packages llm, answer and proofread. The answer is a pure function of the request.
package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"

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

	answerID   = "chatcmpl-offline"
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
	h := &handler{cfg: cfg, proof: newProofreader()}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", h.complete)
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]any{
			"object": "list", "data": []openai.Model{{ID: ModelName, Object: "model", OwnedBy: "tsumugi"}},
		})
	})
	return mux
}

// NewTransport returns a transport that serves every request with the in-process engine, without a socket.
func NewTransport(cfg Config) http.RoundTripper {
	return &inproc.Transport{Handler: NewHandler(cfg)}
}

type handler struct {
	cfg   Config
	proof proofreader
}

// request holds the fields of a chat completion request that the engine reads.
type request struct {
	Messages []struct {
		Role    llm.Role `json:"role"`
		Content string   `json:"content"`
	} `json:"messages"`
	Stream              bool `json:"stream"`
	MaxTokens           int  `json:"max_tokens"`
	MaxCompletionTokens int  `json:"max_completion_tokens"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Stop           []string      `json:"stop"`
	Tools          []openai.Tool `json:"tools"`
	ToolChoice     any           `json:"tool_choice"`
	ResponseFormat struct {
		Type string `json:"type"`
	} `json:"response_format"`
}

func (h *handler) complete(w http.ResponseWriter, r *http.Request) {
	var req request
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&req); err != nil ||
		len(req.Messages) == 0 {
		refuse(w, "the body is no chat completion request with messages")
		return
	}
	messages, input := make([]llm.Message, len(req.Messages)), 0
	for i, m := range req.Messages {
		messages[i] = llm.Message{Role: m.Role, Content: m.Content}
		input += llm.EstimateTokens(m.Content)
	}
	reply := h.answer(messages)
	if results := toolResults(messages); results != "" {
		reply.text = results
	} else if call := req.toolCall(readPrompt(messages).question); call != nil {
		reply.text, reply.calls = "", []openai.ToolCall{*call}
	}
	if format := req.ResponseFormat.Type; format != "" && format != "text" && !reply.isJSON {
		refuse(w, "response_format is not supported")
		return
	}
	text := strings.TrimSpace(reply.text)
	for _, stop := range req.Stop {
		text, _, _ = strings.Cut(text, stop)
	}
	pieces, finish := limited(cutPieces(text), max(req.MaxTokens, req.MaxCompletionTokens))
	text = strings.Join(pieces, "")
	if len(reply.calls) > 0 {
		finish = openai.FinishReasonToolCalls
	}
	usage := openai.Usage{PromptTokens: input, CompletionTokens: llm.EstimateTokens(text)}
	usage.TotalTokens = usage.PromptTokens + usage.CompletionTokens
	if !req.Stream {
		message := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant, Content: text, ToolCalls: reply.calls}
		writeJSON(w, http.StatusOK, openai.ChatCompletionResponse{
			ID: answerID, Object: "chat.completion", Created: time.Now().Unix(), Model: ModelName, Usage: usage,
			Choices: []openai.ChatCompletionChoice{{Message: message, FinishReason: finish}},
		})
		return
	}
	pace := h.cfg.Pace
	if reply.hidden {
		pace = 0
	}
	var last *openai.Usage
	if req.StreamOptions.IncludeUsage {
		last = &usage
	}
	stream(r.Context(), w, pieces, reply.calls, pace, finish, last)
}

// limited returns the pieces up to a number of tokens, or all if that is 0.
func limited(pieces []string, tokens int) ([]string, openai.FinishReason) {
	sum := 0
	for i, piece := range pieces {
		if sum += llm.EstimateTokens(piece); tokens > 0 && sum > tokens {
			return pieces[:i], openai.FinishReasonLength
		}
	}
	return pieces, openai.FinishReasonStop
}

// stream sends the answer piece by piece until the client disconnects, then calls of tools, and the usage unless it is
// nil.
func stream(ctx context.Context, w http.ResponseWriter, pieces []string, calls []openai.ToolCall, pace time.Duration,
	finish openai.FinishReason, usage *openai.Usage,
) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	chunk := openai.ChatCompletionStreamResponse{
		ID: answerID, Object: "chat.completion.chunk", Created: time.Now().Unix(), Model: ModelName,
	}
	send := func(choices ...openai.ChatCompletionStreamChoice) { // Errors of writing mean that the client disconnected.
		chunk.Choices = append([]openai.ChatCompletionStreamChoice{}, choices...)
		data, _ := json.Marshal(chunk)
		_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
		_ = http.NewResponseController(w).Flush()
	}
	for i, piece := range pieces {
		if i > 0 {
			select {
			case <-time.After(pace):
			case <-ctx.Done():
				return
			}
		}
		send(openai.ChatCompletionStreamChoice{Delta: openai.ChatCompletionStreamChoiceDelta{Content: piece}})
	}
	if len(calls) > 0 {
		send(openai.ChatCompletionStreamChoice{Delta: openai.ChatCompletionStreamChoiceDelta{ToolCalls: calls}})
	}
	send(openai.ChatCompletionStreamChoice{FinishReason: finish})
	if chunk.Usage = usage; usage != nil {
		send()
	}
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
}

// cutPieces splits an answer into pieces of 1 to maxPiece characters, similar to a model's tokens, never inside a
// grapheme of several code points.
func cutPieces(text string) (pieces []string) {
	start, count := 0, 0
	for at, r := range text {
		size := 1 + len(pieces)*7%maxPiece // Uneven.
		if count >= size && !isExtender(r) && !strings.HasSuffix(text[:at], "\u200d") {
			pieces = append(pieces, text[start:at])
			start, count = at, 0
		}
		if !isExtender(r) {
			count++
		}
	}
	if start < len(text) {
		pieces = append(pieces, text[start:])
	}
	return pieces
}

func refuse(w http.ResponseWriter, message string) {
	writeJSON(w, http.StatusBadRequest, map[string]any{
		"error": map[string]string{"message": message, "type": "invalid_request_error"},
	})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // The client may have disconnected.
}
