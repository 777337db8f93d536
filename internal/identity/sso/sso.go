// Package sso implements the part of single sign-on that all protocols share: the sign-ins in progress, the rules that
// map a person of an identity provider to a member, and the one-time code that a browser exchanges for tokens.
//
// Package saml and package oidc verify what an identity provider asserts and call Admit. The sessions belong to the user
// pool. Client connects to identity providers. The package imports dial, fault, proxy, runes,
// uuidv7, identity, identity/opaque and identity/pool.
package sso

import (
	"context"
	"log/slog"
	"net/netip"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
)

// Time limits of a sign-in: from the redirect to the response of the identity provider, and from that to the tokens.
const (
	StateLifetime = 10 * time.Minute
	CodeLifetime  = time.Minute
)

// Protocol is the protocol of an identity provider.
type Protocol string

// The protocols.
const (
	SAML Protocol = "saml"
	OIDC Protocol = "oidc"
)

// Provider is an identity provider.
type Provider struct {
	Protocol Protocol
	ID       string // Its entity id (SAML) or issuer (OIDC).
}

// State is a sign-in that waits for the identity provider's response.
type State struct {
	Hash           []byte // SHA-256 of the value that the response returns.
	BrowserHash    []byte // SHA-256 of the browser's cookie.
	OrganizationID uuid.UUID
	RequestID      string     // Id of the SAML request, or the nonce of OIDC, that the response must contain.
	Next           string     // Path in the app after the sign-in, or "".
	TestID         *uuid.UUID // Set for a trial of the settings, which does not sign in.
	ExpiresAt      time.Time

	TakenAt time.Time // When the response arrived, by the database's clock. Set by TakeSSOState.
}

// Code is exchanged by the browser for tokens, once.
type Code struct {
	Hash           []byte // SHA-256 of the code.
	BrowserHash    []byte
	OrganizationID uuid.UUID
	Next           string
	SessionUntil   *time.Time // End of the session set by the identity provider, or nil.
	ExpiresAt      time.Time
}

// Person is a person as asserted by an identity provider.
type Person struct {
	Provider  Provider // The identity provider.
	ID        string   // Its persistent identifier of the person: the NameID or the claim sub.
	SessionID string   // Its identifier of the session (the claim sid), or "".
	Email     string   // As asserted.
	Name      string   // Valid for a member.
	Groups    []string // External ids of the person's groups. Nil to leave groups unchanged.

	AuthenticatedAt *time.Time // When the provider authenticated the person. Nil if unknown.
}

// Member is a member who may match a person.
type Member struct {
	ID             uuid.UUID
	OrganizationID uuid.UUID
	Email          string
	Name           string
	Role           identity.Role
	State          identity.State
	AuthType       identity.AuthType
	SignedIn       bool // At least once.
}

// Candidates are the members who may match a person.
type Candidates struct {
	Linked   *Member // Signed in as the same person before.
	ByEmail  *Member // Has the address, ignoring case, in any organization.
	SeatFree bool    // The organization's contract allows one more member.
	Locked   bool    // The organization is being deleted. Not set if Linked is.

	LinkedToAnother bool // ByEmail signs in as another person of the same identity provider.

	// The session at the identity provider, or all sessions of the member, ended after the response arrived.
	Ended bool
}

// Decision is the decision on a person: an existing or a new member signs in.
type Decision struct {
	Member    uuid.UUID         // The member who signs in.
	Link      bool              // Link the member to the person.
	Consent   bool              // The member must agree to the link first.
	Provision *identity.NewUser // The user to add. Nil for an existing member.
}

// Acceptance is a person who was authenticated, with the data stored for the sign-in.
type Acceptance struct {
	OrganizationID uuid.UUID
	Person         Person
	Code           Code // The user is not set.
	Origin         Origin
	ArrivedAt      time.Time // See State.TakenAt. Zero with ConsentHash, because the end of sessions deletes pending links.
	ConsentUntil   time.Time // Time limit for consent.
	ConsentHash    []byte    // Hash of the pending link that the member has agreed to, or nil.
}

// PendingLink is a person who waits for the consent of the member to be linked.
type PendingLink struct {
	UserID       uuid.UUID
	MemberEmail  string
	Person       Person // Without the name and the time of the authentication.
	Next         string
	SessionUntil *time.Time
	CreatedAt    time.Time
}

// Origin is the origin of a request, for the audit log.
type Origin struct {
	Address   netip.Addr
	RequestID string
}

