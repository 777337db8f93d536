package llm

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"

	openai "github.com/sashabaranov/go-openai"
)

const (
	// tailTimeout bounds the wait for the usage after the end of the answer. A late or missing usage must not fail or
	// delay a complete answer.
	tailTimeout = 2 * time.Second
	// drainTimeout bounds reading the rest of the body after [DONE], so that the connection can be reused.
	drainTimeout = 50 * time.Millisecond
	// maxFirstToken is the maximum factor by which comments extend the time limit for the first token.
	maxFirstToken = 5
	// maxJoined bounds the bytes of text in one call of emit, plus one chunk.
	maxJoined = 16 << 10
)

var (
	errEmpty    = errors.New("llm: the answer is empty")
	errNoAnswer = errors.New("llm: reasoning without an answer")
	errFiltered = errors.New("llm: stopped by the content filter")
	errHTML     = errors.New("llm: the provider answered with an HTML page")
)

// attempt sends one request. Its result contains the received part of the answer.
func (r *run) attempt(ctx context.Context, model string) (Result, error) {
	cfg := &r.client.cfg
	attemptCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a := &answer{run: r, cancel: cancel, result: Result{Model: model}, sentAt: time.Now()}
	a.textCalls.tools = r.req.Tools
	a.timer = time.AfterFunc(cfg.FirstTokenTimeout, func() { cancel(errFirstToken) })
	defer func() { a.timer.Stop() }()

	response, err := a.request(attemptCtx, model)
	if err == nil {
		err = a.read(response)
		_ = response.Body.Close()
	}
	a.takeHeld()
	a.send() // Emit the partial text of a failed answer.
	a.count()
	if a.calls.reported && len(a.result.ToolCalls) == 0 {
		r.req.ToolInputs(nil)
	}
	if a.result.FinishReason != "" {
		return a.result, a.judge() // Failures after the end of a complete answer are ignored.
	}
	if err == nil {
		err = fault.Wrap(io.ErrUnexpectedEOF, CodeInterrupted, detailInterrupted)
	}
	return a.result, attemptFault(ctx, attemptCtx, err)
}

// request sends the request to a model and returns the response.
func (a *answer) request(ctx context.Context, model string) (*http.Response, error) {
	client, req := a.run.client, a.run.req
	spoken := client.dialectOf(model, req)
	a.result.ToolsRefused = len(req.Tools) > 0 && spoken.noTools
	request := buildRequest(model, req, spoken)
	fields := added(req, spoken)
	extra, err := callFields(req, request.Messages, spoken)
	if err != nil {
		return nil, err
	}
	maps.Copy(fields, extra)
	maps.Copy(fields, continuationFields(req, request.Messages))
	return client.send(ctx, request, fields)
}

// judge returns an error for a complete but empty answer, unless the request's own limits may have emptied it, or the
// answer was complete with the request's prefix.
func (a *answer) judge() error {
	req := a.run.req
	switch {
	case a.hasText, len(a.result.ToolCalls) > 0, req.Prefix != "",
		req.Exact && req.MaxTokens > 0 && a.result.FinishReason == FinishLength,
		req.Exact && len(req.Stop) > 0 && a.result.FinishReason == FinishStop:
		return nil
	case !a.hasReasoning:
		return fault.Wrap(errEmpty, CodeBadResponse, detailEmpty)
	case a.result.FinishReason == FinishLength:
		return fault.Wrap(errNoAnswer, CodeBadResponse, detailReasonedTooLong)
	}
	return fault.Wrap(errNoAnswer, CodeBadResponse, detailReasonedOnly)
}

// send makes the request through go-openai and returns the response, whose status is 200.
func (c *Client) send(
	ctx context.Context, request *openai.ChatCompletionRequest, extra map[string]any,
) (*http.Response, error) {
	doer := &capture{client: c.http, extra: extra}
	client := openai.NewClientWithConfig(c.endpoint.openaiConfig(c.cfg.APIKey, doer))
	// The returned stream reads lazily: nothing of the body is consumed.
	_, err := client.CreateChatCompletionStream(ctx, *request)
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

// answer reads one response. It belongs to the goroutine that called Stream. Only the timer's function runs in another
// goroutine, and it only cancels.
type answer struct {
	run      *run
	cancel   context.CancelCauseFunc
	sentAt   time.Time
	timer    *time.Timer // For the first token, then for the next token.
	started  bool        // The first token has arrived; timer is for the next token.
	result   Result
	hasUsage bool       // The provider reported its usage.
	tokens   tokenCount // Estimate of the output, used without counts.

	text          joiner // Of the answer's text.
	reasoning     joiner // Of the reasoning that the server reports separately.
	calls         toolCalls
	textCalls     textCalls // For calls inside the text.
	split         splitter  // For reasoning inside the text.
	piece         []byte    // Reused buffer for the input of split.
	hasReasoning  bool      // There was non-blank reasoning.
	hasText       bool      // There was text.
	tokenReceived bool      // A token arrived since the timer was set.

	// Passed to the caller before the next read of the response, which may block.
	unsentReasoning []byte
	unsent          []byte
}

// read reads the response to its end, which may be premature. The caller checks the finish reason.
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
			if a.result.FinishReason != "" {
				a.drain(body)
			}
			return nil
		case e.failed:
			c = chunk{err: parseFailure(e.data)}
		case e.text != nil:
			c.text[0] = string(e.text)
		default:
			if err := c.decode(e.data); err != nil {
				return fault.Wrap(err, CodeBadResponse, detailBadResponse)
			}
			events.known.learn(e.data, &c)
		}
		if err := a.take(&c); err != nil {
			return err
		}
	}
}

