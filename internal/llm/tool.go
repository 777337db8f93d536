package llm

import (
	"encoding/json"
	"slices"

	openai "github.com/sashabaranov/go-openai"
)

// Tool is a function that a model may call.
type Tool struct {
	Name        string          `json:"name"` // Letters, digits, _ and -; at most 64.
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // A JSON schema of an object; nil for no parameters.
	Strict      bool            `json:"strict,omitempty"`     // The model must follow the schema.
}

// ToolChoice is whether a model must call a tool. The zero value lets the model decide.
type ToolChoice struct {
	Mode ToolMode `json:"mode,omitempty"`
	Name string   `json:"name,omitempty"` // Of the tool that it must call, with ToolNamed.
}

// ToolMode is the kind of a ToolChoice.
type ToolMode string

// The modes of a ToolChoice.
const (
	ToolAuto     ToolMode = "auto"     // The model decides.
	ToolNone     ToolMode = "none"     // The model calls none.
	ToolRequired ToolMode = "required" // The model calls at least one.
	ToolNamed    ToolMode = "function" // The model calls the named one.
)

// ToolCall is a call of a tool by a model.
type ToolCall struct {
	ID        string `json:"id"` // Unique within the answer.
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // As written by the model: an object of JSON, unless the model made a mistake.

	// Extra is a value of the provider that must be sent back with the call, such as Gemini's thought signature. Nil
	// without one.
	Extra json.RawMessage `json:"extra,omitempty"`
}

// ToolInput is a call of a tool whose arguments a model is writing.
type ToolInput struct {
	ID        string // That of the ToolCall in the Result.
	Name      string
	Arguments []byte // The beginning of the arguments, in whole characters.
}

// noParameters is the schema of a tool without parameters. Some servers refuse a tool without a schema.
var noParameters = json.RawMessage(`{"type":"object","properties":{}}`)

// setTools adds the tools of a request.
func setTools(out *openai.ChatCompletionRequest, p Params, d dialect) {
	if d.noTools || len(p.Tools) == 0 {
		return
	}
	for _, tool := range p.Tools {
		function := &openai.FunctionDefinition{
			Name: tool.Name, Description: tool.Description, Strict: tool.Strict, Parameters: tool.Parameters,
		}
		if tool.Parameters == nil {
			function.Parameters = noParameters
		}
		out.Tools = append(out.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: function})
	}
	switch p.ToolChoice.Mode {
	case "":
	case ToolNamed:
		out.ToolChoice = openai.ToolChoice{
			Type: openai.ToolTypeFunction, Function: openai.ToolFunction{Name: p.ToolChoice.Name},
		}
	default:
		out.ToolChoice = string(p.ToolChoice.Mode)
	}
	if p.ParallelToolCalls != nil && !d.noParallel {
		out.ParallelToolCalls = *p.ParallelToolCalls
	}
}

// setCalls adds the calls of an assistant's message.
func setCalls(out *openai.ChatCompletionMessage, m Message) {
	out.ToolCallID = m.ToolCallID
	for _, call := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, openai.ToolCall{
			ID: call.ID, Type: openai.ToolTypeFunction,
			Function: openai.FunctionCall{Name: call.Name, Arguments: call.Arguments},
		})
	}
}

func hasCalls(messages []Message) bool {
	return slices.ContainsFunc(messages, func(m Message) bool { return len(m.ToolCalls) > 0 })
}

// callFields returns the messages with the fields of calls that go-openai does not send: the Extra of a call, and the
// reasoning, also an empty one, if the server demands it. It returns nil without such fields.
func callFields(req *Request, messages []openai.ChatCompletionMessage, d dialect) (map[string]any, error) {
	hasExtra := func(call ToolCall) bool { return call.Extra != nil }
	if !slices.ContainsFunc(req.Messages, func(m Message) bool {
		return len(m.ToolCalls) > 0 && d.needReasoning || slices.ContainsFunc(m.ToolCalls, hasExtra)
	}) {
		return nil, nil
	}
	list := make([]any, len(messages))
	for i, m := range messages {
		list[i] = m
		if len(m.ToolCalls) == 0 {
			continue
		}
		fields, err := fieldsOf(m)
		if err != nil {
			return nil, err
		}
		sent, _ := fields["tool_calls"].([]any)
		for j, call := range req.Messages[i].ToolCalls {
			if of, ok := sent[j].(map[string]any); ok && call.Extra != nil {
				of["extra_content"] = call.Extra
			}
		}
		if d.needReasoning {
			fields["reasoning_content"] = req.Messages[i].Reasoning
		}
		list[i] = fields
	}
	return map[string]any{"messages": list}, nil
}

// fieldsOf returns the JSON fields of a value.
func fieldsOf(v any) (fields map[string]any, err error) {
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &fields)
	}
	return fields, err
}
