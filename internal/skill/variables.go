package skill

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// variable matches a variable of a prompt: {{会社名}}.
func variable() *regexp.Regexp {
	return regexp.MustCompile(`\{\{[ \t\x{3000}]*([^{}\n]*?)[ \t\x{3000}]*\}\}`)
}

// HasVariables reports whether the prompt has variables for values of the form.
func (s Skill) HasVariables() bool {
	return strings.Contains(s.Prompt, "{{") && variable().MatchString(s.Prompt)
}

// findField returns the field of a variable: by its label, else by its name.
func findField(fields []FormField, variable string) (FormField, bool) {
	for _, by := range []func(FormField) string{
		func(f FormField) string { return f.Label }, func(f FormField) string { return f.Name },
	} {
		if i := slices.IndexFunc(fields, func(f FormField) bool { return by(f) == variable }); i >= 0 {
			return fields[i], true
		}
	}
	return FormField{}, false
}

// unknownVariables returns the distinct variables of a prompt without a field.
func unknownVariables(prompt string, fields []FormField) []string {
	var unknown []string
	for _, found := range variable().FindAllStringSubmatch(prompt, -1) {
		name := printable(found[1])
		if _, known := findField(fields, found[1]); !known && !slices.Contains(unknown, name) &&
			len(unknown) < maxUnknownFields {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// fill replaces the variables of the prompt by the values of a form. Each value is between <value> and </value>, which
// it cannot close, and variables in it are not replaced. Long texts and files are not repeated here: the prompt refers
// to their place in the question.
func (s Skill) fill(values map[string]string) string {
	if !s.HasVariables() {
		return s.Prompt
	}
	return variable().ReplaceAllStringFunc(s.Prompt, func(place string) string {
		field, known := findField(s.FormFields, variable().FindStringSubmatch(place)[1])
		if !known {
			return place
		}
		return field.place(values[field.Name])
	})
}

// place returns the replacement for the variable of a field.
func (f FormField) place(value string) string {
	value = strings.TrimSpace(normalizeNewlines(value))
	switch {
	case value == "":
		return fmt.Sprintf("（%sは未入力）", f.Label)
	case f.Type == FieldTextarea:
		return fmt.Sprintf("（質問の「%s」の欄の文章）", f.Label)
	case f.Type == FieldFile:
		return fmt.Sprintf("（「%s」に添付された資料）", f.Label)
	}
	return fmt.Sprintf("<%s>%s</%s>", tagValue, Neutralize(f.short(value)), tagValue)
}

// short formats a single-line value for people and models.
func (f FormField) short(value string) string {
	value = strings.Join(strings.Fields(value), " ")
	switch f.Type {
	case FieldNumber:
		return halfWidth(value)
	case FieldDate:
		if day, err := time.Parse(time.DateOnly, value); err == nil {
			return day.Format("2006年1月2日")
		}
	}
	return value
}
