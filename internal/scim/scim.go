// Package scim implements provisioning by SCIM 2.0 (RFC 7643, RFC 7644): an organization's identity provider adds,
// changes and deactivates members, and maintains groups.
//
// Every member of the organization is a user of SCIM. An attribute that the app does not use is stored and returned, but
// has no effect. A role never comes from the identity provider. The package imports fault, identity, identity/opaque,
// org, runes and uuidv7.
package scim

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// Codes of refused calls: the values of scimType (RFC 7644, section 3.12).
const (
	InvalidFilter fault.Code = "invalidFilter"
	TooMany       fault.Code = "tooMany"
	Uniqueness    fault.Code = "uniqueness"
	Mutability    fault.Code = "mutability"
	InvalidSyntax fault.Code = "invalidSyntax"
	InvalidPath   fault.Code = "invalidPath"
	NoTarget      fault.Code = "noTarget"
	InvalidValue  fault.Code = "invalidValue"
)

// codeVersion refuses a change of a resource that has changed since the client read it (If-Match).
const codeVersion fault.Code = "version"

// Path is the path of the service below the URL of the server.
const Path = "/scim/v2"

// MaxTokens is the number of tokens of an organization: one in use, and one to replace it.
const MaxTokens = 2

// MaxCalls is the number of recorded calls of an organization: of successful ones, and again of refused ones.
const MaxCalls = 100

// Client is an identity provider that has authenticated with a token.
type Client struct {
	OrganizationID uuid.UUID
	TokenID        uuid.UUID
	TokenName      string

	// The origin of the request, for the audit log.
	Address   netip.Addr
	RequestID string
}

// By returns the client as the actor of an entry of the audit log.
func (c Client) By() org.AuditActor {
	return org.AuditActor{
		Kind: org.ByProvisioning, Name: c.TokenName, Address: c.Address, RequestID: c.RequestID,
	}
}

// User is a member as a user of SCIM.
type User struct {
	ID         uuid.UUID
	Email      string
	Name       string
	State      identity.State
	CreatedAt  time.Time
	ChangedAt  time.Time
	ExternalID string

	// Attributes is the user as the identity provider has described it. Nil for a member whom it does not know.
	Attributes map[string]any
}

// Draft is the result of a call for a user, with the values that the store needs.
type Draft struct {
	Email      string // Lower case. The address for signing in.
	Name       string
	Active     bool
	UserName   string
	ExternalID string
	Emails     []string // All addresses, in lower case, for filters.
	Attributes map[string]any
}

// Change is a change of a user.
type Change struct {
	Member org.MemberChange
	Draft  Draft
	Delete bool // Hides the user from the identity provider. Draft is not used.
}

// Group is a group of the identity provider.
type Group struct {
	ID         uuid.UUID
	Name       string
	ExternalID string
	CreatedAt  time.Time
	Members    []Member `db:"-"`
}

// Member is a member of a group.
type Member struct {
	ID   uuid.UUID
	Name string // Not set in changes.
}

// Match restricts the candidates of a filter to resources that have one of the values, so that the store can use indexes.
type Match struct {
	IDs         []uuid.UUID
	UserNames   []string    // Lower case.
	ExternalIDs []string    // Of users.
	Emails      []string    // Lower case.
	Members     []uuid.UUID // Of groups.
}

// Call is a recorded call.
type Call struct {
	ID             uuid.UUID // Set by the store.
	OrganizationID uuid.UUID
	At             time.Time
	TokenName      string
	Method         string
	Path           string
	Target         string // The name of the user or group, if known.
	Status         int
	Code           fault.Code // Of a refused call, else "".
	Detail         string
}

// Token is a token of an organization.
type Token struct {
	ID         uuid.UUID
	Name       string
	CreatedBy  string // The name of the administrator.
	CreatedAt  time.Time
	LastUsedAt *time.Time
}

