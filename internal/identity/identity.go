// Package identity knows who makes a request: users, the tokens that prove them, and the actor in the context.
//
// It imports fault and libraries for tokens. Its folder pool is the embedded user pool.
package identity

import (
	"context"
	"net/netip"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Role says what a user may do.
type Role string

// The roles of the specification.
const (
	RoleGeneralUser            Role = "general-user"
	RoleOrganizationAdmin      Role = "organization-admin"
	RoleOrganizationSuperAdmin Role = "organization-super-admin"
	RoleSystemAdmin            Role = "system-admin"
)

// State says whether a user may sign in.
type State string

// The states of a user.
const (
	StateActive   State = "active"
	StateInactive State = "inactive"
)

// AuthType says how a user, or the members of an organization, sign in.
type AuthType string

// The ways to sign in.
const (
	AuthCognito   AuthType = "cognito"       // With a password, in the user pool.
	AuthFederated AuthType = "federated_idp" // With the organization's own identity provider.
)

// User is a member of an organization.
type User struct {
	ID               uuid.UUID
	OrganizationID   uuid.UUID
	OrganizationName string
	Subject          string // The identity provider's name for the person: the claim sub.
	Email            string
	Name             string
	Role             Role
	State            State
	AuthType         AuthType
}

// NewUser is what CreateUser takes.
type NewUser struct {
	ID             uuid.UUID
	OrganizationID uuid.UUID
	Subject        string
	Email          string // Lower case.
	Name           string
	Role           Role
	AuthType       AuthType
}

// Provider tells the members of an organization where they sign in.
type Provider struct {
	OrganizationID uuid.UUID
	AuthType       AuthType
}

// Standing is what counts of a user, besides the token, when a request comes.
type Standing struct {
	User
	OrganizationAuthType AuthType   // How the organization wants its members to sign in.
	SessionOver          bool       // The session was ended, or has run out.
	SessionUsedAt        *time.Time // Within a minute. Nil for a session that is not known yet.
}

// Store is what the Service needs of a database.
type Store interface {
	// UserBySubject returns the user whom the claims name, whatever the state, and whether the session is over. If
	// there is no such user, the error has the code fault.NotFound.
	UserBySubject(ctx context.Context, claims Claims) (Standing, error)

	// Outdated returns those of some users who are no longer there or active, or whose role, state, sessions or way to
	// sign in have changed within a time: what they have open may be more than they may see.
	Outdated(ctx context.Context, userIDs []uuid.UUID, within time.Duration) ([]uuid.UUID, error)

	// WatchUsers tells the watcher of each user whose role, state, sessions or way to sign in have changed,
	// until the context ends. It calls the watcher from one goroutine.
	WatchUsers(ctx context.Context, watcher Watcher)

	// CreateUser adds a user. If the address or the subject is taken, the error has the code fault.Conflict.
	CreateUser(ctx context.Context, user NewUser) error

	// MarkSignedIn sets when the user last signed in to now, unless it was set within the last minute and since they
	// were invited.
	MarkSignedIn(ctx context.Context, userID uuid.UUID) error

	// ProviderByMailDomain returns how addresses of a mail domain (lower case) sign in: by the organization that has
	// the domain, else with a password, by the oldest organization with passwords or, if all use single sign-on, the
	// oldest of all. If there is no organization at all, the error has the code fault.NotFound.
	ProviderByMailDomain(ctx context.Context, domain string) (Provider, error)

	SessionStore
}

// Watcher is told of users as they change.
type Watcher struct {
	// From now on each one is told. Called again after an interruption: some may be missing.
	Listening func()
	Changed   func(userID uuid.UUID) // Or removed.
	Lost      func(err error)        // An interruption begins.
}

// Events ends what people have open and may no longer see. Its methods are called from one goroutine and never block.
type Events interface {
	// PersonChanged is told on every server of a user whose role, state, sessions or way to sign in have changed, or
	// who was removed. Whatever they have open ends; if they are still allowed to, they come back.
	PersonChanged(userID uuid.UUID)

	// Present returns who has anything open on this server.
	Present() []uuid.UUID
}

// Claims are what a verified token says.
type Claims struct {
	Subject   string
	Session   uuid.UUID // The claim origin_jti: one sign-in on one device. Nil where the provider names none.
	AuthType  AuthType  // How the session began,
	AuthTime  time.Time // and when, in whole seconds.
	ExpiresAt time.Time
}

// Verifier checks id tokens. For one that has run out the error is ErrExpired; for any other that does not hold it has
// the code fault.Unauthenticated.
type Verifier interface {
	VerifyIDToken(ctx context.Context, token string) (Claims, error)
}

// SSORequired is the code for a session by password in an organization that wants single sign-on.
const SSORequired fault.Code = "sso_required"

// Refusals. The texts of the first two are part of the contract: clients compare them.
var (
	ErrExpired     = fault.Errorf(fault.Unauthenticated, "jwt expired")
	ErrNoUser      = fault.Errorf(fault.Unauthenticated, "Not authenticated: no user found")
	ErrSSORequired = fault.Errorf(SSORequired, "この組織ではシングルサインオンでログインしてください。")
)

// Actor is the user on whose behalf something is done, by which session, from where, and how long the token that proves
// it holds.
type Actor struct {
	User
	AuthType  AuthType // How the session began. User.AuthType is the member's own.
	AuthTime  time.Time
	Session   uuid.UUID
	ExpiresAt time.Time

	// Of the request, for the audit log. Set by package api.
	Address   netip.Addr // Zero where it is unknown.
	RequestID string

	usedAt  time.Time // When the session was used last, zero for the first time.
	changes uint64    // How many changes the Service knew of when it looked the actor up.
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
