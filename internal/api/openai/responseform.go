package openai

import (
	"encoding/json"
	"strconv"

	"github.com/tsumugi-ai/tsumugi/chat"
)

// responseForm is the form of responses. The output of a response is a message, unless the text is empty, and the
// calls.
type responseForm struct {
	req      Request
	answerID string
	created  int
	sequence int // The number of events of the stream so far.
}

func newResponseForm(req Request, answer chat.Message) *responseForm {
	return &responseForm{req: req, answerID: answer.ID.String(), created: int(answer.CreatedAt.Unix())}
}

// The states of responses and their items.
const (
	statusInProgress = "in_progress"
	statusCompleted  = "completed"
	statusIncomplete = "incomplete"
	statusFailed     = "failed"
)

func (f *responseForm) whole(answer chat.Message, text string) any {
	response := f.response(statusOf(answer))
	response.Usage = responseUsageOf(answer)
	if response.Status == statusIncomplete {
		response.IncompleteDetails = &OpenAIIncompleteDetails{Reason: "max_output_tokens"}
	}
	if answer.CompletedAt != nil && response.Status == statusCompleted {
		response.CompletedAt = new(int(answer.CompletedAt.Unix()))
	}
	if text != "" {
		response.Output = append(response.Output, f.message(text, response.Status))
	}
	response.Output = append(response.Output, f.calls(answer)...)
	return response
}

// response returns a response without output. It repeats the parameters of the request.
func (f *responseForm) response(status string) OpenAIResponse {
	given := func(name, otherwise string) any {
		if raw := f.req.response[name]; raw != nil {
			return raw
		}
		return json.RawMessage(otherwise)
	}
	return OpenAIResponse{
		ID: "resp_" + f.answerID, Object: "response", CreatedAt: f.created, Status: status, Model: f.req.Model,
		Output: []OpenAIOutputItem{}, Store: f.req.Store, Truncation: "disabled",
		Instructions: given("instructions", "null"), MaxOutputTokens: given("max_output_tokens", "null"),
		Metadata: given("metadata", "{}"), ParallelToolCalls: given("parallel_tool_calls", "true"),
		Reasoning:   given("reasoning", `{"effort":null,"summary":null}`),
		Temperature: given("temperature", "null"), Text: given("text", `{"format":{"type":"text"}}`),
		ToolChoice: given("tool_choice", `"auto"`), Tools: given("tools", "[]"), TopP: given("top_p", "null"),
		User: given("user", "null"),
	}
}

// message returns the item of a text. It has no text while it is in progress.
func (f *responseForm) message(text, status string) OpenAIOutputItem {
	item := OpenAIOutputItem{Type: "message", ID: "msg_" + f.answerID, Status: status, Role: "assistant"}
	item.Content = &[]OpenAIOutputText{}
	if status != statusInProgress {
		item.Content = &[]OpenAIOutputText{outputText(text)}
	}
	return item
}

func outputText(text string) OpenAIOutputText {
	return OpenAIOutputText{Type: "output_text", Text: text, Annotations: []any{}, Logprobs: []any{}}
}

// calls returns the items of the returned calls of an answer.
func (f *responseForm) calls(answer chat.Message) (items []OpenAIOutputItem) {
	for i, call := range answer.ReturnedCalls() {
		items = append(items, OpenAIOutputItem{
			Type: "function_call", ID: "fc_" + f.answerID + "_" + strconv.Itoa(i), Status: statusCompleted,
			CallID: call.ID, Name: call.Name, Arguments: &call.Arguments, ExtraContent: call.Extra,
		})
	}
	return items
}

func statusOf(answer chat.Message) string {
	if answer.FinishReason == chat.FinishLength {
		return statusIncomplete
	}
	return statusCompleted
}

func responseUsageOf(answer chat.Message) *OpenAIResponseUsage {
	return &OpenAIResponseUsage{
		InputTokens: answer.InputTokens, OutputTokens: answer.OutputTokens,
		TotalTokens: answer.InputTokens + answer.OutputTokens,
	}
}

func (f *responseForm) begin() []event {
	response := f.response(statusInProgress)
	return []event{
		f.event("response.created", OpenAIResponseEvent{Response: &response}),
		f.event("response.in_progress", OpenAIResponseEvent{Response: &response}),
	}
}

func (f *responseForm) delta(piece string, first bool) (events []event) {
	if first {
		item := f.message("", statusInProgress)
		part := outputText("")
		events = append(events,
			f.event("response.output_item.added", OpenAIResponseEvent{OutputIndex: new(0), Item: &item}),
			f.event("response.content_part.added", f.ofText(OpenAIResponseEvent{Part: &part})))
	}
	return append(events, f.event("response.output_text.delta", f.ofText(OpenAIResponseEvent{
		Delta: &piece, Logprobs: &[]any{},
	})))
}

// ofText adds the position of the text to an event.
func (f *responseForm) ofText(e OpenAIResponseEvent) OpenAIResponseEvent {
	e.ItemID, e.OutputIndex, e.ContentIndex = "msg_"+f.answerID, new(0), new(0)
	return e
}

func (f *responseForm) end(answer chat.Message, text string) (events []event) {
	status := statusOf(answer)
	index := 0
	if text != "" {
		events, index = f.endText(text, status), 1
	}
	for _, item := range f.calls(answer) {
		events = append(events, f.call(item, index)...)
		index++
	}
	response, _ := f.whole(answer, text).(OpenAIResponse)
	return append(events, f.event("response."+status, OpenAIResponseEvent{Response: &response}))
}

// endText returns the events of the end of the text.
func (f *responseForm) endText(text, status string) []event {
	part, item := outputText(text), f.message(text, status)
	return []event{
		f.event("response.output_text.done", f.ofText(OpenAIResponseEvent{Text: &text, Logprobs: &[]any{}})),
		f.event("response.content_part.done", f.ofText(OpenAIResponseEvent{Part: &part})),
		f.event("response.output_item.done", OpenAIResponseEvent{OutputIndex: new(0), Item: &item}),
	}
}

// call returns the events of a call.
func (f *responseForm) call(item OpenAIOutputItem, index int) []event {
	begun := item
	begun.Status, begun.Arguments = statusInProgress, new("")
	of := OpenAIResponseEvent{ItemID: item.ID, OutputIndex: &index}
	delta, done := of, of
	delta.Delta, done.Arguments, done.Name = item.Arguments, item.Arguments, item.Name
	return []event{
		f.event("response.output_item.added", OpenAIResponseEvent{OutputIndex: &index, Item: &begun}),
		f.event("response.function_call_arguments.delta", delta),
		f.event("response.function_call_arguments.done", done),
		f.event("response.output_item.done", OpenAIResponseEvent{OutputIndex: &index, Item: &item}),
	}
}

func (f *responseForm) fail(answer chat.Message, text string, err OpenAIError) []event {
	response := f.response(statusFailed)
	response.Error = &OpenAIResponseError{Code: err.Error.Code, Message: err.Error.Message, Param: err.Error.Param}
	response.Usage = responseUsageOf(answer)
	if text != "" {
		response.Output = append(response.Output, f.message(text, statusIncomplete))
	}
	return []event{f.event("response.failed", OpenAIResponseEvent{Response: &response})}
}

// event returns the next event of the stream.
func (f *responseForm) event(name string, e OpenAIResponseEvent) event {
	e.Type, e.SequenceNumber = name, f.sequence
	f.sequence++
	return event{name, e}
}
