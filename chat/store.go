package chat

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/proofread"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// NewThread is the argument of CreateThread.
type NewThread struct {
	ID        uuid.UUID
	SkillID   uuid.UUID
	Title     string
	RequestID *uuid.UUID    // Chosen by the client; nil for none.
	Lifetime  time.Duration // After which it is deleted; 0 for a thread that is kept.

	Instructions string // For all its answers, in addition to those of the skill. At most MaxInstructions characters.
}

// Earlier is a message that a client brings along.
type Earlier struct {
	Role       Role
	Content    string
	PictureIDs []uuid.UUID `json:",omitempty"` // Of a question.
}

// Begin is what BeginGeneration stores: a question and the answer that is about to be generated.
type Begin struct {
	Owner       Owner
	RequestID   uuid.UUID
	RequestHash [32]byte  // Of the request's body: the same request id with another hash is a conflict.
	ServerID    uuid.UUID // The server that runs it.
	Exchange              // As it is to be stored. The answer is running, or pending if it waits for a place.
	Title       string    // The title of an untitled thread until one is generated.

	// Asked says that the question is stored already and gets another answer.
	Asked bool
}

// Limit bounds how much of a thread's history is read.
type Limit struct {
	Messages int
	Bytes    int // Of what the model reads.
}

// Looked is the result of Look.
type Looked struct {
	Known   *Exchange   // What the request began before, as it is now; nil if it is new. The rest is empty then.
	Running bool        // An answer is being generated in the thread.
	Skill   skill.Skill // The thread's, with what asking needs: not its texts for people.
	Leaf    *uuid.UUID  // The answer that a new question follows; nil if there is none.
	History []Message   // The messages up to that answer.

	DataSourceIDs []uuid.UUID // The data sources of the thread, in the order in which they were attached.
	HadSources    bool        // A question of the thread had data sources, which may have been deleted since.
	Guidance      org.Guidance
	Instructions  string // Of the thread.
	Models        ModelSettings
}

// Begun is a stored generation of this server: that of a new question, or one that was taken over.
type Begun struct {
	Owner Owner
	Exchange
	Thread   Thread // As it is now. Empty if Existing.
	Untitled bool   // Its thread had no title, or has its first question as its title.
	Existing bool   // The request is known: nothing was written, and the exchange is the earlier one as it is now.
	Stopped  bool   // It was taken over, and the owner had asked to stop it.
	Attempts int    // How often it was begun, including this time, if it was taken over.

	Instructions string // Of the thread, if it was taken over.
}

// Outcome is how a generation ended.
type Outcome struct {
	Owner         Owner
	ThreadID      uuid.UUID
	MessageID     uuid.UUID
	Run           int
	ServerID      uuid.UUID
	Content       string
	Reasoning     string
	ReasoningTime time.Duration
	Status        Status // StatusSuccess or StatusFailed.
	FinishReason  FinishReason
	Failure       *Failure
	Model         string
	ModelID       string // Of the model that answered or, if none did, that was chosen.
	ModelName     string // "" if no model was asked.
	InputTokens   int    // To be added to the answer's; notes have added theirs.
	OutputTokens  int
	Citations     []Citation
	Steps         []Step
	Proofread     *proofread.Result
}

// Ended is the result of EndGeneration: the records after it.
type Ended struct {
	Thread  Thread
	Message Message
}

// Held names a run of a generation.
type Held struct {
	MessageID uuid.UUID
	Run       int
}

// Renewal is the result of Renew.
type Renewal struct {
	Lost    []uuid.UUID // No longer owned by this server: taken over, ended, or deleted with their thread.
	Stopped []uuid.UUID // Still owned by this server, and to be stopped for their owners.
}

// SourcesDeleted is the code of a question about documents in a thread whose documents were all deleted.
const SourcesDeleted fault.Code = "data_sources_deleted"

// SourcesNotAccepted is the code of a question with data sources for a skill that takes none.
const SourcesNotAccepted fault.Code = "data_sources_not_accepted"

// Errors of the Store that clients know by their codes.
var (
	ErrThreadBusy      = fault.Errorf(fault.ThreadBusy, "このチャットでは別の回答を作成しています。完了してからお試しください。")
	ErrRequestConflict = fault.Errorf(fault.RequestConflict, "同じ request_id が別の内容で使われています。")
	ErrStaleRun        = fault.Errorf(fault.Conflict, "この生成は別のサーバーに引き継がれています。")
	ErrNoThread        = fault.Errorf(fault.NotFound, "チャットが見つかりません。")
	ErrNoMessage       = fault.Errorf(fault.NotFound, "メッセージが見つかりません。")
)

