package api_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"math/rand/v2"
	"net/http"
	"reflect"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestOpenAIClientShowsPictures: the model receives the pictures of the question and of earlier questions.
func TestOpenAIClientShowsPictures(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, model)
	client := f.openAIClient()
	noise := image.NewGray(image.Rect(0, 0, 1100, 1100))
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise.Pix) // It never returns an error.
	var large bytes.Buffer                             // Larger than other bodies may be.
	if err := png.Encode(&large, noise); err != nil || large.Len() < 1<<20 {
		t.Fatal(large.Len(), err)
	}
	shows := func(text string, pictures ...[]byte) openai.ChatCompletionMessageParamUnion {
		parts := []openai.ChatCompletionContentPartUnionParam{openai.TextContentPart(text)}
		for _, p := range pictures {
			parts = append(parts, openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{
				URL: dataURL(p), Detail: "low",
			}))
		}
		return openai.UserMessage(parts)
	}
	params := openai.ChatCompletionNewParams{
		Model: "汎用チャット", Messages: []openai.ChatCompletionMessageParamUnion{
			shows("何ですか", encodePNG(t, 40, 30)), openai.AssistantMessage("四角です。"),
			shows("これは", large.Bytes(), encodePNG(t, 20, 10), encodePNG(t, 20, 10)),
		},
	}
	key := option.WithHeader("Idempotency-Key", "pictures")
	done := make(chan error, 1)
	go func() {
		_, err := client.Chat.Completions.New(context.WithoutCancel(t.Context()), params, key)
		done <- err
	}()
	asked := model.Next(t)
	var widths [][]int
	for _, m := range asked.Request.Messages {
		var of []int
		for _, p := range m.Pictures {
			if of = append(of, p.Width); len(p.Data) == 0 {
				t.Errorf("no picture in %+v", p)
			}
		}
		widths = append(widths, of)
	}
	if !reflect.DeepEqual(widths, [][]int{nil, {40}, nil, {1100, 20}}) {
		t.Errorf("the model is shown %v", widths)
	}
	asked.Emit("雑音です。")
	asked.Finish()
	must.Succeed(t, <-done)
	again, err := client.Chat.Completions.New(t.Context(), params, key)
	if err != nil || again.Choices[0].Message.Content != "雑音です。" {
		t.Errorf("asked again: %+v, %v", again, err)
	}
	params.Messages[2] = shows("これは", encodePNG(t, 50, 50))
	_, err = client.Chat.Completions.New(t.Context(), params, key)
	if refused, ok := errors.AsType[*openai.Error](err); !ok || refused.Code != "request_id_conflict" {
		t.Errorf("with another picture: %v", err)
	}
	var kept int
	if f.scan(&kept, `SELECT count(*) FROM pictures`); kept != 3 {
		t.Errorf("%d pictures are kept", kept)
	}
}

// TestPicturesForABlindModel: pictures are refused, including those of earlier questions.
func TestPicturesForABlindModel(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{offers: llmtest.Offers{
		{ID: "test", Provider: "検査", Name: "検査用モデル", Thinking: llm.ThinkingNone},
	}})
	picture := said("user", []any{map[string]any{"type": "text", "text": "a"}, picturePart(dataURL(encodePNG(t, 4, 4)))})
	for _, messages := range [][]any{{picture}, {picture, said("assistant", "b"), said("user", "c")}} {
		resp := f.complete(map[string]any{"messages": messages})
		if p := resp.problem(t); resp.status != http.StatusBadRequest || p.Code != "pictures_not_accepted" ||
			len(p.Errors) != 1 || p.Errors[0].Field != "messages" {
			t.Errorf("%d %s", resp.status, resp.body)
		}
	}
	var kept int
	if f.scan(&kept, `SELECT count(*) FROM pictures`); kept != 0 {
		t.Errorf("%d pictures remain", kept)
	}
}
