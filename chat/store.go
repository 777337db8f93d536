package chat

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/proofread"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// EarlierMessage is an earlier message sent by a client.
type EarlierMessage struct {
	Role       Role
	Content    string
	PictureIDs []uuid.UUID `json:",omitempty"` // For a question.
	ToolCalls  []ToolCall  `json:",omitempty"` // For an answer: the calls that the client has made, with their results.
}

// NewGeneration is the input of BeginGeneration: a question with its answer before the generation.
type NewGeneration struct {
	Owner       identity.Owner
	RequestID   uuid.UUID
	RequestHash [32]byte  // Hash of the request's body: the same request id with another hash is a conflict.
	ServerID    uuid.UUID // The server that runs the generation.
	Exchange              // In the stored form. The answer is running, or pending if it waits for a slot.
	Title       string    // The title of an untitled thread until one is generated.

	// Regenerate means that the question is already stored and gets another answer.
	Regenerate bool

	WaitingID *uuid.UUID // The waiting question that begins; nil for a new question.
}

// WaitingQuestion is a question that waits in a shared thread until the answers before it are complete.
type WaitingQuestion struct {
	ID          uuid.UUID
	Owner       identity.Owner // The author.
	ThreadID    uuid.UUID
	RequestID   uuid.UUID
	RequestHash [32]byte
	Content     string // As shown in the thread.
	Question    Question
}

// ProjectContext is the project of a question.
type ProjectContext struct {
	ID           uuid.UUID
	Instructions string
	Archived     bool
	Shared       bool // The thread is shared with the project.

	// SourceOwners are the owners of the data sources attached to a shared thread, uuid.Nil for none.
	SourceOwners map[uuid.UUID]uuid.UUID
}

// HistoryLimit bounds the part of a thread's history that is read.
type HistoryLimit struct {
	Messages int
	Bytes    int // In bytes of the text for the model.

	ToolCalls bool // The answers include their calls of tools, which count for Bytes.
}

// ThreadState is the result of LoadThreadState.
type ThreadState struct {
	// The exchange of a repeated request in its current state; nil for a new request. If set, the other fields are
	// empty.
	Existing *Exchange
	Running  bool        // An answer is being generated in the thread.
	Skill    skill.Skill // The thread's skill with the fields for asking, without its texts for people.
	Leaf     *uuid.UUID  // The answer that a new question follows, or nil.
	History  []Message   // The messages up to that answer.

	DataSourceIDs []uuid.UUID // The data sources of the thread in the order of attaching.
	HadSources    bool        // Only for TaskDocumentQA: a question had data sources, which may have been deleted since.
	Guidance      org.Guidance
	Instructions  string // The thread's instructions.
	Models        ModelSettings
	Project       *ProjectContext // Nil if the thread is in no project.
	HasWaiting    bool            // Questions wait in the thread.
}

// StoredGeneration is a stored generation of this server: of a new question, or one that was taken over.
type StoredGeneration struct {
	Owner identity.Owner
	Exchange
	Thread   Thread // In its current state. Empty if Existing.
	Untitled bool   // Its thread had no title, or has its first question as its title.
	// The request is a repeated one: nothing was written, and the exchange is the earlier one in its current state.
	Existing bool
	Stopped  bool // It was taken over, and the owner had requested to stop it.
	Attempts int  // If it was taken over: number of its runs, including this one.

	Instructions string          // If it was taken over: the thread's instructions.
	Project      *ProjectContext // If it was taken over: see ThreadState.
	Known        KnownText       // If it was taken over: the text of an earlier run.
}

// SourcesDeleted is the code of a question about documents in a thread whose documents were all deleted.
const SourcesDeleted fault.Code = "data_sources_deleted"

// SourcesNotAccepted is the code of a question with data sources for a skill that does not accept them.
const SourcesNotAccepted fault.Code = "data_sources_not_accepted"

