package org

import (
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// The permission rules. They are evaluated in the transaction of the change, with the organization locked, so that the
// second of two concurrent requests sees the result of the first.

// The errors of the rules.
var (
	ErrForbidden    = identity.ErrForbidden
	ErrSelf         = fault.Errorf(fault.Forbidden, "自分自身を変更または削除することはできません。")
	ErrLastSuper    = fault.Errorf(fault.Conflict, "有効な特権管理者が一人もいなくなるため、この操作はできません。")
	ErrLastPassword = fault.Errorf(fault.Conflict,
		"パスワードでログインできる特権管理者が一人もいなくなるため、この操作はできません。シングルサインオンの障害に備えて、一人以上必要です。")
	errSuperInactive = fault.Errorf(fault.Forbidden,
		"停止中の特権管理者は、IDプロバイダーから有効にできません。ほかの特権管理者が、メンバーの画面で有効にしてください。")
	ErrNoMember        = fault.Errorf(fault.NotFound, "メンバーが見つかりません。")
	ErrRequestConflict = fault.Errorf(fault.RequestConflict, "同じ request_id が別の内容で使われています。")
	ErrNoOrganization  = fault.Errorf(fault.NotFound, "組織が見つかりません。")
)

// MemberContext is the input of the rules: the member to change, and the organization's state at that moment.
type MemberContext struct {
	// Actor is the member who makes the change, in their current state. Nil for operators and for former members.
	Actor          *Member
	Member         Member
	SingleSignOn   bool // The organization uses single sign-on.
	ActiveSupers   int  // Active super-admins, including the member.
	PasswordSupers int  // Those of them who have set a password, without invited ones.
	HasPassword    bool // Whether the member is one of them.
	FreeSeats      int
	NameIDs        []string // The member's NameIDs at identity providers.
	FactorReset    *FactorReset
}

// MemberChange is a change to a member.
type MemberChange struct {
	Name   string
	Role   identity.Role
	State  identity.State
	Limit  *MemberLimit // Nil for no change.
	Remove bool         // Removes the member; the other fields are ignored.
	Unlink bool         // Removes links to the identity provider and ends sessions.

	EndSessions bool

	ResetFactor        bool // Removes the second factor and ends sessions.
	RequestFactorReset bool // Records the request of the acting administrator.

	Action  Action
	Details []Change // If empty, nothing is changed or logged.
}

// administers returns an error unless the actor is an administrator of an organization.
func administers(actor identity.Actor) error {
	if !actor.Role.IsAdmin() {
		return ErrForbidden
	}
	return nil
}

// stillAdministers returns an error unless the actor is an active administrator at the moment of a change.
func stillAdministers(actor *Member) error {
	if actor == nil || !actor.Role.IsAdmin() || actor.State != identity.StateActive {
		return ErrForbidden
	}
	return nil
}

// assignable reports whether a role exists in an organization.
func assignable(role identity.Role) bool { return role == identity.RoleGeneralUser || role.IsAdmin() }

// mayHandle reports whether an administrator may assign a role or change its members: a super-admin any role of an
// organization, an admin only general users.
func mayHandle(actor, role identity.Role) bool {
	switch actor {
	case identity.RoleOrganizationSuperAdmin:
		return assignable(role)
	case identity.RoleOrganizationAdmin:
		return role == identity.RoleGeneralUser
	default:
		return false
	}
}

// touch checks whether an administrator may change the member.
func (r MemberContext) touch(actorID uuid.UUID) error {
	switch {
	case r.Actor == nil || r.Actor.State != identity.StateActive || !r.Actor.Role.IsAdmin():
		return ErrForbidden
	case r.Member.ID == actorID:
		return ErrSelf
	case !mayHandle(r.Actor.Role, r.Member.Role):
		return ErrForbidden
	}
	return nil
}

// change returns a change of the member that keeps name, role and state.
func (m Member) change(action Action, details ...Change) MemberChange {
	return MemberChange{Name: m.Name, Role: m.Role, State: m.State, Action: action, Details: details}
}

// edit decides on a change by an administrator.
func (r MemberContext) edit(e MemberEdit) (MemberChange, error) {
	m := r.Member
	change := m.change(ActionEdit)
	if e.Name != nil {
		change.Name = *e.Name
	}
	if e.Role != nil {
		change.Role = *e.Role
	}
	if e.State != nil {
		change.State = *e.State
	}
	switch {
	case !mayHandle(r.Actor.Role, change.Role):
		return MemberChange{}, ErrForbidden
	case m.State != identity.StateActive && change.State == identity.StateActive && r.FreeSeats <= 0:
		return MemberChange{}, ErrNoSeat
	case change.Role != m.Role || change.State != m.State:
		if err := r.spare(); err != nil {
			return MemberChange{}, err
		}
	}
	change.note("name", m.Name, change.Name)
	change.note("role", string(m.Role), string(change.Role))
	change.note("state", string(m.State), string(change.State))
	if e.Limit != nil {
		change.Limit = e.Limit
		change.note("token_limit", m.limit().String(), e.Limit.String())
	}
	return change, nil
}

// remove decides on a removal by an administrator.
func (r MemberContext) remove() (MemberChange, error) {
	return MemberChange{Remove: true, Action: ActionRemove, Details: []Change{
		{Field: "name", Before: r.Member.Name}, {Field: "role", Before: string(r.Member.Role)},
	}}, r.spare()
}

// unlink decides on removing the member's links to the identity provider.
func (r MemberContext) unlink() (MemberChange, error) {
	if len(r.NameIDs) == 0 {
		return MemberChange{}, fault.Errorf(fault.Conflict, "このメンバーは、シングルサインオンと連携していません。")
	}
	change := r.Member.change(actionUnlink)
	change.Unlink = true
	for _, nameID := range r.NameIDs {
		change.Details = append(change.Details, Change{Field: "name_id", Before: nameID})
	}
	return change, nil
}

// endSessions returns the change that ends all sessions of the member.
func (r MemberContext) endSessions() (MemberChange, error) {
	change := r.Member.change(ActionSessionEnd, Change{Field: "sessions", After: "all"})
	change.EndSessions = true
	return change, nil
}

// resend decides whether an administrator may send another invitation. It is logged before it is sent, so that none is
// sent without an entry.
func (r MemberContext) resend() (MemberChange, error) {
	m := r.Member
	if m.State != identity.StateActive || m.Subject == "" || !m.invited() && !r.stranded() {
		return MemberChange{}, fault.Errorf(fault.Conflict, "招待を送信できるのは、まだログインしていないメンバーと、パスワードのないメンバーだけです。")
	}
	return m.change(ActionResend, Change{Field: "email", After: m.Email}), nil
}

// stranded reports whether the member cannot sign in without a password. Single sign-on has added them and is now off,
// or it is not yet linked to them and links administrators by their password only.
func (r MemberContext) stranded() bool {
	m := r.Member
	return m.AuthType == identity.AuthFederated && (!r.SingleSignOn || m.Role.IsAdmin() && !m.SSOLinked)
}

// disable returns an operator's change, which is allowed for any member.
func (r MemberContext) disable() (MemberChange, error) {
	return r.setState(identity.StateInactive, actionUserDisable), nil
}

// enable returns an operator's change, which is allowed for any member if there is a seat.
func (r MemberContext) enable() (MemberChange, error) {
	if r.Member.State != identity.StateActive && r.FreeSeats <= 0 {
		return MemberChange{}, ErrNoSeat
	}
	return r.setState(identity.StateActive, ActionEdit), nil
}

// Provision returns the change by the organization's identity provider: the name and whether the member is active. It
// never gives anybody the role of a super-admin, which reactivating one would do.
func (r MemberContext) Provision(name string, active bool) (MemberChange, error) {
	m := r.Member
	change := m.change(ActionEdit)
	change.Name, change.State = name, identity.StateInactive
	if active {
		change.State = identity.StateActive
	}
	switch {
	case change.State == m.State:
	case active && m.Role == identity.RoleOrganizationSuperAdmin:
		return MemberChange{}, errSuperInactive
	case active && r.FreeSeats <= 0:
		return MemberChange{}, ErrNoSeat
	default:
		if err := r.spare(); err != nil {
			return MemberChange{}, err
		}
	}
	change.note("name", m.Name, change.Name)
	change.note("state", string(m.State), string(change.State))
	return change, nil
}

func (r MemberContext) setState(state identity.State, action Action) MemberChange {
	change := r.Member.change(action)
	change.State = state
	change.note("state", string(r.Member.State), string(state))
	return change
}

// spare refuses to remove or demote the last super-admin, or the last one who can sign in when single sign-on fails.
func (r MemberContext) spare() error {
	switch m := r.Member; {
	case m.Role != identity.RoleOrganizationSuperAdmin || m.State != identity.StateActive:
		return nil
	case r.ActiveSupers <= 1:
		return ErrLastSuper
	case r.SingleSignOn && r.HasPassword && r.PasswordSupers <= 1:
		return ErrLastPassword
	}
	return nil
}

// note records a field's change for the log, if the field has changed.
func (c *MemberChange) note(field, before, after string) {
	if before != after {
		c.Details = append(c.Details, Change{Field: field, Before: before, After: after})
	}
}