// Store is what the Service needs of a database. Each method is one transaction. What belongs to somebody else is
// treated as if it did not exist: ErrNoThread or ErrNoMessage.
type Store interface {
	ThreadStore
	RetentionStore
	QuestionStore
	AnswerStore
	ServerStore
}

// ThreadStore stores threads and messages as people see and change them.
type ThreadStore interface {
	// CreateThread adds a thread. If the owner has created one with the same request id before, that one is returned if
	// it has the same skill and is likewise temporary or kept, else ErrRequestConflict. If the skill is not visible to
	// the organization or is retired, the error has the code fault.NotFound.
	CreateThread(ctx context.Context, owner Owner, thread NewThread) (Thread, error)

	// AddEarlier adds messages to a thread that has none. If a picture is not the owner's, the error is picture.ErrNone.
	AddEarlier(ctx context.Context, owner Owner, threadID uuid.UUID, earlier []Earlier) error

	// ListThreads returns the owner's threads, without temporary ones: the archived ones or the others. Pinned ones
	// come first, then last touched first, then by id descending.
	ListThreads(ctx context.Context, owner Owner, archived bool, offset, limit int) ([]Thread, error)

	// FindThread returns one thread.
	FindThread(ctx context.Context, owner Owner, id uuid.UUID) (Thread, error)

	// EditThread changes a thread without touching it. If its leaf is not a message of the thread, the error is
	// ErrNoMessage.
	EditThread(ctx context.Context, owner Owner, id uuid.UUID, edit ThreadEdit) (Thread, error)

	// AttachSources attaches data sources of the owner to a thread, unless the request has done so before, and returns
	// the thread and the id of the preparation. If the request is known with other data sources, the error is
	// ErrRequestConflict; if one is not the owner's, it has the code fault.NotFound, and if there would be more than
	// datasource.MaxSearched, fault.Conflict.
	AttachSources(ctx context.Context, owner Owner, p Preparation) (Thread, uuid.UUID, error)

	// TouchThread moves a thread to the top of the list.
	TouchThread(ctx context.Context, owner Owner, id uuid.UUID) (Thread, error)

	// DeleteThread deletes a thread with all that is in it and returns the answers that were being written.
	DeleteThread(ctx context.Context, owner Owner, id uuid.UUID) (running []uuid.UUID, err error)

	// DeleteExpired deletes expired temporary threads, at most limit, and returns them. Servers that call it at the
	// same time share the work.
	DeleteExpired(ctx context.Context, limit int) ([]Expired, error)

	// ListMessages returns the messages of a branch, newest first: the branch through the message leaf and on to the
	// newest message after it, or if leaf is nil the branch that was shown last, which is the one that EditThread named
	// or in which BeginGeneration began an answer. If leaf is not a message of the thread, the error is ErrNoMessage.
	ListMessages(ctx context.Context, owner Owner, threadID uuid.UUID, leaf *uuid.UUID, offset, limit int) ([]Message,
		error)

	// LastAnswer returns the newest answer of a thread in any branch: the one that is being generated if there is one,
	// nil if there is none at all.
	LastAnswer(ctx context.Context, owner Owner, threadID uuid.UUID) (*Message, error)

	// FindMessage returns one message, in any branch.
	FindMessage(ctx context.Context, owner Owner, id uuid.UUID) (Message, error)

	// GiveFeedback stores a rating of a complete answer and replaces an earlier one of the same owner.
	GiveFeedback(ctx context.Context, owner Owner, messageID uuid.UUID, feedback Feedback) error

	// WithdrawFeedback removes the owner's rating of an answer and reports whether there was one.
	WithdrawFeedback(ctx context.Context, owner Owner, messageID uuid.UUID) (bool, error)

	// PutDecisions stores what the owner has decided about the changes of an answer.
	PutDecisions(ctx context.Context, owner Owner, messageID uuid.UUID, d proofread.Decisions) error
}

