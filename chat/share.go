package chat

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// Share is a thread shared with its owner's organization. It shows the thread as it was when the share was created or
// last updated. It cannot be used while the owner may not open the thread, for example after leaving its project.
type Share struct {
	ID            uuid.UUID
	ThreadID      uuid.UUID
	UserID        uuid.UUID
	OwnerName     string
	OwnerEmail    string
	SkillID       uuid.UUID
	SkillName     string
	SkillIconPath string
	Title         string
	Messages      int // Number of messages.
	CreatedAt     time.Time
	UpdatedAt     time.Time // When the snapshot was taken.
}

// Snapshot is the content of a share: a thread up to a message.
type Snapshot struct {
	ShareID  uuid.UUID // The id for a new share. An existing share keeps its id.
	ThreadID uuid.UUID
	Leaf     uuid.UUID // The last message of the branch.
}

// Errors of the Store about shares, with codes for clients.
var (
	ErrNoShare        = fault.Errorf(fault.NotFound, "共有されているチャットが見つかりません。")
	ErrShareRunning   = fault.Errorf(fault.Conflict, "回答の作成が完了してから共有してください。")
	ErrShareTemporary = fault.Errorf(fault.Conflict, "一時チャットは共有できません。")
	ErrShareProject   = fault.Errorf(fault.Conflict, "プロジェクトのメンバーと共有しているチャットのリンクは作成できません。")
)

// Sharer shares threads with members of their owner's organization.
type Sharer struct {
	store  Store
	events Events
}

// NewSharer returns a Sharer. events is notified of threads that are copied from shares; it may be nil.
func NewSharer(store Store, events Events) *Sharer {
	if events == nil {
		events = noEvents{}
	}
	return &Sharer{store: store, events: events}
}

// Share shares a thread up to a message with the actor's organization. If the thread is already shared, it replaces the
// snapshot.
func (s *Sharer) Share(ctx context.Context, actor identity.Actor, threadID, leaf uuid.UUID) (Share, error) {
	// Not a UUIDv7, which reveals its creation time and has fewer random bits: the id is part of a link.
	snapshot := Snapshot{ShareID: uuid.New(), ThreadID: threadID, Leaf: leaf}
	return s.store.PutShare(ctx, actor.Owner(), snapshot, org.AuditActorOf(actor))
}

// Own returns a page of the actor's shares, or the share of one thread, last updated first, and their total number.
func (s *Sharer) Own(ctx context.Context, actor identity.Actor, threadID *uuid.UUID, offset, limit int) ([]Share, int,
	error,
) {
	return s.store.ListShares(ctx, actor.OrganizationID, &actor.ID, threadID, offset, limit)
}

// All returns a page of the shares of the actor's organization. For administrators.
func (s *Sharer) All(ctx context.Context, actor identity.Actor, offset, limit int) ([]Share, int, error) {
	if !actor.Role.IsAdmin() {
		return nil, 0, org.ErrForbidden
	}
	return s.store.ListShares(ctx, actor.OrganizationID, nil, nil, offset, limit)
}

// Find returns a share of the actor's organization.
func (s *Sharer) Find(ctx context.Context, actor identity.Actor, shareID uuid.UUID) (Share, error) {
	return s.store.FindShare(ctx, actor.OrganizationID, shareID)
}

// Messages returns a page of the messages of a share in the actor's organization, oldest first.
func (s *Sharer) Messages(ctx context.Context, actor identity.Actor, shareID uuid.UUID, offset, limit int) ([]Message,
	error,
) {
	return s.store.SharedMessages(ctx, actor.Owner(), shareID, offset, limit)
}

// End removes one of the actor's shares or, for administrators, any share of the organization.
func (s *Sharer) End(ctx context.Context, actor identity.Actor, shareID uuid.UUID) error {
	userID := &actor.ID
	if actor.Role.IsAdmin() {
		userID = nil
	}
	return s.store.EndShare(ctx, actor.OrganizationID, shareID, userID, org.AuditActorOf(actor))
}

// Copy copies a share into a new thread of the actor. requestID makes the call idempotent; nil for none.
func (s *Sharer) Copy(ctx context.Context, actor identity.Actor, shareID uuid.UUID, requestID *uuid.UUID) (Thread,
	error,
) {
	owner := actor.Owner()
	thread, created, err := s.store.CopyShare(ctx, owner, shareID, NewThread{ID: uuidv7.New(), RequestID: requestID})
	if err == nil && created {
		s.events.ThreadChanged(Readers{Owner: owner}, thread)
	}
	return thread, err
}
