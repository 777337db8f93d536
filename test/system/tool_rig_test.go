package system_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// hold delays the first request of one kind until it is released, or its client has gone.
type hold struct {
	kind    string // One of the holds of a callState.
	once    sync.Once
	reached chan struct{} // Closed when the request has arrived.
	release chan struct{} // Closed by the test.
	served  chan struct{} // Closed after the response.
}

// wait is called for each request of the kind.
func (h *hold) wait(ctx context.Context) (served func()) {
	served = func() {}
	h.once.Do(func() {
		served = func() { close(h.served) }
		close(h.reached)
		select {
		case <-h.release:
		case <-ctx.Done():
		}
	})
	return served
}

// callRound identifies a round of a call: the id in its arguments, and the number of the round.
type callRound struct {
	id    string
	round int
}

// toolHost is a tool server by the Go SDK, and the model. It counts the requests of calls.
type toolHost struct {
	tools, model *httptest.Server

	mu       sync.Mutex
	holds    map[string]*hold  // Guarded by mu. By the key of the question.
	requests map[callRound]int // Guarded by mu.
	sent     map[string]string // Guarded by mu. The last arguments, by id.
}

func newToolHost(t *testing.T) *toolHost {
	t.Helper()
	h := &toolHost{
		holds: make(map[string]*hold), requests: make(map[callRound]int), sent: make(map[string]string),
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "office", Version: "1"}, nil)
	for name, call := range map[string]sdk.ToolHandler{"send": sendTool, "book": bookTool} {
		server.AddTool(&sdk.Tool{
			Name: name, InputSchema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"}}}`),
		}, call)
	}
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server },
		&sdk.StreamableHTTPOptions{Stateless: true})
	h.tools = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.serveTool(w, r, handler) }))
	model := llmtest.NewHandler(0)
	h.model = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.serveModel(w, r, model) }))
	t.Cleanup(func() {
		for _, s := range []*httptest.Server{h.tools, h.model} {
			s.CloseClientConnections()
			s.Close()
		}
	})
	return h
}

func sendTool(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "結果 " + string(r.Params.Arguments)}}}, nil
}

// bookTool asks for input once.
func bookTool(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if len(r.Params.InputResponses) > 0 {
		return sendTool(ctx, r)
	}
	return &sdk.CallToolResult{RequestState: "asked", InputRequests: sdk.InputRequestMap{"guest": &sdk.ElicitParams{
		Mode: "form", Message: "何名ですか", RequestedSchema: json.RawMessage(
			`{"type":"object","required":["people"],"properties":{"people":{"type":"integer"}}}`),
	}}}, nil
}

// body reads the body of a request, and puts it back.
func body(r *http.Request) []byte {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	return text
}

// serveTool counts a request of a call, and holds it if the state demands it.
func (h *toolHost) serveTool(w http.ResponseWriter, r *http.Request, handler http.Handler) {
	var call struct {
		Method string
		Params struct {
			Arguments    json.RawMessage
			RequestState string
		}
	}
	if json.Unmarshal(body(r), &call); call.Method == "tools/call" {
		var arguments struct{ ID string }
		_ = json.Unmarshal(call.Params.Arguments, &arguments) // The counts show it.
		at, kind := callRound{arguments.ID, 1}, holdCall
		if call.Params.RequestState != "" {
			at.round, kind = 2, holdSecond
		}
		h.mu.Lock()
		h.requests[at]++
		h.sent[at.id] = string(call.Params.Arguments)
		h.mu.Unlock()
		key, _, _ := strings.Cut(at.id, "/")
		defer h.wait(r.Context(), key, kind)()
	}
	handler.ServeHTTP(w, r)
}

// serveModel holds the first request with the result of a call if the state demands it.
func (h *toolHost) serveModel(w http.ResponseWriter, r *http.Request, handler http.Handler) {
	text := body(r)
	if bytes.Contains(text, []byte(`"role":"tool"`)) {
		for _, key := range h.keys() {
			if bytes.Contains(text, []byte(key)) {
				h.wait(r.Context(), key, holdModel)
			}
		}
	}
	handler.ServeHTTP(w, r)
}

func (h *toolHost) keys() (keys []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key := range maps.Keys(h.holds) {
		keys = append(keys, key)
	}
	return keys
}

func (h *toolHost) wait(ctx context.Context, key, kind string) (served func()) {
	h.mu.Lock()
	held := h.holds[key]
	h.mu.Unlock()
	if held == nil || held.kind != kind {
		return func() {}
	}
	return held.wait(ctx)
}

