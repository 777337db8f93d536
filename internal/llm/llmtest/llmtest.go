// Package llmtest provides language models for tests, browser tests and benchmarks.
//
// It has three kinds, and imports only fault and llm:
//
//   - Func, Say, Fail and Live are in-process llm.Models, for tests of the layers above a model.
//   - Provider is an OpenAI-compatible server whose answers are scripted step by step: it can stall, disconnect, send
//     half a character or half a JSON, and answer 429 and 500. It records its requests.
//   - Handler is an OpenAI-compatible server that follows a directive in the question itself, so that a browser test or
//     a load generator can drive a whole running system. The command fakemodel serves it.
package llmtest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
)

// ModelName is the name of this package's models.
const ModelName = "tsumugi-test"

// Title is the default answer to a title request.
const Title = "試験用のスレッド"

// TitleInstruction is a part of the system message of a title request.
const TitleInstruction = "見出しを一つだけ書いてください。"

// SuggestionInstruction is a part of the system message of a request for suggestions.
const SuggestionInstruction = "次に尋ねそうな質問を三つ書いてください。"

// IsTitle reports whether a conversation is a title request.
func IsTitle(messages []llm.Message) bool { return isInstructed(messages, TitleInstruction) }

// IsSuggestion reports whether a conversation is a request for suggestions.
func IsSuggestion(messages []llm.Message) bool { return isInstructed(messages, SuggestionInstruction) }

func isInstructed(messages []llm.Message, instruction string) bool {
	return slices.ContainsFunc(messages, func(m llm.Message) bool {
		return m.Role == llm.RoleSystem && strings.Contains(m.Content, instruction)
	})
}

// Func is a Model implemented by a function.
type Func func(ctx context.Context, req llm.Request, emit func(text string)) (llm.Result, error)

func (f Func) Stream(ctx context.Context, req llm.Request, emit func(text string)) (llm.Result, error) {
	return f(ctx, req, emit)
}

// Say returns a model that answers every request with these pieces, and title requests with Title.
func Say(pieces ...string) Func {
	return func(ctx context.Context, req llm.Request, emit func(text string)) (llm.Result, error) {
		if IsTitle(req.Messages) {
			return say(ctx, req, emit, Title)
		}
		return say(ctx, req, emit, pieces...)
	}
}

// Fail returns a model that always emits these pieces and then fails with err.
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

// Live is a model whose answers a test gives piece by piece while its caller waits. Title requests are answered with
// Title and do not reach the test.
type Live struct {
	calls chan *Call
}

// NewLive returns a Live.
func NewLive() *Live { return &Live{calls: make(chan *Call)} }

// Call is one request to a Live. Its methods belong to the test's goroutine and return when the model's caller has
// received the piece.
type Call struct {
	Context context.Context //nolint:containedctx // The test observes how the caller ends it.
	Request llm.Request

	pieces chan piece
	end    chan ending
	done   chan struct{} // Closed when Stream has returned.
}

// piece is a piece of a call's answer, with an acknowledgement that the caller has received it.
type piece struct {
	text      string
	reasoning bool
	inputs    []llm.ToolInput // With Write, instead of a text.
	writes    bool
}

type ending struct {
	result llm.Result
	err    error
}

func (l *Live) Stream(ctx context.Context, req llm.Request, emit func(text string)) (llm.Result, error) {
	if IsTitle(req.Messages) {
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
			case p.writes:
				if req.ToolInputs != nil {
					req.ToolInputs(p.inputs)
				}
			case !p.reasoning:
				emit(p.text)
			case req.Reasoning != nil:
				req.Reasoning(p.text)
			}
			call.pieces <- piece{} // Emit returns after this, so that the test can observe the effect.
		case e := <-call.end:
			return e.result, e.err
		case <-ctx.Done():
			return llm.Result{Model: ModelName}, llm.Canceled(ctx)
		}
	}
}

// testTimeout bounds the wait of a test.
const testTimeout = time.Minute

// Next waits for the next request. It fails the test after a minute.
func (l *Live) Next(t testing.TB) *Call {
	t.Helper()
	limit := time.NewTimer(testTimeout)
	defer limit.Stop()
	select {
	case call := <-l.calls:
		return call
	case <-limit.C:
		t.Fatal("llmtest: the model was not asked")
		return nil
	}
}

// Emit sends a piece of the answer and returns when the model's caller has received it. It returns false if the caller
// has disconnected.
func (c *Call) Emit(text string) bool { return c.give(piece{text: text}) }

// Reason sends a piece of the reasoning, like Emit.
func (c *Call) Reason(text string) bool { return c.give(piece{text: text, reasoning: true}) }

// Write sends the progress of the calls that the model is writing, like Emit.
func (c *Call) Write(calls ...llm.ToolInput) bool { return c.give(piece{inputs: calls, writes: true}) }

func (c *Call) give(p piece) bool {
	select {
	case c.pieces <- p:
	case <-c.done:
		return false
	}
	<-c.pieces
	return true
}

// Finish completes the answer. It returns false if the caller has disconnected.
func (c *Call) Finish() bool {
	return c.finish(ending{result: llm.Result{
		Model: ModelName, FinishReason: llm.FinishStop, Usage: llm.Usage{InputTokens: 12, OutputTokens: 34},
	}})
}

// CallTools completes the request with calls of tools. It returns false if the caller has disconnected.
func (c *Call) CallTools(calls ...llm.ToolCall) bool {
	return c.finish(ending{result: llm.Result{
		Model: ModelName, FinishReason: llm.FinishTools, Usage: llm.Usage{InputTokens: 12, OutputTokens: 34}, ToolCalls: calls,
	}})
}

// Fail ends the answer with an error. It returns false if the caller has disconnected.
func (c *Call) Fail(err error) bool {
	return c.finish(ending{result: llm.Result{Model: ModelName}, err: err})
}

// Gone is closed when the call has ended.
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
