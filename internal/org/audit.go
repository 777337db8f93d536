package org

import (
	"context"
	"net/netip"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// Action names what was done, as the audit log keeps it.
type Action string

// The actions of the audit log.
const (
	ActionInvite           Action = "member.invite"
	ActionResend           Action = "member.resend"
	ActionEdit             Action = "member.edit"
	ActionRemove           Action = "member.remove"
	ActionProvision        Action = "member.provision" // By a first single sign-on.
	ActionLink             Action = "member.link"      // A first single sign-on met a member with the same address.
	ActionUnlink           Action = "member.unlink"
	ActionSessionEnd       Action = "session.revoke" // By its owner elsewhere, or an administrator.
	ActionSessionLimits    Action = "session_limits.edit"
	ActionSAMLEdit         Action = "saml.edit"
	ActionSAMLOn           Action = "saml.on"
	ActionSAMLOff          Action = "saml.off"
	ActionSAMLTest         Action = "saml.test"
	ActionOrganization     Action = "organization.create"
	ActionOrganizationEdit Action = "organization.edit"
	ActionContract         Action = "contract.set"
	ActionUserCreate       Action = "user.create"
	ActionUserDisable      Action = "user.disable"
	ActionPublish          Action = "notification.publish"
	ActionSkillImport      Action = "skill.import"
	ActionKeysRotate       Action = "keys.rotate"
	ActionShare            Action = "share.create"
	ActionShareUpdate      Action = "share.update"
	ActionShareEnd         Action = "share.end"

	// Of sign-ins and passwords. Packages identity/pool and identity/saml tell of them.
	ActionSignIn          Action = "session.begin"
	ActionSignInFailed    Action = "session.fail"
	ActionLocked          Action = "session.lock"
	ActionSignOut         Action = "session.end"
	ActionSignOutAll      Action = "session.end_all"
	ActionRefreshRefused  Action = "session.refuse"
	ActionCodeRequested   Action = "password.request"
	ActionPasswordReset   Action = "password.reset"
	ActionPasswordSet     Action = "password.set"
	ActionPasswordChanged Action = "password.change"
	ActionPasswordFailed  Action = "password.fail"
)

// EventKind divides the audit log.
type EventKind string

// The kinds of entries.
const (
	SignIns        EventKind = "sign_in" // Of sign-ins and passwords.
	Administration EventKind = "administration"
)

// Actions returns all of them.
func Actions() []Action {
	return []Action{
		ActionInvite, ActionResend, ActionEdit, ActionRemove, ActionProvision, ActionLink, ActionUnlink,
		ActionSessionEnd, ActionSessionLimits,
		ActionSAMLEdit, ActionSAMLOn, ActionSAMLOff, ActionSAMLTest, ActionOrganization, ActionOrganizationEdit,
		ActionContract, ActionUserCreate, ActionUserDisable, ActionPublish,
		ActionSkillImport, ActionKeysRotate, ActionShare, ActionShareUpdate, ActionShareEnd, ActionSignIn,
		ActionSignInFailed, ActionLocked, ActionSignOut, ActionSignOutAll,
		ActionRefreshRefused, ActionCodeRequested, ActionPasswordReset, ActionPasswordSet, ActionPasswordChanged,
		ActionPasswordFailed,
	}
}

// ActorKind says what kind of somebody did something.
type ActorKind string

// The kinds of actors.
const (
	ByMember   ActorKind = "user"
	ByOperator ActorKind = "operator" // Somebody with the command line.
	BySystem   ActorKind = "system"
	ByUnknown  ActorKind = "unknown" // Somebody who has not proved to be anybody.
)

// Doer is who did something, and from where.
type Doer struct {
	Kind      ActorKind
	ID        *uuid.UUID // Of a member.
	Name      string     // Of a member, or of an operator's account on the machine.
	Email     string
	Address   netip.Addr // The zero Addr where it is not known.
	RequestID string
}

// DoerOf returns who a signed-in person is.
func DoerOf(actor identity.Actor) Doer {
	return Doer{
		Kind: ByMember, ID: &actor.ID, Name: actor.Name, Email: actor.Email, Address: actor.Address,
		RequestID: actor.RequestID,
	}
}

// Operator returns somebody with the command line, by the name of their account.
func Operator(name string) Doer { return Doer{Kind: ByOperator, Name: name} }

// System returns the server itself.
func System() Doer { return Doer{Kind: BySystem} }

// Kinds of targets.
const (
	TargetUser         = "user"
	TargetOrganization = "organization"
	TargetContract     = "contract"
	TargetSAML         = "saml"
	TargetNotification = "notification"
	TargetSkill        = "skill"
	TargetKey          = "key"
	TargetShare        = "share"
)

// Change is one thing that was changed. Nothing secret stands in it.
type Change struct {
	Field  string `json:"field"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// Event is an entry of the audit log. It is written in the transaction of what it tells of.
type Event struct {
	ID             uuid.UUID  // Given by the store.
	At             time.Time  // Given by the store.
	OrganizationID *uuid.UUID // Nil: of no one organization.
	By             Doer
	Action         Action
	TargetKind     string
	TargetID       string
	TargetLabel    string // What a person knows it by, such as an address.
	Details        []Change
	Times          int        // Of what is told once an hour: how often it was done,
	LastAt         *time.Time // and when last. Nil for once.
}

// MaxEvents is up to how many entries are counted.
const MaxEvents = 10_000

// AuditQuery chooses entries of the audit log. Zero values choose all.
type AuditQuery struct {
	OrganizationID *uuid.UUID // Nil: of all, and of none.
	Kind           EventKind
	Action         Action
	Search         string // Part of the actor's name or address, or of the target's label.
	From, To       time.Time
	Offset, Limit  int
}

// AuditEvents returns a page of what was done in the actor's organization, newest first, and how many entries there
// are, MaxEvents at most. For administrators.
func (s *Service) AuditEvents(ctx context.Context, actor identity.Actor, query AuditQuery) ([]Event, int, error) {
	if err := administers(actor); err != nil {
		return nil, 0, err
	}
	query.OrganizationID = &actor.OrganizationID
	return s.reports.ListEvents(ctx, query)
}
