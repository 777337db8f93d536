package toolserver_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tsumugi-ai/tsumugi/internal/tool"
	"github.com/tsumugi-ai/tsumugi/internal/toolserver"
)

// isCall reports whether a message to a server is a call of a tool.
func isCall(message string) bool { return strings.Contains(message, `"tools/call"`) }

// TestTokenIsRefusedAtTheCall: a server that accepts the connection and refuses the token at the call. The token is
// refreshed once, and the call is sent once more. If the server refuses the new token too, or the authorization server
// refuses the refresh, the person is asked to connect again.
func TestTokenIsRefusedAtTheCall(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{legacy, current} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			o, c := newOffice(t), newCRM(t, revision)
			g := newGate(t, c)
			o.addConnected(g)
			g.needsToken = isCall
			check := func(refreshed, refusals, calls int64) {
				t.Helper()
				if g.refreshed.Load() != refreshed || g.refusals.Load() != refusals || c.calls.Load() != calls {
					t.Errorf("%d refreshes, %d refusals, %d calls; want %d, %d, %d",
						g.refreshed.Load(), g.refusals.Load(), c.calls.Load(), refreshed, refusals, calls)
				}
			}
			g.end(false)
			before := g.refusals.Load()
			result, err := o.call("crm__find_customer", `{"name":"a"}`)
			if err != nil || result.Text != `引数 {"name":"a"}` || !c.spoken(revision) {
				t.Errorf("%+v, %v", result, err)
			}
			check(1, before+1, 1)
			g.end(true)
			_, err = o.call("crm__find_customer", `{"name":"a"}`)
			wants(t, err, "連携が受け付けられませんでした", "/setting/connections")
			check(2, before+3, 1)
			g.mu.Lock()
			g.refresh = nil
			g.mu.Unlock()
			_, err = o.call("crm__find_customer", `{"name":"a"}`)
			wants(t, err, "相手のサービスで無効になりました", "/setting/connections")
			check(2, before+4, 1)
		})
	}
}

// TestCallsWithOneRefusedToken: concurrent calls whose token is refused refresh it once, and each is sent once more.
func TestCallsWithOneRefusedToken(t *testing.T) {
	t.Parallel()
	o, c := newOffice(t), newCRM(t)
	g := newGate(t, c)
	o.addConnected(g)
	const calls = 5
	var refused sync.WaitGroup
	refused.Add(calls)
	g.needsToken, g.refusal = isCall, func() {
		refused.Done()
		refused.Wait()
	}
	g.end(false)
	before := g.refusals.Load()
	find := o.offered(o.taro, "crm__find_customer")[0]
	ends := make(chan error, calls)
	for range calls {
		go func() {
			_, err := find.Call(t.Context(), json.RawMessage(`{"name":"a"}`))
			ends <- err
		}()
	}
	for range calls {
		if err := <-ends; err != nil {
			t.Error(err)
		}
	}
	if g.refreshed.Load() != 1 || g.refusals.Load() != before+calls || c.calls.Load() != calls {
		t.Errorf("%d refreshes, %d refusals, %d calls", g.refreshed.Load(), g.refusals.Load()-before, c.calls.Load())
	}
}

// TestScopeIsAddedAfterARefusal: a server that refuses a call because the token lacks a scope. The person connects again
// with the scope, also after a refresh. If the server still refuses the call, the person is not asked again.
func TestScopeIsAddedAfterARefusal(t *testing.T) {
	t.Parallel()
	o, c := newOffice(t), newCRM(t)
	g := newGate(t, c)
	server := o.addConnected(g)
	g.stepUp = "crm:write"
	for range 2 {
		before := g.refusals.Load()
		_, err := o.call("crm__find_customer", `{"name":"a"}`)
		wants(t, err, "追加の権限が必要です", "/setting/connections")
		if n := g.refusals.Load() - before; n != 1 || c.calls.Load() != 0 {
			t.Errorf("%d refusals, %d calls", n, c.calls.Load())
		}
	}
	o.connect(g, o.taro, server)
	if g.requested != "crm offline_access crm:write" {
		t.Errorf("requested %q", g.requested)
	}
	if result, err := o.call("crm__find_customer", `{"name":"a"}`); err != nil || result.Text == "" {
		t.Errorf("%+v, %v", result, err)
	}
	g.requested = "" // The authorization server has not granted the scope.
	for range 2 {
		_, err := o.call("crm__find_customer", `{"name":"a"}`)
		wants(t, err, "この操作を許可しませんでした（403）")
		g.end(false) // The token is refreshed at the next call.
	}
}

