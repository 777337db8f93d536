package chat_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/secret"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
	"github.com/tsumugi-ai/tsumugi/internal/toolserver"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// tokenHost is a tool server with the tool "send", and the token endpoint of its authorization server. It refuses calls
// without the token "new".
type tokenHost struct {
	*httptest.Server

	requests, calls atomic.Int64  // Requests of tools/call, and runs of the tool.
	refreshing      chan struct{} // Receives each request to refresh a token.
	respond         chan struct{} // Closed when the tokens may be sent.
}

func newTokenHost(t *testing.T) *tokenHost {
	t.Helper()
	h := &tokenHost{refreshing: make(chan struct{}, 10), respond: make(chan struct{})}
	server := sdk.NewServer(&sdk.Implementation{Name: "office", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "send", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			h.calls.Add(1)
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "結果" + string(r.Params.Arguments)}}}, nil
		})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server },
		&sdk.StreamableHTTPOptions{Stateless: true})
	mux := http.NewServeMux()
	mux.HandleFunc("/token", func(w http.ResponseWriter, _ *http.Request) {
		h.refreshing <- struct{}{}
		<-h.respond
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token": "new", "token_type": "Bearer", "expires_in": 3600}`)
	})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if bytes.Contains(body, []byte(`"tools/call"`)) {
			h.requests.Add(1)
			if r.Header.Get("Authorization") != "Bearer new" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler.ServeHTTP(w, r)
	})
	h.Server = httptest.NewServer(mux)
	t.Cleanup(h.Close)
	return h
}

// connectedTools adds the host to the organization and its tool to the skill of the thread. The token of the owner's
// connection is not valid.
func (f *fixture) connectedTools(h *tokenHost) *toolserver.Service {
	f.t.Helper()
	must := func(err error) {
		f.t.Helper()
		must.Succeed(f.t, err)
	}
	ctx := f.t.Context()
	f.named()
	categories, skills, err := skill.Builtin()
	must(err)
	i := slices.IndexFunc(skills, func(s skill.Skill) bool { return s.ID == chatSkill.ID })
	skills[i].Tools = []string{"office__send"}
	must(f.db.SaveBuiltinSkills(ctx, categories, skills))
	var keys secret.Keyring
	must(keys.UnmarshalText([]byte(secret.NewKey())))
	db := f.db.WithSecrets(keys)
	tools := toolserver.NewService(toolserver.Config{PublicURL: "https://tsumugi.example", BuiltIn: tool.BuiltIn(time.Now)},
		db, toolserver.NewConnector(toolserver.ConnectorConfig{Hosts: []string{"127.0.0.1"}}), slog.New(slog.DiscardHandler))
	f.t.Cleanup(tools.Stop)
	role := identity.RoleOrganizationSuperAdmin
	super := identity.Actor{User: identity.User{
		ID: newID(), OrganizationID: f.owner.OrganizationID, Role: role, State: identity.StateActive,
	}}
	must(db.CreateUser(ctx, identity.NewUser{
		ID: super.ID, OrganizationID: super.OrganizationID, Subject: super.ID.String(), Name: "管理者",
		Email: super.ID.String() + "@test.example", Role: role, AuthType: identity.AuthCognito,
	}))
	must(db.MarkSignedIn(ctx, super.ID))
	server, err := tools.Add(ctx, super, toolserver.Draft{
		Key: "office", Name: new("総務"), URL: new(h.URL + "/mcp"), Auth: new(toolserver.AuthOAuth),
	})
	must(err)
	must(db.SetToolAuthorization(ctx, server, toolserver.Authorization{
		Issuer: h.URL, TokenEndpoint: h.URL + "/token", Resource: h.URL + "/mcp",
	}, &toolserver.Client{ID: "client"}))
	server.ClientID = "client"
	for _, owner := range []identity.Owner{super.Owner(), f.owner} {
		must(db.SaveToolConnection(ctx, owner, server, toolserver.Connection{AccessToken: "old", RefreshToken: "r"}))
	}
	found, err := tools.Discover(ctx, super, server.ID)
	must(err)
	if len(found.Tools) != 1 || found.Tools[0].Rule != tool.RuleAsk {
		f.t.Fatalf("discovered %+v", found)
	}
	return tools
}

// TestApprovedCallIsSentWithARefreshedToken: the token is refused at an approved call. The call is sent again without
// another decision, and is made once.
func TestApprovedCallIsSentWithARefreshedToken(t *testing.T) {
	t.Parallel()
	f, h, model := newFixture(t, nil), newTokenHost(t), llmtest.NewLive()
	close(h.respond)
	s := f.startWith(chat.Deps{Model: model, Tools: f.connectedTools(h)}, chat.Config{})
	exchange := f.sendTo(s, f.question("送って"))
	model.Next(t).CallTools(calling("a", "office__send", `{"n":1}`))
	f.decide(s, approve(f.waits(s, 1)[0]))
	call := model.Next(t)
	if got := results(call.Request); len(got) != 1 || !strings.Contains(got[0], `結果{"n":1}`) {
		t.Errorf("results %q", got)
	}
	call.Emit("送りました。")
	call.Finish()
	answer := f.waitAt(s, exchange).Answer
	if len(answer.ToolCalls) != 1 || answer.ToolCalls[0].State != chat.ToolDone ||
		answer.ToolCalls[0].Approval.Cause != chat.CauseRule {
		t.Errorf("stored %+v", answer.ToolCalls)
	}
	if h.calls.Load() != 1 || h.requests.Load() != 2 || len(h.refreshing) != 1 {
		t.Errorf("%d calls, %d requests, %d refreshes", h.calls.Load(), h.requests.Load(), len(h.refreshing))
	}
	f.waits(s, 0)
}

// TestCrashBeforeARefusedCallIsSentAgain: another server does not know whether the call was made, and asks the person,
// as after every other crash during a call.
func TestCrashBeforeARefusedCallIsSentAgain(t *testing.T) {
	t.Parallel()
	f, h, first, second := newFixture(t, nil), newTokenHost(t), llmtest.NewLive(), llmtest.NewLive()
	tools := f.connectedTools(h)
	const point = "the token is being refreshed"
	db := &crashStore{Store: f.db, at: point, crashed: make(chan struct{})}
	crashing := f.startWith(chat.Deps{Model: first, Tools: tools, Store: db}, takesOver())
	exchange := f.sendTo(crashing, f.question("送って"))
	first.Next(t).CallTools(calling("a", "office__send", `{}`))
	f.decide(crashing, approve(f.waits(crashing, 1)[0]))
	await(t, "the refresh", h.refreshing)
	_ = db.reach(point)
	close(h.respond)
	crashing.kill()
	made := h.calls.Load()
	if made > 1 {
		t.Errorf("%d calls after one approval", made)
	}
	other := f.startWith(chat.Deps{Model: second, Tools: tools}, chat.Config{Lease: testLease, Sweep: 20 * time.Millisecond})
	unknown := f.waits(other, 1)[0]
	if unknown.Cause != chat.CauseUnknown {
		t.Errorf("waits %+v", unknown)
	}
	f.decide(other, approve(unknown))
	call := second.Next(t)
	call.Emit("送りました。")
	call.Finish()
	answer := f.waitAt(other, exchange).Answer
	if len(answer.ToolCalls) != 1 || answer.ToolCalls[0].State != chat.ToolDone || h.calls.Load() != made+1 {
		t.Errorf("stored %+v, %d calls, %d before", answer.ToolCalls, h.calls.Load(), made)
	}
}
