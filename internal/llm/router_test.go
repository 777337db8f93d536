package llm_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// route returns a route with the id of a model and the provider's name for it.
func route(id, name, fallback string) llm.Route {
	return llm.Route{Offer: llm.Offer{ID: id, Thinking: llm.ThinkingNone}, Model: name, Fallback: fallback}
}

// newRouterOf returns a Router whose default is the first model.
func newRouterOf(t testing.TB, providers ...llm.Provider) *llm.Router {
	t.Helper()
	for i := range providers {
		providers[i].Config.Backoff, providers[i].Config.MaxBackoff = time.Millisecond, 2*time.Millisecond
	}
	router := must.Get(llm.NewRouter(llm.Catalog{Default: providers[0].Routes[0].ID, Providers: providers},
		slog.New(slog.DiscardHandler)))(t)
	t.Cleanup(router.Close)
	return router
}

func questionFor(model string) llm.Request {
	req := question()
	req.Model = model
	return req
}

// TestRouter: each request is sent to the provider of its model, with the provider's name of the model. An unknown
// model is replaced by the default one.
func TestRouter(t *testing.T) {
	t.Parallel()
	inside := llmtest.NewProvider(t).Add(llmtest.Answer("社内")...).Add(llmtest.Answer("社内")...)
	outside := llmtest.NewProvider(t).Add(llmtest.Answer("社外")...)
	router := newRouterOf(t,
		llm.Provider{
			Config: llm.Config{BaseURL: inside.URL(), APIKey: "in"}, Routes: []llm.Route{route("a", "org/A", "")},
		},
		llm.Provider{
			Config: llm.Config{BaseURL: outside.URL(), APIKey: "out"}, Routes: []llm.Route{route("b", "", "")},
		},
	)
	for _, test := range []struct{ model, text, id string }{{"", "社内", "a"}, {"b", "社外", "b"}, {"gone", "社内", "a"}} {
		text, _, result, err := ask(t, router, questionFor(test.model))
		if err != nil || text != test.text || result.ModelID != test.id {
			t.Errorf("%q: %q %+v %v", test.model, text, result, err)
		}
	}
	if got := inside.Requests()[0]; got.Model != "org/A" || got.Header.Get("Authorization") != "Bearer in" {
		t.Errorf("inside %+v", got)
	}
	if got := outside.Requests()[0]; got.Model != "b" || got.Header.Get("Authorization") != "Bearer out" {
		t.Errorf("outside %+v", got)
	}
}

// TestR24_FallbackToAnotherProvider: the fallback is used only before the first piece of text or reasoning, and never a
// model that has failed.
func TestR24_FallbackToAnotherProvider(t *testing.T) {
	t.Parallel()
	down := func() *llmtest.Provider { return llmtest.NewProvider(t).Add(llmtest.Status(500, ``)) }
	two := func(first, second *llmtest.Provider) *llm.Router {
		return newRouterOf(t,
			llm.Provider{
				Config: llm.Config{BaseURL: first.URL(), MaxRetries: -1}, Routes: []llm.Route{route("a", "", "b")},
			},
			llm.Provider{
				Config: llm.Config{BaseURL: second.URL(), MaxRetries: -1}, Routes: []llm.Route{route("b", "", "a")},
			},
		)
	}
	text, _, result, err := ask(t, two(down(), llmtest.NewProvider(t).Add(llmtest.Answer("代わり")...)), question())
	if err != nil || text != "代わり" || result.ModelID != "b" {
		t.Errorf("%q %+v %v", text, result, err)
	}
	empty := llmtest.NewProvider(t).Add(llmtest.Finish("stop"), llmtest.Usage(100, 7), llmtest.Done())
	_, _, result, err = ask(t, two(empty, llmtest.NewProvider(t).Add(llmtest.Text("代わり"), llmtest.Finish("stop"),
		llmtest.Usage(30, 2), llmtest.Done())), question())
	if err != nil || result.Usage != (llm.Usage{InputTokens: 130, OutputTokens: 9}) {
		t.Errorf("both answers took %+v, %v", result.Usage, err)
	}
	first, second := down(), down()
	_, _, result, err = ask(t, two(first, second), question())
	wantCode(t, err, llm.CodeUnavailable)
	if len(first.Requests()) != 1 || len(second.Requests()) != 1 || result.ModelID != "b" {
		t.Errorf("%d and %d requests, %+v", len(first.Requests()), len(second.Requests()), result)
	}
	for name, steps := range map[string][]llmtest.Step{
		"text":      {llmtest.Text("途中"), llmtest.Kill()},
		"reasoning": {llmtest.Reasoning("考え"), llmtest.Kill()},
	} {
		unused := llmtest.NewProvider(t)
		_, err := askAll(t, two(llmtest.NewProvider(t).Add(steps...), unused))
		wantCode(t, err, llm.CodeInterrupted)
		if n := len(unused.Requests()); n != 0 {
			t.Errorf("after %s, the fallback was asked", name)
		}
	}
}

