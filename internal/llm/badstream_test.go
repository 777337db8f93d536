package llm_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

func TestR26_EndWithoutFinishReason(t *testing.T) {
	t.Parallel()
	for name, end := range map[string][]llmtest.Step{
		"close":         nil,
		"done":          {llmtest.Done()},
		"done, open":    {llmtest.Done(), llmtest.Stall()}, // The connection stays open.
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
		code  fault.Code // "" for a successful answer.
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
		"comments, CRLF": {
			append([]llmtest.Step{llmtest.Raw(": ping\r\n\r\nevent: x\r\n" +
				"data:{\"choices\":[{\"delta\":{\"content\":\"答え\"}}]}\r\n\r\n")}, stop...),
			"答え", "",
		},
		"no blank lines": {
			[]llmtest.Step{llmtest.Raw("data: {\"choices\":[{\"delta\":{\"content\":\"答\"}}]}\n" +
				"data: {\"choices\":[{\"delta\":{\"content\":\"え\"},\"finish_reason\":\"stop\"}]}\n" +
				"data: [DONE]")},
			"答え", "",
		},
		"other choices": {
			append([]llmtest.Step{llmtest.Data(`{"choices":[{"index":1,"delta":{"content":"別"}},` +
				`{"index":0,"delta":{"content":"答え"}}]}`)}, stop...),
			"答え", "",
		},
		"odd usage": {
			append([]llmtest.Step{llmtest.Data(`{"choices":[{"delta":{"content":"答え"}}],` +
				`"usage":{"prompt_tokens":"many"}}`)}, stop...),
			"答え", "",
		},
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

// TestChunksOfOneReadAreOnePiece: the content of one read is one piece, up to a limit. A single chunk is emitted
// at once.
func TestChunksOfOneReadAreOnePiece(t *testing.T) {
	t.Parallel()
	var together []byte
	for range 3000 { // More than the limit of a piece.
		together = llmtest.AppendTextChunk(together, []byte("一二三"))
	}
	together = append(together,
		"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"...)
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

// TestR27_EndlessResponse: a provider sends data without text and without end.
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
