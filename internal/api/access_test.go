package api_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml/samltest"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// selfRefusing are routes of the user pool, which accepts only the tokens that it has issued, and of provisioning, which
// accepts only its own tokens.
var selfRefusing = []string{"/pool/*", "/scim/v2/*"}

// routesOf returns the router's routes in the table's notation.
func routesOf(t *testing.T, handler http.Handler) []string {
	t.Helper()
	var routes []string
	err := chi.Walk(handler.(chi.Routes), func(method, route string, _ http.Handler,
		_ ...func(http.Handler) http.Handler,
	) error {
		if !slices.Contains(selfRefusing, route) {
			routes = append(routes, method+" "+route)
		}
		return nil
	})
	must.Succeed(t, err)
	return routes
}

// world is a server with one actor per role in one organization, and a super-admin of another one.
type world struct {
	*fixture
	tokens  map[identity.Role]string
	super   string // The super-admin of the first organization.
	foreign string // The token of the other organization's super-admin.
	skills  map[string]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		fixture: newFixtureWith(t, llmtest.Say("繭から"), settings{pool: true}), tokens: make(map[identity.Role]string),
		skills: make(map[string]string),
	}
	w.exec("UPDATE contracts SET seats = 500")
	for _, role := range everybody {
		u := w.member(w.alice.OrganizationID, string(role)+"@tsumugi.example")
		w.exec("UPDATE users SET role = $2 WHERE id = $1", u.ID, role)
		w.tokens[role] = "sso:" + u.Subject // Valid for every sign-in method of the organization.
	}
	w.exec("UPDATE users SET role = 'organization-super-admin' WHERE id = $1", w.stranger.ID)
	w.super, w.foreign = w.tokens[identity.RoleOrganizationSuperAdmin], "sso:"+w.stranger.Subject
	idp, err := samltest.New(samltest.Config{URL: "https://idp.example"})
	must.Succeed(t, err)
	metadata := must.Get(idp.Metadata())(t)
	for token, organization := range map[string]uuid.UUID{
		w.super:   w.alice.OrganizationID,
		w.foreign: w.stranger.OrganizationID,
	} {
		w.skills[token] = newID()
		w.exec(`
			INSERT INTO skills (id, organization_id, category_id, position, name, icon_path, form_type, prompt)
			SELECT $1, $2, category_id, 1, '自社', icon_path, 'chat', '助手です。' FROM skills LIMIT 1`,
			w.skills[token], organization)
		get[api.SAMLConfig](w.fixture, http.StatusOK, call{
			method: "PUT", path: "/v1/saml-config", token: token,
			body: map[string]any{
				"idp_metadata_xml": string(metadata), "email_attribute": samltest.EmailAttribute,
			},
		})
	}
	return w
}

