package llmtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
)

// Handler is an OpenAI-compatible server (POST /v1/chat/completions and /v1/embeddings, GET /v1/models) that follows
// the Directive in the question. Requests for titles and suggestions are answered at once. Its only state are the counts for
// Directive.Times.
type Handler struct {
	pace time.Duration
	mux  *http.ServeMux
	// Of *[]byte. A write has up to 64 KB; allocating a buffer for each answer would be a third of the total cost.
	bufs sync.Pool

	mu    sync.Mutex     // Guards times.
	times map[string]int // Requests so far, by Directive.Key.
}

// NewHandler returns a Handler that sends one token per pace unless a directive sets another pace. 0 means no delay.
func NewHandler(pace time.Duration) *Handler {
	h := &Handler{pace: pace, mux: http.NewServeMux(), times: make(map[string]int)}
	h.bufs.New = func() any { return new([]byte) }
	h.mux.HandleFunc("POST /v1/chat/completions", h.complete)
	h.mux.HandleFunc("POST /v1/embeddings", embed)
	h.mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []map[string]any{
			{"id": ModelName, "object": "model", "created": 1700000000, "owned_by": "tsumugi"},
		}})
	})
	return h
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

func (h *Handler) complete(w http.ResponseWriter, r *http.Request) {
	var wire wireRequest
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<20))
	if err == nil {
		err = json.Unmarshal(body, &wire)
	}
	messages := wire.messages()
	var d Directive
	if err == nil {
		d, err = parseDirective(messages)
	}
	if err == nil {
		d.prefix, err = wire.prefix()
	}
	if err != nil {
		writeError(w, http.StatusBadRequest, err.Error())
		return
	}
	if d.Pictures {
		d.Text = told(messages)
	}
	if len(wire.Tools) > 0 {
		d.setCalls(messages)
	}
	if IsTitle(messages) {
		d = Directive{Text: d.Title, TokenChars: 8, TokensPerSecond: -1, Finish: "stop"}
	}
	if IsSuggestion(messages) {
		d = Directive{Text: cmp.Or(d.Suggestions, "なし"), TokenChars: 8, TokensPerSecond: -1, Finish: "stop"}
	}
	if d.Times > 0 && h.count(d.Key) > d.Times {
		d.Status, d.Fail, d.StallAfter = 0, "", nil
	}
	if d.Status != 0 && d.Status != http.StatusOK {
		if d.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(d.RetryAfter))
		}
		writeError(w, d.Status, "llmtest: status by directive")
		return
	}
	input := 0
	for _, m := range messages {
		input += llm.EstimateTokens(m.Content)
	}
	if !wire.Stream {
		writeWhole(w, d, input)
		return
	}
	usage := !d.NoUsage && wire.StreamOptions != nil && wire.StreamOptions.IncludeUsage
	buf := h.bufs.Get().(*[]byte) //nolint:forcetypeassert // Nothing else is put there.
	s := &answerStream{w: w, r: r, directive: d, pace: h.paceOf(d), buf: *buf}
	s.run(input, usage)
	if *buf = s.buf; cap(s.buf) <= 2*maxWrite {
		h.bufs.Put(buf)
	}
}

// maxWrite bounds the bytes written at once, approximately.
const maxWrite = 64 << 10

func (h *Handler) paceOf(d Directive) time.Duration {
	switch {
	case d.TokensPerSecond < 0:
		return 0
	case d.TokensPerSecond > 0:
		return time.Duration(float64(time.Second) / d.TokensPerSecond)
	default:
		return h.pace
	}
}

func (h *Handler) count(key string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.times[key]++
	return h.times[key]
}

// answerStream is one answer being sent. It belongs to the handler's goroutine.
type answerStream struct {
	w         http.ResponseWriter
	r         *http.Request
	directive Directive
	pace      time.Duration

	field string // The delta's field for rest.
	rest  []byte // Text that has not been sent.
	sent  int    // Characters sent.
	limit int    // Characters before it fails or stalls; -1 for never.
	buf   []byte
}

func (s *answerStream) run(input int, usage bool) {
	d := &s.directive
	s.w.Header().Set("Content-Type", "text/event-stream")
	s.w.WriteHeader(http.StatusOK)
	s.flush()
	if !s.sleepUntil(time.Now().Add(time.Duration(d.FirstTokenMS) * time.Millisecond)) {
		return
	}
	if !s.reasoning() {
		return
	}
	if d.StallAfter != nil {
		s.limit = *d.StallAfter
	}
	if d.Fail != "" {
		s.limit = d.FailAfter
	}
	start := time.Now()
	s.field, s.rest, s.sent = "content", []byte(d.answer(start)), 0
	output := len(s.rest)
	if !s.text(start) {
		return
	}
	if s.limit >= 0 && s.sent >= s.limit {
		s.fail()
		return
	}
	if !s.calls() {
		return
	}
	s.buf = appendFinish(s.buf, d.Finish)
	if usage {
		s.buf = appendUsage(s.buf, input, output/3)
	}
	s.buf = append(s.buf, "data: [DONE]\n\n"...)
	s.write()
}

