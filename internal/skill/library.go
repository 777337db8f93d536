package skill

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// Limits of what is made in the app.
const (
	MaxOwn          = 200 // Skills of a person, archived ones included.
	MaxOrganization = 500 // Skills of an organization, archived ones included.
	MaxMembers      = 500 // Chosen members of a skill.
	maxNote         = 1000
	draftSlots      = 20 // Drafts of a person; the oldest one gives way.
)

// Audience says who may use a skill.
type Audience string

// The audiences.
const (
	AudienceSelf         Audience = "self"         // Its owner: a person's own skill.
	AudienceOrganization Audience = "organization" // All members.
	AudienceMembers      Audience = "members"      // The chosen ones.
)

// Valid reports whether the audience is one of the above.
func (a Audience) Valid() bool {
	return a == AudienceSelf || a == AudienceOrganization || a == AudienceMembers
}

// Errors that clients know by their codes.
var (
	ErrNoSkill         = fault.Errorf(fault.NotFound, "スキルが見つかりません。")
	ErrNoRequest       = fault.Errorf(fault.NotFound, "公開の申請が見つかりません。")
	ErrRequestConflict = fault.Errorf(fault.RequestConflict, "同じ request_id が別の内容で使われています。")
	ErrChanged         = fault.Errorf(fault.Conflict,
		"編集している間に、ほかの画面またはほかの人がこのスキルを保存しました。最新の版を確認してから、もう一度保存してください。")
)

// Maker is who makes skills: a person makes their own, an administrator also those of the organization. What a Maker
// may not edit is to them as if it did not exist.
type Maker struct {
	OrganizationID uuid.UUID
	UserID         uuid.UUID
	Admin          bool
	By             org.Doer
}

func makerOf(actor identity.Actor) Maker {
	return Maker{
		OrganizationID: actor.OrganizationID, UserID: actor.ID, Admin: org.IsAdmin(actor.Role), By: org.DoerOf(actor),
	}
}

// Member is a member who may use a skill.
type Member struct {
	ID    uuid.UUID
	Name  string
	Email string
}

// DocumentInfo is a document of a skill as those who edit the skill see it.
type DocumentInfo struct {
	ID        uuid.UUID
	Filename  string
	Status    string // As of data sources.
	OwnerName string // Empty if only skills have it: its owner has deleted it, or left.
}

// SharedDocuments are the documents of one person that a skill of the organization uses.
type SharedDocuments struct {
	SkillID   uuid.UUID
	SkillName string
	Filenames []string
}

// Made is a skill that was made in the app, as those who may edit it see it.
type Made struct {
	ID        uuid.UUID
	OwnerID   *uuid.UUID // Nil: the organization's.
	Audience  Audience
	Members   []Member // With AudienceMembers, by name.
	Content   Content
	Documents []DocumentInfo // Those of Content.DocumentIDs that are still there.
	Version   int
	Archived  bool
	UpdatedAt time.Time
	UpdatedBy string
	Request   *Request // The newest request to publish it, nil if there is none.

	MissingDocuments int // How many documents it had when it was last saved and no longer has.
}

// Saving is what is saved of a skill, new or not.
type Saving struct {
	RequestID uuid.UUID
	Audience  Audience
	MemberIDs []uuid.UUID
	Content   Content
	Base      int // The version that was edited, 0 for a new skill.
}

// Version is a saved version of a skill.
type Version struct {
	Version   int
	UserName  string
	CreatedAt time.Time
	Content   *Content // Nil in lists.
}

// RequestState is how far a request to publish is.
type RequestState string

// The states of a request.
const (
	RequestPending  RequestState = "pending"
	RequestApproved RequestState = "approved"
	RequestRejected RequestState = "rejected"
)

