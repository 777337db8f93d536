// Package llmtest stands in for language models in tests, browser tests and benchmarks.
//
// It owns three of them, and imports fault and llm only:
//
//   - Func, Say, Fail and Live are llm.Models in process, for tests of what lies above a model.
//   - Provider is an OpenAI-compatible server whose every answer is scripted step by step: it can stall, die, send half a
//     character or half a JSON, answer 429 and 500. It records what it was asked.
//   - Handler is an OpenAI-compatible server that is told what to do by a directive in the question itself, so that a
//     browser test or a load generator can drive a whole running system. The command fakemodel serves it.
package llmtest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
)

// ModelName is what the models of this package call themselves.
const ModelName = "tsumugi-test"

// Title is the answer to a request for a title (a system message with <task>title</task>) unless a test says otherwise.
const Title = "試験用のスレッド"

// isTitle says whether a conversation asks for the title of a thread.
func isTitle(messages []llm.Message) bool {
	for _, m := range messages {
		if m.Role == llm.RoleSystem && strings.Contains(m.Content, "<task>title</task>") {
			return true
		}
	}
	return false
}

// Func is a model that is one function.
type Func func(ctx context.Context, req llm.Request, emit func(text string)) (llm.Result, error)

// Stream implements llm.Model.
func (f Func) Stream(ctx context.Context, req llm.Request, emit func(text string)) (llm.Result, error) {
	return f(ctx, req, emit)
}

// Say returns a model that answers every request with these pieces, and requests for a title with Title.
func Say(pieces ...string) Func {
	return func(ctx context.Context, req llm.Request, emit func(text string)) (llm.Result, error) {
		if isTitle(req.Messages) {
			return say(ctx, req, emit, Title)
		}
		return say(ctx, req, emit, pieces...)
	}
}

// Fail returns a model that emits these pieces and then fails with err, always.
func Fail(err error, pieces ...string) Func {
	return func(ctx context.Context, req llm.Request, emit func(text string)) (llm.Result, error) {
		result, canceled := say(ctx, req, emit, pieces...)
		if canceled != nil {
			return result, canceled
		}
		result.FinishReason = ""
		return result, err
	}
}

func say(ctx context.Context, req llm.Request, emit func(text string), pieces ...string) (llm.Result, error) {
	result := llm.Result{Model: ModelName}
	for _, m := range req.Messages {
		result.Usage.InputTokens += llm.EstimateTokens(m.Content)
	}
	for _, piece := range pieces {
		if ctx.Err() != nil {
			return result, llm.Canceled(ctx)
		}
		result.Usage.OutputTokens += llm.EstimateTokens(piece)
		emit(piece)
	}
	result.FinishReason = llm.FinishStop
	return result, nil
}

// Live is a model whose answers a test gives piece by piece, while they are being waited for. Requests for a title are
// answered with Title and don't reach the test.
type Live struct {
	calls chan *Call
}

// NewLive returns a Live.
func NewLive() *Live { return &Live{calls: make(chan *Call)} }

// Call is one request to a Live. Its methods belong to the test's goroutine, and return once the model's caller has
// been served.
type Call struct {
	Context context.Context //nolint:containedctx // The test looks at how the caller ends it.
	Request llm.Request

	pieces chan piece
	end    chan ending
	done   chan struct{} // Closed when Stream has returned.
}

// piece is what a call has said, and what is sent back once it was taken.
type piece struct {
	text      string
	reasoning bool
}

type ending struct {
	result llm.Result
	err    error
}

// Stream implements llm.Model.
func (l *Live) Stream(ctx context.Context, req llm.Request, emit func(text string)) (llm.Result, error) {
	if isTitle(req.Messages) {
		return say(ctx, req, emit, Title)
	}
	call := &Call{
		Context: ctx, Request: req,
		pieces: make(chan piece), end: make(chan ending), done: make(chan struct{}),
	}
	defer close(call.done)
	select {
	case l.calls <- call:
	case <-ctx.Done():
		return llm.Result{Model: ModelName}, llm.Canceled(ctx)
	}
	for {
		select {
		case p := <-call.pieces:
			switch {
			case !p.reasoning:
				emit(p.text)
			case req.Reasoning != nil:
				req.Reasoning(p.text)
			}
			call.pieces <- piece{} // Emit returns only now, so that what it sent can be observed.
		case e := <-call.end:
			return e.result, e.err
		case <-ctx.Done():
			return llm.Result{Model: ModelName}, llm.Canceled(ctx)
		}
	}
}

// patience is how long a test waits for something that must happen.
const patience = time.Minute

// Next waits for the next request. It fails the test if that takes longer than a minute.
func (l *Live) Next(t testing.TB) *Call {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case call := <-l.calls:
		return call
	case <-limit.C:
		t.Fatal("llmtest: the model was not asked")
		return nil
	}
}

// Emit gives a piece of the answer, and returns when the model's caller has taken it. It says false if the caller has
// gone.
func (c *Call) Emit(text string) bool { return c.give(piece{text: text}) }

// Reason gives a piece of what the model thinks before it answers, as Emit does.
func (c *Call) Reason(text string) bool { return c.give(piece{text: text, reasoning: true}) }

func (c *Call) give(p piece) bool {
	select {
	case c.pieces <- p:
	case <-c.done:
		return false
	}
	<-c.pieces
	return true
}

// Finish ends the answer well. It says false if the caller has gone.
func (c *Call) Finish() bool {
	return c.finish(ending{result: llm.Result{
		Model: ModelName, FinishReason: llm.FinishStop, Usage: llm.Usage{InputTokens: 12, OutputTokens: 34},
	}})
}

// Fail ends the answer with an error. It says false if the caller has gone.
func (c *Call) Fail(err error) bool {
	return c.finish(ending{result: llm.Result{Model: ModelName}, err: err})
}

// Gone is closed when the call is over, however it ended.
func (c *Call) Gone() <-chan struct{} { return c.done }

func (c *Call) finish(e ending) bool {
	select {
	case c.end <- e:
		<-c.done
		return true
	case <-c.done:
		return false
	}
}
