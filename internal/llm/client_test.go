package llm_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// roundTrip implements http.RoundTripper by a function.
type roundTrip func(req *http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// respond answers every request with a stream of these bytes.
func respond(contentType string, body []byte) roundTrip {
	return func(req *http.Request) (*http.Response, error) {
		return respondOnce(contentType, bytes.NewReader(body))(req)
	}
}

// respondOnce answers a request with a stream.
func respondOnce(contentType string, body io.Reader) roundTrip {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(body),
		}, nil
	}
}

// newClient returns a client with short waits between attempts.
func newClient(t testing.TB, cfg llm.Config) *llm.Client {
	t.Helper()
	cfg.Model = cmp.Or(cfg.Model, "primary")
	if cfg.Backoff == 0 {
		cfg.Backoff, cfg.MaxBackoff = time.Millisecond, 2*time.Millisecond
	}
	client := must.Get(llm.NewClient(cfg))(t)
	t.Cleanup(client.Close)
	return client
}

// newRouter returns a Router with a model "primary" whose fallback is "second", of the same provider.
func newRouter(t testing.TB, log *slog.Logger, cfg llm.Config) *llm.Router {
	t.Helper()
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	cfg.Backoff, cfg.MaxBackoff = time.Millisecond, 2*time.Millisecond
	router := must.Get(llm.NewRouter(llm.Catalog{Default: "primary", Providers: []llm.Provider{{
		Config: cfg, Routes: []llm.Route{
			{Offer: llm.Offer{ID: "primary"}, Fallback: "second"}, {Offer: llm.Offer{ID: "second"}},
		},
	}}}, log))(t)
	t.Cleanup(router.Close)
	return router
}

func question() llm.Request {
	return llm.Request{Messages: []llm.Message{
		{Role: llm.RoleSystem, Content: "あなたは親切な助手です。"},
		{Role: llm.RoleUser, Content: "有給休暇の申請方法を教えてください。"},
	}}
}

// ask returns the text, its pieces, and the result.
func ask(t testing.TB, model llm.Model, req llm.Request) (string, []string, llm.Result, error) {
	t.Helper()
	var pieces []string
	result, err := model.Stream(t.Context(), req, func(text string) {
		if !utf8.ValidString(text) || text == "" {
			t.Errorf("emitted %q", text)
		}
		pieces = append(pieces, text)
	})
	return strings.Join(pieces, ""), pieces, result, err
}

func wantCode(t testing.TB, err error, code fault.Code) {
	t.Helper()
	if got := fault.CodeOf(err); got != code {
		t.Fatalf("code %q, want %q: %v", got, code, err)
	}
	if err != nil && !strings.HasSuffix(fault.DetailOf(err), "。") {
		t.Errorf("detail %q is no sentence", fault.DetailOf(err))
	}
}

func TestStreamWholeAnswer(t *testing.T) {
	t.Parallel()
	provider := llmtest.NewProvider(t).Add(llmtest.Answer("はい、", "「有給休暇」は", "総務部へ\n申請します。", "👩‍💻")...)
	client := newClient(t, llm.Config{BaseURL: provider.URL(), APIKey: " sk-test\n"})
	temperature := float32(0)
	req := question()
	req.MaxTokens, req.Temperature = 256, &temperature
	text, _, result, err := ask(t, client, req)
	must.Succeed(t, err)
	if text != "はい、「有給休暇」は総務部へ\n申請します。👩‍💻" {
		t.Errorf("text %q", text)
	}
	if result.Model != llmtest.ModelName || result.FinishReason != llm.FinishStop || result.Usage.InputTokens != 12 {
		t.Errorf("result %+v", result)
	}
	got := provider.Requests()[0]
	if got.Path != "/v1/chat/completions" || got.Header.Get("Authorization") != "Bearer sk-test" || !got.Stream ||
		!got.IncludeUsage || got.Model != "primary" || got.MaxTokens != 256 || len(got.Messages) != 2 {
		t.Errorf("request %+v\n%s", got, got.Body)
	}
	if got.Temperature == nil || *got.Temperature > 1e-6 {
		t.Errorf("temperature 0 was sent as %v", got.Temperature)
	}
}

func TestConnectionIsReused(t *testing.T) {
	t.Parallel()
	provider := llmtest.NewProvider(t).Add(llmtest.Answer("はい。")...)
	client := newClient(t, llm.Config{BaseURL: provider.URL()})
	for range 3 {
		if _, _, _, err := ask(t, client, question()); err != nil {
			t.Fatal(err)
		}
	}
	remotes := make(map[string]bool)
	for _, r := range provider.Requests() {
		remotes[r.RemoteAddr] = true
	}
	if len(remotes) != 1 {
		t.Errorf("3 questions took %d connections", len(remotes))
	}
}

