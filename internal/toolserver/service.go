package toolserver

import (
	"cmp"
	"context"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
	"github.com/tsumugi-ai/tsumugi/internal/work"
)

const (
	discoveryTimeout = 15 * time.Second // Of reading the tools of a server for an administrator.
	recheckAfter     = 10 * time.Minute // A call reads definitions again that were read before this time.
)

// Config configures a Service. Zero values of the times mean the defaults.
type Config struct {
	PublicURL string      // The server's public URL, without a trailing slash.
	BuiltIn   []tool.Tool // The tools of all organizations.

	CallTimeout time.Duration // Of a call.
	Watch       time.Duration // Interval of checking whether a tool in use was withdrawn.
	Clock       func() time.Time
}

// Service has the tool servers of organizations. It implements chat.Tools.
type Service struct {
	cfg    Config
	store  Store
	client *Connector
	log    *slog.Logger
	group  *work.Group
}

// NewService returns a Service. The caller must call Stop.
func NewService(cfg Config, store Store, client *Connector, log *slog.Logger) *Service {
	cfg.CallTimeout = cmp.Or(cfg.CallTimeout, 50*time.Second) // Less than in package chat, so that the reason is shown.
	cfg.Watch = cmp.Or(cfg.Watch, time.Second)
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	return &Service{cfg: cfg, store: store, client: client, log: log, group: work.NewGroup(log)}
}

// Stop waits until the sessions with servers are closed.
func (s *Service) Stop() { s.group.Stop() }

// Servers returns the servers of the actor's organization. For super-admins.
func (s *Service) Servers(ctx context.Context, actor identity.Actor) ([]Server, error) {
	if err := actor.RequireSuperAdmin(); err != nil {
		return nil, err
	}
	return s.store.ToolServers(ctx, actor.OrganizationID)
}

// Available returns the servers that the actor may use, with their usable tools, for authors of skills.
func (s *Service) Available(ctx context.Context, actor identity.Actor) ([]Server, error) {
	servers, err := s.store.PersonToolServers(ctx, actor.Owner())
	for i := range servers {
		servers[i].Tools = slices.DeleteFunc(servers[i].Tools, func(t Tool) bool { return !t.Usable() })
	}
	return servers, err
}

// Draft is the input for a server. Nil keeps a value.
type Draft struct {
	Key        string // Only of a new server.
	Name       *string
	URL        *string
	Auth       *Auth
	HeaderName *string
	ClientID   *string
	Secret     *string // The value of the header, or the client's secret; "" removes it.
	Enabled    *bool
	Everyone   *bool
	GroupIDs   []uuid.UUID // Nil keeps the groups.
}

// apply changes a server.
func (d Draft) apply(server *Server) {
	for _, text := range []struct{ from, to *string }{
		{d.Name, &server.Name}, {d.URL, &server.URL}, {d.HeaderName, &server.HeaderName},
	} {
		if text.from != nil {
			*text.to = strings.TrimSpace(*text.from)
		}
	}
	if d.Auth != nil && *d.Auth != server.Auth {
		server.Auth, server.NewSecret = *d.Auth, new("") // The old secret has another meaning.
		server.ClientID, server.Registered = "", false
	}
	if d.ClientID != nil && strings.TrimSpace(*d.ClientID) != server.ClientID {
		if server.Registered { // Its secret is not that of the entered client.
			server.NewSecret = new("")
		}
		server.ClientID, server.Registered = strings.TrimSpace(*d.ClientID), false
	}
	if d.Secret != nil {
		server.NewSecret = new(strings.TrimSpace(*d.Secret))
	}
	set(&server.Enabled, d.Enabled)
	set(&server.Everyone, d.Everyone)
	if d.GroupIDs != nil {
		server.GroupIDs = d.GroupIDs
	}
	if server.Everyone {
		server.GroupIDs = nil
	}
}

// set changes a value unless the new one is nil.
func set[T any](value, to *T) {
	if to != nil {
		*value = *to
	}
}

var (
	keyForm    = regexp.MustCompile(`^[a-z](?:_?[a-z0-9]){0,23}$`)
	headerForm = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$")
)

// reservedHeaders are headers of the protocol and of HTTP.
var reservedHeaders = []string{
	"accept", "accept-encoding", "connection", "content-length", "content-type", "host", "last-event-id",
	"mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id", "te", "trailer", "transfer-encoding", "upgrade",
}

