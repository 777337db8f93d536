package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/api/ratelimit"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// unlimited are routes without a limit. They are served from memory, or are for probes and blocked from the internet by
// the proxy, or are called by Slack for all offices, with signatures that are checked in memory first.
var unlimited = []string{
	"GET /.well-known/oauth-authorization-server",
	"GET /.well-known/oauth-protected-resource", "GET /.well-known/oauth-protected-resource/mcp", "GET /mcp",
	"GET /.well-known/tsumugi-signing-key",
	"GET /ping", "GET /healthz", "GET /readyz", "GET /metrics", "GET /config.json", "GET /openapi.yaml",
	"GET /docs/api", "GET /docs/api.css",
	"GET /extension/updates.xml", "GET /extension/tsumugi.crx", "GET /extension/tsumugi.zip",
	"POST /external/slack/v1/event", "POST /external/slack/v1/interaction", "POST /external/slack/v1/command",
	"GET /*", "HEAD /*",
}

// harmless are authenticated calls that are neither reads nor counted as writes, because ending something is never
// refused, and a message of the Model Context Protocol counts by its kind.
var harmless = []string{"POST /v1/signout", "POST /v1/message/{message_id}/stop", "POST /mcp"}

// everyKind returns limits that allow each kind once per person or organization, except for plain calls.
func everyKind(allowed ratelimit.Allowance) ratelimit.Limits {
	limits := ratelimit.DefaultLimits()
	for kind := range limits {
		limits[kind] = allowed
	}
	limits[ratelimit.KindCall] = ratelimit.Allowance{}
	return limits
}

// TestR64_EveryRouteIsLimited: every route without a limit must be in unlimited.
func TestR64_EveryRouteIsLimited(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		limits  ratelimit.Limits
		calls   func(route string) bool // The affected routes.
		two     bool                    // Two people of one organization make one call each.
		written bool                    // The limit has another unit than calls.
	}{
		"calls of a person":        {limits: ratelimit.Limits{ratelimit.KindCall: {Each: 1}}, calls: all},
		"calls of an organization": {limits: ratelimit.Limits{ratelimit.KindCall: {Organization: 1}}, calls: all, two: true},
		"writes of a person":       {limits: everyKind(ratelimit.Allowance{Each: 1}), calls: writing, written: true},
		"writes of an organization": {
			limits: everyKind(ratelimit.Allowance{Organization: 1}), calls: writing, two: true,
			written: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixtureWith(t, llmtest.Say("繭から"), settings{pool: true, limits: test.limits})
			var routes []string
			for _, route := range routesOf(t, f.handler) {
				if access[route].may != nil && test.calls(route) {
					routes = append(routes, route)
				}
			}
			var people []identity.NewUser
			for i := range 2 * len(routes) {
				organizationID := f.alice.OrganizationID
				if test.two && i%2 == 0 {
					organizationID = f.organization(fmt.Sprint("第", i), fmt.Sprintf("o%d.example", i))
				} else if test.two {
					organizationID = people[i-1].OrganizationID
				}
				people = append(people, f.member(organizationID, newID()+"@tsumugi.example"))
			}
			f.exec("UPDATE users SET role = 'organization-super-admin'")
			for i, route := range routes {
				first, second := people[2*i], people[2*i+1]
				if !test.two {
					second = first
				}
				if resp := f.do(access[route].call(route, "sso:"+first.Subject,
					newID())); resp.status == http.StatusTooManyRequests {
					t.Errorf("%s, the first call: %d %s", route, resp.status, resp.body)
				}
				resp := f.do(access[route].call(route, "sso:"+second.Subject, newID()))
				if resp.status != http.StatusTooManyRequests {
					t.Errorf("%s, the second call: %d %s", route, resp.status, resp.body)
					continue
				}
				p := resp.problem(t)
				if p.Code != "rate_limited" || resp.header.Get("Retry-After") == "" ||
					test.two != strings.Contains(p.Detail, "組織全体") ||
					test.written != (p.Limit != "call") {
					t.Errorf("%s: Retry-After %q, %+v", route, resp.header.Get("Retry-After"), p)
				}
			}
		})
	}
}

func all(string) bool { return true }

func writing(route string) bool {
	return !strings.HasPrefix(route, "GET ") && !slices.Contains(harmless, route)
}

// TestR64_RoutesWithoutATokenAreLimited: they are limited by address, unless they are served from memory.
func TestR64_RoutesWithoutATokenAreLimited(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{limits: ratelimit.Limits{
		ratelimit.KindSignIn:     {Each: 1},
		ratelimit.KindLogout:     {Each: 1},
		ratelimit.KindConnection: {Each: 1},
	}})
	for _, route := range routesOf(t, f.handler) {
		if access[route].may != nil || slices.Contains(unlimited, route) {
			continue
		}
		f.do(access[route].call(route, "", newID()))
		if resp := f.do(access[route].call(route, "", newID())); resp.status != http.StatusTooManyRequests {
			t.Errorf("%s: %d %s", route, resp.status, resp.body)
		}
	}
}

