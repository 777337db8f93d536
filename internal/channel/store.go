package channel

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// ErrLost says that a claim is over: another server has the row, or it was deleted.
var ErrLost = fault.Errorf(fault.Conflict, "別のサーバーに引き継がれています。")

// Event is an event of an installation, and how far it is handled.
type Event struct {
	InstallationID uuid.UUID
	OrganizationID uuid.UUID
	Incoming       Incoming
	Lane           string // Events with the same lane are handled one after another; "" for none.
	Done           Handled
	Attempt        int       // From 1.
	Claim          uuid.UUID // Of the server that handles it.
	ReceivedAt     time.Time
}

// Handled is what has been done for an event already.
type Handled struct {
	Thread   string         `json:"thread,omitempty"`   // That Surface.Open has begun.
	Question *chat.Question `json:"question,omitempty"` // As it is asked.
	SkillID  uuid.UUID      `json:"skill_id,omitzero"`  // Of the thread that the question begins.
	Problems string         `json:"problems,omitempty"` // What the person is told about the question's files.
	Invited  bool           `json:"invited,omitempty"`  // The person was asked to be linked first.
	Waiting  bool           `json:"waiting,omitempty"`  // The person was told that another answer comes first.
}

// Delivery is an answer on its way to a surface, or delivered.
type Delivery struct {
	AnswerID       uuid.UUID
	OrganizationID uuid.UUID
	UserID         uuid.UUID
	ThreadID       uuid.UUID
	QuestionID     uuid.UUID
	InstallationID uuid.UUID
	Channel        string
	Thread         string
	Message        Ref // The question's; "" if there is none.
	Person         string
	PersonTeam     string
	Direct         bool
	Progress       Progress
	Ended          bool
	Claim          uuid.UUID // Of the server that delivers it.
}

// Owner returns the member who asked.
func (d Delivery) Owner() chat.Owner {
	return chat.Owner{OrganizationID: d.OrganizationID, UserID: d.UserID}
}

// Progress is how far a delivery is. It is stored before each call of the surface.
type Progress struct {
	Run      int      `json:"run,omitempty"`
	Posted   []Posted `json:"posted,omitempty"`
	Former   []Ref    `json:"former,omitempty"` // Messages that an earlier run needed.
	Attached bool     `json:"attached,omitempty"`
	// Attaching was tried.
	Attaching bool `json:"attaching,omitempty"`
}

// Posted is what is known of a message of an answer.
type Posted struct {
	Ref       Ref       `json:"ref,omitempty"`   // "" if its name is not known: Find looks for it.
	Begun     time.Time `json:"begun"`           // When Begin was to be called.
	First     string    `json:"first,omitempty"` // The Markdown that Begin was called with, until Ref is known.
	Held      int       `json:"held"`            // Bytes of Markdown that it was seen to take.
	Meant     int       `json:"meant"`           // What it holds if the last call succeeded.
	Streaming bool      `json:"streaming"`       // It can be appended to.
	Closed    bool      `json:"closed"`          // It has its final state.
	Unsure    bool      `json:"unsure"`          // What it holds is not known.
}

// EventStore stores what happens on surfaces until it is handled.
type EventStore interface {
	// AddEvent stores an event once, and reports whether it is new.
	AddEvent(ctx context.Context, e Event) (added bool, err error)
	// ClaimEvents claims at most limit events that are due, for a lease, the oldest ones: of each lane the first. With
	// quick, only events without a lane.
	ClaimEvents(ctx context.Context, limit int, quick bool, lease time.Duration) ([]Event, error)
	// SaveEvent stores what was done for an event. ErrLost says that the claim is over.
	SaveEvent(ctx context.Context, e Event) error
	// PutEventBack ends the claim of an event, which is due again after a time, with its number of attempts. ErrLost as
	// SaveEvent.
	PutEventBack(ctx context.Context, e Event, after time.Duration) error
	// EndEvent ends an event: its content is deleted, and its id is kept. ErrLost as SaveEvent.
	EndEvent(ctx context.Context, e Event) error
	// WithdrawQuestion deletes the unhandled events that ask what stands in a message, and reports whether one of them
	// is being handled.
	WithdrawQuestion(ctx context.Context, organizationID, installationID uuid.UUID, channel string, message Ref) (
		busy bool, err error)
	// ForgetEvents deletes the ids of events that ended longer ago.
	ForgetEvents(ctx context.Context, ago time.Duration) error
	// CountEvents returns how many events wait or are being handled.
	CountEvents(ctx context.Context) (int, error)
}

