// Package toolserver has the tool servers of organizations: servers of the Model Context Protocol that an administrator
// adds, whose tools answers may call.
//
// It owns the servers, the definitions of their tools and whether an administrator has accepted them, the connections of
// people by OAuth, and the calls. Definitions and results are written by others: they are bounded and checked, and
// results are marked as untrusted. The protocol is that of the official SDK, as a client over Streamable HTTP.
//
// The package imports dial, fault, identity, opaque, org, proxy, runes, secret, tool, uuidv7 and work.
package toolserver

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
)

// Limits of an organization's servers.
const (
	MaxServers   = 20
	maxTools     = 128 // Of a server.
	maxToolName  = 64  // In bytes, with the key.
	maxKey       = 24
	maxName      = 100 // In characters.
	maxURL       = 2048
	maxSecret    = 4096 // In bytes.
	maxClientID  = 512
	maxGroups    = 100
	maxToolPages = 20
	maxEarlier   = 20 // Of a tool.
)

// Auth is the authentication at a server.
type Auth string

// The ways of signing in.
const (
	AuthNone   Auth = "none"
	AuthHeader Auth = "header" // A header with a secret of the organization.
	AuthOAuth  Auth = "oauth"  // Each person connects their own account.
)

// Server is a tool server of an organization.
type Server struct {
	ID             uuid.UUID
	OrganizationID uuid.UUID
	Key            string // The prefix of its tools' names: unique in the organization, never changed.
	Name           string // For people.
	URL            string
	Auth           Auth
	HeaderName     string // With AuthHeader.
	ClientID       string // With AuthOAuth: the client that the administrator or dynamic registration has entered.
	Registered     bool   // The client comes from dynamic registration.
	HasSecret      bool   // The value of the header, or the client's secret, is stored.
	Enabled        bool
	Everyone       bool // All members may use it; otherwise those of the groups.
	GroupIDs       []uuid.UUID
	GroupNames     []string   // Of the stored groups, in their order.
	CheckedAt      *time.Time // When its tools were last read, or this was tried.
	Failure        string     // Why the last attempt failed, for people.
	ReadAt         time.Time  // When the Store has read the server, by the database's clock.
	Tools          []Tool     // By name.
	ConnectedAt    *time.Time // Of PersonToolServers: when the person connected; nil without a connection.

	// NewSecret replaces the secret if it is not nil; "" removes it. It is set for changes only.
	NewSecret *string
}

// Settings returns a hash of the server's id, address and authentication. Calls that were approved with other ones fail.
func (s Server) Settings() string {
	if s.Registered { // Another registration has the same settings.
		s.ClientID = ""
	}
	return hashOf([]string{s.ID.String(), s.URL, string(s.Auth), s.HeaderName, s.ClientID})
}

// hashOf returns the hash of a value in JSON, in hexadecimal digits.
func hashOf(v any) string {
	encoded, _ := json.Marshal(v) // Never fails for the values of this package.
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:])
}

// Tool is a tool of a server. Its JSON form is that of a row in the database.
type Tool struct {
	Name       string      `json:"name"`   // The name that models call, such as crm__find_customer.
	Remote     string      `json:"remote"` // The server's name for it.
	Accepted   Definition  `json:"accepted"`
	Offered    *Definition `json:"offered"` // The definition of the server if it differs from the accepted one, else nil.
	Refused    string      `json:"refused"` // Why the server's definition cannot be used, for people; "" if it can.
	Gone       bool        `json:"gone"`    // The server does not have the tool any more.
	Rule       tool.Rule   `json:"rule"`
	ReadOnly   bool        `json:"read_only"`  // The administrator's mark: calls change nothing.
	Idempotent bool        `json:"idempotent"` // The administrator's mark: a call may be repeated.
}

// Usable reports whether the tool may be offered to models: its definition is the accepted one.
func (t Tool) Usable() bool {
	return t.Offered == nil && t.Refused == "" && !t.Gone && t.Rule != tool.RuleDeny
}

// accepted reports whether an administrator has accepted a definition of the tool. A server with OAuth may offer other
// definitions to other accounts, so that earlier ones count too.
func (s Server) accepted(t Tool, d Definition) bool {
	digest := d.Digest()
	return t.Accepted.Digest() == digest || s.Auth == AuthOAuth && slices.Contains(t.Accepted.Earlier, digest)
}

// accept makes the offered definition the accepted one.
func (t *Tool) accept() {
	earlier := append(slices.Clone(t.Accepted.Earlier), t.Accepted.Digest())
	t.Accepted, t.Offered = *t.Offered, nil
	t.Accepted.Earlier = earlier[max(0, len(earlier)-maxEarlier):]
}

