// Package chat owns conversations: threads, messages, the prompt, and the generation of an answer from the question to
// the stored text.
//
// It imports fault, answer, proofread, stream, llm, skill, datasource and picture, and identity and org for the names of
// people whom a share concerns. It does not know the database or HTTP: it declares the Store that it needs. Nor does it
// know how passages are found: it declares the Grounder that finds what an answer is based on.
package chat

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/answer"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/picture"
	"github.com/tsumugi-ai/tsumugi/internal/proofread"
)

// Limits of the input.
const (
	MaxContent = 32_000 // Characters of a question.
	MaxTitle   = 100    // Characters of a title that a person enters.
	MaxComment = 2_000  // Characters of the comment in a feedback.

	MaxInstructions = 32_000 // Characters of the instructions for a thread.
)

// Owner identifies the person whose threads are meant. Only that person can see them.
type Owner struct {
	OrganizationID uuid.UUID
	UserID         uuid.UUID
}

// Thread is a conversation with one skill.
type Thread struct {
	ID            uuid.UUID
	SkillID       uuid.UUID
	SkillName     string
	SkillIconPath string
	Title         string // Entered, generated, or the beginning of the first question; "" before that.
	CreatedAt     time.Time
	UpdatedAt     time.Time // When it was last changed.
	TouchedAt     time.Time // Orders the list.
	Running       bool      // An answer is being generated.
	Pinned        bool      // Stands at the top of the list.
	Archived      bool      // Listed apart from the others, until a new question is asked in it.

	// ExpiresAt is when a temporary thread is deleted. Temporary threads are not listed or searched. Nil for a thread
	// that is kept.
	ExpiresAt *time.Time

	Sources []datasource.Source // Its attached data sources, in the order in which they were attached.
}

// ThreadEdit is a change to a thread. Nil fields stay as they are.
type ThreadEdit struct {
	Archived *bool
	Pinned   *bool
	Title    *string
	Leaf     *uuid.UUID // Any message of the branch to show: see ThreadStore.ListMessages.
}

// Role says who wrote a message.
type Role string

// The roles of messages.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Status is the progress of a message.
type Status string

// The states of a message. A question is always StatusSuccess.
const (
	StatusPending Status = "pending" // Accepted, waiting for a place.
	StatusRunning Status = "running" // Being generated.
	StatusSuccess Status = "success"
	StatusFailed  Status = "failed"
)

// Terminal reports whether the status is final.
func (s Status) Terminal() bool { return s == StatusSuccess || s == StatusFailed }

// FinishReason says why an answer ended.
type FinishReason string

// The finish reasons of the API.
const (
	FinishStop    FinishReason = "stop"    // The model completed the answer.
	FinishLength  FinishReason = "length"  // The model's limit was reached.
	FinishStopped FinishReason = "stopped" // The owner stopped it.
	FinishError   FinishReason = "error"   // It failed; the text so far is kept.
)

// Citation names a passage of a document, or a page of the web, that an answer cites, or that was consulted for it. Its
// JSON form is that of the store and of the stream. It has no ids if the document belongs to the skill and not to the
// person who asked.
type Citation struct {
	Index            int       `json:"index"`
	ChunkEmbeddingID uuid.UUID `json:"chunk_embedding_id,omitzero"` // Of a page: made of its URL.
	DataSourceID     uuid.UUID `json:"data_source_id,omitzero"`     // Not of a page.
	Filename         string    `json:"filename"`                    // Of a page: its title.
	Page             int       `json:"page"`
	Locator          string    `json:"locator,omitempty"` // Where in the document, for a reader.
	Score            float64   `json:"score"`
	Quote            string    `json:"quote"`

	// Of a page of the web:
	URL         string `json:"url,omitempty"` // http or https.
	Site        string `json:"site,omitempty"`
	PublishedOn string `json:"published_on,omitempty"` // As 2006-01-02.

	Support answer.Support `json:"support,omitempty"` // Empty if the answer does not cite it.

	// WeakOccurrences says which occurrences of [Index] in the answer's text are unsupported: it counts all of them,
	// from 0. Empty with a weak Support: all are.
	WeakOccurrences []int `json:"weak_occurrences,omitempty"`

	// Deleted: the file was deleted since. Filename is DeletedFile then, and nothing else is known of it.
	Deleted bool `json:"deleted,omitempty"`
}

// DeletedFile is the filename in citations of a deleted file.
const DeletedFile = "削除されました"

