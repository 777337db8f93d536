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

// Surface is a place of conversations, such as Slack. An adapter implements it, and channeltest checks its promises.
// It is safe for concurrent use.
//
// Errors: *RateLimited, ErrCannotAppend, ErrTooLong, ErrGone and ErrRevoked, also wrapped. Any other error is retried
// after a pause, as the effect of the call is unknown.
type Surface interface {
	Traits() Traits

	// Begin posts a message and returns its name. One whose State is not Writing is posted whole: nothing is appended to
	// it, and Finish is not called.
	Begin(ctx context.Context, to Target, d Draft) (Ref, error)
	// Append extends a message that Begin posted less than Traits.AppendLifetime ago from the state from to d. After
	// ErrCannotAppend, the caller uses Replace.
	Append(ctx context.Context, to Target, ref Ref, from, d Draft) error
	// Replace sets a message to d, whatever it holds, and ends its stream. It is idempotent.
	Replace(ctx context.Context, to Target, ref Ref, d Draft) error
	// Finish ends the stream of a message in the state from with the final state d. It is idempotent. After
	// ErrCannotAppend, the caller uses Replace.
	Finish(ctx context.Context, to Target, ref Ref, from, d Draft) error
	// Find looks for a message whose name was not stored: one that Begin posted for the same AnswerID and Part, with the
	// Markdown of d or a beginning of it, in the thread, after since and not among known.
	Find(ctx context.Context, to Target, since time.Time, known []Ref, d Draft) (Ref, bool, error)

	// Open posts the question of a person who asked outside of a thread (with a command), and returns the thread that
	// begins with it. Repeating it with the same event posts nothing more, as far as the surface can tell.
	Open(ctx context.Context, to Target, event, question string) (thread string, err error)
	// Attach posts a text that is too long for messages as a file.
	Attach(ctx context.Context, to Target, a Attachment) error
	// Notify shows a notice in the thread to Target.Person alone.
	Notify(ctx context.Context, to Target, n Notice) error
	// Status shows that an answer is being worked on, where the surface can. Begin ends it.
	Status(ctx context.Context, to Target, text string) error

	// Said returns the newest 50 messages of the thread before a message, or of the whole thread if before is "", oldest
	// first and without those of the assistant.
	Said(ctx context.Context, to Target, before Ref) ([]Said, error)
	// Message returns one message of the thread, its text without what Incoming.Text leaves out.
	Message(ctx context.Context, to Target, ref Ref) (Said, error)
	// Named returns a person's text with the names of the people that it mentions by their ids. An id whose name cannot
	// be found stays.
	Named(ctx context.Context, to Target, text string) string
	// Download fetches a file of a message. The caller closes it. Bytes after datasource.MaxSize need not be sent.
	Download(ctx context.Context, to Target, f File) (io.ReadCloser, error)
}

// Host is implemented by a surface with pages for each person.
type Host interface {
	// ShowHome shows Target.Person their page of the assistant.
	ShowHome(ctx context.Context, to Target, h Home) error
	// ShowPrompts offers prompts in a conversation that Target.Person has opened.
	ShowPrompts(ctx context.Context, to Target, prompts []Prompt) error
	// ShowTitle names a conversation.
	ShowTitle(ctx context.Context, to Target, title string) error
}

// Traits are the abilities and limits of a surface.
type Traits struct {
	CanAppend  bool
	CanReplace bool // Without it, an answer is posted when it is complete.

	MinInterval    time.Duration // Between two writes to one message.
	MaxCharacters  int           // Of a message's Markdown that certainly fits, at least 100.
	MaxMessages    int           // Of one answer: the whole of a longer one is attached as a file.
	AppendLifetime time.Duration // After it, the stream is finished and the message is replaced.
}

// Ref is a surface's name of a message: in Slack its ts.
type Ref string

// Target is where something goes. Its installation has credentials: it is never logged.
type Target struct {
	Installation Installation
	Channel      string
	Thread       string // "" outside of a thread.
	Person       string // Who asked, or receives the notice.
	PersonTeam   string // Their workspace, where it is not the installation's; "".
	Direct       bool   // Only that person reads it.
	Reply        string // Where the event that is handled can be answered (Slack's response_url); "".
}

