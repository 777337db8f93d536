// Package saml implements single sign-on: an organization's members sign in at the organization's identity provider, by
// SAML 2.0 (web browser SSO profile; requests by HTTP-Redirect, responses by HTTP-POST).
//
// It owns an organization's settings for single sign-on, the sign-ins in progress, and the rules that map an assertion
// to a member. It reads an assertion only from the signed bytes, after checking its shape against signature wrapping.
// The sessions belong to the user pool. The package imports fault, uuidv7, identity and identity/pool.
package saml

import (
	"context"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
)

// Time limits of a sign-in: from the redirect to the response of the identity provider, and from that to the tokens.
const (
	StateLifetime = 10 * time.Minute
	codeLifetime  = time.Minute
)

// Settings are an organization's settings for single sign-on.
type Settings struct {
	OrganizationID uuid.UUID
	Enabled        bool     // Members sign in by single sign-on.
	MailDomains    []string // The organization's, lower case. Only operators set them.
	EntityID       string   // The identity provider's; "" until it is set.
	SSOURL         string
	Certificates   [][]byte // DER. Each may sign.
	EmailAttribute string   // "": the NameID is the address.
	NameAttribute  string   // "": the address is used as the name.
	EmailDomains   []string // The subset of MailDomains that may sign in. Domains removed from MailDomains are ignored.
	UpdatedAt      *time.Time
}

// Key is the signing key of the service provider. An installation has one.
type Key struct {
	PrivateKey  string // PKCS #8 in PEM.
	Certificate []byte // DER, self-signed: it only carries the public key.
	CreatedAt   time.Time
}

// State is a sign-in that waits for the identity provider's response.
type State struct {
	Hash           []byte // SHA-256 of RelayState.
	BrowserHash    []byte // SHA-256 of the browser's cookie.
	OrganizationID uuid.UUID
	RequestID      string     // The AuthnRequest that the response must answer.
	Next           string     // Path in the app after the sign-in, or "".
	TestID         *uuid.UUID // Set for a trial of the settings, which does not sign in.
	ExpiresAt      time.Time
}

// Code is exchanged by the browser for tokens, once.
type Code struct {
	Hash           []byte // SHA-256 of the code.
	BrowserHash    []byte
	OrganizationID uuid.UUID
	UserID         uuid.UUID
	Next           string
	SessionUntil   *time.Time // End of the session set by the identity provider, or nil.
	ExpiresAt      time.Time
}

// Member is a member who may match an assertion.
type Member struct {
	ID             uuid.UUID
	OrganizationID uuid.UUID
	Subject        string
	Email          string
	Name           string
	Role           identity.Role
	State          identity.State
	AuthType       identity.AuthType
	SignedIn       bool // At least once.
}

// Candidates are the members who may match an assertion.
type Candidates struct {
	Linked   *Member // Signed in by the same NameID before.
	ByEmail  *Member // Has the address, ignoring case, in any organization.
	SeatFree bool    // The organization's contract allows one more member.

	LinkedToAnother bool // ByEmail signs in by another NameID of the same identity provider.
}

// Decision is the decision on an assertion: an existing or a new member signs in.
type Decision struct {
	Member    uuid.UUID         // The member who signs in.
	Link      bool              // Link the member to this NameID.
	Consent   bool              // The member must agree to the link first.
	Provision *identity.NewUser // The user to add. Nil for an existing member.
}

// Use is a recorded use of an assertion. It is stored while the assertion is valid, to detect replays.
type Use struct {
	OrganizationID uuid.UUID
	EntityID       string // Of the identity provider.
	AssertionID    string
	ExpiresAt      time.Time
}

// Acceptance is a valid assertion with the data stored for it.
type Acceptance struct {
	OrganizationID uuid.UUID
	EntityID       string // Of the identity provider.
	NameID         string // The identity provider's persistent identifier of the person.
	Email          string // As asserted.
	Code           Code   // The user is not set.
	Origin         Origin
	ConsentUntil   time.Time // Time limit for consent.
	ConsentHash    []byte    // Hash of the pending assertion that the member has agreed to, or nil.
}

// PendingLink is an assertion that waits for the consent of the member to be linked.
type PendingLink struct {
	OrganizationID uuid.UUID
	UserID         uuid.UUID
	MemberEmail    string
	EntityID       string
	NameID         string
	Email          string // As asserted.
	Next           string
	SessionUntil   *time.Time
	CreatedAt      time.Time
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

	SessionUntil *time.Time
}

// Test is a trial of the settings with its result.
type Test struct {
	ID         uuid.UUID
	Status     TestStatus
	Error      string // The error in the settings, for an administrator.
	NameID     string
	Email      string
	Name       string
	Attributes []Attribute
}

// TestStatus is the status of a trial.
type TestStatus string

// The statuses of a trial.
const (
	TestPending TestStatus = "pending"
	TestSuccess TestStatus = "success"
	TestFailed  TestStatus = "failed"
)

