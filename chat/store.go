package chat

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// NewThread is what CreateThread takes.
type NewThread struct {
	ID        uuid.UUID
	SkillID   uuid.UUID
	Title     string
	RequestID *uuid.UUID    // Made by the client; nil for none.
	Lifetime  time.Duration // After which it is deleted; 0 for a thread that is kept.
}

// Begin is what BeginGeneration stores: a question and the answer that is about to be written.
type Begin struct {
	Owner       Owner
	RequestID   uuid.UUID
	RequestHash [32]byte  // Of the request's body: the same request id with another hash is a conflict.
	ServerID    uuid.UUID // Who runs it.
	Exchange              // As it is to be stored. The answer is running, or pending where it waits for a place.
	Title       string    // What the thread is called if it has no title, until one is made.

	// Asked says that the question is stored already, and that this is another answer to it.
	Asked bool
}

// Limit says how much of a thread's history is read.
type Limit struct {
	Messages int
	Bytes    int // Of what the model reads.
}

// Looked is what Look answers.
type Looked struct {
	Known   *Exchange   // What the request has begun, as it is now; nil if it is new. The rest is empty then.
	Running bool        // An answer is being written in the thread.
	Skill   skill.Skill // Of the thread. Only what asking needs: its id, kind, task, form and prompt.
	Leaf    *uuid.UUID  // The answer that a new question follows; nil if there is none.
	History []Message   // What was said up to there.
}

// Begun is a generation that is stored as a server's own: that of a new question, or one that was taken over.
type Begun struct {
	Owner Owner
	Exchange
	Thread   Thread // As it is now. Empty if Existing.
	Untitled bool   // Its thread had no title, or is called by its first question until one is made.
	Existing bool   // The request was known: nothing was written, and the exchange is the one of then, as it is now.
	Stopped  bool   // It was taken over, and the owner has asked for its end before.
	Attempts int    // How often it was begun, if it was taken over.
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
	InputTokens   int
	OutputTokens  int
	Citations     []Citation
	Steps         []Step
}

// Ended is what EndGeneration answers: the records as they are then.
type Ended struct {
	Thread  Thread
	Message Message
}

// Held names a run of a generation.
type Held struct {
	MessageID uuid.UUID
	Run       int
}

// Renewal is what Renew answers.
type Renewal struct {
	Lost    []uuid.UUID // No longer this server's own: taken over, ended, or gone with their thread.
	Stopped []uuid.UUID // This server's own, whose owners want them to end.
}

// Errors of the Store that clients know by their codes.
var (
	ErrThreadBusy      = fault.Errorf(fault.ThreadBusy, "このスレッドでは別の回答を作成しています。完了してからお試しください。")
	ErrRequestConflict = fault.Errorf(fault.RequestConflict, "同じ request_id が別の内容で使われています。")
	ErrStaleRun        = fault.Errorf(fault.Conflict, "この生成は別のサーバーに引き継がれています。")
	ErrNoThread        = fault.Errorf(fault.NotFound, "スレッドが見つかりません。")
	ErrNoMessage       = fault.Errorf(fault.NotFound, "メッセージが見つかりません。")
)

// Store is what the Service needs of a database. Each method is one transaction. What belongs to somebody else is
// answered like what does not exist: ErrNoThread or ErrNoMessage.
type Store interface {
	ThreadStore
	QuestionStore
	AnswerStore
	ServerStore
}

// ThreadStore has threads and messages as people see and change them.
type ThreadStore interface {
	// CreateThread adds a thread. If the owner has made one with the same request id before, that one is returned if it
	// is with the same skill and as temporary, else ErrRequestConflict. If the skill is not visible to the organization
	// or is retired, the error has the code fault.NotFound.
	CreateThread(ctx context.Context, owner Owner, thread NewThread) (Thread, error)

	// ListThreads returns the owner's threads that are kept, archived ones or the others: pinned ones first, then last
	// touched first, then by id descending.
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

	// DeleteExpired deletes temporary threads whose time is over, at most limit, and returns them. Servers that do it
	// at the same time share the work.
	DeleteExpired(ctx context.Context, limit int) ([]Expired, error)

	// ListMessages returns the messages of a branch, newest first: of the one that goes through the message leaf and on
	// to the newest message that comes after it, or if leaf is nil of the one that was looked at last. That is the one
	// that EditThread has named or in which BeginGeneration has begun an answer. If leaf is not a message of the
	// thread, the error is ErrNoMessage.
	ListMessages(ctx context.Context, owner Owner, threadID uuid.UUID, leaf *uuid.UUID, offset, limit int) ([]Message,
		error)

	// LastAnswer returns the newest answer of a thread, in whichever branch: the one that is being written if there is
	// one. It is nil if there is none.
	LastAnswer(ctx context.Context, owner Owner, threadID uuid.UUID) (*Message, error)

	// FindMessage returns one message, of whichever branch.
	FindMessage(ctx context.Context, owner Owner, id uuid.UUID) (Message, error)

	// GiveFeedback stores a rating of an answer that is complete, in place of an earlier one of the same owner.
	GiveFeedback(ctx context.Context, owner Owner, messageID uuid.UUID, feedback Feedback) error

	// WithdrawFeedback removes the owner's rating of an answer and reports whether there was one.
	WithdrawFeedback(ctx context.Context, owner Owner, messageID uuid.UUID) (bool, error)
}

