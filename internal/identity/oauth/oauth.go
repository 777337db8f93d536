// Package oauth is the OAuth 2.1 authorization server for this project's own clients, which are the browser extension
// and programs on the command line, and for programs of the Model Context Protocol. It also issues personal access
// tokens.
//
// A connection is a session (package identity) of a client other than the app, bound to scopes. It begins with an
// authorization code and PKCE (RFC 7636, S256 only) or with a device code (RFC 8628). It continues with refresh tokens
// that are replaced at each use. All clients are public and built in. Tokens are opaque, and only their hashes are
// stored. The package imports fault, runes, uuidv7, identity and identity/opaque.
package oauth

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// Lifetimes.
const (
	accessLifetime  = time.Hour
	refreshLifetime = 30 * 24 * time.Hour // Of each refresh token. An unused connection expires after it.
	refreshGrace    = time.Minute         // Time during which a refresh may be repeated after a lost response.
	codeLifetime    = time.Minute
	deviceLifetime  = 10 * time.Minute
	PollInterval    = 5 * time.Second // Between two polls of a device. slow_down increases it by the same amount.
	maxPersonal     = 366 * 24 * time.Hour
)

// Prefixes of tokens. They distinguish the tokens from id tokens, and allow scanners to find leaked tokens.
const (
	accessPrefix   = "tsa_"
	refreshPrefix  = "tsr_"
	personalPrefix = "tsk_"
)

// Personal is the client of personal access tokens.
const Personal = "personal"

// Error codes of RFC 6749 (4.1.2.1 and 5.2) and RFC 8628 (3.5). Their details are for developers, in the characters
// that the RFCs allow.
const (
	InvalidRequest       fault.Code = "invalid_request"
	InvalidClient        fault.Code = "invalid_client"
	InvalidGrant         fault.Code = "invalid_grant"
	InvalidScope         fault.Code = "invalid_scope"
	UnsupportedGrant     fault.Code = "unsupported_grant_type"
	unsupportedResponse  fault.Code = "unsupported_response_type"
	AccessDenied         fault.Code = "access_denied"
	AuthorizationPending fault.Code = "authorization_pending"
	SlowDown             fault.Code = "slow_down"
	ExpiredToken         fault.Code = "expired_token"
)

// Errors of the Store and the Service that are shown to people.
var (
	ErrNoConnection = fault.Errorf(fault.NotFound, "接続が見つかりません。")
	ErrNoDevice     = fault.Errorf(fault.NotFound,
		"コードが正しくないか、期限が切れています。接続する端末に表示されているコードを確認してください。")
	ErrPersonalForbidden = fault.Errorf(fault.Forbidden, "この組織では、個人用アクセストークンを使用できません。")
	ErrTokenCreated      = fault.Errorf(fault.Conflict, "このトークンはすでに作成されており、もう一度表示することはできません。"+
		"控えていない場合は、一覧から削除し、新しいトークンを作成してください。")
)

// Kind is the kind of a token.
type Kind string

// The kinds of tokens.
const (
	Access      Kind = "access"
	Refresh     Kind = "refresh"
	personalKey Kind = "personal"
)

// Token is a stored token.
type Token struct {
	Hash      []byte
	Kind      Kind
	ExpiresAt time.Time
}

// StoredToken is a stored token with the claims of its connection.
type StoredToken struct {
	identity.Claims // ExpiresAt is the expiry of the token.

	Kind Kind
	Used bool // The refresh token was exchanged, or the access token was used before.
}

// Grant is an authorization code or a device code.
type Grant struct {
	Hash         []byte
	UserCodeHash []byte // For a device code; nil for an authorization code.
	ClientID     string
	Scopes       []identity.Scope
	RedirectURI  string // For an authorization code, like Challenge.
	Challenge    string
	Address      *netip.Addr // For a device code, like UserAgent.
	UserAgent    string

	// The person who has answered; nil until then.
	OrganizationID *uuid.UUID
	UserID         *uuid.UUID
	AuthType       *identity.AuthType
	AnsweredAt     *time.Time
	Denied         bool

	Session uuid.UUID `db:"-"` // The person's session. Set only for AddGrant, after an answer.

	CreatedAt    time.Time
	ExpiresAt    time.Time
	PolledAt     *time.Time
	PollInterval int // In seconds.
	UsedAt       *time.Time
}

