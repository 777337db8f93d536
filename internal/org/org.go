// Package org owns organizations: their members and who may change them, contracts and what is used of them, the audit
// log, and the notices to members. It imports fault and identity; it knows no technology.
package org

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Organization is a tenant: a company whose members share skills and a contract.
type Organization struct {
	ID          uuid.UUID
	Name        string
	AuthType    string   // "cognito" or "federated_idp".
	MailDomains []string // Lower case.
}

// Level says how urgent a notice is.
type Level string

// The levels of the contract.
const (
	LevelInfo        Level = "info"
	LevelWarning     Level = "warning"
	LevelMaintenance Level = "maintenance"
)

// Audience says which members a notice is for.
type Audience string

// The audiences.
const (
	AudienceAll    Audience = "all"
	AudienceAdmins Audience = "admins" // An organization's administrators.
)

// Notification is a notice to the members of one organization, or of all.
type Notification struct {
	ID             uuid.UUID
	OrganizationID *uuid.UUID // Nil: for every organization.
	Title          string
	Body           string
	URL            string // "" for none.
	Level          Level
	Audience       Audience // "" is AudienceAll.
	PublishedAt    time.Time

	// Read holds for the user on whose behalf the notice was read.
	Read bool
}

// Store is what the Service needs of a database.
type Store interface {
	NoticeStore
	MemberStore
	InviteStore
	AccountStore
	ReportStore
	SessionStore
}

// NoticeStore has the notices to members.
type NoticeStore interface {
	// ListNotifications returns the notices for the user of the organization that are published by now, newest first,
	// then by id descending, with Read set for the user. Those for administrators are for the user if they are one.
	ListNotifications(ctx context.Context, organizationID, userID uuid.UUID, offset, limit int) ([]Notification, error)

	// ReadNotifications marks notices as read by the user. Ids that do not exist or are another organization's are
	// passed over.
	ReadNotifications(ctx context.Context, organizationID, userID uuid.UUID, ids []uuid.UUID) error

	// FindNotification returns a notice, published by now or not, with Read unset. If there is none, the error has the
	// code fault.NotFound.
	FindNotification(ctx context.Context, id uuid.UUID) (Notification, error)

	// UpcomingNotifications returns when the notices that are not published yet will be, by their ids.
	UpcomingNotifications(ctx context.Context) (map[uuid.UUID]time.Time, error)

	// WatchNotifications tells the watcher of each notice that is added, until the context ends. It calls the
	// watcher from one goroutine.
	WatchNotifications(ctx context.Context, watcher Watcher)
}

// MemberStore has the members, and changes them one by one.
type MemberStore interface {
	// ListMembers returns the organization's members that the query chooses, by name, and how many it chooses on all
	// pages.
	ListMembers(ctx context.Context, organizationID uuid.UUID, query MemberQuery) ([]Member, int, error)

	// FindMemberByEmail returns the member with an address (lower case), of whatever organization, or ErrNoMember.
	FindMemberByEmail(ctx context.Context, email string) (Member, error)

	// ChangeMember lets decide say how a member changes, does and logs it, and notes what the identity provider has to
	// be told. The organization is locked meanwhile. It returns the member as they are then, or were. Errors:
	// ErrNoMember, and those of decide, which may be called several times.
	ChangeMember(ctx context.Context, organizationID, userID uuid.UUID, by Doer,
		decide func(Roster) (MemberChange, error)) (Member, error)
}

// InviteStore has the invitations, each with the call that it belongs to.
type InviteStore interface {
	// BeginInvite adds a member for each invitee who can be one, with their seat, and logs it. The organization is
	// locked meanwhile. Errors: ErrNoOrganization for an organization that is not there, fault.RequestConflict, and
	// those of Check.
	BeginInvite(ctx context.Context, call Inviting) (Begun, error)

	// FinishInvite stores what the identity provider calls an invited member. For one who was removed meanwhile the
	// error is ErrNoMember, and the account is left to be removed.
	FinishInvite(ctx context.Context, userID uuid.UUID, subject string) error

	// AbandonInvite removes a member whose invitation came to nothing, and logs it.
	AbandonInvite(ctx context.Context, member Member, result InviteResult, by Doer) error

	// EndInvite stores what a call is answered when it is repeated.
	EndInvite(ctx context.Context, organizationID, requestID uuid.UUID, results []Invitation) error

	// ForgetInvites removes calls that are older.
	ForgetInvites(ctx context.Context, age time.Duration) error

	// FailResend logs that an invitation was not sent again after all.
	FailResend(ctx context.Context, member Member, by Doer) error

	// MarkInvited notes that a member was invited again, with the account and the way to sign in that they have by it,
	// and logs it if that is another one. For one who was removed meanwhile the error is ErrNoMember, and the account
	// is left to be removed.
	MarkInvited(ctx context.Context, member Member, by Doer) error
}

// AccountStore has what the identity provider has still to be told.
type AccountStore interface {
	// ClaimAccountChanges returns changes that are due, of one user or of all, and keeps others from them for a time.
	ClaimAccountChanges(ctx context.Context, userID *uuid.UUID, claim time.Duration, limit int) ([]AccountChange, error)

	// FinishAccountChange notes that the provider was told. It reports whether more has changed meanwhile, which is due
	// at once.
	FinishAccountChange(ctx context.Context, change AccountChange) (more bool, err error)

	// PutOffAccountChange makes a change due later.
	PutOffAccountChange(ctx context.Context, userID uuid.UUID, pause time.Duration) error
}

// ReportStore has what administrators look at: the contract, what was used of it, and the audit log.
type ReportStore interface {
	// ContractView returns an organization's contract with what is used of it, or ErrNoOrganization.
	ContractView(ctx context.Context, organizationID uuid.UUID) (ContractView, error)

	// UsageByMember returns what an organization's members used in the last UsageDays days, most tokens first, and how
	// many rows there are on all pages. Removed members are one row.
	UsageByMember(ctx context.Context, organizationID uuid.UUID, offset, limit int) ([]MemberUsage, int, error)

	// OwnUsage returns what somebody used this month, by the calendar of Japan.
	OwnUsage(ctx context.Context, organizationID, userID uuid.UUID) (OwnUsage, error)

	// ListEvents returns entries of the audit log, newest first, and how many there are on all pages.
	ListEvents(ctx context.Context, query AuditQuery) ([]Event, int, error)
}

// Watcher is told of notices as they are added.
type Watcher struct {
	// From now on each one is told. Called again after an interruption: some may be missing.
	Listening func()
	Added     func(id uuid.UUID) // It may be one for a later time.
	Lost      func(err error)    // An interruption begins.
}

// Events is told what members' screens must show. Its methods are called from many goroutines and never block.
type Events interface {
	// NotificationPublished is told on every server of a notice whose time has come.
	NotificationPublished(notification Notification)

	// NotificationsMissed is told on a server that may have missed some.
	NotificationsMissed()

	// NotificationsRead is told of notices that a member has marked as read.
	NotificationsRead(userID uuid.UUID, ids []uuid.UUID)
}

// noEvents tells nobody.
type noEvents struct{}

func (noEvents) NotificationPublished(Notification)       {}
func (noEvents) NotificationsMissed()                     {}
func (noEvents) NotificationsRead(uuid.UUID, []uuid.UUID) {}