// Errors of the Store with codes for clients.
var (
	ErrThreadBusy      = fault.Errorf(fault.ThreadBusy, "このチャットでは別の回答を作成しています。完了してからお試しください。")
	ErrRequestConflict = fault.Errorf(fault.RequestConflict, "同じ request_id が別の内容で使われています。")
	ErrStaleRun        = fault.Errorf(fault.Conflict, "この生成は別のサーバーに引き継がれています。")
	ErrNoThread        = fault.Errorf(fault.NotFound, "チャットが見つかりません。")
	ErrNoMessage       = fault.Errorf(fault.NotFound, "メッセージが見つかりません。")
	ErrReadOnly        = fault.Errorf(fault.ReadOnly, "このプロジェクトはアーカイブされているため、質問できません。")
	ErrNotOwner        = fault.Errorf(fault.Forbidden, "このチャットを変更できるのは、作成した人とプロジェクトの管理者だけです。")
	ErrQueueFull       = fault.Errorf(fault.QueueFull, "順番を待っている質問が%d件あります。少し待ってから、もう一度お試しください。", MaxWaiting)
	ErrNotAsker        = fault.Errorf(fault.Forbidden, "この回答を停止できるのは、質問した人、チャットを作成した人、プロジェクトの管理者だけです。")
	ErrNotWaiting      = fault.Errorf(fault.Conflict, "この質問への回答は、すでに始まっています。")
	ErrNotAuthor       = fault.Errorf(fault.Forbidden, "順番待ちを取り消せるのは、質問した人だけです。")
	ErrMoveNotOwner    = fault.Errorf(fault.Forbidden, "このチャットのプロジェクトを変更できるのは、作成した人だけです。")
	ErrMoveTemporary   = fault.Errorf(fault.Conflict, "一時チャットは、プロジェクトに移動できません。")
	ErrNoProject       = fault.Errorf(fault.NotFound, "プロジェクトが見つかりません。")
)

