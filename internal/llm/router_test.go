package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/tally"
	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/streamtest"
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

// TestR95_ConcurrentCallsAreBounded: with a limit of two calls the third one waits. If it waits too long, it fails with
// a retryable error.
func TestR95_ConcurrentCallsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		router := newRouterOf(t, llm.Provider{
			MaxConcurrent: 2, Routes: []llm.Route{route("a", "", "")}, Config: inMemory(func(context.Context) {
				most.Store(max(most.Load(), now.Add(1)))
				<-time.After(45 * time.Second)
				now.Add(-1)
			}),
		})
		start := time.Now()
		var calls sync.WaitGroup
		for i := range 6 {
			calls.Go(func() {
				_, err := router.Stream(t.Context(), question(), func(string) {})
				switch took := time.Since(start); {
				case err == nil && (took == 45*time.Second || took == 90*time.Second):
				case took == time.Minute && llm.Retryable(err):
					wantCode(t, err, llm.CodeRateLimited)
				default:
					t.Errorf("call %d: %v after %v", i, err, took)
				}
			})
		}
		calls.Wait()
		if most.Load() != 2 {
			t.Errorf("%d calls at once", most.Load())
		}
	})
}

// TestR95_TokensAMinuteAreBounded: the next request waits for the tokens that an answer used beyond its estimate. A
// request that would wait too long uses the fallback at once.
func TestR95_TokensAMinuteAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		router := newRouterOf(t,
			llm.Provider{
				TokensPerMinute: 600, Config: inMemory(func(context.Context) {}),
				Routes: []llm.Route{route("a", "", ""), route("hurried", "", "b")},
			},
			llm.Provider{Config: inMemory(func(context.Context) {}), Routes: []llm.Route{route("b", "", "")}},
		)
		took := func(model, want string) time.Duration {
			start := time.Now()
			result, err := router.Stream(t.Context(), questionFor(model), func(string) {})
			if err != nil || result.ModelID != want {
				t.Errorf("%+v %v", result, err)
			}
			return time.Since(start)
		}
		if first := took("a", "a"); first != 0 { // Uses the whole bucket of 600 tokens.
			t.Errorf("the first one waits for %v", first)
		}
		second := took("a", "a")
		if second < 2*time.Second || second > 10*time.Second {
			t.Errorf("the second one waits for %v", second)
		}
		if third := took("hurried", "b"); third > 0 {
			t.Errorf("the third one waits for %v", third)
		}
	})
}

// TestR95_LimitsHoldForAllServers: two servers share the limits of a provider.
func TestR95_LimitsHoldForAllServers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := streamtest.NewNetwork()
		release := make(chan struct{})
		var now, most atomic.Int32
		server := func() (*llm.Router, func()) {
			return newServer(t, network, llm.Provider{
				MaxConcurrent: 3, TokensPerMinute: 6000, Routes: []llm.Route{route("a", "", "")},
				Config: inMemory(func(context.Context) {
					most.Store(max(most.Load(), now.Add(1)))
					<-release
					now.Add(-1)
				}),
			})
		}
		first, stopFirst := server()
		defer stopFirst()
		second, stopSecond := server()
		defer stopSecond()
		ask := func(router *llm.Router) {
			if _, err := router.Stream(t.Context(), question(), func(string) {}); err != nil {
				t.Error(err)
			}
		}
		var calls sync.WaitGroup
		call := func(router *llm.Router, times int) {
			for range times {
				calls.Go(func() { ask(router) })
			}
			<-time.After(time.Second) // Time for the exchange of the counts.
		}
		call(first, 2)
		call(second, 3)
		call(first, 1)
		if now.Load() != 3 {
			t.Errorf("%d calls at once, want 3", now.Load())
		}
		close(release)
		calls.Wait()
		if most.Load() != 3 {
			t.Errorf("%d calls at once, want 3", most.Load())
		}
		<-time.After(time.Second)
		// Both have used 3,600 of 6,000 tokens together. The second one alone has used 1,800.
		start := time.Now()
		for range 6 {
			ask(second)
		}
		if took := time.Since(start); took < 2*time.Second {
			t.Errorf("3,600 further tokens took %v", took)
		}
	})
}

