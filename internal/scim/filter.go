package scim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	filter "github.com/scim2/filter-parser/v2"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

const (
	maxDepth  = 10    // Nested parentheses and brackets of a filter.
	maxFilter = 4_096 // Bytes. The time for parsing grows faster than the length.
)

// parseFilter parses a filter for resources of the type. It refuses unknown attributes.
func (t resourceType) parseFilter(source string) (filter.Expression, error) {
	if len(source) > maxFilter {
		return nil, fault.Errorf(InvalidFilter, "フィルターが長すぎます（%d文字まで）。", maxFilter)
	}
	source, err := normalize(source)
	if err != nil {
		return nil, err
	}
	expression, err := filter.ParseFilter([]byte(source))
	if err != nil {
		return nil, fault.Wrap(err, InvalidFilter, "フィルターの形式が正しくありません。")
	}
	return expression, t.check(expression)
}

// normalize checks the depth of a filter. Entra ID sends expressions of the form emails[type eq "work"].value eq "x", which
// the grammar of RFC 7644 lacks. normalize moves their comparison into the brackets.
func normalize(source string) (string, error) {
	var out strings.Builder
	depth := 0
	for i := 0; i < len(source); i++ {
		c := source[i]
		switch c {
		case '"':
			end := endOfText(source, i)
			out.WriteString(source[i:end])
			i = end - 1
			continue
		case '(', '[':
			if depth++; depth > maxDepth {
				return "", fault.Errorf(InvalidFilter, "フィルターの入れ子が深すぎます（%d段まで）。", maxDepth)
			}
		case ')', ']':
			depth--
		}
		if c == ']' && strings.HasPrefix(source[i+1:], ".") {
			end := endOfComparison(source, i+2)
			out.WriteString(" and " + source[i+2:end])
			i = end - 1
		}
		out.WriteByte(c)
	}
	return out.String(), nil
}