// reasoning sends the reasoning. It returns false if the client has disconnected.
func (s *answerStream) reasoning() bool {
	s.limit = -1
	thought := s.directive.reasoning()
	if thought == "" {
		return true
	}
	s.field, s.rest = s.directive.ReasoningForm, []byte(thought)
	if s.field == ReasoningTags {
		s.field, s.rest = "content", []byte("<think>\n"+thought+"\n</think>\n\n")
	}
	return s.text(time.Now())
}

// calls sends the calls of tools, in pieces with a wait after each, or leaves them in buf to be sent with the end. It
// returns false if the client has disconnected.
func (s *answerStream) calls() bool {
	s.buf = s.buf[:0]
	for _, piece := range callPieces(s.directive.calls) {
		s.buf = append(s.buf, piece...)
		if s.directive.CallMS == 0 {
			continue
		}
		if !s.write() || !s.sleepUntil(time.Now().Add(time.Duration(s.directive.CallMS)*time.Millisecond)) {
			return false
		}
		s.buf = s.buf[:0]
	}
	return true
}

// text sends the text token by token on a schedule that starts at start and does not drift: all tokens due are sent
// in one write. It returns false if the client has disconnected.
func (s *answerStream) text(start time.Time) bool {
	tokens := 0
	for len(s.rest) > 0 && (s.limit < 0 || s.sent < s.limit) {
		s.buf = s.buf[:0]
		for len(s.rest) > 0 && (s.limit < 0 || s.sent < s.limit) && len(s.buf) < maxWrite &&
			(s.pace == 0 || time.Since(start) >= time.Duration(tokens)*s.pace) {
			s.buf = appendChunk(s.buf, s.field, s.token())
			tokens++
		}
		if !s.write() {
			return false
		}
		if s.pace > 0 && len(s.rest) > 0 && !s.sleepUntil(start.Add(time.Duration(tokens)*s.pace)) {
			return false
		}
	}
	return true
}

// token removes the next token from the text and returns it.
func (s *answerStream) token() []byte {
	chars := s.directive.TokenChars
	if s.limit >= 0 {
		chars = min(chars, s.limit-s.sent)
	}
	end := 0
	for range chars {
		if end == len(s.rest) {
			break
		}
		_, size := utf8.DecodeRune(s.rest[end:])
		end += size
		s.sent++
	}
	token := s.rest[:end]
	s.rest = s.rest[end:]
	return token
}

func (s *answerStream) fail() {
	s.buf = s.buf[:0]
	switch s.directive.Fail {
	case FailKill:
		panic(http.ErrAbortHandler)
	case FailEOF:
	case FailError:
		s.buf = append(
			s.buf, `data: {"error":{"message":"The server had an error","type":"server_error","code":null}}`+"\n\n"...,
		)
	case FailRateLimit:
		s.buf = append(
			s.buf,
			`data: {"error":{"message":"Rate limit reached","type":"rate_limit_error","code":"rate_limit_exceeded"}}`+
				"\n\n"...,
		)
	case FailFilter:
		s.buf = append(appendFinish(s.buf, "content_filter"), "data: [DONE]\n\n"...)
	case FailHalfJSON:
		s.buf = append(s.buf, `data: {"id":"chatcmpl-test","choices":[{"index":0,"delta":{"content":"途`+"\n\n"...)
	case FailLongLine:
		s.buf = append(s.buf, "data: "...)
		for len(s.buf) < 10<<20 {
			s.buf = append(s.buf, "xxxxxxxxxxxxxxxx"...)
		}
		s.buf = append(s.buf, "\n\n"...)
	default: // StallAfter.
		<-s.r.Context().Done()
		return
	}
	s.write()
}

func (s *answerStream) write() bool {
	if _, err := s.w.Write(s.buf); err != nil {
		return false
	}
	s.flush()
	return s.r.Context().Err() == nil
}

func (s *answerStream) flush() {
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

func (s *answerStream) sleepUntil(at time.Time) bool {
	wait := time.Until(at)
	if wait <= 0 {
		return s.r.Context().Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.r.Context().Done():
		return false
	}
}

func writeWhole(w http.ResponseWriter, d Directive, input int) {
	text := d.answer(time.Now())
	message := map[string]any{"role": "assistant", "content": text}
	if thought := d.reasoning(); thought != "" {
		message["reasoning_content"] = thought
	}
	if len(d.calls) > 0 {
		message["tool_calls"] = wireCalls(d.calls)
	}
	output := llm.EstimateTokens(text)
	writeJSON(w, http.StatusOK, map[string]any{
		"id": "chatcmpl-test", "object": "chat.completion", "created": 1700000000, "model": ModelName,
		"choices": []map[string]any{{
			"index": 0, "finish_reason": d.Finish, "message": message,
		}},
		"usage": map[string]int{"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output},
	})
}

func writeError(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, map[string]any{"error": map[string]any{
		"message": message, "type": fmt.Sprintf("status_%d", status), "code": nil,
	}})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // The client may have disconnected.
}
