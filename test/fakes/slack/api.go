package slack

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const maxBody = 4 << 20 // In bytes, of a request.

// object is a JSON object of a response.
type object = map[string]any

// failure is a response with ok false.
type failure struct {
	code string
	more object
}

func (f *failure) Error() string { return f.code }

func fail(code string) error { return &failure{code: code} }

// invalid returns the failure of an argument, with Slack's messages about it.
func invalid(code string, messages ...string) error {
	return &failure{code: code, more: object{
		"errors": messages, "response_metadata": object{"messages": messages},
	}}
}

// call is one call of the Web API.
type call struct {
	*Workspace

	method string
	args   map[string]string // Values that are not strings are JSON.
	token  string
}

// method is a Web API method: its requirements and its implementation.
type method struct {
	perMinute int    // The limit of its rate tier; 0 is unlimited.
	scope     string // Required if not empty.
	token     string // The prefix of the required token; none if empty.
	do        func(*call) (object, error)
}

func (w *Workspace) serveAPI(writer http.ResponseWriter, request *http.Request) {
	c := &call{Workspace: w, method: request.PathValue("method")}
	var err error
	if c.args, err = arguments(writer, request); err != nil {
		answer(writer, http.StatusOK, object{"ok": false, "error": err.Error()})
		return
	}
	c.token = cmp.Or(bearer(request), c.args["token"])
	w.mu.Lock()
	w.calls[c.method]++
	w.calls[""]++
	fault, broken := w.fault(c.method)
	w.touch()
	w.mu.Unlock()
	status, header, body := http.StatusOK, http.Header{}, object(nil)
	if !broken || fault.After {
		status, body = c.run(header)
	}
	if broken {
		status, body = fault.answer(header)
	}
	if status == 0 {
		panic(http.ErrAbortHandler) // Cuts the connection.
	}
	maps.Copy(writer.Header(), header)
	answer(writer, status, body)
}

// run executes the call.
func (c *call) run(header http.Header) (int, object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, ok := methods()[c.method]
	if !ok {
		return http.StatusOK, object{"ok": false, "error": "unknown_method"}
	}
	err := c.allowed(m)
	var body object
	if err == nil {
		header.Set("X-Oauth-Scopes", strings.Join(c.scopes, ","))
		if wait := c.limit(m); wait > 0 {
			header.Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
			return http.StatusTooManyRequests, object{"ok": false, "error": "ratelimited"}
		}
		body, err = m.do(c)
	}
	if body == nil {
		body = object{}
	}
	body["ok"] = err == nil
	if failed, ok := errors.AsType[*failure](err); ok {
		body["error"] = failed.code
		maps.Copy(body, failed.more)
	}
	return http.StatusOK, body
}

// allowed checks the token of the call and its scopes. The caller holds w.mu.
func (c *call) allowed(m method) error {
	switch {
	case m.token == "":
		return nil
	case c.token == "":
		return fail("not_authed")
	case slices.Contains(c.revoked, c.token):
		return fail("token_revoked")
	case c.token != c.Workspace.token && c.token != c.app.AppToken:
		return fail("invalid_auth")
	case !strings.HasPrefix(c.token, m.token):
		return fail("not_allowed_token_type")
	case m.scope != "":
		return c.require(m.scope)
	}
	return nil
}

// require returns Slack's error if the bot was not granted a scope.
func (c *call) require(scope string) error {
	if slices.Contains(c.scopes, scope) {
		return nil
	}
	return &failure{code: "missing_scope", more: object{"needed": scope, "provided": strings.Join(c.scopes, ",")}}
}

// limit counts the call against its tier, and returns the time to wait if the limit is exceeded. Messages have a
// separate limit: one a second per channel, with short bursts. The caller holds w.mu.
func (c *call) limit(m method) time.Duration {
	if !c.config.Tiers || m.perMinute == 0 {
		return 0
	}
	key, most, window := c.method, m.perMinute, time.Minute
	if c.method == "chat.postMessage" {
		key, most, window = key+" "+c.args["channel"], 10, 10*time.Second
	}
	now := c.clock.now()
	recent := slices.DeleteFunc(c.counted[key], func(at time.Time) bool { return now.Sub(at) >= window })
	if len(recent) >= most {
		c.counted[key] = recent
		return recent[len(recent)-most].Add(window).Sub(now)
	}
	c.counted[key] = append(recent, now)
	return 0
}

