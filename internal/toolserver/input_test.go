package toolserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// form returns a request for input by a form with a schema.
func form(message, schema string) *sdk.ElicitParams {
	return &sdk.ElicitParams{Mode: "form", Message: message, RequestedSchema: json.RawMessage(schema)}
}

const bookingSchema = `{"type":"object","required":["people","seat"],"properties":{
	"people":{"type":"integer","title":"人数","minimum":1,"maximum":8,"default":2},
	"seat":{"type":"string","title":"席","oneOf":[{"const":"window","title":"窓際"},{"const":"aisle","title":"通路側"}]},
	"mail":{"type":"string","format":"email","description":"確認の送り先","default":"違う"},
	"smoking":{"type":"boolean","title":"\u202e喫煙","default":false},
	"plan":{"type":"string","enum":["a","b"],"enumNames":["松","竹"]},
	"note":{"type":"string","minLength":2,"maxLength":5,"default":"\u202e備考"}}}`

// TestServerAsksForInput: a result that asks for input is a request with the fields of its schema, and the next round
// has the response and the state. Each round is one request.
func TestServerAsksForInput(t *testing.T) {
	t.Parallel()
	o, c := newOffice(t), newCRM(t)
	rounds := make(chan *sdk.CallToolParamsRaw, 3)
	c.mcp.AddTool(&sdk.Tool{Name: "book", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			rounds <- r.Params
			if len(r.Params.InputResponses) > 0 {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "予約しました"}}}, nil
			}
			return &sdk.CallToolResult{
				RequestState: "途中\x01", InputRequests: sdk.InputRequestMap{"guest": form("何名ですか\x00", bookingSchema)},
			}, nil
		})
	o.connected(c.URL, nil)
	result, err := o.call("crm__book", `{"day":"今日"}`)
	if err != nil || result.Input == nil || !result.Untrusted {
		t.Fatalf("got %+v, %v", result, err)
	}
	one, eight := 1.0, 8.0
	want := &tool.InputRequest{Server: "顧客管理", State: "途中\x01", Forms: []tool.InputForm{{
		ID: "guest", Message: "何名ですか", Fields: []tool.InputField{
			{Name: "people", Label: "人数", Type: tool.FieldInteger, Required: true, Default: 2.0, Minimum: &one, Maximum: &eight},
			{Name: "seat", Label: "席", Type: tool.FieldChoice, Required: true, Options: []tool.InputOption{
				{Value: "window", Label: "窓際"}, {Value: "aisle", Label: "通路側"},
			}},
			{Name: "mail", Label: "mail", Description: "確認の送り先", Type: tool.FieldString, Format: "email"},
			{Name: "smoking", Label: "喫煙", Type: tool.FieldBoolean, Default: false},
			{Name: "plan", Label: "plan", Type: tool.FieldChoice, Options: []tool.InputOption{
				{Value: "a", Label: "松"}, {Value: "b", Label: "竹"},
			}},
			{Name: "note", Label: "note", Type: tool.FieldString, MinLength: 2, MaxLength: 5},
		},
	}}}
	if !reflect.DeepEqual(result.Input, want) {
		t.Errorf("asks %+v", result.Input)
	}
	response := tool.InputResponse{Action: tool.InputAccept, Values: map[string]map[string]any{
		"guest": {"people": 3.0, "seat": "window"},
	}}
	must.Succeed(t, result.Input.Check(response))
	book := o.offered(o.taro, "crm__book")[0]
	result, err = book.Resume(t.Context(), json.RawMessage(`{"day":"今日"}`), *want, response)
	if err != nil || result.Text != "予約しました" || result.Input != nil {
		t.Errorf("got %+v, %v", result, err)
	}
	<-rounds
	second := <-rounds
	if second.RequestState != "途中\x01" || string(second.Arguments) != `{"day":"今日"}` {
		t.Fatalf("the second round is %+v", second)
	}
	sent, _ := second.InputResponses["guest"].(*sdk.ElicitResult)
	if sent == nil || sent.Action != "accept" || sent.Content["people"] != 3.0 || sent.Content["seat"] != "window" {
		t.Errorf("sent %+v", sent)
	}
	if _, err := book.Resume(t.Context(), nil, *want, tool.InputResponse{Action: tool.InputCancel}); err != nil {
		t.Fatal(err)
	}
	if sent, _ = (<-rounds).InputResponses["guest"].(*sdk.ElicitResult); sent.Action != "cancel" || sent.Content != nil {
		t.Errorf("sent %+v", sent)
	}
}

