package llm_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"

	openai "github.com/sashabaranov/go-openai"
)

// answerBody is an answer of n chunks of two characters, as OpenAI sends it.
func answerBody(n int) []byte {
	var body []byte
	for range n {
		body = llmtest.AppendTextChunk(body, []byte("回答"))
	}
	return append(
		body, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"...,
	)
}

const benchChunks = 1000

// BenchmarkStream measures the client, from the bytes of the response to the caller's emit.
func BenchmarkStream(b *testing.B) {
	client := newClient(b, llm.Config{Transport: respond("text/event-stream", answerBody(benchChunks))})
	req := question()
	b.ReportAllocs()
	chunks := 0
	for b.Loop() {
		chunks += benchChunks
		if _, err := client.Stream(b.Context(), req, func(string) {}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(chunks), "ns/chunk")
}

// BenchmarkGoOpenAI is the same with go-openai's own reader, for comparison.
func BenchmarkGoOpenAI(b *testing.B) {
	cfg := openai.DefaultConfig("key")
	body := answerBody(benchChunks)
	cfg.HTTPClient = doer(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(body))}, nil
	})
	client := openai.NewClientWithConfig(cfg)
	b.ReportAllocs()
	chunks := 0
	for b.Loop() {
		stream, err := client.CreateChatCompletionStream(b.Context(), openai.ChatCompletionRequest{Model: "m"})
		must.Succeed(b, err)
		for {
			response, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			must.Succeed(b, err)
			if response.Choices[0].Delta.Content != "" {
				chunks++
			}
		}
		_ = stream.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(chunks), "ns/chunk")
}

type doer func(req *http.Request) (*http.Response, error)

func (f doer) Do(req *http.Request) (*http.Response, error) { return f(req) }
