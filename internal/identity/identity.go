// Package identity authenticates requests. It owns users, the verification of their tokens, and the actor in the
// context.
//
// It imports fault and libraries for tokens. Its folder pool is the embedded user pool.
package identity

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Role is the role of a user in an organization.
type Role string

// The roles.
const (
	RoleGeneralUser            Role = "general-user"
	RoleOrganizationAdmin      Role = "organization-admin"
	RoleOrganizationSuperAdmin Role = "organization-super-admin"
	RoleSystemAdmin            Role = "system-admin"
)

// IsAdmin reports whether the role is one of an organization's administrators.
func (r Role) IsAdmin() bool { return r == RoleOrganizationAdmin || r == RoleOrganizationSuperAdmin }

// ErrForbidden is the error for an actor whose role does not allow an operation.
var ErrForbidden = fault.Errorf(fault.Forbidden, "この操作を行う権限がありません。")

// State is the state of a user's account.
type State string

// The states of a user.
const (
	StateActive   State = "active"
	StateInactive State = "inactive"
)

// AuthType is the way in which a user, or the members of an organization, sign in.
type AuthType string

// The ways to sign in.
const (
	AuthCognito   AuthType = "cognito"       // With a password, in the user pool.
	AuthFederated AuthType = "federated_idp" // With the organization's own identity provider.
)

// Scope limits the use of a connection. The app has no scopes and no limits.
type Scope string

// The scopes.
const (
	ScopeChat      Scope = "chat"      // Threads, questions and answers.
	ScopeDocuments Scope = "documents" // Data sources.
	ScopeExtension Scope = "extension" // The calls of the browser extension.
)

// User is a member of an organization.
type User struct {
	ID               uuid.UUID
	OrganizationID   uuid.UUID
	OrganizationName string
	Subject          string // The identity provider's identifier of the user: the claim sub.
	Email            string
	Name             string
	Role             Role
	State            State
	AuthType         AuthType
}

// NewUser is the input of CreateUser.
type NewUser struct {
	ID             uuid.UUID
	OrganizationID uuid.UUID
	Subject        string
	Email          string // Lower case.
	Name           string
	Role           Role
	AuthType       AuthType
}

// Provider is the sign-in method of an organization's members.
type Provider struct {
	OrganizationID uuid.UUID
	AuthType       AuthType
}

// UserStatus is the stored state of a user of a verified token.
type UserStatus struct {
	User
	OrganizationAuthType AuthType       // The sign-in method required by the organization.
	SessionOver          bool           // The session has ended or expired.
	SessionUsedAt        *time.Time     // Accurate to a minute. Nil if the session is not recorded yet.
	AuthenticatedAt      *time.Time     // Of the session; see Actor. Nil: when it began.
	AddressRanges        []netip.Prefix // Networks that its members may connect from. If empty, any.
}

// Store is the database of a Service.
type Store interface {
	// UserBySubject returns the user with the subject of the claims, in any state, and whether the session has ended.
	// If the user does not exist, the error has the code fault.NotFound.
	UserBySubject(ctx context.Context, claims Claims) (UserStatus, error)

	// ChangedUsers returns those of the given users who were removed or deactivated, or whose role, state, sessions or
	// sign-in method changed within the given duration. Their open streams may send more than they are still allowed to
	// see.
	ChangedUsers(ctx context.Context, userIDs []uuid.UUID, within time.Duration) ([]uuid.UUID, error)

	// WatchUsers notifies the watcher of each user whose role, state, sessions or sign-in method changes, until the
	// context ends. It calls the watcher from one goroutine.
	WatchUsers(ctx context.Context, watcher Watcher)

	// CreateUser adds a user. If the address or the subject is taken, the error has the code fault.Conflict.
	CreateUser(ctx context.Context, user NewUser) error

	// MarkSignedIn sets the time of the user's last sign-in to now, unless it was set within the last minute and after
	// their invitation.
	MarkSignedIn(ctx context.Context, userID uuid.UUID) error

	// ProviderByMailDomain returns the sign-in method for addresses of a mail domain (lower case). It is the method of
	// the organization that has the domain. For an unknown domain it is a password, by the oldest organization with
	// passwords, or if all use single sign-on, the method of the oldest organization. If there are no organizations,
	// the error has the code fault.NotFound.
	ProviderByMailDomain(ctx context.Context, domain string) (Provider, error)

	// RecordSession records time and origin of a session's use, and the session itself if it is new. It does not change
	// a session that has ended.
	RecordSession(ctx context.Context, use SessionUse) error

	// ListSessions returns the active sessions of a user, most recently used first.
	ListSessions(ctx context.Context, organizationID, userID uuid.UUID) ([]Session, error)

	// EndSession ends one of the actor's own sessions, whichever provider issued it. If the user has no such session,
	// the error has the code fault.NotFound. Ending another session than the actor's is recorded in the audit log.
	EndSession(ctx context.Context, actor Actor, session uuid.UUID) error

	// EndOtherSessions ends all sessions of the actor except the current one, and records it in the audit log.
	EndOtherSessions(ctx context.Context, actor Actor) error

	// RecordRefusedAddress records in the audit log that the actor was refused because of their address, at most once an
	// hour for each member and address, with a count.
	RecordRefusedAddress(ctx context.Context, actor Actor) error

	// EndStaleSessions marks expired sessions as ended, so that they stay ended even if their organization sets a
	// longer lifetime later, and closes their streams. It deletes records that are no longer needed.
	EndStaleSessions(ctx context.Context) error
}

