package llm_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// FuzzR27_Stream: for any response, the client neither panics nor blocks, emits complete characters only and returns an
// answer or a typed error.
func FuzzR27_Stream(f *testing.F) {
	for _, seed := range []string{
		"",
		"data: [DONE]\n\n",
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"はい\"},\"finish_reason\":\"stop\"}]}\n\n" +
			"data: [DONE]\n\n",
		"data: {\"choices\":[{\"delta\":{\"content\":\"\\ud83c\"}}]}\n" +
			"data: {\"choices\":[{\"delta\":{\"content\":\"\\udf89\"}}]}\n",
		"data: {\"choices\":[{\"delta\":{\"content\":\"\xe6\xbc\"}}]}\n\n" +
			"data: {\"choices\":[{\"delta\":{\"content\":\"\xa2\\u3042\"}}]}\n\n",
		"{\"error\":\"x\"}\n", "{\"choices\":[{\"message\":{\"content\":\"はい\"},\"finish_reason\":\"stop\"}]}",
		"data: {\"error\":{\"message\":[\"a\",\"b\"],\"code\":1e9,\"innererror\":{}}}\n",
		"data: {\"choices\":[{\"delta\":{\"content\":{}}}],\"usage\":{\"prompt_tokens\":-1}}\n",
		"data: {\"choices\":[{\"delta\":null,\"finish_reason\":\"content_filter\"}]}\r\n\r\n",
	} {
		f.Add([]byte(seed), false, false)
		f.Add([]byte(seed), true, false)
	}
	for name := range servers {
		_, body := recorded(f, name)
		f.Add(body, strings.HasSuffix(name, ".json"), false)
	}
	for _, path := range toolFiles(f) {
		_, body := recorded(f, path)
		f.Add(body, strings.HasSuffix(path, ".json"), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, whole, withTools bool) {
		kind := "text/event-stream"
		if whole {
			kind = "application/json"
		}
		client := newClient(t, llm.Config{Transport: respond(kind, body), MaxRetries: -1})
		emitted, answered := 0, false
		take := func(text string) {
			if text == "" || !utf8.ValidString(text) {
				t.Errorf("emitted %q", text)
			}
			emitted += len(text)
		}
		req := question()
		if withTools {
			req.Tools = tools()
		}
		req.Reasoning = func(text string) {
			if answered {
				t.Errorf("reasoning %q after the answer", text)
			}
			take(text)
		}
		result, err := client.Stream(t.Context(), req, func(text string) {
			answered = true
			take(text)
		})
		var known *fault.Error
		switch {
		case err != nil && (!errors.As(err, &known) || !strings.HasPrefix(string(known.Code), "model_") ||
			known.Detail == ""):
			t.Errorf("untyped error %v", err)
		case err == nil && (result.FinishReason == "" || !answered && len(result.ToolCalls) == 0):
			t.Error("an answer without a finish reason, or without text and calls")
		case (result.FinishReason == llm.FinishTools) != (len(result.ToolCalls) > 0) || !withTools && len(result.ToolCalls) > 0:
			t.Errorf("%d calls with the finish reason %q", len(result.ToolCalls), result.FinishReason)
		case emitted > 3*len(body):
			t.Errorf("%d bytes out of %d", emitted, len(body))
		}
	})
}

