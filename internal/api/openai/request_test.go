package openai_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/api/openai"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// FuzzRequest: a body is parsed in either form as a conversation that ends with a question and the results of calls, or
// refused with an error for people.
func FuzzRequest(f *testing.F) {
	for _, body := range []string{
		`{"model":"a","messages":[{"role":"user","content":"b"}]}`, `{}`, `null`, `[`, `{"messages":[null]}`, `{"":null}`,
		`{"model":"a","messages":[{"role":"system","content":[{"type":"text","text":"c"}]},{"role":"user","content":"b"}],` +
			`"stop":["a"],"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"a":[[]]}}}}`,
		`{"model":"a","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` +
			`AAAA"}}]}],"metadata":{"a":"b"},"temperature":1e999}`,
		`{"stop":null,"stop":"","response_format":{"type":"json_object"},"max_tokens":-1,"seed":1e3}`,
		`{"model":"a","messages":[{"role":"user","content":"b"},{"role":"assistant","content":"c","tool_calls":[{"id":"1",` +
			`"type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{}}]},{"role":"tool",` +
			`"tool_call_id":"1","content":"d"}],"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],` +
			`"tool_choice":{"type":"function","function":{"name":"f"}},"parallel_tool_calls":true}`,
		`{"model":"a","input":"b","instructions":"c","tools":[{"type":"function","name":"f"}],"tool_choice":"required",` +
			`"text":{"format":{"type":"json_schema","name":"a","schema":{}}},"reasoning":{"effort":"none"},"include":[]}`,
		`{"model":"a","input":[{"role":"user","content":[{"type":"input_text","text":"b"},{"type":"input_image","image_url":` +
			`"data:image/png;base64,AAAA"}]},{"type":"reasoning"},{"type":"function_call","call_id":"1","name":"f",` +
			`"arguments":""},{"type":"function_call_output","call_id":"1","output":[{"type":"input_text","text":"d"}]},` +
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"e","annotations":[]}]},` +
			`{"role":"user","content":"f"}]}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, parse := range []func([]byte) (openai.Request, error){openai.ParseCompletion, openai.ParseResponse} {
			req, err := parse(body)
			switch {
			case err != nil && (fault.CodeOf(err) == fault.Internal || fault.DetailOf(err) == ""):
				t.Errorf("refused with %v", err)
			case err != nil:
			case len(req.Turns)%2 == 0:
				t.Errorf("%d turns do not end with a question", len(req.Turns))
			default:
				if q := req.Question(uuid.Nil); len(q.Earlier) != len(req.Turns)-1 {
					t.Errorf("%d turns became %+v", len(req.Turns), q)
				}
			}
		}
	})
}
