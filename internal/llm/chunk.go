package llm

import (
	"fmt"

	"github.com/tidwall/gjson"
)

// chunk holds the parts of a chat.completion.chunk, or of a complete answer, that the client needs. Texts are JSON
// string literals, so that characters split over chunks can be joined. The client reuses a chunk.
type chunk struct {
	model     string
	text      []string
	position  int            // Of the literal in the data, if the text is the content; otherwise 0.
	reasoning []string       // The model's reasoning, if the server reports it separately.
	calls     []gjson.Result // Pieces of calls of tools.
	finish    string
	usage     *Usage
	err       *providerError
}

// decode decodes valid JSON into c. It ignores members of unknown names or types, but returns an error for content that
// is not text.
func (c *chunk) decode(data []byte) error {
	*c = chunk{text: c.text[:0], reasoning: c.reasoning[:0], calls: c.calls[:0]}
	whole := gjson.Parse(string(data))
	if whole.IsArray() { // Gemini wraps errors in a list.
		whole = whole.Get("0")
	}
	var choices gjson.Result
	failed := false
	whole.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "model":
			c.model = value.String()
		case "choices":
			choices = value
		case "usage":
			c.usage = decodeUsage(value)
		case "error":
			failed = failed || value.Type != gjson.Null
		case "object":
			failed = failed || value.Str == "error"
		}
		return true
	})
	if failed {
		c.err = parseProviderError([]byte(whole.Raw))
		return nil
	}
	var err error
	choices.ForEach(func(_, choice gjson.Result) bool {
		// Only one answer was requested. A server that sends several would interleave them.
		if choice.Get("index").Int() != 0 {
			return true
		}
		err = c.decodeChoice(choice)
		return false
	})
	return err
}

func (c *chunk) decodeChoice(choice gjson.Result) error {
	var delta, message gjson.Result
	choice.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "delta":
			delta = value
		case "message": // Replaces delta in responses without streaming.
			message = value
		case "finish_reason":
			c.finish = value.String()
		}
		return true
	})
	if !delta.IsObject() {
		delta = message
	}
	var content, refusal, reasoning, details gjson.Result
	delta.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "content":
			content = value
		case "refusal":
			refusal = value
		case "reasoning_content", "reasoning": // Servers that migrate from one name to the other send both.
			if value.Type == gjson.String && value.Str != "" {
				reasoning = value
			}
		case "reasoning_details":
			details = value
		case "tool_calls":
			c.calls = append(c.calls, value.Array()...)
		}
		return true
	})
	if reasoning.Exists() {
		c.reasoning = appendLiteral(c.reasoning, reasoning)
	} else {
		c.decodeDetails(details)
	}
	if err := c.decodeContent(content); err != nil {
		return err
	}
	if len(c.text) == 0 {
		c.text = appendLiteral(c.text, refusal) // A model's refusal is an answer.
	}
	return nil
}

// decodeContent decodes a text, or Mistral's list of texts and thoughts.
func (c *chunk) decodeContent(content gjson.Result) error {
	switch {
	case content.Type == gjson.Null:
		return nil
	case content.Type == gjson.String:
		c.text, c.position = appendLiteral(c.text, content), content.Index
		return nil
	case !content.IsArray():
		return notText(content)
	}
	var err error
	content.ForEach(func(_, part gjson.Result) bool {
		if !part.IsObject() {
			err = notText(part)
			return false
		}
		switch part.Get("type").Str {
		case "text":
			c.text = appendLiteral(c.text, part.Get("text"))
		case "thinking":
			c.decodeThoughts(part.Get("thinking"))
		}
		return true
	})
	return err
}

// decodeThoughts decodes a thought, or Mistral's list of thoughts.
func (c *chunk) decodeThoughts(thinking gjson.Result) {
	if !thinking.IsArray() {
		c.reasoning = appendLiteral(c.reasoning, thinking)
		return
	}
	thinking.ForEach(func(_, part gjson.Result) bool {
		c.reasoning = appendLiteral(c.reasoning, part.Get("text"))
		return true
	})
}

// decodeDetails decodes OpenRouter's list of reasoning details, used for models without a plain reasoning text.
func (c *chunk) decodeDetails(details gjson.Result) {
	if !details.IsArray() {
		return
	}
	details.ForEach(func(_, part gjson.Result) bool {
		c.reasoning = appendLiteral(c.reasoning, part.Get("text"))
		c.reasoning = appendLiteral(c.reasoning, part.Get("summary"))
		return true
	})
}

// appendLiteral appends the literal of a text, unless it is empty or not a string.
func appendLiteral(literals []string, value gjson.Result) []string {
	if value.Type != gjson.String || value.Raw == `""` {
		return literals
	}
	return append(literals, value.Raw)
}

func notText(value gjson.Result) error {
	// Only the first character, because the error is logged.
	return fmt.Errorf("llm: decode chunk: content is no text: it begins with %q", value.Raw[0])
}

// decodeUsage decodes a usage. It returns nil for a malformed one, which must not fail the answer.
func decodeUsage(usage gjson.Result) *Usage {
	input, output := usage.Get("prompt_tokens"), usage.Get("completion_tokens")
	if !usage.IsObject() || !isCount(input) || !isCount(output) {
		return nil
	}
	return &Usage{InputTokens: max(0, int(input.Int())), OutputTokens: max(0, int(output.Int()))}
}

func isCount(value gjson.Result) bool { return value.Type == gjson.Number || value.Type == gjson.Null }
