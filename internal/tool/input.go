package tool

import (
	"fmt"
	"maps"
	"math"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// InputRequest is the request of a tool for input by the person, as the result of a request of a call. The texts of its
// forms were written by others.
type InputRequest struct {
	Server string      `json:"server"`          // The name of the tool's server.
	State  string      `json:"state,omitempty"` // Sent back with the response. It is not for people.
	Forms  []InputForm `json:"forms"`
}

// InputForm is a form that a tool shows to the person.
type InputForm struct {
	ID      string       `json:"id"` // Unique within the request.
	Message string       `json:"message"`
	Fields  []InputField `json:"fields"`
}

// FieldType is the type of the values of an InputField.
type FieldType string

// The types of fields.
const (
	FieldString  FieldType = "string"
	FieldInteger FieldType = "integer"
	FieldNumber  FieldType = "number"
	FieldBoolean FieldType = "boolean"
	FieldChoice  FieldType = "choice"  // One of the Options.
	FieldChoices FieldType = "choices" // Several of the Options.
)

// InputField is a field of a form.
type InputField struct {
	Name        string    `json:"name"` // Unique within the form.
	Label       string    `json:"label"`
	Description string    `json:"description,omitempty"`
	Type        FieldType `json:"type"`
	Required    bool      `json:"required,omitempty"`
	Default     any       `json:"default,omitempty"` // A string, number, boolean or list of strings; nil without one.

	Format    string   `json:"format,omitempty"` // Of a string: email, uri, date or date-time; "" for any.
	MinLength int      `json:"min_length,omitempty"`
	MaxLength int      `json:"max_length,omitempty"` // In characters; 0 for maxInputText.
	Pattern   string   `json:"pattern,omitempty"`    // A valid regular expression that a string must match; "" for any.
	Minimum   *float64 `json:"minimum,omitempty"`
	Maximum   *float64 `json:"maximum,omitempty"`

	Options  []InputOption `json:"options,omitempty"`
	MinItems int           `json:"min_items,omitempty"` // Of choices.
	MaxItems int           `json:"max_items,omitempty"` // 0 for all Options.
}

// InputOption is a value that a choice may have.
type InputOption struct {
	Label string `json:"label"`
	Value string `json:"value"`
}

// InputAction is the kind of an InputResponse, in the terms of MCP.
type InputAction string

// The actions.
const (
	InputAccept  InputAction = "accept"
	InputDecline InputAction = "decline"
	InputCancel  InputAction = "cancel" // Closes the forms without a choice.
)

// InputResponse is the person's response to an InputRequest.
type InputResponse struct {
	Action InputAction               `json:"action"`
	Values map[string]map[string]any `json:"values,omitempty"` // By form and field; only with InputAccept.
}

// Limits of values.
const (
	maxInputText   = 4_000   // Characters.
	maxSafeInteger = 1 << 53 // Further integers have no exact JSON number.
)

// Check validates a response. The error has the code fault.Invalid and names each invalid field as
// input.values.FORM.FIELD.
func (r InputRequest) Check(response InputResponse) error {
	switch response.Action {
	case InputAccept:
	case InputDecline, InputCancel:
		if len(response.Values) > 0 {
			return fault.InvalidField("input.values", "値を送れるのは、送信するときだけです。")
		}
		return nil
	default:
		return fault.InvalidField("input.action", "accept、decline、cancel のいずれかを指定してください。")
	}
	var wrong []fault.FieldError
	fail := func(path, message string) {
		wrong = append(wrong, fault.FieldError{Field: "input.values." + path, Message: message})
	}
	for id := range response.Values {
		if !slices.ContainsFunc(r.Forms, func(f InputForm) bool { return f.ID == id }) {
			return fault.InvalidField("input.values", "このフォームはありません。")
		}
	}
	for _, form := range r.Forms {
		values := maps.Clone(response.Values[form.ID])
		for _, field := range form.Fields {
			if message := field.check(values[field.Name]); message != "" {
				fail(form.ID+"."+field.Name, message)
			}
			delete(values, field.Name)
		}
		if len(values) > 0 {
			fail(form.ID, "フォームにない項目があります。")
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	err := fault.Errorf(fault.Invalid, "入力内容を確認してください。")
	err.Fields = wrong
	return err
}

// Accepts reports whether a value is valid in the field.
func (f InputField) Accepts(value any) bool { return f.check(value) == "" }

// check returns the error of a value in Japanese, or "". nil is a missing value.
func (f InputField) check(value any) string {
	if value == nil {
		if f.Required {
			return "入力してください。"
		}
		return ""
	}
	switch value := value.(type) {
	case string:
		switch f.Type {
		case FieldString:
			return f.checkText(value)
		case FieldChoice:
			return f.checkChoices([]any{value})
		}
	case []any:
		if f.Type == FieldChoices {
			return f.checkChoices(value)
		}
	case float64:
		if f.Type == FieldInteger || f.Type == FieldNumber {
			return f.checkNumber(value)
		}
	case bool:
		if f.Type == FieldBoolean {
			return ""
		}
	}
	return "値の型が正しくありません。"
}

// checkChoices checks one or several choices. The limits of one choice are 0.
func (f InputField) checkChoices(values []any) string {
	for i, value := range values {
		offered := slices.ContainsFunc(f.Options, func(o InputOption) bool { return o.Value == value })
		if !offered || slices.Contains(values[:i], value) {
			return "選択肢から選択してください。"
		}
	}
	switch {
	case len(values) < f.MinItems:
		return fmt.Sprintf("%d個以上選択してください。", f.MinItems)
	case f.MaxItems > 0 && len(values) > f.MaxItems:
		return fmt.Sprintf("選択できるのは%d個までです（現在%d個）。", f.MaxItems, len(values))
	}
	return ""
}

func (f InputField) checkText(text string) string {
	limit := maxInputText
	if f.MaxLength > 0 {
		limit = min(limit, f.MaxLength)
	}
	n := utf8.RuneCountInString(text)
	switch {
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\n\r\t", r) }):
		return "使えない制御文字が含まれています。"
	case n == 0 && f.Required:
		return "入力してください。"
	case n > limit:
		return fmt.Sprintf("%d文字以内で入力してください（現在%d文字）。", limit, n)
	case n < f.MinLength:
		return fmt.Sprintf("%d文字以上で入力してください。", f.MinLength)
	}
	switch f.Format {
	case "email":
		if address, err := mail.ParseAddress(text); err != nil || address.Address != text {
			return "メールアドレスを入力してください。"
		}
	case "uri":
		if u, err := url.Parse(text); err != nil || !u.IsAbs() {
			return "URLを入力してください。"
		}
	case "date":
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			return "日付を入力してください（例 2026-12-01）。"
		}
	case "date-time":
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			return "日時を入力してください（例 2026-12-01T09:00:00+09:00）。"
		}
	}
	if pattern, err := regexp.Compile(f.Pattern); err == nil && !pattern.MatchString(text) {
		return "サーバーが指定した形式に合いません。項目の説明を確認してください。"
	}
	return ""
}

func (f InputField) checkNumber(n float64) string {
	switch {
	case f.Type == FieldInteger && (n != math.Trunc(n) || math.Abs(n) > maxSafeInteger):
		return "整数を入力してください。"
	case f.Minimum != nil && n < *f.Minimum:
		return decimal(*f.Minimum) + "以上の数を入力してください。"
	case f.Maximum != nil && n > *f.Maximum:
		return decimal(*f.Maximum) + "以下の数を入力してください。"
	}
	return ""
}

// decimal returns a number without an exponent.
func decimal(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
