package api_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func completionOf(model string) map[string]any {
	return map[string]any{
		"model": model, "messages": []any{map[string]any{"role": "user", "content": "糸とは"}}, "temperature": 0.5,
		"metadata": map[string]any{"x": "y"},
	}
}

// openAIClient returns OpenAI's client with a personal access token of Alice.
func (f *fixture) openAIClient() openai.Client {
	f.t.Helper()
	return openai.NewClient(option.WithBaseURL(f.url+"/v1/"), option.WithMaxRetries(0),
		option.WithAPIKey(f.personalToken(f.alice.Subject, "chat").Token))
}

// TestOpenAIClientAsks asks with a model, a conversation and instructions, and finds an ordinary thread.
func TestOpenAIClientAsks(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, model)
	client := f.openAIClient()
	models, err := client.Models.List(t.Context())
	if err != nil || len(models.Data) < 5 {
		t.Fatalf("%+v, %v", models, err)
	}
	type answered struct {
		got *openai.ChatCompletion
		err error
	}
	done := make(chan answered, 1)
	go func() {
		got, err := client.Chat.Completions.New(context.WithoutCancel(t.Context()), openai.ChatCompletionNewParams{
			Model: f.chatSkill().ID.String(), Temperature: param.NewOpt(0.2),
			Messages: []openai.ChatCompletionMessageParamUnion{
				openai.SystemMessage("英語で答えてください。"),
				openai.UserMessage("絹とは"), openai.AssistantMessage("繭の糸です。"), openai.UserMessage("糸とは"),
			},
		})
		done <- answered{got, err}
	}()
	asked := model.Next(t)
	var prompt []string
	for _, m := range asked.Request.Messages {
		prompt = append(prompt, string(m.Role)+": "+m.Content)
	}
	if n := len(prompt); n != 4 || !strings.HasPrefix(prompt[0], "system: あなたは、") ||
		!strings.HasSuffix(prompt[0], "\n<thread>\n英語で答えてください。\n</thread>\n") || prompt[1] != "user: 絹とは" ||
		prompt[2] != "assistant: 繭の糸です。" || prompt[3] != "user: 糸とは" {
		t.Errorf("the model is asked %q", prompt)
	}
	if got := asked.Request.Temperature; got == nil || *got != 0.2 {
		t.Errorf("with the temperature %v", got)
	}
	asked.Emit("Thread.")
	asked.Finish()
	answer := <-done
	if answer.err != nil || answer.got.Choices[0].Message.Content != "Thread." ||
		answer.got.Choices[0].FinishReason != "stop" || answer.got.Usage.TotalTokens == 0 {
		t.Fatalf("%+v, %v", answer.got, answer.err)
	}
	threads := f.threads(f.alice.Subject)
	if len(threads) != 1 {
		t.Fatalf("got %+v", threads)
	}
	said := get[api.MessageList](f, http.StatusOK, call{
		method: "GET", path: "/v1/message?thread_id=" + threads[0].ID.String(), token: f.alice.Subject,
	}).Items
	if len(said) != 4 || said[3].Content != "絹とは" || said[0].Content != "Thread." {
		t.Errorf("stored: %+v", said)
	}
}