// QuestionStore reads what a question needs, and stores it.
type QuestionStore interface {
	// Look reads what a new question needs, in one round trip: what its request began before, or else the thread, its
	// skill, and the History up to the answer parent or, if that is nil, to the end of the branch that was shown last.
	// Errors: ErrRequestConflict if the request is known with another hash, ErrNoThread, ErrNoMessage if parent is not
	// an answer of the thread, and fault.NotFound if the skill is not the organization's.
	Look(
		ctx context.Context, owner Owner, threadID uuid.UUID, parent *uuid.UUID, requestID uuid.UUID, hash [32]byte,
		limit Limit,
	) (Looked, error)

	// History returns the messages of a branch up to and including leaf, oldest first, the newest ones that limit
	// allows: questions, and complete answers with text. Of each it reads what the model needs: id, role, content,
	// prompt and pictures.
	History(ctx context.Context, owner Owner, threadID, leaf uuid.UUID, limit Limit) ([]Message, error)

	// Opening returns the first question of the branch that ends with leaf, and the answer to it, with what History
	// reads, and the question's form.
	Opening(ctx context.Context, owner Owner, threadID, leaf uuid.UUID) ([]Message, error)

	// Guidance returns what skills are told for a person.
	Guidance(ctx context.Context, organizationID, userID uuid.UUID) (org.Guidance, error)

	// BeginGeneration stores a question, its answer, pending or running, and its generation, makes their branch the one
	// to show, and touches the thread. It locks the thread's row, so that one of several concurrent calls wins. The
	// parent of the question must come from Look or FindMessage. The data sources of a new question are attached to the
	// thread; its pictures, which must come from Pictures, become its own. Errors: ErrNoThread, ErrThreadBusy,
	// ErrRequestConflict, fault.NotFound if a data source is not the owner's or a picture was deleted, and fault.Invalid if the thread would have more than datasource.MaxSearched.
	BeginGeneration(ctx context.Context, begin Begin) (Begun, error)
}

// AnswerStore stores the progress and end of answers, and the titles of their threads.
type AnswerStore interface {
	// StartAnswer changes a pending answer to running, and reports whether it was pending.
	StartAnswer(ctx context.Context, owner Owner, messageID uuid.UUID) (started bool, err error)

	// EndGeneration stores the outcome of a generation and adds its tokens to those of the message. Citations of files
	// that have been deleted lose their name and quote. If the run or the server is not the current one, or the thread
	// was deleted, nothing is written and the error is ErrStaleRun. A second call for the same run succeeds without a
	// change, because the first one may have committed and reported an error. fault.Invalid means that this outcome can
	// never be stored.
	EndGeneration(ctx context.Context, outcome Outcome) (Ended, error)

	// CountDeleted counts the tokens of an answer that was deleted with its thread, and reports whether it was.
	CountDeleted(ctx context.Context, outcome Outcome) (counted bool, err error)

	// RequestStop stores that the owner wants an answer to end. It reports whether the answer was still being
	// generated.
	RequestStop(ctx context.Context, owner Owner, messageID uuid.UUID) (running bool, err error)

	// TitleThread sets a generated title if the thread's title is still its first question, and reports whether it did.
	// The tokens are counted in any case. The thread is returned as it is then, empty if the title was not set.
	TitleThread(ctx context.Context, made MadeTitle) (thread Thread, given bool, err error)
}

// ServerStore records which server runs which generation.
type ServerStore interface {
	// Renew renews a server's lease, creating its row if it has none, and returns the state of the generations that it
	// believes to own, in one round trip. Those that are not named as lost are the server's own, and remain so for a
	// lease from the beginning of the call.
	Renew(ctx context.Context, serverID uuid.UUID, held []Held) (Renewal, error)

	// EndedRuns returns those of the given runs that cannot continue: ended longer than ago, deleted, or superseded by
	// a later run.
	EndedRuns(ctx context.Context, runs []Held, ago time.Duration) ([]Held, error)

	// RemoveServer removes a server's row: its generations can be taken over at once.
	RemoveServer(ctx context.Context, serverID uuid.UUID) error

	// TakeOver makes orphaned generations this server's own, each as the next run, and returns them: those whose
	// server's last heartbeat is older than lease or that has no row, and this server's own that began more than lease
	// ago and are not among held (their beginning was reported as failed, but was stored). At most limit, locked one by
	// one with SKIP LOCKED, so that several servers share the work. A server whose generations are taken cannot renew
	// meanwhile. Rows of servers that are long dead are removed. The number of a run is one higher than that of the one
	// before, and at least epoch.
	TakeOver(ctx context.Context, serverID uuid.UUID, held []uuid.UUID, lease time.Duration, limit, epoch int) ([]Begun,
		error)
}
