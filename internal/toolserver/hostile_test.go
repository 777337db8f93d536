package toolserver_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/tool"
	"github.com/tsumugi-ai/tsumugi/internal/toolserver"
)

// hostile is a server that speaks the protocol until the call of a tool, which answer handles.
func hostile(t *testing.T, answer http.HandlerFunc) (server *httptest.Server, calls *atomic.Int64) {
	t.Helper()
	calls = &atomic.Int64{}
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var message struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.NewDecoder(r.Body).Decode(&message)
		result := ""
		switch message.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"h","version":"1"}}`
		case "tools/list":
			result = `{"tools":[null,{"name":"t","description":"d","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			calls.Add(1)
			r.Header.Set("X-Message-Id", string(message.ID))
			answer(w, r)
			return
		case "server/discover":
			w.WriteHeader(http.StatusBadRequest) // The revision 2025-11-25 does not have it.
			return
		default:
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, message.ID, result)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server, calls
}

// TestHostileAnswers: a server that answers a call in a wrong way causes an error with its sentence, and gets one
// request.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a redirect was followed")
	}))
	t.Cleanup(inside.Close)
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	respond := func(media, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", media)
			_, _ = io.WriteString(w, strings.ReplaceAll(body, "ID", r.Header.Get("X-Message-Id")))
		}
	}
	big := strings.Repeat("a", 10<<20)
	var odd strings.Builder // Messages for other purposes than the call.
	for _, method := range []string{
		"elicitation/create", "sampling/createMessage", "roots/list", "ping", "notifications/progress", "notifications/message",
		"notifications/cancelled", "notifications/tools/list_changed", "notifications/resources/updated",
		"notifications/elicitation/complete", "notifications/tasks/status", "",
	} {
		for i, params := range []string{
			`,"params":null`, "", `,"params":{}`, `,"params":[]`,
			`,"params":{"requestId":null,"_meta":null,"requestedSchema":null,"messages":[null,{"content":null}],"tools":[null]}`,
		} {
			fmt.Fprintf(&odd, "data: {\"jsonrpc\":\"2.0\",\"method\":%q%s}\n\n", method, params)
			fmt.Fprintf(&odd, "data: {\"jsonrpc\":\"2.0\",\"id\":\"%s%d\",\"method\":%q%s}\n\n", method, i, method, params)
		}
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		text   string
	}{
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, inside.URL, http.StatusTemporaryRedirect)
		}, "転送には従いません"},
		"unauthorized": {status(401), "認証に失敗しました"},
		"forbidden":    {status(403), "許可しませんでした"},
		"busy":         {status(429), "混み合っています"},
		"broken":       {status(502), "エラー（HTTP 502）"},
		"gone":         {status(404), "エラー（HTTP 404）"},
		"10 MB": {respond("application/json",
			`{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"`+big+`"}]}}`), "応答が大きすぎるため"},
		"10 MB of events": {respond("text/event-stream", "data: "+big+"\n\n"), "応答が大きすぎるため"},
		"no event":        {respond("text/event-stream", "id: 1\nretry: 1\ndata:\n\n"), "応答を読み取れませんでした"},
		"no JSON":         {respond("application/json", "<html>"), "応答を読み取れませんでした"},
		"a page":          {respond("text/html", "<html>"), "応答を読み取れませんでした"},
		"no content":      {respond("application/json", `{"jsonrpc":"2.0","id":ID,"result":{"content":[null]}}`), "応答を読み取れませんでした"},
		"no form": {respond("application/json", `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","inputRequests":{"q":null}}}`),
			"応答を読み取れませんでした"},
		"messages without values": {respond("text/event-stream", odd.String()), "応答を読み取れませんでした"},
		"asks a model": {respond("text/event-stream", "data: "+
			`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`+"\n\n"), "応答を読み取れませんでした"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			server, calls := hostile(t, c.answer)
			o.connected(server.URL, nil)
			result, err := o.call("crm__t", `{}`)
			if wants(t, err, "サーバー「顧客管理」", c.text); result.Text != "" || !result.Untrusted {
				t.Errorf("got %+v", result)
			}
			if n := calls.Load(); n != 1 {
				t.Errorf("%d calls", n)
			}
		})
	}
}

