// Package chat owns conversations: threads, messages, the prompt, and the generation of an answer from the question to
// the stored text.
//
// It imports fault, answer, proofread, stream, llm, skill, datasource and picture. It imports identity and org for the
// names of people in shares. It does not use the database or HTTP: it declares the Store that it needs. It also
// declares the Grounder, which selects the sources of an answer.
package chat

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/answer"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/picture"
	"github.com/tsumugi-ai/tsumugi/internal/proofread"
	"github.com/tsumugi-ai/tsumugi/stream"
)

// Limits of the input.
const (
	MaxContent = 32_000 // Characters of a question.
	maxTitle   = 100    // Characters of a title that a person enters.
	maxComment = 2_000  // Characters of the comment in a feedback.

	maxInstructions = 32_000 // Characters of the instructions for a thread.

	MaxWaiting = 10 // Questions that wait in a shared thread.
)

// Thread is a conversation with one skill. A thread in a project is readable for members of the project only: a private
// one for its owner, a shared one for all of them.
type Thread struct {
	ID            uuid.UUID
	UserID        uuid.UUID // The owner.
	SkillID       uuid.UUID
	SkillName     string
	SkillIconPath string
	Title         string // Entered or generated, or the beginning of the first question; "" before that.
	CreatedAt     time.Time
	UpdatedAt     time.Time // Time of the last change.
	TouchedAt     time.Time // Orders the list.
	Running       bool      // An answer is being generated.
	Pinned        bool      // Shown at the top of the list.
	Archived      bool      // Listed separately until a new question is asked in it.

	// ExpiresAt is the time at which a temporary thread is deleted. Temporary threads are not listed or searched. Nil
	// for other threads.
	ExpiresAt *time.Time

	Sources []datasource.Source // The attached data sources in the order of attaching.

	Project *ThreadProject // Nil if the thread is in no project.
	Shared  bool           // All members of the project read and continue the thread.
}

// ThreadProject is the project of a thread, as far as the thread shows it.
type ThreadProject struct {
	ID        uuid.UUID
	Name      string
	Archived  bool   // Nothing can be asked in it.
	OwnerName string // The name of the thread's owner.
}

// MayAsk reports whether a reader of the thread may ask in it.
func (t Thread) MayAsk() bool { return t.Project == nil || !t.Project.Archived }

// readers returns the people who read the thread.
func (t Thread) readers(organizationID uuid.UUID) Readers {
	r := Readers{Owner: identity.Owner{OrganizationID: organizationID, UserID: t.UserID}}
	if t.Shared {
		r.ProjectID = &t.Project.ID
	}
	return r
}

// ThreadFilter selects threads for a list or a search. A search finds archived threads, too.
type ThreadFilter struct {
	Archived  bool
	ProjectID *uuid.UUID // The threads of a project that the reader may open. Nil for all threads of the reader.
	Shared    *bool      // Only shared threads, or only private ones. Nil for both.
}

// ThreadEdit is a change to a thread. Nil fields are not changed.
type ThreadEdit struct {
	Archived *bool
	Pinned   *bool
	Title    *string
	Leaf     *uuid.UUID // Any message of the branch to show: see ThreadStore.ListMessages.
}

// Role is the author of a message.
type Role string

// The roles of messages.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Status is the progress of a message.
type Status string

// The states of a message. A question is StatusSuccess, or StatusPending while it waits in a shared thread.
const (
	StatusPending Status = "pending" // Accepted, waiting for a slot or for the answers before it.
	StatusRunning Status = "running" // Being generated.
	StatusSuccess Status = "success"
	StatusFailed  Status = "failed"
)

// Terminal reports whether the status is final.
func (s Status) Terminal() bool { return s == StatusSuccess || s == StatusFailed }

// FinishReason is the reason for the end of an answer.
type FinishReason string

// The finish reasons of the API.
const (
	FinishStop    FinishReason = "stop"    // The model completed the answer.
	FinishLength  FinishReason = "length"  // The model's limit was reached.
	FinishStopped FinishReason = "stopped" // The owner stopped it.
	FinishError   FinishReason = "error"   // It failed; the text so far is kept.
)

// Citation is a passage of a document, or a page of the web, that an answer cites, or that was consulted for it. Its
// JSON form is that of the store and of the stream. It has no ids if the document belongs to the skill and not to the
// person who asked.
type Citation struct {
	Index            int       `json:"index"`
	ChunkEmbeddingID uuid.UUID `json:"chunk_embedding_id,omitzero"` // For a page: derived from its URL.
	DataSourceID     uuid.UUID `json:"data_source_id,omitzero"`     // Not set for a page.
	Filename         string    `json:"filename"`                    // For a page: its title.
	Page             int       `json:"page"`
	Locator          string    `json:"locator,omitempty"` // The location in the document, for people.
	Score            float64   `json:"score"`
	Quote            string    `json:"quote"`

	// Set for a page of the web:
	URL         string `json:"url,omitempty"` // http or https.
	Site        string `json:"site,omitempty"`
	PublishedOn string `json:"published_on,omitempty"` // In the form 2006-01-02.

	Support answer.Support `json:"support,omitempty"` // Empty if the answer does not cite it.

	// WeakOccurrences are the unsupported occurrences of [Index] in the answer's text, counted from 0 over all
	// occurrences. If it is empty and Support is weak, all are unsupported.
	WeakOccurrences []int `json:"weak_occurrences,omitempty"`

	// Deleted means that the file was deleted. Filename is then DeletedFile, and the other fields of the document are
	// empty.
	Deleted bool `json:"deleted,omitempty"`
}

// DeletedFile is the filename in citations of a deleted file.
const DeletedFile = "削除されました"

// HiddenFile is the filename in citations of a file that the reader may not open.
const HiddenFile = "閲覧できないファイル"

