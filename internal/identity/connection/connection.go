// Package connection is the OAuth 2.1 authorization server for this project's own clients: the browser extension and
// programs on the command line. It also issues personal access tokens.
//
// A connection is a session (package identity) of a client other than the app, bound to scopes. It begins with an
// authorization code and PKCE (RFC 7636, S256 only) or with a device code (RFC 8628), and goes on with refresh tokens
// that are replaced at each use. All clients are public and built in. Tokens are opaque, and only their hashes are
// stored. It imports fault, identity, identity/opaque and org.
package connection

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
	AccessLifetime  = time.Hour
	RefreshLifetime = 30 * 24 * time.Hour // Of each refresh token: a connection that is not used for longer is over.
	RefreshGrace    = time.Minute         // For repeating a refresh whose answer was lost.
	codeLifetime    = time.Minute
	DeviceLifetime  = 10 * time.Minute
	PollInterval    = 5 * time.Second // Between two polls of a device. slow_down adds as much again.
	maxPersonal     = 366 * 24 * time.Hour
)

// Prefixes of tokens, by which they are told from id tokens, and found where they do not belong.
const (
	accessPrefix   = "tsa_"
	refreshPrefix  = "tsr_"
	personalPrefix = "tsk_"
)

// Personal is the client of personal access tokens.
const Personal = "personal"

// Codes of errors, as RFC 6749 (4.1.2.1 and 5.2) and RFC 8628 (3.5) name them. Their details are for developers, in
// the characters that the RFCs allow.
const (
	InvalidRequest       fault.Code = "invalid_request"
	InvalidClient        fault.Code = "invalid_client"
	InvalidGrant         fault.Code = "invalid_grant"
	InvalidScope         fault.Code = "invalid_scope"
	UnsupportedGrant     fault.Code = "unsupported_grant_type"
	UnsupportedResponse  fault.Code = "unsupported_response_type"
	AccessDenied         fault.Code = "access_denied"
	AuthorizationPending fault.Code = "authorization_pending"
	SlowDown             fault.Code = "slow_down"
	ExpiredToken         fault.Code = "expired_token"
)

// Errors of the Store and the Service that people see.
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
	PersonalKey Kind = "personal"
)

// Token is what is stored of a token.
type Token struct {
	Hash      []byte
	Kind      Kind
	ExpiresAt time.Time
}

// Held is a token and the claims of its connection.
type Held struct {
	identity.Claims // ExpiresAt is the token's.

	Kind Kind
	Used bool // A refresh token that was exchanged, or an access token that was used before.
}

// Grant is an authorization code or a device code: what a person allows a client, or is asked to.
type Grant struct {
	Hash         []byte
	UserCodeHash []byte // Of a device code. Nil: an authorization code.
	ClientID     string
	Scopes       []identity.Scope
	RedirectURI  string // Of an authorization code, as is Challenge.
	Challenge    string
	Address      *netip.Addr // Of a device that asks, as is UserAgent.
	UserAgent    string

	// Of the person who has answered; nil before.
	OrganizationID *uuid.UUID
	UserID         *uuid.UUID
	AuthType       *identity.AuthType
	AnsweredAt     *time.Time
	Denied         bool

	CreatedAt    time.Time
	ExpiresAt    time.Time
	PolledAt     *time.Time
	PollInterval int // Seconds.
	UsedAt       *time.Time
}

// Connection is a session of a client, or a personal access token.
type Connection struct {
	ID        uuid.UUID
	UserID    uuid.UUID
	UserName  string
	UserEmail string
	ClientID  string
	Name      string // Of a personal access token.
	Scopes    []identity.Scope
	CreatedAt time.Time
	UsedAt    time.Time // Accurate to a minute.
	ExpiresAt *time.Time
	UserAgent string
	Address   *netip.Addr
}

// Opening is a connection that begins, with its first tokens.
type Opening struct {
	ID        uuid.UUID
	Tokens    []Token
	UserAgent string
	Address   netip.Addr
}

// Rotation is the exchange of a refresh token for other tokens.
type Rotation struct {
	Hash   []byte // Of the refresh token.
	Next   []Token
	Grace  time.Duration // How long after its exchange it may be exchanged again, if its answer was lost.
	Origin Origin
}

// NewToken is a personal access token to create.
type NewToken struct {
	RequestID uuid.UUID
	Name      string
	Scopes    []identity.Scope
	ExpiresAt time.Time // At most a year from now.
}

// Origin is where a client's request comes from.
type Origin struct {
	Address   netip.Addr // The zero Addr if unknown.
	UserAgent string
	RequestID string
}