// TestCharactersSplitOverChunks: a character split by the provider is emitted whole, in raw bytes and in escapes. An
// unpaired half is replaced.
func TestCharactersSplitOverChunks(t *testing.T) {
	t.Parallel()
	kanji, emoji := []byte("漢"), []byte("🎉")
	for name, test := range map[string]struct {
		steps []llmtest.Step
		want  string
	}{
		"kanji in three": {[]llmtest.Step{llmtest.Bytes(kanji[:1], kanji[1:2], kanji[2:])}, "漢"},
		"emoji in two": {
			[]llmtest.Step{llmtest.Bytes([]byte("は"), emoji[:3], append(emoji[3:4:4], "い"...))},
			"は🎉い",
		},
		"surrogates in two": {[]llmtest.Step{
			llmtest.Delta(`{"content":"a\ud83c"}`),
			llmtest.Delta(`{"content":"\udf89b"}`),
		}, "a🎉b"},
		"lone high surrogate": {[]llmtest.Step{llmtest.Delta(`{"content":"a\ud83c"}`), llmtest.Text("b")}, "a\uFFFDb"},
		"lone low surrogate":  {[]llmtest.Step{llmtest.Delta(`{"content":"\udf89b"}`)}, "\uFFFDb"},
		"half at the end":     {[]llmtest.Step{llmtest.Bytes([]byte("は"), kanji[:2])}, "は\uFFFD\uFFFD"},
		"high at the end":     {[]llmtest.Step{llmtest.Delta(`{"content":"は\ud83c"}`)}, "は\uFFFD"},
		"half, then another":  {[]llmtest.Step{llmtest.Bytes(kanji[:1], []byte("はい"))}, "\uFFFDはい"},
		"never a character":   {[]llmtest.Step{llmtest.Bytes([]byte{'a', 0xFF, 0xC0, 'b'})}, "a\uFFFD\uFFFDb"},
		"every escape": {
			[]llmtest.Step{llmtest.Delta(`{"content":"\"\\\/\b\f\n\r\t\u0000\u3042"}`)},
			"\"\\/\b\f\n\r\t\x00あ",
		},
		"empty chunks": {[]llmtest.Step{
			llmtest.Delta(`{"role":"assistant","content":""}`), llmtest.Text("は"),
			llmtest.Delta(`{"content":null}`), llmtest.Delta(`{}`),
		}, "は"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider := llmtest.NewProvider(t).Add(append(test.steps, llmtest.Finish("stop"), llmtest.Done())...)
			text, _, _, err := ask(t, newClient(t, llm.Config{BaseURL: provider.URL()}), question())
			if err != nil || text != test.want {
				t.Errorf("text %q, want %q; %v", text, test.want, err)
			}
		})
	}
}

func TestR24_TypedErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		step      llmtest.Step
		code      fault.Code
		retryable bool
		requests  int // Two retries are allowed.
	}{
		"429": {
			llmtest.Status(429, `{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}`),
			llm.CodeRateLimited, true, 3,
		},
		"429 for long": {llmtest.Status(429, ``, "Retry-After", "3600"), llm.CodeRateLimited, true, 1},
		"429 quota": {
			llmtest.Status(
				429,
				`{"error":{"message":"You exceeded your current quota","type":"insufficient_quota",`+
					`"code":"insufficient_quota"}}`,
			),
			llm.CodeQuota, false, 1,
		},
		"500": {
			llmtest.Status(500, `{"error":{"message":"oops","type":"server_error"}}`),
			llm.CodeUnavailable, true, 3,
		},
		"503 html": {llmtest.Status(503, `<html>upstream</html>`), llm.CodeUnavailable, true, 3},
		"529":      {llmtest.Status(529, ``), llm.CodeUnavailable, true, 3},
		"401": {
			llmtest.Status(
				401,
				`{"error":{"message":"Incorrect API key","type":"invalid_request_error","code":"invalid_api_key"}}`,
			),
			llm.CodeAuth, false, 1,
		},
		"403": {llmtest.Status(403, ``), llm.CodeAuth, false, 1},
		"404": {llmtest.Status(404, `{"error":"model 'x' not found"}`), llm.CodeNotFound, false, 1},
		"400": {
			llmtest.Status(400, `{"error":{"message":"bad","type":"invalid_request_error"}}`),
			llm.CodeBadRequest, false, 1,
		},
		"400 too long": {
			llmtest.Status(
				400,
				`{"error":{"message":"This model's maximum context length is 8192 tokens.",`+
					`"code":"context_length_exceeded"}}`,
			),
			llm.CodeContextLength, false, 1,
		},
		"400 too long, others": {
			llmtest.Status(400, `{"object":"error","message":"the request exceeds the available context size"}`),
			llm.CodeContextLength, false, 1,
		},
		"400 filtered (Azure)": {
			llmtest.Status(
				400,
				`{"error":{"message":"filtered","code":"content_filter","status":400,`+
					`"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`,
			),
			llm.CodeFiltered, false, 1,
		},
		"413": {llmtest.Status(413, ``), llm.CodeContextLength, false, 1},
		"307": {
			llmtest.Status(307, ``, "Location", "http://127.0.0.1:1/"), llm.CodeBadResponse, true,
			1,
		},
		"204":            {llmtest.Status(204, ``), llm.CodeBadResponse, true, 1},
		"connection cut": {llmtest.Kill(), llm.CodeUnavailable, true, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider := llmtest.NewProvider(t).Add(test.step)
			text, _, _, err := ask(t, newClient(t, llm.Config{BaseURL: provider.URL()}), question())
			wantCode(t, err, test.code)
			if got := llm.Retryable(err); got != test.retryable {
				t.Errorf("retryable %v", got)
			}
			if got := len(provider.Requests()); got != test.requests || text != "" {
				t.Errorf("%d requests, want %d; text %q", got, test.requests, text)
			}
		})
	}
}

