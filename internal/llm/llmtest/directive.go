package llmtest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
)

// Marker introduces a directive in a question. The JSON object after it controls the Handler's answer. Other text is
// ignored, so that a skill can wrap the question in its own prompt.
const Marker = "@script"

// The failures of an answer after FailAfter characters.
const (
	FailKill      = "kill"       // The connection breaks.
	FailEOF       = "eof"        // The stream ends without a finish reason.
	FailError     = "error"      // An error object is sent inside the stream.
	FailRateLimit = "rate_limit" // Like FailError, with a rate limit error.
	FailFilter    = "filter"     // The content filter stops the answer.
	FailHalfJSON  = "half_json"  // A chunk is cut off in the middle.
	FailLongLine  = "long_line"  // A line of 10 MB is sent.
)

// The forms of reasoning in responses.
const (
	ReasoningContent = "reasoning_content" // A field of the delta: DeepSeek, vLLM, llama.cpp.
	ReasoningField   = "reasoning"         // Another field: Ollama, OpenRouter.
	ReasoningTags    = "think"             // Between <think> and </think> in the text.
)

// Directive controls the Handler's answer to a question.
//
//	@script {"chars": 6000, "tokens_per_second": 200}
//	@script {"text": "# 見出し\n本文です。", "fail": "error", "fail_after": 5}
//	@script {"status": 429, "retry_after": 1, "times": 2, "key": "r24", "text": "三度目の回答です。"}
//
// Lengths are in characters (code points) unless the name indicates another unit. The response to an unknown or
// malformed field has status 400 and the field's name.
type Directive struct {
	Text string `json:"text"` // The answer. If empty, Markdown (AppendMarkdown) of length Chars.
	// Pictures makes the Handler answer with a list of the conversation's pictures.
	Pictures bool `json:"pictures"`

	Chars int    `json:"chars"` // Length of the Markdown; 600 if Bytes is 0 too.
	Bytes int    `json:"bytes"` // Length of the Markdown in UTF-8 bytes, exactly.
	Seed  uint64 `json:"seed"`  // Selects another text of the same length.
	// Vary makes each answer another text, like a model that never repeats itself.
	Vary bool `json:"vary"`

	calls  []llm.ToolCall // The calls of tools in the answer to this request.
	prefix string         // The beginning of the answer, which the request asks to continue.

	Reasoning      string `json:"reasoning"`       // The reasoning, sent at the same pace.
	ReasoningChars int    `json:"reasoning_chars"` // Length of generated meaningless reasoning.
	ReasoningForm  string `json:"reasoning_form"`  // One of the Reasoning constants; ReasoningContent if empty.
	NoAnswer       bool   `json:"no_answer"`       // Nothing follows the reasoning.

	// Numbered is the number of tokens of a NumberedText answer, for load generators: one token per chunk.
	Numbered int `json:"numbered"`

	// 0 is the Handler's pace; a negative number means no delay.
	TokensPerSecond float64 `json:"tokens_per_second"`
	TokenChars      int     `json:"token_chars"`    // Characters per chunk; 2 if 0.
	FirstTokenMS    int     `json:"first_token_ms"` // Wait before the first token.

	Fail      string `json:"fail"`       // One of the Fail constants.
	FailAfter int    `json:"fail_after"` // Characters before the failure; 0 fails before the first token.
	// After this number of characters the Handler sends nothing until the client disconnects.
	StallAfter *int `json:"stall_after"`

	Status     int `json:"status"`      // Respond with this status instead.
	RetryAfter int `json:"retry_after"` // Seconds, with Status.
	// Status, Fail and StallAfter apply to the first Times requests of Key; 0 is all.
	Times int `json:"times"`
	// Key identifies the question for Times; the directive itself if empty.
	Key string `json:"key"`

	Finish  string `json:"finish"`   // Finish reason; "stop" if empty.
	NoUsage bool   `json:"no_usage"` // Report no usage even if asked.
	Title   string `json:"title"`    // Answer to the title request of this thread; Title if empty.
	// ToolCalls are the calls of tools before the answer, a list for each request. A request without tools is answered at
	// once.
	ToolCalls [][]llm.ToolCall `json:"tool_calls"`
	// CallMS is the wait after each piece of a call: its name, and two halves of its arguments.
	CallMS int    `json:"call_ms"`
	Before string `json:"before"` // The text before each list of ToolCalls.
	// Results makes the Handler answer with the results of the calls.
	Results bool `json:"results"`
	// Suggestions is the answer to the request for suggestions after this answer; if empty, one that suggests nothing.
	Suggestions string `json:"suggestions"`
}

const (
	defaultChars = 600
	maxChars     = 4 << 20
)

