package store_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/secret"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
	"github.com/tsumugi-ai/tsumugi/internal/toolserver"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// toolServer makes Ann a super-admin and adds a server on her behalf.
func (f *fixture) toolServer(t *testing.T, auth toolserver.Auth) (identity.Actor, toolserver.Server) {
	t.Helper()
	f.exec(t, `UPDATE users SET role = 'organization-super-admin' WHERE id = $1`, f.ann.UserID)
	must.Succeed(t, f.MarkSignedIn(t.Context(), f.ann.UserID))
	ann := f.annIn(newID(), identity.AuthCognito, time.Now())
	server := toolserver.Server{
		ID: newID(), OrganizationID: f.a, Key: "crm", Name: "顧客管理", URL: "https://crm.example/mcp", Auth: auth,
		Enabled: true, Everyone: true,
	}
	must.Succeed(t, f.AddToolServer(t.Context(), ann, server))
	return ann, server
}

// discover stores a tool of a server with a description.
func (f *fixture) discover(t *testing.T, server toolserver.Server, description string) error {
	found := toolserver.Tool{
		Remote:   "find",
		Accepted: toolserver.Definition{Description: description, Schema: json.RawMessage(`{"type":"object"}`)},
	}
	return f.SaveDiscovery(t.Context(), f.a, server.ID, toolserver.Discovery{
		At: time.Now(), URL: server.URL, Tools: []toolserver.Tool{found},
	})
}

// concurrently runs a function in the background. It returns when the function has returned or waits for a lock.
func (f *fixture) concurrently(t *testing.T, run func() error) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- run() }()
	for len(done) == 0 && !waitsForLock(t, f) {
	}
	return done
}

// TestToolChangedDuringDiscovery: the rule of an administrator and a new definition are both stored, although each was
// stored while the other one was in progress.
func TestToolChangedDuringDiscovery(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ann, server := f.toolServer(t, toolserver.AuthNone)
	must.Succeed(t, f.discover(t, server, "A"))
	var discovered <-chan error
	must.Succeed(t, f.EditToolServer(t.Context(), ann, server.ID, func(edited *toolserver.Server) error {
		discovered = f.concurrently(t, func() error { return f.discover(t, server, "B") })
		edited.Tools[0].Rule = tool.RuleDeny
		return nil
	}))
	must.Succeed(t, <-discovered)
	stored := must.Get(f.ToolServer(t.Context(), f.a, server.ID))(t)
	got := stored.Tools[0]
	if got.Rule != tool.RuleDeny || got.Offered == nil || got.Offered.Description != "B" {
		t.Errorf("rule %q, offered %+v", got.Rule, got.Offered)
	}
}

// withKeys sets the encryption keys of the database.
func (f *fixture) withKeys(t *testing.T) {
	t.Helper()
	var keys secret.Keyring
	must.Succeed(t, keys.UnmarshalText([]byte(secret.NewKey())))
	f.DB = f.WithSecrets(keys)
}

// TestServerEditedDuringRegistration: a client that is registered during an edit is stored.
func TestServerEditedDuringRegistration(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.withKeys(t)
	ann, server := f.toolServer(t, toolserver.AuthOAuth)
	var registered <-chan error
	must.Succeed(t, f.EditToolServer(t.Context(), ann, server.ID, func(edited *toolserver.Server) error {
		registered = f.concurrently(t, func() error {
			return f.SetToolAuthorization(t.Context(), server, toolserver.Authorization{}, &toolserver.Client{ID: "c"})
		})
		edited.Name = "営業支援"
		return nil
	}))
	must.Succeed(t, <-registered)
	got := must.Get(f.ToolServer(t.Context(), f.a, server.ID))(t)
	if got.Name != "営業支援" || got.ClientID != "c" || !got.Registered {
		t.Errorf("got %+v", got)
	}
}

