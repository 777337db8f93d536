package llmtest

import (
	"fmt"
	"strconv"
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