// QuestionStore has what a question rests on, and takes it in.
type QuestionStore interface {
	// Look reads what a new question rests on, in one round trip: what its request has begun before, or else the
	// thread, its skill, and the History up to the answer parent or, if that is nil, to the end of the branch that was
	// looked at last. Errors: ErrRequestConflict if the request is known with another hash, ErrNoThread, ErrNoMessage
	// if parent is not an answer of the thread, and fault.NotFound if the skill is not the organization's.
	Look(
		ctx context.Context, owner Owner, threadID uuid.UUID, parent *uuid.UUID, requestID uuid.UUID, hash [32]byte,
		limit Limit,
	) (Looked, error)

	// History returns what was said in a branch up to a message of the thread, that included, oldest first, the newest
	// messages that limit allows: questions, and answers that are complete and have text. Of each message it reads what
	// the model is told: id, role, content and prompt.
	History(ctx context.Context, owner Owner, threadID, leaf uuid.UUID, limit Limit) ([]Message, error)

	// BeginGeneration stores a question, its answer, pending or running, and its generation, makes their branch the one
	// that was looked at last, and touches the thread. The thread's row is locked meanwhile, so that of several at the
	// same time one wins. The parent of the question is one that Look or FindMessage has found. Errors: ErrNoThread,
	// ErrThreadBusy, ErrRequestConflict.
	BeginGeneration(ctx context.Context, begin Begin) (Begun, error)
}

// AnswerStore stores the progress and end of answers, and the titles of their threads.
type AnswerStore interface {
	// StartAnswer makes a pending answer a running one, and reports whether it was pending.
	StartAnswer(ctx context.Context, owner Owner, messageID uuid.UUID) (started bool, err error)

	// EndGeneration stores how a generation ended. If its run or its server is no longer the current one, or the thread
	// is gone, nothing is written and the error is ErrStaleRun. Ending the same run again changes nothing and is no
	// error: the first try may have been stored although it was reported as failed. fault.Invalid says that this
	// outcome can never be stored.
	EndGeneration(ctx context.Context, outcome Outcome) (Ended, error)

	// CountDeleted counts what an answer took if it is gone with its thread, and reports whether it is.
	CountDeleted(ctx context.Context, outcome Outcome) (counted bool, err error)

	// RequestStop notes that the owner wants an answer to end. It reports whether the answer was still being written.
	RequestStop(ctx context.Context, owner Owner, messageID uuid.UUID) (running bool, err error)

	// TitleThread gives a thread a title that was made, if it is called by its first question until then, and reports
	// whether it did. What the title took is counted in any case. The thread is as it is then, empty if it was not
	// given.
	TitleThread(ctx context.Context, made MadeTitle) (thread Thread, given bool, err error)
}

// ServerStore knows which server runs which generation.
type ServerStore interface {
	// Renew notes that a server lives, creating its row if it has none, and says what has become of the generations
	// that it believes to hold, in one round trip. What it does not name as lost is the server's own, and stays so for
	// a lease from when the call began.
	Renew(ctx context.Context, serverID uuid.UUID, held []Held) (Renewal, error)

	// EndedRuns returns those of some runs that will not go on: ended longer than ago, gone, or followed by a later
	// run.
	EndedRuns(ctx context.Context, runs []Held, ago time.Duration) ([]Held, error)

	// RemoveServer takes a server off the list: its generations can be taken over at once.
	RemoveServer(ctx context.Context, serverID uuid.UUID) error

	// TakeOver makes generations of dead servers this server's own, each as the next run, and returns them: those whose
	// server's last heartbeat is older than lease or has no row, and this server's own that began more than lease ago
	// and are not among held (their beginning was reported as failed, but was stored). At most limit, locked one by one
	// with SKIP LOCKED, so that several servers share the work. A server whose generations are taken cannot renew
	// meanwhile. Servers that are long dead are removed. The number of a run is one higher than that of the one before,
	// and not less than epoch.
	TakeOver(ctx context.Context, serverID uuid.UUID, held []uuid.UUID, lease time.Duration, limit, epoch int) ([]Begun,
		error)
}