// TestServerMovedDuringConnection: tokens and settings of the old address or client are not stored after an edit. Storing
// them waits for an edit in progress.
func TestServerMovedDuringConnection(t *testing.T) {
	t.Parallel()
	move := func(edited *toolserver.Server) { edited.URL = "https://new.example/mcp" }
	enter := func(edited *toolserver.Server) { edited.ClientID = "entered" }
	for name, test := range map[string]struct {
		edit func(*toolserver.Server)
		save func(f *fixture, server toolserver.Server) error
	}{
		"authorization server": {move, func(f *fixture, server toolserver.Server) error {
			return f.SetToolAuthorization(t.Context(), server, toolserver.Authorization{}, nil)
		}},
		"registered client": {move, func(f *fixture, server toolserver.Server) error {
			return f.SetToolAuthorization(t.Context(), server, toolserver.Authorization{}, &toolserver.Client{ID: "c"})
		}},
		"registered instead of the entered client": {enter, func(f *fixture, server toolserver.Server) error {
			return f.SetToolAuthorization(t.Context(), server, toolserver.Authorization{}, &toolserver.Client{ID: "c"})
		}},
		"attempt": {move, func(f *fixture, server toolserver.Server) error {
			return f.AddToolAttempt(t.Context(), toolserver.Attempt{
				Hash: server.ID[:], BrowserHash: server.ID[:], Owner: f.ann, ServerID: server.ID, URL: server.URL,
				ExpiresAt: time.Now().Add(time.Minute),
			})
		}},
		"tokens": {move, func(f *fixture, server toolserver.Server) error {
			return f.SaveToolConnection(t.Context(), f.ann, server, toolserver.Connection{AccessToken: "a"})
		}},
		"tokens of another client": {enter, func(f *fixture, server toolserver.Server) error {
			return f.SaveToolConnection(t.Context(), f.ann, server, toolserver.Connection{AccessToken: "a"})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.withKeys(t)
			ann, server := f.toolServer(t, toolserver.AuthOAuth)
			var saved <-chan error
			must.Succeed(t, f.EditToolServer(t.Context(), ann, server.ID, func(edited *toolserver.Server) error {
				saved = f.concurrently(t, func() error { return test.save(f, server) })
				test.edit(edited)
				return nil
			}))
			if err := <-saved; !errors.Is(err, toolserver.ErrMoved) {
				t.Errorf("error %v", err)
			}
			if value[bool](t, f, `
				SELECT EXISTS (SELECT FROM tool_connections) OR EXISTS (SELECT FROM tool_attempts)
				    OR EXISTS (SELECT FROM tool_servers WHERE oauth IS NOT NULL OR registered)`) {
				t.Error("it is stored")
			}
		})
	}
}

// TestTokensOfAnotherConnection: a refresh does not replace the tokens of a later connection, and a call at the old
// address does not get the token for the new one.
func TestTokensOfAnotherConnection(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.withKeys(t)
	ann, server := f.toolServer(t, toolserver.AuthOAuth)
	save := func(server toolserver.Server, token string) toolserver.Connection {
		t.Helper()
		must.Succeed(t, f.SaveToolConnection(t.Context(), f.ann, server, toolserver.Connection{AccessToken: token}))
		stored := must.Get(f.ToolConnection(t.Context(), f.ann, server))(t)
		return stored
	}
	first := save(server, "first")
	next := toolserver.Connection{AccessToken: "refreshed"}
	must.Succeed(t, f.RefreshToolConnection(t.Context(), f.ann, server, first, next))
	if got, err := f.ToolConnection(t.Context(), f.ann, server); err != nil || got.AccessToken != "refreshed" {
		t.Errorf("got %+v, %v", got, err)
	}
	save(server, "second")
	must.Succeed(t, f.RefreshToolConnection(t.Context(), f.ann, server, first, next))
	if got, err := f.ToolConnection(t.Context(), f.ann, server); err != nil || got.AccessToken != "second" {
		t.Errorf("got %+v, %v", got, err)
	}
	moved := server
	must.Succeed(t, f.EditToolServer(t.Context(), ann, server.ID, func(edited *toolserver.Server) error {
		edited.URL = "https://new.example/mcp"
		moved = *edited
		return nil
	}))
	save(moved, "moved")
	if got, err := f.ToolConnection(t.Context(), f.ann, server); !errors.Is(err, toolserver.ErrNotConnected) {
		t.Errorf("at the old address: %+v, %v", got, err)
	}
}

