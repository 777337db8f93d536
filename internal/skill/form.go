package skill

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Default limits of a value, in characters.
const (
	defaultMaxText     = 200
	defaultMaxTextarea = 20000
	defaultMaxNumber   = 12
)

// maxUnknownFields limits the number of unknown fields in an error, and maxFieldName the characters of each, because
// both are untrusted.
const (
	maxUnknownFields = 10
	maxFieldName     = 40
)

// textField is the name of the field that contains the text to work on. In the prompt the text is between <text> and
// </text>.
const textField = "text"

// Question is a filled-in form as a question, in one form for people and one for the model.
type Question struct {
	Display string // Markdown.
	Prompt  string // The same values, with texts between tags that the values cannot close.
	Subject string // The topic: the first text, else the first short value, else the label of a file.
}

// CheckForm validates the values of a form by field name. The length of texts is in Unicode code points, numbers may
// have full-width digits, and the value of a file is the id of a data source. The error has the code fault.Invalid and
// contains each invalid field as form.NAME, including unknown fields.
func (s Skill) CheckForm(values map[string]string) error {
	known := make(map[string]bool, len(s.FormFields))
	var wrong []fault.FieldError
	for _, field := range s.FormFields {
		known[field.Name] = true
		if message := field.check(values[field.Name]); message != "" {
			wrong = append(wrong, fault.FieldError{Field: "form." + field.Name, Message: message})
		}
	}
	unknown := 0
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if known[name] {
			continue
		}
		if unknown++; unknown > maxUnknownFields {
			break
		}
		wrong = append(wrong, fault.FieldError{Field: "form." + printable(name), Message: "この項目はスキルにありません。"})
	}
	if wrong == nil && s.Kind == KindProofreading {
		wrong = s.checkOriginal(values)
	}
	if len(wrong) == 0 {
		return nil
	}
	err := fault.Errorf(fault.Invalid, "入力内容を確認してください。")
	err.Fields = wrong
	return err
}

// checkOriginal returns errors if the values of a form have no text to proofread, or two.
func (s Skill) checkOriginal(values map[string]string) []fault.FieldError {
	text, files := strings.TrimSpace(s.FormText(values)) != "", s.FormFiles(values)
	var takes []FormField // The fields for a text or a file.
	for _, field := range s.FormFields {
		if field.Type == FieldTextarea || field.Type == FieldFile {
			takes = append(takes, field)
		}
	}
	if len(takes) == 0 || text != (len(files) > 0) {
		return nil
	}
	message := "校正する文章を入力するか、ファイルを選択してください。"
	if text {
		message = "文章とファイルは、どちらか一つだけを指定してください。"
	}
	return []fault.FieldError{{Field: "form." + takes[0].Name, Message: message}}
}

// check returns the error of a value in Japanese, or "".
func (f FormField) check(value string) string {
	if !utf8.ValidString(value) {
		return fmt.Sprintf("%sに読み取れない文字が含まれています。", f.Label)
	}
	if strings.TrimSpace(value) == "" {
		if f.Required {
			return f.missing()
		}
		return ""
	}
	if strings.ContainsFunc(value, forbiddenControl) {
		return fmt.Sprintf("%sに使えない制御文字が含まれています。", f.Label)
	}
	if f.Type != FieldTextarea && strings.ContainsAny(value, "\r\n\u2028\u2029") {
		return fmt.Sprintf("%sには改行を入れられません。", f.Label)
	}
	switch f.Type {
	case FieldSelect:
		if !slices.Contains(f.Options, value) {
			return fmt.Sprintf("%sを選択肢から選択してください。", f.Label)
		}
		return ""
	case FieldFile:
		if _, err := uuid.Parse(value); err != nil || len(value) != 36 {
			return fmt.Sprintf("%sのファイルを選び直してください。", f.Label)
		}
		return ""
	case FieldDate:
		if _, err := time.Parse(time.DateOnly, value); err != nil {
			return fmt.Sprintf("%sの日付を選び直してください。", f.Label)
		}
		return ""
	}
	if n, limit := utf8.RuneCountInString(normalizeNewlines(value)), f.limit(); n > limit {
		return fmt.Sprintf("%sは%d文字以内で入力してください（現在%d文字）。", f.Label, limit, n)
	}
	if f.Type == FieldNumber && !isNumber(halfWidth(value)) {
		return fmt.Sprintf("%sは数字で入力してください。", f.Label)
	}
	return ""
}

// missing returns the message for a blank required field.
func (f FormField) missing() string {
	switch f.Type {
	case FieldSelect, FieldDate:
		return fmt.Sprintf("%sを選択してください。", f.Label)
	case FieldFile:
		return fmt.Sprintf("%sのファイルを選択してください。", f.Label)
	default:
		return fmt.Sprintf("%sを入力してください。", f.Label)
	}
}

