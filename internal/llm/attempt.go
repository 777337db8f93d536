package llm

import (
	"bufio"
	"bytes"
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
	// tailTimeout bounds the wait for the usage once the answer has ended. An answer that is whole doesn't fail, and
	// isn't held back for long, because its bill is late.
	tailTimeout = 2 * time.Second
	// drainTimeout bounds the wait for the end of the body after [DONE], which lets the connection be used again.
	drainTimeout = 50 * time.Millisecond
	// maxFirstToken is how many times the time for the first token a server may take that sends comments meanwhile.
	maxFirstToken = 5
	// maxJoined is how many bytes of text are given to the caller at once, and a chunk more.
	maxJoined = 16 << 10
)

var (
	errEmpty    = errors.New("llm: the answer is empty")
	errNoAnswer = errors.New("llm: reasoning without an answer")
	errFiltered = errors.New("llm: stopped by the content filter")
	errHTML     = errors.New("llm: the provider answered with an HTML page")
)

// attempt asks once. Its result is filled as far as the answer came.
func (r *run) attempt(ctx context.Context, model string) (Result, error) {
	cfg := &r.client.cfg
	attemptCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a := &answer{run: r, cancel: cancel, result: Result{Model: model}, asked: time.Now()}
	a.timer = time.AfterFunc(cfg.FirstTokenTimeout, func() { cancel(errFirstToken) })
	defer func() { a.timer.Stop() }()

	response, err := r.client.send(attemptCtx, buildRequest(model, r.req, r.client.dialectOf(model)))
	if err == nil {
		err = a.read(response)
		_ = response.Body.Close()
	}
	a.takeHeld()
	a.send() // An answer that failed keeps what came.
	a.count()
	if a.result.FinishReason != "" {
		return a.result, a.judge() // Whatever befell an answer after it was whole doesn't matter.
	}
	if err == nil {
		err = fault.Wrap(io.ErrUnexpectedEOF, CodeInterrupted, detailInterrupted)
	}
	return a.result, attemptFault(ctx, attemptCtx, err)
}

// judge returns the failure of an answer that is whole and says nothing.
func (a *answer) judge() error {
	switch {
	case a.said:
		return nil
	case !a.thought:
		return fault.Wrap(errEmpty, CodeBadResponse, detailEmpty)
	case a.result.FinishReason == FinishLength:
		return fault.Wrap(errNoAnswer, CodeBadResponse, detailReasonedTooLong)
	}
	return fault.Wrap(errNoAnswer, CodeBadResponse, detailReasonedOnly)
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
	asked  time.Time
	timer  *time.Timer // Until the first token, then between tokens.
	began  bool        // The first token has come; timer is the second kind.
	result Result
	counts bool       // The provider reported its usage.
	tokens tokenCount // The output so far, for when it doesn't.

	text      joiner   // Of the answer's text.
	reasoning joiner   // Of the reasoning that the server tells apart.
	split     splitter // Of the reasoning that it does not.
	piece     []byte   // Reused between pieces that split looks at.
	thought   bool     // There was reasoning that is not blank.
	said      bool     // There was text.
	heard     bool     // A token came since the timer was set.

	// What the caller is given before the next read of the response, which may block.
	unsentReasoning []byte
	unsent          []byte
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
	events := newEventReader(body, a.run.client.cfg.MaxBytes, &a.run.client.buffers, a.idle, a.alive)
	defer events.close()
	var c chunk
	for {
		e, err := events.next()
		switch {
		case err != nil:
			return a.ended(err)
		case e.isEnd():
			a.drain(body)
			return nil
		case e.failed:
			c = chunk{err: parseFailure(e.data)}
		default:
			if err := c.decode(e.data); err != nil {
				return fault.Wrap(err, CodeBadResponse, detailBadResponse)
			}
		}
		if err := a.take(&c); err != nil {
			return err
		}
	}
}

