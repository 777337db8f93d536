// Package org owns organizations: their members and permissions, contracts and usage, the audit log, and the notices to
// members. It imports fault, identity, runes, timeout and uuidv7, and does not use the database or HTTP.
package org

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// Organization is a tenant: a company whose members share skills and a contract.
type Organization struct {
	ID          uuid.UUID
	Name        string
	AuthType    string   // "cognito" or "federated_idp".
	MailDomains []string // Lower case.
}

// Level is the urgency of a notice.
type Level string

// The levels of the API.
const (
	LevelInfo        Level = "info"
	LevelWarning     Level = "warning"
	levelMaintenance Level = "maintenance"
)

// Audience is the set of members who receive a notice.
type Audience string

// The audiences.
const (
	AudienceAll    Audience = "all"
	AudienceAdmins Audience = "admins" // An organization's administrators.
)

// Notification is a notice to the members of one organization, or of all, or to one member.
type Notification struct {
	ID             uuid.UUID
	OrganizationID *uuid.UUID // Nil for every organization.
	UserID         *uuid.UUID // A user of the organization; nil for the whole audience.
	Title          string
	Body           string
	URL            string // "" for no link.
	Level          Level
	Audience       Audience // "" is AudienceAll.
	PublishedAt    time.Time
	EndsAt         *time.Time // Nil for never.

	// Own means that administrators of the organization have written the notice and may change it.
	Own bool

	// Read refers to the user for whom the notice was read.
	Read bool
}

