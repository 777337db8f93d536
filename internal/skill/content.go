package skill

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
)

// Content is the editable content of a skill, and the content of a version. The JSON form is the stored form.
type Content struct {
	Name               string       `json:"name"`
	Description        string       `json:"description"`
	Icon               string       `json:"icon"` // The name of an icon of the app, or an emoji.
	CategoryID         uuid.UUID    `json:"category_id"`
	Kind               Kind         `json:"kind"`
	TaskType           TaskType     `json:"task_type"`
	FormFields         []FormField  `json:"form_fields"` // If not empty, people fill in a form.
	Suggestions        []string     `json:"suggestions"`
	Keywords           []string     `json:"keywords"`
	AcceptsDataSources bool         `json:"accepts_data_sources"`
	Prompt             string       `json:"prompt"`
	AnswerLength       AnswerLength `json:"answer_length"`
	Model              string       `json:"model"`
	Examples           []Example    `json:"examples"`
	DocumentIDs        []uuid.UUID  `json:"document_ids"` // Data sources used for every answer.
	Tools              []string     `json:"tools"`        // The names of tools that answers may call.
}

// skill returns the skill of a validated content.
func (c Content) skill() Skill {
	form := FormChat
	if len(c.FormFields) > 0 {
		form = FormForm
	}
	return Skill{
		CategoryID: c.CategoryID, Position: customPosition, Name: c.Name, Description: c.Description,
		IconPath: iconPath(c.Icon), Kind: c.Kind, TaskType: c.TaskType, FormType: form, FormFields: c.FormFields,
		Suggestions: c.Suggestions, Keywords: c.Keywords, Prompt: c.Prompt, AnswerLength: c.AnswerLength,
		AcceptsDataSources: c.AcceptsDataSources || slices.ContainsFunc(c.FormFields, isFile), Model: c.Model,
		Examples: c.Examples, Tools: c.Tools,
	}
}

// Skill returns the skill of a content, for the store.
func (c Content) Skill(id uuid.UUID) Skill {
	s := c.skill()
	s.ID = id
	return s
}

// ContentOf returns the content of a skill.
func ContentOf(s Skill) Content {
	documents := make([]uuid.UUID, len(s.Documents))
	for i, d := range s.Documents {
		documents[i] = d.ID
	}
	return Content{
		Name: s.Name, Description: s.Description, Icon: iconName(s.IconPath), CategoryID: s.CategoryID, Kind: s.Kind,
		TaskType: s.TaskType, FormFields: s.FormFields, Suggestions: s.Suggestions, Keywords: s.Keywords,
		AcceptsDataSources: s.AcceptsDataSources, Prompt: s.Prompt, AnswerLength: s.AnswerLength, Model: s.Model,
		Examples: s.Examples, DocumentIDs: documents, Tools: s.Tools,
	}
}

// customPosition is the position of skills created in the app: after the built-in and the imported ones, in the order
// of their creation.
const customPosition = 100_000

// tidied returns a content with trimmed texts, "\n" at line ends, and lists that are not nil.
func (c Content) tidied() Content {
	for _, text := range []*string{&c.Name, &c.Description, &c.Icon, &c.Prompt, &c.Model} {
		*text = strings.TrimSpace(normalizeNewlines(*text))
	}
	c.FormFields = slices.Clone(c.FormFields)
	for i := range c.FormFields {
		f := &c.FormFields[i]
		f.Label, f.Placeholder = strings.TrimSpace(f.Label), strings.TrimSpace(f.Placeholder)
		f.Options = trimmed(f.Options)
	}
	examples := make([]Example, len(c.Examples))
	for i, e := range c.Examples {
		examples[i] = Example{
			Question: strings.TrimSpace(normalizeNewlines(e.Question)),
			Answer:   strings.TrimSpace(normalizeNewlines(e.Answer)),
		}
	}
	c.Examples, c.Suggestions, c.Keywords = examples, trimmed(c.Suggestions), trimmed(c.Keywords)
	if c.FormFields == nil {
		c.FormFields = []FormField{}
	}
	c.DocumentIDs = append([]uuid.UUID{}, c.DocumentIDs...)
	c.Tools = append([]string{}, c.Tools...)
	return c
}