// Connection is a session of a client, or a personal access token.
type Connection struct {
	ID        uuid.UUID
	UserID    uuid.UUID
	UserName  string
	UserEmail string
	ClientID  string
	Name      string // For a personal access token.
	Scopes    []identity.Scope
	CreatedAt time.Time
	UsedAt    time.Time // Accurate to a minute.
	ExpiresAt *time.Time
	UserAgent string
	Address   *netip.Addr
}

// NewConnection is a new connection with its first tokens.
type NewConnection struct {
	ID        uuid.UUID
	Tokens    []Token
	UserAgent string
	Address   netip.Addr
}

// Rotation is the exchange of a refresh token for new tokens.
type Rotation struct {
	Hash   []byte // Of the refresh token.
	Next   []Token
	Grace  time.Duration // Time after the exchange during which it may be repeated if its response was lost.
	Origin Origin
}

// NewToken is a personal access token to create.
type NewToken struct {
	RequestID uuid.UUID
	Name      string
	Scopes    []identity.Scope
	ExpiresAt time.Time // At most a year from now.
}

// Origin is the origin of a client's request.
type Origin struct {
	Address   netip.Addr // The zero Addr if unknown.
	UserAgent string
	RequestID string
}

// Store is the database of a Service. Each method is one transaction.
type Store interface {
	// TokenByHash returns a token with the claims of its connection, and records the use of an access token. If the
	// token does not exist, the error has the code fault.NotFound. TokenByHash does not check whether the connection
	// has ended; identity.Service does.
	TokenByHash(ctx context.Context, hash []byte) (StoredToken, error)

	// AddGrant stores a new code. It and the other methods that begin a connection return identity.ErrExpired if the
	// person's session has ended meanwhile.
	AddGrant(ctx context.Context, grant Grant) error

	// GrantByUserCode returns the unanswered and unexpired device code with a user code, or ErrNoDevice.
	GrantByUserCode(ctx context.Context, userCodeHash []byte) (Grant, error)

	// AnswerGrant stores the actor's answer to a device code, or returns ErrNoDevice like GrantByUserCode.
	AnswerGrant(ctx context.Context, actor identity.Actor, userCodeHash []byte, denied bool) error

	// RedeemGrant locks a code and calls redeem. If redeem returns a NewConnection, RedeemGrant begins the connection,
	// with the time of the person's answer as its beginning, and adds an entry to the audit log. It stores the changes of
	// redeem to PolledAt, PollInterval and UsedAt even if redeem returns an error. The second use of a code ends the
	// connection that it was exchanged for. If the code does not exist or was used, the error has the code InvalidGrant.
	RedeemGrant(ctx context.Context, hash []byte, origin Origin, redeem func(*Grant) (*NewConnection, error)) error

	// RotateTokens exchanges a refresh token for new tokens. If it was exchanged within the grace period and none of
	// the resulting tokens was used, the first response was lost: the new tokens replace the unused ones. After any
	// other exchange the connection ends. In that case, and for an unknown or expired token, the error has the code
	// InvalidGrant. A replaced refresh token counts as exchanged.
	RotateTokens(ctx context.Context, rotation Rotation) error

	// EndByToken ends the connection of a client's token. It ignores unknown tokens and tokens of other clients.
	EndByToken(ctx context.Context, clientID string, hash []byte, origin Origin) error

	// AddPersonal stores a personal access token and adds it to the audit log. The error is ErrPersonalForbidden if the
	// organization forbids such tokens, and ErrTokenCreated if the request has already created one.
	AddPersonal(ctx context.Context, actor identity.Actor, token NewToken, opening NewConnection) (Connection, error)

	// ListConnections returns the active connections of the actor, last used first.
	ListConnections(ctx context.Context, actor identity.Actor) ([]Connection, error)

	// ListAllConnections returns a page of the active connections of an organization, last used first, and their total
	// number.
	ListAllConnections(ctx context.Context, organizationID uuid.UUID, offset, limit int) ([]Connection, int, error)

	// EndConnection ends a connection of the actor or, if all is set, of their organization, and adds it to the audit
	// log. If the connection does not exist, the error is ErrNoConnection. Only a super-admin ends connections of other
	// administrators; otherwise the error has the code fault.Forbidden.
	EndConnection(ctx context.Context, actor identity.Actor, id uuid.UUID, all bool) error

	// PersonalTokens reports whether the organization allows personal access tokens.
	PersonalTokens(ctx context.Context, organizationID uuid.UUID) (bool, error)

	// SetPersonalTokens allows or forbids personal access tokens, and adds this to the audit log. Forbidding them ends
	// all existing ones.
	SetPersonalTokens(ctx context.Context, actor identity.Actor, allowed bool) error
}

