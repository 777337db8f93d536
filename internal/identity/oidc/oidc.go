// Package oidc implements single sign-on by OpenID Connect: an organization's members sign in at the organization's
// identity provider by the authorization code flow with PKCE (OpenID Connect Core 1.0, RFC 7636, RFC 9207), and the
// provider ends their sessions (OpenID Connect Back-Channel Logout 1.0).
//
// It owns an organization's settings for OpenID Connect and all requests to its provider. Each sign-in reads the
// discovery document and the keys again, so that a withdrawn key is never accepted. Logouts, which anyone can request,
// read them at most once in 10 seconds. Package sso maps the person in an id token to a member. The package imports dial,
// fault, lru, runes, identity and identity/sso.
package oidc

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
	"github.com/tsumugi-ai/tsumugi/internal/lru"
)

// Settings are an organization's settings for OpenID Connect.
type Settings struct {
	OrganizationID uuid.UUID
	Enabled        bool     // Members sign in by OpenID Connect.
	MailDomains    []string // The organization's, lower case. Only operators set them.
	Issuer         string   // "" until it is set.
	ClientID       string
	ClientSecret   string   // "" for a public client.
	Scopes         []string // With openid.
	EmailClaim     string
	NameClaim      string
	GroupsClaim    string   // "": groups are not set.
	Prompt         string   // As in the authentication request; "" to omit it.
	ACRValues      []string // The id token must have one of them. Empty to omit them.
	MaxAge         int      // Maximum age of the authentication, in seconds. 0 to omit it.
	EmailDomains   []string // The subset of MailDomains that may sign in. Domains removed from MailDomains are ignored.
	UpdatedAt      *time.Time
}

// Logout is a verified logout token.
type Logout struct {
	OrganizationID uuid.UUID
	Issuer         string
	Subject        string // "": all people of SessionID.
	SessionID      string // "": all sessions of Subject.
	TokenID        string
	ExpiresAt      time.Time
}

// Action is the name of a change of the settings in the audit log.
type Action string

// The actions.
const (
	actionEdit Action = "oidc.edit"
	actionOn   Action = "oidc.on"
	actionOff  Action = "oidc.off"
)

// Store is the database of a Service. Errors are faults. A change of the settings is recorded in the audit log in the
// same transaction, on behalf of the actor.
type Store interface {
	// OIDCSettings returns an organization's settings, empty if they were never set. If the organization does not
	// exist, the error has the code fault.NotFound.
	OIDCSettings(ctx context.Context, organizationID uuid.UUID) (Settings, error)

	// ChangeOIDCSettings changes the settings of the actor's organization like saml.Store.ChangeSAMLSettings. If change
	// sets Enabled, OpenID Connect replaces SAML.
	ChangeOIDCSettings(
		ctx context.Context, actor identity.Actor, action Action, change func(*Settings) error,
	) (Settings, error)

	// EndProviderSessions ends the sessions and the sign-ins in progress of a logout token. If the token was used before,
	// the error has the code fault.Conflict.
	EndProviderSessions(ctx context.Context, logout Logout, at time.Time) error
}

// Service implements OpenID Connect. It is safe for concurrent use and needs no stopping.
type Service struct {
	providers *sso.Client
	repeater  *repeater // For calls that anyone can make.
	store     Store
	sso       *sso.Service
}

// New returns a Service that connects by providers, and whose sign-ins end in shared.
func New(providers *sso.Client, store Store, shared *sso.Service) *Service {
	return &Service{
		providers: providers, store: store, sso: shared,
		repeater: &repeater{providers.Transport(), shared.Now, lru.New[string, func() ([]byte, error)](maxRepeated)},
	}
}

// redirectURL returns the redirect URI of an organization. It differs between organizations, so that the response of one
// organization's provider is not accepted as that of another's (RFC 9700, section 4.4.2).
func (s *Service) redirectURL(organizationID uuid.UUID) string {
	return s.url(organizationID, "callback")
}

func (s *Service) url(organizationID uuid.UUID, name string) string {
	return s.sso.PublicURL() + "/v1/oidc/" + organizationID.String() + "/" + name
}

// errDisabled is the error for an organization that does not use OpenID Connect.
func errDisabled(err error) error {
	return fault.Wrap(err, sso.CodeDisabled, "この組織ではシングルサインオンを使用していません。")
}
