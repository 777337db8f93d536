package slack

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// call is one call of the Web API.
type call struct {
	*Workspace

	method  string
	args    map[string]string // Values that are not strings are JSON.
	in      *installation     // The installation of a bot token.
	grant   *grant            // The grant of a person's token.
	app     *App              // The app of an app-level token.
	token   string
	request *http.Request
}

// method is a Web API method: its requirements and its implementation.
type method struct {
	perMinute int      // The limit of its rate tier; 0 is unlimited.
	scopes    []string // One of them is required.
	kind      string   // The token kind: bot if empty, app, person or none.
	do        func(*call) (object, error)
}

// Call is a recorded call.
type Call struct {
	At      time.Time // By the workspace's clock.
	Method  string
	Team    string // The team of the token.
	App     string
	Args    map[string]string // Without the token.
	Status  int               // 0 if the connection was cut.
	Error   string            // The error of the response.
	Refused bool              // Refused by a rate limit or a fault, before any effect.
}

func (w *Workspace) serveAPI(writer http.ResponseWriter, request *http.Request) {
	c := &call{Workspace: w, method: request.PathValue("method"), request: request}
	var err error
	if c.args, err = arguments(writer, request); err != nil {
		answer(writer, http.StatusOK, object{"ok": false, "error": err.Error()})
		return
	}
	c.token = strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer ")
	if c.token == "" || strings.HasPrefix(c.token, "Basic ") {
		c.token = c.args["token"]
	}
	delete(c.args, "token")

	w.mu.Lock()
	index := len(w.calls)
	w.calls = append(w.calls, Call{At: w.clock.now(), Method: c.method, Args: c.args})
	known := c.identify()
	if c.in != nil {
		w.calls[index].Team, w.calls[index].App = c.in.team.ID, c.in.app.ID
	}
	fault := w.fault(c.method, w.calls[index].Team)
	w.mu.Unlock()

	if fault != nil && fault.Delay > 0 {
		select {
		case <-time.After(fault.Delay):
		case <-request.Context().Done():
			return
		case <-w.ctx.Done():
			return
		}
	}
	status, header, body := http.StatusOK, http.Header{}, object(nil)
	if fault == nil || fault.After || !fault.breaks() {
		status, header, body = c.run(known)
	}
	if fault != nil && fault.breaks() {
		status, header, body = fault.answer()
	}
	w.mu.Lock()
	w.calls[index].Status, w.calls[index].Refused = status, status == http.StatusTooManyRequests
	w.calls[index].Refused = w.calls[index].Refused || fault != nil && fault.breaks() && !fault.After
	w.calls[index].Error, _ = body["error"].(string)
	w.touch()
	w.mu.Unlock()
	if status == 0 {
		panic(http.ErrAbortHandler) // Cuts the connection.
	}
	for name, values := range header {
		writer.Header()[name] = values
	}
	answer(writer, status, body)
}

// run executes the call.
func (c *call) run(tokenFault string) (int, http.Header, object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	header := http.Header{}
	m, ok := methods()[c.method]
	if !ok {
		return http.StatusOK, header, object{"ok": false, "error": "unknown_method", "req_method": c.method}
	}
	if err := c.allowed(m, tokenFault); err != nil {
		return http.StatusOK, header, err.body()
	}
	if c.in != nil {
		header.Set("X-Oauth-Scopes", strings.Join(c.in.Scopes, ","))
		header.Set("X-Accepted-Oauth-Scopes", strings.Join(m.scopes, ","))
	}
	if wait := c.limit(m); wait > 0 {
		header.Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		return http.StatusTooManyRequests, header, object{"ok": false, "error": "ratelimited"}
	}
	body, err := m.do(c)
	if err != nil {
		var failed *failure
		if !errors.As(err, &failed) {
			failed = &failure{code: "internal_error"}
		}
		return http.StatusOK, header, failed.body()
	}
	if body == nil {
		body = object{}
	}
	body["ok"] = true
	return http.StatusOK, header, body
}

