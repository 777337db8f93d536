package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/stream"
)

// Response is the response to a request: a completion, or a stream of chunks.
type Response struct {
	req     Request
	id      string
	created int
	w       http.ResponseWriter
	begun   bool
	sent    string // The part of the answer's text sent so far.
}

// writeTimeout bounds a write of a chunk, and beat is the interval of comments.
const (
	writeTimeout = 10 * time.Second
	beat         = 15 * time.Second
)

// NewResponse returns the response to a request with an answer, which may not be complete.
func NewResponse(w http.ResponseWriter, req Request, answer chat.Message) *Response {
	return &Response{
		req: req, id: "chatcmpl-" + answer.ID.String(), created: int(answer.CreatedAt.Unix()), w: w,
	}
}

// errRewritten ends a stream whose answer is generated again, with another text, after its server failed.
var errRewritten = errors.New("openai: the answer was begun again")

// Completion returns the completion of a stored answer, or the error of a failed one, which has a Failure.
func (r *Response) Completion(answer chat.Message) (OpenAICompletion, error) {
	if err := r.failureOf(answer); err != nil {
		return OpenAICompletion{}, err
	}
	return OpenAICompletion{
		ID: r.id, Object: "chat.completion", Created: r.created, Model: r.req.Model, Usage: usageOf(answer),
		Choices: []OpenAIChoice{{
			FinishReason: finishOf(answer), Message: OpenAIAnswer{Role: "assistant", Content: r.content(answer)},
		}},
	}, nil
}

// failureOf returns the error of a failed answer.
func (r *Response) failureOf(answer chat.Message) error {
	if answer.Status != chat.StatusFailed {
		return nil
	}
	if err := r.req.refusedByModel(*answer.Failure); err != nil {
		return err
	}
	return fault.Errorf(fault.Unavailable, "%s", answer.Failure.Detail)
}

// content returns the text of a complete answer with the notice of missing documents. JSON is not changed.
func (r *Response) content(answer chat.Message) string {
	notice := answer.Notice()
	if notice == "" || r.req.inJSON() {
		return answer.Content
	}
	return answer.Content + "\n\n⚠️ " + notice
}

func usageOf(answer chat.Message) OpenAIUsage {
	return OpenAIUsage{
		PromptTokens: answer.InputTokens, CompletionTokens: answer.OutputTokens,
		TotalTokens: answer.InputTokens + answer.OutputTokens,
	}
}

func finishOf(answer chat.Message) string {
	if answer.FinishReason == chat.FinishLength {
		return "length"
	}
	return "stop"
}

// Begun reports whether a part of a stream was sent.
func (r *Response) Begun() bool { return r.begun }

// Begin sends the first chunk.
func (r *Response) Begin(ctx context.Context) error {
	return r.chunk(ctx, OpenAIDelta{Role: "assistant"}, "")
}

// End sends the rest of a stored answer, and its end. A failed answer has a Failure.
func (r *Response) End(ctx context.Context, answer chat.Message) error {
	if answer.Status == chat.StatusFailed {
		return r.fail(ctx, answer)
	}
	if err := r.text(ctx, r.content(answer)); err != nil {
		return err
	}
	if err := r.chunk(ctx, OpenAIDelta{}, finishOf(answer)); err != nil {
		return err
	}
	if r.req.includeUsage {
		chunk, usage := r.envelope(), usageOf(answer)
		chunk.Choices, chunk.Usage = []OpenAIChunkChoice{}, &usage
		if err := r.send(ctx, chunk); err != nil {
			return err
		}
	}
	return r.write(ctx, "data: [DONE]\n\n")
}

// fail sends the rest of a failed answer, and the error.
func (r *Response) fail(ctx context.Context, answer chat.Message) error {
	if err := r.text(ctx, answer.Content); err != nil {
		return err
	}
	if err := r.req.refusedByModel(*answer.Failure); err != nil {
		param := fault.FieldsOf(err)[0].Field
		return r.send(ctx, NewError(http.StatusBadRequest, string(fault.CodeOf(err)), answer.Failure.Detail, &param))
	}
	return r.send(ctx, NewError(http.StatusServiceUnavailable, answer.Failure.Code, answer.Failure.Detail, nil))
}

// Copy sends the text of an answer as it grows, until it is complete.
func (r *Response) Copy(ctx context.Context, text *stream.Text) error {
	for watch := text.Watch(""); ; {
		watch.Take() // Only the text is sent. Take advances the watch.
		more, over := watch.Wait()
		if err := r.text(ctx, text.Text()); err != nil || over {
			return err
		}
		if err := r.Wait(ctx, more, beat); err != nil {
			return err
		}
	}
}

// text sends the new part of a text.
func (r *Response) text(ctx context.Context, text string) error {
	if !strings.HasPrefix(text, r.sent) {
		return errRewritten
	}
	rest := text[len(r.sent):]
	if rest == "" {
		return nil
	}
	r.sent = text
	return r.chunk(ctx, OpenAIDelta{Content: rest}, "")
}

// Wait waits for a channel to be closed. It sends comments at intervals, so that proxies do not time out.
func (r *Response) Wait(ctx context.Context, ready <-chan struct{}, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return r.write(ctx, ": \n\n")
	}
}

// envelope returns a chunk without choices.
func (r *Response) envelope() OpenAIChunk {
	return OpenAIChunk{ID: r.id, Object: "chat.completion.chunk", Created: r.created, Model: r.req.Model}
}

// chunk sends a piece of the answer, or its end if finish is set.
func (r *Response) chunk(ctx context.Context, delta OpenAIDelta, finish string) error {
	chunk := r.envelope()
	chunk.Choices = []OpenAIChunkChoice{{Delta: delta}}
	if finish != "" {
		chunk.Choices[0].FinishReason = &finish
	}
	return r.send(ctx, chunk)
}

func (r *Response) send(ctx context.Context, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return r.write(ctx, "data: "+string(body)+"\n\n")
}

// write writes an event within writeTimeout.
func (r *Response) write(ctx context.Context, event string) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	rc := http.NewResponseController(r.w)
	if err := rc.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil &&
		!errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if !r.begun {
		h := r.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no")
		r.w.WriteHeader(http.StatusOK)
		r.begun = true
	}
	if _, err := r.w.Write([]byte(event)); err != nil {
		return err
	}
	return rc.Flush()
}
