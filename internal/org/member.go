package org

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

// Member is a user as shown to administrators.
type Member struct {
	ID             uuid.UUID
	OrganizationID uuid.UUID
	Subject        string // "" until the identity provider has an account of the member.
	Email          string
	Name           string
	Role           identity.Role
	State          identity.State
	AuthType       identity.AuthType
	SSOLinked      bool // A NameID of the organization's identity provider is linked to the member.
	InvitedAt      *time.Time
	LastSignedInAt *time.Time // Nil for never.
	LimitRule      LimitRule
	LimitTokens    *int64 // Tokens per month by that rule; nil for no limit.
	TokensUsed     int64  // This month.

	// Of an account in the embedded user pool.
	SecondFactor  bool
	FactorResetBy string // The name of the administrator who requested a reset of the factor, or "".
}

// invited reports whether the member has not signed in since the last invitation.
func (m Member) invited() bool {
	return m.LastSignedInAt == nil || m.InvitedAt != nil && m.InvitedAt.After(*m.LastSignedInAt)
}

// MemberState is a state in the member list. Each member has exactly one.
type MemberState string

// The states of the member list.
const (
	MemberActive   MemberState = "active" // Has signed in, or needed no invitation.
	MemberInvited  MemberState = "invited"
	MemberInactive MemberState = "inactive"
)

// MemberQuery selects members. Zero values select all.
type MemberQuery struct {
	Search        string // Part of a name or an address, ignoring case and width.
	Role          identity.Role
	State         MemberState
	GroupID       uuid.UUID
	Offset, Limit int
}

// MemberEdit is an administrator's change to a member. Nil fields are not changed.
type MemberEdit struct {
	Name  *string
	Role  *identity.Role
	State *identity.State
	Limit *MemberLimit
}

// maxName is the maximum length of a person's name, in characters.
const maxName = 100

// Members returns a page of the members of the actor's organization, by name, and their total number. For
// administrators.
func (s *Service) Members(ctx context.Context, actor identity.Actor, q MemberQuery) ([]Member, int, error) {
	if err := administers(actor); err != nil {
		return nil, 0, err
	}
	return s.store.ListMembers(ctx, actor.OrganizationID, q)
}

// EachMember calls do for members of the actor's organization, by name. For administrators.
func (s *Service) EachMember(ctx context.Context, actor identity.Actor, q MemberQuery, do func(Member)) error {
	if err := administers(actor); err != nil {
		return err
	}
	return s.store.EachMember(ctx, actor.OrganizationID, q, do)
}

// EditMember changes a member of the actor's organization and returns them. The change takes effect with their next
// request. Errors: fault.Forbidden, fault.NotFound, fault.Invalid, fault.Conflict for a super-admin who is still
// needed, and ErrNoSeat if there is no seat for a member who becomes active.
func (s *Service) EditMember(ctx context.Context, actor identity.Actor, userID uuid.UUID, edit MemberEdit) (Member,
	error,
) {
	if err := administers(actor); err != nil {
		return Member{}, err
	}
	if err := edit.clean(); err != nil {
		return Member{}, err
	}
	member, err := s.change(ctx, actor, userID, func(r MemberContext) (MemberChange, error) { return r.edit(edit) })
	if err != nil {
		return Member{}, err
	}
	s.Settle(ctx, userID)
	return member, nil
}

// RemoveMember removes a member of the actor's organization with their threads. Errors: fault.Forbidden,
// fault.NotFound, and fault.Conflict for a super-admin who is still needed.
func (s *Service) RemoveMember(ctx context.Context, actor identity.Actor, userID uuid.UUID) error {
	_, err := s.change(ctx, actor, userID, MemberContext.remove)
	if err == nil {
		s.Settle(ctx, userID)
	}
	return err
}

// RemovalPreview describes the consequences of removing a member for their data.
type RemovalPreview struct {
	// Numbers of records that are deleted: threads without temporary ones, files that no shared skill uses, the member's
	// own skills, and shared links.
	Threads, Files, Skills, Shares int

	Kept []SharedDocuments `db:"-"`
}

// SharedDocuments are documents of a member that a skill of the organization uses. The skill keeps them.
type SharedDocuments struct {
	SkillID   uuid.UUID
	SkillName string
	Filenames []string
}

