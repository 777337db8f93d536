package channel

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// ErrClaimLost means that a claim was lost: another server has the row, or it was deleted.
var ErrClaimLost = fault.Errorf(fault.Conflict, "別のサーバーに引き継がれています。")

// Event is an event of an installation with its progress.
type Event struct {
	InstallationID uuid.UUID
	OrganizationID uuid.UUID
	Incoming       IncomingEvent
	Lane           string // Events with the same lane are handled one at a time; "" for none.
	Progress       EventProgress
	Attempt        int       // From 1.
	Claim          uuid.UUID // The claim of the server that handles it.
	ReceivedAt     time.Time
}

// EventProgress is the stored progress of an event.
type EventProgress struct {
	Thread   string         `json:"thread,omitempty"`   // The thread created by Surface.Open.
	Question *chat.Question `json:"question,omitempty"` // The prepared question.
	SkillID  uuid.UUID      `json:"skill_id,omitzero"`  // The skill of the thread that the question begins.
	Problems string         `json:"problems,omitempty"` // Notice for the person about the question's files.
	Invited  bool           `json:"invited,omitempty"`  // The person received an invitation to link their account.
	Waiting  bool           `json:"waiting,omitempty"`  // The person received a notice about another running answer.

	ProjectID *uuid.UUID `json:"project_id,omitempty"` // The project of the question; nil for none.
	Inactive  bool       `json:"inactive,omitempty"`   // The person received a notice that the project is not active.
}

// Delivery is the delivery of an answer to a surface.
type Delivery struct {
	AnswerID       uuid.UUID
	OrganizationID uuid.UUID
	UserID         uuid.UUID
	ThreadID       uuid.UUID
	QuestionID     uuid.UUID
	InstallationID uuid.UUID
	Channel        string
	Thread         string
	Message        Ref // The question's message; "" without one.
	Person         string
	PersonTeam     string
	Direct         bool
	Progress       DeliveryProgress
	Ended          bool
	Claim          uuid.UUID // The claim of the server that delivers it.
}

// owner returns the member who asked.
func (d Delivery) owner() identity.Owner {
	return identity.Owner{OrganizationID: d.OrganizationID, UserID: d.UserID}
}

// DeliveryProgress is the progress of a delivery. It is stored before each call of the surface.
type DeliveryProgress struct {
	Run      int             `json:"run,omitempty"`
	Messages []PostedMessage `json:"posted,omitempty"`
	Obsolete []Ref           `json:"former,omitempty"` // Messages of an earlier run that are no longer needed.
	Attached bool            `json:"attached,omitempty"`
	// An attempt to attach was made.
	AttachTried bool `json:"attaching,omitempty"`

	Approvals []PostedApproval `json:"approvals,omitempty"`

	// Consecutive failures: since when, how many, and how many refused calls at the end.
	FailingSince time.Time `json:"failing_since,omitzero"`
	Failures     int       `json:"failures,omitempty"`
	Refusals     int       `json:"refusals,omitempty"`
}

// PostedApproval is the known state of a message with a request for a decision.
type PostedApproval struct {
	ID    uuid.UUID          `json:"id"`
	Title string             `json:"title"`           // Of the tool. It remains after the answer is deleted.
	State chat.ApprovalState `json:"state,omitempty"` // The state that the message shows; "" if unknown.

	PostedMessage
}

// PostedMessage is the known state of a message of an answer.
type PostedMessage struct {
	Ref            Ref       `json:"ref,omitempty"`   // "" if unknown; Find searches for it.
	StartedAt      time.Time `json:"begun"`           // Time before the call of Begin.
	FirstMarkdown  string    `json:"first,omitempty"` // The Markdown of the call of Begin, until Ref is known.
	ConfirmedBytes int       `json:"held"`            // Bytes of Markdown that the message is known to contain.
	IntendedBytes  int       `json:"meant"`           // Bytes of Markdown after the last call, if it succeeded.
	Streaming      bool      `json:"streaming"`       // It accepts appends.
	Closed         bool      `json:"closed"`          // It has its final state.
	Unknown        bool      `json:"unsure"`          // Its content is unknown.
}

