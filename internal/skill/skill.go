// Package skill owns the assistants that a person can choose: skills (with a name, an icon and a prompt), the
// categories that group them, and each person's favourites. It renders a skill's prompt, validates and renders its
// form, and embeds the built-in skills that every organization has.
//
// With a Library, people create their own skills, and administrators those of their organization.
//
// The package imports fault, identity and org (for the actors and the audit log), runes, tool (for the names of tools),
// uuidv7, the standard library, uuid for ids and yaml for skills in files. It does not use the database, HTTP or the model.
package skill

import (
	"time"

	"github.com/google/uuid"
)

// Kind is the kind of a skill on which other parts of the program depend: the facility it needs (web search), the way
// its answer is checked, or whether it works without a language model. Empty means a plain conversation.
type Kind string

// The kinds of the product specification. importKinds has those of the other built-in skills.
const (
	KindWebSearch                Kind = "web_search"
	KindProofreading             Kind = "proofreading_v2"
	KindEasyExplain              Kind = "chrome_extension_easy_explain"
	KindEasyExplanationFollowUp  Kind = "chrome_extension_easy_explanation_follow_up"
	KindPageWholeSummary         Kind = "chrome_extension_page_whole_summary"
	KindPageWholeSummaryFollowUp Kind = "chrome_extension_page_whole_summary_follow_up"
)

// TaskType is the way in which a skill uses the thread's data sources. Empty means that it does not use them.
type TaskType string

// The task types of the product specification.
const (
	TaskDocumentQA    TaskType = "document_qa"   // Retrieves passages, answers from them and cites them.
	TaskSummarization TaskType = "summarization" // Reads whole documents: map, then reduce.
)

// FormType is the kind of input: free text or a form.
type FormType string

// The form types of the product specification.
const (
	FormChat FormType = "chat"
	FormForm FormType = "form"
)

// FieldType is the type of one field of a form.
type FieldType string

// The field types of the API. All values are strings: a number in decimal digits, a date as 2026-04-01, a file as the
// id of an uploaded data source.
const (
	FieldText     FieldType = "text"
	FieldTextarea FieldType = "textarea"
	FieldSelect   FieldType = "select"
	FieldNumber   FieldType = "number"
	FieldDate     FieldType = "date"
	FieldFile     FieldType = "file"
)

// AnswerLength is the desired length of answers. Empty means that only the prompt determines it.
type AnswerLength string

// The lengths of answers.
const (
	AnswerShort    AnswerLength = "short"
	answerStandard AnswerLength = "standard"
	AnswerLong     AnswerLength = "long"
)

// Example is a question with the desired answer.
type Example struct {
	Question string `json:"question" yaml:"question"`
	Answer   string `json:"answer" yaml:"answer"`
}

// Document is a data source on which a skill's answers are based. It belongs to its owner. Users of the skill see its
// content only in answers. A document of an organization's skill remains when its owner deletes it or leaves.
type Document struct {
	ID      uuid.UUID
	OwnerID uuid.UUID // uuid.Nil if only skills use it.
}

// Category is a group of skills. Categories are shown in the order of Position.
type Category struct {
	ID       uuid.UUID
	Name     string
	Position int
	Made     bool // Created by the organization in the app.
}

// FormField is one field of a form. Its JSON form is that of the API and of the store.
type FormField struct {
	Name  string    `json:"name" yaml:"name"`   // Key of the value; a to z, digits and underscore.
	Label string    `json:"label" yaml:"label"` // Shown to people.
	Type  FieldType `json:"type" yaml:"type"`   // Determines input and validation.
	// Whether a blank value is refused. A required select starts with its first option.
	Required    bool     `json:"required" yaml:"required"`
	Options     []string `json:"options" yaml:"options"`         // The choices of a select, otherwise empty.
	Placeholder string   `json:"placeholder" yaml:"placeholder"` // An example, shown while the field is empty.
	// In characters (code points); 0 means the default of the type.
	MaxLength int `json:"max_length" yaml:"max_length"`
}

// Skill is an assistant that a person can choose.
type Skill struct {
	ID                 uuid.UUID
	OrganizationID     *uuid.UUID // Nil for a built-in skill, which every organization has.
	Key                string     // Set for an imported skill.
	CategoryID         uuid.UUID
	Position           int // Within its category.
	Name               string
	Description        string // Two short lines, separated by a line break.
	IconPath           string // Path under the app's origin, for example /icons/skills/chat.svg.
	Kind               Kind
	TaskType           TaskType
	FormType           FormType
	FormFields         []FormField // Empty for a chat skill.
	Suggestions        []string    // Suggested questions; empty for a form skill.
	Keywords           []string    // Search words that occur in neither name nor description.
	AcceptsDataSources bool
	Prompt             string // The system prompt. Not part of the API's record, and not read for lists.
	CreatedAt          time.Time
	AnswerLength       AnswerLength
	Model              string     // The desired model, or "" for the default.
	Examples           []Example  // Part of the prompt.
	Documents          []Document // Read for every answer. Not part of the API's record, and not read for lists.
	Tools              []string   // The names of the tools that its answers may call. Not read for lists.

	MissingDocuments int // Number of documents deleted since the skill was last saved. Not read for lists.

	OwnerID *uuid.UUID // For a person's own skill; otherwise nil.
	Made    bool       // Created in the app.
	// Withdrawn means that the user for whom the skill was read may no longer use it. The skill is found because they
	// have a thread with it.
	Withdrawn bool
	Archived  bool // Like Withdrawn, but for everybody.

	// IsFavorite refers to the user for whom the skill was read. It is not a column of the skill.
	IsFavorite bool
	// Unavailable is the reason, in Japanese, why the skill cannot be used on this server, or "". The Service sets it
	// from its Config; the store neither reads nor writes it.
	Unavailable string
}

// Favorite is a skill that a user has starred.
type Favorite struct {
	SkillID  uuid.UUID
	Name     string
	IconPath string
}