// Refusal is a rejected sign-in. Unless the identity provider has asserted the address, anyone may have attempted it.
type Refusal struct {
	OrganizationID uuid.UUID
	Email          string // As asserted by the identity provider, else "".
	Code           fault.Code
	At             time.Time
	Origin         Origin
}

// Grantee is the member to whom a code was issued, with the path after the sign-in.
type Grantee struct {
	Subject string
	Email   string
	Name    string
	Next    string

	SessionUntil    *time.Time
	AuthenticatedAt *time.Time // Nil: now.
	ProviderID      string     // The entity id or issuer of the identity provider.
	PersonID        string     // Its identifiers of the person and the session.
	SessionID       string
}

// Store is the database of a Service. Times come from the service's clock. Errors are faults.
type Store interface {
	// SSOProvider returns the identity provider that an organization uses, or the zero Provider if its members sign in
	// with passwords. If the organization does not exist, the error has the code fault.NotFound.
	SSOProvider(ctx context.Context, organizationID uuid.UUID) (Provider, error)

	// CreateSSOState stores a new sign-in.
	CreateSSOState(ctx context.Context, state State, at time.Time) error

	// TakeSSOState returns and consumes the sign-in of a state, browser and organization. If it does not exist, was
	// used or has expired, the error has the code fault.NotFound.
	TakeSSOState(ctx context.Context, organizationID uuid.UUID, hash, browserHash []byte, at time.Time) (State, error)

	// AcceptPerson applies the result of decide for the candidates, one caller of an organization at a time, sets the
	// member's groups of the identity provider, and stores the code. If consent is required and missing, it stores the
	// person under the code's hash instead. If decide returns an error, AcceptPerson returns it and changes nothing. If
	// the address was taken meanwhile, the error has the code fault.Conflict; if the pending link no longer exists,
	// fault.NotFound.
	AcceptPerson(
		ctx context.Context, acceptance Acceptance, at time.Time, decide func(Candidates) (Decision, error),
	) error

	// FindPendingLink returns a person who waits for consent. If none exists for the browser and the organization, or
	// it was used or has expired, the error has the code fault.NotFound.
	FindPendingLink(
		ctx context.Context, organizationID uuid.UUID, hash, browserHash []byte, at time.Time,
	) (PendingLink, error)

	// FindSSOCode returns the member to whom a code was issued. The user pool consumes the code with the session that it
	// begins. If no such code exists for the browser and the organization, if it was used or has expired, if the member
	// is not active, or if the organization no longer uses single sign-on, the error has the code fault.NotFound.
	FindSSOCode(ctx context.Context, organizationID uuid.UUID, hash, browserHash []byte, at time.Time) (Grantee, error)

	// RecordRefusal records a rejected sign-in in the audit log.
	RecordRefusal(ctx context.Context, refusal Refusal) error
}

// Config configures a Service.
type Config struct {
	PublicURL string           // Base URL of the server, without a trailing slash.
	ClientID  string           // The pool's client for users of other identity providers.
	Clock     func() time.Time // Default time.Now.
	Logger    *slog.Logger     // Default: discard.
}

// Service implements single sign-on for all protocols. It is safe for concurrent use and needs no stopping.
type Service struct {
	cfg      Config
	store    Store
	sessions *pool.Pool
}

// New returns a Service, whose sessions belong to a user pool.
func New(cfg Config, store Store, sessions *pool.Pool) *Service {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Service{cfg: cfg, store: store, sessions: sessions}
}

// Now returns the time at the database's resolution.
func (s *Service) Now() time.Time { return s.cfg.Clock().UTC().Truncate(time.Microsecond) }

// PublicURL returns the base URL of the server, without a trailing slash.
func (s *Service) PublicURL() string { return s.cfg.PublicURL }

// OverTLS reports whether browsers reach the server over TLS.
func (s *Service) OverTLS() bool { return strings.HasPrefix(s.cfg.PublicURL, "https://") }

// Provider returns the identity provider that an organization uses, or the zero Provider if its members sign in with
// passwords. If the organization does not exist, the error has the code fault.NotFound.
func (s *Service) Provider(ctx context.Context, organizationID uuid.UUID) (Provider, error) {
	return s.store.SSOProvider(ctx, organizationID)
}

// ErrNoPasswordAdmin refuses to switch single sign-on on.
var ErrNoPasswordAdmin = fault.Errorf(fault.Conflict,
	"パスワードでログインできる特権管理者がいないため、オンにできません。IDプロバイダーに障害があったときに設定を変更できるよう、1名以上必要です。")