// Request is a person's request to have an own skill published in the organization.
type Request struct {
	ID        uuid.UUID
	SkillID   uuid.UUID
	SkillName string
	IconPath  string
	Version   int // Which is to be published.
	UserName  string
	UserEmail string
	Note      string
	State     RequestState
	Reason    string // Why it was rejected.
	CreatedAt time.Time
	DecidedAt *time.Time
	Content   *Content // Of that version. Nil in lists.
	Documents []DocumentInfo
}

// Decision is what an administrator decides on a request.
type Decision struct {
	Approve bool
	Reason  string
}

// Shelf names a list of skills to edit.
type Shelf string

// The shelves.
const (
	ShelfOwn          Shelf = "own"
	ShelfOrganization Shelf = "organization"
)

// LibraryStore is what a Library needs of a database. Each method is one transaction. What the Maker may not edit is
// ErrNoSkill.
type LibraryStore interface {
	CategoryStore

	// SaveSkill stores a new skill, if id is uuid.Nil, or a new version, and returns it. A repeated request returns what
	// it stored, as it is now; with another content it is ErrRequestConflict. Errors: ErrChanged if the version that was
	// edited is not the newest, fault.Conflict for a name that is taken or too many skills, fault.Invalid for a category,
	// documents or members that are not there. Documents must be the Maker's or belong to the skill already.
	SaveSkill(ctx context.Context, m Maker, id uuid.UUID, s Saving) (Made, error)

	// SetArchived archives a skill or brings it back. Repeating it changes nothing.
	SetArchived(ctx context.Context, m Maker, id uuid.UUID, archived bool) (Made, error)

	// FindMade returns one skill.
	FindMade(ctx context.Context, m Maker, id uuid.UUID) (Made, error)

	// ListMade returns a page of a shelf, last saved first, without prompts, and how many there are.
	ListMade(ctx context.Context, m Maker, shelf Shelf, archived bool, offset, limit int) ([]Made, int, error)

	// ListVersions returns the versions of a skill, newest first.
	ListVersions(ctx context.Context, m Maker, id uuid.UUID, offset, limit int) ([]Version, int, error)

	// FindVersion returns one version.
	FindVersion(ctx context.Context, m Maker, id uuid.UUID, version int) (Version, error)

	// FindTemplate returns a skill to be copied: one that the Maker may edit, a built-in one, or for an administrator an
	// imported one that the organization has.
	FindTemplate(ctx context.Context, m Maker, id uuid.UUID) (Content, error)

	// SaveDraft stores what is being tried in an editor, and returns the id of its skill. Of a person's drafts the one
	// that was not tried for the longest time gives way to a new one beyond slots.
	SaveDraft(ctx context.Context, m Maker, slot uuid.UUID, c Content, slots int) (uuid.UUID, error)

	// RequestPublication stores a request for the newest version of an own skill, in place of one that is pending.
	RequestPublication(ctx context.Context, m Maker, id uuid.UUID, note string) (Made, error)

	// WithdrawRequest removes a pending request. Without one it does nothing.
	WithdrawRequest(ctx context.Context, m Maker, id uuid.UUID) (Made, error)

	// ListRequests returns the organization's pending requests, oldest first.
	ListRequests(ctx context.Context, m Maker, offset, limit int) ([]Request, int, error)

	// FindRequest returns one request of the organization with the content that would be published, or ErrNoRequest.
	FindRequest(ctx context.Context, m Maker, id uuid.UUID) (Request, error)

	// DecideRequest approves or rejects a request. An approved skill becomes one of the organization, or a new version
	// of the one that was made of it before. Deciding the same again changes nothing; deciding otherwise is
	// fault.Conflict.
	DecideRequest(ctx context.Context, m Maker, id uuid.UUID, d Decision) error

	// HideSkill has the organization not offer a skill that all organizations have, or offer it again.
	HideSkill(ctx context.Context, m Maker, id uuid.UUID, hidden bool) error

	// ListHidden returns the skills that the organization does not offer.
	ListHidden(ctx context.Context, m Maker) ([]Skill, error)

	// ListShared returns the skills of the organization that use documents of a member, by name. If the user is no
	// member, the error has the code fault.NotFound.
	ListShared(ctx context.Context, m Maker, userID uuid.UUID) ([]SharedDocuments, error)

	// ListAllCategories returns the categories that the organization has, with skills or without.
	ListAllCategories(ctx context.Context, organizationID uuid.UUID) ([]KeyedCategory, error)
}

