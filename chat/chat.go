// Package chat owns conversations: threads, messages, the prompt, and the generation of an answer from the question to
// the stored text.
//
// It imports fault, stream, llm, skill, datasource, and of identity and org who somebody is, for what concerns others:
// shares. It knows no database and no HTTP: it declares the Store that it needs.
package chat

import (
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
)

// Limits of the input.
const (
	MaxContent = 32_000 // Characters of a question.
	MaxTitle   = 100    // Characters of a title that a person gives.
	MaxComment = 2_000  // Characters of a feedback's comment.
)

// Owner names the person whose threads are meant. Nobody else sees them.
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
	Title         string // Given, made, or the beginning of the first question; "" before that.
	CreatedAt     time.Time
	UpdatedAt     time.Time // When it was last written to.
	TouchedAt     time.Time // Orders the list.
	Running       bool      // An answer is being written.
	Pinned        bool      // Stands at the top of the list.
	Archived      bool      // Stands in a list of its own, until somebody asks in it again.

	// ExpiresAt is when a temporary thread is deleted: one that is in no list and not searched. Nil for one that is
	// kept.
	ExpiresAt *time.Time

	Sources []datasource.Source // What is attached to it, in the order in which it came.
}

// ThreadEdit is what changes of a thread; nil for what stays.
type ThreadEdit struct {
	Archived *bool
	Pinned   *bool
	Title    *string
	Leaf     *uuid.UUID // Any message of the branch that is looked at: see ThreadStore.ListMessages.
}

// Role says whose words a message is.
type Role string

// The roles of messages.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Status is how far a message is.
type Status string

// The states of a message. A question is always StatusSuccess.
const (
	StatusPending Status = "pending" // Accepted; it waits for its turn.
	StatusRunning Status = "running" // It is being written.
	StatusSuccess Status = "success"
	StatusFailed  Status = "failed"
)

// Terminal reports whether nothing more will come.
func (s Status) Terminal() bool { return s == StatusSuccess || s == StatusFailed }

// FinishReason says why an answer ended.
type FinishReason string

// The reasons of the contract.
const (
	FinishStop    FinishReason = "stop"    // The model was done.
	FinishLength  FinishReason = "length"  // The model's limit was reached.
	FinishStopped FinishReason = "stopped" // A person stopped it.
	FinishError   FinishReason = "error"   // It failed; what had come is kept.
)

// Citation says which passage of a document an answer rests on.
type Citation struct {
	Index            int       `json:"index"`
	ChunkEmbeddingID uuid.UUID `json:"chunk_embedding_id"`
	DataSourceID     uuid.UUID `json:"data_source_id"`
	Filename         string    `json:"filename"`
	Page             int       `json:"page"`
	Score            float64   `json:"score"`
	Quote            string    `json:"quote"`
}

// Step is something that the assistant does before it writes.
type Step struct {
	Kind   string `json:"kind"` // retrieval, web_search or summarize
	Status Status `json:"status"`
	Detail string `json:"detail,omitempty"`
}

// Failure says why an answer failed, in words for the person.
type Failure struct {
	Code      string
	Detail    string
	Retryable bool // Asking again may help.
}

// Rating is what a person thinks of an answer.
type Rating string

// The ratings.
const (
	RatingGood Rating = "good"
	RatingBad  Rating = "bad"
)

// Feedback is a person's rating of an answer.
type Feedback struct {
	Rating  Rating
	Comment string
}

// Message is a question or an answer. The messages of a thread are a tree: a question follows an answer, or begins the
// thread, and an answer follows its question. A way from a message that begins the thread to one that nothing follows
// is a branch.
type Message struct {
	ID           uuid.UUID
	ThreadID     uuid.UUID
	ParentID     *uuid.UUID  // The message that it follows; nil for a question that begins the thread.
	Siblings     []uuid.UUID // Its alternatives, which follow the same message, oldest first, with itself.
	Role         Role
	Content      string            // Markdown. "" while an answer is being written: its text is in the stream hub.
	Prompt       string            // What the model reads, where that is not the content.
	Form         map[string]string // Of a question that a form asked: its values. Nil for none.
	Status       Status
	FinishReason FinishReason // "" while it is being written, and for questions.
	Failure      *Failure     // Set if and only if the status is StatusFailed.
	Model        string

	Reasoning     string // What the model thought before its answer, "" for nothing. It is not told to the model again.
	ReasoningTime time.Duration

	InputTokens  int
	OutputTokens int
	Citations    []Citation
	Steps        []Step
	Feedback     *Feedback // Of the owner, nil for none.
	Run          int       // Of an answer: the run of its generation that is current. 0 for questions.
	ThreadTitle  Title     // Given or made. Set by FindMessage and ListMessages, and in an Exchange that was known.
	CreatedAt    time.Time
	CompletedAt  *time.Time // Nil while it is being written.
}

// Exchange is a question and its answer.
type Exchange struct {
	Question Message
	Answer   Message
}