// PreviewRemoval returns the consequences of removing a member of the actor's organization. For administrators. Errors:
// fault.Forbidden, fault.NotFound.
func (s *Service) PreviewRemoval(ctx context.Context, actor identity.Actor, userID uuid.UUID) (RemovalPreview, error) {
	if err := administers(actor); err != nil {
		return RemovalPreview{}, err
	}
	return s.store.PreviewRemoval(ctx, actor.OrganizationID, userID)
}

// UnlinkMember removes the links of a member of the actor's organization to its identity provider, and ends their
// sessions: their next single sign-on is treated as their first. Errors: fault.Forbidden, fault.NotFound, and
// fault.Conflict for a member who is not linked.
func (s *Service) UnlinkMember(ctx context.Context, actor identity.Actor, userID uuid.UUID) error {
	_, err := s.change(ctx, actor, userID, MemberContext.unlink)
	return err
}

// EndMemberSessions ends all sessions of a member of the actor's organization. Errors: fault.Forbidden, fault.NotFound.
func (s *Service) EndMemberSessions(ctx context.Context, actor identity.Actor, userID uuid.UUID) error {
	_, err := s.change(ctx, actor, userID, MemberContext.endSessions)
	return err
}

// change applies the change of an administrator to a member of their organization. decide is called if the
// administrator may change the member.
func (s *Service) change(ctx context.Context, actor identity.Actor, userID uuid.UUID,
	decide func(MemberContext) (MemberChange, error),
) (Member, error) {
	if err := administers(actor); err != nil {
		return Member{}, err
	}
	return s.store.ChangeMember(ctx, actor.OrganizationID, userID, AuditActorOf(actor),
		func(r MemberContext) (MemberChange, error) {
			if err := r.touch(actor.ID); err != nil {
				return MemberChange{}, err
			}
			return decide(r)
		})
}

// DisableMember makes any member inactive on behalf of an operator, and returns them. If no member has the address, the
// error has the code fault.NotFound.
func (s *Service) DisableMember(ctx context.Context, operator AuditActor, email string) (Member, error) {
	return s.operate(ctx, operator, email, MemberContext.disable)
}

// EnableMember makes a member active again on behalf of an operator. The errors are those of DisableMember, and
// ErrNoSeat.
func (s *Service) EnableMember(ctx context.Context, operator AuditActor, email string) (Member, error) {
	return s.operate(ctx, operator, email, MemberContext.enable)
}

// operate changes a member on behalf of an operator.
func (s *Service) operate(ctx context.Context, operator AuditActor, email string,
	decide func(MemberContext) (MemberChange, error),
) (Member, error) {
	found, err := s.store.FindMemberByEmail(ctx, strings.ToLower(strings.TrimSpace(email)))
	if err != nil {
		return Member{}, err
	}
	member, err := s.store.ChangeMember(ctx, found.OrganizationID, found.ID, operator, decide)
	if err != nil {
		return Member{}, err
	}
	s.Settle(ctx, member.ID)
	return member, nil
}

// clean trims the edit and validates the parts that do not depend on the member.
func (e *MemberEdit) clean() error {
	if e.Name != nil {
		name, err := cleanName("name", *e.Name)
		if err != nil {
			return err
		}
		e.Name = &name
	}
	if e.Role != nil && !assignable(*e.Role) {
		return fault.InvalidField("role", "指定できない役割です。")
	}
	if e.State != nil && *e.State != identity.StateActive && *e.State != identity.StateInactive {
		return fault.InvalidField("state", "指定できない状態です。")
	}
	if e.Limit != nil {
		return e.Limit.check()
	}
	return nil
}

// ValidName reports whether a name is valid for a member.
func ValidName(name string) bool {
	clean, err := cleanName("name", name)
	return err == nil && clean == name
}

// cleanName trims and validates a person's name.
func cleanName(field, name string) (string, error) {
	name = strings.TrimSpace(name)
	switch {
	case runes.Blank(name):
		return "", fault.InvalidField(field, "名前を入力してください。")
	case utf8.RuneCountInString(name) > maxName:
		return "", fault.InvalidField(field, "名前は%d文字以内で入力してください。", maxName)
	case strings.ContainsFunc(name, runes.NotInName) || !utf8.ValidString(name):
		return "", fault.InvalidField(field, "名前に使えない文字が含まれています。")
	}
	return name, nil
}
