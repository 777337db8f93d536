package llm_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/llm"
	"github.com/tsumugi-ai/tsumugi/llm/llmtest"
)

// known are chunks as servers write them for a piece of text.
func known() []string {
	return []string{
		strings.TrimSpace(strings.TrimPrefix(string(llmtest.AppendTextChunk(nil, []byte("回\"答\\\n"))), "data: ")),
		`{"choices":[{"index":0,"delta":{"content":"はい"}}]}`,
		`{"choices": [{"index": 0, "delta": {"role": "assistant", "content": "はい"}, "finish_reason": null}], "model": "m", "usage": null}`,
		`{"id":"x","object":"chat.completion.chunk","created":17,"model":"m","service_tier":"default","obfuscation":"\u0041/\/",` +
			`"choices":[{"index":0,"delta":{"content":"\ud83c","refusal":null,"reasoning_content":null},"logprobs":null}]}`,
	}
}

// others are what only encoding/json reads, or refuses.
func others() []string {
	return []string{
		``, `{}`, `[]`, `null`, `{"choices":[]}`, `{"choices":[{"index":0,"delta":{}}]}`,
		`{"choices":[{"index":0,"delta":{"content":""}}]}`, `{"choices":[{"index":0,"delta":{"content":null}}]}`,
		`{"choices":[{"index":1,"delta":{"content":"b"}}]}`, `{"choices":[{"index":0,"delta":{"content":"a"}},{"index":1}]}`,
		`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`, `{"error":{},"choices":[{"delta":{"content":"a"}}]}`,
		`{"object":"error","choices":[{"delta":{"content":"a"}}]}`, `{"choices":[{"delta":{"content":"a","Content":"b"}}]}`,
		`{"choices":[{"delta":{"content":"a","content":"b"}}]}`, `{"choices":[{"delta":{"content":"a"}}],"choices":[]}`,
		`{"choices":[{"delta":{"content":"a"},"delta":{}}]}`, `{"choices":[{"delta":{"content":"\x"}}]}`,
		`{"choices":[{"delta":{"content":"\u00g0"}}]}`, "{\"choices\":[{\"delta\":{\"content\":\"\n\"}}]}",
		`{"choices":[{"delta":{"content":"a"}}]}x`, `{"choices":[{"delta":{"content":"a"}}]`, `{"choices":[{"delta":{"content":"a`,
		`{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":1}}`, `{"choices":[{"delta":{"content":"a"}}],"n":01}`,
		`{"choices":[{"delta":{"content":"a","tool_calls":[]}}]}`, `{"choices":[{"delta":{"content":"a"},"logprobs":{}}]}`,
		`{"model":"モデル","choices":[{"delta":{"content":"a"}}]}`, `{"choices":[{"delta":{"content":"a"}}],"model":"\u0061"}`,
		`{"choice\u0073":[{"delta":{"content":"a"}}]}`, `{"choices":[{"delta":{"content":"a",}}]}`, `{"choices":[{"delta":{"content":"a"},}]}`,
	}
}

func TestScanChunkKnowsPiecesOfText(t *testing.T) {
	t.Parallel()
	for _, data := range known() {
		for _, previous := range []string{"", "m", "another"} {
			scanned, decoded, err, ok := llm.ScanChunk([]byte(data), previous)
			if !ok || err != nil || !reflect.DeepEqual(scanned, decoded) {
				t.Errorf("%s: known %v, %v\n%+v\n%+v", data, ok, err, scanned, decoded)
			}
		}
	}
	for _, data := range others() {
		if scanned, _, _, ok := llm.ScanChunk([]byte(data), ""); ok {
			t.Errorf("%s is taken for %+v", data, scanned)
		}
	}
}

// What scanChunk reads, it reads as encoding/json does.
func FuzzR27_ScanChunk(f *testing.F) {
	for _, data := range append(known(), others()...) {
		f.Add([]byte(data), "m")
	}
	f.Fuzz(func(t *testing.T, data []byte, previous string) {
		scanned, decoded, err, ok := llm.ScanChunk(data, previous)
		if ok && (err != nil || !reflect.DeepEqual(scanned, decoded)) {
			t.Errorf("%q: %v\n%+v\n%+v", data, err, scanned, decoded)
		}
	})
}