// Store is the database of the Service, of a Budget and of Deletions.
type Store interface {
	// Notices as members see them.

	// ListNotifications returns the notices for the user of the organization that are published and have not ended,
	// newest first, then by id descending, with Read set for the user. It includes those for administrators if the user
	// is one.
	ListNotifications(ctx context.Context, organizationID, userID uuid.UUID, offset, limit int) ([]Notification, error)

	// ReadNotifications marks notices as read by the user. Ids that do not exist or belong to another organization are
	// ignored.
	ReadNotifications(ctx context.Context, organizationID, userID uuid.UUID, ids []uuid.UUID) error

	// FindNotification returns a notice, published or not, with Read unset. If it does not exist, the error has the
	// code fault.NotFound.
	FindNotification(ctx context.Context, id uuid.UUID) (Notification, error)

	// UpcomingNotifications returns the times when notices will be published or, if they are published, when they will
	// end, by id.
	UpcomingNotifications(ctx context.Context) (map[uuid.UUID]time.Time, error)

	// WatchNotifications notifies the watcher of each notice that is added or changed, until the context ends. It calls
	// the watcher from one goroutine.
	WatchNotifications(ctx context.Context, watcher identity.Watcher)

	// Notices as administrators see and change them.

	// ListNotices returns the notices for an organization's administrators, last published first, and their total
	// number: the notices of the organization, and published notices of operators and the server.
	ListNotices(ctx context.Context, organizationID uuid.UUID, offset, limit int) ([]Notification, int, error)

	// FindNotice returns one of these notices, or ErrNoNotice.
	FindNotice(ctx context.Context, organizationID, id uuid.UUID) (Notification, error)

	// AddNotice adds a notice of the actor's organization, and logs it. For a repeated call it returns the notice of
	// the first call. It calls check with the actor's current state, and returns its error unchanged. Other errors:
	// ErrRequestConflict.
	AddNotice(ctx context.Context, actor identity.Actor, call NoticeCall,
		check func(actor *Member, known bool) error) (Notification, error)

	// ChangeNotice calls decide for the change of a notice of the actor's organization, then stores and logs the
	// change. It returns the changed notice, or the removed one. Errors: ErrNoNotice, also for notices that the
	// administrators have not written, and those of decide.
	ChangeNotice(ctx context.Context, actor identity.Actor, id uuid.UUID,
		decide func(actor *Member, notice Notification) (NoticeChange, error)) (Notification, error)

	// Members.

	// ListMembers returns the organization's members selected by the query, by name, and their total number.
	ListMembers(ctx context.Context, organizationID uuid.UUID, query MemberQuery) ([]Member, int, error)

	// EachMember calls do for each of the members, by name, while it reads them with one statement.
	EachMember(ctx context.Context, organizationID uuid.UUID, query MemberQuery, do func(Member)) error

	// FindMemberByEmail returns the member with an address (lower case), in any organization, or ErrNoMember.
	FindMemberByEmail(ctx context.Context, email string) (Member, error)

	// ChangeMember calls decide for the change of a member, then stores and logs the change, and queues it for the
	// identity provider. It locks the organization meanwhile. It returns the changed or removed member. Errors:
	// ErrNoMember, and those of decide, which may be called several times.
	ChangeMember(ctx context.Context, organizationID, userID uuid.UUID, by AuditActor,
		decide func(MemberContext) (MemberChange, error)) (Member, error)

	// PreviewRemoval returns the consequences of removing a member, or ErrNoMember.
	PreviewRemoval(ctx context.Context, organizationID, userID uuid.UUID) (RemovalPreview, error)

	// Groups of members.

	// ListGroups returns the groups of an organization whose name contains a text, by name, and their total number.
	ListGroups(ctx context.Context, organizationID uuid.UUID, search string, offset, limit int) ([]Group, int, error)

	// FindGroup returns a group, or ErrNoGroup.
	FindGroup(ctx context.Context, organizationID, id uuid.UUID) (Group, error)

	// AddGroup adds a group of the actor's organization, and logs it. For a repeated call it returns the group of the
	// first call. It calls check with the actor's current state, and returns its error unchanged. Other errors:
	// ErrRequestConflict, ErrTooManyGroups, and that of ErrGroupName.
	AddGroup(ctx context.Context, actor identity.Actor, call GroupCall, check func(actor *Member) error) (Group, error)

	// EditGroup changes the name, description and limit of a group by calling change, and logs it. Errors: those of
	// check and change, ErrNoGroup, and that of ErrGroupName.
	EditGroup(ctx context.Context, actor identity.Actor, id uuid.UUID, change func(*Group) error,
		check func(actor *Member) error) (Group, error)

	// DeleteGroup deletes a group, and logs it. Errors: that of check, and ErrNoGroup.
	DeleteGroup(ctx context.Context, actor identity.Actor, id uuid.UUID, check func(actor *Member) error) error

	// ChangeGroupMembers adds and removes members of a group, and logs it. It returns the addresses that no member of the
	// organization has. Errors: that of check, ErrNoGroup, ErrGroupFull, and fault.Invalid for an unknown member id.
	ChangeGroupMembers(ctx context.Context, actor identity.Actor, id uuid.UUID, members GroupMembers,
		check func(actor *Member) error) (group Group, unknown []string, err error)

	// Invitations.

	// BeginInvite adds a member with a seat for each invitee who can become one, and logs it. It locks the organization
	// meanwhile. Errors: ErrNoOrganization, fault.RequestConflict, and those of Check.
	BeginInvite(ctx context.Context, call InviteCall) (BeginInviteResult, error)

	// FinishInvite stores the identity provider's subject of an invited member. If the member was removed meanwhile,
	// the error is ErrNoMember, and the account is queued for deletion.
	FinishInvite(ctx context.Context, userID uuid.UUID, subject string) error

	// AbandonInvite removes a member whose invitation failed, and logs it.
	AbandonInvite(ctx context.Context, member Member, result InviteResult, by AuditActor) error

	// EndInvite stores the results of a call for repetitions of the call.
	EndInvite(ctx context.Context, organizationID, requestID uuid.UUID, results []Invitation) error

	// DeleteExpiredInvites deletes calls older than age.
	DeleteExpiredInvites(ctx context.Context, age time.Duration) error

	// FailResend logs that a repeated invitation has failed.
	FailResend(ctx context.Context, member Member, by AuditActor) error

	// MarkInvited records that a member was invited again, with their new account and sign-in method, and logs a change
	// of the latter. If the member was removed meanwhile, the error is ErrNoMember, and the account is queued for
	// deletion.
	MarkInvited(ctx context.Context, member Member, by AuditActor) error

	// Account changes that the identity provider has not received yet.

	// ClaimAccountChanges returns due changes, of one user or of all, and reserves them for the caller for a duration.
	ClaimAccountChanges(ctx context.Context, userID *uuid.UUID, claim time.Duration, limit int) ([]AccountChange, error)

	// FinishAccountChange records that the provider has received a change. It reports whether there are newer changes,
	// which are due at once.
	FinishAccountChange(ctx context.Context, change AccountChange) (more bool, err error)

	// DeferAccountChange makes a change due after a pause.
	DeferAccountChange(ctx context.Context, userID uuid.UUID, pause time.Duration) error

	// Contract, usage and the audit log.

	// ContractView returns an organization's contract with its current usage, or ErrNoOrganization.
	ContractView(ctx context.Context, organizationID uuid.UUID) (ContractView, error)

	// UsageByMember returns the members' usage in the last UsageDays days, most tokens first, and the total number of
	// rows. Removed members are one row.
	UsageByMember(ctx context.Context, organizationID uuid.UUID, offset, limit int) ([]MemberUsage, int, error)

	// DailyUsage returns the usage by day and member, the oldest day first, then by address.
	DailyUsage(ctx context.Context, organizationID uuid.UUID, period Period, limit int) ([]MemberDay, error)

	// UsageByModel returns the usage by model in a period, most tokens first, and the number of models with any usage.
	UsageByModel(ctx context.Context, organizationID uuid.UUID, period Period, offset, limit int) ([]ModelUsage, int,
		error)

	// DailyUsageByModel returns the usage by day and model, in this order.
	DailyUsageByModel(ctx context.Context, organizationID uuid.UUID, period Period, limit int) ([]ModelDay,
		error)

	// UsageByTool returns the usage by tool and skill in a period, most calls first, and the number of rows.
	UsageByTool(ctx context.Context, organizationID uuid.UUID, period Period, offset, limit int) ([]ToolUsage, int, error)

	// DailyUsageByTool returns the usage by day, tool and skill, in this order.
	DailyUsageByTool(ctx context.Context, organizationID uuid.UUID, period Period, limit int) ([]ToolDay, error)

	// OwnUsage returns a user's usage this month, by the calendar of Japan.
	OwnUsage(ctx context.Context, organizationID, userID uuid.UUID) (OwnUsage, error)

	// RecordClientCall adds a call of a tool by the actor's program to the audit log.
	RecordClientCall(ctx context.Context, actor identity.Actor, call ClientCall) error

	// ListEvents returns entries of the audit log, newest first, and their total number.
	ListEvents(ctx context.Context, query AuditQuery) ([]Event, int, error)

	// EachEvent calls do for each of the entries, newest first, while it reads them with one statement.
	EachEvent(ctx context.Context, query AuditQuery, do func(Event)) error

	// Sessions, and their limits.

	// SessionLimits returns an organization's limits, or ErrNoOrganization.
	SessionLimits(ctx context.Context, organizationID uuid.UUID) (SessionLimits, error)

	// SetSessionLimits sets an organization's limits, which also apply to existing sessions, by calling change, and logs
	// it. It calls check with the actor's current state, and returns the errors of both unchanged.
	SetSessionLimits(ctx context.Context, actor identity.Actor, change func(*SessionLimits) error,
		check func(actor *Member) error) (SessionLimits, error)

	// FactorPolicy returns an organization's policy, or ErrNoOrganization.
	FactorPolicy(ctx context.Context, organizationID uuid.UUID) (FactorPolicy, error)

	// SetFactorPolicy sets an organization's policy and logs it. It calls check with the actor's current state, and
	// returns its error unchanged.
	SetFactorPolicy(ctx context.Context, actor identity.Actor, policy FactorPolicy,
		check func(actor *Member) error) error

	// WasSuperAdmin reports whether a member is a super-admin, or was one within a time before now.
	WasSuperAdmin(ctx context.Context, organizationID, userID uuid.UUID, within time.Duration) (bool, error)

	// AddressRanges returns the networks that an organization's members may connect from, or ErrNoOrganization.
	AddressRanges(ctx context.Context, organizationID uuid.UUID) (AddressRanges, error)

	// SetAddressRanges sets them by calling change, logs it, notifies all servers, and returns them. It calls check with
	// the actor's current state, and returns the errors of both unchanged.
	SetAddressRanges(ctx context.Context, actor identity.Actor, change func(*AddressRanges) error,
		check func(actor *Member) error) (AddressRanges, error)

	// Guidance for answers: of the organization and of a person.

	// Guidance returns the guidance for a member.
	Guidance(ctx context.Context, organizationID, userID uuid.UUID) (Guidance, error)

	// SetAbout replaces a member's information about themselves.
	SetAbout(ctx context.Context, organizationID, userID uuid.UUID, about About) error

	// DictationService reports whether the organization allows dictation through services of browsers.
	DictationService(ctx context.Context, organizationID uuid.UUID) (bool, error)

	// SetDictationService allows or forbids it, and logs a change. It calls check like SetInstructions.
	SetDictationService(ctx context.Context, actor identity.Actor, allowed bool, check func(actor *Member) error) error

	// SetInstructions replaces the instructions of the actor's organization, and logs it. It calls check with the
	// actor's current state, and returns its error unchanged.
	SetInstructions(ctx context.Context, actor identity.Actor, text string, check func(actor *Member) error) error

	// Token limits of members.

	// MemberTokens returns the limit for every member of an organization in tokens per month, nil for no limit, or
	// ErrNoOrganization.
	MemberTokens(ctx context.Context, organizationID uuid.UUID) (*int64, error)

	// SetMemberTokens replaces the limit and logs the change. It calls check with the actor's current state, and
	// returns its error unchanged.
	SetMemberTokens(ctx context.Context, actor identity.Actor, tokens *int64, check func(actor *Member) error) error

	// The time after which unused threads are deleted.

	// Retention returns the number of days after which an organization's unused threads are deleted, nil for never, or
	// ErrNoOrganization.
	Retention(ctx context.Context, organizationID uuid.UUID) (*int, error)

	// SetRetention replaces the number of days and logs the change. Earlier notifications of members become invalid: no
	// thread is deleted before its owner is notified again. SetRetention calls check with the actor's current state,
	// and returns its error unchanged.
	SetRetention(ctx context.Context, actor identity.Actor, days *int, check func(actor *Member) error) error

	// PreviewRetention counts the threads that a number of days would affect now.
	PreviewRetention(ctx context.Context, organizationID uuid.UUID, days int) (RetentionPreview, error)

	// Balances, for a Budget.

	// Balance returns an organization's balance, or ErrNoOrganization. Months are those of Japan's calendar.
	Balance(ctx context.Context, organizationID uuid.UUID) (Balance, error)

	// MemberBalance returns a member's balance, or ErrNoMember.
	MemberBalance(ctx context.Context, organizationID, userID uuid.UUID) (Balance, error)

	// PublishLimitNotice adds a notice for an organization's administrators about a used percentage of this month's
	// tokens, unless a server has published one about the same or a higher percentage this month.
	PublishLimitNotice(ctx context.Context, organizationID uuid.UUID, percent int, notice Notification) error

	// PublishMemberNotice adds a notice for its member about a used percentage of their tokens of this month, under the
	// same condition.
	PublishMemberNotice(ctx context.Context, percent int, notice Notification) error

	// Due deletions of organizations, for Deletions.

	// DueDeletions returns the organizations whose deletion is due or in progress.
	DueDeletions(ctx context.Context) ([]uuid.UUID, error)

	// DeleteBatch deletes some rows of a due organization, and queues the deletion of its members' accounts. more is
	// false if no rows are left, or another server is deleting them.
	DeleteBatch(ctx context.Context, id uuid.UUID) (more bool, err error)

	// FinishDeletion stores the certificate that certify returns. It does nothing while rows, accounts or files of the
	// organization are left.
	FinishDeletion(ctx context.Context, id uuid.UUID, certify func(Deletion) (string, error)) (done bool, err error)
}

// Events is notified of changes to members' screens. Its methods are called from many goroutines and must not block.
type Events interface {
	// NotificationPublished is called on every server when a notice is published, and when a published one is changed.
	NotificationPublished(notification Notification)

	// NotificationEnded is called on every server when a notice ends.
	NotificationEnded(notification Notification)

	// NotificationsMissed is called on a server that may have missed notifications.
	NotificationsMissed()

	// NotificationsRead is called when a member has marked notices as read.
	NotificationsRead(userID uuid.UUID, ids []uuid.UUID)
}

// noEvents discards all events.
type noEvents struct{}

func (noEvents) NotificationPublished(Notification)       {}
func (noEvents) NotificationEnded(Notification)           {}
func (noEvents) NotificationsMissed()                     {}
func (noEvents) NotificationsRead(uuid.UUID, []uuid.UUID) {}
