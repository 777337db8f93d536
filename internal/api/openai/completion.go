package openai

import (
	"github.com/tsumugi-ai/tsumugi/chat"
)

// completionForm is the form of chat completions.
type completionForm struct {
	req     Request
	id      string
	created int
}

func newCompletionForm(req Request, answer chat.Message) *completionForm {
	return &completionForm{req, "chatcmpl-" + answer.ID.String(), int(answer.CreatedAt.Unix())}
}

func (f *completionForm) whole(answer chat.Message, text string) any {
	message := OpenAIAnswer{Role: "assistant", Content: &text, ToolCalls: toolCallsOf(answer)}
	if text == "" && len(message.ToolCalls) > 0 {
		message.Content = nil
	}
	return OpenAICompletion{
		ID: f.id, Object: "chat.completion", Created: f.created, Model: f.req.Model, Usage: usageOf(answer),
		Choices: []OpenAIChoice{{FinishReason: finishOf(answer), Message: message}},
	}
}

func (f *completionForm) begin() []event {
	return []event{f.chunk(OpenAIDelta{Role: "assistant"}, "")}
}

func (f *completionForm) delta(piece string, _ bool) []event {
	return []event{f.chunk(OpenAIDelta{Content: piece}, "")}
}

func (f *completionForm) end(answer chat.Message, _ string) (events []event) {
	for i, call := range toolCallsOf(answer) {
		call.Index = &i
		events = append(events, f.chunk(OpenAIDelta{ToolCalls: []OpenAIToolCall{call}}, ""))
	}
	events = append(events, f.chunk(OpenAIDelta{}, finishOf(answer)))
	if f.req.includeUsage {
		chunk, usage := f.envelope(), usageOf(answer)
		chunk.Choices, chunk.Usage = []OpenAIChunkChoice{}, &usage
		events = append(events, event{data: chunk})
	}
	return append(events, event{data: "[DONE]"})
}

func (f *completionForm) fail(_ chat.Message, _ string, err OpenAIError) []event {
	return []event{{data: err}}
}

// envelope returns a chunk without choices.
func (f *completionForm) envelope() OpenAIChunk {
	return OpenAIChunk{ID: f.id, Object: "chat.completion.chunk", Created: f.created, Model: f.req.Model}
}

// chunk returns the event of a piece of the answer, or of its end if finish is set.
func (f *completionForm) chunk(delta OpenAIDelta, finish string) event {
	chunk := f.envelope()
	chunk.Choices = []OpenAIChunkChoice{{Delta: delta}}
	if finish != "" {
		chunk.Choices[0].FinishReason = &finish
	}
	return event{data: chunk}
}

// toolCallsOf returns the returned calls of an answer.
func toolCallsOf(answer chat.Message) (calls []OpenAIToolCall) {
	for _, call := range answer.ReturnedCalls() {
		calls = append(calls, OpenAIToolCall{
			ID: call.ID, Type: "function", Function: OpenAIFunctionCall{Name: call.Name, Arguments: call.Arguments},
			ExtraContent: call.Extra,
		})
	}
	return calls
}

func usageOf(answer chat.Message) OpenAIUsage {
	return OpenAIUsage{
		PromptTokens: answer.InputTokens, CompletionTokens: answer.OutputTokens,
		TotalTokens: answer.InputTokens + answer.OutputTokens,
	}
}

func finishOf(answer chat.Message) string {
	switch {
	case len(answer.ReturnedCalls()) > 0:
		return "tool_calls"
	case answer.FinishReason == chat.FinishLength:
		return "length"
	}
	return "stop"
}