// TestDiscoveryOfTheOldAddress: the tools that were read at an address are not stored after the server got another one.
func TestDiscoveryOfTheOldAddress(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ann, server := f.toolServer(t, toolserver.AuthNone)
	must.Succeed(t, f.EditToolServer(t.Context(), ann, server.ID, func(edited *toolserver.Server) error {
		edited.URL = "https://new.example/mcp"
		return nil
	}))
	if err := f.discover(t, server, "A"); !errors.Is(err, toolserver.ErrMoved) {
		t.Errorf("error %v", err)
	}
	got := must.Get(f.ToolServer(t.Context(), f.a, server.ID))(t)
	if len(got.Tools) != 0 || got.CheckedAt != nil {
		t.Errorf("got %+v", got)
	}
}

// TestPermissionsEndWithTheServer: the permissions for the rest of a thread are deleted when the server is removed or its
// URL changes.
func TestPermissionsEndWithTheServer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ann, server := f.toolServer(t, toolserver.AuthNone)
	other := server
	other.ID, other.Key = newID(), "crm_2"
	must.Succeed(t, f.AddToolServer(t.Context(), ann, other))
	thread := f.thread(t, f.ann)
	edit := func(change func(*toolserver.Server)) func() error {
		return func() error {
			return f.EditToolServer(t.Context(), ann, server.ID, func(edited *toolserver.Server) error {
				change(edited)
				return nil
			})
		}
	}
	for _, test := range []struct {
		name string
		do   func() error
		want []string
	}{
		{"another name", edit(func(s *toolserver.Server) { s.Name = "営業支援" }), []string{"calendar", "crm_2__find", "crm__find"}},
		{"another address", edit(func(s *toolserver.Server) { s.URL = "https://new.example/mcp" }), []string{"calendar", "crm_2__find"}},
		{"removal", func() error { return f.RemoveToolServer(t.Context(), ann, server.ID) }, []string{"calendar", "crm_2__find"}},
	} {
		for _, name := range []string{"crm__find", "crm_2__find", "calendar"} {
			f.exec(t, `
				INSERT INTO tool_permissions (organization_id, thread_id, user_id, tool) VALUES ($1, $2, $3, $4)
				ON CONFLICT DO NOTHING`, f.a, thread.ID, f.ann.UserID, name)
		}
		must.Succeed(t, test.do())
		got := must.Get(f.PermittedTools(t.Context(), f.ann, thread.ID))(t)
		if slices.Sort(got); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q", test.name, got)
		}
	}
}

