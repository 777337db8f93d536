package skill

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/tool"
)

// Limits of a skill's texts, in characters. The layouts of cards, chips and prompts rely on them.
const (
	maxName         = 20
	maxCategoryName = 12
	maxDescription  = 48 // Total of both lines.
	maxSuggestion   = 60
	maxLabel        = 20
	maxPlaceholder  = 200
	maxPrompt       = 60_000
	maxOption       = 60
	maxKeyword      = 20
	maxModel        = 100
	maxExample      = 4000
	maxFieldLength  = 60_000
)

// maxPosition limits the absolute value of a position.
const maxPosition = 1_000_000

// Limits of a skill's lists.
const (
	maxSuggestions = 6
	maxTools       = 32
	maxFields      = 20
	maxOptions     = 50
	maxKeywords    = 30
	maxExamples    = 5

	// MaxDocuments is the maximum number of data sources of a skill.
	MaxDocuments = 10
)

// definition is the schema of a skill in a file. Unknown keys are refused.
type definition struct {
	Category           string       `yaml:"category"`
	Position           int          `yaml:"position,omitempty"`
	Name               string       `yaml:"name"`
	Description        string       `yaml:"description"`
	Icon               string       `yaml:"icon"`
	Kind               Kind         `yaml:"kind,omitempty"`
	TaskType           TaskType     `yaml:"task_type,omitempty"`
	FormType           FormType     `yaml:"form_type"`
	AcceptsDataSources bool         `yaml:"accepts_data_sources,omitempty"`
	Keywords           []string     `yaml:"keywords,omitempty,flow"`
	Suggestions        []string     `yaml:"suggestions,omitempty"`
	FormFields         []FormField  `yaml:"form_fields,omitempty"`
	AnswerLength       AnswerLength `yaml:"answer_length,omitempty"`
	Model              string       `yaml:"model,omitempty"`
	Examples           []Example    `yaml:"examples,omitempty"`
	Tools              []string     `yaml:"tools,omitempty,flow"`
	Prompt             string       `yaml:"prompt"`
}

// Paths of the app's icons.
const (
	iconFolder = "/icons/skills/"
	iconSuffix = ".svg"
)

// icons returns the names of the app's icons for skills.
func icons() []string {
	return []string{
		"chat", "code", "default", "document-qa", "glossary", "ideas", "interview", "job-posting", "mail", "minutes",
		"page", "proofreading", "proposal", "rephrase", "report", "sparring", "spreadsheet", "summary", "translation",
		"web-search",
	}
}

// skill validates a definition and returns its skill.
func (d definition) skill(id, category uuid.UUID) (Skill, error) {
	// Lists are never null in the database or the API.
	fields := append([]FormField{}, d.FormFields...)
	for i := range fields {
		fields[i].Options = append([]string{}, fields[i].Options...)
	}
	s := Skill{
		ID: id, CategoryID: category, Position: d.Position,
		Name: d.Name, Description: strings.TrimSpace(d.Description), IconPath: iconPath(d.Icon),
		Kind: d.Kind, TaskType: d.TaskType, FormType: d.FormType,
		FormFields: fields, Suggestions: append([]string{}, d.Suggestions...),
		Keywords:           append([]string{}, d.Keywords...),
		AcceptsDataSources: d.AcceptsDataSources || slices.ContainsFunc(fields, isFile),
		Prompt:             strings.TrimSpace(d.Prompt), AnswerLength: d.AnswerLength, Model: d.Model,
		Examples: append([]Example{}, d.Examples...), Tools: append([]string{}, d.Tools...),
	}
	if !knownIcon(d.Icon) {
		return s, fmt.Errorf("there is no icon %q, and it is no emoji; there are %s", d.Icon, strings.Join(icons(), ", "))
	}
	return s, s.validate()
}

