package channel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
)

// Surface is an application with conversations, such as Slack. An adapter implements it, and channeltest tests it. It
// is safe for concurrent use.
//
// Errors: *RateLimitError, ErrCannotAppend, ErrTooLong, ErrGone and ErrRevoked, also wrapped. The caller retries after
// any other error, because the effect of the call is unknown.
type Surface interface {
	Traits() Traits

	// Begin posts a message and returns its name. If the draft's State is not StateWriting, the message is complete:
	// neither Append nor Finish is called for it.
	Begin(ctx context.Context, to Target, d Draft) (Ref, error)
	// Append extends a message from the state from to d. Begin posted it less than Traits.AppendLifetime ago. After
	// ErrCannotAppend, the caller uses Replace.
	Append(ctx context.Context, to Target, ref Ref, from, d Draft) error
	// Replace sets a message to d, whatever its content is, and ends its stream. It is idempotent.
	Replace(ctx context.Context, to Target, ref Ref, d Draft) error
	// Finish ends the stream of a message in the state from with the final state d. It is idempotent. After
	// ErrCannotAppend, the caller uses Replace.
	Finish(ctx context.Context, to Target, ref Ref, from, d Draft) error
	// Find searches for a message whose name was not stored. Begin posted it in the thread after since for the same
	// AnswerID, Part and Approval.ID, with the Markdown of d or a prefix of it. Find ignores the messages in known.
	Find(ctx context.Context, to Target, since time.Time, known []Ref, d Draft) (Ref, bool, error)

	// Place returns the description of the target's channel.
	Place(ctx context.Context, to Target) (Place, error)
	// Open posts the question of a person who asked outside of a thread (with a command), and returns the thread that
	// it begins. A repeated call with the same event posts nothing, as far as the surface can detect it. The first call
	// was made after since.
	Open(ctx context.Context, to Target, since time.Time, event, question string) (thread string, err error)
	// Attach posts a text as a file.
	Attach(ctx context.Context, to Target, a Attachment) error
	// Notify shows a notice in the thread to Target.Person only.
	Notify(ctx context.Context, to Target, n Notice) error
	// Status shows that an answer is in progress, if the surface supports it. Begin clears the status.
	Status(ctx context.Context, to Target, text string) error

	// History returns the newest 50 messages of the thread before a message, or of the whole thread if before is "". The
	// oldest message is first. Messages of the assistant are omitted.
	History(ctx context.Context, to Target, before Ref) ([]Message, error)
	// Message returns a message of the thread, with the same omissions as IncomingEvent.Text.
	Message(ctx context.Context, to Target, ref Ref) (Message, error)
	// ResolveMentions returns a person's text with names instead of the ids of mentioned people. An id without a known
	// name is kept.
	ResolveMentions(ctx context.Context, to Target, text string) string
	// Download fetches a file of a message. The caller closes it. The content may end after datasource.MaxSize bytes.
	Download(ctx context.Context, to Target, f File) (io.ReadCloser, error)

	// ShowHome sets the home page of Target.Person.
	ShowHome(ctx context.Context, to Target, h Home) error
	// ShowPrompts shows prompts in a conversation opened by Target.Person.
	ShowPrompts(ctx context.Context, to Target, prompts []Prompt) error
	// ShowTitle names a conversation.
	ShowTitle(ctx context.Context, to Target, title string) error
}

// Traits are the abilities and limits of a surface.
type Traits struct {
	CanAppend  bool
	CanReplace bool // If false, an answer is posted when it is complete.

	MinInterval    time.Duration // Between two writes to one message.
	MaxCharacters  int           // Length of a message's Markdown that always fits, at least 100.
	MaxMessages    int           // For one answer. A longer answer is attached as a file.
	AppendLifetime time.Duration // Maximum age of a stream. After it, the message is replaced.
}

// Ref is a surface's id of a message: in Slack its ts.
type Ref string

// Target is the recipient of a call. Its installation has credentials, so it is never logged.
type Target struct {
	Installation Installation
	Channel      string
	Thread       string // "" outside of a thread.
	Person       string // The person who asked, or the recipient of a notice.
	PersonTeam   string // Their workspace if it differs from the installation's; else "".
	Direct       bool   // Only that person reads it.
	Reply        string // The reply address of the event (Slack's response_url); may be "".
}

// State is the state of an answer.
type State string