func (f *failure) body() object {
	body := object{"ok": false, "error": f.code}
	for name, value := range f.more {
		body[name] = value
	}
	return body
}

// identify finds the owner of the token, or returns Slack's error for it. The caller holds w.mu.
func (c *call) identify() string {
	if c.token == "" {
		return "not_authed"
	}
	if c.in = c.installs[c.token]; c.in != nil {
		if c.people[c.in.UserID].Deleted {
			return "account_inactive"
		}
		return ""
	}
	if c.grant = c.grants[c.token]; c.grant != nil {
		return ""
	}
	for _, app := range c.apps {
		if app.AppToken == c.token {
			c.app = app
			return ""
		}
	}
	if c.revoked[c.token] {
		return "token_revoked"
	}
	return "invalid_auth"
}

func (c *call) allowed(m method, tokenFault string) *failure {
	if m.kind == "none" {
		return nil
	}
	if tokenFault != "" {
		return &failure{code: tokenFault}
	}
	right := map[string]bool{"": c.in != nil, "app": c.app != nil, "person": c.grant != nil}[m.kind]
	if !right {
		return &failure{code: "not_allowed_token_type"}
	}
	provided := []string{}
	switch {
	case c.in != nil:
		provided = c.in.Scopes
	case c.grant != nil:
		provided = c.grant.scopes
	}
	if len(m.scopes) > 0 && c.app == nil &&
		!slices.ContainsFunc(m.scopes, func(scope string) bool { return slices.Contains(provided, scope) }) {
		return &failure{code: "missing_scope", more: object{
			"needed": strings.Join(m.scopes, ","), "provided": strings.Join(provided, ","),
		}}
	}
	return nil
}

// has reports whether the bot was granted a scope.
func (c *call) has(scope string) bool { return c.in != nil && slices.Contains(c.in.Scopes, scope) }

// limit counts the call against its tier, and returns the time to wait if the limit is exceeded. Messages have a
// separate limit: one a second per channel, with short bursts. The caller holds w.mu.
func (c *call) limit(m method) time.Duration {
	if !c.config.Tiers || m.perMinute == 0 {
		return 0
	}
	key, most, window := c.method, m.perMinute, time.Minute
	if c.in != nil {
		key += " " + c.in.team.ID + " " + c.in.app.ID
	}
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

// arguments reads the arguments of a call from the query, a form or JSON.
func arguments(writer http.ResponseWriter, request *http.Request) (map[string]string, error) {
	args := map[string]string{}
	kind, _, _ := strings.Cut(request.Header.Get("Content-Type"), ";")
	request.Body = http.MaxBytesReader(writer, request.Body, maxBody)
	if strings.TrimSpace(kind) == "application/json" {
		var fields map[string]json.RawMessage
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, fail("request_timeout")
		}
		if len(body) > 0 && json.Unmarshal(body, &fields) != nil {
			return nil, fail("invalid_json")
		}
		for name, raw := range fields {
			var text string
			switch {
			case string(raw) == "null":
			case json.Unmarshal(raw, &text) == nil:
				args[name] = text
			default:
				args[name] = string(raw)
			}
		}
	} else if err := request.ParseForm(); err != nil {
		return nil, fail("invalid_form_data")
	}
	for name, values := range request.Form {
		args[name] = values[0]
	}
	return args, nil
}

func answer(writer http.ResponseWriter, status int, body object) {
	writer.Header().Set("Content-Type", "application/json; charset=utf-8")
	writer.WriteHeader(status)
	if body == nil {
		return
	}
	_ = json.NewEncoder(writer).Encode(body) // The client may have disconnected.
}

// required returns Slack's error if one of the arguments is missing.
func (c *call) required(names ...string) error {
	for _, name := range names {
		if c.args[name] == "" {
			return &failure{code: "invalid_arguments", more: object{"response_metadata": object{
				"messages": []string{fmt.Sprintf("[ERROR] missing required field: %s", name)},
			}}}
		}
	}
	return nil
}