// validate refuses a skill that a screen cannot show or a prompt cannot contain.
func (s Skill) validate() error {
	if !fits(s.Name, maxName) {
		return fmt.Errorf("name must have 1 to %d characters", maxName)
	}
	if !placed(s.Position) {
		return fmt.Errorf("position must be from -%d to %d", maxPosition, maxPosition)
	}
	if err := s.validatePrompt(); err != nil {
		return err
	}
	lines := strings.Split(s.Description, "\n")
	if len(lines) > 2 || slices.Contains(lines, "") || !fits(strings.Join(lines, ""), maxDescription) {
		return fmt.Errorf("description must be one or two lines of 1 to %d characters together", maxDescription)
	}
	switch s.TaskType {
	case "", TaskDocumentQA, TaskSummarization:
	default:
		return fmt.Errorf("unknown task type %q", s.TaskType)
	}
	if s.TaskType != "" && !s.AcceptsDataSources {
		return fmt.Errorf("the task type %s works on data sources: accepts_data_sources must be true", s.TaskType)
	}
	switch s.FormType {
	case FormChat:
		if len(s.FormFields) != 0 || len(s.Suggestions) > maxSuggestions {
			return fmt.Errorf("a chat skill has at most %d suggestions and no fields", maxSuggestions)
		}
	case FormForm:
		if len(s.FormFields) == 0 || len(s.FormFields) > maxFields || len(s.Suggestions) != 0 {
			return fmt.Errorf("a form skill has 1 to %d fields and no suggestions", maxFields)
		}
	default:
		return fmt.Errorf("unknown form type %q", s.FormType)
	}
	for _, suggestion := range s.Suggestions {
		if !fits(suggestion, maxSuggestion) {
			return fmt.Errorf("suggestion %q must have 1 to %d characters", suggestion, maxSuggestion)
		}
	}
	for i, name := range s.Tools {
		if !slices.Contains(tool.Names(), name) && !tool.IsServerName(name) || slices.Contains(s.Tools[:i], name) || s.Kind == KindProofreading {
			return fmt.Errorf("tools[%d]: there is no tool %q for this skill; there are %s, and those of tool servers", i, name,
				strings.Join(tool.Names(), ", "))
		}
	}
	if len(s.Keywords) > maxKeywords || slices.ContainsFunc(s.Keywords,
		func(word string) bool { return !fits(word, maxKeyword) }) {
		return fmt.Errorf("there are at most %d keywords, of 1 to %d characters", maxKeywords, maxKeyword)
	}
	return validateFields(s.FormFields)
}

// validatePrompt refuses a prompt that is ambiguous for a model.
func (s Skill) validatePrompt() error {
	if !fits(s.Prompt, maxPrompt) || Neutralize(s.Prompt) != s.Prompt {
		return fmt.Errorf("prompt must have 1 to %d characters and none of the reserved tags", maxPrompt)
	}
	if unknown := unknownVariables(s.Prompt, s.FormFields); len(unknown) > 0 {
		return fmt.Errorf("prompt: no field has the label or name {{%s}}", strings.Join(unknown, "}}, {{"))
	}
	if !slices.Contains(answerLengths(), s.AnswerLength) {
		return fmt.Errorf("unknown answer length %q", s.AnswerLength)
	}
	if utf8.RuneCountInString(s.Model) > maxModel {
		return fmt.Errorf("model must have at most %d characters", maxModel)
	}
	if len(s.Examples) > maxExamples || slices.ContainsFunc(s.Examples,
		func(e Example) bool { return !fits(e.Question, maxExample) || !fits(e.Answer, maxExample) }) {
		return fmt.Errorf("there are at most %d examples, of 1 to %d characters each", maxExamples, maxExample)
	}
	return nil
}

// validateFields refuses fields that are ambiguous or cannot be filled in.
func validateFields(fields []FormField) error {
	name := fieldName()
	seen := make(map[string]bool, len(fields))
	for _, f := range fields {
		if !name.MatchString(f.Name) || seen[f.Name] {
			return fmt.Errorf("field %q: the name must be a word of its own", f.Name)
		}
		seen[f.Name] = true
		if !fits(f.Label, maxLabel) || utf8.RuneCountInString(f.Placeholder) > maxPlaceholder || f.MaxLength < 0 {
			return fmt.Errorf("field %s: label, placeholder or length out of bounds", f.Name)
		}
		switch f.Type {
		case FieldText, FieldTextarea, FieldNumber, FieldDate, FieldFile:
			if len(f.Options) != 0 {
				return fmt.Errorf("field %s: only a select has options", f.Name)
			}
		case FieldSelect:
			if len(f.Options) < 2 || len(f.Options) > maxOptions ||
				slices.ContainsFunc(f.Options, func(o string) bool { return !fits(o, maxOption) }) {
				return fmt.Errorf("field %s: a select has 2 to %d options of 1 to %d characters", f.Name, maxOptions,
					maxOption)
			}
		default:
			return fmt.Errorf("field %s: unknown type %q", f.Name, f.Type)
		}
	}
	return nil
}

func isFile(f FormField) bool { return f.Type == FieldFile }

// placed reports whether a position is within its limits.
func placed(position int) bool { return -maxPosition <= position && position <= maxPosition }

// fits reports whether s has 1 to limit characters.
func fits(s string, limit int) bool {
	n := utf8.RuneCountInString(s)
	return n >= 1 && n <= limit && strings.TrimSpace(s) == s
}