// Client is a program that people can connect.
type Client struct {
	ID           string
	Name         string // For people.
	Scopes       []identity.Scope
	RedirectURIs []string // Must match exactly, except for the port of a loopback address.
}

// Clients returns the built-in clients. extensions are the origins of the browser extensions that may connect, such as
// "chrome-extension://ID". Chrome delivers requests for the address of an id only to that extension.
func Clients(extensions []string) []Client {
	redirects := make([]string, 0, len(extensions))
	for _, origin := range extensions {
		redirects = append(redirects, "https://"+strings.TrimPrefix(origin, "chrome-extension://")+".chromiumapp.org/")
	}
	return []Client{
		{
			ID: "tsumugi-extension", Name: "Tsumugi ブラウザー拡張機能", RedirectURIs: redirects,
			Scopes: []identity.Scope{identity.ScopeChat, identity.ScopeDocuments, identity.ScopeExtension},
		},
		{
			ID: "tsumugi-cli", Name: "Tsumugi コマンドラインツール",
			Scopes:       []identity.Scope{identity.ScopeChat, identity.ScopeDocuments},
			RedirectURIs: []string{"http://127.0.0.1/callback", "http://[::1]/callback"},
		},
		{
			// Of other vendors: the programs of the Model Context Protocol. They run on the person's device, which is why
			// only loopback addresses are registered. Each program has its own path.
			ID: "tsumugi-mcp", Name: "AIアシスタント・エディター（MCP）",
			Scopes: []identity.Scope{identity.ScopeChat, identity.ScopeDocuments},
			RedirectURIs: []string{
				"http://127.0.0.1", "http://127.0.0.1/", "http://127.0.0.1/callback", "http://127.0.0.1/oauth/callback",
				"http://localhost", "http://localhost/", "http://localhost/callback", "http://localhost/oauth/callback",
			},
		},
	}
}

// AllScopes returns all scopes in display order.
func AllScopes() []identity.Scope {
	return []identity.Scope{identity.ScopeChat, identity.ScopeDocuments, identity.ScopeExtension}
}

// Config configures a Service.
type Config struct {
	PublicURL string // The issuer, without a trailing slash.
	Clients   []Client
	Now       func() time.Time // time.Now if nil.
}

// Service issues codes and tokens. It is safe for concurrent use.
type Service struct {
	cfg    Config
	store  Store
	people *identity.Service
}

// NewService returns a Service.
func NewService(cfg Config, store Store, people *identity.Service) *Service {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Service{cfg: cfg, store: store, people: people}
}

// ClientName returns the display name of a client, or its id if the client is no longer built in.
func (s *Service) ClientName(id string) string {
	if client, ok := s.client(id); ok {
		return client.Name
	}
	return id
}

func (s *Service) client(id string) (Client, bool) {
	i := slices.IndexFunc(s.cfg.Clients, func(c Client) bool { return c.ID == id })
	if i < 0 {
		return Client{}, false
	}
	return s.cfg.Clients[i], true
}