// ConversationStore stores which threads belong to which threads elsewhere.
type ConversationStore interface {
	// FindConversation returns the thread that a member has within a thread of a surface, nil for none.
	FindConversation(ctx context.Context, installationID uuid.UUID, owner chat.Owner, channel, thread string) (*uuid.UUID,
		error)
	// AddDelivery stores an answer that is to be delivered, claimed by this server, and its thread as that of the
	// conversation. One that is stored already stays as it is, and added is false.
	AddDelivery(ctx context.Context, d Delivery, lease time.Duration) (added bool, err error)
	// FindDelivery returns the delivery of an answer of an installation, nil for none.
	FindDelivery(ctx context.Context, organizationID, installationID, answerID uuid.UUID) (*Delivery, error)
	// ListDeliveries returns the deliveries for a question's message, newest first.
	ListDeliveries(ctx context.Context, organizationID, installationID uuid.UUID, channel string, message Ref) (
		[]Delivery, error)
	// LastDelivery returns the newest delivery of a person in a thread of a surface, nil for none.
	LastDelivery(ctx context.Context, organizationID, installationID uuid.UUID, channel, thread, person string) (
		*Delivery, error)
	// FindFile returns the data source that a member has of a file of a surface, nil for none; AddFile stores it.
	FindFile(ctx context.Context, installationID uuid.UUID, owner chat.Owner, fileID string) (*uuid.UUID, error)
	AddFile(ctx context.Context, installationID uuid.UUID, owner chat.Owner, fileID string, sourceID uuid.UUID) error
}

// Claimed names a claim of this server.
type Claimed struct {
	EventID  string    // Of an event, with its installation;
	ID       uuid.UUID // of a delivery, its answer.
	Claim    uuid.UUID
	Delivery bool
}

// DeliveryStore stores how far answers are delivered.
type DeliveryStore interface {
	// ClaimDeliveries claims at most limit deliveries that no server holds, for a lease.
	ClaimDeliveries(ctx context.Context, limit int, lease time.Duration) ([]Delivery, error)
	// SaveDelivery stores the progress of a delivery. ErrLost says that the claim is over.
	SaveDelivery(ctx context.Context, d Delivery) error
	// EndDelivery stores the progress of a delivery that is complete or cannot go on. ErrLost as SaveDelivery.
	EndDelivery(ctx context.Context, d Delivery) error
	// ReleaseDelivery ends the claim: another server may go on at once.
	ReleaseDelivery(ctx context.Context, d Delivery, after time.Duration) error
	// RenewClaims renews claims for a lease, and returns those that are over.
	RenewClaims(ctx context.Context, held []Claimed, lease time.Duration) (lost []uuid.UUID, err error)
	// WatchChannels calls notify when there may be an event or a delivery to claim, until the context ends.
	WatchChannels(ctx context.Context, notify func())
}

// HoldStore stores which servers hold one of the places of a name.
type HoldStore interface {
	// Hold takes or renews one of the places of a name, and reports whether the holder has one.
	Hold(ctx context.Context, name string, places int, holder uuid.UUID, lease time.Duration) (held bool, err error)
	// Release gives the place up.
	Release(ctx context.Context, name string, holder uuid.UUID) error
}

// Store is what the Service needs of a database. Each method is one transaction.
type Store interface {
	EventStore
	ConversationStore
	DeliveryStore
	HoldStore
}
