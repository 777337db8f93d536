package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
)

// systemPrompt is the system message of every system that asks the model.
const systemPrompt = "あなたは日本の職場で働く人を助けるアシスタントです。"

// prompt is the body of a POST to the servers of this file.
type prompt struct {
	Prompt string `json:"prompt"`
}

func readPrompt(w http.ResponseWriter, r *http.Request) (string, error) {
	var p prompt
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&p)
	return p.Prompt, err
}

// asker is a hub without published streams. It asks the model for each request.
type asker struct{ http.HandlerFunc }

func (asker) Open(string)         {}
func (asker) Publish(string, int) {}

// newLeanChat returns a hub with the path of a token through Tsumugi only: the model client, a text and its stream.
func newLeanChat(provider string) (asker, error) {
	model, err := llm.NewClient(llm.Config{BaseURL: provider, APIKey: "bench", Model: "m"})
	if err != nil {
		return asker{}, err
	}
	server := sse.NewServer(sse.Config{Fast: true})
	return asker{func(w http.ResponseWriter, r *http.Request) {
		question, err := readPrompt(w, r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		text := stream.NewText(stream.Head{MessageID: "1", Run: 1})
		// The stream may continue after the request's goroutine and context have ended.
		ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
		go func() { // Ends when the model's answer is complete.
			_, err := model.Stream(ctx, llm.Request{Messages: []llm.Message{
				{Role: llm.RoleSystem, Content: systemPrompt}, {Role: llm.RoleUser, Content: question},
			}}, text.AppendText)
			if err != nil {
				text.Finish(stream.End{Outcome: stream.Failed, ErrorText: err.Error()})
				return
			}
			text.Finish(stream.End{Outcome: stream.Finished, FinishReason: "stop"})
		}()
		server.Serve(w, r, sse.Delivery{
			Watch: text.Watch(""), Until: time.Now().Add(time.Hour), Done: func(error) { cancel() },
		})
	}}, nil
}

// newNaiveChat returns the obvious implementation in Go. It calls go-openai's Recv, and encodes, writes and flushes an
// event for each chunk.
func newNaiveChat(provider string) asker {
	config := openai.DefaultConfig("bench")
	config.BaseURL = provider
	client := openai.NewClientWithConfig(config)
	return asker{func(w http.ResponseWriter, r *http.Request) {
		question, err := readPrompt(w, r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer, err := client.CreateChatCompletionStream(r.Context(), openai.ChatCompletionRequest{
			Model: "m", Stream: true, Messages: []openai.ChatCompletionMessage{
				{Role: openai.ChatMessageRoleSystem, Content: systemPrompt},
				{Role: openai.ChatMessageRoleUser, Content: question},
			},
		})
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer func() { _ = answer.Close() }()
		w.Header().Set("Content-Type", "text/event-stream")
		flusher := http.NewResponseController(w)
		for {
			chunk, err := answer.Recv()
			if errors.Is(err, io.EOF) {
				_, _ = fmt.Fprint(w, doneLine+"\n\n")
				return
			}
			if err != nil {
				return
			}
			for _, choice := range chunk.Choices {
				if choice.Delta.Content == "" {
					continue
				}
				event, err := json.Marshal(delta{"text-delta", "0", choice.Delta.Content})
				if err != nil {
					return
				}
				if _, err := fmt.Fprintf(w, "data: %s\n\n", event); err != nil || flusher.Flush() != nil {
					return
				}
			}
		}
	}}
}

type delta struct {
	Type  string `json:"type"`
	ID    string `json:"id"`
	Delta string `json:"delta"`
}