// trimmed trims the texts and drops empty ones.
func trimmed(list []string) []string {
	kept := make([]string, 0, len(list))
	for _, s := range list {
		if s = strings.TrimSpace(s); s != "" {
			kept = append(kept, s)
		}
	}
	return kept
}

// contentCheck collects the errors of a content by the fields of the API.
type contentCheck struct{ wrong []fault.FieldError }

func (c *contentCheck) fail(field, format string, args ...any) {
	c.wrong = append(c.wrong, fault.FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
}

// text validates a text with a display name and a maximum length. It refuses an empty text if the text is required.
func (c *contentCheck) text(field, name, value string, limit int, required bool) {
	n := utf8.RuneCountInString(value)
	switch {
	case !utf8.ValidString(value) || strings.ContainsFunc(value, forbiddenControl):
		c.fail(field, "%sに使えない文字が含まれています。", name)
	case required && runes.Blank(value):
		c.fail(field, "%sを入力してください。", name)
	case n > limit:
		c.fail(field, "%sは%d文字以内で入力してください（現在%d文字）。", name, limit, n)
	}
}

// line is text for a single-line text.
func (c *contentCheck) line(field, name, value string, limit int, required bool) {
	if strings.Contains(value, "\n") {
		c.fail(field, "%sには改行を入れられません。", name)
		return
	}
	c.text(field, name, value, limit, required)
}

// name is line for a name.
func (c *contentCheck) name(field, name, value string, limit int) {
	if !strings.Contains(value, "\n") && strings.ContainsFunc(value, runes.NotInName) {
		c.fail(field, "%sに使えない文字が含まれています。", name)
		return
	}
	c.line(field, name, value, limit, true)
}

// count refuses lists that are too long.
func (c *contentCheck) count(field, name string, n, limit int) {
	if n > limit {
		c.fail(field, "%sは%d件までです。", name, limit)
	}
}

// err returns the collected errors as one error, or nil.
func (c *contentCheck) err() error {
	if len(c.wrong) == 0 {
		return nil
	}
	return &fault.Error{Code: fault.Invalid, Detail: "入力内容を確認してください。", Fields: c.wrong}
}

// check refuses a tidied content that a screen cannot show or a prompt cannot contain. Skill.validate accepts every
// content that check accepts.
func (c Content) check() error {
	var w contentCheck
	w.name("name", "名前", c.Name, maxName)
	w.text("description", "説明", strings.ReplaceAll(c.Description, "\n", ""), maxDescription, true)
	if strings.Count(c.Description, "\n") > 1 || slices.Contains(strings.Split(c.Description, "\n"), "") &&
		c.Description != "" {
		w.fail("description", "説明は2行までで入力してください。")
	}
	if !knownIcon(c.Icon) {
		w.fail("icon", "アイコンを選ぶか、絵文字を一つ入力してください。")
	}
	if !slices.Contains(importKinds(), c.Kind) {
		w.fail("kind", "指定できない値です。")
	}
	if c.TaskType != "" && (c.TaskType != TaskDocumentQA && c.TaskType != TaskSummarization || !c.AcceptsDataSources) {
		w.fail("task_type", "ファイルを追加できるスキルでのみ指定できます。")
	}
	w.text("prompt", "プロンプト", c.Prompt, maxPrompt, true)
	if Neutralize(c.Prompt) != c.Prompt {
		w.fail("prompt", "プロンプトに <text>、<field>、<value>、<example> は使えません。別の表記にしてください。")
	}
	if unknown := unknownVariables(c.Prompt, c.FormFields); len(unknown) > 0 {
		w.fail("prompt", "%sにあたる入力項目がありません。入力項目を追加するか、表記を直してください。",
			"「{{"+strings.Join(unknown, "}}」「{{")+"}}」")
	}
	if !slices.Contains(answerLengths(), c.AnswerLength) {
		w.fail("answer_length", "指定できない値です。")
	}
	w.line("model", "モデル", c.Model, maxModel, false)
	c.checkLists(&w)
	checkFields(&w, c.FormFields)
	return w.err()
}

// checkLists validates the lists of a content, except for the fields of the form.
func (c Content) checkLists(w *contentCheck) {
	if len(c.FormFields) > 0 && len(c.Suggestions) > 0 {
		w.fail("suggestions", "入力項目のあるスキルには、質問の例を付けられません。")
	}
	w.count("suggestions", "質問の例", len(c.Suggestions), maxSuggestions)
	for i, s := range c.Suggestions {
		w.line(fmt.Sprintf("suggestions[%d]", i), "質問の例", s, maxSuggestion, true)
	}
	w.count("keywords", "検索用の言葉", len(c.Keywords), maxKeywords)
	for i, s := range c.Keywords {
		w.line(fmt.Sprintf("keywords[%d]", i), "検索用の言葉", s, maxKeyword, true)
	}
	w.count("examples", "回答の見本", len(c.Examples), maxExamples)
	for i, e := range c.Examples {
		w.text(fmt.Sprintf("examples[%d].question", i), "質問", e.Question, maxExample, true)
		w.text(fmt.Sprintf("examples[%d].answer", i), "回答", e.Answer, maxExample, true)
	}
	w.count("document_ids", "ファイル", len(c.DocumentIDs), MaxDocuments)
	for i, id := range c.DocumentIDs {
		if slices.Contains(c.DocumentIDs[:i], id) {
			w.fail(fmt.Sprintf("document_ids[%d]", i), "同じファイルが二つあります。")
		}
	}
	if len(c.Tools) > 0 && c.Kind == KindProofreading {
		w.fail("tools", "文章校正のスキルでは、ツールを使えません。")
	}
	w.count("tools", "ツール", len(c.Tools), maxTools)
	for i, name := range c.Tools {
		if !slices.Contains(tool.Names(), name) && !tool.IsServerName(name) || slices.Contains(c.Tools[:i], name) {
			w.fail(fmt.Sprintf("tools[%d]", i), "指定できない値です。")
		}
	}
}

// checkFields validates the fields of a form.
func checkFields(w *contentCheck, fields []FormField) {
	w.count("form_fields", "入力項目", len(fields), maxFields)
	names, labels := make(map[string]bool), make(map[string]bool)
	for i, f := range fields {
		at := fmt.Sprintf("form_fields[%d].", i)
		if !fieldName().MatchString(f.Name) || names[f.Name] {
			w.fail(at+"name", "英小文字で始まる、ほかと重ならない名前を指定してください。")
		}
		if labels[f.Label] && f.Label != "" {
			w.fail(at+"label", "同じ名前の入力項目があります。")
		}
		names[f.Name], labels[f.Label] = true, true
		w.line(at+"label", "項目名", f.Label, maxLabel, true)
		if strings.ContainsAny(f.Label, "{}") {
			w.fail(at+"label", "項目名に { と } は使えません。")
		}
		w.text(at+"placeholder", "入力例", f.Placeholder, maxPlaceholder, false)
		if f.MaxLength < 0 || f.MaxLength > maxFieldLength {
			w.fail(at+"max_length", "文字数の上限は%d以下で指定してください。", maxFieldLength)
		}
		switch {
		case !slices.Contains(fieldTypes(), f.Type):
			w.fail(at+"type", "指定できない値です。")
		case f.Type != FieldSelect && len(f.Options) > 0:
			w.fail(at+"options", "選択肢は「選択」の項目にだけ付けられます。")
		case f.Type == FieldSelect && (len(f.Options) < 2 || len(f.Options) > maxOptions):
			w.fail(at+"options", "選択肢は2件以上%d件以内で入力してください。", maxOptions)
		}
		for _, o := range f.Options {
			w.line(at+"options", "選択肢", o, maxOption, true)
		}
	}
}

func fieldName() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`) }

func fieldTypes() []FieldType {
	return []FieldType{FieldText, FieldTextarea, FieldSelect, FieldNumber, FieldDate, FieldFile}
}

func answerLengths() []AnswerLength {
	return []AnswerLength{"", AnswerShort, answerStandard, AnswerLong}
}

// emojiFolder is the path at which the app's origin serves emoji as icons, named by their code points: 1f4ca.svg.
const emojiFolder = "/icons/emoji/"

// iconPath returns the path of an icon or an emoji.
func iconPath(icon string) string {
	if slices.Contains(icons(), icon) {
		return iconFolder + icon + iconSuffix
	}
	var points []string
	for _, r := range icon {
		points = append(points, fmt.Sprintf("%x", r))
	}
	return emojiFolder + strings.Join(points, "-") + iconSuffix
}

// iconName is the reverse of iconPath.
func iconName(path string) string {
	if strings.HasPrefix(path, emojiFolder) {
		return EmojiAt(path)
	}
	return strings.TrimSuffix(strings.TrimPrefix(path, iconFolder), iconSuffix)
}

// EmojiAt returns the emoji at the path of an icon, or "" for another path.
func EmojiAt(path string) string {
	name, inFolder := strings.CutPrefix(path, emojiFolder)
	name, isIcon := strings.CutSuffix(name, iconSuffix)
	if !inFolder || !isIcon {
		return ""
	}
	var b strings.Builder
	for part := range strings.SplitSeq(name, "-") {
		var r rune
		if n, err := fmt.Sscanf(part, "%x", &r); n != 1 || err != nil || fmt.Sprintf("%x", r) != part {
			return ""
		}
		b.WriteRune(r)
	}
	if !isEmoji(b.String()) {
		return ""
	}
	return b.String()
}

func knownIcon(icon string) bool { return slices.Contains(icons(), icon) || isEmoji(icon) }

// Code points that modify the emoji before them, or join two.
const (
	joiner     = '\u200d'
	variation  = '\ufe0f'
	keycap     = '\u20e3'
	maxEmoji   = 12 // Maximum number of code points of an emoji, with a margin.
	firstTag   = '\U000e0020'
	lastTag    = '\U000e007f'
	firstTone  = '\U0001f3fb'
	lastTone   = '\U0001f3ff'
	firstFlag  = '\U0001f1e6'
	lastFlag   = '\U0001f1ff'
	keycapBase = "0123456789#*"
)

// isEmoji reports whether a text is a single emoji: one symbol with its modifiers, several joined symbols, a flag of
// two letters, or a keycap.
func isEmoji(s string) bool {
	runes := []rune(s)
	if len(runes) == 0 || len(runes) > maxEmoji {
		return false
	}
	if runes[len(runes)-1] == keycap {
		return strings.ContainsRune(keycapBase, runes[0]) && (len(runes) == 2 || len(runes) == 3 && runes[1] == variation)
	}
	symbols, flags, joined := 0, 0, false
	for _, r := range runes {
		switch {
		case r == joiner:
			if symbols == 0 || joined {
				return false
			}
			joined = true
			continue
		case r == variation, r >= firstTag && r <= lastTag, r >= firstTone && r <= lastTone:
			if symbols == 0 {
				return false
			}
		case r >= firstFlag && r <= lastFlag:
			flags++
			symbols = 1
		case unicode.Is(unicode.So, r), unicode.Is(unicode.Sm, r) && r > unicode.MaxLatin1, r == '‼', r == '⁉', r == '〰':
			if !joined {
				symbols++
			}
		default:
			return false
		}
		joined = false
	}
	return !joined && symbols == 1 && (flags == 0 || flags == 2)
}
