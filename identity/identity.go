// Package identity knows who makes a request: users, the tokens that prove them, and the actor in the context.
//
// It imports fault and libraries for tokens. Its folder pool is the embedded user pool.
package identity

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/fault"
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

// Store is what the Service needs of a database.
type Store interface {
	// UserBySubject returns the user whom the identity provider calls subject, whatever the state. If there is none, the
	// error has the code fault.NotFound.
	UserBySubject(ctx context.Context, subject string) (User, error)

	// CreateUser adds a user. If the address or the subject is taken, the error has the code fault.Conflict.
	CreateUser(ctx context.Context, user NewUser) error

	// MarkSignedIn sets when the user last signed in to now, unless it was set within the last minute.
	MarkSignedIn(ctx context.Context, userID uuid.UUID) error

	// ProviderByMailDomain returns how addresses of a mail domain (lower case) sign in: by the organization that has the
	// domain, else by the oldest organization with passwords. If there is no organization at all, the error has the code
	// fault.NotFound.
	ProviderByMailDomain(ctx context.Context, domain string) (Provider, error)
}

// Claims are what a verified token says.
type Claims struct {
	Subject   string
	ExpiresAt time.Time
}

// Verifier checks id tokens. For one that has run out the error is ErrExpired; for any other that does not hold it has
// the code fault.Unauthenticated.
type Verifier interface {
	VerifyIDToken(ctx context.Context, token string) (Claims, error)
}

// The two refusals whose texts are part of the contract: clients compare them.
var (
	ErrExpired = fault.Errorf(fault.Unauthenticated, "jwt expired")
	ErrNoUser  = fault.Errorf(fault.Unauthenticated, "Not authenticated: no user found")
)

// Actor is the user on whose behalf something is done, and how long the token that proves it holds.
type Actor struct {
	User
	ExpiresAt time.Time
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
