package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/internal/inproc"
)

// Provider is a scripted OpenAI-compatible server. Each request consumes the next script; the last script is repeated.
// Title requests are answered with Title and consume no script.
type Provider struct {
	server *httptest.Server // Nil until URL is called.
	tb     testing.TB

	mu       sync.Mutex // Guards the fields below.
	scripts  [][]Step
	received []*ReceivedRequest
	arrived  chan struct{} // Closed and replaced when a request arrives.
}

// ReceivedRequest is a request that a Provider received.
type ReceivedRequest struct {
	Path         string // With the query.
	RemoteAddr   string // The client's address.
	Header       http.Header
	Body         []byte
	Model        string
	Messages     []llm.Message
	MaxTokens    int // max_tokens or max_completion_tokens.
	Temperature  *float32
	Tools        []llm.Tool
	Stream       bool
	IncludeUsage bool
	Title        bool            // Is a title request.
	Gone         <-chan struct{} // Closed when the client disconnected before the script ended.
}

// Params returns the fields of the request other than its model, messages and streaming options.
func (r *ReceivedRequest) Params(tb testing.TB) (fields map[string]any) {
	tb.Helper()
	if err := json.Unmarshal(r.Body, &fields); err != nil {
		tb.Fatal(err)
	}
	for _, name := range []string{"model", "messages", "stream", "stream_options"} {
		delete(fields, name)
	}
	return fields
}

// NewProvider returns a provider without scripts, which answers 500 until Add is called. It is closed with the test.
func NewProvider(tb testing.TB) *Provider {
	tb.Helper()
	return &Provider{tb: tb, arrived: make(chan struct{})}
}

// Add appends a script, which answers one request, and returns p.
func (p *Provider) Add(steps ...Step) *Provider {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.scripts = append(p.scripts, steps)
	return p
}

// URL starts the server on a local socket and returns its base URL, which ends in /v1.
func (p *Provider) URL() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == nil {
		p.server = httptest.NewServer(p)
		p.tb.Cleanup(func() {
			p.server.CloseClientConnections()
			p.server.Close()
		})
	}
	return p.server.URL + "/v1"
}

// Transport serves the same scripts without a socket, for tests in a testing/synctest bubble. Kill then aborts the
// response instead of a connection.
func (p *Provider) Transport() http.RoundTripper { return &inproc.Transport{Handler: p} }

// Requests returns the requests so far, in order of arrival.
func (p *Provider) Requests() []*ReceivedRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.received)
}

// Wait waits for the nth request, counted from 1. It fails the test after a minute.
func (p *Provider) Wait(n int) *ReceivedRequest {
	p.tb.Helper()
	limit := time.NewTimer(testTimeout)
	defer limit.Stop()
	for {
		p.mu.Lock()
		arrived, received := p.arrived, p.received
		p.mu.Unlock()
		if len(received) >= n {
			return received[n-1]
		}
		select {
		case <-arrived:
		case <-limit.C:
			p.tb.Fatalf("llmtest: request %d did not arrive", n)
		}
	}
}

func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		http.NotFound(w, r) // The provider lists no models.
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	gone := make(chan struct{})
	received := receive(r, body, gone)
	steps := p.take(received)
	defer func() {
		if r.Context().Err() != nil {
			close(gone)
		}
	}()
	e := &exchange{w: w, r: r, stream: received.Stream}
	for _, step := range steps {
		step(e)
		if r.Context().Err() != nil {
			return
		}
	}
	e.open()
}

// take records a request and returns its script.
func (p *Provider) take(received *ReceivedRequest) []Step {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.received = append(p.received, received)
	close(p.arrived)
	p.arrived = make(chan struct{})
	switch {
	case received.Title:
		return Answer(Title)
	case len(p.scripts) == 0:
		return []Step{Status(http.StatusInternalServerError, `{"error":{"message":"llmtest: no script"}}`)}
	case len(p.scripts) == 1:
		return p.scripts[0]
	}
	steps := p.scripts[0]
	p.scripts = p.scripts[1:]
	return steps
}