// ended translates the error that ended the stream.
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

// interrupted is the error of a broken connection. Before the first token, it is the same as a failed connection.
func interrupted(err error, emitted bool) error {
	if emitted {
		return fault.Wrap(err, CodeInterrupted, detailInterrupted)
	}
	return fault.Wrap(err, CodeUnavailable, detailUnavailable)
}

// readWhole reads the answer of a server that does not stream, or an error with status 200.
func (a *answer) readWhole(body io.Reader) error {
	buffered := bufio.NewReader(body)
	if mark, _ := buffered.Peek(len(byteOrderMark)); bytes.Equal(mark, byteOrderMark) {
		_, _ = buffered.Discard(len(mark))
	}
	if first, _ := buffered.Peek(1); string(first) != "{" && string(first) != "[" {
		return a.readStream(buffered) // Streamed despite its content type.
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
		a.result.Usage, a.hasUsage = *c.usage, true
	}
	if a.result.FinishReason != "" {
		// Text after the first finish reason is not part of the answer, but Azure's filter may still revoke the
		// answer.
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
	for _, piece := range c.calls {
		if err := a.calls.add(piece); err != nil {
			return fault.Wrap(err, CodeBadResponse, detailBadResponse)
		}
	}
	if len(a.unsent)+len(a.unsentReasoning) >= maxJoined {
		a.send()
	}
	if c.finish != "" {
		return a.takeFinish(c.finish)
	}
	a.tokenReceived = a.tokenReceived || len(c.text)+len(c.reasoning)+len(c.calls) > 0
	return nil
}

// say adds a piece of the text.
func (a *answer) say(literal string) {
	if a.split.answer && len(a.run.req.Tools) == 0 {
		a.unsent = a.text.add(a.unsent, literal)
		return
	}
	a.piece = a.text.add(a.piece[:0], literal)
	reasoning, text := a.split.add(a.piece)
	a.reason(reasoning)
	a.write(text)
}

// write adds a piece of the text after its reasoning.
func (a *answer) write(text []byte) {
	if len(a.run.req.Tools) > 0 {
		text = a.textCalls.add(text)
	}
	a.unsent = append(a.unsent, text...)
}

// reason adds a piece of the reasoning. Reasoning comes before the text; later reasoning is dropped.
func (a *answer) reason(piece []byte) {
	if a.hasText || len(a.unsent) > 0 {
		return
	}
	if !a.hasReasoning {
		piece = bytes.TrimLeft(piece, blanks)
	}
	if len(piece) > 0 {
		a.hasReasoning, a.split.hasReasoning = true, true
		a.unsentReasoning = append(a.unsentReasoning, piece...)
	}
}

// takeHeld adds the held beginning of a failed answer.
func (a *answer) takeHeld() {
	reasoning, text := a.split.flush()
	a.reason(reasoning)
	a.write(text)
	a.unsent = append(a.unsent, a.textCalls.flush()...)
}

// endText adds the rest of a complete answer.
func (a *answer) endText() {
	a.reason(a.reasoning.flush(nil))
	reasoning, text := a.split.add(a.text.flush(nil))
	a.reason(reasoning)
	a.write(text)
	a.takeHeld()
}

// idle is called before each read, after everything read so far was processed.
func (a *answer) idle() {
	a.send()
	if a.tokenReceived {
		a.tokenReceived = false
		a.arm(a.run.client.cfg.TokenTimeout)
	}
}

// alive is called for each comment. Servers send comments while a question is queued or its prompt is processed. Before
// the first token, comments extend the time limit up to a bound.
func (a *answer) alive() {
	first := a.run.client.cfg.FirstTokenTimeout
	if !a.started && a.timer.Stop() {
		a.timer.Reset(min(first, time.Until(a.sentAt.Add(maxFirstToken*first))))
	}
}

// arm restarts the timer.
func (a *answer) arm(d time.Duration) {
	if a.started {
		a.timer.Reset(d)
		return
	}
	a.started = true
	a.timer.Stop()
	cancel := a.cancel
	a.timer = time.AfterFunc(d, func() { cancel(errNextToken) })
}

// send passes all pieces of one read to the caller in one call, which reduces the cost of a fast provider. A single
// chunk is passed at once.
func (a *answer) send() {
	if len(a.unsent)+len(a.unsentReasoning) == 0 && !a.calls.changed {
		return
	}
	a.timer.Stop() // The time limit does not include the caller's time.
	a.tokenReceived = true
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
		a.hasText, a.run.emitted = true, true
		a.run.emit(text)
	}
	a.sendInputs()
}

// sendInputs passes the calls so far to the caller, if they have changed. A request whose calls are incomplete may be
// repeated, so that they do not set emitted.
func (a *answer) sendInputs() {
	if report := a.run.req.ToolInputs; a.calls.changed && report != nil {
		report(a.calls.inputs())
	}
	a.calls.changed = false
}

// drain reads the rest of the body, usually empty, so that the connection can be reused.
func (a *answer) drain(body io.Reader) {
	a.arm(drainTimeout)
	_, _ = io.CopyN(io.Discard, body, firstBuffer)
}

// count estimates the usage if the provider did not report it.
func (a *answer) count() {
	if output := a.tokens.total(); output > 0 && !a.hasUsage {
		a.result.Usage = Usage{InputTokens: estimateInput(a.run.req), OutputTokens: output}
	}
}
