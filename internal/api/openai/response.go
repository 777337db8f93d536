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

// Response sends the answer to a request: as one object, or as a stream of events.
type Response struct {
	req   Request
	form  form
	w     http.ResponseWriter
	begun bool
	sent  strings.Builder // The part of the answer's text sent so far.
}

// form is the form of an answer: a completion, or a response.
type form interface {
	// whole returns a complete answer with its text.
	whole(answer chat.Message, text string) any
	// begin returns the first events of a stream.
	begin() []event
	// delta returns the events of the next piece of the text.
	delta(piece string, first bool) []event
	// end returns the events of a complete answer after its text, which is "" for none.
	end(answer chat.Message, text string) []event
	// fail returns the last events of a failed answer after its text.
	fail(answer chat.Message, text string, err OpenAIError) []event
}

// event is an event of a stream.
type event struct {
	name string // "" for none.
	data any    // Sent as JSON, or unchanged if it is a string.
}

// writeTimeout bounds a write of an event, and beat is the interval of comments.
const (
	writeTimeout = 10 * time.Second
	beat         = 15 * time.Second
)

// NewResponse returns the response to a request with an answer, which may not be complete.
func NewResponse(w http.ResponseWriter, req Request, answer chat.Message) *Response {
	r := &Response{req: req, w: w, form: newCompletionForm(req, answer)}
	if req.response != nil {
		r.form = newResponseForm(req, answer)
	}
	return r
}

// errRewritten ends a stream whose answer is generated again, with another text, after its server failed.
var errRewritten = errors.New("openai: the answer was begun again")

// Whole returns a stored answer as one object, or the error of a failed one, which has a Failure.
func (r *Response) Whole(answer chat.Message) (any, error) {
	if answer.Status == chat.StatusFailed {
		if err := r.req.refusedByModel(*answer.Failure); err != nil {
			return nil, err
		}
		return nil, fault.Errorf(fault.Unavailable, "%s", answer.Failure.Detail)
	}
	return r.form.whole(answer, r.content(answer)), nil
}

// content returns the text of a complete answer with its notices. JSON is not changed. An answer with returned calls
// has no notices, because the answer to their results has them.
func (r *Response) content(answer chat.Message) string {
	notice := answer.Notice()
	if notice == "" || r.req.params.Schema != nil || len(answer.ReturnedCalls()) > 0 {
		return answer.Content
	}
	return answer.Content + "\n\n⚠️ " + notice
}

// Begun reports whether a part of a stream was sent.
func (r *Response) Begun() bool { return r.begun }

// Begin sends the beginning of a stream.
func (r *Response) Begin(ctx context.Context) error { return r.send(ctx, r.form.begin()) }

// End sends the rest of a stored answer, and its end. A failed answer has a Failure.
func (r *Response) End(ctx context.Context, answer chat.Message) error {
	if answer.Status == chat.StatusFailed {
		return r.fail(ctx, answer)
	}
	if err := r.text(ctx, r.content(answer)); err != nil {
		return err
	}
	return r.send(ctx, r.form.end(answer, r.sent.String()))
}

// fail sends the rest of a failed answer, and the error.
func (r *Response) fail(ctx context.Context, answer chat.Message) error {
	if err := r.text(ctx, answer.Content); err != nil {
		return err
	}
	failed := NewError(http.StatusServiceUnavailable, answer.Failure.Code, answer.Failure.Detail, nil)
	if err := r.req.refusedByModel(*answer.Failure); err != nil {
		param := fault.FieldsOf(err)[0].Field
		failed = NewError(http.StatusBadRequest, string(fault.CodeOf(err)), answer.Failure.Detail, &param)
	}
	return r.send(ctx, r.form.fail(answer, r.sent.String(), failed))
}

// Copy sends the text of an answer as it grows, until it is complete.
func (r *Response) Copy(ctx context.Context, text *stream.Text) error {
	return text.Follow(ctx, beat, func() error {
		return r.piece(ctx, text.TextFrom(r.sent.Len()))
	}, func() error { return r.Beat(ctx) })
}

// text sends the new part of a text.
func (r *Response) text(ctx context.Context, text string) error {
	if !strings.HasPrefix(text, r.sent.String()) {
		return errRewritten
	}
	return r.piece(ctx, text[r.sent.Len():])
}

// piece sends the next piece of the text, which may be empty.
func (r *Response) piece(ctx context.Context, piece string) error {
	if piece == "" {
		return nil
	}
	first := r.sent.Len() == 0
	r.sent.WriteString(piece)
	return r.send(ctx, r.form.delta(piece, first))
}

// Hold sends a comment after each interval until ready is closed.
func (r *Response) Hold(ctx context.Context, ready <-chan struct{}) error {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for {
		select {
		case <-ready:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
			if err := r.Beat(ctx); err != nil {
				return err
			}
		}
	}
}

// Beat sends a comment, so that proxies do not time out.
func (r *Response) Beat(ctx context.Context) error { return r.write(ctx, ": \n\n") }

// send writes events.
func (r *Response) send(ctx context.Context, events []event) error {
	var b strings.Builder
	for _, e := range events {
		if e.name != "" {
			b.WriteString("event: " + e.name + "\n")
		}
		text, literal := e.data.(string)
		if !literal {
			body, err := json.Marshal(e.data)
			if err != nil {
				return err
			}
			text = string(body)
		}
		b.WriteString("data: " + text + "\n\n")
	}
	return r.write(ctx, b.String())
}

// write writes a part of the stream within writeTimeout.
func (r *Response) write(ctx context.Context, part string) error {
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
	if _, err := r.w.Write([]byte(part)); err != nil {
		return err
	}
	return rc.Flush()
}
