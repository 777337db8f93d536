package openai_test

import (
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/api/openai"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// FuzzRequest: a body is parsed as a conversation that ends with a question, or refused with an error for people.
func FuzzRequest(f *testing.F) {
	for _, body := range []string{
		`{"model":"a","messages":[{"role":"user","content":"b"}]}`, `{}`, `null`, `[`, `{"messages":[null]}`, `{"":null}`,
		`{"model":"a","messages":[{"role":"system","content":[{"type":"text","text":"c"}]},{"role":"user","content":"b"}],` +
			`"stop":["a"],"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"a":[[]]}}}}`,
		`{"model":"a","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` +
			`AAAA"}}]}],"metadata":{"a":"b"},"temperature":1e999}`,
		`{"stop":null,"stop":"","response_format":{"type":"json_object"},"max_tokens":-1,"seed":1e3}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := openai.ParseRequest(body)
		switch {
		case err == nil && len(req.Turns)%2 == 0:
			t.Errorf("%d turns do not end with a question", len(req.Turns))
		case err != nil && (fault.CodeOf(err) == fault.Internal || fault.DetailOf(err) == ""):
			t.Errorf("refused with %v", err)
		}
	})
}
