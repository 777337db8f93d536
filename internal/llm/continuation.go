package llm

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/fault"

	openai "github.com/sashabaranov/go-openai"
)

// Continuation is how a model is asked to continue the beginning of an answer.
type Continuation string

// The ways of continuing. Servers have no common one.
const (
	ContinueRestart      Continuation = "restart"                // Not at all: the answer is restarted.
	ContinueFinalMessage Continuation = "continue_final_message" // vLLM, SGLang: with the field of this name.
	ContinuePrefix       Continuation = "prefix"                 // Mistral, DeepSeek's beta API: with prefix in the message.
	ContinueAssistant    Continuation = "assistant"              // llama.cpp, older Claude models: the message suffices.
)

// Continuations are all ways of continuing.
var Continuations = []Continuation{ContinueRestart, ContinueFinalMessage, ContinuePrefix, ContinueAssistant}

var errNotContinued = fault.Errorf(CodeNotContinued, detailBadRequest)

func (c Continuation) continues() bool { return c != "" && c != ContinueRestart }

// CanContinue reports whether a model can be asked to continue a text.
func CanContinue(text string) bool { return strings.TrimSpace(text) != "" }

// continuation emits the text after a prefix, without a repetition of the prefix by the model.
type continuation struct {
	emit func(text string)
	echo string // The prefix as sent, if the model may begin with it; "" once that is decided.
	held string // The text received before that.
	// The white space at the end of the prefix. It is not sent, because servers strip or refuse it, and it is removed
	// from the beginning of the model's text.
	blank string
}

// continuePrefix adds the prefix of a request to its messages, and returns the continuation for its text.
func (to *route) continuePrefix(req *Request, emit func(text string)) *continuation {
	sent := strings.TrimRightFunc(req.Prefix, unicode.IsSpace)
	c := &continuation{emit: emit, blank: req.Prefix[len(sent):]}
	if to.Continue == ContinuePrefix {
		c.echo = sent
	}
	req.Messages = append(slices.Clip(req.Messages), Message{Role: RoleAssistant, Content: sent})
	req.continuation = to.Continue
	return c
}

// write adds a piece of the model's text.
func (c *continuation) write(text string) {
	if c.echo != "" {
		c.held += text
		if len(c.held) < len(c.echo) && strings.HasPrefix(c.echo, c.held) {
			return
		}
		text = strings.TrimPrefix(c.held, c.echo)
		c.echo, c.held = "", ""
	}
	for c.blank != "" && text != "" {
		_, size := utf8.DecodeRuneInString(c.blank)
		if !strings.HasPrefix(text, c.blank[:size]) {
			c.blank = ""
			break
		}
		text, c.blank = text[size:], c.blank[size:]
	}
	if text != "" {
		c.emit(text)
	}
}

// close passes on the held text: the model has not repeated the whole prefix.
func (c *continuation) close() {
	held := c.held
	c.echo, c.held = "", ""
	c.write(held)
}

// continuationFields returns the fields of a request that make the model continue the last message.
func continuationFields(req *Request, messages []openai.ChatCompletionMessage) map[string]any {
	switch req.continuation {
	case ContinueFinalMessage:
		return map[string]any{"continue_final_message": true, "add_generation_prompt": false}
	case ContinuePrefix:
		list := make([]any, len(messages))
		for i, m := range messages {
			list[i] = m
		}
		last := messages[len(messages)-1]
		list[len(list)-1] = map[string]any{"role": last.Role, "content": last.Content, "prefix": true}
		return map[string]any{"messages": list}
	}
	return nil
}