// FuzzR27_Pattern: a chunk that differs from the one before only in its text has the same effect as one that differs in
// more.
func FuzzR27_Pattern(f *testing.F) {
	f.Add([]byte(`"\u56de"` + "\n" + `"\u7b54` + "\n" + `"回答"` + "\n" + `"","x":""` + "\n" + `null` + "\n" +
		`"\\n\""` + "\n\"\xe5\"\n\"\x9b\x9e\""))
	f.Add([]byte("\"a\"\nnull\n\"b\"\nnull\n\"c\""))
	f.Add([]byte(`"a"},"finish_reason":"stop","x":{"y":"b"` + "\n" + `"c"` + "\n" + `"d"`))
	f.Add([]byte(`"a","reasoning":"b"` + "\n" + `"c"` + "\n" + `"d","tool_calls":[]` + "\n" + `"e"` + "\n" + `"f"`))
	f.Fuzz(func(t *testing.T, literals []byte) {
		stream := func(differ bool) (text string, result llm.Result, failed bool) {
			var body bytes.Buffer
			for i, literal := range bytes.Split(literals, []byte("\n")) {
				more := ""
				if differ && i%2 == 1 {
					more = `,"more":1`
				}
				fmt.Fprintf(&body, "data: {\"choices\":[{\"delta\":{\"content\":%s}}],\"model\":\"a\"%s}\n\n", literal, more)
			}
			body.WriteString("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
			client := newClient(t, llm.Config{Transport: respond("text/event-stream", body.Bytes()), MaxRetries: -1})
			result, err := client.Stream(t.Context(), question(), func(piece string) { text += piece })
			return text, result, err != nil
		}
		text, result, failed := stream(false)
		wantText, wantResult, wantFailed := stream(true)
		if text != wantText || !reflect.DeepEqual(result, wantResult) || failed != wantFailed {
			t.Errorf("%q, %+v, failed %v, want %q, %+v, failed %v", text, result, failed, wantText, wantResult, wantFailed)
		}
	})
}

// FuzzR27_SplitCharacters: the text is the same for any division into chunks.
func FuzzR27_SplitCharacters(f *testing.F) {
	f.Add("「有給休暇」は👩‍💻と𠮷野家で。\n\"\\", uint64(0x5a5a))
	f.Add("\u0000\u2028 plain", uint64(1))
	f.Fuzz(func(t *testing.T, text string, cuts uint64) {
		if !utf8.ValidString(text) {
			return
		}
		text = "答" + text // Neither blank nor reasoning.
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

// FuzzR27_Escapes: the client reads escapes like encoding/json, wherever the literal is split.
func FuzzR27_Escapes(f *testing.F) {
	f.Add(`\ud83c\udf89\u3042\n\"`, uint(1))
	f.Add(`\udf89\ud83c\ud83ca`, uint(2))
	f.Fuzz(func(t *testing.T, literal string, cut uint) {
		var want string
		literal = "答" + literal // Neither blank nor reasoning.
		if json.Unmarshal([]byte(`"`+literal+`"`), &want) != nil || !utf8.ValidString(literal) {
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
		got, _, _, err := ask(t, newClient(t, llm.Config{Transport: respond("text/event-stream",
			[]byte(body.String()))}), question())
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

// FuzzR27_Think: reasoning and answer are the same for any division into chunks.
func FuzzR27_Think(f *testing.F) {
	for _, seed := range []string{
		"<think>考え</think>答え", "\n<think>\n考え\n</think>\n\n答え", "<think></think>答え",
		"<thought>a</thought><thought>b</thought>c", "<thinking>", "<",
		"<think>a</thin>b</think></think>", "<think>終わらない</thi", "答え<think>b</think>", "  \n", " 答え",
		"<think>< /think></think>", "<think>\n</think>\n",
	} {
		f.Add(seed, uint64(0x5a5a))
		f.Add(seed, uint64(0))
	}
	f.Fuzz(func(t *testing.T, text string, cuts uint64) {
		if !utf8.ValidString(text) {
			return
		}
		var body []byte
		for i, rest := 0, []byte(text); len(rest) > 0; i++ {
			n := min(len(rest), 1+int(cuts>>(i%32*2)&3))
			body = llmtest.AppendTextChunk(body, rest[:n])
			rest = rest[n:]
		}
		end := []byte("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n")
		cut, _ := askAll(t, newClient(t, llm.Config{Transport: respond("text/event-stream", append(body, end...))}))
		whole, _ := askAll(t, newClient(t, llm.Config{Transport: respond("text/event-stream",
			append(llmtest.AppendTextChunk(nil, []byte(text)), end...))}))
		if cut != whole {
			t.Errorf("%q\ncut   %+v\nwhole %+v", text, cut, whole)
		}
	})
}

// FuzzR27_Lines: the events are the same for any division into reads and for all line endings.
func FuzzR27_Lines(f *testing.F) {
	for name := range servers {
		_, body := recorded(f, name)
		f.Add(body, uint8(3))
	}
	f.Fuzz(func(t *testing.T, body []byte, size uint8) {
		read := func(body io.Reader) said {
			got, _ := askAll(t, newClient(t, llm.Config{MaxRetries: -1, Transport: respondOnce("text/event-stream", body)}))
			return got
		}
		whole := read(bytes.NewReader(body))
		if got := read(&slowReader{bytes.NewReader(body), int(size) + 1}); got != whole {
			t.Errorf("in pieces of %d\n%+v\n%+v", int(size)+1, got, whole)
		}
		if bytes.IndexByte(body, '\r') >= 0 || bytes.HasPrefix(body, []byte("\uFEFF")) {
			return
		}
		for _, end := range []string{"\r", "\r\n"} {
			if got := read(bytes.NewReader(bytes.ReplaceAll(body, []byte("\n"), []byte(end)))); got != whole {
				t.Errorf("with %q\n%+v\n%+v", end, got, whole)
			}
		}
		if got := read(bytes.NewReader(append([]byte("\uFEFF"), body...))); got != whole {
			t.Errorf("with a byte order mark\n%+v\n%+v", got, whole)
		}
	})
}

// slowReader returns a few bytes per read.
type slowReader struct {
	io.Reader
	size int
}

func (r *slowReader) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(len(p), r.size)]) }