// State is how far an answer is.
type State string

// The states of an answer.
const (
	Writing State = "writing"
	Done    State = "done"
	Stopped State = "stopped"
	Failed  State = "failed"

	// Superseded is the state of a message that a later, shorter run no longer needs. It may be deleted.
	Superseded State = "superseded"
)

// Draft is the state of one message of an answer. Within a run, the Markdown of a later state begins with that of an
// earlier one. It may be empty: while nothing is written yet, with a Reason, and of a Superseded message.
type Draft struct {
	AnswerID  uuid.UUID
	Part      int // From 0.
	Markdown  string
	State     State
	Reason    string          // Why it is Failed or Stopped, for a person; "".
	Last      bool            // The answer's last message at present: it has the buttons, and in the end the sources.
	Citations []chat.Citation // Of the last message, in the end.
	Notice    string          // Of the last message, in the end: missing documents of the skill; "".
	Attached  bool            // Of the last message, in the end: the whole answer follows as a file.
	URL       string          // Of the thread in the app.
}

// Attachment is an answer as a file.
type Attachment struct {
	AnswerID uuid.UUID
	Name     string
	Markdown string
	Again    bool // An earlier attempt may have succeeded: look for its file first.
}

// NoticeKind is the kind of a notice.
type NoticeKind string

// The kinds of notices.
const (
	NoticeLink     NoticeKind = "link"     // The person is to be linked with a member: URL leads there.
	NoticeLinked   NoticeKind = "linked"   // They are linked already.
	NoticeUnlinked NoticeKind = "unlinked" // The link was removed.
	NoticeRefused  NoticeKind = "refused"  // An action failed; Text has the reason and the way out.
	NoticeInfo     NoticeKind = "info"     // Something was done.
	NoticeEdited   NoticeKind = "edited"   // The question was edited: AnswerID can be answered again.
	NoticeHelp     NoticeKind = "help"     // How to ask, with Skills.
	NoticeFeedback NoticeKind = "feedback" // Thanks for a rating.
)

// Notice is a message for one person.
type Notice struct {
	Kind     NoticeKind
	Text     string // Plain text, in Japanese. A surface shows it as it is.
	URL      string // To go to, with Label; "" for none.
	Label    string
	AnswerID uuid.UUID // Of NoticeEdited.
	Skills   []Prompt  // Of NoticeHelp: names and descriptions of skills.
}

// Prompt is something that a person may ask.
type Prompt struct {
	Title string
	Text  string
}

// Home is a person's page of the assistant.
type Home struct {
	Linked  bool
	Account string // Name and address of the member that they are linked with.
	LinkURL string // For a person who is not linked.
	AppURL  string
	Skills  []Prompt
}

// Said is a message of a thread.
type Said struct {
	Ref    Ref
	Person string // "" for an app.
	Name   string
	Text   string // Plain text or Markdown, without the surface's own markup.
	Files  []File
}

// File is a file of a message.
type File struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	MediaType string `json:"media_type,omitempty"`
	Size      int64  `json:"size,omitempty"`
	URL       string `json:"url,omitempty"`
}

// RateLimited is the error of a surface that refuses calls of a method for an installation until a time has passed.
type RateLimited struct {
	Method     string
	RetryAfter time.Duration
}

// Error implements error.
func (e *RateLimited) Error() string {
	return fmt.Sprintf("channel: %s is rate limited for %v", e.Method, e.RetryAfter)
}

// Errors of a Surface. ErrTooLong means that a rendered draft does not fit; the call had no effect.
var (
	ErrTooLong      = errors.New("channel: too long for a message")
	ErrCannotAppend = errors.New("channel: the message cannot be extended")
	ErrGone         = errors.New("channel: the message or its place is gone, or closed to the assistant")
	ErrRevoked      = errors.New("channel: the credentials were revoked")
)
