package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/stream"
)

// completion is a response in OpenAI's form.
type completion struct {
	req     completionRequest
	id      string
	created int64
	w       http.ResponseWriter
	begun   bool
	sent    string // The part of the answer's text sent so far.
}

// completionWrite bounds a write of a chunk, and completionBeat is the interval of comments.
const (
	completionWrite = 10 * time.Second
	completionBeat  = 15 * time.Second
)

// errRewritten ends a stream whose answer is generated again, with another text, after its server failed.
var errRewritten = errors.New("api: the answer was begun again")

// streamCompletion streams an answer. The protocol supports neither the removal of sent text nor resuming.
func (s *Server) streamCompletion(
	ctx context.Context, actor identity.Actor, exchange chat.Exchange, c *completion,
) error {
	ctx, cancel := context.WithDeadline(ctx, streamDeadline(actor.ExpiresAt))
	defer cancel()
	if err := c.chunk(ctx, OpenAIDelta{Role: "assistant"}, ""); err != nil {
		return err
	}
	for copied := false; !copied; {
		found, err := within(ctx, func(ctx context.Context) (chat.Attachment, error) {
			return s.Chat.Follow(ctx, owner(actor), exchange.Answer)
		})
		if err != nil {
			return err
		}
		if copied = found.Text != nil; copied {
			err = c.copy(ctx, found.Text)
		} else {
			err = c.wait(ctx, found.Opened, found.Patience)
		}
		found.Leave()
		if err != nil {
			return err
		}
	}
	ended, err := s.Chat.WaitFor(ctx, owner(actor), exchange)
	if err != nil {
		return err
	}
	return s.endCompletion(ctx, ended.Answer, c)
}

// endCompletion sends the rest of a stored answer, and its end.
func (s *Server) endCompletion(ctx context.Context, answer chat.Message, c *completion) error {
	if answer.Status == chat.StatusFailed {
		return c.fail(ctx, answer)
	}
	if err := c.text(ctx, c.content(answer)); err != nil {
		return err
	}
	if err := c.chunk(ctx, OpenAIDelta{}, finishOf(answer)); err != nil {
		return err
	}
	if c.req.includeUsage {
		chunk, usage := c.envelope(), usageOf(answer)
		chunk.Choices, chunk.Usage = []OpenAIChunkChoice{}, &usage
		if err := c.send(ctx, chunk); err != nil {
			return err
		}
	}
	return c.write(ctx, "data: [DONE]\n\n")
}

// fail sends the rest of a failed answer, and the error.
func (c *completion) fail(ctx context.Context, answer chat.Message) error {
	if err := c.text(ctx, answer.Content); err != nil {
		return err
	}
	p := Problem{Status: http.StatusServiceUnavailable, Code: "unavailable", Detail: busyDetail}
	if f := answer.Failure; f != nil {
		p.Code, p.Detail = f.Code, f.Detail
		if err := c.req.refusedByModel(*f); err != nil {
			p.Status, p.Code = http.StatusBadRequest, string(fault.CodeOf(err))
			p.Errors = convert(fault.FieldsOf(err), func(f fault.FieldError) FieldError { return FieldError(f) })
		}
	}
	return c.send(ctx, OpenAIError{Error: openAIErrorOf(p)})
}

// copy sends the text of an answer as it grows, until it is complete.
func (c *completion) copy(ctx context.Context, text *stream.Text) error {
	for watch := text.Watch(""); ; {
		watch.Take() // copy sends only the text. Take advances the watch.
		more, over := watch.Wait()
		if err := c.text(ctx, text.Text()); err != nil || over {
			return err
		}
		if err := c.wait(ctx, more, completionBeat); err != nil {
			return err
		}
	}
}

// text sends the new part of a text.
func (c *completion) text(ctx context.Context, text string) error {
	if !strings.HasPrefix(text, c.sent) {
		return errRewritten
	}
	rest := text[len(c.sent):]
	if rest == "" {
		return nil
	}
	c.sent = text
	return c.chunk(ctx, OpenAIDelta{Content: rest}, "")
}

// wait waits for a channel to be closed. It sends comments at intervals, so that proxies do not time out.
func (c *completion) wait(ctx context.Context, ready <-chan struct{}, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return c.write(ctx, ": \n\n")
	}
}

// envelope returns a chunk without choices.
func (c *completion) envelope() OpenAIChunk {
	return OpenAIChunk{ID: c.id, Object: "chat.completion.chunk", Created: int(c.created), Model: c.req.model}
}

// chunk sends a piece of the answer, or its end if finish is set.
func (c *completion) chunk(ctx context.Context, delta OpenAIDelta, finish string) error {
	chunk := c.envelope()
	chunk.Choices = []OpenAIChunkChoice{{Delta: delta}}
	if finish != "" {
		chunk.Choices[0].FinishReason = &finish
	}
	return c.send(ctx, chunk)
}

func (c *completion) send(ctx context.Context, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.write(ctx, "data: "+string(body)+"\n\n")
}

// write writes an event within completionWrite.
func (c *completion) write(ctx context.Context, event string) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	rc := http.NewResponseController(c.w)
	if err := rc.SetWriteDeadline(time.Now().Add(completionWrite)); err != nil &&
		!errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if !c.begun {
		h := c.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no")
		c.w.WriteHeader(http.StatusOK)
		c.begun = true
	}
	if _, err := c.w.Write([]byte(event)); err != nil {
		return err
	}
	return rc.Flush()
}