// make creates an object and returns its id. super is the token of a super-admin of the same organization.
func (w *world) make(k kind, token, super string) string {
	w.t.Helper()
	switch k {
	case aThread:
		return w.thread(token).ID.String()
	case aPageThread:
		return w.pageThread(token)
	case aMessage:
		return get[api.Exchange](w.fixture, http.StatusOK, call{
			method: "POST", path: "/v1/message/sync", token: token, body: question(w.thread(token).ID.String()),
		}).Answer.ID.String()
	case aShare:
		return w.share(token, w.answered(token)).ID.String()
	case aRating:
		id := w.make(aMessage, token, super)
		get[api.Feedback](w.fixture, http.StatusOK, call{
			method: "POST", path: "/v1/message_feedback", token: token,
			body: map[string]any{"message_id": id, "rating": "bad", "with_text": true},
		})
		return id
	case aNotice:
		return get[api.ManagedNotification](w.fixture, http.StatusCreated, call{
			method: "POST", path: "/v1/notification", token: super, body: map[string]any{
				"request_id": newID(), "title": "棚卸し", "level": "info", "audience": "all",
				"published_at": time.Now().Add(time.Hour).Format(time.RFC3339),
			},
		}).ID.String()
	case aGroup:
		return get[api.Group](w.fixture, http.StatusCreated, call{
			method: "POST", path: "/v1/group", token: super,
			body: map[string]any{"request_id": newID(), "name": newID()},
		}).ID.String()
	case aProject:
		return w.project(token).ID.String()
	case aConnection:
		return w.personalToken(token, "chat").Connection.ID.String()
	case aToolServer:
		id := newID()
		organization := w.alice.OrganizationID
		if super == w.foreign {
			organization = w.stranger.OrganizationID
		}
		// Its host is on this machine, and nothing listens there.
		w.exec(`INSERT INTO tool_servers (id, organization_id, key, name, url, auth)
			VALUES ($1, $2, $3, '顧客管理', 'http://127.0.0.1:1/mcp', 'none')`, id, organization, "s"+id[24:])
		return id
	case aSCIMToken:
		return get[api.SCIMTokenCreated](w.fixture, http.StatusCreated, call{
			method: "POST", path: "/v1/scim-config/token", token: super, body: map[string]any{"name": "Entra ID"},
		}).Record.ID.String()
	case aSkill:
		return w.skills[super]
	case aMadeSkill:
		return get[api.MadeSkill](w.fixture, http.StatusCreated, call{
			method: "POST", path: "/v1/skill", token: token, body: savedSkill("self", 0),
		}).ID.String()
	case aCategory:
		return get[api.Category](w.fixture, http.StatusCreated, call{
			method: "POST", path: "/v1/category", token: super, body: newCategory(""),
		}).ID.String()
	case aRequest:
		return get[api.MadeSkill](w.fixture, http.StatusOK, call{
			method: "PUT", path: "/v1/skill/" + w.make(aMadeSkill, token, super) + "/request", token: token,
			body: map[string]any{},
		}).Request.ID.String()
	case aSource:
		return get[api.DataSource](w.fixture, http.StatusCreated, upload(token, "資料.txt", "本文 "+newID())).ID.String()
	case aPicture:
		return get[api.Picture](w.fixture, http.StatusCreated, uploadPicture(token, encodePNG(w.t, 4, 3))).ID.String()
	case aPassage:
		id := newID()
		w.exec(`INSERT INTO data_source_chunks (id, organization_id, data_source_id, ordinal, page, text)
			SELECT $1, organization_id, id, 0, 1, '本文' FROM data_sources WHERE id = $2`, id, w.make(aSource,
			token, super))
		return id
	case aMember:
		email := newID() + "@" + strings.Split(super, "@")[1]
		invited := get[api.InvitationList](w.fixture, http.StatusOK,
			call{method: "POST", path: "/v1/user/invite", token: super, body: map[string]any{
				"users": []any{map[string]any{"email": email, "name": "招待", "role": "general-user"}},
			}})
		if invited.Items[0].Result != "invited" {
			w.t.Fatalf("got %+v", invited)
		}
		return invited.Items[0].User.ID.String()
	case aToolCall:
		id := newID()
		w.exec(`INSERT INTO tool_approvals (id, organization_id, user_id, thread_id, message_id, call_id, tool, title, cause,
			arguments_sha256, expires_at)
			SELECT $1, organization_id, user_id, thread_id, message_id, 'a', 'send', '送信', 'rule', sha256('{}'),
			       now() + interval '1 day'
			FROM generations WHERE message_id = $2`, id, w.make(aMessage, token, super))
		return id
	case aTrial:
		return get[api.SAMLTestStart](w.fixture, http.StatusCreated,
			call{method: "POST", path: "/v1/saml-config/test", token: super}).ID.String()
	}
	return newID()
}

var parameter = regexp.MustCompile(`\{\w+\}|\*`)

// call returns the call of a route with an id.
func (r rule) call(route, token, id string) call {
	method, path, _ := strings.Cut(route, " ")
	c := call{method: method, path: parameter.ReplaceAllString(path, id), token: token}
	if r.body != nil {
		c.body = r.body(id)
	}
	if path == "/v1/message" {
		c.path += "?thread_id=" + id
	}
	return c
}

// shown returns all parts of a response that a client sees, except request ids.
func shown(t *testing.T, resp response) string {
	t.Helper()
	body := resp.body
	if resp.status >= 400 {
		p := resp.problem(t)
		body = bytes.ReplaceAll(body, []byte(p.RequestID), nil)
		body = bytes.ReplaceAll(body, []byte(p.TraceID), nil)
	}
	header := resp.header.Clone()
	for _, name := range []string{"Date", "X-Request-Id", "Content-Length"} {
		header.Del(name)
	}
	return fmt.Sprint(resp.status, header, string(body))
}

// do makes a call and repeats it after Retry-After while the server is too busy.
func (w *world) do(c call) response {
	w.t.Helper()
	resp := w.fixture.do(c)
	for range 5 {
		if resp.status != http.StatusServiceUnavailable {
			break
		}
		resp = w.fixture.do(c)
	}
	return resp
}

func TestR59_AccessMatrix(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	routes := routesOf(t, w.handler)
	for _, route := range routes {
		if _, known := access[route]; !known {
			t.Errorf("%s does not stand in the table", route)
		}
	}
	strangers := make(map[kind]string) // Objects of the other organization.
	for _, route := range slices.Sorted(maps.Keys(access)) {
		r := access[route]
		if !slices.Contains(routes, route) {
			t.Errorf("%s stands in the table, but is no route", route)
			continue
		}
		if r.names != nothing && strangers[r.names] == "" {
			strangers[r.names] = w.make(r.names, w.foreign, w.foreign)
		}
		w.anonymous(route, r)
		for _, role := range everybody {
			w.holds(route, r, role, strangers[r.names])
		}
	}
	// The objects of the other organization are unchanged.
	for route, k := range map[string]kind{
		"GET /v1/thread/{thread_id}": aThread, "GET /v1/message/{message_id}/stream": aMessage,
		"PUT /v1/user/{user_id}":           aMember,
		"GET /v1/skill/{skill_id}/content": aMadeSkill, "GET /v1/skill/request/{skill_request_id}": aRequest,
		"GET /v1/skill/{skill_id}": aSkill, "GET /v1/data-source/file/{data_source_id}": aSource,
		"GET /v1/saml-config/test/{test_id}":                       aTrial,
		"GET /v1/share/{share_id}":                                 aShare,
		"GET /v1/data-source-chunk-embedding/{chunk_embedding_id}": aPassage,
	} {
		if resp := w.do(access[route].call(route, w.foreign, strangers[k])); resp.status != http.StatusOK {
			t.Errorf("%s of the other organization: %d %s", route, resp.status, resp.body)
		}
	}
}