// check refuses a server that cannot be stored.
func (s *Service) check(server Server) error {
	secret := *cmp.Or(server.NewSecret, new(""))
	switch {
	case len(server.Key) > maxKey || !keyForm.MatchString(server.Key):
		return fault.InvalidField("key",
			"接頭辞は、英小文字で始まる%d文字以内の英小文字、数字、_（連続や末尾は不可）で入力してください。", maxKey)
	case runes.Blank(server.Name) || utf8.RuneCountInString(server.Name) > maxName ||
		server.Name != runes.OneLine(server.Name, maxName):
		return fault.InvalidField("name", "名前は%d文字以内で入力してください。", maxName)
	case server.Auth != AuthNone && server.Auth != AuthHeader && server.Auth != AuthOAuth:
		return fault.InvalidField("auth", "指定できない値です。")
	case server.Auth == AuthHeader && (!headerForm.MatchString(server.HeaderName) ||
		slices.Contains(reservedHeaders, strings.ToLower(server.HeaderName))):
		return fault.InvalidField("header_name", "ヘッダーの名前を、Authorizationのような形で入力してください。")
	case server.Auth == AuthHeader && (server.NewSecret != nil && secret == "" || server.NewSecret == nil && !server.HasSecret):
		return fault.InvalidField("secret", "ヘッダーの値を入力してください。")
	case len(secret) > maxSecret || strings.ContainsFunc(secret, func(r rune) bool { return r < ' ' || r > '~' }):
		return fault.InvalidField("secret", "使えない文字が含まれているか、長すぎます。")
	case len(server.ClientID) > maxClientID || strings.ContainsFunc(server.ClientID, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fault.InvalidField("client_id", "使えない文字が含まれているか、長すぎます。")
	case !server.Everyone && len(server.GroupIDs) == 0:
		return fault.InvalidField("group_ids", "使えるグループを選択してください。")
	case len(server.GroupIDs) > maxGroups:
		return fault.InvalidField("group_ids", "グループは%d件まで選択できます。", maxGroups)
	}
	return s.client.CheckURL(server.URL)
}

// Add adds a server. Its tools are not read yet. For super-admins. Errors: org.ErrForbidden, fault.Invalid, and those of
// Store.AddToolServer.
func (s *Service) Add(ctx context.Context, actor identity.Actor, draft Draft) (Server, error) {
	if err := actor.RequireSuperAdmin(); err != nil {
		return Server{}, err
	}
	server := Server{
		ID: uuidv7.New(), OrganizationID: actor.OrganizationID, Key: draft.Key, Auth: AuthNone, Enabled: true, Everyone: true,
	}
	draft.apply(&server)
	if err := s.check(server); err != nil {
		return Server{}, err
	}
	if err := s.store.AddToolServer(ctx, actor, server); err != nil {
		return Server{}, err
	}
	return s.store.ToolServer(ctx, actor.OrganizationID, server.ID)
}

// Edit changes a server. A secret is not sent to another host than before: a new address removes it. For super-admins.
// Errors: org.ErrForbidden, fault.Invalid, and those of Store.EditToolServer.
func (s *Service) Edit(ctx context.Context, actor identity.Actor, id uuid.UUID, draft Draft) (Server, error) {
	return s.change(ctx, actor, id, func(server *Server) error {
		before := server.URL
		draft.apply(server)
		if server.URL != before {
			server.CheckedAt, server.Failure = nil, ""
			if host(server.URL) != host(before) && server.NewSecret == nil {
				server.NewSecret = new("")
			}
			if server.Registered {
				server.ClientID, server.Registered, server.NewSecret = "", false, new("")
			}
		}
		return s.check(*server)
	})
}

// host returns the scheme and host of a URL.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + strings.ToLower(u.Host)
}

// Remove deletes a server. Calls in progress end. For super-admins.
func (s *Service) Remove(ctx context.Context, actor identity.Actor, id uuid.UUID) error {
	return s.store.RemoveToolServer(ctx, actor, id)
}

// ToolDraft is a change of a tool. Nil keeps a value.
type ToolDraft struct {
	Rule       *tool.Rule
	ReadOnly   *bool
	Idempotent *bool
}

// EditTool changes the rule and the marks of a tool. For super-admins.
func (s *Service) EditTool(ctx context.Context, actor identity.Actor, id uuid.UUID, name string, d ToolDraft) (Server, error) {
	return s.changeTool(ctx, actor, id, name, func(t *Tool) error {
		if d.Rule != nil && *d.Rule != tool.RuleAllow && *d.Rule != tool.RuleAsk && *d.Rule != tool.RuleDeny {
			return fault.InvalidField("rule", "指定できない値です。")
		}
		set(&t.Rule, d.Rule)
		set(&t.ReadOnly, d.ReadOnly)
		set(&t.Idempotent, d.Idempotent)
		return nil
	})
}

// Accept accepts the changed definition of a tool that has a digest. The digest shows that the actor has seen it. For
// super-admins.
func (s *Service) Accept(ctx context.Context, actor identity.Actor, id uuid.UUID, name, digest string) (Server, error) {
	return s.changeTool(ctx, actor, id, name, func(t *Tool) error {
		switch {
		case t.Offered == nil:
			return errNothingToAccept
		case t.Offered.Digest() != digest:
			return errChanged
		}
		t.accept()
		return nil
	})
}

func (s *Service) changeTool(
	ctx context.Context, actor identity.Actor, id uuid.UUID, name string, change func(*Tool) error,
) (Server, error) {
	return s.change(ctx, actor, id, func(server *Server) error {
		i := slices.IndexFunc(server.Tools, func(t Tool) bool { return t.Name == name })
		if i < 0 {
			return errNoTool
		}
		return change(&server.Tools[i])
	})
}

// change changes a server and returns it as it is stored.
func (s *Service) change(ctx context.Context, actor identity.Actor, id uuid.UUID, change func(*Server) error) (
	Server, error,
) {
	if err := s.store.EditToolServer(ctx, actor, id, change); err != nil {
		return Server{}, err
	}
	return s.store.ToolServer(ctx, actor.OrganizationID, id)
}
