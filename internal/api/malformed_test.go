package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// malformedFixture returns a server on which alice, a super-admin, may make every call.
func malformedFixture(t *testing.T) *fixture {
	t.Helper()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{pool: true})
	f.exec("UPDATE users SET role = 'organization-super-admin'")
	return f
}

// eachOperation calls do for each route of openapi.yaml, with a path of unknown ids.
func eachOperation(t *testing.T, do func(route, path string, operation *openapi3.Operation)) {
	t.Helper()
	source := must.Get(os.ReadFile("openapi.yaml"))(t)
	doc := must.Get(openapi3.NewLoader().LoadFromData(source))(t)
	for _, path := range doc.Paths.InMatchingOrder() {
		for method, operation := range doc.Paths.Value(path).Operations() {
			do(method+" "+path, parameter.ReplaceAllString(path, newID()), operation)
		}
	}
}

// jsonBody returns the schema of an operation's JSON body, or nil.
func jsonBody(operation *openapi3.Operation) *openapi3.Schema {
	if operation.RequestBody == nil {
		return nil
	}
	if media := operation.RequestBody.Value.Content.Get("application/json"); media != nil && media.Schema != nil {
		return media.Schema.Value
	}
	return nil
}

// texts returns one body per string field of a schema, with a NUL in that field, by the field's path.
func texts(schema *openapi3.Schema, path string, wrap func(value any) any) map[string]any {
	bodies := make(map[string]any)
	switch {
	case schema.Type.Is("string"):
		bodies[path] = wrap("a\x00b")
	case schema.Type.Is("array"):
		maps.Copy(bodies, texts(schema.Items.Value, path+"[1]", func(value any) any { return wrap([]any{nil, value}) }))
	case schema.Type.Is("object"):
		for name, property := range schema.Properties {
			maps.Copy(bodies, texts(property.Value, strings.TrimPrefix(path+"."+name, "."),
				func(value any) any { return wrap(map[string]any{name: value}) }))
		}
		if more := schema.AdditionalProperties.Schema; more != nil {
			maps.Copy(
				bodies, texts(more.Value, path+".x", func(value any) any { return wrap(map[string]any{"x": value}) }),
			)
		}
	}
	return bodies
}

// inOpenAIForm reports whether the errors of a route have OpenAI's form instead of problem documents.
func inOpenAIForm(route string) bool {
	return route == "POST /v1/chat/completions" || route == "POST /v1/responses"
}

// refused checks that a call is refused with a problem document, or with an error in OpenAI's form for such a route.
func (f *fixture) refused(what string, c call, fields ...string) {
	f.t.Helper()
	resp := f.do(c)
	if inOpenAIForm(c.method + " " + c.path) {
		var failed struct {
			Error struct{ Type, Message, Param string }
		}
		err := json.Unmarshal(resp.body, &failed)
		if e := failed.Error; err != nil || resp.status != http.StatusBadRequest || e.Type != "invalid_request_error" ||
			e.Message == "" || fields != nil && !slices.Equal(fields, []string{e.Param}) {
			f.t.Errorf("%s: %d %s", what, resp.status, resp.body)
		}
		return
	}
	if media := resp.header.Get("Content-Type"); resp.status != http.StatusBadRequest ||
		media != "application/problem+json" {
		f.t.Errorf("%s: %d %s %s", what, resp.status, media, resp.body)
		return
	}
	p := resp.problem(f.t)
	var named []string
	for _, e := range p.Errors {
		named = append(named, e.Field)
	}
	if p.Code != "invalid" || p.Detail == "" || (fields != nil && !slices.Equal(named, fields)) {
		f.t.Errorf("%s: %+v", what, p)
	}
}

// TestR63_BodiesOtherThanObjectsAreRefused: every route with a JSON body refuses such a body.
func TestR63_BodiesOtherThanObjectsAreRefused(t *testing.T) {
	t.Parallel()
	f := malformedFixture(t)
	eachOperation(t, func(route, path string, operation *openapi3.Operation) {
		if jsonBody(operation) == nil || strings.Contains(path, "/external/slack/") { // See TestR71.
			return
		}
		method, _, _ := strings.Cut(route, " ")
		for _, body := range []string{
			`null`, ` null `, `[]`, `[{}]`, `"x"`, `1`, `true`, ``, `{`, `{}{}`,
			`{"\u0000":1}`, `{"x":`, "\x00", "{\"x\":\"\x00\"}", "\xff",
		} {
			f.refused(fmt.Sprintf("%s with %q", route, body),
				call{method: method, path: path, token: "sso:" + f.alice.Subject, body: body})
		}
	})
}

