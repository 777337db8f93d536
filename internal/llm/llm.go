// Package llm asks a language model for text and streams the answer.
//
// It owns the Model interface, its client for OpenAI-compatible servers, and the errors of models. It does not use
// threads, users or storage, and imports only the packages fault, tally and work. Package llm/offline is the engine used
// when no model is configured; package llm/llmtest has scripted models for tests.
package llm

import (
	"context"
	"encoding/json"
	"slices"
)

// Role is the author of a message.
type Role string

// The roles of the chat completion protocol.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool" // The result of a call of a tool.
)

// Message is one turn of a conversation.
type Message struct {
	Role    Role
	Content string

	Pictures []Picture // Of a user's message, for models that read pictures. They follow the content.

	ToolCalls  []ToolCall // Of an assistant's message. A message for each result follows it.
	Reasoning  string     // Of an assistant's message with calls, for servers that demand it.
	ToolCallID string     // Of a tool's message: the call whose result the content is.
}

// Picture is a picture in a message.
type Picture struct {
	ID            string // For the caller; it is not sent.
	MediaType     string // image/jpeg or image/png.
	Width, Height int
	Data          []byte
}

// Request is the input of a model.
type Request struct {
	Params

	Model    string // The id of an Offer of a Router, or a Client's name of a model. "" for the default.
	Thinking *bool  // Whether the model thinks first, if that can be switched; nil for the model's default.
	Messages []Message

	// Prefix is the beginning of the answer, which the model continues. Only a Router with a model whose Offer Continues
	// supports it. If the model refuses, the error has CodeNotContinued.
	Prefix string

	// Exact fails the request with CodeUnsupported if the model refuses a parameter. Otherwise the request is repeated
	// without the parameter.
	Exact bool

	// Reasoning is called with each piece of the model's reasoning, under the same rules as Stream's emit, and never
	// after emit. It may be nil.
	Reasoning func(text string)

	// ToolInputs is called with the calls of tools that the model is writing, when they have changed and after the text
	// before them was emitted. The list holds all of them, with the arguments so far, and is valid until ToolInputs
	// returns. A missing call was withdrawn. Reported calls do not prevent Stream from repeating a failed request. It may
	// be nil.
	ToolInputs func(calls []ToolInput)

	// Fields of the provider's request that a Router adds.
	extra        map[string]any
	continuation Continuation // Of Prefix, which is the last message.
}

// Params are the optional parameters of a request. The zero value uses the model's defaults. The JSON form is the
// stored form.
type Params struct {
	MaxTokens   int      `json:"max_tokens,omitempty"`  // Upper bound for the answer; 0 for none.
	Temperature *float32 `json:"temperature,omitempty"` // 0–2.
	TopP        *float32 `json:"top_p,omitempty"`       // 0–1.
	Stop        []string `json:"stop,omitempty"`        // The answer ends before the first of these.
	Seed        *int     `json:"seed,omitempty"`
	Schema      *Schema  `json:"schema,omitempty"` // The schema of a JSON answer; nil for text.

	Tools      []Tool     `json:"tools,omitempty"` // The tools that the model may call.
	ToolChoice ToolChoice `json:"tool_choice,omitzero"`
	// ParallelToolCalls is whether the model may call several tools at once; nil for the model's default.
	ParallelToolCalls *bool `json:"parallel_tool_calls,omitempty"`
}

// IsZero reports whether all parameters use the model's defaults.
func (p Params) IsZero() bool {
	return p.MaxTokens == 0 && p.Temperature == nil && p.TopP == nil && len(p.Stop) == 0 && p.Seed == nil &&
		p.Schema == nil && len(p.Tools) == 0
}

// Schema is the schema of a JSON answer. The zero value permits any object. Not every provider supports or enforces it,
// so the caller must validate the answer.
type Schema struct {
	Name        string          `json:"name,omitempty"` // Letters, digits, _ and -.
	Description string          `json:"description,omitempty"`
	JSON        json.RawMessage `json:"json,omitempty"`   // A JSON schema; nil for any object.
	Strict      bool            `json:"strict,omitempty"` // All fields of the schema are required, and no others allowed.
}

func (r *Request) hasPictures() bool {
	return slices.ContainsFunc(r.Messages, func(m Message) bool { return len(m.Pictures) > 0 })
}

// Usage counts tokens as reported by the provider, or else as estimated by EstimateTokens.
type Usage struct {
	InputTokens  int
	OutputTokens int
}

// Add adds the tokens of another call.
func (u *Usage) Add(other Usage) {
	u.InputTokens += other.InputTokens
	u.OutputTokens += other.OutputTokens
}

// FinishReason is the reason for the end of an answer.
type FinishReason string

// The finish reasons of answers that did not fail.
const (
	FinishStop   FinishReason = "stop"       // The model finished.
	FinishLength FinishReason = "length"     // The limit of tokens was reached; the answer is cut off.
	FinishTools  FinishReason = "tool_calls" // The model called tools and waits for their results.
)

// Result describes a complete answer, or the received part of a failed one.
type Result struct {
	Model        string // The provider's name of the model that answered.
	ModelID      string // The id of its Offer; "" without a Router.
	FinishReason FinishReason
	Usage        Usage
	ToolCalls    []ToolCall // In the model's order; only with FinishTools.
	ToolsRefused bool       // The model was asked without the request's tools, because it cannot call them.
}

// Model answers requests. Implementations are safe for concurrent use.
type Model interface {
	// Stream asks the model and calls emit with each piece of text, in order, on the caller's goroutine.
	//
	// Each piece is valid UTF-8: characters that a provider splits over chunks are joined, and invalid bytes are
	// replaced by U+FFFD. Stream returns when the answer is complete, ctx ends or it fails; pieces emitted before
	// remain valid. An error is a *fault.Error with one of this package's codes, or fault.Canceled if ctx was
	// canceled; the Result then describes the partial answer.
	Stream(ctx context.Context, req Request, emit func(text string)) (Result, error)
}