// KeyedCategory is a category with the key that files name it by.
type KeyedCategory struct {
	Category
	Key string // Empty for a built-in one; Builtin knows its key.
}

// Library is where skills are made. It is safe for concurrent use.
type Library struct{ store LibraryStore }

// NewLibrary returns a Library on the given store.
func NewLibrary(store LibraryStore) *Library { return &Library{store: store} }

// Create makes a skill: with AudienceSelf the actor's own, otherwise one of the organization, which only administrators
// may make.
func (l *Library) Create(ctx context.Context, actor identity.Actor, s Saving) (Made, error) {
	s.Base = 0
	return l.save(ctx, makerOf(actor), uuid.Nil, s)
}

// Change saves a new version of a skill.
func (l *Library) Change(ctx context.Context, actor identity.Actor, id uuid.UUID, s Saving) (Made, error) {
	return l.save(ctx, makerOf(actor), id, s)
}

func (l *Library) save(ctx context.Context, m Maker, id uuid.UUID, s Saving) (Made, error) {
	if s.Audience != AudienceSelf && !m.Admin {
		return Made{}, org.ErrForbidden
	}
	switch {
	case s.Audience == AudienceMembers && len(s.MemberIDs) == 0:
		return Made{}, fault.InvalidField("member_ids", "利用できるメンバーを一人以上選択してください。")
	case len(s.MemberIDs) > MaxMembers:
		return Made{}, fault.InvalidField("member_ids", "メンバーは%d人まで選択できます。", MaxMembers)
	case s.Audience != AudienceMembers:
		s.MemberIDs = nil
	}
	s.Content = s.Content.tidied()
	if err := s.Content.check(); err != nil {
		return Made{}, err
	}
	return l.store.SaveSkill(ctx, m, id, s)
}

// Copy makes a new skill of another one.
func (l *Library) Copy(
	ctx context.Context, actor identity.Actor, id, requestID uuid.UUID, audience Audience,
) (Made, error) {
	m := makerOf(actor)
	content, err := l.store.FindTemplate(ctx, m, id)
	if err != nil {
		return Made{}, err
	}
	content.Name = copyName(content.Name)
	return l.save(ctx, m, uuid.Nil, Saving{RequestID: requestID, Audience: audience, Content: content})
}

// copyName returns the name of a copy, not longer than a name may be.
func copyName(name string) string {
	const suffix = "のコピー"
	runes := []rune(name)
	return string(runes[:min(len(runes), maxName-len([]rune(suffix)))]) + suffix
}

// Archive takes a skill off the lists, or brings it back.
func (l *Library) Archive(ctx context.Context, actor identity.Actor, id uuid.UUID, archived bool) (Made, error) {
	return l.store.SetArchived(ctx, makerOf(actor), id, archived)
}

// Find returns a skill that the actor may edit.
func (l *Library) Find(ctx context.Context, actor identity.Actor, id uuid.UUID) (Made, error) {
	return l.store.FindMade(ctx, makerOf(actor), id)
}

// List returns a page of the skills that the actor may edit, and how many there are.
func (l *Library) List(
	ctx context.Context, actor identity.Actor, shelf Shelf, archived bool, offset, limit int,
) ([]Made, int, error) {
	m := makerOf(actor)
	if shelf == ShelfOrganization && !m.Admin {
		return nil, 0, org.ErrForbidden
	}
	return l.store.ListMade(ctx, m, shelf, archived, offset, limit)
}

// Versions returns a page of the versions of a skill, newest first, and how many there are.
func (l *Library) Versions(
	ctx context.Context, actor identity.Actor, id uuid.UUID, offset, limit int,
) ([]Version, int, error) {
	return l.store.ListVersions(ctx, makerOf(actor), id, offset, limit)
}