func (c *call) flag(name string) bool {
	value := c.args[name]
	return value == "true" || value == "1"
}

// methods returns the methods of the Web API. The rates are Slack's tiers 1 to 4: 1, 20, 50 and 100 a minute.
func methods() map[string]method {
	const one, two, three, four, most = 1, 20, 50, 100, 600
	chat := []string{"chat:write"}
	history := []string{"channels:history", "groups:history", "im:history", "mpim:history"}
	reading := []string{"channels:read", "groups:read", "im:read", "mpim:read"}
	assistant := []string{"assistant:write", "chat:write"}
	return map[string]method{
		"api.test":                              {most, nil, "none", (*call).apiTest},
		"auth.test":                             {most, nil, "", (*call).authTest},
		"auth.revoke":                           {three, nil, "", (*call).authRevoke},
		"apps.uninstall":                        {one, nil, "", (*call).appsUninstall},
		"apps.connections.open":                 {0, nil, "app", (*call).connectionsOpen},
		"bots.info":                             {three, []string{"users:read"}, "", (*call).botsInfo},
		"team.info":                             {three, []string{"team:read"}, "", (*call).teamInfo},
		"users.info":                            {four, []string{"users:read"}, "", (*call).usersInfo},
		"users.list":                            {two, []string{"users:read"}, "", (*call).usersList},
		"users.conversations":                   {three, reading, "", (*call).usersConversations},
		"users.lookupByEmail":                   {three, []string{"users:read.email"}, "", (*call).usersLookup},
		"chat.postMessage":                      {most, chat, "", (*call).chatPost},
		"chat.postEphemeral":                    {four, chat, "", (*call).chatPostEphemeral},
		"chat.update":                           {three, chat, "", (*call).chatUpdate},
		"chat.delete":                           {three, chat, "", (*call).chatDelete},
		"chat.getPermalink":                     {most, nil, "", (*call).chatPermalink},
		"chat.startStream":                      {two, chat, "", (*call).startStream},
		"chat.appendStream":                     {four, chat, "", (*call).appendStream},
		"chat.stopStream":                       {two, chat, "", (*call).stopStream},
		"conversations.replies":                 {three, history, "", (*call).conversationsReplies},
		"conversations.history":                 {three, history, "", (*call).conversationsHistory},
		"conversations.info":                    {three, reading, "", (*call).conversationsInfo},
		"conversations.list":                    {two, reading, "", (*call).conversationsList},
		"conversations.members":                 {four, reading, "", (*call).conversationsMembers},
		"conversations.open":                    {three, []string{"im:write"}, "", (*call).conversationsOpen},
		"files.info":                            {four, []string{"files:read"}, "", (*call).filesInfo},
		"files.getUploadURLExternal":            {four, []string{"files:write"}, "", (*call).filesUploadURL},
		"files.completeUploadExternal":          {four, []string{"files:write"}, "", (*call).filesComplete},
		"views.publish":                         {four, nil, "", (*call).viewsPublish},
		"views.open":                            {four, nil, "", (*call).viewsOpen},
		"reactions.add":                         {three, []string{"reactions:write"}, "", (*call).reactionsAdd},
		"assistant.threads.setStatus":           {most, assistant, "", (*call).threadStatus},
		"assistant.threads.setTitle":            {four, assistant, "", (*call).threadTitle},
		"assistant.threads.setSuggestedPrompts": {four, assistant, "", (*call).threadPrompts},
		"agents.sessions.setStatus":             {three, chat, "", (*call).sessionStatus},
		"agents.sessions.rename":                {three, chat, "", (*call).sessionRename},
		"oauth.v2.access":                       {most, nil, "none", (*call).oauthAccess},
		"openid.connect.token":                  {four, nil, "none", (*call).openidToken},
		"openid.connect.userInfo":               {three, []string{"openid"}, "person", (*call).openidUserInfo},
	}
}
