package chat

import (
	"slices"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
)

// Params.Tools are tools of the program that asks. If the model calls them, the answer is complete, and its calls have the
// state ToolReturned. The program makes them, and asks again with their results in Params.Rounds.

// ProgramTool is a tool of a program.
type ProgramTool = llm.Tool

// ToolChoice is whether the model must call tools of a program.
type ToolChoice = llm.ToolChoice

// The modes of a ToolChoice. Without a mode the model decides.
const (
	ChooseNone     = llm.ToolNone     // The model calls none.
	ChooseRequired = llm.ToolRequired // The model calls at least one.
	ChooseNamed    = llm.ToolNamed    // The model calls the named one.
)

// returnCalls adds calls that are returned to the program. prefix is the text of an earlier run that the model
// continued.
func (s *Service) returnCalls(g *generation, prefix string, calls []llm.ToolCall) error {
	if err := s.open(g, prefix); err != nil {
		return err
	}
	s.ensureLease()
	for _, call := range newCallIDs(g.req.Question.Params.Rounds).replace(calls) {
		returned := ToolCall{ToolCall: call, Title: call.Name, Offset: g.length, State: ToolReturned}
		g.returned = append(g.returned, returned)
		putToolCall(g.text, returned)
	}
	return nil
}

// ReturnedCalls returns the calls in the state ToolReturned. They are the last ones.
func (m Message) ReturnedCalls() []ToolCall {
	return slices.DeleteFunc(slices.Clone(m.ToolCalls), func(c ToolCall) bool { return c.State != ToolReturned })
}

// Rounds returns the calls of an answer that have results, with the texts before them, and the text after them.
func Rounds(text string, calls []ToolCall) (rounds []ToolRound, rest string) {
	rest = text
	start := 0
	for i, call := range calls {
		if call.State == ToolReturned {
			break // The last calls.
		}
		if i == 0 || call.Round != calls[i-1].Round {
			end := min(max(call.Offset-start, 0), len(rest))
			rounds = append(rounds, ToolRound{Text: rest[:end]})
			rest, start = rest[end:], start+end
		}
		last := &rounds[len(rounds)-1]
		last.Calls = append(last.Calls, call)
	}
	if len(rounds) > 0 {
		rest = strings.TrimSpace(rest)
	}
	return rounds, rest
}
