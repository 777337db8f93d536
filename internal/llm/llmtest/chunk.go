package llmtest

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

const (
	chunkHead = `data: {"id":"chatcmpl-test","object":"chat.completion.chunk","created":1700000000,"model":"` +
		ModelName +
		`","system_fingerprint":"fp_test","choices":[{"index":0,"delta":{"`
	chunkTail = "\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n"
)

// AppendTextChunk appends the event of a piece of text, in OpenAI's form. The text may contain partial characters,
// which are written unchanged.
func AppendTextChunk(dst, text []byte) []byte { return appendChunk(dst, "content", text) }

// AppendReasoningChunk appends the event of a piece of reasoning, in the form of DeepSeek and vLLM.
func AppendReasoningChunk(dst, text []byte) []byte {
	return appendChunk(dst, "reasoning_content", text)
}

func appendChunk(dst []byte, field string, text []byte) []byte {
	dst = append(append(append(dst, chunkHead...), field...), `":"`...)
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c < ' ':
			dst = fmt.Appendf(dst, `\u%04x`, c)
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, chunkTail...)
}

// wireCalls returns calls of tools in OpenAI's form.
func wireCalls(calls []llm.ToolCall) []map[string]any {
	list := make([]map[string]any, len(calls))
	for i, call := range calls {
		list[i] = map[string]any{
			"index": i, "id": call.ID, "type": "function",
			"function": map[string]string{"name": call.Name, "arguments": call.Arguments},
		}
	}
	return list
}

// callPieces returns the events of calls of tools, in OpenAI's form: the name, then the arguments in two pieces.
func callPieces(calls []llm.ToolCall) (events [][]byte) {
	for i, call := range calls {
		half := len(runes.FirstBytes(call.Arguments, len(call.Arguments)/2))
		begin := wireCalls(calls)[i]
		begin["function"] = map[string]string{"name": call.Name, "arguments": ""}
		pieces := []map[string]any{begin}
		for _, piece := range []string{call.Arguments[:half], call.Arguments[half:]} {
			pieces = append(pieces, map[string]any{"index": i, "function": map[string]string{"arguments": piece}})
		}
		for _, piece := range pieces {
			chunk, _ := json.Marshal(map[string]any{
				"id": "chatcmpl-test", "object": "chat.completion.chunk", "created": 1700000000, "model": ModelName,
				"choices": []any{map[string]any{
					"index": 0, "delta": map[string]any{"tool_calls": []any{piece}}, "finish_reason": nil,
				}},
			})
			events = append(events, append(append([]byte("data: "), chunk...), "\n\n"...))
		}
	}
	return events
}

func appendFinish(dst []byte, reason string) []byte {
	dst = append(dst, `data: {"id":"chatcmpl-test","object":"chat.completion.chunk","created":1700000000,"model":"`+
		ModelName+
		`","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":`...)
	dst = strconv.AppendQuote(dst, reason)
	return append(dst, "}]}\n\n"...)
}

func appendUsage(dst []byte, input, output int) []byte {
	return fmt.Appendf(dst,
		`data: {"id":"chatcmpl-test","object":"chat.completion.chunk","created":1700000000,"model":"%s",`+
			`"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`+"\n\n",
		ModelName, input, output, input+output)
}