// parseDirective finds the directive in the last user message of a conversation; older ones belonged to their own
// questions. Without one, it returns the default answer.
func parseDirective(messages []llm.Message) (Directive, error) {
	d := Directive{}
	for _, m := range slices.Backward(messages) {
		if m.Role != llm.RoleUser {
			continue
		}
		if _, after, found := strings.Cut(m.Content, Marker); found {
			decoder := json.NewDecoder(strings.NewReader(after))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(&d); err != nil {
				return d, fmt.Errorf("%s: %w", Marker, err)
			}
			if d.Key == "" {
				d.Key = strings.TrimSpace(after[:decoder.InputOffset()])
			}
		}
		break
	}
	return d, d.complete()
}

// complete fills in defaults and validates bounds.
func (d *Directive) complete() error {
	if d.Vary {
		d.Seed = rand.Uint64() //nolint:gosec // A text for tests.
	}
	if d.Chars == 0 && d.Bytes == 0 {
		d.Chars = defaultChars
	}
	d.TokenChars = cmp.Or(d.TokenChars, 2)
	if d.Numbered > 0 {
		d.TokenChars = 2
	}
	d.Finish = cmp.Or(d.Finish, "stop")
	d.Title = cmp.Or(d.Title, Title)
	d.ReasoningForm = cmp.Or(d.ReasoningForm, ReasoningContent)
	switch {
	case !slices.Contains([]string{ReasoningContent, ReasoningField, ReasoningTags}, d.ReasoningForm):
		return fmt.Errorf("%s: unknown reasoning_form %q", Marker, d.ReasoningForm)
	case d.ReasoningChars < 0 || d.ReasoningChars > maxChars:
		return errors.New(Marker + ": reasoning_chars out of bounds")
	case d.Chars < 0 || d.Bytes < 0 || d.Chars > maxChars || d.Bytes > maxChars:
		return errors.New(Marker + ": chars or bytes out of bounds")
	case d.Numbered < 0 || d.Numbered > maxChars/2 || (d.Numbered > 0 && d.Numbered < ClockTokens):
		return errors.New(Marker + ": numbered out of bounds")
	case d.TokenChars < 0 || d.FirstTokenMS < 0 || d.FailAfter < 0 || d.RetryAfter < 0 || d.Times < 0 ||
		d.CallMS < 0:
		return errors.New(Marker + ": negative number")
	case d.Status != 0 && (d.Status < 200 || d.Status > 599):
		return errors.New(Marker + ": status out of bounds")
	}
	switch d.Fail {
	case "", FailKill, FailEOF, FailError, FailRateLimit, FailFilter, FailHalfJSON, FailLongLine:
		return nil
	default:
		return fmt.Errorf("%s: unknown fail %q", Marker, d.Fail)
	}
}

// setCalls selects the calls of the answer to a conversation: those after the calls that the conversation has.
func (d *Directive) setCalls(messages []llm.Message) {
	rounds := 0
	var results []string
	for _, m := range messages {
		switch {
		case m.Role == llm.RoleUser:
			rounds, results = 0, nil
		case len(m.ToolCalls) > 0:
			rounds++
		case m.Role == llm.RoleTool:
			results = append(results, m.Content)
		}
	}
	if rounds < len(d.ToolCalls) {
		d.calls, d.Text, d.NoAnswer, d.Finish = d.ToolCalls[rounds], d.Before, d.Before == "", "tool_calls"
		for i := range d.calls {
			d.calls[i].ID = cmp.Or(d.calls[i].ID, fmt.Sprintf("call%d%d", rounds, i))
		}
	} else if d.Results {
		d.Text = strings.Join(results, "\n\n")
	}
}

// answer returns the text of the answer after its prefix. now is the time of its first token.
func (d *Directive) answer(now time.Time) string {
	whole := []rune(d.whole(now))
	return string(whole[min(utf8.RuneCountInString(d.prefix), len(whole)):])
}

// whole returns the text of the answer, whose beginning the prefix replaces.
func (d *Directive) whole(now time.Time) string {
	switch {
	case d.NoAnswer:
		return ""
	case d.Numbered > 0:
		return string(NumberedText(d.Numbered, now))
	case d.Text != "":
		return d.Text
	case d.Bytes > 0:
		return MarkdownBytes(d.Bytes, d.Seed)
	default:
		return Markdown(d.Chars, d.Seed)
	}
}

// reasoning returns the text of the reasoning.
func (d *Directive) reasoning() string {
	if d.Reasoning == "" && d.ReasoningChars > 0 {
		return Markdown(d.ReasoningChars, d.Seed+1)
	}
	return d.Reasoning
}