func receive(r *http.Request, body []byte, gone <-chan struct{}) *ReceivedRequest {
	var wire wireRequest
	_ = json.Unmarshal(body, &wire) // The test sees malformed JSON in Body.
	received := &ReceivedRequest{
		Path: r.URL.RequestURI(), RemoteAddr: r.RemoteAddr, Header: r.Header, Body: body, Model: wire.Model,
		Messages:  wire.messages(),
		MaxTokens: max(wire.MaxTokens, wire.MaxCompletionTokens), Temperature: wire.Temperature,
		Tools: wire.tools(), Stream: wire.Stream,
		IncludeUsage: wire.StreamOptions != nil && wire.StreamOptions.IncludeUsage, Gone: gone,
	}
	received.Title = IsTitle(received.Messages)
	return received
}

// wireRequest holds the fields of a chat completion request that this package reads.
type wireRequest struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    llm.Role    `json:"role"`
		Content wireContent `json:"content"`
		Prefix  bool        `json:"prefix"`

		ToolCalls  []wireCall `json:"tool_calls"`
		ToolCallID string     `json:"tool_call_id"`
	} `json:"messages"`
	Tools []struct {
		Function llm.Tool `json:"function"`
	} `json:"tools"`
	Stream              bool     `json:"stream"`
	MaxTokens           int      `json:"max_tokens"`
	MaxCompletionTokens int      `json:"max_completion_tokens"`
	Temperature         *float32 `json:"temperature"`
	StreamOptions       *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	ContinueFinalMessage bool  `json:"continue_final_message"`
	AddGenerationPrompt  *bool `json:"add_generation_prompt"`
}

type wireCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
	Extra json.RawMessage `json:"extra_content"`
}

// prefix returns the last message if the request asks to continue it, as vLLM or Mistral do, else "".
func (w *wireRequest) prefix() (string, error) {
	if len(w.Messages) == 0 {
		return "", nil
	}
	last := w.Messages[len(w.Messages)-1]
	switch {
	case w.ContinueFinalMessage && (w.AddGenerationPrompt == nil || *w.AddGenerationPrompt):
		return "", errors.New("continue_final_message and add_generation_prompt exclude each other")
	case last.Role == llm.RoleAssistant && (w.ContinueFinalMessage || last.Prefix):
		return last.Content.text, nil
	}
	return "", nil
}

func (w *wireRequest) messages() []llm.Message {
	messages := make([]llm.Message, len(w.Messages))
	for i, m := range w.Messages {
		messages[i] = llm.Message{
			Role: m.Role, Content: m.Content.text, Pictures: m.Content.pictures, ToolCallID: m.ToolCallID,
		}
		for _, call := range m.ToolCalls {
			messages[i].ToolCalls = append(messages[i].ToolCalls, llm.ToolCall{
				ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments, Extra: call.Extra,
			})
		}
	}
	return messages
}

func (w *wireRequest) tools() []llm.Tool {
	var tools []llm.Tool
	for _, t := range w.Tools {
		tools = append(tools, t.Function)
	}
	return tools
}

// Step is one step of a script. The first step that sends something opens the event stream with status 200, unless it
// is Status.
type Step func(e *exchange)

// exchange is one request in progress. It belongs to the handler's goroutine.
type exchange struct {
	w      http.ResponseWriter
	r      *http.Request
	opened bool
	stream bool
}

func (e *exchange) open() {
	if e.opened {
		return
	}
	e.opened = true
	e.w.Header().Set("Content-Type", "text/event-stream")
	e.w.WriteHeader(http.StatusOK)
	e.flush()
}

func (e *exchange) flush() {
	if f, ok := e.w.(http.Flusher); ok {
		f.Flush()
	}
}

func (e *exchange) write(raw []byte) {
	e.open()
	_, _ = e.w.Write(raw) // ctx reports a disconnected client.
	e.flush()
}