// StepKind names what the assistant does before it writes the answer.
type StepKind string

// The kinds of steps.
const (
	StepRetrieval StepKind = "retrieval"
	StepWebSearch StepKind = "web_search"
	StepSummarize StepKind = "summarize"
	StepProofread StepKind = "proofread"

	// StepSkillDocuments is a notice: the answer lacks documents of its skill. Its status is StatusFailed.
	StepSkillDocuments StepKind = "skill_documents"
)

// Step is something that the assistant does before it writes the answer.
type Step struct {
	Kind   StepKind `json:"kind"`
	Status Status   `json:"status"`
	Detail string   `json:"detail,omitempty"` // For a person to read.
	Done   int      `json:"done,omitempty"`   // How much of Total is done.
	Total  int      `json:"total,omitempty"`  // 0 if it cannot be counted.
}

// Failure says why an answer failed, as a text for the user.
type Failure struct {
	Code      string
	Detail    string
	Retryable bool // Asking again may succeed.
}

// Rating is the owner's verdict on an answer.
type Rating string

// The ratings.
const (
	RatingGood Rating = "good"
	RatingBad  Rating = "bad"
)

// Feedback is the owner's rating of an answer, with a comment.
type Feedback struct {
	Rating   Rating
	Comment  string
	WithText bool // Administrators may see the question, the answer, and whose they are.
}

// Message is a question or an answer. The messages of a thread form a tree: a question follows an answer or begins the
// thread, and an answer follows its question. A path from a first question to a leaf is a branch.
type Message struct {
	ID       uuid.UUID
	ThreadID uuid.UUID
	ParentID *uuid.UUID  // The message that it follows; nil for a question that begins the thread.
	Siblings []uuid.UUID // The messages with the same parent, oldest first, including this one.
	Role     Role
	Content  string            // Markdown. "" while an answer is being generated: its text is in the stream hub.
	Prompt   string            // What the model reads, if that differs from the content.
	Form     map[string]string // Of a question asked through a form: its values. Nil otherwise.

	// DataSourceIDs are, of a question, the data sources that it is answered from. Some may have been deleted since.
	DataSourceIDs []uuid.UUID

	Params *Params // Of a question asked by a program; nil for none.

	Pictures     []picture.Picture // Of a question, in the order in which they were added.
	PictureCount int               // Of a question in a share, which does not have its pictures.

	Status       Status
	FinishReason FinishReason // "" while it is being generated, and for questions.
	Failure      *Failure     // Set if and only if the status is StatusFailed.
	Model        string       // The provider's name of the model that wrote the answer, "" for none.

	// Of an answer: the model that writes it, or that wrote it, what that was called, and whether it was told to think.
	ModelID   string
	ModelName string
	Thinking  *bool

	Reasoning     string // The model's reasoning before the answer, "" for none. It is not sent to the model again.
	ReasoningTime time.Duration

	InputTokens  int
	OutputTokens int
	Citations    []Citation
	Steps        []Step
	Proofread    *proofread.Result    // Of an answer that is a list of changes to a text; nil otherwise.
	Decisions    *proofread.Decisions // About its changes, nil if nothing was decided.
	Feedback     *Feedback            // The owner's, nil for none.
	Run          int                  // Of an answer: the current run of its generation. 0 for questions.
	ThreadTitle  Title                // Set by FindMessage and ListMessages, and in an Exchange that existed before.
	CreatedAt    time.Time
	CompletedAt  *time.Time // Nil while it is being generated.
}

// Writer returns the id of the model that writes or wrote an answer, and what it was called; "" if no model was asked.
func (m Message) Writer() (id, name string) {
	if m.ModelName == "" {
		return "", ""
	}
	return m.ModelID, m.ModelName
}

// Cited returns the citations that the answer makes, without those that were only consulted.
func (m Message) Cited() []Citation {
	return slices.DeleteFunc(slices.Clone(m.Citations), func(c Citation) bool { return c.Support == "" })
}

// Notice returns the detail of the step StepSkillDocuments, "" if there is none. Surfaces without steps show it with the
// text.
func (m Message) Notice() string {
	i := slices.IndexFunc(m.Steps, func(s Step) bool { return s.Kind == StepSkillDocuments })
	if i < 0 {
		return ""
	}
	return m.Steps[i].Detail
}

// Exchange is a question and its answer.
type Exchange struct {
	Question Message
	Answer   Message
}