// Title returns the name of the tool for people.
func (t Tool) Title() string { return cmp.Or(t.Accepted.Title, t.Remote) }

// Definition is the definition of a tool by its server. Its JSON form is the stored form.
type Definition struct {
	Title       string          `json:"title"`
	Description string          `json:"description"` // For models.
	Schema      json.RawMessage `json:"schema"`      // A JSON schema of the arguments, in canonical form.
	Claims      Claims          `json:"claims"`

	// Earlier are the digests of the definitions of the tool that administrators accepted before this one.
	Earlier []string `json:"earlier,omitempty"`
}

// Claims are the properties that a server claims for a tool. They are shown to administrators and have no effect.
type Claims struct {
	Destructive bool `json:"destructive"`
	Idempotent  bool `json:"idempotent"`
	OpenWorld   bool `json:"open_world"`
	ReadOnly    bool `json:"read_only"`
}

// Discovery is the result of reading the tools of a server.
type Discovery struct {
	At      time.Time // The Server.ReadAt before it, because the clocks of app servers may differ.
	URL     string    // The address that was read.
	Failure string    // For people; "" if the tools were read.
	Tools   []Tool    // With Remote, Accepted, which is the definition that the server offers, and Refused.

	// Partial is true for the tools that the server offers to one person's account. Others may have more.
	Partial bool
}

// Secrets are the secrets of a server.
type Secrets struct {
	Secret string         // The value of the header, or the client's secret.
	OAuth  *Authorization // How people sign in; nil before the first connection.
}

// Authorization describes the authorization server of a tool server. Its JSON form is the stored form.
type Authorization struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	RevocationEndpoint    string   `json:"revocation_endpoint,omitempty"`
	Resource              string   `json:"resource"` // The identifier of the tool server (RFC 8707).
	Scopes                []string `json:"scopes,omitempty"`
	RequireIssuer         bool     `json:"require_issuer,omitempty"` // Responses contain the issuer (RFC 9207).
	BasicAuth             bool     `json:"basic_auth,omitempty"`     // The client's secret is sent as HTTP authentication.
	RedirectURI           string   `json:"redirect_uri,omitempty"`   // Of the product's client.
}

// Connection is a person's connection with a server. Its JSON form is the stored form.
type Connection struct {
	ID           uuid.UUID `json:"-"` // Set by the Store. It changes with the tokens.
	AccessToken  string    `json:"access_token"`
	RefreshToken string    `json:"refresh_token,omitempty"`
	ExpiresAt    time.Time `json:"expires_at"`       // The zero time if unknown.
	Scopes       []string  `json:"scopes,omitempty"` // Requested at the connection.
}

// Attempt is a connection in progress in a browser.
type Attempt struct {
	identity.Owner

	Hash        []byte // SHA-256 of the state.
	BrowserHash []byte // SHA-256 of the browser's cookie.
	ServerID    uuid.UUID
	URL         string // Of the server, stored as the current one.
	ClientID    string // Of the server, stored as the current one.
	Verifier    string // Of PKCE.
	ExpiresAt   time.Time
}

