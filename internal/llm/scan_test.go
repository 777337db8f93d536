package llm_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// known are chunks as servers write them for a piece of text.
func known() []string {
	return []string{
		strings.TrimSpace(strings.TrimPrefix(string(llmtest.AppendTextChunk(nil, []byte("回\"答\\\n"))), "data: ")),
		`{"choices":[{"index":0,"delta":{"content":"はい"}}]}`,
		`{"choices": [{"index": 0, "delta": {"role": "assistant", "content": "はい"}, "finish_reason": null}], "model": "m", "usage": null}`,
		`{"id":"x","object":"chat.completion.chunk","created":17,"model":"m","service_tier":"default","obfuscation":"\u0041/\/",` +
			`"choices":[{"index":0,"delta":{"content":"\ud83c","refusal":null,"reasoning_content":null},"logprobs":null}]}`,
		`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `{"choices":[{"delta":{"role":"assistant"},"finish_reason":"length"}]}`,
		`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`, `{"choices":[{"finish_reason":"eos"}],"model":"m"}`,
		`{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":0,"total_tokens":12,"prompt_tokens_details":{"cached_tokens":3},"x":{}}}`,
		`{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":1}}`, `{"usage":{},"choices":[]}`,
	}
}

// others are what only encoding/json reads, or refuses.
func others() []string {
	return []string{
		``, `{}`, `[]`, `null`, `{"choices":[]}`, `{"choices":[{"index":0,"delta":{}}]}`,
		`{"choices":[{"index":0,"delta":{"content":""}}]}`, `{"choices":[{"index":0,"delta":{"content":null}}]}`,
		`{"choices":[{"index":1,"delta":{"content":"b"}}]}`, `{"choices":[{"index":0,"delta":{"content":"a"}},{"index":1}]}`,
		`{"choices":[{"delta":{},"finish_reason":"\u0073top"}]}`, `{"choices":[{"delta":{},"finish_reason":"stop","finish_reason":null}]}`,
		`{"choices":[],"usage":{"prompt_tokens":1.5}}`, `{"choices":[],"usage":{"prompt_tokens":-1}}`, `{"choices":[],"usage":{"prompt_tokens":null}}`,
		`{"choices":[],"usage":{"prompt_tokens":1234567890}}`, `{"choices":[],"usage":{"prompt_tokens":"1"}}`, `{"choices":[],"usage":{},"usage":null}`,
		`{"choices":[],"usage":{"prompt_tokens":01}}`, `{"choices":[],"usage":[]}`, `{"choices":[{},{}],"usage":{}}`, `{"choices":[{"delta":{},"finish_reason":""}]}`,
		`{"error":{},"choices":[{"delta":{"content":"a"}}]}`,
		`{"object":"error","choices":[{"delta":{"content":"a"}}]}`, `{"choices":[{"delta":{"content":"a","Content":"b"}}]}`,
		`{"choices":[{"delta":{"content":"a","content":"b"}}]}`, `{"choices":[{"delta":{"content":"a"}}],"choices":[]}`,
		`{"choices":[{"delta":{"content":"a"},"delta":{}}]}`, `{"choices":[{"delta":{"content":"\x"}}]}`,
		`{"choices":[{"delta":{"content":"\u00g0"}}]}`, "{\"choices\":[{\"delta\":{\"content\":\"\n\"}}]}",
		`{"choices":[{"delta":{"content":"a"}}]}x`, `{"choices":[{"delta":{"content":"a"}}]`, `{"choices":[{"delta":{"content":"a`,
		`{"choices":[{"delta":{"content":"a"}}],"n":01}`,
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

// A chunk that differs from the one before in its text only is read by that alone, and as encoding/json reads it.
func TestDecodeKnowsTheChunkBefore(t *testing.T) {
	t.Parallel()
	const head, tail = `{"model":"m","choices":[{"index":0,"delta":{"content":`, `},"finish_reason":null}]}`
	for text, want := range map[string]bool{
		`"答"`: true, `"\ud83c\n\""`: true, `"` + strings.Repeat("長", 99) + `"`: true,
		``: false, `"`: false, `""`: false, `"a`: false, `a"`: false, `"a""`: false, `"a"` + " ": false, `"\"`: false, `"\x"`: false, "\"\n\"": false,
		`null`: false, `"a","n":"b"`: false, `"a","content":"b"`: false, `{}`: false, `"a"},"finish_reason":"stop"}]},{"`: false,
	} {
		got, decoded, again := llm.DecodeAfter([]byte(head+`"はい"`+tail), []byte(head+text+tail))
		if again != want || !reflect.DeepEqual(got, decoded) {
			t.Errorf("%s: known %v\n%+v\n%+v", text, again, got, decoded)
		}
	}
	for _, first := range append(known(), others()...) {
		for _, data := range append(known(), others()...) {
			if got, decoded, _ := llm.DecodeAfter([]byte(first), []byte(data)); !reflect.DeepEqual(got, decoded) {
				t.Errorf("%s\nafter %s\n%+v\n%+v", data, first, got, decoded)
			}
		}
	}
}

// Whatever came before, a chunk is read as encoding/json reads it.
func FuzzR27_DecodeAfter(f *testing.F) {
	for _, data := range append(known(), others()...) {
		f.Add([]byte(known()[2]), []byte(data))
		f.Add([]byte(data), []byte(known()[2]))
	}
	f.Fuzz(func(t *testing.T, first, data []byte) {
		if got, decoded, _ := llm.DecodeAfter(first, data); !reflect.DeepEqual(got, decoded) {
			t.Errorf("%q after %q\n%+v\n%+v", data, first, got, decoded)
		}
	})
}
