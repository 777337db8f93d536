package llm_test

import (
	"bytes"
	"image"
	"image/png"
	"log/slog"
	"net/http"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestPicturesAreSentWithTheirQuestion(t *testing.T) {
	t.Parallel()
	var shot bytes.Buffer
	must.Succeed(t, png.Encode(&shot, image.NewGray(image.Rect(0, 0, 40, 30))))
	provider := llmtest.NewProvider(t).Add(llmtest.Text("猫"), llmtest.Finish("stop"), llmtest.Done())
	client := must.Get(llm.NewClient(llm.Config{BaseURL: provider.URL(), Model: llmtest.ModelName}))(t)
	result := must.Get(client.Stream(t.Context(), llm.Request{Messages: []llm.Message{
		{Role: llm.RoleSystem, Content: "秘書です。"},
		{Role: llm.RoleUser, Content: "これは何ですか", Pictures: []llm.Picture{
			{ID: "ours", MediaType: "image/png", Width: 40, Height: 30, Data: shot.Bytes()},
		}},
	}}, func(string) {}))(t)
	received := provider.Wait(1)
	got := received.Messages[1]
	if got.Content != "これは何ですか" || len(got.Pictures) != 1 || got.Pictures[0].Width != 40 ||
		!bytes.Equal(got.Pictures[0].Data, shot.Bytes()) || bytes.Contains(received.Body, []byte("ours")) {
		t.Errorf("sent %s", received.Body)
	}
	if len(received.Messages[0].Pictures) != 0 || received.Messages[0].Content != "秘書です。" {
		t.Errorf("instructions %+v", received.Messages[0])
	}
	if result.Usage.InputTokens < 85+170 { // The provider reports no usage.
		t.Errorf("%d tokens are counted", result.Usage.InputTokens)
	}
}

func TestPictureTokens(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ width, height, want int }{
		{0, 0, 255},
		{512, 512, 255},
		{1024, 1024, 85 + 4*170},
		{2048, 1536, 85 + 4*170},
		{2048, 768, 85 + 8*170},
		{40, 2048, 85 + 4*170},
	} {
		if got := llm.PictureTokens([]llm.Picture{{Width: c.width, Height: c.height}}); got != c.want {
			t.Errorf("%d × %d: %d tokens, want %d", c.width, c.height, got, c.want)
		}
	}
}

// TestPicturesAreNotSentToAFallbackWithoutPictures: such a model would answer as if the question had no pictures.
func TestPicturesAreNotSentToAFallbackWithoutPictures(t *testing.T) {
	t.Parallel()
	for _, sees := range []bool{false, true} {
		provider := llmtest.NewProvider(t).
			Add(llmtest.Status(http.StatusBadGateway, "")).
			Add(llmtest.Answer("猫")...)
		router, err := llm.NewRouter(llm.Catalog{
			Default: "one",
			Providers: []llm.Provider{{
				Config: llm.Config{BaseURL: provider.URL(), MaxRetries: -1},
				Routes: []llm.Route{
					{Offer: llm.Offer{ID: "one", Sees: true}, Fallback: "two"},
					{Offer: llm.Offer{ID: "two", Sees: sees}},
				},
			}},
		}, slog.New(slog.DiscardHandler))
		must.Succeed(t, err)
		_, err = router.Stream(t.Context(), llm.Request{Messages: []llm.Message{
			{Role: llm.RoleUser, Content: "何ですか", Pictures: []llm.Picture{{MediaType: "image/png"}}},
		}}, func(string) {})
		if sees != (err == nil) {
			t.Errorf("the fallback sees: %t, error %v", sees, err)
		}
	}
}