func TestR64_SearchesAreLimited(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{limits: ratelimit.Limits{ratelimit.KindSearch: {Each: 1}}})
	f.exec("UPDATE users SET role = 'organization-admin'")
	for i, status := range []int{200, 429} {
		if resp := f.do(call{method: "GET", path: "/v1/audit?q=a", token: f.alice.Subject}); resp.status != status {
			t.Errorf("search %d: %d %s", i, resp.status, resp.body)
		}
	}
	if resp := f.do(call{method: "GET", path: "/v1/audit", token: f.alice.Subject}); resp.status != http.StatusOK {
		t.Errorf("no search: %d %s", resp.status, resp.body)
	}
}

// TestR64_WaitingCallsAreLimited: the number of a person's waiting calls is limited, even for repetitions of one
// question.
func TestR64_WaitingCallsAreLimited(t *testing.T) {
	t.Parallel()
	for name, allowed := range map[string]ratelimit.Allowance{"by person": {Each: 1}, "by organization": {Organization: 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := llmtest.NewLive()
			f := newFixtureWith(t, model, settings{limits: ratelimit.Limits{ratelimit.KindStream: allowed}})
			ask := f.ask(f.thread(f.alice.Subject), "糸とは")
			ask.path = "/v1/message/sync"
			waiting := make(chan int)
			go func() { waiting <- f.do(ask).status }()
			answer := model.Next(t)
			token := f.alice.Subject
			if allowed.Each == 0 {
				token = f.bob.Subject
			}
			again := ask
			if allowed.Each == 0 {
				again = f.ask(f.thread(f.bob.Subject), "糸とは")
				again.token = token
			}
			for _, path := range []string{"/v1/message/sync", "/v1/message/stream"} {
				again.path = path
				resp := f.do(again)
				if p := resp.problem(t); resp.status != http.StatusTooManyRequests || p.Limit != "stream" ||
					resp.header.Get("Retry-After") == "" {
					t.Errorf("%s: %d %+v", path, resp.status, p)
				}
			}
			answer.Emit("繭から")
			answer.Finish()
			if status := <-waiting; status != http.StatusOK {
				t.Errorf("the one that waited: %d", status)
			}
			// On both ways of sending, the slot of a stream is released at its end.
			ask.path = "/v1/message/stream"
			for range 2 {
				must.Become(f.t, "the place is given back", func() bool { return f.do(ask).status == http.StatusOK })
			}
		})
	}
}

// TestR64_TransfersAreLimited starts an upload without end.
func TestR64_TransfersAreLimited(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{limits: ratelimit.Limits{ratelimit.KindTransfer: {Each: 1}}})
	first := get[api.DataSource](f, http.StatusCreated, upload(f.alice.Subject, "a.txt", "一つ目"))
	finish := f.beginUpload(f.alice.Subject)
	// Wait until the upload is admitted, because a download before it would take its slot.
	must.Become(f.t, "nothing is written", func() bool { return len(f.keptFiles()) == 2 })
	download := call{method: "GET", path: "/v1/data-source/file/" + first.ID.String(), token: f.alice.Subject}
	must.Become(f.t, "the upload does not count", func() bool {
		resp := f.do(download)
		return resp.status == http.StatusTooManyRequests && resp.problem(t).Limit == "transfer"
	})
	if resp := f.do(upload(f.alice.Subject, "c.txt", strings.Repeat("三つ目",
		1<<20))); resp.status != http.StatusTooManyRequests {
		t.Errorf("another upload: %d %s", resp.status, resp.body)
	}
	if resp := f.do(upload(f.bob.Subject, "c.txt", "同僚のもの")); resp.status != http.StatusCreated {
		t.Errorf("a colleague: %d %s", resp.status, resp.body)
	}
	if resp := finish(); resp.status != http.StatusCreated {
		t.Errorf("the one that took its time: %d %s", resp.status, resp.body)
	}
	must.Become(f.t, "the place is given back", func() bool { return f.do(download).status == http.StatusOK })
}

// TestR64_SocketsAreLimitedByOrganization. TestR19_SocketsEndWithTheRightCode tests the limit per person.
func TestR64_SocketsAreLimitedByOrganization(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{limits: ratelimit.Limits{ratelimit.KindSocket: {Organization: 1}}})
	first := f.join(f.alice.Subject)
	f.join(f.stranger.Subject)
	second := dialLive(t, f.url, nil)
	second.auth(f.bob.Subject)
	if end := second.closed(); end.Code != websocket.StatusTryAgainLater {
		t.Errorf("got %v", end)
	}
	_ = first.Close(websocket.StatusNormalClosure, "")
	must.Become(f.t, "the place is given back", func() bool {
		socket := dialLive(t, f.url, nil)
		socket.auth(f.bob.Subject)
		_, frame, err := socket.Read(t.Context())
		return err == nil && strings.Contains(string(frame), "ready")
	})
}
