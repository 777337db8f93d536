package llm_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// Whatever a provider sends, the client neither panics nor hangs, emits whole characters only and ends with an answer or a
// typed error.
func FuzzR27_Stream(f *testing.F) {
	for _, seed := range []string{
		"",
		"data: [DONE]\n\n",
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"はい\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
		"data: {\"choices\":[{\"delta\":{\"content\":\"\\ud83c\"}}]}\ndata: {\"choices\":[{\"delta\":{\"content\":\"\\udf89\"}}]}\n",
		"data: {\"choices\":[{\"delta\":{\"content\":\"\xe6\xbc\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"\xa2\\u3042\"}}]}\n\n",
		"{\"error\":\"x\"}\n", "{\"choices\":[{\"message\":{\"content\":\"はい\"},\"finish_reason\":\"stop\"}]}",
		"data: {\"error\":{\"message\":[\"a\",\"b\"],\"code\":1e9,\"innererror\":{}}}\n",
		"data: {\"choices\":[{\"delta\":{\"content\":{}}}],\"usage\":{\"prompt_tokens\":-1}}\n",
		"data: {\"choices\":[{\"delta\":null,\"finish_reason\":\"content_filter\"}]}\r\n\r\n",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, whole bool) {
		kind := "text/event-stream"
		if whole {
			kind = "application/json"
		}
		client := newClient(t, llm.Config{Transport: respond(kind, body), MaxRetries: -1})
		emitted := 0
		result, err := client.Stream(t.Context(), question(), func(text string) {
			if text == "" || !utf8.ValidString(text) {
				t.Errorf("emitted %q", text)
			}
			emitted += len(text)
		})
		var known *fault.Error
		switch {
		case err != nil && (!errors.As(err, &known) || !strings.HasPrefix(string(known.Code), "model_") || known.Detail == ""):
			t.Errorf("untyped error %v", err)
		case err == nil && result.FinishReason == "":
			t.Error("an answer without a finish reason")
		case emitted > 3*len(body):
			t.Errorf("%d bytes out of %d", emitted, len(body))
		}
	})
}

// However the bytes of a text are spread over chunks, the same text comes out.
func FuzzR27_SplitCharacters(f *testing.F) {
	f.Add("「有給休暇」は👩‍💻と𠮷野家で。\n\"\\", uint64(0x5a5a))
	f.Add("\u0000\u2028 plain", uint64(1))
	f.Fuzz(func(t *testing.T, text string, cuts uint64) {
		if text == "" || !utf8.ValidString(text) {
			return
		}
		var body []byte
		rest := []byte(text)
		for i := 0; len(rest) > 0; i++ {
			n := min(len(rest), 1+int(cuts>>(i%32*2)&3))
			body = llmtest.AppendTextChunk(body, rest[:n])
			rest = rest[n:]
		}
		body = append(body, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"...)
		got, _, _, err := ask(t, newClient(t, llm.Config{Transport: respond("text/event-stream", body)}), question())
		if err != nil || got != text {
			t.Errorf("%q became %q: %v", text, got, err)
		}
	})
}

// Escapes are read as encoding/json reads them, wherever the literal is cut.
func FuzzR27_Escapes(f *testing.F) {
	f.Add(`\ud83c\udf89\u3042\n\"`, uint(1))
	f.Add(`\udf89\ud83c\ud83ca`, uint(2))
	f.Fuzz(func(t *testing.T, literal string, cut uint) {
		var want string
		if json.Unmarshal([]byte(`"`+literal+`"`), &want) != nil || want == "" || !utf8.ValidString(literal) {
			return
		}
		parts := []string{literal}
		if at := int(cut % uint(len(literal)+1)); validLiterals(literal[:at], literal[at:]) {
			parts = []string{literal[:at], literal[at:]}
		}
		var body strings.Builder
		for _, part := range parts {
			body.WriteString("data: {\"choices\":[{\"delta\":{\"content\":\"" + part + "\"}}]}\n\n")
		}
		body.WriteString("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n")
		got, _, _, err := ask(t, newClient(t, llm.Config{Transport: respond("text/event-stream", []byte(body.String()))}), question())
		if err != nil || got != want {
			t.Errorf("%q became %q, want %q: %v", literal, got, want, err)
		}
	})
}

func validLiterals(parts ...string) bool {
	for _, part := range parts {
		if !json.Valid([]byte(`"` + part + `"`)) {
			return false
		}
	}
	return true
}