// TestOpenAIClientFindsAModel finds a model by its listed id, by the skill's id and by the skill's name.
func TestOpenAIClientFindsAModel(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	client, chosen, other := f.openAIClient(), f.chatSkill(), f.skills[len(f.skills)-1]
	f.exec("UPDATE skills SET created_at = '2026-04-01T00:00:00Z' WHERE id = $1", chosen.ID)
	end := chosen.ID.String()[28:]
	for _, test := range []struct {
		key, name, other, id string
		finds                []string
	}{
		{"", "汎用チャット", "他", "汎用チャット", []string{"汎用チャット-" + end, "汎用ﾁｬｯﾄ", " 汎用チャット "}},
		{"", "契約書／100% 確認?#", "他", "契約書-100-確認", []string{"契約書／100% 確認?#", "契約書-100-確認-" + end}},
		{"", "議事録", "議事録", "議事録-" + end, nil},
		{"", "chat", "other", "chat", nil},
		{"", "🎉", "他", end, nil},
		{"", chosen.ID.String(), "他", chosen.ID.String() + "-" + end, nil},
		{"chat", "議事録", "議事録", "chat", nil},
		{"契約書/100% 確認?#", "議事録", "契約書/100% 確認?#", "契約書/100% 確認?#", nil},
	} {
		f.exec("UPDATE skills SET key = nullif($2, ''), name = $3 WHERE id = $1", chosen.ID, test.key, test.name)
		f.exec("UPDATE skills SET name = $2 WHERE id = $1", other.ID, test.other)
		for _, name := range append(test.finds, test.id, chosen.ID.String()) {
			found, err := client.Models.Get(t.Context(), name)
			if err != nil || found.ID != test.id || found.Object != "model" || found.OwnedBy != "tsumugi" ||
				found.Created != time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC).Unix() {
				t.Errorf("%s of %+v: %+v, %v", name, test, found, err)
			}
		}
	}
	models := must.Get(client.Models.List(t.Context()))(t)
	for _, listed := range models.Data {
		if found, err := client.Models.Get(t.Context(), listed.ID); err != nil || found.ID != listed.ID ||
			found.Created != listed.Created || found.Created == 0 {
			t.Errorf("%+v: %+v, %v", listed, found, err)
		}
	}
	f.exec("UPDATE skills SET key = NULL, name = '議事録' WHERE id = ANY ($1)", []uuid.UUID{chosen.ID, other.ID})
	for _, name := range []string{"gpt-none", "ウェブ検索", "議事録", newID(), "a/b", "%"} {
		_, err := client.Models.Get(t.Context(), name)
		if refused, ok := errors.AsType[*openai.Error](err); !ok || refused.StatusCode != http.StatusNotFound ||
			refused.Code != "model_not_found" || refused.Type != "invalid_request_error" || refused.Message == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOpenAIClientStreams streams an answer with its usage, and stores nothing if requested.
func TestOpenAIClientStreams(t *testing.T) {
	t.Parallel()
	for _, kept := range []bool{true, false} {
		f := newFixture(t, llmtest.Say("繭から", "引いた", "もの。"))
		client := f.openAIClient()
		stream := client.Chat.Completions.NewStreaming(t.Context(), openai.ChatCompletionNewParams{
			Model: f.chatSkill().ID.String(), Store: param.NewOpt(kept),
			Messages:      []openai.ChatCompletionMessageParamUnion{openai.UserMessage("糸とは")},
			StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)},
		})
		var all openai.ChatCompletionAccumulator
		for stream.Next() {
			if !all.AddChunk(stream.Current()) {
				t.Errorf("a chunk that does not fit: %+v", stream.Current())
			}
		}
		if err := stream.Err(); err != nil || len(all.Choices) != 1 ||
			all.Choices[0].Message.Content != "繭から引いたもの。" || all.Choices[0].FinishReason != "stop" ||
			all.Usage.CompletionTokens == 0 {
			t.Errorf("%+v, %v", all.ChatCompletion, err)
		}
		var stored int
		f.scan(&stored, `SELECT count(*) FROM threads`)
		if kept && stored != 1 {
			t.Error("the thread was not stored")
		}
		if !kept { // It is deleted when the handler returns.
			for stored != 0 {
				f.scan(&stored, `SELECT count(*) FROM threads`)
			}
		}
	}
}

// TestOpenAIRequestsRepeat: a repeated stored request finds its answer by its key, which may be any text.
func TestOpenAIRequestsRepeat(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("繭から"))
	client, key := f.openAIClient(), option.WithHeader("Idempotency-Key", "stainless-node-retry-1")
	ask := func(messages ...openai.ChatCompletionMessageParamUnion) (*openai.ChatCompletion, error) {
		return client.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{
			Model: f.chatSkill().ID.String(), Messages: messages,
		}, key)
	}
	question := openai.UserMessage("糸とは")
	first := must.Get(ask(question))(t)
	again, err := ask(question)
	if err != nil || again.ID != first.ID || again.Choices[0].Message.Content != "繭から" {
		t.Errorf("%+v, %v", again, err)
	}
	var refused *openai.Error
	_, err = ask(openai.UserMessage("絹とは"), openai.AssistantMessage("繭の糸です。"), question)
	if !errors.As(err, &refused) || refused.StatusCode != http.StatusConflict || refused.Code != "request_id_conflict" {
		t.Errorf("the key of another conversation: %v", err)
	}
	if threads := f.threads(f.alice.Subject); len(threads) != 1 {
		t.Errorf("%d threads", len(threads))
	}
}