// hold makes the first request of a kind for a question wait.
func (h *toolHost) hold(key, kind string) *hold {
	h.mu.Lock()
	defer h.mu.Unlock()
	held := &hold{
		kind: kind, reached: make(chan struct{}), release: make(chan struct{}), served: make(chan struct{}),
	}
	h.holds[key] = held
	return held
}

// tab is a client that shows an answer with its calls, as an app does. Its follower's goroutine owns it.
type tab struct {
	*follower

	calls map[string]shownCall
}

// shownCall is a call as a client shows it.
type shownCall struct {
	Input, Approval string // JSON.
	Output          string
}

func newTab(f *follower) *tab {
	s := &tab{f, make(map[string]shownCall)}
	f.continues, f.onEvent = true, s.show
	return s
}

// show applies an event by the id of its call.
func (s *tab) show(e event) {
	var part struct {
		ID     string `json:"toolCallId"`
		Input  json.RawMessage
		Output string
		Data   struct {
			ID string `json:"tool_call_id"`
		}
	}
	if json.Unmarshal([]byte(e.data), &part) != nil {
		return // [DONE]
	}
	id := part.ID + part.Data.ID
	call := s.calls[id]
	switch e.Type {
	case "tool-input-available":
		call = shownCall{Input: string(part.Input), Approval: call.Approval}
	case "tool-output-available":
		call.Output = part.Output
	case "tool-output-denied", "tool-output-error":
		call.Output = e.Type
	case "data-tool-approval":
		call.Approval = string(e.Data)
	default:
		return
	}
	s.calls[id] = call
}

// same reports whether two tabs show the same text and calls.
func (s *tab) same(other *tab) error {
	if string(s.text) != string(other.text) || !reflect.DeepEqual(s.calls, other.calls) {
		return fmt.Errorf("one tab shows %q, %+v, another %q, %+v", s.text, s.calls, other.text, other.calls)
	}
	return nil
}

// addTools adds the tool server and a skill with its tools to the organization, and makes it the skill of new threads.
func (c *client) addTools(t *testing.T, base, address string) {
	t.Helper()
	admin := signInAs(t, base, demoAdministrator)
	var server struct{ ID string }
	must.Succeed(t, admin.call(t.Context(), http.MethodPost, base+"/v1/tool-server", map[string]any{
		"key": "office", "name": "総務", "url": address, "auth": "none",
	}, &server))
	var found struct {
		Failure string
		Tools   []struct{ Name string }
	}
	must.Succeed(t, admin.call(t.Context(), http.MethodPost, base+"/v1/tool-server/"+server.ID+"/discover", nil, &found))
	if len(found.Tools) != 2 {
		t.Fatalf("discovered %+v", found)
	}
	var categories struct{ Items []struct{ ID string } }
	must.Succeed(t, c.call(t.Context(), http.MethodGet, base+"/v1/category?limit=1", nil, &categories))
	var made struct{ ID string }
	must.Succeed(t, c.call(t.Context(), http.MethodPost, base+"/v1/skill", map[string]any{
		"request_id": newID(), "audience": "self", "content": map[string]any{
			"name": toolSkill, "description": "道具を使います。", "icon": "chat", "category_id": categories.Items[0].ID,
			"prompt": "道具を使う。", "tools": []string{"office__send", "office__book"},
		},
	}, &made))
	c.skill = made.ID
}

const toolSkill = "道具係"

// waitingCall is a call that waits for a decision.
type waitingCall struct {
	ID, Cause, Arguments string

	SHA256    string `json:"arguments_sha256"`
	ThreadID  string `json:"thread_id"`
	MessageID string `json:"message_id"`
}

// id returns the id in the arguments of the call.
func (w waitingCall) id() string {
	var arguments struct{ ID string }
	_ = json.Unmarshal([]byte(w.Arguments), &arguments) // Other calls have no id.
	return arguments.ID
}

// waitingCalls returns the calls that wait for decisions of the user.
func (c *client) waitingCalls(ctx context.Context, base string) (list []waitingCall, err error) {
	var page struct{ Items []waitingCall }
	err = c.call(ctx, http.MethodGet, base+"/v1/tool-call?state=waiting&limit=100", nil, &page)
	return page.Items, err
}

// decision returns the body of a request for a decision.
func (w waitingCall) decision(approved bool, edit string) map[string]any {
	d := map[string]any{"request_id": newID(), "approved": approved, "arguments_sha256": w.SHA256}
	switch {
	case w.Cause == "input" && approved:
		d["input"] = map[string]any{"action": "accept", "values": map[string]any{"guest": map[string]any{"people": 3}}}
	case edit != "":
		d["arguments"] = json.RawMessage(edit)
	}
	return d
}