// Store is the database of a Service. Each method is one transaction.
type Store interface {
	// TokenByHash returns a token with the claims of its connection, and stores that an access token has been used. If
	// there is none, the error has the code fault.NotFound. It does not look whether the connection is over:
	// identity.Service does.
	TokenByHash(ctx context.Context, hash []byte) (Held, error)

	// AddGrant stores a new code.
	AddGrant(ctx context.Context, grant Grant) error

	// GrantByUserCode returns the device code with a user code that nobody has answered and that has not expired, or
	// ErrNoDevice.
	GrantByUserCode(ctx context.Context, userCodeHash []byte) (Grant, error)

	// AnswerGrant stores the actor's answer to a device code, or returns ErrNoDevice as GrantByUserCode does.
	AnswerGrant(ctx context.Context, actor identity.Actor, userCodeHash []byte, denied bool) error

	// RedeemGrant locks a code and calls redeem. If redeem returns an Opening, the connection begins as of the
	// person's answer, the code is used, and the audit log has an entry. The changes that redeem makes to PolledAt,
	// PollInterval and UsedAt are stored even if it returns an error. A code that was used before ends the connection
	// that it was exchanged for. If there is no such code, or it was used, the error has the code InvalidGrant.
	RedeemGrant(ctx context.Context, hash []byte, origin Origin, redeem func(*Grant) (*Opening, error)) error

	// RotateTokens exchanges a refresh token for others. If it was exchanged within the grace before, and none of the
	// tokens that it was exchanged for was used, the new ones replace them: the first answer was lost. If it was
	// exchanged otherwise, the connection ends; then and if it is unknown or has expired, the error has the code
	// InvalidGrant. A replaced refresh token counts as exchanged.
	RotateTokens(ctx context.Context, rotation Rotation) error

	// EndByToken ends the connection of a token of a client. A token that is unknown, or another client's, is no error.
	EndByToken(ctx context.Context, clientID string, hash []byte) error

	// AddPersonal stores a personal access token and logs it. If the organization forbids them, the error is
	// ErrPersonalForbidden, and if the request has created one before, ErrTokenCreated.
	AddPersonal(ctx context.Context, actor identity.Actor, token NewToken, opening Opening) (Connection, error)

	// ListConnections returns the active connections of the actor, last used first.
	ListConnections(ctx context.Context, actor identity.Actor) ([]Connection, error)

	// ListAllConnections returns a page of the active connections of an organization, last used first, and their
	// number.
	ListAllConnections(ctx context.Context, organizationID uuid.UUID, offset, limit int) ([]Connection, int, error)

	// EndConnection ends a connection of the actor or, if all is set, of their organization, and logs it. If there is
	// none, the error is ErrNoConnection.
	EndConnection(ctx context.Context, actor identity.Actor, id uuid.UUID, all bool) error

	// PersonalTokens reports whether the organization allows personal access tokens.
	PersonalTokens(ctx context.Context, organizationID uuid.UUID) (bool, error)

	// SetPersonalTokens allows or forbids them, and logs it. Forbidding them ends those that there are.
	SetPersonalTokens(ctx context.Context, actor identity.Actor, allowed bool) error
}

// Client is a program that people can connect.
type Client struct {
	ID           string
	Name         string // For people.
	Scopes       []identity.Scope
	RedirectURIs []string // Exact, but for the port of a loopback address.
}

// Clients returns the built-in clients. extensions are the origins of the browser extensions that may connect, as in
// "chrome-extension://ID". Chrome takes what is sent to the address that belongs to an id to that extension alone.
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
	}
}

// AllScopes are the scopes that there are, in the order in which they are shown.
func AllScopes() []identity.Scope {
	return []identity.Scope{identity.ScopeChat, identity.ScopeDocuments, identity.ScopeExtension}
}

// Config configures a Service.
type Config struct {
	PublicURL string // The issuer, without a slash at its end.
	Clients   []Client
	Now       func() time.Time // Nil: time.Now.
}

// Actors finds the actor of verified claims. *identity.Service is one.
type Actors interface {
	ActorOf(ctx context.Context, claims identity.Claims) (identity.Actor, error)
}

// Service issues codes and tokens. It is safe for concurrent use.
type Service struct {
	cfg    Config
	store  Store
	actors Actors
}

// NewService returns a Service.
func NewService(cfg Config, store Store, actors Actors) *Service {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Service{cfg: cfg, store: store, actors: actors}
}

// ClientName returns the name of a client for people: its id if it is not built in any more.
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