// The states of an answer.
const (
	StateWriting State = "writing"
	StateDone    State = "done"
	StateStopped State = "stopped"
	StateFailed  State = "failed"

	// StateSuperseded is the state of a message that a later, shorter run no longer needs. It may be deleted.
	StateSuperseded State = "superseded"
)

// Draft is the state of one message of an answer, or of a request for a decision about a tool call. Such a request is a
// separate message, with buttons until the decision. Within a run, the Markdown of a later state begins with the Markdown
// of an earlier state. It may be empty before the first text, with a Reason, and in a StateSuperseded message.
type Draft struct {
	AnswerID  uuid.UUID
	Part      int // From 0.
	Markdown  string
	State     State
	Reason    string          // Reason of StateFailed or StateStopped, for people; else "".
	Last      bool            // The answer's last message so far. It has the buttons, and finally the sources.
	Citations []chat.Citation // Set for the last message of a complete answer.
	Notice    string          // Set for the last message of a complete answer: missing documents of the skill; else "".
	Attached  bool            // Set for the last message of a complete answer: the whole answer follows as a file.
	URL       string          // The thread in the app.

	// Approval is the request for a decision, or nil. Begin, Replace and Find are called for such a draft. Its State is
	// StateDone, and it has no Markdown. Arguments may be empty after the decision.
	Approval *chat.ToolApproval
}

// Attachment is an answer as a file.
type Attachment struct {
	AnswerID uuid.UUID
	Name     string
	Markdown string
	Again    bool // An earlier attempt may have succeeded; search for its file first.
}

// NoticeKind is the kind of a notice.
type NoticeKind string

// The kinds of notices.
const (
	NoticeLink     NoticeKind = "link"     // An invitation to link the person with a member; URL is its address.
	NoticeLinked   NoticeKind = "linked"   // The person is already linked.
	NoticeUnlinked NoticeKind = "unlinked" // The link was removed.
	NoticeRefused  NoticeKind = "refused"  // An action failed; Text has the reason and a remedy.
	NoticeInfo     NoticeKind = "info"     // An action succeeded.
	NoticeEdited   NoticeKind = "edited"   // The question was edited; AnswerID can be regenerated.
	NoticeHelp     NoticeKind = "help"     // How to ask, with Skills.
	NoticeFeedback NoticeKind = "feedback" // Thanks for a rating.
)

// Notice is a message for one person.
type Notice struct {
	Kind     NoticeKind
	Text     string // Plain text, in Japanese. A surface shows it unchanged.
	URL      string // A link with the text Label; "" for none.
	Label    string
	AnswerID uuid.UUID // For NoticeEdited.
	Skills   []Prompt  // For NoticeHelp: names and descriptions of skills.
}

// Place is the description of a channel.
type Place struct {
	Name   string
	Direct bool // A conversation between certain people, without a name.
	Shared bool // Shared with other organizations, or about to be.
}

// Prompt is a suggested question.
type Prompt struct {
	Title string
	Text  string
}

// Home is a person's home page of the assistant.
type Home struct {
	Linked  bool
	Account string // Name and address of the linked member.
	LinkURL string // For a person who is not linked.
	AppURL  string
	Skills  []Prompt
}

// Message is a message of a thread.
type Message struct {
	Ref   Ref
	Name  string
	Text  string // Plain text or Markdown, without the surface's own markup.
	Files []File
}

// File is a file of a message.
type File struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	MediaType string `json:"media_type,omitempty"`
	Size      int64  `json:"size,omitempty"`
	URL       string `json:"url,omitempty"`
}

// RateLimitError is the error of a surface that refuses calls of a method for an installation for a duration.
type RateLimitError struct {
	Method     string
	RetryAfter time.Duration
}

func (e *RateLimitError) Error() string {
	return fmt.Sprintf("channel: %s is rate limited for %v", e.Method, e.RetryAfter)
}

// Errors of a Surface. ErrTooLong means that a rendered draft does not fit; the call had no effect.
var (
	ErrTooLong      = errors.New("channel: too long for a message")
	ErrCannotAppend = errors.New("channel: the message cannot be extended")
	ErrGone         = errors.New("channel: the message or its place is gone, or closed to the assistant")
	ErrRevoked      = errors.New("channel: the credentials were revoked")
	ErrRefused      = errors.New("channel: the call was refused, for a reason that may be permanent")
)