// endOfText returns the position after a quoted text that begins at start.
func endOfText(source string, start int) int {
	for i := start + 1; i < len(source); i++ {
		switch source[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(source)
}

// endOfComparison returns the position after an attribute, an operator and a value that begin at start.
func endOfComparison(source string, start int) int {
	end := start
	for words := 0; words < 3 && end < len(source); words++ {
		for end < len(source) && source[end] == ' ' {
			end++
		}
		if end < len(source) && source[end] == '"' {
			return endOfText(source, end)
		}
		word := end
		for end < len(source) && !strings.ContainsRune(` ()[]"`, rune(source[end])) {
			end++
		}
		if words == 1 && strings.EqualFold(source[word:end], string(filter.PR)) {
			break
		}
	}
	return end
}

// check refuses unknown attributes in an expression.
func (t resourceType) check(expression filter.Expression) error {
	return checkEach(expression, func(leaf filter.Expression) error {
		switch e := leaf.(type) {
		case *filter.AttributeExpression:
			_, _, err := t.attribute(e.AttributePath)
			return err
		case *filter.ValuePath:
			a, _, err := t.attribute(e.AttributePath)
			if err != nil {
				return err
			}
			return checkSub(a, e.ValueFilter)
		}
		return errFilter(leaf)
	})
}

// checkSub refuses attributes in the filter of a value that the attribute a does not have.
func checkSub(a *attribute, expression filter.Expression) error {
	return checkEach(expression, func(leaf filter.Expression) error {
		e, ok := leaf.(*filter.AttributeExpression)
		switch {
		case !ok:
			return errFilter(leaf)
		case find(a.Sub, e.AttributePath.AttributeName) == nil || e.AttributePath.SubAttribute != nil:
			return unknownInFilter(a.Name + "." + e.AttributePath.String())
		}
		return nil
	})
}

// checkEach returns the first error of check for the parts of an expression that are not logical expressions.
func checkEach(expression filter.Expression, check func(leaf filter.Expression) error) error {
	switch e := expression.(type) {
	case *filter.LogicalExpression:
		if err := checkEach(e.Left, check); err != nil {
			return err
		}
		return checkEach(e.Right, check)
	case *filter.NotExpression:
		return checkEach(e.Expression, check)
	}
	return check(expression)
}

func errFilter(expression any) error {
	return fault.Errorf(InvalidFilter, "フィルター %q には対応していません。", shown(toText(expression)))
}

func unknownInFilter(name string) error {
	return fault.Errorf(InvalidFilter, "フィルターの属性 %q には対応していません。", shown(name))
}

// attribute returns the attribute of a path in a filter, or its subattribute.
func (t resourceType) attribute(p filter.AttributePath) (a *attribute, extension string, err error) {
	attributes, extension, ok := t.resolve(p.URI())
	if ok {
		a = find(attributes, p.AttributeName)
	}
	if a != nil && p.SubAttribute != nil {
		if find(a.Sub, *p.SubAttribute) == nil {
			a = nil
		}
	}
	if a == nil || a.Returned == never {
		return nil, "", unknownInFilter(p.String())
	}
	return a, extension, nil
}

// evaluate returns the value of an expression. matches evaluates the parts that are not logical expressions.
func evaluate(expression filter.Expression, matches func(leaf filter.Expression) bool) bool {
	switch e := expression.(type) {
	case *filter.LogicalExpression:
		left := evaluate(e.Left, matches)
		if e.Operator == filter.AND {
			return left && evaluate(e.Right, matches)
		}
		return left || evaluate(e.Right, matches)
	case *filter.NotExpression:
		return !evaluate(e.Expression, matches)
	}
	return matches(expression)
}

// matches reports whether a resource matches an expression of parseFilter.
func (t resourceType) matches(expression filter.Expression, resource map[string]any) bool {
	return evaluate(expression, func(leaf filter.Expression) bool {
		switch e := leaf.(type) {
		case *filter.ValuePath:
			a, extension, err := t.attribute(e.AttributePath)
			return err == nil && slices.ContainsFunc(elements(read(resource, a, extension)), func(element any) bool {
				record, _ := element.(map[string]any)
				return a.matches(e.ValueFilter, record)
			})
		case *filter.AttributeExpression:
			a, extension, err := t.attribute(e.AttributePath)
			if err != nil {
				return false
			}
			found := slices.Clone(elements(read(resource, a, extension)))
			compared := find(a.Sub, subOr(e.AttributePath, "value"))
			if compared == nil {
				return a.compare(e, found)
			}
			for i, element := range found {
				record, _ := element.(map[string]any)
				found[i] = record[compared.Name]
			}
			return compared.compare(e, found)
		}
		return false
	})
}

func subOr(p filter.AttributePath, otherwise string) string {
	if p.SubAttribute != nil {
		return *p.SubAttribute
	}
	return otherwise
}

// matches reports whether one value of a complex attribute matches an expression.
func (a *attribute) matches(expression filter.Expression, record map[string]any) bool {
	return evaluate(expression, func(leaf filter.Expression) bool {
		e, ok := leaf.(*filter.AttributeExpression)
		if !ok {
			return false
		}
		sub := find(a.Sub, e.AttributePath.AttributeName)
		return sub != nil && sub.compare(e, []any{record[sub.Name]})
	})
}

// read returns the value of an attribute of a resource or of its extension.
func read(resource map[string]any, a *attribute, extension string) any {
	if extension != "" {
		resource, _ = resource[extension].(map[string]any)
	}
	return resource[a.Name]
}

// elements returns the values of an attribute.
func elements(value any) []any {
	switch v := value.(type) {
	case nil:
		return nil
	case []any:
		return v
	case []string:
		all := make([]any, len(v))
		for i, text := range v {
			all[i] = text
		}
		return all
	}
	return []any{value}
}

// compare reports whether one of the values satisfies a comparison (RFC 7644, section 3.4.2.2).
func (a *attribute) compare(e *filter.AttributeExpression, found []any) bool {
	operator := filter.CompareOperator(strings.ToLower(string(e.Operator)))
	wanted := unescape(e.CompareValue)
	present, equal := false, false
	for _, value := range found {
		if empty(value) {
			continue
		}
		present = true
		switch operator {
		case filter.EQ, filter.NE:
			equal = equal || a.equals(value, wanted)
		case filter.PR:
		default:
			if a.ordered(operator, value, wanted) {
				return true
			}
		}
	}
	if e.CompareValue == nil {
		equal = !present
	}
	switch operator {
	case filter.PR:
		return present
	case filter.EQ:
		return equal
	case filter.NE:
		return !equal
	}
	return false
}

// equals compares a value with one of a filter. Entra ID writes booleans as text.
func (a *attribute) equals(value, wanted any) bool {
	if b, ok := value.(bool); ok {
		return strings.EqualFold(toText(wanted), toText(b))
	}
	return a.fold(toText(value)) == a.fold(toText(wanted))
}

// ordered compares a value with one of a filter by another operator than eq and ne.
func (a *attribute) ordered(operator filter.CompareOperator, value, wanted any) bool {
	if a.Type == typeBoolean {
		return false
	}
	left, right := a.fold(toText(value)), a.fold(toText(wanted))
	switch operator {
	case filter.CO:
		return strings.Contains(left, right)
	case filter.SW:
		return strings.HasPrefix(left, right)
	case filter.EW:
		return strings.HasSuffix(left, right)
	}
	order := strings.Compare(left, right)
	if a.Type == typeDateTime {
		from, err := time.Parse(time.RFC3339, toText(value))
		to, wrong := time.Parse(time.RFC3339, toText(wanted))
		if err != nil || wrong != nil {
			return false
		}
		order = from.Compare(to)
	}
	switch operator {
	case filter.GT:
		return order > 0
	case filter.GE:
		return order >= 0
	case filter.LT:
		return order < 0
	case filter.LE:
		return order <= 0
	}
	return false
}

// fold returns a text for comparisons.
func (a *attribute) fold(text string) string {
	if a.CaseExact {
		return text
	}
	return strings.ToLower(text)
}

// unescape returns the value of a comparison. The parser leaves the escapes of JSON in texts.
func unescape(value any) any {
	text, ok := value.(string)
	if !ok || !strings.Contains(text, `\`) {
		return value
	}
	var plain string
	if json.Unmarshal([]byte(`"`+text+`"`), &plain) != nil {
		return value
	}
	return plain
}

// toText returns the text of a value.
func toText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case fmt.Stringer:
		return v.String()
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(encoded)
}