func TestR24_RetriesBeforeTheFirstTokenOnly(t *testing.T) {
	t.Parallel()
	provider := llmtest.NewProvider(t).
		Add(llmtest.Status(500, ``)).
		Add(llmtest.Open(), llmtest.Delta(`{"role":"assistant","content":""}`), llmtest.Kill()).
		Add(llmtest.Answer("三度目で", "答えました。")...)
	client := newClient(t, llm.Config{BaseURL: provider.URL()})
	text, _, result, err := ask(t, client, question())
	if err != nil || text != "三度目で答えました。" || result.FinishReason != llm.FinishStop {
		t.Fatalf("%q %+v %v", text, result, err)
	}

	provider = llmtest.NewProvider(t).Add(llmtest.Text("途中", "まで"), llmtest.Kill()).Add(llmtest.Answer("二度目")...)
	text, _, result, err = ask(t, newRouter(t, nil, llm.Config{BaseURL: provider.URL()}), question())
	wantCode(t, err, llm.CodeInterrupted)
	if text != "途中まで" || len(provider.Requests()) != 1 || result.Usage.OutputTokens != 4 ||
		result.Usage.InputTokens == 0 {
		t.Errorf("%q after %d requests, %+v", text, len(provider.Requests()), result)
	}
}

func TestR24_Fallback(t *testing.T) {
	t.Parallel()
	provider := llmtest.NewProvider(t).Add(llmtest.Status(429, ``, "Retry-After",
		"600")).Add(llmtest.Answer("代わりの回答です。")...)
	var log bytes.Buffer
	text, _, result, err := ask(t, newRouter(t, slog.New(slog.NewTextHandler(&log, nil)), llm.Config{
		BaseURL: provider.URL(),
	}), question())
	if err != nil || text != "代わりの回答です。" || result.ModelID != "second" {
		t.Fatalf("%q %+v %v", text, result, err)
	}
	if got := provider.Requests(); len(got) != 2 || got[1].Model != "second" {
		t.Errorf("%d requests", len(got))
	}
	if !strings.Contains(log.String(), "fallback=second") {
		t.Errorf("the log doesn't tell: %s", log.String())
	}

	refused := llmtest.NewProvider(t).Add(llmtest.Status(401, ``))
	_, _, _, err = ask(t, newRouter(t, nil, llm.Config{BaseURL: refused.URL()}), question())
	wantCode(t, err, llm.CodeAuth)
	if got := len(refused.Requests()); got != 1 {
		t.Errorf("a wrong key was tried %d times", got)
	}
}

func TestUsageIsEstimatedWhenNotReported(t *testing.T) {
	t.Parallel()
	provider := llmtest.NewProvider(t).Add(llmtest.Text("こんにちは", "😀", " hello world"), llmtest.Finish("length"),
		llmtest.Done())
	_, _, result, err := ask(t, newClient(t, llm.Config{BaseURL: provider.URL()}), question())
	must.Succeed(t, err)
	if result.Usage.OutputTokens != 5+2+3 || result.Usage.InputTokens < 30 || result.FinishReason != llm.FinishLength {
		t.Errorf("result %+v", result)
	}
}

func TestCallerCancels(t *testing.T) {
	t.Parallel()
	provider := llmtest.NewProvider(t).Add(llmtest.Text("途中"), llmtest.Stall())
	client := newClient(t, llm.Config{BaseURL: provider.URL()})
	stopped := errors.New("stopped by the user")
	ctx, cancel := context.WithCancelCause(t.Context())
	text := ""
	_, err := client.Stream(ctx, question(), func(piece string) {
		text += piece
		cancel(stopped)
	})
	wantCode(t, err, fault.Canceled)
	if !errors.Is(err, context.Canceled) || !errors.Is(err, stopped) || text != "途中" || llm.Retryable(err) {
		t.Errorf("%q %v", text, err)
	}
	waitGone(t, provider.Wait(1))
}
