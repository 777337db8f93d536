// Package saml implements single sign-on: an organization's members sign in at the organization's identity provider, by
// SAML 2.0 (web browser SSO profile; requests by HTTP-Redirect, responses by HTTP-POST).
//
// It owns an organization's settings for SAML. It reads an assertion only from the signed bytes, after checking its shape
// against signature wrapping. Package sso maps the person in it to a member. The package imports dial, fault, mail,
// timeout, uuidv7, identity and identity/sso.
package saml

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
)

// Settings are an organization's settings for single sign-on.
type Settings struct {
	OrganizationID uuid.UUID
	Enabled        bool     // Members sign in by SAML.
	MailDomains    []string // The organization's, lower case. Only operators set them.
	EntityID       string   // The identity provider's; "" until it is set.
	SSOURL         string
	Certificates   [][]byte // DER. Each may sign.
	EmailAttribute string   // "": the NameID is the address.
	NameAttribute  string   // "": the address is used as the name.
	EmailDomains   []string // The subset of MailDomains that may sign in. Domains removed from MailDomains are ignored.
	UpdatedAt      *time.Time

	MetadataURL    string     // The address of EntityID, SSOURL and Certificates, or "".
	MetadataReadAt *time.Time // The last successful reading.
	MetadataDueAt  *time.Time // The next reading.
	MetadataError  string     // Why the last reading failed, in Japanese; "" if it succeeded.
}

// Key is the signing key of the service provider. An installation has one.
type Key struct {
	PrivateKey  string // PKCS #8 in PEM.
	Certificate []byte // DER, self-signed: it only carries the public key.
	CreatedAt   time.Time
}

// Use is a recorded use of an assertion. It is stored while the assertion is valid, to detect replays.
type Use struct {
	OrganizationID uuid.UUID
	EntityID       string // Of the identity provider.
	AssertionID    string
	ExpiresAt      time.Time
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
	// caller at a time, and returns them. If change returns an error, ChangeSAMLSettings returns it and changes nothing.
	// If the actor is no longer an active super-admin, the error has the code fault.Forbidden. If change sets Enabled, and
	// no active super-admin can sign in with a password, it is sso.ErrNoPasswordAdmin.
	ChangeSAMLSettings(
		ctx context.Context, actor identity.Actor, action Action, change func(*Settings) error,
	) (Settings, error)

	// ClaimMetadataReadings returns the readings of metadata that are due at a time, and sets the time of the next ones,
	// so that no other server claims them.
	ClaimMetadataReadings(ctx context.Context, at, next time.Time) ([]MetadataReading, error)

	// RefreshSAMLSettings replaces an organization's settings by the result of change, which it records in the audit log
	// on behalf of the server. If the address of the metadata has changed since the claim, it does nothing. If change
	// returns an error, RefreshSAMLSettings returns it and changes nothing.
	RefreshSAMLSettings(ctx context.Context, reading MetadataReading, change func(settings *Settings) error) error

	// FailMetadataReading stores the reason of a failed reading and the time of the next one, unless the address has
	// changed.
	FailMetadataReading(ctx context.Context, reading MetadataReading, reason string, next time.Time) error

	// SAMLProviders returns the identity providers of all organizations whose members sign in by SAML.
	SAMLProviders(ctx context.Context) ([]Provider, error)

	// ClaimWarning records that all active administrators of the organization receive a warning. It returns those without
	// an earlier record.
	ClaimWarning(ctx context.Context, warning Warning, at time.Time) ([]Administrator, error)

	// ReleaseWarning removes the record of ClaimWarning for a member.
	ReleaseWarning(ctx context.Context, warning Warning, memberID uuid.UUID) error

	// UseAssertion records the use of an assertion. If it was used before, the error has the code fault.Conflict.
	UseAssertion(ctx context.Context, use Use, at time.Time) error

	// CreateSAMLTest stores a new trial with its state.
	CreateSAMLTest(ctx context.Context, actor identity.Actor, test Test, state sso.State, at time.Time) error

	// FinishSAMLTest stores the result of a trial.
	FinishSAMLTest(ctx context.Context, organizationID uuid.UUID, test Test) error

	// SAMLTest returns a trial of an organization, or an error with the code fault.NotFound.
	SAMLTest(ctx context.Context, organizationID, id uuid.UUID) (Test, error)
}

// Action is the name of a change of the settings in the audit log.
type Action string

// The actions.
const (
	actionEdit    Action = "saml.edit"
	ActionOn      Action = "saml.on"
	actionOff     Action = "saml.off"
	ActionRefresh Action = "saml.refresh" // By the server, from the metadata at an address.
)

// Service implements SAML. It is safe for concurrent use and needs no stopping.
type Service struct {
	providers *sso.Client
	store     Store
	sso       *sso.Service

	mu  sync.Mutex
	key *signingKey // Guarded by mu. Nil until first used.
}

// New returns a Service that reads metadata by providers, and whose sign-ins end in shared. The signing key is generated
// on first use.
func New(providers *sso.Client, store Store, shared *sso.Service) *Service {
	return &Service{providers: providers, store: store, sso: shared}
}

func (s *Service) entityID(organizationID uuid.UUID) string {
	return s.sso.PublicURL() + "/v1/saml/" + organizationID.String() + "/metadata"
}

func (s *Service) acsURL(organizationID uuid.UUID) string {
	return s.sso.PublicURL() + "/v1/saml/" + organizationID.String() + "/acs"
}
