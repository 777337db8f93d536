package toolserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
)

// Limits of a request for input.
const (
	maxForms        = 3
	maxFields       = 20       // Of a form.
	maxOptions      = 50       // Of a field.
	maxMessage      = 2_000    // Characters of a form's message.
	maxHint         = 500      // Characters of a field's description.
	maxInputName    = 100      // Bytes of the name of a form or a field.
	maxPattern      = 500      // Characters of the pattern of a text.
	maxRequestState = 64 << 10 // Bytes.
)

// errInput returns the error of a request for input that is not shown to the person.
func errInput(reason string) error {
	return fault.Errorf(codeInput, "このツールは、途中で入力を求めました。%sため、呼び出しを終了しました。", reason)
}

// codeInput is the code of errors about requests for input.
const codeInput fault.Code = "tool_input"

// newInputRequest returns the request for input in a result of a server, the forms' fields in the given orders.
func newInputRequest(server string, result *sdk.CallToolResult, orders map[string][]string) (
	*tool.InputRequest, error,
) {
	switch {
	case len(result.InputRequests) == 0:
		return nil, errInput("求める内容がない")
	case len(result.InputRequests) > maxForms:
		return nil, errInput(fmt.Sprintf("フォームが多すぎる（%d個まで）", maxForms))
	case len(result.RequestState) > maxRequestState:
		return nil, errInput(fmt.Sprintf("途中の状態が大きすぎる（%d KBまで）", maxRequestState>>10))
	case strings.ContainsRune(result.RequestState, 0):
		return nil, errInput("途中の状態に使えない文字がある")
	}
	request := &tool.InputRequest{Server: server, State: result.RequestState}
	for _, id := range slices.Sorted(maps.Keys(result.InputRequests)) {
		form, err := newInputForm(id, result.InputRequests[id], orders[id])
		if err != nil {
			return nil, err
		}
		request.Forms = append(request.Forms, form)
	}
	return request, nil
}

// newInputForm returns the form of a part of a request for input. Only elicitation by a form is supported.
func newInputForm(id string, request sdk.InputRequest, order []string) (tool.InputForm, error) {
	asked, ok := request.(*sdk.ElicitParams)
	switch {
	case !ok:
		return tool.InputForm{}, errInput("モデルの呼び出しやフォルダーの一覧の求めには対応していない")
	case asked.Mode != "" && asked.Mode != "form" || asked.URL != "" || asked.ElicitationID != "":
		return tool.InputForm{}, errInput("ほかのページでの入力には対応していない")
	case !plainName(id):
		return tool.InputForm{}, errInput("フォームの名前を扱えない")
	}
	form := tool.InputForm{ID: id, Message: strings.TrimSpace(clean(asked.Message)), Fields: []tool.InputField{}}
	if utf8.RuneCountInString(form.Message) > maxMessage {
		return tool.InputForm{}, errInput(fmt.Sprintf("説明が長すぎる（%d文字まで）", maxMessage))
	}
	encoded, err := json.Marshal(asked.RequestedSchema)
	if err != nil || len(encoded) > maxSchema {
		return tool.InputForm{}, errInput(fmt.Sprintf("フォームの定義が大きすぎる（%d KBまで）", maxSchema>>10))
	}
	var schema jsonschema.Schema // The library would need seconds for a deep one.
	if (&schemaWalk{onlySize: true}).visit(asked.RequestedSchema, 0) != nil ||
		json.Unmarshal(encoded, &schema) != nil || schema.Type != "object" {
		return tool.InputForm{}, errInput("フォームの定義を読み取れない")
	}
	if len(schema.Properties) > maxFields {
		return tool.InputForm{}, errInput(fmt.Sprintf("項目が多すぎる（%d個まで）", maxFields))
	}
	for _, name := range fieldNames(&schema, order) {
		field, err := newInputField(name, schema.Properties[name])
		if err != nil {
			return tool.InputForm{}, err
		}
		field.Required = slices.Contains(schema.Required, name)
		form.Fields = append(form.Fields, field)
	}
	return form, nil
}