// ended is what it means that no further line can be read.
func (a *answer) ended(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case errors.Is(err, errLineTooLong), errors.Is(err, errNoJSON):
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
	if mark, _ := buffered.Peek(len(byteOrderMark)); bytes.Equal(mark, byteOrderMark) {
		_, _ = buffered.Discard(len(mark))
	}
	if first, _ := buffered.Peek(1); string(first) != "{" && string(first) != "[" {
		return a.readStream(buffered) // Streamed after all, under the wrong name.
	}
	data, err := io.ReadAll(io.LimitReader(buffered, maxBody+1))
	if err != nil {
		return interrupted(err, a.run.emitted)
	}
	if len(data) > maxBody {
		return fault.Wrap(errBodyTooLong, CodeBadResponse, detailBadResponse)
	}
	var c chunk
	if !isJSON(data) {
		return fault.Wrap(errNoJSON, CodeBadResponse, detailBadResponse)
	}
	if err := c.decode(data); err != nil {
		return fault.Wrap(err, CodeBadResponse, detailBadResponse)
	}
	return a.take(&c)
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
		// What follows the first finish reason isn't part of the answer, but Azure's filter may still take that back.
		if readFinish(c.finish) == finishFiltered {
			a.result.FinishReason = ""
			return a.takeFinish(c.finish)
		}
		return nil
	}
	for _, literal := range c.reasoning {
		a.piece = a.reasoning.add(a.piece[:0], literal)
		a.reason(a.piece)
	}
	for _, literal := range c.text {
		a.say(literal)
	}
	if len(a.unsent)+len(a.unsentReasoning) >= maxJoined {
		a.send()
	}
	if c.finish != "" {
		return a.takeFinish(c.finish)
	}
	a.heard = a.heard || len(c.text)+len(c.reasoning) > 0
	return nil
}

// say takes a piece of the text.
func (a *answer) say(literal string) {
	if a.split.answer {
		a.unsent = a.text.add(a.unsent, literal)
		return
	}
	a.piece = a.text.add(a.piece[:0], literal)
	reasoning, text := a.split.add(a.piece)
	a.reason(reasoning)
	a.unsent = append(a.unsent, text...)
}

// reason takes a piece of the reasoning. An answer has one, before its text: what a model thinks later is dropped.
func (a *answer) reason(piece []byte) {
	if a.said || len(a.unsent) > 0 {
		return
	}
	if !a.thought {
		piece = bytes.TrimLeft(piece, blanks)
	}
	if len(piece) > 0 {
		a.thought, a.split.reasoned = true, true
		a.unsentReasoning = append(a.unsentReasoning, piece...)
	}
}

// takeHeld takes what was held of the beginning of an answer that goes no further.
func (a *answer) takeHeld() {
	reasoning, text := a.split.flush()
	a.reason(reasoning)
	a.unsent = append(a.unsent, text...)
}

// endText takes what is left of an answer that is whole.
func (a *answer) endText() {
	a.reason(a.reasoning.flush(nil))
	reasoning, text := a.split.add(a.text.flush(nil))
	a.reason(reasoning)
	a.unsent = append(a.unsent, text...)
	a.takeHeld()
}

// idle is called when all that one read of the response has brought is taken, before the next one.
func (a *answer) idle() {
	a.send()
	if a.heard {
		a.heard = false
		a.arm(a.run.client.cfg.TokenTimeout)
	}
}

// alive is called for each comment. Servers send them while a question waits for its turn, or is being read: before the
// first token they are signs of life, up to a limit.
func (a *answer) alive() {
	first := a.run.client.cfg.FirstTokenTimeout
	if !a.began && a.timer.Stop() {
		a.timer.Reset(min(first, time.Until(a.asked.Add(maxFirstToken*first))))
	}
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
	if len(a.unsent)+len(a.unsentReasoning) == 0 {
		return
	}
	a.timer.Stop() // The caller's time isn't the provider's.
	a.heard = true
	if reasoning := string(a.unsentReasoning); reasoning != "" {
		a.unsentReasoning = a.unsentReasoning[:0]
		a.tokens.add(reasoning)
		if reason := a.run.req.Reasoning; reason != nil {
			a.run.emitted = true
			reason(reasoning)
		}
	}
	if text := string(a.unsent); text != "" {
		a.unsent = a.unsent[:0]
		a.tokens.add(text)
		a.said, a.run.emitted = true, true
		a.run.emit(text)
	}
}

// drain reads what is left of the body, nothing as a rule, so that its connection can carry the next question.
func (a *answer) drain(body io.Reader) {
	a.arm(drainTimeout)
	_, _ = io.CopyN(io.Discard, body, firstBuffer)
}

// count fills in the usage that the provider did not report.
func (a *answer) count() {
	if output := a.tokens.total(); output > 0 && !a.counts {
		a.result.Usage = Usage{InputTokens: estimateInput(a.run.req.Messages), OutputTokens: output}
	}
}