// TestNoPermissionForAnotherServer: the approval for the rest of a thread is not stored if the tool's server has been
// removed or has got another address since the call was written, also during the decision.
func TestNoPermissionForAnotherServer(t *testing.T) {
	t.Parallel()
	type do = func(f *fixture, ann identity.Actor, server toolserver.Server) error
	move := func(f *fixture, ann identity.Actor, server toolserver.Server, meanwhile func()) error {
		return f.EditToolServer(t.Context(), ann, server.ID, func(edited *toolserver.Server) error {
			meanwhile()
			edited.URL = "https://new.example/mcp"
			return nil
		})
	}
	for name, test := range map[string]struct {
		tool   string
		before do
		during bool
		want   bool
	}{
		"the same server": {tool: "crm__find", want: true},
		"built in":        {tool: "calendar", want: true},
		"no such server":  {tool: "crm_2__find"},
		"moved meanwhile": {tool: "crm__find", during: true},
		"moved": {tool: "crm__find", before: func(f *fixture, ann identity.Actor, s toolserver.Server) error {
			return move(f, ann, s, func() {})
		}},
		"another name": {tool: "crm__find", want: true, before: func(f *fixture, ann identity.Actor, s toolserver.Server) error {
			return f.EditToolServer(t.Context(), ann, s.ID, func(edited *toolserver.Server) error {
				edited.Name = "営業支援"
				return nil
			})
		}},
		"removed": {tool: "crm__find", before: func(f *fixture, ann identity.Actor, s toolserver.Server) error {
			return f.RemoveToolServer(t.Context(), ann, s.ID)
		}},
		"another, same key": {tool: "crm__find", before: func(f *fixture, ann identity.Actor, s toolserver.Server) error {
			must.Succeed(t, f.RemoveToolServer(t.Context(), ann, s.ID))
			s.ID, s.URL = newID(), "https://new.example/mcp"
			return f.AddToolServer(t.Context(), ann, s)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			ann, server := f.toolServer(t, toolserver.AuthNone)
			host, thread := newID(), f.thread(t, f.ann)
			f.renew(t, host)
			begun := must.Get(f.BeginGeneration(t.Context(), question(f.ann, thread.ID, host)))(t)
			call := waitingCall("a", test.tool, time.Now().Add(time.Hour))
			call.Version = server.Settings() + " definition"
			must.Succeed(t, f.AddToolRound(t.Context(), host, chat.AddedRound{
				RunID:     chat.RunID{MessageID: begun.Answer.ID, Run: 1},
				ToolRound: chat.ToolRound{Calls: []chat.ToolCall{call}},
			}))
			sum := sha256.Sum256([]byte(call.Arguments))
			decide := func() error {
				_, err := f.DecideToolCall(t.Context(), f.ann, chat.Decision{
					ID: call.Approval.ID, RequestID: newID(), Approved: true, Remember: true, ArgumentsSHA256: sum[:],
				}, org.AuditActorOf(ann))
				return err
			}
			if test.before != nil {
				must.Succeed(t, test.before(f, ann, server))
			}
			if test.during {
				var decided <-chan error
				must.Succeed(t, move(f, ann, server, func() { decided = f.concurrently(t, decide) }))
				must.Succeed(t, <-decided)
			} else {
				must.Succeed(t, decide())
			}
			got := must.Get(f.PermittedTools(t.Context(), f.ann, thread.ID))(t)
			remembered := value[bool](t, f, `
				SELECT details::text LIKE '%remember%' FROM audit_events WHERE action = $1`, org.ActionToolApprove)
			if (len(got) > 0) != test.want || remembered != test.want {
				t.Errorf("permitted %q, in the audit log %t", got, remembered)
			}
		})
	}
}

// TestSlowDiscovery: the tools of a discovery do not replace those of one that began later.
func TestSlowDiscovery(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, server := f.toolServer(t, toolserver.AuthNone)
	begun := time.Now().Add(-time.Second)
	must.Succeed(t, f.discover(t, server, "new"))
	for _, late := range []toolserver.Discovery{{At: begun, URL: server.URL}, {At: begun, URL: server.URL, Failure: "遅い"}} {
		must.Succeed(t, f.SaveDiscovery(t.Context(), f.a, server.ID, late))
	}
	got, err := f.ToolServer(t.Context(), f.a, server.ID)
	must.Succeed(t, err)
	if got.Failure != "" || !got.CheckedAt.After(begun) || len(got.Tools) != 1 || got.Tools[0].Gone {
		t.Errorf("got %+v", got)
	}
	must.Succeed(t, f.SaveDiscovery(t.Context(), f.a, server.ID, toolserver.Discovery{At: time.Now(), URL: server.URL}))
	if got, err = f.ToolServer(t.Context(), f.a, server.ID); err != nil || len(got.Tools) != 0 {
		t.Errorf("after a later discovery: %+v, %v", got, err)
	}
}
