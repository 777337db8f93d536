// Package llm asks a language model for text and streams the answer.
//
// It owns the Model interface, its client for OpenAI-compatible servers, and the errors that a model may cause. It
// knows nothing of threads, users or storage, and imports package fault only. The engine that answers when no model is
// configured is package llm/offline; scripted models for tests are in package internal/llm/llmtest.
package llm

import "context"

// Role says who speaks in a message.
type Role string

// The roles of the chat completion protocol.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Message is one turn of the conversation that a model is given.
type Message struct {
	Role    Role
	Content string
}

// Request is what a model is asked.
type Request struct {
	Messages    []Message
	MaxTokens   int      // Upper bound for the answer; 0 leaves it to the model.
	Temperature *float32 // 0–2; nil leaves it to the model.

	// Reasoning is called with each piece of what the model thinks before it answers, under the same rules as Stream's
	// emit, and never after that. Nil if nobody wants to know.
	Reasoning func(text string)
}

// Usage counts tokens as the provider does, or as EstimateTokens does where the provider does not say.
type Usage struct {
	InputTokens  int
	OutputTokens int
}

// FinishReason says why an answer ended.
type FinishReason string

// The ways in which an answer ends without being a failure.
const (
	FinishStop   FinishReason = "stop"   // The model had said everything.
	FinishLength FinishReason = "length" // The limit of tokens was reached; the answer is cut off.
)

// Result describes a whole answer, or the part that came before an error.
type Result struct {
	Model        string // The model that answered, by the provider's name.
	FinishReason FinishReason
	Usage        Usage
}

// Model answers requests. Implementations may be used by many goroutines at once.
type Model interface {
	// Stream asks the model and calls emit with each piece of text, in order, on the caller's goroutine.
	//
	// Each piece is whole, valid UTF-8: bytes of a character that a provider splits over chunks are joined, invalid
	// ones are replaced by U+FFFD. Stream returns when the answer is complete, ctx ends or it failed; what was emitted
	// before stays emitted. An error is a *fault.Error with one of this package's codes, or fault.Canceled if ctx was
	// canceled; the Result that comes with it holds what is known.
	Stream(ctx context.Context, req Request, emit func(text string)) (Result, error)
}