// TestTokensOfFailedCallsAreReturned: the tokens that a failed call did not use are free again, on all servers.
func TestTokensOfFailedCallsAreReturned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := streamtest.NewNetwork()
		var fails atomic.Bool
		fails.Store(true)
		working := inMemory(func(context.Context) {})
		failing := working
		failing.Transport = roundTrip(func(req *http.Request) (*http.Response, error) {
			if fails.Load() {
				return nil, errors.New("refused")
			}
			return working.Transport.RoundTrip(req)
		})
		first, stopFirst := newServer(t, network, llm.Provider{
			TokensPerMinute: 600, Routes: []llm.Route{route("a", "", "")}, Config: failing,
		})
		defer stopFirst()
		second, stopSecond := newServer(t, network, llm.Provider{
			TokensPerMinute: 600, Routes: []llm.Route{route("a", "", "")}, Config: failing,
		})
		defer stopSecond()
		for range 40 {
			if _, err := first.Stream(t.Context(), question(), func(string) {}); err == nil {
				t.Fatal("the call did not fail")
			}
		}
		<-time.After(time.Second) // Time for the exchange of the counts.
		fails.Store(false)
		for _, router := range []*llm.Router{first, second} {
			start := time.Now()
			if _, err := router.Stream(t.Context(), question(), func(string) {}); err != nil || time.Since(start) > 0 {
				t.Errorf("%v after %v", err, time.Since(start))
			}
		}
	})
}

// TestProvidersOfOneAddressHaveTheirOwnLimits: each of two providers of an address is limited on all servers.
func TestProvidersOfOneAddressHaveTheirOwnLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := streamtest.NewNetwork()
		release := make(chan struct{})
		now := map[string]*atomic.Int32{"a": {}, "b": {}}
		provider := func(model string) llm.Provider {
			return llm.Provider{
				MaxConcurrent: 3, Routes: []llm.Route{route(model, "", "")}, Config: inMemory(func(context.Context) {
					now[model].Add(1)
					<-release
				}),
			}
		}
		first, stopFirst := newServer(t, network, provider("a"), provider("b"))
		defer stopFirst()
		second, stopSecond := newServer(t, network, provider("a"), provider("b"))
		defer stopSecond()
		var calls sync.WaitGroup
		call := func(router *llm.Router, model string, times int) {
			for range times {
				calls.Go(func() {
					if _, err := router.Stream(t.Context(), questionFor(model), func(string) {}); err != nil {
						t.Error(err)
					}
				})
			}
			<-time.After(time.Second) // Time for the exchange of the counts.
		}
		call(first, "a", 2)
		call(first, "b", 1)
		call(second, "a", 2)
		call(second, "b", 2)
		if a, b := now["a"].Load(), now["b"].Load(); a != 3 || b != 3 {
			t.Errorf("%d and %d calls at once, want 3 of each", a, b)
		}
		close(release)
		calls.Wait()
	})
}

// newServer returns a server's Router, which shares its counts over a network, and a function that stops it.
func newServer(t *testing.T, network *streamtest.Network, providers ...llm.Provider) (*llm.Router, func()) {
	t.Helper()
	feed := must.Get(stream.NewFeed(network.Node()))(t)
	counts := tally.New(feed, slog.New(slog.DiscardHandler))
	router := must.Get(llm.NewRouter(llm.Catalog{
		Default: providers[0].Routes[0].ID, Servers: counts, Providers: providers,
	}, slog.New(slog.DiscardHandler)))(t)
	counts.Start()
	return router, func() {
		counts.Stop()
		feed.Close()
		router.Close()
	}
}

// TestCallerLeavesTheLine: a caller that disconnects while waiting releases its place.
func TestCallerLeavesTheLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		released := make(chan struct{})
		router := newRouterOf(t, llm.Provider{
			MaxConcurrent: 1, Routes: []llm.Route{route("a", "", "")},
			Config: inMemory(func(context.Context) { <-released }),
		})
		var calls sync.WaitGroup
		calls.Go(func() {
			if _, err := router.Stream(t.Context(), question(), func(string) {}); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		calls.Go(func() {
			_, err := router.Stream(ctx, question(), func(string) {})
			wantCode(t, err, "canceled")
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(released)
		calls.Wait()
		if _, err := router.Stream(t.Context(), question(), func(string) {}); err != nil {
			t.Errorf("the next one: %v", err)
		}
	})
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