// Watcher is notified of changes in the database.
type Watcher struct {
	// Listening reports that notifications arrive from now on. It is called again after each interruption, during which
	// notifications may have been missed.
	Listening func()
	Changed   func(id uuid.UUID) // The user or notice was added, changed or removed.
	Lost      func(err error)    // An interruption begins.
}

// Claims are the claims of a verified token.
type Claims struct {
	Subject   string
	Session   uuid.UUID // The claim origin_jti: one sign-in on one device. Nil if the provider sends none.
	AuthType  AuthType  // How the session began.
	AuthTime  time.Time // When the session began, in whole seconds.
	ExpiresAt time.Time
	Client    string  // The client of a connection; empty for the app.
	Scopes    []Scope // The scopes of a connection.
}

// Verifier verifies id tokens, and access tokens of connections. For an expired token the error is ErrExpired; for any
// other that is invalid it has the code fault.Unauthenticated.
type Verifier interface {
	VerifyIDToken(ctx context.Context, token string) (Claims, error)
}

// SSORequired is the code for a password session in an organization that requires single sign-on.
const SSORequired fault.Code = "sso_required"

// AddressRefused is the code for a request from outside the networks of the organization.
const AddressRefused fault.Code = "address_refused"

// RecentSignInRequired is the code for a call that needs a recent sign-in.
const RecentSignInRequired fault.Code = "recent_sign_in_required"

// recentSignIn is the maximum age of a session for calls that need a recent sign-in.
const recentSignIn = 15 * time.Minute

// Errors of Authenticate. The texts of the first two are part of the contract: clients compare them.
var (
	ErrExpired     = fault.Errorf(fault.Unauthenticated, "jwt expired")
	ErrNoUser      = fault.Errorf(fault.Unauthenticated, "Not authenticated: no user found")
	ErrSSORequired = fault.Errorf(SSORequired, "この組織ではシングルサインオンでログインしてください。")
	ErrAddress     = fault.Errorf(AddressRefused, "この組織では、許可されたネットワークからだけ利用できます。")
)

// Owner identifies the person to whom threads, files or pictures belong. Only that person can see them.
type Owner struct {
	OrganizationID uuid.UUID
	UserID         uuid.UUID
}

// Actor is the user on whose behalf a call is made, with their session, the origin of the request and the expiry of the
// token.
type Actor struct {
	User
	AuthType  AuthType // How the session began. User.AuthType is the member's own.
	AuthTime  time.Time
	Session   uuid.UUID
	ExpiresAt time.Time
	Client    string  // The client of a connection; empty for the app.
	Scopes    []Scope // The scopes of a connection.

	// AuthenticatedAt is when the user was authenticated. It is before AuthTime if an identity provider did not ask again,
	// or if a trusted device replaced the second factor.
	AuthenticatedAt time.Time

	Address   netip.Addr // The origin of the request. Zero if unknown.
	RequestID string     // For the audit log. Set by package api.

	usedAt  time.Time // When the session was last used; zero if never before.
	changes uint64    // The Service's count of changes when it looked the actor up.
}

// RequireRecentSignIn returns an error with the code RecentSignInRequired if the user was authenticated more than 15
// minutes before a time.
func (a Actor) RequireRecentSignIn(at time.Time) error {
	switch {
	case at.Sub(a.AuthenticatedAt) <= recentSignIn:
		return nil
	case a.AuthType == AuthFederated && at.Sub(a.AuthTime) <= recentSignIn:
		return fault.Errorf(RecentSignInRequired, "この操作には、15分以内の本人確認が必要です。組織のIDプロバイダーが、ログインのときに"+
			"本人確認を求めませんでした。IDプロバイダーの設定を確認してください。")
	}
	return fault.Errorf(RecentSignInRequired, "この操作には、15分以内のログインが必要です。もう一度ログインしてください。")
}

// RequireRecentSession is RequireRecentSignIn for calls of all members. It accepts a new session of single sign-on whose
// identity provider did not ask again: some never do, and their members could not make the call at all.
func (a Actor) RequireRecentSession(at time.Time) error {
	if a.AuthType == AuthFederated && at.Sub(a.AuthTime) <= recentSignIn {
		return nil
	}
	return a.RequireRecentSignIn(at)
}

// RequireSuperAdmin returns ErrForbidden unless the actor is a super-admin.
func (a Actor) RequireSuperAdmin() error {
	if a.Role != RoleOrganizationSuperAdmin {
		return ErrForbidden
	}
	return nil
}

// Owner returns the actor as the owner of things.
func (a Actor) Owner() Owner { return Owner{OrganizationID: a.OrganizationID, UserID: a.ID} }

// HasScope reports whether the actor has one of the scopes. In the app the actor has all of them.
func (a Actor) HasScope(scopes ...Scope) bool {
	return a.Client == "" || slices.ContainsFunc(scopes, func(s Scope) bool { return slices.Contains(a.Scopes, s) })
}

type actorKey struct{}

// WithActor returns a context that carries the actor.
func WithActor(ctx context.Context, actor Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

// ActorFrom returns the context's actor, or an error with the code fault.Unauthenticated if it has none.
func ActorFrom(ctx context.Context) (Actor, error) {
	actor, ok := ctx.Value(actorKey{}).(Actor)
	if !ok {
		return Actor{}, fault.Errorf(fault.Unauthenticated, "Not authenticated")
	}
	return actor, nil
}