// anonymous checks the responses to requests without a valid token.
func (w *world) anonymous(route string, r rule) {
	w.t.Helper()
	id := newID()
	if r.may == nil {
		if resp := w.do(r.call(route, "", id)); resp.status != r.status {
			w.t.Errorf("%s without a token: %d %s", route, resp.status, resp.body)
		}
		return
	}
	for token, detail := range map[string]string{
		"": "Not authenticated", "forged": "Not authenticated", "expired": "jwt expired",
		"nobody": "Not authenticated: no user found",
	} {
		resp := w.do(r.call(route, token, id))
		if p := resp.problem(w.t); resp.status != http.StatusUnauthorized || p.Detail != detail ||
			p.Code != "unauthenticated" {
			w.t.Errorf("%s with token %q: %d %+v", route, token, resp.status, p)
		}
	}
}

// holds checks the responses to a role for its own ids, ids of other actors, and unknown ids.
func (w *world) holds(route string, r rule, role identity.Role, stranger string) {
	w.t.Helper()
	token, want := w.tokens[role], r.status
	if r.may != nil && !slices.Contains(r.may, role) {
		want = http.StatusForbidden
	}
	id := newID()
	if want != http.StatusForbidden {
		id = w.make(r.names, token, w.super)
	}
	if resp := w.do(r.call(route, token, id)); resp.status != want {
		w.t.Errorf("%s as %s: %d %s", route, role, resp.status, resp.body)
	}
	if r.names == nothing {
		return
	}
	if want != http.StatusForbidden {
		want = http.StatusNotFound
	}
	foreign, missing := w.do(r.call(route, token, stranger)), w.do(r.call(route, token, newID()))
	if foreign.status != want {
		w.t.Errorf("%s as %s, of another organization: %d %s", route, role, foreign.status, foreign.body)
	}
	if a, b := shown(w.t, foreign), shown(w.t, missing); a != b {
		w.t.Errorf("%s as %s: the answers differ\nof another organization: %s\nmissing: %s", route, role, a, b)
	}
	// Even administrators cannot read a colleague's objects.
	if r.names == aThread || r.names == aPageThread || r.names == aMessage || r.names == aSource ||
		r.names == aPassage || r.names == aMadeSkill || route == "DELETE /v1/connection/{connection_id}" {
		colleague := w.do(r.call(route, token, w.make(r.names, "sso:"+w.alice.Subject, w.super)))
		if a, b := shown(w.t, colleague), shown(w.t, missing); a != b && want == http.StatusNotFound {
			w.t.Errorf("%s as %s: the answers differ\nof a colleague: %s\nmissing: %s", route, role, a, b)
		}
	}
}

// TestHEADIsAnsweredLikeGET tests each route, with unknown ids as parameters.
func TestHEADIsAnsweredLikeGET(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	thread := f.thread(f.alice.Subject)
	ask := f.ask(thread, "糸とは")
	ask.path = "/v1/message/sync"
	answer := get[api.Exchange](f, http.StatusOK, ask).Answer
	paths := []string{
		"/v1/thread/" + thread.ID.String(), "/v1/message/" + answer.ID.String() + "/stream",
		"/v1/thread/" + thread.ID.String() + "/stream",
		"/v1/message?thread_id=" + thread.ID.String(), "/home", "/v1/nowhere",
	}
	for _, route := range routesOf(t, f.handler) {
		if path, ok := strings.CutPrefix(route, "GET "); ok && path != "/*" {
			paths = append(paths, regexp.MustCompile(`{\w+}`).ReplaceAllStringFunc(path,
				func(string) string { return newID() }))
		}
	}
	for _, path := range paths {
		var answers []response
		for _, method := range []string{"GET", "HEAD"} {
			resp := must.Get(http.DefaultTransport.RoundTrip(f.request(call{
				method: method, path: path,
				token: f.alice.Subject,
			})))(t)
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil {
				t.Errorf("%s %s: %v", method, path, err)
			}
			answers = append(answers, response{resp.StatusCode, resp.Header, body})
		}
		get, head := answers[0], answers[1]
		if head.status != get.status || head.header.Get("Content-Type") != get.header.Get("Content-Type") ||
			len(head.body) > 0 {
			t.Errorf("%s: GET %d %s, HEAD %d %s with %d bytes", path, get.status, get.header.Get("Content-Type"),
				head.status,
				head.header.Get("Content-Type"), len(head.body))
		}
	}
}
