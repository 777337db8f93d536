package toolserver_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/secret"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
	"github.com/tsumugi-ai/tsumugi/internal/toolserver"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

const publicURL = "https://tsumugi.example"

// office is an organization with a super-admin and a member.
type office struct {
	t            *testing.T
	dsn          string
	db           *store.DB
	tools        *toolserver.Service
	organization uuid.UUID
	super, taro  identity.Actor
	now          atomic.Pointer[time.Time]
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{t: t, dsn: storetest.DSN(t)}
	db := must.Get(store.Open(t.Context(), o.dsn))(t)
	t.Cleanup(db.Close)
	var keys secret.Keyring
	must.Succeed(t, keys.UnmarshalText([]byte(secret.NewKey())))
	o.db = db.WithSecrets(keys)
	o.organization = o.newOrganization("紡績")
	o.super = o.person(o.organization, "hanako@example.jp", identity.RoleOrganizationSuperAdmin)
	o.taro = o.person(o.organization, "taro@example.jp", identity.RoleGeneralUser)
	o.now.Store(new(time.Now()))
	o.tools = toolserver.NewService(toolserver.Config{
		PublicURL: publicURL, BuiltIn: tool.BuiltIn(time.Now), Watch: 10 * time.Millisecond,
		Clock: func() time.Time { return *o.now.Load() },
	}, o.db, toolserver.NewConnector(toolserver.ConnectorConfig{Hosts: []string{"127.0.0.1"}}),
		slog.New(slog.DiscardHandler))
	t.Cleanup(o.tools.Stop)
	return o
}

// pass moves the clock of the service, and makes the discoveries older.
func (o *office) pass(d time.Duration) {
	o.t.Helper()
	o.now.Store(new(o.now.Load().Add(d)))
	o.exec(`UPDATE tool_servers SET checked_at = checked_at - $1 * interval '1 second'`, d.Seconds())
}

func (o *office) newOrganization(name string) uuid.UUID {
	o.t.Helper()
	id := uuid.Must(uuid.NewV7())
	if err := o.db.CreateOrganization(o.t.Context(), org.Organization{
		ID: id, Name: name, AuthType: string(identity.AuthCognito),
	}); err != nil {
		o.t.Fatal(err)
	}
	return id
}

func (o *office) person(organization uuid.UUID, email string, role identity.Role) identity.Actor {
	o.t.Helper()
	u := identity.NewUser{
		ID: uuid.Must(uuid.NewV7()), OrganizationID: organization, Subject: uuid.NewString(), Email: email, Name: email,
		Role: role, AuthType: identity.AuthCognito,
	}
	if err := o.db.CreateUser(o.t.Context(), u); err != nil {
		o.t.Fatal(err)
	}
	if err := o.db.MarkSignedIn(o.t.Context(), u.ID); err != nil {
		o.t.Fatal(err)
	}
	return identity.Actor{User: identity.User{
		ID: u.ID, OrganizationID: organization, Email: email, Name: email, Role: role, State: identity.StateActive,
	}}
}

func (o *office) exec(sql string, args ...any) {
	o.t.Helper()
	conn, err := pgx.Connect(o.t.Context(), o.dsn)
	if err != nil {
		o.t.Fatal(err)
	}
	defer func() { _ = conn.Close(o.t.Context()) }()
	if _, err := conn.Exec(o.t.Context(), sql, args...); err != nil {
		o.t.Fatal(err)
	}
}

// add adds a server with the key crm.
func (o *office) add(address string, change func(*toolserver.Draft)) toolserver.Server {
	o.t.Helper()
	draft := toolserver.Draft{Key: "crm", Name: new("顧客管理"), URL: &address}
	if change != nil {
		change(&draft)
	}
	server, err := o.tools.Add(o.t.Context(), o.super, draft)
	if err != nil {
		o.t.Fatal(err)
	}
	return server
}