// Version returns one version of a skill.
func (l *Library) Version(ctx context.Context, actor identity.Actor, id uuid.UUID, version int) (Version, error) {
	return l.store.FindVersion(ctx, makerOf(actor), id, version)
}

// unnamed is the name and the description of a skill that is tried without them.
const unnamed = "名称未設定のスキル"

// Try stores a content that is being tried in an editor, which the slot names, and returns the skill to try it with. The
// content needs a prompt; its name and its description may be empty.
func (l *Library) Try(ctx context.Context, actor identity.Actor, slot uuid.UUID, c Content) (uuid.UUID, error) {
	c = c.tidied()
	c.Name, c.Description = cmp.Or(c.Name, unnamed), cmp.Or(c.Description, unnamed)
	if err := c.check(); err != nil {
		return uuid.Nil, err
	}
	return l.store.SaveDraft(ctx, makerOf(actor), slot, c, draftSlots)
}

// RequestPublication asks the administrators to publish the newest version of an own skill in the organization.
func (l *Library) RequestPublication(
	ctx context.Context, actor identity.Actor, id uuid.UUID, note string,
) (Made, error) {
	if err := checkNote("note", note); err != nil {
		return Made{}, err
	}
	return l.store.RequestPublication(ctx, makerOf(actor), id, note)
}

func checkNote(field, note string) error {
	var w contentCheck
	w.text(field, "コメント", note, maxNote, false)
	return w.err()
}

// WithdrawRequest takes back a pending request.
func (l *Library) WithdrawRequest(ctx context.Context, actor identity.Actor, id uuid.UUID) (Made, error) {
	return l.store.WithdrawRequest(ctx, makerOf(actor), id)
}

// Requests returns the pending requests of the actor's organization, oldest first. For administrators.
func (l *Library) Requests(ctx context.Context, actor identity.Actor, offset, limit int) ([]Request, int, error) {
	m := makerOf(actor)
	if !m.Admin {
		return nil, 0, org.ErrForbidden
	}
	return l.store.ListRequests(ctx, m, offset, limit)
}

// Request returns one request with what would be published. For administrators.
func (l *Library) Request(ctx context.Context, actor identity.Actor, id uuid.UUID) (Request, error) {
	m := makerOf(actor)
	if !m.Admin {
		return Request{}, org.ErrForbidden
	}
	return l.store.FindRequest(ctx, m, id)
}

// Decide approves or rejects a request. For administrators.
func (l *Library) Decide(ctx context.Context, actor identity.Actor, id uuid.UUID, d Decision) error {
	m := makerOf(actor)
	if !m.Admin {
		return org.ErrForbidden
	}
	if err := checkNote("reason", d.Reason); err != nil {
		return err
	}
	return l.store.DecideRequest(ctx, m, id, d)
}

// Shared returns the skills of the actor's organization that use documents of a member. The skills keep them when the
// member is removed. For administrators.
func (l *Library) Shared(ctx context.Context, actor identity.Actor, userID uuid.UUID) ([]SharedDocuments, error) {
	m := makerOf(actor)
	if !m.Admin {
		return nil, org.ErrForbidden
	}
	return l.store.ListShared(ctx, m, userID)
}

// Hide has the organization not offer a built-in or imported skill, or offer it again. For administrators.
func (l *Library) Hide(ctx context.Context, actor identity.Actor, id uuid.UUID, hidden bool) error {
	m := makerOf(actor)
	if !m.Admin {
		return org.ErrForbidden
	}
	return l.store.HideSkill(ctx, m, id, hidden)
}

// Hidden returns the skills that the organization does not offer. For administrators.
func (l *Library) Hidden(ctx context.Context, actor identity.Actor) ([]Skill, error) {
	m := makerOf(actor)
	if !m.Admin {
		return nil, org.ErrForbidden
	}
	return l.store.ListHidden(ctx, m)
}