// Store is the Service's database: events until they are handled, the mapping between threads of a surface and threads
// of the app, deliveries with their progress, and slots. Each method is one transaction.
type Store interface {
	// AddEvent stores an event once, and reports whether it is new.
	AddEvent(ctx context.Context, e Event) (added bool, err error)
	// ClaimEvents claims at most limit due events for a lease, oldest first, and of each lane only the first. With
	// quick, it claims only events without a lane.
	ClaimEvents(ctx context.Context, limit int, quick bool, lease time.Duration) ([]Event, error)
	// RenewEvents renews the claims of events for a lease, and returns the lost claims.
	RenewEvents(ctx context.Context, held []Event, lease time.Duration) (lost []uuid.UUID, err error)
	// SaveEvent stores the progress of an event. It returns ErrClaimLost if the claim was lost.
	SaveEvent(ctx context.Context, e Event) error
	// RequeueEvent ends the claim of an event and makes it due after a duration, with its number of attempts. It
	// returns ErrClaimLost like SaveEvent.
	RequeueEvent(ctx context.Context, e Event, after time.Duration) error
	// EndEvent deletes the content of an event and keeps its id. It returns ErrClaimLost like SaveEvent.
	EndEvent(ctx context.Context, e Event) error
	// WithdrawQuestion deletes the unhandled question events of a message, and reports whether one of them is in
	// handling.
	WithdrawQuestion(ctx context.Context, organizationID, installationID uuid.UUID, channel string, message Ref) (
		busy bool, err error)
	// DeleteExpiredEvents deletes the ids of events that ended more than a duration ago.
	DeleteExpiredEvents(ctx context.Context, ago time.Duration) error
	// CountEvents returns the number of events that wait or are in handling.
	CountEvents(ctx context.Context) (int, error)

	// FindConversation returns the member's thread for a thread of a surface, or nil.
	FindConversation(ctx context.Context, installationID uuid.UUID, owner identity.Owner, channel, thread string) (*uuid.UUID,
		error)
	// AddDelivery stores the delivery of an answer, claimed by this server, and the answer's thread as the
	// conversation's thread. If the delivery exists, AddDelivery changes nothing and returns added false.
	AddDelivery(ctx context.Context, d Delivery, lease time.Duration) (added bool, err error)
	// FindDelivery returns the delivery of an answer of an installation, or nil.
	FindDelivery(ctx context.Context, organizationID, installationID, answerID uuid.UUID) (*Delivery, error)
	// ListDeliveries returns the deliveries for a question's message, newest first.
	ListDeliveries(ctx context.Context, organizationID, installationID uuid.UUID, channel string, message Ref) (
		[]Delivery, error)
	// LastDelivery returns a person's newest delivery in a thread of a surface, or nil.
	LastDelivery(ctx context.Context, organizationID, installationID uuid.UUID, channel, thread, person string) (
		*Delivery, error)
	// FindFile returns the member's data source for a file of a surface, or nil. AddFile stores it.
	FindFile(ctx context.Context, installationID uuid.UUID, owner identity.Owner, fileID string) (*uuid.UUID, error)
	AddFile(ctx context.Context, installationID uuid.UUID, owner identity.Owner, fileID string, sourceID uuid.UUID) error

	// ClaimDeliveries claims at most limit unclaimed deliveries for a lease.
	ClaimDeliveries(ctx context.Context, limit int, lease time.Duration) ([]Delivery, error)
	// RenewDeliveries renews the claims of deliveries for a lease, and returns the answers of the lost ones.
	RenewDeliveries(ctx context.Context, held []Delivery, lease time.Duration) (lost []uuid.UUID, err error)
	// SaveDelivery stores the progress of a delivery. It returns ErrClaimLost if the claim was lost.
	SaveDelivery(ctx context.Context, d Delivery) error
	// EndDelivery stores the progress of a completed or failed delivery. It returns ErrClaimLost like SaveDelivery.
	EndDelivery(ctx context.Context, d Delivery) error
	// ReleaseDelivery ends the claim. Another server may claim the delivery after a duration.
	ReleaseDelivery(ctx context.Context, d Delivery, after time.Duration) error
	// CheckMember returns an error with the code fault.NotFound unless the member exists and is active.
	CheckMember(ctx context.Context, member identity.Owner) error
	// WatchChannels calls notify when there may be an event or a delivery to claim, until ctx ends.
	WatchChannels(ctx context.Context, notify func())

	// AcquireSlot takes or renews one of the slots under name, and reports whether the holder has one.
	AcquireSlot(ctx context.Context, name string, slots int, holder uuid.UUID, lease time.Duration) (held bool, err error)
	// ReleaseSlot releases the slot.
	ReleaseSlot(ctx context.Context, name string, holder uuid.UUID) error
}