// TestThinking: the switch adds its fields. A field refused by the provider is omitted from then on, and a model
// without a switch receives no fields.
func TestThinking(t *testing.T) {
	t.Parallel()
	provider := llmtest.NewProvider(t)
	provider.Add(llmtest.Answer("はい")...).Add(llmtest.Answer("はい")...).
		Add(llmtest.Status(400, `{"error":{"message":"Unrecognized request argument: enable_thinking"}}`))
	for range 4 {
		provider.Add(llmtest.Answer("はい")...)
	}
	switched := route("s", "s", "")
	switched.Thinking = llm.ThinkingSwitch
	switched.ThinkingOn = map[string]any{"chat_template_kwargs": map[string]any{"enable_thinking": true}}
	switched.ThinkingOff = map[string]any{"enable_thinking": false, "temperature": 0.5}
	router := newRouterOf(t, llm.Provider{
		Config: llm.Config{BaseURL: provider.URL()}, Routes: []llm.Route{switched, route("plain", "plain", "")},
	})
	on, off := true, false
	for i, want := range []struct {
		model    string
		thinking *bool
		fields   string // Fields of the last request.
	}{
		{"s", nil, `{}`},
		{"s", &on, `{"chat_template_kwargs":{"enable_thinking":true}}`},
		{"s", &off, `{}`}, // After the refusal.
		{"s", &off, `{}`},
		{"s", &on, `{"chat_template_kwargs":{"enable_thinking":true}}`},
		{"plain", &off, `{}`},
	} {
		req := questionFor(want.model)
		req.Thinking = want.thinking
		if _, _, _, err := ask(t, router, req); err != nil {
			t.Fatal(err)
		}
		requests := provider.Requests()
		last := requests[len(requests)-1]
		var fields map[string]any
		if err := json.Unmarshal(last.Body, &fields); err != nil || len(last.Messages) != 2 || last.Model != want.model {
			t.Fatalf("%d: %s %v", i, last.Body, err)
		}
		maps.DeleteFunc(fields, func(key string, _ any) bool {
			return key == "model" || key == "messages" || key == "stream" || key == "stream_options"
		})
		if got, _ := json.Marshal(fields); string(got) != want.fields {
			t.Errorf("%d: fields %s, want %s", i, got, want.fields)
		}
	}
	if refused := string(provider.Requests()[2].Body); !strings.Contains(refused, `"enable_thinking":false`) ||
		!strings.Contains(refused, `"temperature":0.5`) {
		t.Errorf("at first it was asked with %s", refused)
	}
}