// discover reads the tools of a server, which must succeed.
func (o *office) discover(id uuid.UUID) toolserver.Server {
	o.t.Helper()
	server, err := o.tools.Discover(o.t.Context(), o.super, id)
	if err != nil || server.Failure != "" {
		o.t.Fatalf("%v, %q", err, server.Failure)
	}
	return server
}

// connected adds a server, reads its tools and allows them.
func (o *office) connected(address string, change func(*toolserver.Draft)) toolserver.Server {
	o.t.Helper()
	server := o.discover(o.add(address, change).ID)
	for _, t := range server.Tools {
		o.allow(server.ID, t.Name)
	}
	return server
}

func (o *office) allow(id uuid.UUID, name string) {
	o.t.Helper()
	if _, err := o.tools.EditTool(o.t.Context(), o.super, id, name, toolserver.ToolDraft{
		Rule: new(tool.RuleAllow),
	}); err != nil {
		o.t.Fatal(err)
	}
}

// offered returns the tools that a person's answers may use.
func (o *office) offered(person identity.Actor, names ...string) []tool.Tool {
	o.t.Helper()
	tools, err := o.tools.Of(o.t.Context(), person.Owner(), names)
	if err != nil {
		o.t.Fatal(err)
	}
	return tools
}

// call calls a tool on behalf of the member.
func (o *office) call(name, arguments string) (tool.Result, error) {
	o.t.Helper()
	tools := o.offered(o.taro, name)
	if len(tools) != 1 {
		o.t.Fatalf("%d tools", len(tools))
	}
	return tools[0].Call(o.t.Context(), json.RawMessage(arguments))
}

// wants checks the error of a call.
func wants(t *testing.T, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("the error is %v, without %q", err, text)
		}
	}
}

// crm is a tool server by the Go SDK.
type crm struct {
	*httptest.Server

	mcp   *sdk.Server
	calls atomic.Int64 // Of tools/call.

	mu       sync.Mutex
	versions []string // Guarded by mu. The revisions of the protocol in requests.
	headers  http.Header
}

// newCRM starts a server with the tools find_customer and update. revisions are the supported ones; none means all.
func newCRM(t *testing.T, revisions ...string) *crm {
	t.Helper()
	c := &crm{}
	c.mcp = sdk.NewServer(&sdk.Implementation{Name: "crm", Version: "1"}, &sdk.ServerOptions{
		SupportedProtocolVersions: revisions, Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
	})
	c.set("find_customer", "顧客を探します。", `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`,
		func(arguments json.RawMessage) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "引数 " + string(arguments)}}}, nil
		})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return c.mcp }, &sdk.StreamableHTTPOptions{
		Stateless: !slices.Equal(revisions, []string{legacy}),
	})
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.versions = append(c.versions, r.Header.Get("Mcp-Protocol-Version"))
		c.headers = r.Header.Clone()
		c.mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		c.CloseClientConnections()
		c.Close()
		for session := range c.mcp.Sessions() {
			_ = session.Close()
		}
	})
	return c
}

// The revisions of the protocol.
const (
	legacy  = "2025-11-25"
	current = "2026-07-28"
)

// set adds or replaces a tool.
func (c *crm) set(name, description, schema string, answer func(json.RawMessage) (*sdk.CallToolResult, error)) {
	c.mcp.AddTool(&sdk.Tool{
		Name: name, Title: "顧客の検索", Description: description, InputSchema: json.RawMessage(schema),
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true},
	}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		c.calls.Add(1)
		return answer(r.Params.Arguments)
	})
}

// answers adds a tool that returns a result.
func (c *crm) answers(name string, result *sdk.CallToolResult) {
	c.set(name, "", `{"type":"object"}`, func(json.RawMessage) (*sdk.CallToolResult, error) { return result, nil })
}

func (c *crm) lastHeader(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.headers.Get(name)
}

// spoken reports whether a request had a revision of the protocol.
func (c *crm) spoken(revision string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.versions, revision)
}