// Store is the database.
type Store interface {
	// ToolServers returns the servers of an organization by name.
	ToolServers(ctx context.Context, organizationID uuid.UUID) ([]Server, error)
	// ToolServer returns a server. Error: ErrNoServer.
	ToolServer(ctx context.Context, organizationID, id uuid.UUID) (Server, error)
	// PersonToolServers returns the enabled servers that a person may use.
	PersonToolServers(ctx context.Context, owner identity.Owner) ([]Server, error)
	// AddToolServer adds a server on behalf of a super-admin. Errors: org.ErrForbidden, ErrKeyTaken, ErrTooManyServers,
	// ErrUnknownGroup, secret.ErrNoKey.
	AddToolServer(ctx context.Context, actor identity.Actor, server Server) error
	// EditToolServer changes a server on behalf of a super-admin. It deletes the connections of people if the server has
	// another address or another client, and their approvals for threads if it has another address. change may also change
	// the server's tools. Errors: those of AddToolServer, ErrNoServer, and that of change.
	EditToolServer(ctx context.Context, actor identity.Actor, id uuid.UUID, change func(*Server) error) error
	// RemoveToolServer deletes a server, on behalf of a super-admin, with its tools, connections and approvals for threads.
	RemoveToolServer(ctx context.Context, actor identity.Actor, id uuid.UUID) error
	// SaveDiscovery stores the tools of a server, merged by Server.Apply. Errors: ErrNoServer, ErrMoved.
	SaveDiscovery(ctx context.Context, organizationID, id uuid.UUID, found Discovery) error
	// ToolCallable reports whether a person may call a tool: its server exists, is enabled and is offered to them, and
	// its definition has this digest and is the accepted one.
	ToolCallable(ctx context.Context, owner identity.Owner, serverID uuid.UUID, name, digest string) (bool, error)
	// ToolSecrets returns the secrets of a server. Error: ErrMoved, if the server has another address now.
	ToolSecrets(ctx context.Context, server Server) (Secrets, error)

	// Connections of people.

	// SetToolAuthorization stores the authorization server of a server, and its client if it was registered. Error:
	// ErrMoved, if the server has another address or another entered client now.
	SetToolAuthorization(ctx context.Context, server Server, a Authorization, registered *Client) error
	// ForgetToolClient deletes the registered client of a server, unless another one was registered meanwhile.
	ForgetToolClient(ctx context.Context, organizationID, id uuid.UUID, clientID string) error
	// AddToolAttempt stores a connection in progress, and deletes expired ones. Errors: ErrMoved, if the server has another
	// address or client now; secret.ErrNoKey, because the tokens could not be stored.
	AddToolAttempt(ctx context.Context, attempt Attempt) error
	// TakeToolAttempt deletes an attempt of a browser and returns it. Error: ErrState.
	TakeToolAttempt(ctx context.Context, hash, browserHash []byte, at time.Time) (Attempt, error)
	// ToolConnection returns a person's connection with a server at its address. Error: ErrNotConnected.
	ToolConnection(ctx context.Context, owner identity.Owner, server Server) (Connection, error)
	// SaveToolConnection stores a person's connection and records it in the audit log. Error: ErrMoved, if the server has
	// another address or client now.
	SaveToolConnection(ctx context.Context, owner identity.Owner, server Server, c Connection) error
	// RefreshToolConnection replaces the tokens of a connection, unless the person has ended or replaced it.
	RefreshToolConnection(ctx context.Context, owner identity.Owner, server Server, stale, next Connection) error
	// RemoveToolConnection deletes the actor's connection, records it in the audit log, and returns it. Error:
	// ErrNotConnected.
	RemoveToolConnection(ctx context.Context, actor identity.Actor, serverID uuid.UUID) (Connection, error)

	// AcquireSlot takes one of the slots under a name for the duration of a lease.
	AcquireSlot(ctx context.Context, name string, slots int, holder uuid.UUID, lease time.Duration) (held bool, err error)
	ReleaseSlot(ctx context.Context, name string, holder uuid.UUID) error
}

// Client is a client of OAuth.
type Client struct{ ID, Secret string }

// CodeState is the code of ErrState, and CodeDenied that of ErrDenied. The app's page has a text for each.
const (
	CodeState  fault.Code = "tool_state"
	CodeDenied fault.Code = "tool_denied"
	CodeSetup  fault.Code = "tool_setup"
)

// The errors of the package.
var (
	ErrNoServer       = fault.Errorf(fault.NotFound, "ツールのサーバーが見つかりません。")
	ErrMoved          = fault.Errorf(fault.Conflict, "サーバーの設定が変わりました。もう一度、最初から操作してください。")
	ErrTooManyServers = fault.Errorf(fault.Conflict,
		"ツールのサーバーは%d件まで追加できます。使わないサーバーを削除してください。", MaxServers)
	ErrUnknownGroup = fault.InvalidField("group_ids", "選択したグループの中に、削除されたものがあります。選び直してください。")
	ErrNotConnected = fault.Errorf(fault.NotFound, "連携していません。")
	ErrState        = fault.Errorf(CodeState,
		"手続きの有効期限が切れたか、別のブラウザーで始められています。もう一度、最初から操作してください。")
	ErrDenied = fault.Errorf(CodeDenied, "相手のサービスで許可されなかったため、連携しませんでした。")

	errNoTool  = fault.Errorf(fault.NotFound, "ツールが見つかりません。")
	errChanged = fault.Errorf(fault.Conflict,
		"定義がさらに変わりました。画面を読み込み直して、もう一度確認してください。")
	errNothingToAccept = fault.Errorf(fault.Conflict, "確認が必要な変更はありません。")
)

// ErrKeyTaken refuses the key of another server of the organization.
func ErrKeyTaken() error {
	taken := fault.InvalidField("key", "この接頭辞は、別のサーバーで使われています。")
	taken.Code = fault.Conflict
	return taken
}
