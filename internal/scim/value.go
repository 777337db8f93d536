package scim

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

// Limits of a resource.
const (
	maxText       = 2_000     // Characters of an attribute.
	maxAttributes = 32 * 1024 // Bytes of the attributes of a user, as JSON.
	maxValues     = 50        // Values of an attribute of a user.
	maxShown      = 60        // Characters of a client's text in an error.
)

// ignored are attributes that clients send although only the server sets them.
var ignored = []string{"id", "meta", "groups"}

func isIgnored(name string) bool {
	return slices.ContainsFunc(ignored, func(s string) bool { return strings.EqualFold(s, name) })
}

// canonical returns the attributes of a resource that a client has sent, with the names of the schemas, typed values and
// without empty ones. Attributes that only the server sets are left out. It refuses unknown attributes.
func (t resourceType) canonical(raw map[string]any) (map[string]any, error) {
	resource := make(map[string]any, len(raw))
	for name, value := range raw {
		if strings.EqualFold(name, "schemas") {
			if err := t.checkSchemas(value); err != nil {
				return nil, err
			}
			continue
		}
		if isIgnored(name) {
			continue
		}
		if extension, ok := t.extension(name); ok {
			values, ok := value.(map[string]any)
			if !ok {
				return nil, fault.Errorf(InvalidSyntax, "%s には、属性の組（オブジェクト）を指定してください。", name)
			}
			extended := make(map[string]any)
			if err := assignAll(extended, extension.Attributes, values); err != nil {
				return nil, err
			}
			set(resource, extension.ID, extended)
			continue
		}
		if err := assignAll(resource, t.attributes(), map[string]any{name: value}); err != nil {
			return nil, err
		}
	}
	return resource, nil
}

// entraSchemas begins the names of schemas that Entra ID adds to those of groups. It sends no attributes of them.
const entraSchemas = "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/"

// checkSchemas refuses unknown schemas.
func (t resourceType) checkSchemas(value any) error {
	urns, ok := value.([]any)
	if !ok {
		return fault.Errorf(InvalidSyntax, "schemas には、URNの配列を指定してください。")
	}
	for _, urn := range urns {
		name, _ := urn.(string)
		if strings.HasPrefix(name, entraSchemas) {
			continue
		}
		if _, _, known := t.resolve(name); !known || name == "" {
			return fault.Errorf(InvalidSyntax, "schemas に、対応していないスキーマ %q があります。", shown(name))
		}
	}
	return nil
}

// assignAll sets attributes to the values of a client. It ignores unknown attributes without a value, such as the empty
// list of roles that Entra ID sends with every new user.
func assignAll(target map[string]any, attributes []*attribute, values map[string]any) error {
	for name, value := range values {
		a := find(attributes, name)
		if a == nil && empty(value) {
			continue
		}
		if a == nil {
			return fault.Errorf(InvalidSyntax, "属性 %q には対応していません。IDプロバイダーの属性マッピングから削除してください。", shown(name))
		}
		typed, err := a.value(value)
		if err != nil {
			return err
		}
		set(target, a.Name, typed)
	}
	return nil
}

// set sets an attribute, or deletes it for an empty value.
func set(target map[string]any, name string, value any) {
	if empty(value) {
		delete(target, name)
	} else {
		target[name] = value
	}
}

// empty reports whether a value means that an attribute has no value.
func empty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// value returns the typed value of an attribute, or nil for an empty one. Entra ID sends booleans as text, and single
// values as lists of one record.
func (a *attribute) value(raw any) (any, error) {
	if a.Mutability == readOnly || a.Mutability == writeOnly || empty(raw) {
		return nil, nil
	}
	if !a.Multi {
		return a.single(raw)
	}
	elements, ok := raw.([]any)
	if !ok {
		elements = []any{raw}
	}
	if len(elements) > maxValues {
		return nil, fault.Errorf(InvalidValue, "%s に指定できる値は%d件までです。", a.Name, maxValues)
	}
	typed := make([]any, 0, len(elements))
	primaries := 0
	for _, element := range elements {
		value, err := a.single(element)
		if err != nil {
			return nil, err
		}
		if empty(value) {
			continue
		}
		if isPrimary(value) {
			primaries++
		}
		typed = append(typed, value)
	}
	if primaries > 1 {
		return nil, fault.Errorf(InvalidValue, "%s で primary を true にできる値は1件だけです。", a.Name)
	}
	return typed, nil
}

func isPrimary(value any) bool {
	record, _ := value.(map[string]any)
	primary, _ := record["primary"].(bool)
	return primary
}

// single returns one typed value of an attribute.
func (a *attribute) single(raw any) (any, error) {
	if elements, ok := raw.([]any); ok && len(elements) == 1 {
		raw = elements[0]
	}
	record, isRecord := raw.(map[string]any)
	if a.Type == typeComplex {
		if !isRecord {
			record = map[string]any{"value": raw} // A manager, or the members of a group, as ids.
		}
		typed := make(map[string]any, len(record))
		return typed, assignAll(typed, a.Sub, record)
	}
	if value, ok := record["value"]; ok {
		raw = value
	}
	switch v := raw.(type) {
	case nil:
		return nil, nil
	case bool:
		if a.Type == typeBoolean {
			return v, nil
		}
	case string:
		if a.Type == typeBoolean {
			switch strings.ToLower(v) {
			case "true", "false":
				return strings.EqualFold(v, "true"), nil
			}
			break
		}
		return v, checkText(a.Name, v)
	}
	want := "文字列"
	if a.Type == typeBoolean {
		want = "true または false"
	}
	return nil, fault.Errorf(InvalidValue, "%s には、%sを指定してください。", a.Name, want)
}

// checkText refuses a text that cannot be stored.
func checkText(name, value string) error {
	switch {
	case utf8.RuneCountInString(value) > maxText:
		return fault.Errorf(InvalidValue, "%s は%d文字以内で指定してください。", name, maxText)
	case strings.ContainsRune(value, 0) || !utf8.ValidString(value):
		return fault.Errorf(InvalidValue, "%s に使えない文字が含まれています。", name)
	}
	return nil
}

// checkSize refuses attributes that are too large to be stored.
func checkSize(attributes map[string]any) error {
	encoded, err := json.Marshal(attributes)
	if err == nil && len(encoded) > maxAttributes {
		return fault.Errorf(InvalidValue, "属性の合計が大きすぎます（%dキロバイトまで）。", maxAttributes/1024)
	}
	return err
}

// clone returns a deep copy of a value.
func clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		copied := maps.Clone(v)
		for name, element := range copied {
			copied[name] = clone(element)
		}
		return copied
	case []any:
		copied := slices.Clone(v)
		for i, element := range copied {
			copied[i] = clone(element)
		}
		return copied
	}
	return value
}

// shown returns a short form of a client's text for an error.
func shown(text string) string { return runes.Truncate(text, maxShown) }

// timestamp returns a time in the form of SCIM.
func timestamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }
