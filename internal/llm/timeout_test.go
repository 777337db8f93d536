package llm_test

import (
	"context"
	"net"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// waitGone waits until the provider has detected that its client disconnected.
func waitGone(t *testing.T, request *llmtest.ReceivedRequest) {
	t.Helper()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	select {
	case <-request.Gone:
	case <-limit.C:
		t.Fatal("the connection to the provider was left open")
	}
}

// TestR25_StallsOverHTTP uses sockets and short limits: the text before the stall is kept, and the provider detects
// that its client has disconnected.
func TestR25_StallsOverHTTP(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		steps []llmtest.Step
		text  string
	}{
		"before the header": {[]llmtest.Step{llmtest.Stall()}, ""},
		"before the first token": {
			[]llmtest.Step{llmtest.Delta(`{"role":"assistant","content":""}`), llmtest.Stall()},
			"",
		},
		"between tokens": {[]llmtest.Step{llmtest.Text("ここまで"), llmtest.Stall()}, "ここまで"},
		"in a line": {[]llmtest.Step{
			llmtest.Text("ここまで"), llmtest.Raw(`data: {"choices":[{"delta"`),
			llmtest.Stall(),
		}, "ここまで"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider := llmtest.NewProvider(t).Add(test.steps...)
			cfg := llm.Config{
				BaseURL: provider.URL(), FirstTokenTimeout: time.Minute,
				TokenTimeout: 100 * time.Millisecond,
			}
			if test.text == "" {
				// Long enough for the request to arrive on a busy machine.
				cfg.FirstTokenTimeout, cfg.TokenTimeout = 5*time.Second, time.Minute
			}
			client := newClient(t, cfg)
			text, _, _, err := ask(t, client, question())
			wantCode(t, err, llm.CodeTimeout)
			if text != test.text || !llm.Retryable(err) {
				t.Errorf("text %q: %v", text, err)
			}
			waitGone(t, provider.Wait(1))
			if got := len(provider.Requests()); got != 1 {
				t.Errorf("a stall was tried %d times", got)
			}
		})
	}
}

// TestR25_StallWhileConnecting: a host accepts the connection and then stalls in the TLS handshake.
func TestR25_StallWhileConnecting(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	defer func() { _ = listener.Close() }()
	client := newClient(t, llm.Config{
		BaseURL: "https://" + listener.Addr().String() + "/v1", ConnectTimeout: 50 * time.Millisecond, MaxRetries: 1,
	})
	_, _, _, err = ask(t, client, question())
	wantCode(t, err, llm.CodeUnavailable)

	_ = listener.Close()
	client = newClient(t, llm.Config{BaseURL: "http://" + listener.Addr().String()})
	_, _, _, err = ask(t, client, question())
	wantCode(t, err, llm.CodeUnavailable)
}

// TestR25_DefaultLimits checks the default limits to the millisecond.
func TestR25_DefaultLimits(t *testing.T) {
	t.Parallel()
	gap := llmtest.Pause
	for name, test := range map[string]struct {
		steps []llmtest.Step
		want  time.Duration
		text  string
	}{
		"first token": {[]llmtest.Step{llmtest.Stall()}, 60 * time.Second, ""},
		"first, with pings": {[]llmtest.Step{
			llmtest.Open(), gap(40 * time.Second), llmtest.Raw(": ping\n\n"),
			llmtest.Stall(),
		}, 100 * time.Second, ""},
		"pings for ever": {
			append([]llmtest.Step{llmtest.Open()},
				slices.Repeat([]llmtest.Step{llmtest.Raw(": OPENROUTER PROCESSING\n\n"), gap(15 * time.Second)},
					100)...),
			5 * time.Minute, "",
		},
		"other noise": {append([]llmtest.Step{llmtest.Open()},
			slices.Repeat([]llmtest.Step{llmtest.Delta(`{"role":"assistant","content":""}`), gap(15 * time.Second)},
				100)...), time.Minute, ""},
		"next token": {[]llmtest.Step{
			gap(59 * time.Second), llmtest.Text("a"), gap(29 * time.Second),
			llmtest.Text("b"), llmtest.Stall(),
		}, 118 * time.Second, "ab"},
		"next, with pings": {[]llmtest.Step{
			llmtest.Text("a"), gap(20 * time.Second), llmtest.Raw(": ping\n\n"),
			llmtest.Stall(),
		}, 30 * time.Second, "a"},
		"while it reasons": {[]llmtest.Step{
			gap(50 * time.Second), llmtest.Delta(`{"reasoning_content":"えっと"}`),
			gap(20 * time.Second), llmtest.Delta(`{"reasoning":"うーん"}`), llmtest.Stall(),
		}, 100 * time.Second, ""},
		"half of a response": {
			[]llmtest.Step{llmtest.Text("a"), llmtest.Raw("data: {"), llmtest.Stall()},
			30 * time.Second, "a",
		},
		"reasons for ever": {slices.Repeat([]llmtest.Step{
			llmtest.Delta(`{"reasoning":"うーん"}`),
			gap(20 * time.Second),
		}, 100), 30 * time.Minute, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				provider := llmtest.NewProvider(t).Add(test.steps...)
				client := newClient(t, llm.Config{BaseURL: "http://provider.test", Transport: provider.Transport()})
				start := time.Now()
				text, _, _, err := ask(t, client, question())
				wantCode(t, err, llm.CodeTimeout)
				if took := time.Since(start); took != test.want || text != test.text {
					t.Errorf("gave up after %v with %q, want %v with %q", took, text, test.want, test.text)
				}
				waitGone(t, provider.Wait(1))
			})
		})
	}
}

// TestR25_StallAfterTheAnswer: a missing usage, or a body without end, delays a complete answer only briefly.
func TestR25_StallAfterTheAnswer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		steps []llmtest.Step
		want  time.Duration
	}{
		"no usage": {[]llmtest.Step{llmtest.Text("a"), llmtest.Finish("stop"), llmtest.Stall()}, 2 * time.Second},
		"body is open": {
			[]llmtest.Step{llmtest.Text("a"), llmtest.Finish("stop"), llmtest.Done(), llmtest.Stall()},
			50 * time.Millisecond,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				provider := llmtest.NewProvider(t).Add(test.steps...)
				client := newClient(t, llm.Config{BaseURL: "http://provider.test", Transport: provider.Transport()})
				start := time.Now()
				if text, _, _, err := ask(t, client, question()); err != nil || text != "a" {
					t.Fatalf("%q %v", text, err)
				}
				if took := time.Since(start); took != test.want {
					t.Errorf("took %v, want %v", took, test.want)
				}
			})
		})
	}
}

// TestSlowEmit: the time limits do not include the caller's time in emit.
func TestSlowEmit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		provider := llmtest.NewProvider(t).Add(llmtest.Answer("a", "b")...)
		client := newClient(t, llm.Config{BaseURL: "http://provider.test", Transport: provider.Transport()})
		text := ""
		_, err := client.Stream(t.Context(), question(), func(piece string) {
			text += piece
			<-time.After(2 * time.Minute)
		})
		if err != nil || text != "ab" {
			t.Errorf("%q %v", text, err)
		}
	})
}

func TestBackoffAndRetryAfter(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		header   []string
		min, max time.Duration // In total, with two retries.
	}{
		"backoff":      {nil, 750 * time.Millisecond, 1500 * time.Millisecond},
		"seconds":      {[]string{"Retry-After", "3"}, 6 * time.Second, 6 * time.Second},
		"milliseconds": {[]string{"Retry-After", "90", "Retry-After-Ms", "1500"}, 3 * time.Second, 3 * time.Second},
		// The bubble's clock starts at midnight.
		"date":          {[]string{"Retry-After", "Sat, 01 Jan 2000 00:00:10 GMT"}, 10 * time.Second, 11 * time.Second},
		"not a number":  {[]string{"Retry-After", "NaN"}, 750 * time.Millisecond, 1500 * time.Millisecond},
		"negative":      {[]string{"Retry-After", "-5"}, 750 * time.Millisecond, 1500 * time.Millisecond},
		"beyond bounds": {[]string{"Retry-After", "16"}, 0, 0},
		"huge":          {[]string{"Retry-After", "1e300"}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				provider := llmtest.NewProvider(t).Add(llmtest.Status(http.StatusTooManyRequests, "", test.header...))
				client, err := llm.NewClient(llm.Config{
					Model: "m", BaseURL: "http://provider.test",
					Transport: provider.Transport(),
				})
				must.Succeed(t, err)
				start := time.Now()
				_, _, _, err = ask(t, client, question())
				wantCode(t, err, llm.CodeRateLimited)
				if took := time.Since(start); took < test.min || took > test.max {
					t.Errorf("took %v, want %v–%v", took, test.min, test.max)
				}
			})
		})
	}
}

func TestCancelDuringBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		provider := llmtest.NewProvider(t).Add(llmtest.Status(http.StatusTooManyRequests, "", "Retry-After", "10"))
		client := newClient(t, llm.Config{BaseURL: "http://provider.test", Transport: provider.Transport()})
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		start := time.Now()
		_, err := client.Stream(ctx, question(), func(string) {})
		wantCode(t, err, llm.CodeTimeout)
		if took := time.Since(start); took != 4*time.Second {
			t.Errorf("took %v", took)
		}
	})
}
