package skill

import (
	"cmp"
	"context"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

// Limits for the skills created in the app.
const (
	MaxPerPerson       = 200 // Skills of a person, including archived ones.
	MaxPerOrganization = 500 // Skills of an organization, including archived ones.
	maxMembers         = 500 // Selected members of a skill.
	maxGroups          = 100 // Selected groups of a skill.
	maxNote            = 1000
	draftSlots         = 20 // Drafts of a person; a further one replaces the oldest.
)

// Audience is the set of people who may use a skill.
type Audience string

// The audiences.
const (
	AudienceSelf         Audience = "self"         // The owner only.
	AudienceOrganization Audience = "organization" // All members.
	AudienceMembers      Audience = "members"      // The selected members, and those of the selected groups.
)

// Valid reports whether the audience is one of the above.
func (a Audience) Valid() bool {
	return a == AudienceSelf || a == AudienceOrganization || a == AudienceMembers
}

// Errors with codes for clients.
var (
	ErrNoSkill   = fault.Errorf(fault.NotFound, "スキルが見つかりません。")
	ErrNoRequest = fault.Errorf(fault.NotFound,
		"この申請は取り下げられたか、新しい内容の申請に置き換えられました。申請の一覧で確認してください。")
	ErrRequestConflict = fault.Errorf(fault.RequestConflict, "同じ request_id が別の内容で使われています。")
	ErrChanged         = fault.Errorf(fault.Conflict,
		"編集している間に、ほかの画面またはほかの人がこのスキルを保存しました。最新の版を確認してから、もう一度保存してください。")
)

// Editor is a person who edits skills: their own, and as an administrator also those of the organization. Other skills
// are treated as if they did not exist.
type Editor struct {
	OrganizationID uuid.UUID
	UserID         uuid.UUID
	Admin          bool
	By             org.AuditActor
}

func editorOf(actor identity.Actor) Editor {
	return Editor{
		OrganizationID: actor.OrganizationID, UserID: actor.ID, Admin: actor.Role.IsAdmin(), By: org.AuditActorOf(actor),
	}
}

// Member is a member who may use a skill.
type Member struct {
	ID    uuid.UUID
	Name  string
	Email string
}

// Group is a group whose members may use a skill.
type Group struct {
	ID   uuid.UUID
	Name string
}

// DocumentInfo is a document of a skill as shown to its editors.
type DocumentInfo struct {
	ID        uuid.UUID
	Filename  string
	Status    string // The status of the data source.
	OwnerName string // Empty if only skills use it, because its owner has deleted it or left.
}

// CustomSkill is a skill created in the app, as shown to its editors.
type CustomSkill struct {
	ID        uuid.UUID
	OwnerID   *uuid.UUID // Nil for a skill of the organization.
	Audience  Audience
	Members   []Member // For AudienceMembers, by name.
	Groups    []Group  // For AudienceMembers, by name.
	Content   Content
	Documents []DocumentInfo // Those of Content.DocumentIDs that still exist.
	Version   int
	Archived  bool
	UpdatedAt time.Time
	UpdatedBy string
	Request   *Request // The newest request to publish it, or nil.

	MissingDocuments int // Number of documents deleted since the skill was last saved.
}

// Input is the input for saving a new or existing skill.
type Input struct {
	RequestID   uuid.UUID
	Audience    Audience
	MemberIDs   []uuid.UUID
	GroupIDs    []uuid.UUID
	Content     Content
	BaseVersion int // The edited version; 0 for a new skill.
}

// Version is a saved version of a skill.
type Version struct {
	Version   int
	UserName  string
	CreatedAt time.Time
	Content   *Content // Nil in lists.
}

// RequestState is the state of a request to publish.
type RequestState string

// The states of a request.
const (
	RequestPending  RequestState = "pending"
	RequestApproved RequestState = "approved"
	RequestRejected RequestState = "rejected"
)

// Request is a person's request to publish their own skill in the organization.
type Request struct {
	ID        uuid.UUID
	SkillID   uuid.UUID
	SkillName string
	IconPath  string
	Version   int // The version to publish.
	UserName  string
	UserEmail string
	Note      string
	State     RequestState
	Reason    string // The reason of a rejection.
	CreatedAt time.Time
	DecidedAt *time.Time
	Content   *Content // The content of that version; nil in lists.
	Documents []DocumentInfo
}

// Decision is an administrator's decision on a request.
type Decision struct {
	Approve bool
	Reason  string
}

// Shelf selects a list of skills to edit.
type Shelf string

// The shelves.
const (
	ShelfOwn          Shelf = "own"
	shelfOrganization Shelf = "organization"
)

// Valid reports whether the shelf exists.
func (s Shelf) Valid() bool { return s == ShelfOwn || s == shelfOrganization }

// KeyedCategory is a category with its key in files.
type KeyedCategory struct {
	Category
	Key string // Empty for a built-in category; Builtin has its key.
}

// Library manages the skills created in the app. It is safe for concurrent use.
type Library struct{ store Store }

// NewLibrary returns a Library on the given store.
func NewLibrary(store Store) *Library { return &Library{store: store} }

// Create creates a skill: the actor's own with AudienceSelf, otherwise one of the organization, which requires an
// administrator.
func (l *Library) Create(ctx context.Context, actor identity.Actor, s Input) (CustomSkill, error) {
	s.BaseVersion = 0
	return l.save(ctx, editorOf(actor), uuid.Nil, s)
}

// Change saves a new version of a skill.
func (l *Library) Change(ctx context.Context, actor identity.Actor, id uuid.UUID, s Input) (CustomSkill, error) {
	return l.save(ctx, editorOf(actor), id, s)
}

func (l *Library) save(ctx context.Context, m Editor, id uuid.UUID, s Input) (CustomSkill, error) {
	if s.Audience != AudienceSelf && !m.Admin {
		return CustomSkill{}, org.ErrForbidden
	}
	switch {
	case s.Audience == AudienceMembers && len(s.MemberIDs)+len(s.GroupIDs) == 0:
		return CustomSkill{}, fault.InvalidField("member_ids", "利用できるメンバーまたはグループを一つ以上選択してください。")
	case len(s.MemberIDs) > maxMembers:
		return CustomSkill{}, fault.InvalidField("member_ids", "メンバーは%d人まで選択できます。", maxMembers)
	case len(s.GroupIDs) > maxGroups:
		return CustomSkill{}, fault.InvalidField("group_ids", "グループは%d件まで選択できます。", maxGroups)
	case s.Audience != AudienceMembers:
		s.MemberIDs, s.GroupIDs = nil, nil
	}
	s.Content = s.Content.tidied()
	if err := s.Content.check(); err != nil {
		return CustomSkill{}, err
	}
	return l.store.SaveSkill(ctx, m, id, s)
}

// Copy creates a skill as a copy of another one.
func (l *Library) Copy(
	ctx context.Context, actor identity.Actor, id, requestID uuid.UUID, audience Audience,
) (CustomSkill, error) {
	m := editorOf(actor)
	content, err := l.store.FindTemplate(ctx, m, id)
	if err != nil {
		return CustomSkill{}, err
	}
	content.Name = copyName(content.Name)
	return l.save(ctx, m, uuid.Nil, Input{RequestID: requestID, Audience: audience, Content: content})
}

// copyName returns the name of a copy within the length limit of names.
func copyName(name string) string {
	const suffix = "のコピー"
	return runes.First(name, maxName-utf8.RuneCountInString(suffix)) + suffix
}

// Archive archives or restores a skill.
func (l *Library) Archive(ctx context.Context, actor identity.Actor, id uuid.UUID, archived bool) (CustomSkill, error) {
	return l.store.SetArchived(ctx, editorOf(actor), id, archived)
}

// Find returns a skill that the actor may edit.
func (l *Library) Find(ctx context.Context, actor identity.Actor, id uuid.UUID) (CustomSkill, error) {
	return l.store.FindCustomSkill(ctx, editorOf(actor), id)
}

// List returns a page of the skills that the actor may edit, and their total number.
func (l *Library) List(
	ctx context.Context, actor identity.Actor, shelf Shelf, archived bool, offset, limit int,
) ([]CustomSkill, int, error) {
	m := editorOf(actor)
	if shelf == shelfOrganization && !m.Admin {
		return nil, 0, org.ErrForbidden
	}
	return l.store.ListCustomSkills(ctx, m, shelf, archived, offset, limit)
}

// Versions returns a page of the versions of a skill, newest first, and their total number.
func (l *Library) Versions(
	ctx context.Context, actor identity.Actor, id uuid.UUID, offset, limit int,
) ([]Version, int, error) {
	return l.store.ListVersions(ctx, editorOf(actor), id, offset, limit)
}

// Version returns one version of a skill.
func (l *Library) Version(ctx context.Context, actor identity.Actor, id uuid.UUID, version int) (Version, error) {
	return l.store.FindVersion(ctx, editorOf(actor), id, version)
}

// unnamed is the name and description for a trial of a skill without them.
const unnamed = "名称未設定のスキル"

// Try stores the content of an editor for a trial, and returns the skill to use for it. slot identifies the editor. The
// content needs a prompt; its name and description may be empty.
func (l *Library) Try(ctx context.Context, actor identity.Actor, slot uuid.UUID, c Content) (uuid.UUID, error) {
	c = c.tidied()
	c.Name, c.Description = cmp.Or(c.Name, unnamed), cmp.Or(c.Description, unnamed)
	if err := c.check(); err != nil {
		return uuid.Nil, err
	}
	return l.store.SaveDraft(ctx, editorOf(actor), slot, c, draftSlots)
}

// RequestPublication requests that administrators publish the newest version of a person's own skill in the
// organization.
func (l *Library) RequestPublication(
	ctx context.Context, actor identity.Actor, id uuid.UUID, note string,
) (CustomSkill, error) {
	if err := checkNote("note", note); err != nil {
		return CustomSkill{}, err
	}
	return l.store.RequestPublication(ctx, editorOf(actor), id, note)
}

func checkNote(field, note string) error {
	var w contentCheck
	w.text(field, "コメント", note, maxNote, false)
	return w.err()
}

// WithdrawRequest withdraws a pending request.
func (l *Library) WithdrawRequest(ctx context.Context, actor identity.Actor, id uuid.UUID) (CustomSkill, error) {
	return l.store.WithdrawRequest(ctx, editorOf(actor), id)
}

// Requests returns the pending requests of the actor's organization, oldest first. For administrators.
func (l *Library) Requests(ctx context.Context, actor identity.Actor, offset, limit int) ([]Request, int, error) {
	m := editorOf(actor)
	if !m.Admin {
		return nil, 0, org.ErrForbidden
	}
	return l.store.ListRequests(ctx, m, offset, limit)
}

// Request returns one request with the content to publish. For administrators.
func (l *Library) Request(ctx context.Context, actor identity.Actor, id uuid.UUID) (Request, error) {
	m := editorOf(actor)
	if !m.Admin {
		return Request{}, org.ErrForbidden
	}
	return l.store.FindRequest(ctx, m, id)
}

// Decide approves or rejects a request. For administrators.
func (l *Library) Decide(ctx context.Context, actor identity.Actor, id uuid.UUID, d Decision) error {
	m := editorOf(actor)
	if !m.Admin {
		return org.ErrForbidden
	}
	if err := checkNote("reason", d.Reason); err != nil {
		return err
	}
	return l.store.DecideRequest(ctx, m, id, d)
}

// Hide hides a built-in or imported skill from the organization's members, or shows it again. For administrators.
func (l *Library) Hide(ctx context.Context, actor identity.Actor, id uuid.UUID, hidden bool) error {
	m := editorOf(actor)
	if !m.Admin {
		return org.ErrForbidden
	}
	return l.store.HideSkill(ctx, m, id, hidden)
}

// Hidden returns the skills hidden by the organization. For administrators.
func (l *Library) Hidden(ctx context.Context, actor identity.Actor) ([]Skill, error) {
	m := editorOf(actor)
	if !m.Admin {
		return nil, org.ErrForbidden
	}
	return l.store.ListHidden(ctx, m)
}
