package toolserver_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
)

var orderSchema = `{"type":"object","required":["zip","toppings"],"properties":{
	"zip":{"type":"string","title":"郵便番号","description":"例 100-0001","pattern":"^[0-9]{3}-[0-9]{4}$"},
	"toppings":{"type":"array","title":"具","description":"お好みで","minItems":1,"maxItems":2,"default":["egg"],
		"items":{"anyOf":[{"const":"egg","title":"卵"},{"const":"leek","title":"ねぎ"},{"const":"nori","title":"海苔"}]}},
	"days":{"type":"array","items":{"type":"string","enum":["mon","tue","mon"]},"default":["sun"]},
	"code":{"type":"string","pattern":"^(?=a)a$"},
	"area":{"type":"string","pattern":"` + longPattern + `"},
	"note":{"type":"string","pattern":"^[^\u0000]+$"}}}`

var longPattern = strings.Repeat("a?", 251)

// asksFor returns the request for input of a tool with a schema.
func asksFor(t *testing.T, schema string) *tool.InputRequest {
	t.Helper()
	o, c := newOffice(t), newCRM(t)
	c.answers("order", &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"q": form("", schema)}})
	o.connected(c.URL, nil)
	result, err := o.call("crm__order", `{}`)
	if err != nil || result.Input == nil {
		t.Fatalf("got %+v, %v", result, err)
	}
	return result.Input
}

// TestInputOfSeveralChoices: an array of named values is a field with several choices. Patterns that are invalid, too
// long or contain NUL, which the database cannot store, are dropped.
func TestInputOfSeveralChoices(t *testing.T) {
	t.Parallel()
	want := []tool.InputField{
		{
			Name: "zip", Label: "郵便番号", Description: "例 100-0001", Type: tool.FieldString, Required: true,
			Pattern: "^[0-9]{3}-[0-9]{4}$",
		},
		{
			Name: "toppings", Label: "具", Description: "お好みで", Type: tool.FieldChoices, Required: true,
			Default: []any{"egg"}, MinItems: 1, MaxItems: 2, Options: []tool.InputOption{
				{Value: "egg", Label: "卵"}, {Value: "leek", Label: "ねぎ"}, {Value: "nori", Label: "海苔"},
			},
		},
		{Name: "days", Label: "days", Type: tool.FieldChoices, Options: []tool.InputOption{
			{Value: "mon", Label: "mon"}, {Value: "tue", Label: "tue"},
		}},
		{Name: "code", Label: "code", Type: tool.FieldString},
		{Name: "area", Label: "area", Type: tool.FieldString},
		{Name: "note", Label: "note", Type: tool.FieldString},
	}
	if got := asksFor(t, orderSchema).Forms[0].Fields; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

// TestSeveralChoicesAreChecked: the number of choices, their values and patterns are validated.
func TestSeveralChoicesAreChecked(t *testing.T) {
	t.Parallel()
	request := asksFor(t, orderSchema)
	check := func(field string, value any) error {
		values := map[string]any{"zip": "100-0001", "toppings": []any{"egg", "nori"}}
		values[field] = value
		return request.Check(tool.InputResponse{
			Action: tool.InputAccept, Values: map[string]map[string]any{"q": values},
		})
	}
	for _, valid := range []struct {
		field string
		value any
	}{{"toppings", []any{"leek"}}, {"days", []any{}}, {"days", []any{"tue", "mon"}}, {"code", "b"}, {"area", "b"}} {
		if err := check(valid.field, valid.value); err != nil {
			t.Errorf("%s %v: %v", valid.field, valid.value, err)
		}
	}
	for _, invalid := range []struct {
		field string
		value any
		want  string
	}{
		{"toppings", nil, "入力してください。"},
		{"toppings", []any{}, "1個以上選択してください。"},
		{"toppings", []any{"egg", "leek", "nori"}, "選択できるのは2個までです（現在3個）。"},
		{"toppings", []any{"egg", "egg"}, "選択肢から選択してください。"},
		{"toppings", []any{"ham"}, "選択肢から選択してください。"},
		{"toppings", []any{map[string]any{}}, "選択肢から選択してください。"},
		{"toppings", "egg", "値の型が正しくありません。"},
		{"zip", []any{"egg"}, "値の型が正しくありません。"},
		{"zip", "1000001", "サーバーが指定した形式に合いません。項目の説明を確認してください。"},
	} {
		wrong := fault.FieldsOf(check(invalid.field, invalid.value))
		if len(wrong) != 1 || wrong[0].Field != "input.values.q."+invalid.field || wrong[0].Message != invalid.want {
			t.Errorf("%s %v: %v", invalid.field, invalid.value, wrong)
		}
	}
}

// TestUnsupportedArrays: arrays of other values than named ones end the call with a sentence.
func TestUnsupportedArrays(t *testing.T) {
	t.Parallel()
	o, c := newOffice(t), newCRM(t)
	var values []string
	for i := range 51 {
		values = append(values, fmt.Sprintf("%q", fmt.Sprint(i)))
	}
	cases := map[string]struct{ items, want string }{
		"free":    {`{"type":"string"}`, "項目の型"},
		"numbers": {`{"type":"integer","enum":[1,2]}`, "項目の型"},
		"mixed":   {`{"enum":["a",1]}`, "選択肢を扱えない"},
		"many":    {`{"enum":[` + strings.Join(values, ",") + `]}`, "選択肢が多すぎる"},
	}
	for name, test := range cases {
		c.answers(name, &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{
			"q": form("", `{"type":"object","properties":{"a":{"type":"array","items":`+test.items+`}}}`),
		}})
	}
	o.connected(c.URL, nil)
	for name, test := range cases {
		_, err := o.call("crm__"+name, `{}`)
		wants(t, err, "途中で入力を求めました。", test.want)
	}
}

// TestFieldsHaveTheOrderOfTheServer: the fields have the order of the JSON of the server, in an event stream and in a
// plain response.
func TestFieldsHaveTheOrderOfTheServer(t *testing.T) {
	t.Parallel()
	want := []string{"zip", "toppings", "days", "code", "area", "note"}
	for name, plain := range map[string]bool{"events": false, "plain": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, c := newOffice(t), newCRM(t)
			c.answers("order", &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{
				"a": form("", orderSchema), "b": form("", `{"type":"object"}`),
			}})
			handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return c.mcp },
				&sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: plain})
			server := httptest.NewServer(handler)
			t.Cleanup(server.Close)
			o.connected(server.URL, nil)
			result, err := o.call("crm__order", `{}`)
			if err != nil || result.Input == nil {
				t.Fatalf("got %+v, %v", result, err)
			}
			var names []string
			for _, field := range result.Input.Forms[0].Fields {
				names = append(names, field.Name)
			}
			if !slices.Equal(names, want) || len(result.Input.Forms[1].Fields) > 0 {
				t.Errorf("the fields are %v", names)
			}
		})
	}
}