// bearer returns the token in the header of a request.
func bearer(request *http.Request) string {
	token, _ := strings.CutPrefix(request.Header.Get("Authorization"), "Bearer ")
	return token
}

// arguments reads the arguments of a call from the query, a form or JSON.
func arguments(writer http.ResponseWriter, request *http.Request) (map[string]string, error) {
	args := map[string]string{}
	kind, _, _ := strings.Cut(request.Header.Get("Content-Type"), ";")
	request.Body = http.MaxBytesReader(writer, request.Body, maxBody)
	if strings.TrimSpace(kind) == "application/json" {
		var fields map[string]json.RawMessage
		body, err := io.ReadAll(request.Body)
		if err != nil || len(body) > 0 && json.Unmarshal(body, &fields) != nil {
			return nil, fail("invalid_json")
		}
		for name, raw := range fields {
			var text string
			if json.Unmarshal(raw, &text) != nil { // Null becomes an empty text.
				text = string(raw)
			}
			args[name] = text
		}
	} else if err := request.ParseForm(); err != nil {
		return nil, fail("invalid_form_data")
	}
	for name, values := range request.Form {
		args[name] = values[0]
	}
	return args, nil
}

func answer(writer http.ResponseWriter, status int, body any) {
	writer.Header().Set("Content-Type", "application/json; charset=utf-8")
	writer.WriteHeader(status)
	_ = json.NewEncoder(writer).Encode(body) // The client may have disconnected.
}

func (c *call) flag(name string) bool {
	value := c.args[name]
	return value == "true" || value == "1"
}

// methods returns the methods of the Web API. The rates are Slack's tiers 2 to 4: 20, 50 and 100 a minute. The methods
// that read conversations check their scopes themselves.
func methods() map[string]method {
	const two, three, four, most = 20, 50, 100, 600
	const bot, app, anyone = "xoxb-", "xapp-", ""
	return map[string]method{
		"auth.test":                             {most, "", bot, (*call).authTest},
		"apps.connections.open":                 {0, "", app, (*call).connectionsOpen},
		"bots.info":                             {three, "users:read", bot, (*call).botsInfo},
		"users.info":                            {four, "users:read", bot, (*call).usersInfo},
		"chat.postMessage":                      {most, "chat:write", bot, (*call).chatPost},
		"chat.postEphemeral":                    {four, "chat:write", bot, (*call).chatPostEphemeral},
		"chat.update":                           {three, "chat:write", bot, (*call).chatUpdate},
		"chat.delete":                           {three, "chat:write", bot, (*call).chatDelete},
		"chat.startStream":                      {two, "chat:write", bot, (*call).startStream},
		"chat.appendStream":                     {four, "chat:write", bot, (*call).appendStream},
		"chat.stopStream":                       {two, "chat:write", bot, (*call).stopStream},
		"conversations.replies":                 {three, "", bot, (*call).conversationsReplies},
		"conversations.history":                 {three, "", bot, (*call).conversationsHistory},
		"conversations.info":                    {three, "", bot, (*call).conversationsInfo},
		"conversations.open":                    {three, "im:write", bot, (*call).conversationsOpen},
		"files.info":                            {four, "files:read", bot, (*call).filesInfo},
		"files.getUploadURLExternal":            {four, "files:write", bot, (*call).filesUploadURL},
		"files.completeUploadExternal":          {four, "files:write", bot, (*call).filesComplete},
		"views.publish":                         {four, "", bot, (*call).viewsPublish},
		"assistant.threads.setStatus":           {most, "chat:write", bot, session((*call).threadStatus)},
		"assistant.threads.setTitle":            {four, "chat:write", bot, session((*call).threadTitle)},
		"assistant.threads.setSuggestedPrompts": {four, "chat:write", bot, session((*call).threadPrompts)},
		"agents.sessions.setStatus":             {three, "chat:write", bot, session((*call).sessionStatus)},
		"oauth.v2.access":                       {most, "", anyone, (*call).oauthAccess},
		"openid.connect.token":                  {four, "", anyone, (*call).openidToken},
	}
}