// HideCitations returns citations without the content of files that are not in readable.
func HideCitations(citations []Citation, readable map[uuid.UUID]bool) []Citation {
	shown := slices.Clone(citations)
	for i, c := range shown {
		if c.DataSourceID != uuid.Nil && !readable[c.DataSourceID] {
			shown[i] = Citation{
				Index: c.Index, Filename: HiddenFile, Support: c.Support, WeakOccurrences: c.WeakOccurrences,
			}
		}
	}
	return shown
}

// StepKind is the kind of an action of the assistant before the answer.
type StepKind string

// The kinds of steps.
const (
	StepRetrieval StepKind = "retrieval"
	StepWebSearch StepKind = "web_search"
	StepSummarize StepKind = "summarize"
	StepProofread StepKind = "proofread"

	// StepSkillDocuments is a notice: the answer lacks documents of its skill. Its status is StatusFailed.
	StepSkillDocuments StepKind = "skill_documents"

	// StepToolsRefused is a notice: the model cannot call the skill's tools. Its status is StatusFailed.
	StepToolsRefused StepKind = "tools_refused"
)

// isNotice reports whether the step is a notice that belongs to the answer.
func (s Step) isNotice() bool { return s.Kind == StepSkillDocuments || s.Kind == StepToolsRefused }

// Step is an action of the assistant before the answer.
type Step struct {
	Kind   StepKind `json:"kind"`
	Status Status   `json:"status"`
	Detail string   `json:"detail,omitempty"` // For people.
	Done   int      `json:"done,omitempty"`   // Finished part of Total.
	Total  int      `json:"total,omitempty"`  // 0 if it cannot be counted.
}

// Failure is the reason for a failed answer, as a text for the user.
type Failure struct {
	Code      string
	Detail    string
	Retryable bool // Whether a retry may succeed.
}

// Rating is the owner's rating of an answer.
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
	WithText bool // Administrators may see the question, the answer and the owner's name.
}

// Message is a question or an answer. The messages of a thread form a tree: a question follows an answer or begins the
// thread, and an answer follows its question. A path from a first question to a leaf is a branch.
type Message struct {
	ID       uuid.UUID
	ThreadID uuid.UUID
	ParentID *uuid.UUID  // The previous message; nil for a question that begins the thread.
	Siblings []uuid.UUID // The messages with the same parent, oldest first, including this one.
	Role     Role
	Content  string            // Markdown. "" while an answer is being generated: its text is in the stream hub.
	Prompt   string            // The text for the model, if it differs from the content.
	Form     map[string]string // For a question asked through a form: its values.

	// DataSourceIDs are the data sources of a question. Some may have been deleted since.
	DataSourceIDs []uuid.UUID

	Params *Params // For a question asked by a program; may be nil.

	Pictures     []picture.Picture // For a question, in the order of adding.
	PictureCount int               // For a question in a share, which does not contain its pictures.

	Status       Status
	FinishReason FinishReason // "" while it is being generated, and for questions.
	Failure      *Failure     // Set if and only if the status is StatusFailed.
	Model        string       // The provider's name of the model that wrote the answer, or "".

	// For an answer: the id of its model, the model's name at the time, and whether it was asked to think.
	ModelID   string
	ModelName string
	Thinking  *bool

	Reasoning     string // The model's reasoning before the answer, or "". It is not sent to the model again.
	ReasoningTime time.Duration

	InputTokens  int
	OutputTokens int
	Citations    []Citation
	Steps        []Step
	ToolCalls    []ToolCall           // Of a complete answer, in their order.
	Proofread    *proofread.Result    // For an answer that is a list of changes to a text; otherwise nil.
	Decisions    *proofread.Decisions // The owner's decisions on the changes; nil without a decision.
	Feedback     *Feedback            // The owner's feedback, or nil.
	Suggestions  []string             // Questions that may follow the answer; nil if none were generated.
	// AwaitsApproval means that the answer waits for a decision about a call. Its status is StatusRunning.
	AwaitsApproval bool
	Run            int             // For an answer: the current run of its generation. 0 for questions.
	Continued      []stream.Cursor // The ends of the texts of earlier runs that the run continues.
	// For a question in a shared thread: its author, and its place among the waiting ones, from 1; 0 if it does not wait.
	Author  *Author
	Waiting int

	SharedIn    *uuid.UUID // The project whose members read the thread; nil for a private thread.
	ThreadTitle Title      // Set by FindMessage and ListMessages, and in an Exchange that existed before.
	CreatedAt   time.Time
	CompletedAt *time.Time // Nil while it is being generated.
}

// Writer returns the id and the name of the model of an answer, or "" if no model was called.
func (m Message) Writer() (id, name string) {
	if m.ModelName == "" {
		return "", ""
	}
	return m.ModelID, m.ModelName
}

// Cited returns the citations in the answer, without sources that were only consulted.
func (m Message) Cited() []Citation {
	return slices.DeleteFunc(slices.Clone(m.Citations), func(c Citation) bool { return c.Support == "" })
}

// Notice returns the details of the notices of an answer, or "". Surfaces without steps show them with the text.
func (m Message) Notice() string {
	var details []string
	for _, step := range m.Steps {
		if step.isNotice() {
			details = append(details, step.Detail)
		}
	}
	return strings.Join(details, "\n\n")
}

// Author is the author of a question. Both fields are empty if that member was removed.
type Author struct {
	ID   uuid.UUID
	Name string
}

// Exchange is a question and its answer. A question that waits in a shared thread has no answer yet: the id of the
// answer is uuid.Nil.
type Exchange struct {
	Question Message
	Answer   Message
}

// Waits reports whether the question waits in a shared thread.
func (e Exchange) Waits() bool { return e.Question.Waiting > 0 }