// Store is the database of the Service. Each method is one transaction. The owner in the arguments is the person who
// makes the call. Threads and messages that this person may not read are treated as if they did not exist: the error is
// ErrNoThread or ErrNoMessage. In a thread of an archived project, calls that change it return ErrReadOnly.
type Store interface {
	// Threads and messages as people see and change them.

	// CreateThread adds a thread. For a repeated request id of the owner it returns the thread of the first call, if
	// that has the same skill and is also temporary or permanent, else ErrRequestConflict. If the skill is not visible
	// to the organization or is retired, the error has the code fault.NotFound.
	CreateThread(ctx context.Context, owner identity.Owner, thread NewThread) (Thread, error)

	// AddEarlierMessages adds messages to a thread, unless it has messages. If a picture is not the owner's, the error is
	// picture.ErrNoPicture.
	AddEarlierMessages(ctx context.Context, owner identity.Owner, threadID uuid.UUID, messages []EarlierMessage) error

	// ListThreads returns the owner's threads, or those of a project, without temporary ones: the archived ones or the
	// others. Pinned ones of the owner come first, then last touched first, then by id descending.
	ListThreads(ctx context.Context, owner identity.Owner, filter ThreadFilter, offset, limit int) ([]Thread, error)

	// FindThread returns one thread.
	FindThread(ctx context.Context, owner identity.Owner, id uuid.UUID) (Thread, error)

	// EditThread changes a thread without touching it. If its leaf is not a message of the thread, the error is
	// ErrNoMessage. Only its owner and, if it is shared, managers of its project may change it; the error for others is
	// ErrNotOwner. The same applies to TouchThread and DeleteThread.
	EditThread(ctx context.Context, owner identity.Owner, id uuid.UUID, edit ThreadEdit) (Thread, error)

	// AttachSources attaches data sources of the owner to a thread, and returns the thread and the id of the
	// preparation. A repeated request changes nothing; with other data sources it returns ErrRequestConflict. If a data
	// source is not the owner's, the error has the code fault.NotFound, and if there would be more than
	// datasource.MaxSearchSources, fault.Conflict.
	AttachSources(ctx context.Context, owner identity.Owner, p Preparation) (Thread, uuid.UUID, error)

	// MoveThread moves a thread into a project, or out of projects, and returns the thread before and after. Only its
	// owner may move it; the error for others is ErrMoveNotOwner. If a question is being answered or waits in it, the
	// error is ErrThreadBusy; if the project is not the owner's, ErrNoProject. The questions of a thread that becomes
	// shared get their author, and its Share ends. A thread that becomes private loses the data sources of other members.
	MoveThread(ctx context.Context, owner identity.Owner, id uuid.UUID, to ThreadPlace, by org.AuditActor) (
		before, after Thread, err error)

	// Audience returns the Audience of the owner's thread in a project.
	Audience(ctx context.Context, owner identity.Owner, threadID, projectID uuid.UUID) (Audience, error)

	// TouchThread moves a thread to the top of the list.
	TouchThread(ctx context.Context, owner identity.Owner, id uuid.UUID) (Thread, error)

	// DeleteThread deletes a thread with its content.
	DeleteThread(ctx context.Context, owner identity.Owner, id uuid.UUID) (DeletedThread, error)

	// DeleteExpired deletes at most limit expired temporary threads, and returns them. Servers may call it concurrently
	// and then share the work.
	DeleteExpired(ctx context.Context, limit int) ([]DeletedThread, error)

	// ListMessages returns the messages of a branch, newest first. It is the branch through the message leaf up to the
	// newest message after it. If leaf is nil, it is the branch that was shown last: the one of the last EditThread or
	// BeginGeneration. If leaf is not a message of the thread, the error is ErrNoMessage.
	ListMessages(ctx context.Context, owner identity.Owner, threadID uuid.UUID, leaf *uuid.UUID, offset, limit int) ([]Message,
		error)

	// ListAllMessages returns the messages of a thread in all branches, oldest first. Of another owner's thread it returns
	// none.
	ListAllMessages(ctx context.Context, owner identity.Owner, threadID uuid.UUID, limit int) ([]Message, error)

	// LastAnswer returns the answer of a thread, in any branch, that is being generated, else the newest one, or nil.
	LastAnswer(ctx context.Context, owner identity.Owner, threadID uuid.UUID) (*Message, error)

	// FindMessage returns one message, in any branch.
	FindMessage(ctx context.Context, owner identity.Owner, id uuid.UUID) (Message, error)

	// GiveFeedback stores a rating of a complete answer and replaces an earlier one of the same owner.
	GiveFeedback(ctx context.Context, owner identity.Owner, messageID uuid.UUID, feedback Feedback) error

	// WithdrawFeedback removes the owner's rating of an answer and reports whether there was one.
	WithdrawFeedback(ctx context.Context, owner identity.Owner, messageID uuid.UUID) (bool, error)

	// PutDecisions stores the owner's decisions on the changes of an answer.
	PutDecisions(ctx context.Context, owner identity.Owner, messageID uuid.UUID, d proofread.Decisions) error

	// Deletion of threads that were not used for the number of days set by their organization, at least 14 days after
	// their owners were notified. Pinned and temporary threads are kept, and threads in which an answer is being
	// generated. Servers may call these methods concurrently and then share the work.

	// CountExpiring counts the owner's threads that will be deleted.
	CountExpiring(ctx context.Context, owner identity.Owner) (ExpiringCount, error)

	// ListExpiring returns these threads in the order of their deletion.
	ListExpiring(ctx context.Context, owner identity.Owner, offset, limit int) ([]ExpiringThread, error)

	// ClearOutdatedNotices clears notifications of owners from before a change of their organization's setting, for at
	// most limit threads, and returns the number of threads.
	ClearOutdatedNotices(ctx context.Context, limit int) (int, error)

	// NotifyOwners records notifications of owners about threads that must be deleted, together with threads due within
	// NoticeLookahead, and adds the notice returned by notice for each owner. If the owner may no longer open a
	// thread, a manager of the project receives the notice about a shared one, and no notice is sent about a private one.
	// NotifyOwners handles at most limit owners and returns 0 if none was left.
	NotifyOwners(ctx context.Context, limit int, notice func(RetentionNotice) org.Notification) (int, error)

	// DeleteDue deletes at most limit due threads, counts them in the audit log, and returns them.
	DeleteDue(ctx context.Context, limit int) ([]DeletedThread, error)

	// The data for a question, and the question.

	// LoadThreadState reads the data for a new question in one round trip: the exchange of a repeated request, or else
	// the thread, its skill, and the History up to the answer parent or, if that is nil, to the end of the branch that
	// was shown last. Errors: ErrRequestConflict for a repeated request with another hash, ErrNoThread, ErrNoMessage if
	// parent is not an answer of the thread, and fault.NotFound if the skill is not the organization's.
	LoadThreadState(
		ctx context.Context, owner identity.Owner, threadID uuid.UUID, parent *uuid.UUID, requestID uuid.UUID, hash [32]byte,
		limit HistoryLimit,
	) (ThreadState, error)

	// PrefetchThreadState returns a copy of ctx for identity.Store.UserBySubject, which then reads the user and the data of
	// LoadThreadState in one round trip. The first LoadThreadState with this context and the same arguments returns them.
	PrefetchThreadState(
		ctx context.Context, threadID uuid.UUID, parent *uuid.UUID, requestID uuid.UUID, limit HistoryLimit,
	) context.Context

	// History returns the newest messages of a branch up to and including leaf, within limit, oldest first: questions,
	// and complete answers with text or calls. It reads only the fields for the model: id, role, content, prompt,
	// pictures and, within limit, calls of tools.
	History(ctx context.Context, owner identity.Owner, threadID, leaf uuid.UUID, limit HistoryLimit) ([]Message, error)

	// Opening returns the first question of the branch that ends with leaf, and its answer, with the fields of History,
	// and the question's form.
	Opening(ctx context.Context, owner identity.Owner, threadID, leaf uuid.UUID) ([]Message, error)

	// Guidance returns a person's guidance for skills.
	Guidance(ctx context.Context, organizationID, userID uuid.UUID) (org.Guidance, error)

	// BeginGeneration stores a question, its answer, pending or running, and its generation, makes their branch the one
	// to show, and touches the thread. It locks the thread's row, so that only one of several concurrent calls
	// succeeds. The parent of the question must come from LoadThreadState or FindMessage. The data sources of a new
	// question are attached to the thread. Its pictures must come from Pictures, and are assigned to it. Errors:
	// ErrNoThread, ErrThreadBusy, ErrRequestConflict, fault.NotFound if a data source is not the owner's or a picture
	// was deleted, and fault.Invalid if the thread would have more than datasource.MaxSearchSources.
	BeginGeneration(ctx context.Context, begin NewGeneration) (StoredGeneration, error)

	// Questions that wait in shared threads.

	// AddWaiting adds a question to the queue of a shared thread, and returns it as a message. It returns nil
	// without an error if the thread is free or the request was already begun: the caller should try to begin it.
	// A repeated request returns the question that waits. With MaxWaiting questions the error is ErrQueueFull.
	AddWaiting(ctx context.Context, w WaitingQuestion) (*Message, error)

	// ListWaiting returns the questions that wait in a thread, in their order.
	ListWaiting(ctx context.Context, owner identity.Owner, threadID uuid.UUID) ([]Message, error)

	// RemoveWaiting removes a question of the owner that waits, and returns its thread. The error is ErrNotAuthor for a
	// question of another member, and ErrNotWaiting if its answer has begun.
	RemoveWaiting(ctx context.Context, owner identity.Owner, id uuid.UUID) (Thread, error)

	// DropWaiting removes a question that waits, whatever its author may read. It returns the readers of its thread.
	DropWaiting(ctx context.Context, organizationID, id uuid.UUID) (Readers, error)

	// NextWaiting returns the first question in the queue of each thread without a running answer, at most limit: of
	// one thread, or of any if threadID is nil.
	NextWaiting(ctx context.Context, threadID *uuid.UUID, limit int) ([]WaitingQuestion, error)

	// The progress and end of answers, and the titles of their threads.

	// StartAnswer changes a pending answer to running, and reports whether it was pending.
	StartAnswer(ctx context.Context, owner identity.Owner, messageID uuid.UUID) (started bool, err error)

	// EndGeneration stores the outcome of a generation and adds its tokens to those of the message. Citations of
	// deleted files lose their name and quote. If the run or the server is not the current one, or the thread was
	// deleted, nothing is written and the error is ErrStaleRun. A second call for the same run succeeds without a
	// change, because the first one may have committed and reported an error. fault.Invalid means that this outcome can
	// never be stored.
	EndGeneration(ctx context.Context, outcome Outcome) (EndResult, error)

	// CountDeleted counts the tokens of an answer that was deleted with its thread, and reports whether it was.
	CountDeleted(ctx context.Context, outcome Outcome) (counted bool, err error)

	// RequestStop stores the owner's request to stop an answer. It reports whether the answer was still being
	// generated. In a shared thread, the person who asked, the thread's owner and managers may stop it.
	RequestStop(ctx context.Context, owner identity.Owner, messageID uuid.UUID) (running bool, err error)

	// TitleThread sets a generated title if the thread's title is still its first question, and reports whether it did.
	// It counts the tokens in any case. It returns the changed thread, or an empty one if the title was not set.
	TitleThread(ctx context.Context, title GeneratedTitle) (thread Thread, changed bool, err error)

	// ClaimSuggestions marks that suggestions are being generated for an answer, so that this happens once, and returns
	// the question of the answer. It claims no answers in temporary threads and none in JSON.
	ClaimSuggestions(ctx context.Context, owner identity.Owner, messageID uuid.UUID) (question string, claimed bool, err error)

	// StoreSuggestions stores suggestions and counts their tokens. If the answer was deleted, it counts only.
	StoreSuggestions(ctx context.Context, generated GeneratedSuggestions) error

	// Which server runs which generation.

	// Renew renews a server's lease, and creates its row if necessary. It returns the state of the generations in owned
	// in one round trip. The server still owns those that are not in Lost, for a lease from the beginning of the call.
	Renew(ctx context.Context, serverID uuid.UUID, owned []RunID) (Renewal, error)

	// AddCheckpoints stores pieces of texts, for those of their runs that the server still owns, and returns the answers
	// whose pieces were stored. It does not wait for generations that are about to end.
	AddCheckpoints(ctx context.Context, serverID uuid.UUID, pieces []Checkpoint) ([]uuid.UUID, error)

	// AddToolRound stores a round before its calls are made. If the run is not the current one of the server, the error is
	// ErrStaleRun.
	AddToolRound(ctx context.Context, serverID uuid.UUID, round AddedRound) error

	// EndToolCall stores the end of a call. The error is as for AddToolRound.
	EndToolCall(ctx context.Context, serverID uuid.UUID, run RunID, call ToolCall) error

	// BeginRun replaces the checkpoints of earlier runs by the beginning of a run that was taken over. If the run is not
	// the current one, the error is ErrStaleRun.
	BeginRun(ctx context.Context, serverID uuid.UUID, begin RunBeginning) error

	// EndedRuns returns those of the given runs that cannot continue: ended longer than ago, deleted, or superseded by
	// a later run.
	EndedRuns(ctx context.Context, runs []RunID, ago time.Duration) ([]RunID, error)

	// RemoveServer removes a server's row, so that its generations can be taken over at once.
	RemoveServer(ctx context.Context, serverID uuid.UUID) error

	// TakeOver makes orphaned generations this server's own, each as the next run, and returns them. Orphans are
	// generations of a server without a row or with a last heartbeat older than lease. They also include generations of
	// this server that began more than lease ago and are not in owned: their beginning was reported as failed, but was
	// stored. TakeOver returns at most limit generations. It locks them one by one with SKIP LOCKED, so that several
	// servers share the work. A server cannot renew its lease while its generations are being taken over. TakeOver
	// removes the rows of servers that failed long ago. The number of a run is the previous number plus one, and at
	// least epoch.
	TakeOver(ctx context.Context, serverID uuid.UUID, owned []uuid.UUID, lease time.Duration, limit, epoch int) ([]StoredGeneration,
		error)

	// Shares of threads. Those of another organization are treated as if they did not exist: the error is ErrNoShare.

	// PutShare takes a snapshot of the owner's thread and logs it. A thread has at most one share: an existing share
	// gets the new snapshot. Errors: ErrNoThread, ErrNoMessage if the leaf is not in the thread, ErrShareRunning,
	// ErrShareTemporary, ErrShareProject.
	PutShare(ctx context.Context, owner identity.Owner, snapshot Snapshot, by org.AuditActor) (Share, error)

	// ListShares returns shares of an organization, last updated first, and their total number: those of one thread if
	// threadID is set, those of one person if userID is set.
	ListShares(ctx context.Context, organizationID uuid.UUID, userID, threadID *uuid.UUID, offset, limit int) ([]Share,
		int, error)

	// FindShare returns a share of the organization.
	FindShare(ctx context.Context, organizationID, shareID uuid.UUID) (Share, error)

	// SharedMessages returns messages of a share, oldest first, with role, content, finish reason, citations, the
	// number of pictures, and times only. Files of projects that the reader may not open are hidden in the citations.
	SharedMessages(ctx context.Context, reader identity.Owner, shareID uuid.UUID, offset, limit int) ([]Message, error)

	// EndShare removes a share and logs it. If userID is set, the share must be that user's.
	EndShare(ctx context.Context, organizationID, shareID uuid.UUID, userID *uuid.UUID, by org.AuditActor) error

	// CopyShare copies a share into a new thread of the owner. A repeated call with the same request id returns the
	// same thread. If the skill is retired, the error has the code fault.NotFound.
	CopyShare(ctx context.Context, owner identity.Owner, shareID uuid.UUID, thread NewThread) (copied Thread, created bool,
		err error)

	// Ratings, for administrators.

	// ListReviews returns the organization's reviews selected by the query, newest first, and their total number.
	ListReviews(ctx context.Context, organizationID uuid.UUID, query ReviewQuery) ([]Review, int, error)

	// EachReview calls do for each of the reviews, newest first, while it reads them with one statement.
	EachReview(ctx context.Context, organizationID uuid.UUID, query ReviewQuery, do func(Review)) error

	// FindReview returns one of the organization's reviews, or ErrNoMessage.
	FindReview(ctx context.Context, organizationID, messageID uuid.UUID) (ReviewText, error)

	// CountRatings returns the number of ratings between two times by skill, largest first.
	CountRatings(ctx context.Context, organizationID uuid.UUID, from, to time.Time) ([]SkillRatings, error)

	// Search.

	// IndexPending indexes pending texts, at most limit, and returns how many there were. It takes those in the threads
	// of the owners, or anybody's if owners is nil, that have been pending for a time, the oldest first. Servers that call
	// it at the same time share the work.
	IndexPending(ctx context.Context, owners []uuid.UUID, since time.Duration, limit int) (int, error)

	// ThreadOwners returns the owners of the threads of a project that the reader may read.
	ThreadOwners(ctx context.Context, reader identity.Owner, projectID uuid.UUID) ([]uuid.UUID, error)

	// Candidates returns the reader's threads, or a project's threads that the reader may read, with entries that have
	// all keys, last touched first, then by id descending. It begins after a place; nil for the beginning.
	Candidates(ctx context.Context, reader identity.Owner, query CandidateQuery, after *CandidateCursor, limit int) (
		[]Candidate, error)

	// Texts returns the contents of messages that the reader may read.
	Texts(ctx context.Context, reader identity.Owner, messages []uuid.UUID) (map[uuid.UUID]string, error)

	// Organizations' decisions about models.

	// ModelSettings returns an organization's decisions.
	ModelSettings(ctx context.Context, organizationID uuid.UUID) (ModelSettings, error)

	// MemberModelSettings returns the decisions without models that only members of other groups may choose.
	MemberModelSettings(ctx context.Context, owner identity.Owner) (ModelSettings, error)

	// GroupNames returns the names of an organization's groups.
	GroupNames(ctx context.Context, organizationID uuid.UUID) (map[uuid.UUID]string, error)

	// SetModelSettings replaces the decisions of the actor's organization, unless they are the same. It calls check
	// with the actor's current state and the present decisions; check returns the changes for the audit log.
	// SetModelSettings returns the error of check unchanged.
	SetModelSettings(ctx context.Context, actor identity.Actor, settings ModelSettings,
		check func(actor *org.Member, before ModelSettings) ([]org.Change, error)) error

	// Decisions about calls of tools.

	// AskAgain makes running calls of a run wait for decisions. The error is as for AddToolRound.
	AskAgain(ctx context.Context, serverID uuid.UUID, run RunID, calls []ToolCall) error

	// ClaimToolCalls changes approved calls to running ones, before they are made. The error is as for AddToolRound.
	// The same run may claim a call repeatedly.
	ClaimToolCalls(ctx context.Context, serverID uuid.UUID, run RunID, callIDs []string) error

	// BeginWait makes an answer wait for a decision about one of the calls. Meanwhile it belongs to no server. If one of
	// them has been decided, or the answer shall stop, the answer does not wait. The error is as for AddToolRound.
	BeginWait(ctx context.Context, serverID uuid.UUID, run RunID, callIDs []string) (Wait, error)

	// EndWait returns the calls of an answer that waits no longer and is the server's again. force ends the wait. If the
	// answer is another server's, or has ended, the error is ErrStaleRun.
	EndWait(ctx context.Context, serverID uuid.UUID, run RunID, force bool) (Wait, error)

	// LeaveWaits makes answers that wait on a server be taken over after a decision.
	LeaveWaits(ctx context.Context, serverID uuid.UUID) error

	// WaitingRuns returns those of the runs that wait.
	WaitingRuns(ctx context.Context, runs []RunID) ([]RunID, error)

	// WaitingText returns the text of a waiting answer, or ErrStaleRun if it does not wait in this run.
	WaitingText(ctx context.Context, run RunID) (KnownText, error)

	// PermittedTools returns the tools that the owner has approved for the rest of a thread.
	PermittedTools(ctx context.Context, owner identity.Owner, threadID uuid.UUID) ([]string, error)

	// WaitingToolApproval returns an approval that waits for a decision of the owner, or ErrNoToolCall.
	WaitingToolApproval(ctx context.Context, owner identity.Owner, id uuid.UUID) (ToolApproval, error)

	// DecideToolCall stores a decision and logs it. The same request again returns the same result. Errors:
	// ErrNoToolCall, ErrNotDecider, ErrDecided, ErrApprovalExpired, ErrApprovalCanceled, ErrArgumentsChanged,
	// ErrRequestConflict, or an invalid Decision.Input.
	DecideToolCall(ctx context.Context, owner identity.Owner, d Decision, by org.AuditActor) (ToolApproval, error)

	// ExpireToolCalls lets at most limit approvals expire, and returns them. The error joins those of approvals that
	// could not expire; the others are returned with it.
	ExpireToolCalls(ctx context.Context, limit int) ([]ToolApproval, error)

	// ListToolApprovals returns the waiting approvals of the owner, oldest first.
	ListToolApprovals(ctx context.Context, owner identity.Owner, offset, limit int) ([]ToolApproval, error)

	// ListAnswerApprovals returns all approvals of an answer to the owner, oldest first.
	ListAnswerApprovals(ctx context.Context, owner identity.Owner, messageID uuid.UUID) ([]ToolApproval, error)
}
