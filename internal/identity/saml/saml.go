// Package saml is single sign-on: an organization's members sign in at its own identity provider, by SAML 2.0 (web
// browser SSO profile; requests by HTTP-Redirect, responses by HTTP-POST).
//
// It owns what an organization sets for it, the sign-ins that are under way, and the rules by which an assertion
// becomes a member. Who an assertion names is read from what was signed and from nothing else; its shape is held narrow
// before. The sessions themselves are the user pool's. It imports fault, identity and identity/pool.
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

// How long a sign-in may take, from the redirect to the identity provider to its response, and from that to the tokens.
const (
	StateLifetime = 10 * time.Minute
	codeLifetime  = time.Minute
)

// Settings are what an organization uses for single sign-on.
type Settings struct {
	OrganizationID uuid.UUID
	Enabled        bool     // Members sign in by it.
	MailDomains    []string // The organization's, lower case: operators set them.
	EntityID       string   // The identity provider's name. "" before it is set.
	SSOURL         string
	Certificates   [][]byte // DER. Any of them may sign.
	EmailAttribute string   // "": the NameID is the address.
	NameAttribute  string   // "": the address stands for the name.
	EmailDomains   []string // Those of MailDomains that may sign in. Others that were chosen once are left out.
	UpdatedAt      *time.Time
}

// Key is what the service provider signs with. An installation has one.
type Key struct {
	PrivateKey  string // PKCS #8 in PEM.
	Certificate []byte // DER, self-signed: it only carries the public key.
	CreatedAt   time.Time
}

// State is a sign-in that is under way at the identity provider.
type State struct {
	Hash           []byte // SHA-256 of what travels as RelayState.
	BrowserHash    []byte // SHA-256 of what the browser's cookie holds.
	OrganizationID uuid.UUID
	RequestID      string     // Of the AuthnRequest that the response must answer.
	Next           string     // Path of the app to go to, or "".
	TestID         *uuid.UUID // Set where an administrator tries the settings: nobody is signed in.
	ExpiresAt      time.Time
}

// Code is what the browser exchanges for tokens, once.
type Code struct {
	Hash           []byte // SHA-256 of the code.
	BrowserHash    []byte
	OrganizationID uuid.UUID
	UserID         uuid.UUID
	Next           string
	SessionUntil   *time.Time // What the identity provider lets the session last. Nil: it does not say.
	ExpiresAt      time.Time
}

// Member is somebody whom an assertion may mean.
type Member struct {
	ID             uuid.UUID
	OrganizationID uuid.UUID
	Subject        string
	Email          string
	Name           string
	Role           identity.Role
	State          identity.State
	AuthType       identity.AuthType
	SignedIn       bool // Ever.
}

// Candidates are what the store knows of the person whom an assertion names.
type Candidates struct {
	Linked   *Member // Who signed in by the same NameID before.
	ByEmail  *Member // Who has the address, upper and lower case aside, in whatever organization.
	SeatFree bool    // The organization's contract has room for one more.

	LinkedToAnother bool // ByEmail signs in by another NameID of the same identity provider.
}

// Decision is the answer to an assertion: an existing member signs in, or a new one.
type Decision struct {
	Member    uuid.UUID         // Who signs in.
	Link      bool              // Under this NameID for the first time.
	Consent   bool              // Not before the member has agreed to the link.
	Provision *identity.NewUser // Who is added. Nil for members.
}

// Use is the use of an assertion, which is remembered for as long as it holds.
type Use struct {
	OrganizationID uuid.UUID
	EntityID       string // The identity provider's.
	AssertionID    string
	ExpiresAt      time.Time
}

// Acceptance is an assertion that holds, and what is kept of it.
type Acceptance struct {
	OrganizationID uuid.UUID
	EntityID       string // The identity provider's.
	NameID         string // The identity provider's lasting name for the person.
	Email          string // As asserted.
	Code           Code   // Without its user.
	Origin         Origin
	HeldUntil      time.Time // For how long it is held where consent is needed.
	Consented      []byte    // The hash of the held assertion that the member has agreed to. Nil: they were not asked.
}