// inMemory is a provider implemented by a function, without sockets.
func inMemory(answer func(ctx context.Context)) llm.Config {
	body := []byte("data: {\"choices\":[{\"delta\":{\"content\":\"はい\"},\"finish_reason\":\"stop\"}]," +
		"\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":500}}\n\ndata: [DONE]\n\n")
	return llm.Config{
		BaseURL: "http://provider.test", FirstTokenTimeout: time.Minute,
		Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
			answer(req.Context())
			return respond("text/event-stream", body)(req)
		}),
	}
}

// TestAvailable checks the lists of models. An unreachable provider has no result, and each provider receives one
// request.
func TestAvailable(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := func(answer string, status int) llm.Config {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer key" {
				t.Errorf("asked %s with %v", r.URL, r.Header)
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, answer)
		}))
		t.Cleanup(s.Close)
		return llm.Config{BaseURL: s.URL, APIKey: "key"}
	}
	router := newRouterOf(t,
		llm.Provider{
			Config: server(`{"object":"list","data":[{"id":"one"},{"id":"two:latest"},{"id":"models/three"}]}`, 200),
			Routes: []llm.Route{
				route("1", "one", ""), route("2", "two", ""), route("3", "three", ""), route("4", "four", ""),
			},
		},
		llm.Provider{Config: server(`<html>`, 200), Routes: []llm.Route{route("html", "", "")}},
		llm.Provider{Config: server(`{}`, 404), Routes: []llm.Route{route("missing", "", "")}},
	)
	for range 2 {
		got := router.Available(t.Context())
		if want := map[string]bool{"1": true, "2": true, "3": true, "4": false}; !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	if asked.Load() != 3 {
		t.Errorf("%d requests", asked.Load())
	}
}

// TestFailing uses a provider that refuses the key once, and one that does not respond. A provider without a list of
// models is not failing.
func TestFailing(t *testing.T) {
	t.Parallel()
	provider := llmtest.NewProvider(t)
	away := httptest.NewServer(nil)
	away.Close()
	router := newRouterOf(t,
		llm.Provider{Config: llm.Config{BaseURL: provider.URL()}, Routes: []llm.Route{route("one", "", "")}},
		llm.Provider{Config: llm.Config{BaseURL: away.URL}, Routes: []llm.Route{route("away", "", "")}},
	)
	router.Available(t.Context())
	if router.Failing("one") || !router.Failing("away") || router.Failing("unknown") {
		t.Error("before a question")
	}
	provider.Add(llmtest.Status(http.StatusUnauthorized, `{}`)).Add(llmtest.Answer("はい")...)
	for _, refused := range []bool{true, false} {
		if _, err := router.Stream(t.Context(), question(), func(string) {}); (err != nil) != refused ||
			router.Failing("one") != refused {
			t.Errorf("refused %v: %v, failing %v", refused, err, router.Failing("one"))
		}
	}
}

func TestCatalogIsChecked(t *testing.T) {
	t.Parallel()
	provider := func(routes ...llm.Route) llm.Provider {
		return llm.Provider{Config: llm.Config{BaseURL: "http://provider.test"}, Routes: routes}
	}
	for want, catalog := range map[string]llm.Catalog{
		`two models have the id "a"`: {
			Default: "a", Providers: []llm.Provider{provider(route("a", "", "")), provider(route("a", "", ""))},
		},
		`has no model`:                {Default: "a", Providers: []llm.Provider{provider()}},
		`"b" for the default`:         {Default: "b", Providers: []llm.Provider{provider(route("a", "", ""))}},
		`"b" for titles`:              {Default: "a", Title: "b", Providers: []llm.Provider{provider(route("a", "", ""))}},
		`"b" for the fallback of "a"`: {Default: "a", Providers: []llm.Provider{provider(route("a", "", "b"))}},
		`BaseURL`: {Default: "a", Providers: []llm.Provider{{
			Config: llm.Config{BaseURL: "file:///etc"}, Routes: []llm.Route{route("a", "", "")},
		}}},
	} {
		if _, err := llm.NewRouter(catalog, slog.New(slog.DiscardHandler)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
