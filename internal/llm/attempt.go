package llm

import (
	"bufio"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"

	openai "github.com/sashabaranov/go-openai"
)

const (
	// tailTimeout bounds the wait for the usage once the answer has ended. An answer that is whole doesn't fail, and isn't
	// held back for long, because its bill is late.
	tailTimeout = 2 * time.Second
	// drainTimeout bounds the wait for the end of the body after [DONE], which lets the connection be used again.
	drainTimeout = 50 * time.Millisecond
	// maxJoined is how many bytes of text are given to the caller at once, and a chunk more.
	maxJoined = 16 << 10
)

var (
	errEmpty    = errors.New("llm: the answer is empty")
	errFiltered = errors.New("llm: stopped by the content filter")
	errHTML     = errors.New("llm: the provider answered with an HTML page")
)

// attempt asks once. Its result is filled as far as the answer came.
func (r *run) attempt(ctx context.Context, model string) (Result, error) {
	cfg := &r.client.cfg
	attemptCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a := &answer{run: r, cancel: cancel, result: Result{Model: model}}
	a.timer = time.AfterFunc(cfg.FirstTokenTimeout, func() { cancel(errFirstToken) })
	defer func() { a.timer.Stop() }()

	response, err := r.client.send(attemptCtx, buildRequest(model, r.req, r.client.dialectOf(model)))
	if err == nil {
		err = a.read(response)
		_ = response.Body.Close()
	}
	a.send() // An answer that failed keeps what came.
	a.count()
	if a.result.FinishReason != "" {
		// Whatever befell an answer after it was whole doesn't matter.
		if !r.emitted && a.result.FinishReason == FinishStop {
			return a.result, fault.Wrap(errEmpty, CodeBadResponse, detailEmpty)
		}
		return a.result, nil
	}
	if err == nil {
		err = fault.Wrap(io.ErrUnexpectedEOF, CodeInterrupted, detailInterrupted)
	}
	return a.result, attemptFault(ctx, attemptCtx, err)
}

// send makes the request through go-openai and returns the response, whose status is 200.
func (c *Client) send(ctx context.Context, request openai.ChatCompletionRequest) (*http.Response, error) {
	doer := &capture{client: c.http}
	client := openai.NewClientWithConfig(c.endpoint.openaiConfig(c.cfg.APIKey, doer))
	// The stream that comes with it reads lazily: nothing of the body is consumed.
	_, err := client.CreateChatCompletionStream(ctx, request)
	if err == nil {
		return doer.response, nil
	}
	if doer.response != nil {
		_ = doer.response.Body.Close()
	}
	if errors.Is(err, openai.ErrChatCompletionInvalidModel) {
		return nil, fault.Wrap(err, CodeBadRequest, detailBadRequest)
	}
	return nil, err
}

// answer is the reading of one response. It belongs to the goroutine of the caller of Stream; only the timer's function
// runs elsewhere, and does nothing but cancel.
type answer struct {
	run    *run
	cancel context.CancelCauseFunc
	timer  *time.Timer // Until the first token, then between tokens.
	began  bool        // The first token has come; timer is the second kind.
	result Result
	text   joiner
	unsent []byte     // Text that the caller is given before the next read of the response, which may block.
	heard  bool       // A token came since the timer was set.
	counts bool       // The provider reported its usage.
	tokens tokenCount // The output so far, for when it doesn't.
}

// read reads the response to its end, which may come too early: the caller looks for the finish reason.
func (a *answer) read(response *http.Response) error {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch kind {
	case "text/html": // A login page of a proxy, or a wrong URL.
		return fault.Wrap(errHTML, CodeBadResponse, detailBadResponse)
	case "application/json":
		return a.readWhole(response.Body)
	default:
		return a.readStream(response.Body)
	}
}

func (a *answer) readStream(body io.Reader) error {
	lines := newLineReader(body, a.run.client.cfg.MaxBytes, &a.run.client.buffers, a.idle)
	defer lines.close()
	var d decoder
	for {
		data, err := lines.next()
		if err != nil {
			return a.ended(err)
		}
		if string(data) == "[DONE]" {
			a.drain(body)
			return nil
		}
		if err := d.decode(data); err != nil {
			return fault.Wrap(err, CodeBadResponse, detailBadResponse)
		}
		if err := a.take(&d.chunk); err != nil {
			return err
		}
	}
}