// fieldNames returns the names of a form's fields in the given order. Fields that it lacks follow, the required ones
// first.
func fieldNames(schema *jsonschema.Schema, order []string) []string {
	var names []string
	for _, name := range slices.Concat(order, schema.Required, slices.Sorted(maps.Keys(schema.Properties))) {
		if schema.Properties[name] != nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// plainName reports whether a name can be stored and shown.
func plainName(name string) bool {
	return name != "" && len(name) <= maxInputName && utf8.ValidString(name) && !strings.ContainsFunc(name, invisible)
}

// newInputField returns a field by its schema.
func newInputField(name string, schema *jsonschema.Schema) (tool.InputField, error) {
	if !plainName(name) {
		return tool.InputField{}, errInput("項目の名前を扱えない")
	}
	field := tool.InputField{
		Name: name, Label: runes.OneLine(cmp.Or(clean(schema.Title), name), maxTitle),
		Description: runes.OneLine(clean(schema.Description), maxHint), Type: tool.FieldType(schema.Type),
	}
	offers := schema // The schema of one value.
	if schema.Type == "array" {
		offers = schema.Items
	}
	if offers != nil && (offers.Type == "string" || offers != schema && offers.Type == "") {
		var err error
		if field.Options, err = inputOptions(offers); err != nil {
			return tool.InputField{}, err
		}
	}
	switch {
	case schema.Type == "array" && field.Options != nil:
		field.Type, field.MinItems, field.MaxItems = tool.FieldChoices, natural(schema.MinItems), natural(schema.MaxItems)
	case schema.Type == "string" && field.Options != nil:
		field.Type = tool.FieldChoice
	case schema.Type == "string":
		if slices.Contains([]string{"email", "uri", "date", "date-time"}, schema.Format) {
			field.Format = schema.Format
		}
		field.MinLength, field.MaxLength = natural(schema.MinLength), natural(schema.MaxLength)
		// The dialect of a pattern is that of JavaScript. A pattern that is invalid here is for the server to check.
		_, invalid := regexp.Compile(schema.Pattern)
		if invalid == nil && utf8.RuneCountInString(schema.Pattern) <= maxPattern &&
			!strings.Contains(schema.Pattern, "\x00") {
			field.Pattern = schema.Pattern
		}
	case schema.Type == "integer", schema.Type == "number":
		field.Minimum, field.Maximum = schema.Minimum, schema.Maximum
	case schema.Type != "boolean":
		return tool.InputField{}, errInput("項目の型に対応していない")
	}
	var value any
	_ = json.Unmarshal(schema.Default, &value) // Without a default, value stays nil.
	text, _ := value.(string)
	if value != nil && field.Accepts(value) && !strings.ContainsFunc(text, invisible) { // People see what they send.
		field.Default = value
	}
	return field, nil
}

// natural returns a limit of a schema, or 0 if it has none.
func natural(limit *int) int {
	if limit == nil {
		return 0
	}
	return max(*limit, 0)
}

// inputOptions returns the values of a choice, or nil for a text. Further options with the same value are dropped.
func inputOptions(schema *jsonschema.Schema) (options []tool.InputOption, err error) {
	add := func(value any, label string) {
		text, _ := value.(string)
		if slices.ContainsFunc(options, func(o tool.InputOption) bool { return o.Value == text }) {
			return
		}
		options = append(options, tool.InputOption{
			Value: text, Label: runes.OneLine(cmp.Or(clean(label), text), maxTitle),
		})
	}
	names, _ := schema.Extra["enumNames"].([]any) // The form of earlier revisions.
	for i, value := range schema.Enum {
		label := ""
		if i < len(names) {
			label, _ = names[i].(string)
		}
		add(value, label)
	}
	for _, option := range slices.Concat(schema.OneOf, schema.AnyOf) {
		if option == nil || option.Const == nil {
			add(nil, "")
			continue
		}
		add(*option.Const, option.Title)
	}
	switch {
	case len(options) > maxOptions:
		return nil, errInput(fmt.Sprintf("選択肢が多すぎる（%d個まで）", maxOptions))
	case slices.ContainsFunc(options, func(o tool.InputOption) bool { return !plainName(o.Value) }):
		return nil, errInput("選択肢を扱えない")
	}
	return options, nil
}

// inputResponses returns the person's response as the parameters of the next request.
func inputResponses(request tool.InputRequest, response tool.InputResponse) sdk.InputResponseMap {
	responses := make(sdk.InputResponseMap, len(request.Forms))
	for _, form := range request.Forms {
		responses[form.ID] = &sdk.ElicitResult{Action: string(response.Action), Content: response.Values[form.ID]}
	}
	return responses
}
