package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
)

// This file makes the stored calls of a round; see tools.go.

// finishRounds makes the calls of restored rounds that have no result.
func (s *Service) finishRounds(ctx context.Context, g *generation, tools []tool.Tool) error {
	for _, round := range g.rounds {
		if !round.isOpen() {
			continue
		}
		if err := s.open(g, ""); err != nil {
			return err
		}
		if err := s.askAgain(ctx, g, tools, round.Calls); err != nil {
			return err
		}
		if err := s.runCalls(ctx, g, tools, round.Calls); err != nil {
			return err
		}
	}
	return nil
}

// open reports whether the call has no result yet.
func (c ToolCall) open() bool {
	return c.State == ToolRunning || c.State == ToolWaiting || c.State == ToolApproved
}

// runCalls makes the calls without a result. It waits for the decisions that calls need.
func (s *Service) runCalls(ctx context.Context, g *generation, tools []tool.Tool, calls []ToolCall) error {
	for {
		if err := s.claimCalls(ctx, g, calls); err != nil {
			return err
		}
		if err := s.makeCalls(ctx, g, tools, calls); err != nil {
			return err
		}
		if !slices.ContainsFunc(calls, ToolCall.open) {
			return nil
		}
		if err := s.awaitDecisions(ctx, g, calls); err != nil {
			return err
		}
	}
}

// makeCalls makes the running calls, at the same time, and publishes and stores their results.
func (s *Service) makeCalls(ctx context.Context, g *generation, tools []tool.Tool, calls []ToolCall) error {
	type ending struct {
		index  int
		tool   string // "" for a tool that does not exist.
		result tool.Result
		err    error
		took   time.Duration
	}
	ends := make(chan ending, len(calls))
	running := 0
	for i, call := range calls {
		if call.State != ToolRunning {
			continue
		}
		found, exists := findTool(tools, call.Name)
		running++
		go func() {
			began := time.Now()
			within, cancel := context.WithTimeout(ctx, toolTimeout)
			defer cancel()
			result, err := request(within, found, exists, call)
			ends <- ending{i, found.Name, result, err, time.Since(began)}
		}()
	}
	for ; running > 0; running-- {
		end := <-ends
		if end.err != nil && ctx.Err() != nil && !errors.Is(context.Cause(ctx), errStopped) {
			continue // The server stops: the next run makes the call again.
		}
		call := &calls[end.index]
		call.Duration += end.took.Truncate(time.Millisecond) // Of all rounds.
		if end.err == nil && end.result.Input != nil {
			if end.err = s.askInput(g, call, *end.result.Input); end.err == nil {
				continue
			}
			if !errors.Is(end.err, errTooManyInputs) {
				return end.err
			}
		}
		call.State, call.Input = ToolDone, nil
		g.take(call, end.result)
		if end.err != nil {
			call.State, call.Result, call.Error = ToolFailed, "", toolError(ctx, end.err)
			call.Mismatch = fault.CodeOf(end.err) == fault.Invalid
			if errors.Is(end.err, errToolPanic) {
				s.log.ErrorContext(ctx, "chat: tool panicked", "message_id", g.answer.ID, "tool", end.tool, "err", end.err)
			}
		}
		s.metrics.ToolCalled(end.tool, string(call.State), call.Duration)
		if len(call.Sources) > 0 { // Before readers see the numbers of its sources.
			s.storeResult(ctx, g, *call)
		}
		s.ensureLease()
		g.putFound(*call)
		putToolResult(g.text, *call)
		if len(call.Sources) == 0 {
			s.storeResult(ctx, g, *call)
		}
	}
	if ctx.Err() != nil {
		return llm.Canceled(ctx)
	}
	return nil
}

// request makes the next request of a call: its first one or, after a response by the person, the one with the response.
// A panic of the tool, which may process data of others, is an error.
func request(ctx context.Context, t tool.Tool, exists bool, call ToolCall) (_ tool.Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v\n%s", errToolPanic, v, debug.Stack())
		}
	}()
	arguments := json.RawMessage(call.Arguments)
	switch {
	case !exists: // The skill has changed since the call was stored.
		return tool.Result{}, fault.Errorf(fault.NotFound, "このツールはありません。")
	// The person has approved another tool. Calls stored by earlier releases have no version.
	case call.Approval != nil && call.Version != "" && call.Version != t.Version:
		return tool.Result{}, tool.ErrWithdrawn
	case call.Input != nil && call.Input.Response != nil:
		return t.Resume(ctx, arguments, call.Input.InputRequest, *call.Input.Response)
	}
	return t.Call(ctx, arguments)
}

var errToolPanic = errors.New("chat: a tool panicked")

// stoppedCall is the error of a call that ended with its stopped answer.
const stoppedCall = "停止しました。"

// toolError returns the text of a failed call for people and the model.
func toolError(ctx context.Context, err error) string {
	switch detail := fault.DetailOf(err); {
	case ctx.Err() != nil:
		return stoppedCall
	case errors.Is(err, context.DeadlineExceeded):
		return "時間内に終わりませんでした。"
	case detail != "":
		return detail
	}
	return "ツールの実行中に問題が発生しました。"
}

func findTool(tools []tool.Tool, name string) (tool.Tool, bool) {
	i := slices.IndexFunc(tools, func(t tool.Tool) bool { return t.Name == name })
	if i < 0 {
		return tool.Tool{}, false
	}
	return tools[i], true
}

// storeRound stores the calls of a round, after the question, and retries until the database accepts them.
func (s *Service) storeRound(ctx context.Context, g *generation, round ToolRound) error {
	select {
	case <-g.req.Stored: // The model may answer before the question is stored.
	case <-ctx.Done():
		return llm.Canceled(ctx)
	}
	add := AddedRound{RunID: g.runID(), Index: len(g.rounds), ToolRound: round, Sources: g.sourceIDs()}
	return s.dropStale(g, s.persist(ctx, func(ctx context.Context) error {
		return s.store.AddToolRound(ctx, s.serverID, add)
	}))
}

// storeResult stores the result of a call. If that fails, a later run repeats the call.
func (s *Service) storeResult(ctx context.Context, g *generation, call ToolCall) {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	err := s.store.EndToolCall(within, s.serverID, g.runID(), call)
	if err != nil && !errors.Is(err, ErrStaleRun) {
		s.log.WarnContext(ctx, "chat: result of a tool not stored", "message_id", g.answer.ID, "tool", call.Name, "err", err)
	}
}