// TestOpenAIRequestsThatStoreNothing: two such requests with the same key have separate answers, so that the end of the
// first one does not delete the thread of the second one.
func TestOpenAIRequestsThatStoreNothing(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, model)
	client := f.openAIClient()
	ask := func() (*llmtest.Call, chan string) {
		ended := make(chan string, 1)
		stream := client.Chat.Completions.NewStreaming(t.Context(), openai.ChatCompletionNewParams{
			Model: f.chatSkill().ID.String(), Store: param.NewOpt(false),
			Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("糸とは")},
		}, option.WithHeader("Idempotency-Key", "6f1c8a3e-0f57-4a43-9d0b-0d5a3a4c9b11"))
		go func() {
			text := ""
			for stream.Next() {
				for _, choice := range stream.Current().Choices {
					text += choice.Delta.Content
				}
			}
			if err := stream.Err(); err != nil {
				text += err.Error()
			}
			ended <- text
		}()
		return model.Next(t), ended
	}
	first, firstEnded := ask()
	second, secondEnded := ask()
	second.Emit("絹")
	first.Emit("繭")
	first.Finish()
	if got := <-firstEnded; got != "繭" {
		t.Errorf("the first: %q", got)
	}
	for stored := 2; stored != 1; { // The first thread is deleted when its handler returns.
		f.scan(&stored, `SELECT count(*) FROM threads`)
	}
	second.Emit("の糸")
	second.Finish()
	if got := <-secondEnded; got != "絹の糸" {
		t.Errorf("the second: %q", got)
	}
}

// TestOpenAIErrors: errors have OpenAI's form.
func TestOpenAIErrors(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	client := f.openAIClient()
	_, err := client.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{
		Model: "gpt-none", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("糸とは")},
	})
	var refused *openai.Error
	if !errors.As(err, &refused) || refused.StatusCode != http.StatusNotFound || refused.Code != "model_not_found" ||
		refused.Type != "invalid_request_error" {
		t.Errorf("an unknown model: %v", err)
	}
	resp := f.do(call{method: "GET", path: "/v1/models", token: "forged"})
	if resp.status != http.StatusUnauthorized || !strings.Contains(string(resp.body), `"type":"authentication_error"`) {
		t.Errorf("%d %s", resp.status, resp.body)
	}
	if len(f.threads(f.alice.Subject)) != 0 {
		t.Error("a thread remains of what was refused")
	}
}

// TestR86_OpenAIStreamsEnd: a stream ends when its token is deleted.
func TestR86_OpenAIStreamsEnd(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, model)
	client := f.openAIClient()
	stream := client.Chat.Completions.NewStreaming(t.Context(), openai.ChatCompletionNewParams{
		Model:    f.chatSkill().ID.String(),
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("糸とは")},
	})
	answer := model.Next(t)
	answer.Emit("繭から")
	text := ""
	for text != "繭から" && stream.Next() {
		for _, choice := range stream.Current().Choices {
			text += choice.Delta.Content
		}
	}
	f.endConnections("/v1/connection", f.alice.Subject)
	for stream.Next() {
		t.Errorf("after the end: %+v", stream.Current())
	}
	if stream.Err() == nil || text != "繭から" {
		t.Errorf("the stream ended as if the answer were whole: %q", text)
	}
	answer.Finish()
}

// TestOpenAIModelThatFails: the stream contains the model's error.
func TestOpenAIModelThatFails(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, model)
	client := f.openAIClient()
	stream := client.Chat.Completions.NewStreaming(t.Context(), openai.ChatCompletionNewParams{
		Model:    f.chatSkill().ID.String(),
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("糸とは")},
	})
	answer := model.Next(t)
	answer.Emit("繭")
	answer.Fail(errors.New("gone"))
	for stream.Next() {
	}
	if stream.Err() == nil {
		t.Error("a failed answer is told as a whole one")
	}
}