// TestFloodOfRequests: a server that sends thousands of requests during a call gets few responses to them.
func TestFloodOfRequests(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	server, calls := hostile(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 2_000 {
			_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}\n\n", i)
		}
		_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","id":`+r.Header.Get("X-Message-Id")+`,"result":{"content":[]}}`+"\n\n")
	})
	var requests atomic.Int64
	counted := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		server.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(counted.Close)
	o.connected(counted.URL, nil)
	_, _ = o.call("crm__t", `{}`) // It may fail.
	o.tools.Stop()
	if n := requests.Load(); n > 100 || calls.Load() != 1 {
		t.Errorf("%d requests", n)
	}
}

// TestTextsThatAreNoUTF8: invalid bytes in a result are replaced.
func TestTextsThatAreNoUTF8(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	server, _ := hostile(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+r.Header.Get("X-Message-Id")+
			`,"result":{"content":[{"type":"text","text":"a`+"\xff"+`b"}]}}`)
	})
	o.connected(server.URL, nil)
	if result, err := o.call("crm__t", `{}`); err != nil || result.Text != "a\uFFFDb" {
		t.Errorf("%q, %v", result.Text, err)
	}
}

// TestSlowServers: a call ends after its time limit, and at the latest with the context of the answer.
func TestSlowServers(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	server, _ := hostile(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil { // A stream without an end.
			_, _ = io.WriteString(w, ": wait\n\n")
			w.(http.Flusher).Flush()
			time.Sleep(time.Millisecond) //nolint:forbidigo // The pace of the server, not of the test.
		}
	})
	added := o.connected(server.URL, nil)
	impatient := toolserver.NewService(toolserver.Config{
		BuiltIn: tool.BuiltIn(time.Now), CallTimeout: 200 * time.Millisecond, Watch: time.Hour,
	}, o.db, toolserver.NewConnector(toolserver.ConnectorConfig{Hosts: []string{"127.0.0.1"}}), nil)
	t.Cleanup(impatient.Stop)
	tools, err := impatient.Of(t.Context(), o.taro.Owner(), []string{"crm__t"})
	if err != nil || len(tools) != 1 {
		t.Fatalf("%d tools, %v", len(tools), err)
	}
	_, err = tools[0].Call(t.Context(), nil)
	wants(t, err, "サーバー「顧客管理」", "時間内に応答しませんでした")
	server.CloseClientConnections()
	server.Close()
	_, err = o.call("crm__t", `{}`)
	wants(t, err, "接続できませんでした")
	if found, err := o.tools.Discover(t.Context(), o.super, added.ID); err != nil || !strings.Contains(found.Failure, "接続できませんでした") ||
		len(found.Tools) != 1 {
		t.Errorf("got %+v, %v", found, err)
	}
}

// TestAddresses: servers outside of the public internet are refused, unless the operator lists them.
func TestAddresses(t *testing.T) {
	t.Parallel()
	connector := toolserver.NewConnector(toolserver.ConnectorConfig{Hosts: []string{"tools.intra.example", "10.0.0.5"}})
	for address, allowed := range map[string]bool{
		"https://mcp.example.com/mcp": true, "https://mcp.example.com:8443/mcp?x=1": true,
		"http://tools.intra.example/mcp": true, "https://10.0.0.5/": true, "http://TOOLS.intra.example:81/": true,
		"http://mcp.example.com/mcp": false, "https://localhost/": false, "https://10.0.0.6/": false, "https://[::1]/": false,
		"https://127.1/": false, "https://169.254.169.254/": false, "https://user:pw@mcp.example.com/": false,
		"https://mcp.example.com/#a": false, "file:///etc/passwd": false, "": false, "https://a b/": false,
		"https://mcp.internal/": false, "ftp://tools.intra.example/": false,
	} {
		if err := connector.CheckURL(address); (err == nil) != allowed {
			t.Errorf("%s: %v", address, err)
		}
	}
	// A name that resolves to an address inside is refused when connecting.
	o := newOffice(t)
	server, _ := hostile(t, func(http.ResponseWriter, *http.Request) {})
	added := o.connected(server.URL, nil)
	strict := toolserver.NewService(toolserver.Config{BuiltIn: tool.BuiltIn(time.Now)}, o.db,
		toolserver.NewConnector(toolserver.ConnectorConfig{}), nil)
	t.Cleanup(strict.Stop)
	if found, err := strict.Discover(t.Context(), o.super, added.ID); err != nil ||
		!strings.Contains(found.Failure, "TSUMUGI_TOOL_HOSTS") {
		t.Errorf("%q, %v", found.Failure, err)
	}
}