// Held is an assertion that waits for the consent of the member whom it would be linked to.
type Held struct {
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

// Origin is where a request came from, for the audit log.
type Origin struct {
	Address   netip.Addr
	RequestID string
}

// Refusal is a sign-in that was refused. Without an identity provider's word for it, anybody can have tried it.
type Refusal struct {
	OrganizationID uuid.UUID
	Email          string // As the identity provider asserts, "" where it did not.
	Code           fault.Code
	At             time.Time
	Origin         Origin
}

// Grantee is who a code was given to, and where they want to go.
type Grantee struct {
	Subject string
	Email   string
	Name    string
	Next    string

	SessionUntil *time.Time
}

// Test is what came of trying the settings.
type Test struct {
	ID         uuid.UUID
	Status     TestStatus
	Error      string // What is wrong, for an administrator.
	NameID     string
	Email      string
	Name       string
	Attributes []Attribute
}

// TestStatus says how far a trial has come.
type TestStatus string

// The statuses of a trial.
const (
	TestPending TestStatus = "pending"
	TestSuccess TestStatus = "success"
	TestFailed  TestStatus = "failed"
)

// Attribute is one of an assertion.
type Attribute struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// Store is what the Service needs of a database. Times come from the service's clock. Errors are faults. What changes
// the settings is written to the audit log in the same transaction, on behalf of the actor.
type Store interface {
	// SAMLKey returns the installation's key, or an error with the code fault.NotFound.
	SAMLKey(ctx context.Context) (Key, error)

	// AddFirstSAMLKey adds the key if there is none yet, however many servers try at once.
	AddFirstSAMLKey(ctx context.Context, key Key) error

	// SAMLSettings returns an organization's settings, empty before they are set. Without such an organization the
	// error has the code fault.NotFound.
	SAMLSettings(ctx context.Context, organizationID uuid.UUID) (Settings, error)

	// ChangeSAMLSettings replaces the settings of the actor's organization, and Enabled, by what change makes of them,
	// one caller after the other. passwordAdmins is how many active super-admins could sign in with a password: not who
	// was only invited to. An error of change is returned as it is and changes nothing. Where the actor is no active
	// super-admin any more the error has the code fault.Forbidden.
	ChangeSAMLSettings(
		ctx context.Context, actor identity.Actor, action Action,
		change func(settings *Settings, passwordAdmins int) error,
	) error

	// CreateSAMLState keeps a sign-in that begins.
	CreateSAMLState(ctx context.Context, state State, at time.Time) error

	// TakeSAMLState returns the sign-in of that state, browser and organization, and uses it up. If there is none, or
	// it was used or has run out, the error has the code fault.NotFound.
	TakeSAMLState(ctx context.Context, organizationID uuid.UUID, hash, browserHash []byte, at time.Time) (State, error)

	// UseAssertion notes that an assertion was used. One that was used before has the code fault.Conflict.
	UseAssertion(ctx context.Context, use Use, at time.Time) error

	// AcceptAssertion does what decide makes of the candidates, one caller of an organization after the other, and
	// keeps the code. Where consent is needed and was not given, it holds the assertion, under the code's hash. An
	// error of decide is returned as it is and changes nothing. If the address was given to somebody meanwhile, the
	// error has the code fault.Conflict; if the held assertion is not there any more, fault.NotFound.
	AcceptAssertion(
		ctx context.Context, acceptance Acceptance, at time.Time, decide func(Candidates) (Decision, error),
	) error

	// HeldAssertion returns an assertion that waits for consent. If there is none for the browser and the organization,
	// or it was used or has run out, the error has the code fault.NotFound.
	HeldAssertion(ctx context.Context, organizationID uuid.UUID, hash, browserHash []byte, at time.Time) (Held, error)

	// TakeSAMLCode returns whom a code was given to, and uses it up. If there is no such code for the browser and the
	// organization, or it was used or has run out, or the member is not active, or the organization does not use single
	// sign-on any more, the error has the code fault.NotFound.
	TakeSAMLCode(ctx context.Context, organizationID uuid.UUID, hash, browserHash []byte, at time.Time) (Grantee, error)

	// RecordRefusal tells the audit log of a sign-in that was refused.
	RecordRefusal(ctx context.Context, refusal Refusal) error

	// CreateSAMLTest keeps a trial that begins, with its state.
	CreateSAMLTest(ctx context.Context, actor identity.Actor, test Test, state State, at time.Time) error

	// FinishSAMLTest keeps what came of a trial.
	FinishSAMLTest(ctx context.Context, organizationID uuid.UUID, test Test) error

	// SAMLTest returns a trial of an organization, or an error with the code fault.NotFound.
	SAMLTest(ctx context.Context, organizationID, id uuid.UUID) (Test, error)
}

// Action is the audit log's word for a change of the settings.
type Action string

// The changes of the settings.
const (
	ActionEdit Action = "saml.edit"
	ActionOn   Action = "saml.on"
	ActionOff  Action = "saml.off"
)

// Sessions are the user pool, as the one who gives tokens to people who sign in elsewhere.
type Sessions interface {
	// CreateExternalUser adds somebody without a password, who has the given subject or, for uuid.Nil, a new one.
	// Somebody who is there with that subject stays as they are.
	CreateExternalUser(ctx context.Context, subject uuid.UUID, email, name string) (uuid.UUID, error)

	// SignInExternal begins a session, which ends at a time unless that is nil.
	SignInExternal(ctx context.Context, subject uuid.UUID, until *time.Time) (pool.Tokens, error)

	// RefreshExternal issues new tokens of a session.
	RefreshExternal(ctx context.Context, clientID, refreshToken string) (pool.Tokens, error)
}

// Config is what New takes.
type Config struct {
	PublicURL string           // Where people reach the server, without a slash at the end.
	ClientID  string           // The pool's client for people who sign in elsewhere.
	Clock     func() time.Time // Default time.Now.
	Logger    *slog.Logger     // Default: nothing is logged.
}

// Service is single sign-on. It is safe for concurrent use and has nothing to stop.
type Service struct {
	cfg      Config
	store    Store
	sessions Sessions

	mu  sync.Mutex
	key *signingKey // Guarded by mu. Nil before it is first needed.
}

// New returns a Service. The key is made when it is first needed.
func New(cfg Config, store Store, sessions Sessions) *Service {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Service{cfg: cfg, store: store, sessions: sessions}
}

// now returns the time as finely as the database keeps it.
func (s *Service) now() time.Time { return s.cfg.Clock().UTC().Truncate(time.Microsecond) }

func (s *Service) entityID(organizationID uuid.UUID) string {
	return s.cfg.PublicURL + "/v1/saml/" + organizationID.String() + "/metadata"
}

func (s *Service) acsURL(organizationID uuid.UUID) string {
	return s.cfg.PublicURL + "/v1/saml/" + organizationID.String() + "/acs"
}

// OverTLS reports whether people reach the server over TLS.
func (s *Service) OverTLS() bool { return strings.HasPrefix(s.cfg.PublicURL, "https://") }