// Store is the database of a Service. Errors are faults.
type Store interface {
	// SCIMClient returns the client of a token, and records its use. If the token does not exist, or the organization is
	// being deleted, the error has the code fault.Unauthenticated.
	SCIMClient(ctx context.Context, tokenHash []byte) (Client, error)

	// RecordSCIMCall records a call, and deletes the oldest ones over MaxCalls. Of calls that were refused with
	// fault.RateLimited, only the newest remains.
	RecordSCIMCall(ctx context.Context, call Call) error

	// ListSCIMUsers returns users in a stable order, and their total number.
	ListSCIMUsers(ctx context.Context, organizationID uuid.UUID, offset, limit int) ([]User, int, error)

	// FilterSCIMUsers returns the users that match and whose ids are greater than after, in the order of their ids. With
	// nil, every user matches.
	FilterSCIMUsers(ctx context.Context, organizationID uuid.UUID, match *Match, after uuid.UUID, limit int) ([]User, error)

	// FindSCIMUser returns a user. If it does not exist, the error has the code fault.NotFound.
	FindSCIMUser(ctx context.Context, organizationID, id uuid.UUID) (User, error)

	// AddSCIMUser adds a member with an account in the user pool, and logs it. A member who was deleted by SCIM and has
	// the same address is restored; decide then returns the change. If an attribute is taken, or the address belongs to
	// an account with a password, the error has the code Uniqueness; without a seat, fault.NoSeat.
	AddSCIMUser(ctx context.Context, client Client, draft Draft,
		decide func(org.MemberContext) (org.MemberChange, error)) (User, error)

	// ChangeSCIMUser calls decide for the change of a user, then stores and logs it, with the organization locked.
	// Errors: fault.NotFound, Uniqueness for a taken attribute, and those of decide.
	ChangeSCIMUser(ctx context.Context, client Client, id uuid.UUID,
		decide func(User, org.MemberContext) (Change, error)) (User, error)

	// ListSCIMGroups returns the groups of the identity provider that match, in a stable order and without their members.
	// With nil, every group matches.
	ListSCIMGroups(ctx context.Context, organizationID uuid.UUID, match *Match) ([]Group, error)

	// SetSCIMMembers sets the members of groups of ListSCIMGroups.
	SetSCIMMembers(ctx context.Context, groups []Group) error

	// FindSCIMGroup returns a group with its members. If it does not exist, the error has the code fault.NotFound.
	FindSCIMGroup(ctx context.Context, organizationID, id uuid.UUID) (Group, error)

	// AddSCIMGroup adds a group with its members, and logs it. Errors: Uniqueness for a taken name or external id,
	// InvalidValue for unknown members, and those of org for the number of groups and members.
	AddSCIMGroup(ctx context.Context, client Client, group Group) (Group, error)

	// ChangeSCIMGroup calls decide for the new state of a group, then stores and logs it, with the organization locked.
	// Errors: fault.NotFound, those of AddSCIMGroup, and those of decide.
	ChangeSCIMGroup(ctx context.Context, client Client, id uuid.UUID, decide func(Group) (Group, error)) (Group, error)

	// DeleteSCIMGroup calls check for a group, then deletes and logs it, with the organization locked. Errors:
	// fault.NotFound, and those of check.
	DeleteSCIMGroup(ctx context.Context, client Client, id uuid.UUID, check func(Group) error) error

	// SCIMTokens returns the tokens of an organization, the oldest first.
	SCIMTokens(ctx context.Context, organizationID uuid.UUID) ([]Token, error)

	// SCIMCalls returns the recorded calls of an organization, the newest first: all, or only refused ones.
	SCIMCalls(ctx context.Context, organizationID uuid.UUID, refused bool) ([]Call, error)

	// AddSCIMToken adds a token, and logs it. The actor must be a super-admin at that moment. If the organization has
	// MaxTokens, the error has the code fault.Conflict.
	AddSCIMToken(ctx context.Context, actor identity.Actor, token Token, hash []byte) error

	// RevokeSCIMToken deletes a token, and logs it. The actor must be a super-admin at that moment. If the token does
	// not exist, the error has the code fault.NotFound.
	RevokeSCIMToken(ctx context.Context, actor identity.Actor, id uuid.UUID) error
}

// Service implements provisioning. It is safe for concurrent use and needs no stopping.
type Service struct {
	store   Store
	members *org.Service
	baseURL string
	log     *slog.Logger
}

// NewService returns a Service. publicURL is the URL of the server, without a trailing slash.
func NewService(store Store, members *org.Service, publicURL string, log *slog.Logger) *Service {
	return &Service{store: store, members: members, baseURL: publicURL + Path, log: log}
}
