package llm_test

import (
	"bytes"
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
)

// roundTrip is a function as a transport.
type roundTrip func(req *http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// respond answers every request with a stream of these bytes.
func respond(contentType string, body []byte) roundTrip {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: http.StatusOK,
			Header:     http.Header{"Content-Type": {contentType}},
			Body:       io.NopCloser(bytes.NewReader(body)),
		}, nil
	}
}

// newClient returns a client with short waits between attempts.
func newClient(t testing.TB, cfg llm.Config) *llm.Client {
	t.Helper()
	if cfg.Model == "" {
		cfg.Model = "primary"
	}
	if cfg.Backoff == 0 {
		cfg.Backoff, cfg.MaxBackoff = time.Millisecond, 2*time.Millisecond
	}
	client, err := llm.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
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
	if err != nil {
		t.Fatal(err)
	}
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

// A character that the provider splits comes out whole, in raw bytes and in escapes; an unpaired half is replaced.
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
		"429":          {llmtest.Status(429, `{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}`), llm.CodeRateLimited, true, 3},
		"429 for long": {llmtest.Status(429, ``, "Retry-After", "3600"), llm.CodeRateLimited, true, 1},
		"429 quota":    {llmtest.Status(429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`), llm.CodeQuota, false, 1},
		"500": {
			llmtest.Status(500, `{"error":{"message":"oops","type":"server_error"}}`),
			llm.CodeUnavailable, true, 3,
		},
		"503 html": {llmtest.Status(503, `<html>upstream</html>`), llm.CodeUnavailable, true, 3},
		"529":      {llmtest.Status(529, ``), llm.CodeUnavailable, true, 3},
		"401":      {llmtest.Status(401, `{"error":{"message":"Incorrect API key","type":"invalid_request_error","code":"invalid_api_key"}}`), llm.CodeAuth, false, 1},
		"403":      {llmtest.Status(403, ``), llm.CodeAuth, false, 1},
		"404":      {llmtest.Status(404, `{"error":"model 'x' not found"}`), llm.CodeNotFound, false, 1},
		"400": {
			llmtest.Status(400, `{"error":{"message":"bad","type":"invalid_request_error"}}`),
			llm.CodeBadRequest, false, 1,
		},
		"400 too long":         {llmtest.Status(400, `{"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded"}}`), llm.CodeContextLength, false, 1},
		"400 too long, others": {llmtest.Status(400, `{"object":"error","message":"the request exceeds the available context size"}`), llm.CodeContextLength, false, 1},
		"400 filtered (Azure)": {llmtest.Status(400, `{"error":{"message":"filtered","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`), llm.CodeFiltered, false, 1},
		"413":                  {llmtest.Status(413, ``), llm.CodeContextLength, false, 1},
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
	client = newClient(t, llm.Config{BaseURL: provider.URL(), FallbackModel: "other"})
	text, _, result, err = ask(t, client, question())
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
	client := newClient(t, llm.Config{
		BaseURL: provider.URL(), Model: "primary", FallbackModel: "second",
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	text, _, _, err := ask(t, client, question())
	if err != nil || text != "代わりの回答です。" {
		t.Fatalf("%q %v", text, err)
	}
	if got := provider.Requests(); len(got) != 2 || got[1].Model != "second" {
		t.Errorf("%d requests", len(got))
	}
	if !strings.Contains(log.String(), "fallback=second") {
		t.Errorf("the log doesn't tell: %s", log.String())
	}

	refused := llmtest.NewProvider(t).Add(llmtest.Status(401, ``))
	client = newClient(t, llm.Config{BaseURL: refused.URL(), FallbackModel: "second"})
	_, _, _, err = ask(t, client, question())
	wantCode(t, err, llm.CodeAuth)
	if got := len(refused.Requests()); got != 1 {
		t.Errorf("a wrong key was tried %d times", got)
	}
}

func TestR26_EndWithoutFinishReason(t *testing.T) {
	t.Parallel()
	for name, end := range map[string][]llmtest.Step{
		"close":         nil,
		"done":          {llmtest.Done()},
		"kill":          {llmtest.Kill()},
		"half a chunk":  {llmtest.Raw(`data: {"choices":[{"index":0,"delta":{"content":"ま`), llmtest.Kill()},
		"usage, no end": {llmtest.Usage(1, 2), llmtest.Done()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider := llmtest.NewProvider(t).Add(append([]llmtest.Step{llmtest.Text("ここまで", "は届いた")}, end...)...)
			text, _, result, err := ask(t, newClient(t, llm.Config{BaseURL: provider.URL()}), question())
			if text != "ここまでは届いた" || result.FinishReason != "" || result.Usage.OutputTokens == 0 {
				t.Errorf("%q %+v", text, result)
			}
			if name == "half a chunk" && fault.CodeOf(err) == llm.CodeBadResponse {
				return // The half line is read before the connection breaks.
			}
			wantCode(t, err, llm.CodeInterrupted)
		})
	}
}

func TestR27_BadStreams(t *testing.T) {
	t.Parallel()
	stop := []llmtest.Step{llmtest.Finish("stop"), llmtest.Done()}
	for name, test := range map[string]struct {
		steps []llmtest.Step
		text  string
		code  fault.Code // "" for a good answer.
	}{
		"half a JSON": {
			[]llmtest.Step{llmtest.Text("前"), llmtest.Data(`{"choices":[{"delta":{"content":"後`)},
			"前", llm.CodeBadResponse,
		},
		"a 10 MB line": {[]llmtest.Step{
			llmtest.Text("前"),
			llmtest.Raw("data: " + strings.Repeat("x", 10<<20) + "\n\n"),
		}, "前", llm.CodeBadResponse},
		"content of numbers": {[]llmtest.Step{llmtest.Delta(`{"content":[1]}`)}, "", llm.CodeBadResponse},
		"error object": {
			[]llmtest.Step{llmtest.Text("前"), llmtest.Error("overloaded", "server_error", "")},
			"前",
			llm.CodeInterrupted,
		},
		"error, rate limit": {
			[]llmtest.Step{llmtest.Text("前"), llmtest.Error("slow", "rate_limit_error", "")},
			"前",
			llm.CodeRateLimited,
		},
		"error, too long": {[]llmtest.Step{
			llmtest.Text("前"),
			llmtest.Error("", "invalid_request_error", "context_length_exceeded"),
		}, "前", llm.CodeContextLength},
		"error as text": {
			[]llmtest.Step{llmtest.Text("前"), llmtest.Data(`{"error":"model runner has stopped"}`)},
			"前", llm.CodeInterrupted,
		},
		"error without data": {
			[]llmtest.Step{llmtest.Text("前"), llmtest.Raw("{\"error\":{\"message\":\"x\"}}\n")},
			"前",
			llm.CodeInterrupted,
		},
		"error, old vLLM": {[]llmtest.Step{
			llmtest.Text("前"),
			llmtest.Data(`{"object":"error","message":"x","code":400}`),
		}, "前", llm.CodeBadRequest},
		"content filter": {
			[]llmtest.Step{llmtest.Text("前"), llmtest.Finish("content_filter"), llmtest.Done()},
			"前",
			llm.CodeFiltered,
		},
		"HTML page": {[]llmtest.Step{llmtest.Status(200, "<html>", "Content-Type",
			"text/html; charset=utf-8")}, "", llm.CodeBadResponse},
		"empty answer": {stop, "", llm.CodeBadResponse},
		"two finishes": {append([]llmtest.Step{llmtest.Text("答え"), llmtest.Finish("length"), llmtest.Text("余り")},
			stop...), "答え", ""},
		"finish, then error": {[]llmtest.Step{
			llmtest.Text("答え"), llmtest.Finish("stop"),
			llmtest.Error("x", "server_error", ""),
		}, "答え", ""},
		"finish, then cut": {[]llmtest.Step{llmtest.Text("答え"), llmtest.Finish("stop"), llmtest.Kill()}, "答え", ""},
		"comments, CRLF":   {append([]llmtest.Step{llmtest.Raw(": ping\r\n\r\nevent: x\r\ndata:{\"choices\":[{\"delta\":{\"content\":\"答え\"}}]}\r\n\r\n")}, stop...), "答え", ""},
		"no blank lines":   {[]llmtest.Step{llmtest.Raw("data: {\"choices\":[{\"delta\":{\"content\":\"答\"}}]}\ndata: {\"choices\":[{\"delta\":{\"content\":\"え\"},\"finish_reason\":\"stop\"}]}\ndata: [DONE]")}, "答え", ""},
		"other choices":    {append([]llmtest.Step{llmtest.Data(`{"choices":[{"index":1,"delta":{"content":"別"}},{"index":0,"delta":{"content":"答え"}}]}`)}, stop...), "答え", ""},
		"odd usage":        {append([]llmtest.Step{llmtest.Data(`{"choices":[{"delta":{"content":"答え"}}],"usage":{"prompt_tokens":"many"}}`)}, stop...), "答え", ""},
		"a refusal": {
			append([]llmtest.Step{llmtest.Delta(`{"refusal":"お手伝いできません。"}`)}, stop...), "お手伝いできません。",
			"",
		},
		"not streamed": {[]llmtest.Step{llmtest.Whole("一度に返します。")}, "一度に返します。", ""},
		"error, not stream": {
			[]llmtest.Step{llmtest.Status(200, `{"error":{"message":"x","type":"server_error"}}`)},
			"", llm.CodeUnavailable,
		},
		"stream named JSON": {[]llmtest.Step{llmtest.Status(200,
			"data: {\"choices\":[{\"delta\":{\"content\":\"答え\"},\"finish_reason\":\"stop\"}]}\n\n")}, "答え", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider := llmtest.NewProvider(t).Add(test.steps...)
			text, _, result, err := ask(t, newClient(t, llm.Config{BaseURL: provider.URL(), MaxRetries: -1}),
				question())
			wantCode(t, err, test.code)
			if text != test.text {
				t.Errorf("text %q, want %q", text, test.text)
			}
			if test.code == "" && (result.FinishReason == "" || result.Usage.OutputTokens == 0) {
				t.Errorf("result %+v", result)
			}
		})
	}
}

// The contents of one read are one piece, up to a limit; a single chunk is emitted at once.
func TestChunksThatComeTogetherAreOnePiece(t *testing.T) {
	t.Parallel()
	var together []byte
	for range 3000 { // More than the limit of a piece.
		together = llmtest.AppendTextChunk(together, []byte("一二三"))
	}
	together = append(together, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"...)
	client := newClient(t, llm.Config{Transport: respond("text/event-stream", together)})
	text, pieces, _, err := ask(t, client, question())
	if err != nil || text != strings.Repeat("一二三", 3000) || len(pieces) > 1000 {
		t.Errorf("%d bytes in %d pieces, %v", len(text), len(pieces), err)
	}
	for _, piece := range pieces {
		if len(piece) > 16<<10+9 {
			t.Errorf("a piece of %d bytes", len(piece))
		}
	}

	alone := &pieceByPiece{pieces: [][]byte{
		llmtest.AppendTextChunk(nil, []byte("一")), llmtest.AppendTextChunk(nil, []byte("二")),
		[]byte("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"),
	}}
	client = newClient(t, llm.Config{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
			Body: alone,
		}, nil
	})})
	got := 0
	_, err = client.Stream(t.Context(), question(), func(string) {
		if got++; alone.read != got {
			t.Errorf("piece %d was given after %d reads", got, alone.read)
		}
	})
	if err != nil || got != 2 {
		t.Errorf("%d pieces, %v", got, err)
	}
}

// pieceByPiece is a body that returns one piece per read.
type pieceByPiece struct {
	pieces [][]byte
	read   int
}

func (b *pieceByPiece) Read(p []byte) (int, error) {
	if b.read == len(b.pieces) {
		return 0, io.EOF
	}
	b.read++
	return copy(p, b.pieces[b.read-1]), nil
}

func (b *pieceByPiece) Close() error { return nil }

// TestR27_EndlessResponse: a provider sends non-text forever.
func TestR27_EndlessResponse(t *testing.T) {
	t.Parallel()
	body := bytes.Repeat([]byte("data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"うーん\"}}]}\n\n"),
		2000)
	client := newClient(t, llm.Config{
		Transport: respond("text/event-stream", body), MaxBytes: 64 << 10,
		MaxRetries: -1,
	})
	_, _, _, err := ask(t, client, question())
	wantCode(t, err, llm.CodeTooLong)
}

func TestUsageIsEstimatedWhenNotReported(t *testing.T) {
	t.Parallel()
	provider := llmtest.NewProvider(t).Add(llmtest.Text("こんにちは", "😀", " hello world"), llmtest.Finish("length"),
		llmtest.Done())
	_, _, result, err := ask(t, newClient(t, llm.Config{BaseURL: provider.URL()}), question())
	if err != nil {
		t.Fatal(err)
	}
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

// A request whose optional field is refused is repeated without it, and the refusal is remembered.
func TestAdaptsToTheServer(t *testing.T) {
	t.Parallel()
	provider := llmtest.NewProvider(t).
		Add(llmtest.Status(400, `{"error":{"message":"Unrecognized request argument supplied: stream_options"}}`)).
		Add(llmtest.Status(400, `{"error":{"message":"Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."}}`)).
		Add(llmtest.Status(422, `{"detail":[{"loc":["body","temperature"],"msg":"only 1 is allowed"}]}`)).
		Add(llmtest.Answer("分かりました。")...)
	client := newClient(t, llm.Config{BaseURL: provider.URL(), MaxRetries: -1})
	req := question()
	temperature := float32(0.3)
	req.MaxTokens, req.Temperature = 100, &temperature
	for range 2 {
		if text, _, _, err := ask(t, client, req); err != nil || text != "分かりました。" {
			t.Fatalf("%q %v", text, err)
		}
	}
	got := provider.Requests()
	if len(got) != 5 {
		t.Fatalf("%d requests", len(got))
	}
	last := got[4]
	if last.IncludeUsage || last.Temperature != nil || !bytes.Contains(last.Body,
		[]byte(`"max_completion_tokens":100`)) {
		t.Errorf("the last request was %s", last.Body)
	}
}

func TestReasoningModels(t *testing.T) {
	t.Parallel()
	provider := llmtest.NewProvider(t).Add(llmtest.Answer("はい。")...)
	req := question()
	temperature := float32(0.3)
	req.MaxTokens, req.Temperature = 100, &temperature
	if _, _, _, err := ask(t, newClient(t, llm.Config{BaseURL: provider.URL(), Model: "gpt-5-mini"}), req); err != nil {
		t.Fatal(err)
	}
	got := provider.Requests()[0]
	if got.Temperature != nil || !bytes.Contains(got.Body, []byte(`"max_completion_tokens":100`)) {
		t.Errorf("the request was %s", got.Body)
	}
}

func TestBaseURL(t *testing.T) {
	t.Parallel()
	const v1 = "/v1/chat/completions"
	for _, test := range []struct{ base, want, key string }{
		{"http://localhost:11434", "http://localhost:11434" + v1, "Authorization"},
		{"http://localhost:11434/v1/", "http://localhost:11434" + v1, "Authorization"},
		{"https://gateway.example/llm/v1/chat/completions", "https://gateway.example/llm" + v1, "Authorization"},
		{"https://x.openai.azure.com", "https://x.openai.azure.com/openai/deployments/gpt-4.1/chat/completions?api-version=2024-10-21", "Api-Key"},
		{
			"https://x.openai.azure.com/openai?api-version=2025-01-01-preview",
			"https://x.openai.azure.com/openai/deployments/gpt-4.1/chat/completions?api-version=2025-01-01-preview",
			"Api-Key",
		},
		{
			"https://x.openai.azure.com/openai/deployments/my-gpt/chat/completions?api-version=2024-06-01",
			"https://x.openai.azure.com/openai/deployments/my-gpt/chat/completions?api-version=2024-06-01", "Api-Key",
		},
		{"https://x.openai.azure.com/openai/v1/", "https://x.openai.azure.com/openai" + v1, "Authorization"},
	} {
		t.Run(test.base, func(t *testing.T) {
			t.Parallel()
			var got *http.Request
			client := newClient(t, llm.Config{
				BaseURL: test.base, APIKey: "key", Model: "gpt-4.1",
				Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
					got = req
					return respond("text/event-stream", []byte(`data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`))(req)
				}),
			})
			if _, _, _, err := ask(t, client, question()); err != nil {
				t.Fatal(err)
			}
			if got.URL.String() != test.want || !strings.HasSuffix(got.Header.Get(test.key), "key") {
				t.Errorf("asked %s with %v", got.URL, got.Header)
			}
		})
	}
	for _, base := range []string{
		"localhost:11434", "ftp://x/v1", "https://", "https://u:p@x/v1", "https://x/v1?a=b",
		"https://x/v1?api-version=1", "https://x/v1#f", "http://[::1",
	} {
		if _, err := llm.NewClient(llm.Config{Model: "m", BaseURL: base}); err == nil ||
			!strings.Contains(err.Error(), "BaseURL") {
			t.Errorf("BaseURL %q: %v", base, err)
		}
	}
	for _, cfg := range []llm.Config{{}, {Model: "m", APIKey: "a\nb"}, {Model: "m", TokenTimeout: -1}} {
		if _, err := llm.NewClient(cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
}
