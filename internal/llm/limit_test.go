package llm_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/tally"
	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/streamtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

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