// Attribute is an attribute of an assertion.
type Attribute struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// Store is the database of a Service. Times come from the service's clock. Errors are faults. A change of the settings
// is recorded in the audit log in the same transaction, on behalf of the actor.
type Store interface {
	// SAMLKey returns the installation's key, or an error with the code fault.NotFound.
	SAMLKey(ctx context.Context) (Key, error)

	// AddFirstSAMLKey adds the key if there is none, even if several servers call it concurrently.
	AddFirstSAMLKey(ctx context.Context, key Key) error

	// SAMLSettings returns an organization's settings, empty if they were never set. If the organization does not
	// exist, the error has the code fault.NotFound.
	SAMLSettings(ctx context.Context, organizationID uuid.UUID) (Settings, error)

	// ChangeSAMLSettings replaces the settings of the actor's organization, and Enabled, by the result of change, one
	// caller at a time. passwordAdmins is the number of active super-admins who can sign in with a password; it
	// excludes members who have not yet accepted their invitation. If change returns an error, ChangeSAMLSettings
	// returns it and changes nothing. If the actor is no longer an active super-admin, the error has the code
	// fault.Forbidden.
	ChangeSAMLSettings(
		ctx context.Context, actor identity.Actor, action Action,
		change func(settings *Settings, passwordAdmins int) error,
	) error

	// CreateSAMLState stores a new sign-in.
	CreateSAMLState(ctx context.Context, state State, at time.Time) error

	// TakeSAMLState returns and consumes the sign-in of a state, browser and organization. If it does not exist, was
	// used or has expired, the error has the code fault.NotFound.
	TakeSAMLState(ctx context.Context, organizationID uuid.UUID, hash, browserHash []byte, at time.Time) (State, error)

	// UseAssertion records the use of an assertion. If it was used before, the error has the code fault.Conflict.
	UseAssertion(ctx context.Context, use Use, at time.Time) error

	// AcceptAssertion applies the result of decide for the candidates, one caller of an organization at a time, and
	// stores the code. If consent is required and missing, it stores the assertion under the code's hash instead. If
	// decide returns an error, AcceptAssertion returns it and changes nothing. If the address was taken meanwhile, the
	// error has the code fault.Conflict; if the pending assertion no longer exists, fault.NotFound.
	AcceptAssertion(
		ctx context.Context, acceptance Acceptance, at time.Time, decide func(Candidates) (Decision, error),
	) error

	// FindPendingLink returns an assertion that waits for consent. If none exists for the browser and the organization,
	// or it was used or has expired, the error has the code fault.NotFound.
	FindPendingLink(
		ctx context.Context, organizationID uuid.UUID, hash, browserHash []byte, at time.Time,
	) (PendingLink, error)

	// TakeSAMLCode consumes a code and returns the member to whom it was issued. If no such code exists for the browser
	// and the organization, if it was used or has expired, if the member is not active, or if the organization no
	// longer uses single sign-on, the error has the code fault.NotFound.
	TakeSAMLCode(ctx context.Context, organizationID uuid.UUID, hash, browserHash []byte, at time.Time) (Grantee, error)

	// RecordRefusal records a rejected sign-in in the audit log.
	RecordRefusal(ctx context.Context, refusal Refusal) error

	// CreateSAMLTest stores a new trial with its state.
	CreateSAMLTest(ctx context.Context, actor identity.Actor, test Test, state State, at time.Time) error

	// FinishSAMLTest stores the result of a trial.
	FinishSAMLTest(ctx context.Context, organizationID uuid.UUID, test Test) error

	// SAMLTest returns a trial of an organization, or an error with the code fault.NotFound.
	SAMLTest(ctx context.Context, organizationID, id uuid.UUID) (Test, error)
}

// Action is the name of a change of the settings in the audit log.
type Action string

// The actions.
const (
	ActionEdit Action = "saml.edit"
	ActionOn   Action = "saml.on"
	actionOff  Action = "saml.off"
)

// Config configures a Service.
type Config struct {
	PublicURL string           // Base URL of the server, without a trailing slash.
	ClientID  string           // The pool's client for users of other identity providers.
	Clock     func() time.Time // Default time.Now.
	Logger    *slog.Logger     // Default: discard.
}

// Service implements single sign-on. It is safe for concurrent use and needs no stopping.
type Service struct {
	cfg      Config
	store    Store
	sessions *pool.Pool

	mu  sync.Mutex
	key *signingKey // Guarded by mu. Nil until first used.
}

// New returns a Service, whose sessions belong to a user pool. The signing key is generated on first use.
func New(cfg Config, store Store, sessions *pool.Pool) *Service {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Service{cfg: cfg, store: store, sessions: sessions}
}

// now returns the time at the database's resolution.
func (s *Service) now() time.Time { return s.cfg.Clock().UTC().Truncate(time.Microsecond) }

func (s *Service) entityID(organizationID uuid.UUID) string {
	return s.cfg.PublicURL + "/v1/saml/" + organizationID.String() + "/metadata"
}

func (s *Service) acsURL(organizationID uuid.UUID) string {
	return s.cfg.PublicURL + "/v1/saml/" + organizationID.String() + "/acs"
}

// OverTLS reports whether browsers reach the server over TLS.
func (s *Service) OverTLS() bool { return strings.HasPrefix(s.cfg.PublicURL, "https://") }