// TestR63_NULIsRefusedWithTheFieldNamed tests each text of each body.
func TestR63_NULIsRefusedWithTheFieldNamed(t *testing.T) {
	t.Parallel()
	f := malformedFixture(t)
	found := 0
	eachOperation(t, func(route, path string, operation *openapi3.Operation) {
		method, _, _ := strings.Cut(route, " ")
		if schema := jsonBody(operation); schema != nil {
			for field, body := range texts(schema, "", func(value any) any { return value }) {
				found++
				f.refused(route+", "+field, call{
					method: method, path: path, token: "sso:" + f.alice.Subject,
					body: body,
				}, field)
			}
		}
		for _, p := range operation.Parameters {
			// Slack, OpenID providers and authorization servers of tools redirect browsers to callbacks, which report
			// errors on the next page.
			if p.Value.In == openapi3.ParameterInQuery && !strings.HasPrefix(path, "/v1/oidc/") &&
				!strings.HasPrefix(path, "/v1/tool-connection/") && !strings.HasPrefix(path, "/external/slack/") {
				found++
				f.refused(route+"?"+p.Value.Name, call{
					method: method, path: path + "?" + p.Value.Name + "=a%00b",
					token: "sso:" + f.alice.Subject,
				})
			}
		}
	})
	if found < 40 {
		t.Errorf("only %d texts were found", found)
	}
	for name, test := range map[string]struct{ body, field string }{
		"a name":      {`{"form":{"a\u0000":"x"}}`, "form"},
		"deep inside": {`{"users":[{"email":"a@b.example"},{"name":"\u0000"}]}`, "users[1].name"},
	} {
		f.refused(name, call{
			method: "POST", path: "/v1/message/async", token: "sso:" + f.alice.Subject,
			body: test.body,
		}, test.field)
	}
	if resp := f.do(call{
		method: "POST", path: "/v1/thread", token: "sso:" + f.alice.Subject,
		body: map[string]any{"skill_id": f.chatSkill().ID, "title": `\u0000`},
	}); resp.status != http.StatusCreated {
		t.Errorf("a backslash and letters: %d %s", resp.status, resp.body)
	}
}

// TestR63_MalformedRanges: no route supports ranges. A malformed range is ignored or answered with a problem.
func TestR63_MalformedRanges(t *testing.T) {
	t.Parallel()
	f := malformedFixture(t)
	token := "sso:" + f.alice.Subject
	source := get[api.DataSource](f, http.StatusCreated, upload(token, "a.txt", "本文"))
	for _, route := range append(routesOf(t, f.handler), "GET /assets/app-abc.js", "HEAD /assets/app-abc.js",
		"GET /v1/data-source/file/"+source.ID.String()) {
		method, path, _ := strings.Cut(route, " ")
		if method != http.MethodGet && method != http.MethodHead || path == "/metrics" {
			continue
		}
		c := call{method: method, path: parameter.ReplaceAllString(path, newID()), token: token}
		want := f.do(c)
		for _, header := range []string{
			"bytes=9999999-", "bytes=-0", "bytes=5-1", "bytes=0-0,1-1", "lines=1-2",
			"bytes", "bytes=-99999999999999999999",
		} {
			c.header = map[string]string{"Range": header}
			resp := f.do(c)
			if resp.status != want.status || resp.header.Get("Content-Type") != want.header.Get("Content-Type") {
				t.Errorf("%s with the range %q: %d %s %s", route, header, resp.status, resp.header.Get("Content-Type"),
					resp.body)
			}
			if resp.status >= 400 && method != http.MethodHead && !json.Valid(resp.body) {
				t.Errorf("%s with the range %q is no problem: %s", route, header, resp.body)
			}
		}
	}
}