// ended is what it means that no further line can be read.
func (a *answer) ended(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case errors.Is(err, errLineTooLong):
		return fault.Wrap(err, CodeBadResponse, detailBadResponse)
	case errors.Is(err, errTooMuch):
		return fault.Wrap(err, CodeTooLong, detailTooLong)
	}
	return interrupted(err, a.run.emitted)
}

// interrupted is the error of a connection that broke. Before the first token that is no different from one that was
// never made.
func interrupted(err error, emitted bool) error {
	if emitted {
		return fault.Wrap(err, CodeInterrupted, detailInterrupted)
	}
	return fault.Wrap(err, CodeUnavailable, detailUnavailable)
}

// readWhole reads the answer of a server that doesn't stream, or an error that came with status 200.
func (a *answer) readWhole(body io.Reader) error {
	buffered := bufio.NewReader(body)
	if first, _ := buffered.Peek(1); string(first) != "{" {
		return a.readStream(buffered) // Streamed after all, under the wrong name.
	}
	data, err := io.ReadAll(io.LimitReader(buffered, maxBody+1))
	if err != nil {
		return interrupted(err, a.run.emitted)
	}
	if len(data) > maxBody {
		return fault.Wrap(errBodyTooLong, CodeBadResponse, detailBadResponse)
	}
	var d decoder
	if err := d.decode(data); err != nil {
		return fault.Wrap(err, CodeBadResponse, detailBadResponse)
	}
	return a.take(&d.chunk)
}

// take adds one chunk to the answer.
func (a *answer) take(c *chunk) error {
	if c.err != nil {
		a.send()
		return faultOfChunkError(c.err, a.run.emitted)
	}
	if c.model != "" {
		a.result.Model = c.model
	}
	if c.usage != nil {
		a.result.Usage, a.counts = *c.usage, true
	}
	if a.result.FinishReason != "" {
		return nil // What follows the first finish reason isn't part of the answer.
	}
	if c.content != nil {
		a.unsent = a.text.add(a.unsent, c.content)
		if len(a.unsent) >= maxJoined {
			a.send()
		}
	}
	if c.finish != "" {
		return a.takeFinish(c.finish)
	}
	a.heard = a.heard || c.content != nil || c.thinking
	return nil
}

// idle is called when all that one read of the response has brought is taken, before the next one.
func (a *answer) idle() {
	a.send()
	if a.heard {
		a.heard = false
		a.arm(a.run.client.cfg.TokenTimeout)
	}
}

func (a *answer) takeFinish(reason string) error {
	switch reason {
	case "content_filter":
		return fault.Wrap(errFiltered, CodeRefused, detailRefused)
	case "length", "max_tokens", "MAX_TOKENS", "model_length":
		a.result.FinishReason = FinishLength
	default: // "stop", and what servers invent: eos, end_turn, tool_calls.
		a.result.FinishReason = FinishStop
	}
	a.unsent = a.text.flush(a.unsent)
	a.send()
	a.heard = false
	a.arm(min(tailTimeout, a.run.client.cfg.TokenTimeout))
	return nil
}

// arm sets the time by which the provider must be heard again.
func (a *answer) arm(d time.Duration) {
	if a.began {
		a.timer.Reset(d)
		return
	}
	a.began = true
	a.timer.Stop()
	cancel := a.cancel
	a.timer = time.AfterFunc(d, func() { cancel(errNextToken) })
}

// send gives the caller what has come: one piece for all that one read has brought, so that a provider in a hurry costs
// little, and at once where a chunk comes alone.
func (a *answer) send() {
	if len(a.unsent) == 0 {
		return
	}
	a.timer.Stop() // The caller's time isn't the provider's.
	a.heard = true
	text := string(a.unsent)
	a.unsent = a.unsent[:0]
	a.run.emitted = true
	a.tokens.add(text)
	a.run.emit(text)
}

// drain reads what is left of the body, nothing as a rule, so that its connection can carry the next question.
func (a *answer) drain(body io.Reader) {
	a.arm(drainTimeout)
	_, _ = io.CopyN(io.Discard, body, firstBuffer)
}

// count fills in the usage that the provider did not report.
func (a *answer) count() {
	if a.counts || !a.run.emitted {
		return
	}
	a.result.Usage = Usage{InputTokens: estimateInput(a.run.req.Messages), OutputTokens: a.tokens.total()}
}
