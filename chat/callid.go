package chat

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
	"github.com/tsumugi-ai/tsumugi/stream"
)

// callIDs replaces ids of calls that earlier rounds have, because some models number the calls of each request from 0,
// and ids that cannot be stored.
type callIDs map[string]string // The new ids by the earlier ones; "" until a call needs it.

func newCallIDs(rounds []ToolRound) callIDs {
	ids := make(callIDs)
	for _, round := range rounds {
		for _, call := range round.Calls {
			ids[call.ID] = ""
		}
	}
	return ids
}

// of returns the id of a call of the new round. It is the same for each piece of the call.
func (ids callIDs) of(id string) string {
	replacement, known := ids[id]
	switch {
	case !known && utf8.ValidString(id) && !strings.Contains(id, "\x00"):
		return id
	case replacement == "":
		ids[id] = llm.NewCallID()
	}
	return ids[id]
}

// replace returns the calls of the new round with their ids.
func (ids callIDs) replace(calls []llm.ToolCall) []llm.ToolCall {
	calls = slices.Clone(calls)
	for i := range calls {
		calls[i].ID = ids.of(calls[i].ID)
	}
	return calls
}

// putToolInputs publishes the calls that the model is writing. It drops them while the text is not open, because they
// are not stored and the next list has them again. It runs in the generation's goroutine.
func (s *Service) putToolInputs(g *generation, tools []tool.Tool, ids callIDs, calls []llm.ToolInput) {
	if !g.opened.Load() {
		return
	}
	inputs := make([]stream.ToolInput, 0, len(calls))
	for _, call := range calls[:min(len(calls), max(0, maxToolCalls-len(g.calls())))] {
		input := stream.ToolInput{ID: ids.of(call.ID), Name: call.Name, Title: call.Name, Arguments: call.Arguments}
		if found, exists := findTool(tools, call.Name); exists {
			input.Title = found.Title
		}
		inputs = append(inputs, input)
	}
	s.ensureLease()
	g.text.PutToolInputs(inputs)
}