// TestInputIsChecked: values that the schema does not permit are named.
func TestInputIsChecked(t *testing.T) {
	t.Parallel()
	o, c := newOffice(t), newCRM(t)
	c.answers("book", &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"guest": form("", bookingSchema)}})
	o.connected(c.URL, nil)
	result := must.Get(o.call("crm__book", `{}`))(t)
	for field, value := range map[string]any{
		"people": 9.0, "seat": "上", "mail": "山田", "smoking": "はい", "plan": 1.0, "note": "長すぎる備考",
	} {
		for _, value := range []any{value, map[string]any{}, "\x00"} {
			values := map[string]any{"people": 1.0, "seat": "aisle"}
			values[field] = value
			err := result.Input.Check(tool.InputResponse{
				Action: tool.InputAccept, Values: map[string]map[string]any{"guest": values},
			})
			if wrong := fault.FieldsOf(err); len(wrong) != 1 || wrong[0].Field != "input.values.guest."+field {
				t.Errorf("%s %v: %v", field, value, err)
			}
		}
	}
	for _, values := range []map[string]any{
		{"seat": "aisle"}, {"people": 1.5, "seat": "aisle"}, {"people": 1.0, "seat": nil},
	} {
		if err := result.Input.Check(tool.InputResponse{
			Action: tool.InputAccept, Values: map[string]map[string]any{"guest": values},
		}); fault.CodeOf(err) != fault.Invalid {
			t.Errorf("%v: %v", values, err)
		}
	}
}

// TestUnsupportedRequestsForInput: other requests by a server than small flat forms end the call with a sentence, after
// one request.
func TestUnsupportedRequestsForInput(t *testing.T) {
	t.Parallel()
	o, c := newOffice(t), newCRM(t)
	many := sdk.InputRequestMap{}
	for i := range 4 {
		many[fmt.Sprint(i)] = form("", `{"type":"object"}`)
	}
	var fields strings.Builder
	for i := range 21 {
		fmt.Fprintf(&fields, `"%d":{"type":"string"},`, i)
	}
	one := func(r sdk.InputRequest) *sdk.CallToolResult {
		return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"q": r}}
	}
	cases := map[string]struct {
		result *sdk.CallToolResult
		want   string
	}{
		"url":     {one(&sdk.ElicitParams{Mode: "url", URL: "https://evil.example/", ElicitationID: "1"}), "ほかのページ"},
		"model":   {one(&sdk.CreateMessageParams{MaxTokens: 10}), "モデルの呼び出し"}, //nolint:staticcheck // Servers still use it.
		"roots":   {one(&sdk.ListRootsParams{}), "モデルの呼び出し"},                  //nolint:staticcheck // Servers still use it.
		"forms":   {&sdk.CallToolResult{InputRequests: many}, "フォームが多すぎる"},
		"fields":  {one(form("", `{"type":"object","properties":{`+strings.TrimSuffix(fields.String(), ",")+`}}`)), "項目が多すぎる"},
		"nested":  {one(form("", `{"type":"object","properties":{"a":{"type":"object"}}}`)), "項目の型"},
		"message": {one(form(strings.Repeat("あ", 3000), `{"type":"object"}`)), "説明が長すぎる"},
		"schema":  {one(form("", `{"type":"array"}`)), "読み取れない"},
		"deep":    {one(form("", `{"type":"object","not":`+strings.Repeat(`{"not":`, 100)+`{}`+strings.Repeat("}", 101))), "読み取れない"},
		"options": {one(form("", `{"type":"object","properties":{"a":{"type":"string","oneOf":[null]}}}`)), "選択肢を扱えない"},
		"name":    {one(form("", `{"type":"object","properties":{"a\u202eb":{"type":"string"}}}`)), "項目の名前"},
		"state": {&sdk.CallToolResult{
			RequestState: strings.Repeat("x", 70<<10), InputRequests: sdk.InputRequestMap{"q": form("", `{"type":"object"}`)},
		}, "大きすぎる"},
	}
	for name, test := range cases {
		c.answers(name, test.result)
	}
	o.connected(c.URL, nil)
	for name, test := range cases {
		before := c.calls.Load()
		result, err := o.call("crm__"+name, `{}`)
		wants(t, err, "途中で入力を求めました。", test.want)
		if sent := c.calls.Load() - before; result.Input != nil || sent != 1 {
			t.Errorf("%s: %+v after %d requests", name, result.Input, sent)
		}
	}
}

// TestEarlierRevisionsAskForNothing: the client does not claim forms to a server of an earlier revision, and refuses its
// requests.
func TestEarlierRevisionsAskForNothing(t *testing.T) {
	t.Parallel()
	o, c := newOffice(t), newCRM(t, legacy)
	asked := make(chan error, 1)
	c.mcp.AddTool(&sdk.Tool{Name: "book", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			if r.Session.InitializeParams().Capabilities.Elicitation != nil {
				t.Error("the client claims to show forms")
			}
			_, err := r.Session.Elicit(ctx, form("何名ですか", `{"type":"object"}`))
			asked <- err
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "予約しました"}}}, nil
		})
	o.connected(c.URL, nil)
	if result, err := o.call("crm__book", `{}`); err != nil || result.Text != "予約しました" {
		t.Errorf("got %+v, %v", result, err)
	}
	if err := <-asked; err == nil {
		t.Error("the server has asked for input")
	}
}