// Open sends only the header.
func Open() Step { return func(e *exchange) { e.open() } }

// Text sends one chunk per piece.
func Text(pieces ...string) Step {
	return func(e *exchange) {
		for _, piece := range pieces {
			e.write(AppendTextChunk(nil, []byte(piece)))
		}
	}
}

// Reasoning sends one chunk of reasoning per piece.
func Reasoning(pieces ...string) Step {
	return func(e *exchange) {
		for _, piece := range pieces {
			e.write(AppendReasoningChunk(nil, []byte(piece)))
		}
	}
}

// Bytes sends one chunk per piece, which may end inside a character, as from byte-level providers.
func Bytes(pieces ...[]byte) Step {
	return func(e *exchange) {
		for _, piece := range pieces {
			e.write(AppendTextChunk(nil, piece))
		}
	}
}

// Delta sends a chunk whose delta is this JSON object.
func Delta(object string) Step {
	return Data(`{"id":"chatcmpl-test","object":"chat.completion.chunk","created":1700000000,"model":"` + ModelName +
		`","choices":[{"index":0,"delta":` + object + `,"finish_reason":null}]}`)
}

// Data sends one event with this payload.
func Data(payload string) Step { return Raw("data: " + payload + "\n\n") }

// Raw sends these bytes unchanged.
func Raw(raw string) Step { return func(e *exchange) { e.write([]byte(raw)) } }

// Finish sends the chunk that ends the answer: "stop", "length", "content_filter".
func Finish(reason string) Step { return func(e *exchange) { e.write(appendFinish(nil, reason)) } }

// Usage sends the chunk that reports the tokens.
func Usage(input, output int) Step {
	return func(e *exchange) { e.write(appendUsage(nil, input, output)) }
}

// Done sends the end marker.
func Done() Step { return Raw("data: [DONE]\n\n") }

// Answer is the script of a complete answer, one chunk per piece.
func Answer(pieces ...string) []Step {
	output := 0
	for _, piece := range pieces {
		output += llm.EstimateTokens(piece)
	}
	return []Step{Text(pieces...), Finish("stop"), Usage(12, output), Done()}
}

// Error sends an error object inside the stream.
func Error(message, kind, code string) Step {
	object, _ := json.Marshal(map[string]any{"error": map[string]string{
		"message": message, "type": kind,
		"code": code,
	}})
	return Data(string(object))
}

// Status responds with another status, a body and pairs of headers: Status(429, body, "Retry-After", "1").
func Status(status int, body string, headers ...string) Step {
	if len(headers)%2 != 0 {
		panic("llmtest: Status takes headers in pairs")
	}
	return func(e *exchange) {
		e.opened = true
		e.w.Header().Set("Content-Type", "application/json")
		for pair := range slices.Chunk(headers, 2) {
			e.w.Header().Set(pair[0], pair[1])
		}
		e.w.WriteHeader(status)
		_, _ = io.WriteString(e.w, body)
	}
}

// Whole answers without streaming.
func Whole(text string) Step {
	object, _ := json.Marshal(text)
	return Status(http.StatusOK, fmt.Sprintf(`{"id":"chatcmpl-test","object":"chat.completion","created":1700000000,`+
		`"model":"%s","choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":"stop"}],`+
		`"usage":{"prompt_tokens":12,"completion_tokens":34,"total_tokens":46}}`, ModelName, object))
}

// Pause waits for a duration, or until the client has disconnected. It is meant for testing/synctest.
func Pause(d time.Duration) Step {
	return func(e *exchange) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-e.r.Context().Done():
		}
	}
}

// Reached closes a channel to signal the progress of the script to the test.
func Reached(reached chan<- struct{}) Step { return func(*exchange) { close(reached) } }

// Stall blocks until the client has disconnected.
func Stall() Step { return func(e *exchange) { <-e.r.Context().Done() } }

// Kill closes the connection, without a header if nothing was sent before.
func Kill() Step { return func(*exchange) { panic(http.ErrAbortHandler) } }