// limit returns the maximum length of the field's value, in characters.
func (f FormField) limit() int {
	switch {
	case f.MaxLength > 0:
		return f.MaxLength
	case f.Type == FieldTextarea:
		return defaultMaxTextarea
	case f.Type == FieldNumber:
		return defaultMaxNumber
	default:
		return defaultMaxText
	}
}

// RenderForm renders values as a question. CheckForm must have accepted them. Blank fields are omitted. The order is
// that of the fields, with short values before texts, so that a model reads the instructions before the material.
func (s Skill) RenderForm(values map[string]string) Question {
	var shown, asked, shownTexts, askedTexts []string
	var firstText, firstShort, firstFile string
	for _, field := range s.FormFields {
		value := strings.TrimSpace(normalizeNewlines(values[field.Name]))
		if value == "" {
			continue
		}
		switch field.Type {
		case FieldTextarea:
			firstText = cmp.Or(firstText, value)
			shownTexts = append(shownTexts, fmt.Sprintf("**%s**\n\n%s", field.Label, value))
			askedTexts = append(askedTexts, field.block(value))
		case FieldFile:
			firstFile = cmp.Or(firstFile, field.Label)
			shown = append(shown, fmt.Sprintf("**%s** 添付ファイル", field.Label))
			asked = append(asked, fmt.Sprintf("%s: 添付ファイル", field.Label))
		default:
			value = field.short(value)
			firstShort = cmp.Or(firstShort, value)
			shown = append(shown, fmt.Sprintf("**%s** %s", field.Label, value))
			asked = append(asked, fmt.Sprintf("%s: %s", field.Label, Neutralize(value)))
		}
	}
	// In Markdown, two spaces at the end of a line cause a hard line break.
	return Question{
		Display: joinBlocks(strings.Join(shown, "  \n"), shownTexts),
		Prompt:  joinBlocks(strings.Join(asked, "\n"), askedTexts),
		Subject: cmp.Or(firstText, firstShort, firstFile),
	}
}

// FormText returns the main text of a form: the value of the field named text, else of the first textarea.
func (s Skill) FormText(values map[string]string) string {
	text := ""
	for _, field := range s.FormFields {
		if field.Type == FieldTextarea && (text == "" || field.Name == textField) {
			text = values[field.Name]
		}
	}
	return text
}

// FormSettings renders the short values of a form for the model like RenderForm, without its texts and files.
func (s Skill) FormSettings(values map[string]string) string {
	settings := make(map[string]string, len(values))
	for _, field := range s.FormFields {
		if field.Type != FieldTextarea && field.Type != FieldFile {
			settings[field.Name] = values[field.Name]
		}
	}
	return s.RenderForm(settings).Prompt
}

// FormFiles returns the data sources in the skill's file fields, in the order of the fields.
func (s Skill) FormFiles(values map[string]string) []uuid.UUID {
	var ids []uuid.UUID
	for _, field := range s.FormFields {
		if field.Type != FieldFile {
			continue
		}
		if id, err := uuid.Parse(values[field.Name]); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// block returns a text between tags, for the model.
func (f FormField) block(value string) string {
	value = Neutralize(value)
	if f.Name == textField {
		return fmt.Sprintf("%s:\n<%s>\n%s\n</%s>", f.Label, tagText, value, tagText)
	}
	return fmt.Sprintf("%s:\n<%s>\n%s\n</%s>", f.Label, tagField, value, tagField)
}

// joinBlocks joins the lines and the texts with an empty line between them.
func joinBlocks(lines string, texts []string) string {
	if lines != "" {
		texts = append([]string{lines}, texts...)
	}
	return strings.Join(texts, "\n\n")
}

// normalizeNewlines converts all line ends to "\n".
func normalizeNewlines(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

// forbiddenControl reports whether r is a control character that is not allowed in texts. NUL in particular cannot be
// stored.
func forbiddenControl(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t'
}

// halfWidth converts full-width digits, signs and points to ASCII. Japanese keyboards produce such characters.
func halfWidth(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '０' && r <= '９':
			return r - '０' + '0'
		case r == '．':
			return '.'
		case r == '－' || r == '−':
			return '-'
		default:
			return r
		}
	}, strings.TrimSpace(s))
}

// isNumber reports whether s is an optional minus sign, digits, and optionally a point and digits.
func isNumber(s string) bool {
	whole, fraction, point := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	return isDigits(whole) && (!point || isDigits(fraction))
}

// isDigits reports whether s is one or more ASCII digits.
func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// printable shortens an untrusted field name and removes characters that could garble a log or a screen.
func printable(name string) string {
	var b strings.Builder
	n := 0
	for _, r := range name {
		if n++; n > maxFieldName {
			b.WriteRune('…')
			break
		}
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			r = '?'
		}
		b.WriteRune(r)
	}
	return b.String()
}