// TestTokenIsRefusedAtTheList: a server that refuses the token at the list of its tools. It is refreshed once.
func TestTokenIsRefusedAtTheList(t *testing.T) {
	t.Parallel()
	o, c := newOffice(t), newCRM(t)
	g := newGate(t, c)
	server := o.addConnected(g)
	g.needsToken = func(message string) bool { return strings.Contains(message, `"tools/list"`) }
	o.connect(g, o.super, server)
	g.end(false)
	o.discover(server.ID)
	if g.refreshed.Load() != 1 {
		t.Errorf("%d refreshes", g.refreshed.Load())
	}
}

// TestTokenIsRefusedAfterTheInput: the second round of a call is sent again with the same input and state.
func TestTokenIsRefusedAfterTheInput(t *testing.T) {
	t.Parallel()
	o, c := newOffice(t), newCRM(t)
	rounds := make(chan *sdk.CallToolParamsRaw, 3)
	c.mcp.AddTool(&sdk.Tool{Name: "find_customer", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			rounds <- r.Params
			if len(r.Params.InputResponses) > 0 {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "見つかりました"}}}, nil
			}
			return &sdk.CallToolResult{
				RequestState: "途中", InputRequests: sdk.InputRequestMap{"guest": form("何名ですか", bookingSchema)},
			}, nil
		})
	g := newGate(t, c)
	o.addConnected(g)
	g.needsToken = isCall
	find := o.offered(o.taro, "crm__find_customer")[0]
	result, err := find.Call(t.Context(), json.RawMessage(`{"name":"a"}`))
	if err != nil || result.Input == nil {
		t.Fatalf("got %+v, %v", result, err)
	}
	<-rounds
	g.end(false)
	result, err = find.Resume(t.Context(), json.RawMessage(`{"name":"a"}`), *result.Input, tool.InputResponse{
		Action: tool.InputAccept, Values: map[string]map[string]any{"guest": {"people": 3.0, "seat": "window"}},
	})
	if err != nil || result.Text != "見つかりました" {
		t.Fatalf("got %+v, %v", result, err)
	}
	second := <-rounds
	sent, _ := second.InputResponses["guest"].(*sdk.ElicitResult)
	if second.RequestState != "途中" || sent == nil || sent.Content["people"] != 3.0 || len(rounds) > 0 {
		t.Errorf("the second round is %+v, %+v, and %d follow", second, sent, len(rounds))
	}
	if g.refreshed.Load() != 1 {
		t.Errorf("%d refreshes", g.refreshed.Load())
	}
}

// TestTokenIsRefusedDuringTheCall: a server that refuses the response to its own request while the tool runs. That
// response is sent again; the call is not.
func TestTokenIsRefusedDuringTheCall(t *testing.T) {
	t.Parallel()
	o, c := newOffice(t), newCRM(t, legacy)
	g := newGate(t, c)
	o.addConnected(g)
	g.needsToken = func(message string) bool { return message != "" } // The end of the session does not need one.
	c.mcp.AddTool(&sdk.Tool{
		Name: "find_customer", Title: "顧客の検索", Description: "顧客を探します。", InputSchema: json.RawMessage(
			`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true},
	}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(t.Context(), cancel)()
		c.calls.Add(1)
		g.end(false)
		if err := r.Session.Ping(ctx, nil); err != nil {
			t.Errorf("ping: %v", err)
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "見つかりました"}}}, nil
	})
	result, err := o.call("crm__find_customer", `{"name":"a"}`)
	if err != nil || result.Text != "見つかりました" || c.calls.Load() != 1 || g.refreshed.Load() != 1 {
		t.Errorf("%+v, %v, %d calls, %d refreshes", result, err, c.calls.Load(), g.refreshed.Load())
	}
}

// TestRefusedHeaderIsFinal: a call that a server without OAuth refuses is not sent again.
func TestRefusedHeaderIsFinal(t *testing.T) {
	t.Parallel()
	o, c := newOffice(t), newCRM(t)
	g := newGate(t, c)
	g.needsToken = isCall
	o.connected(g.URL+"/mcp", func(d *toolserver.Draft) {
		d.Auth, d.HeaderName, d.Secret = new(toolserver.AuthHeader), new("Authorization"), new("Bearer geheim")
	})
	_, err := o.call("crm__find_customer", `{"name":"a"}`)
	wants(t, err, "認証に失敗しました（401）")
	if g.refusals.Load() != 1 || g.refreshed.Load() != 0 || c.calls.Load() != 0 {
		t.Errorf("%d refusals, %d refreshes, %d calls", g.refusals.Load(), g.refreshed.Load(), c.calls.Load())
	}
}
