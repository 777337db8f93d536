package api_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func encodePNG(t *testing.T, width, height int) []byte {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, width, height))
	img.SetGray(0, 0, color.Gray{255})
	var out bytes.Buffer
	must.Succeed(t, png.Encode(&out, img))
	return out.Bytes()
}

// uploadPicture returns the call with which a browser uploads a picture.
func uploadPicture(token string, content []byte) call {
	c := upload(token, "画像.png", string(content))
	c.path = "/v1/picture"
	return c
}

func TestPictureIsKeptShownAndDeleted(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	c := uploadPicture(f.alice.Subject, encodePNG(t, 2100, 1050))
	c.header["Idempotency-Key"] = newID()
	kept := get[api.Picture](f, http.StatusCreated, c)
	if kept.Width != 2048 || kept.Height != 1024 || kept.MediaType != "image/png" || kept.Size == 0 {
		t.Errorf("kept %+v", kept)
	}
	if again := get[api.Picture](f, http.StatusOK, c); again != kept {
		t.Errorf("uploaded again %+v", again)
	}
	path := "/v1/picture/" + kept.ID.String()
	for query, width := range map[string]int{"": 2048, "?size=full": 2048, "?size=thumbnail": 400} {
		resp := f.do(call{method: "GET", path: path + query, token: f.alice.Subject})
		shown, err := png.DecodeConfig(bytes.NewReader(resp.body))
		if resp.status != http.StatusOK || err != nil || shown.Width != width {
			t.Errorf("%q: %d, %d pixels wide, %v", query, resp.status, shown.Width, err)
		}
		for name, want := range map[string]string{ // R67: only pictures are displayed.
			"Content-Type": "image/png", "X-Content-Type-Options": "nosniff", "Content-Disposition": "inline",
			"Content-Security-Policy": "sandbox; default-src 'none'",
			"Cache-Control":           "private, max-age=31536000, immutable",
		} {
			if got := resp.header.Get(name); got != want {
				t.Errorf("%q: %s is %q, want %q", query, name, got, want)
			}
		}
		if !slices.Contains(resp.header.Values("Vary"), "Authorization") {
			t.Errorf("%q varies with %q", query, resp.header.Values("Vary"))
		}
	}
	if resp := f.do(call{method: "GET", path: path + "?size=huge", token: f.alice.Subject}); resp.status !=
		http.StatusBadRequest {
		t.Errorf("another size: %d", resp.status)
	}
	if resp := f.do(call{method: "DELETE", path: path, token: f.alice.Subject}); resp.status != http.StatusNoContent {
		t.Errorf("%d %s", resp.status, resp.body)
	}
	if resp := f.do(call{method: "GET", path: path, token: f.alice.Subject}); resp.status != http.StatusNotFound {
		t.Errorf("deleted: %d", resp.status)
	}
}

func TestRefusedPictures(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	large := append([]byte("\xFF\xD8\xFF"), make([]byte, 20<<20)...)
	for name, c := range map[string]struct {
		content []byte
		status  int
		code    string
		says    string
	}{
		"HEIC":  {[]byte("\x00\x00\x00\x24ftypheic\x00\x00\x00\x00mif1heic"), 415, "unsupported_media_type", "互換性優先"},
		"large": {large, 413, "too_large", "20 MB"},
		"bomb":  {encodePNG(t, 30_001, 1), 413, "too_large", "縮小"},
		"half":  {encodePNG(t, 30, 30)[:50], 400, "invalid", "保存し直して"},
		"empty": {nil, 400, "invalid", "中身"},
	} {
		resp := f.do(uploadPicture(f.alice.Subject, c.content))
		p := resp.problem(t)
		if resp.status != c.status || p.Code != c.code || !strings.Contains(p.Detail, c.says) ||
			len(p.Errors) != 1 || p.Errors[0].Field != "file" {
			t.Errorf("%s: %d %+v", name, resp.status, p)
		}
	}
	if files := f.keptFiles(); len(files) != 0 {
		t.Errorf("%v is kept", files)
	}
}

func TestQuestionWithPictures(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("猫です。"))
	kept := get[api.Picture](f, http.StatusCreated, uploadPicture(f.alice.Subject, encodePNG(t, 40, 30)))
	thread := f.thread(f.alice.Subject)
	body := map[string]any{
		"request_id": newID(), "thread_id": thread.ID, "content": "何ですか",
		"picture_ids": []any{kept.ID, kept.ID},
	}
	asked := get[api.Exchange](f, http.StatusOK, call{
		method: "POST", path: "/v1/message/sync", token: f.alice.Subject, body: body,
	})
	listed := get[api.MessageList](f, http.StatusOK, call{
		method: "GET", path: "/v1/message?thread_id=" + thread.ID.String(), token: f.alice.Subject,
	})
	for _, question := range []api.Message{asked.Question, listed.Items[1]} {
		if !slices.Equal(question.Pictures, []api.Picture{kept}) {
			t.Errorf("the question has %+v", question.Pictures)
		}
	}
	if asked.Answer.Pictures != nil {
		t.Errorf("the answer has %+v", asked.Answer.Pictures)
	}
	resp := f.do(call{method: "DELETE", path: "/v1/picture/" + kept.ID.String(), token: f.alice.Subject})
	if resp.status != http.StatusConflict {
		t.Errorf("deleted from a question: %d", resp.status)
	}
	body["request_id"], body["thread_id"] = newID(), f.thread(f.bob.Subject).ID
	resp = f.do(call{method: "POST", path: "/v1/message/async", token: f.bob.Subject, body: body})
	if resp.status != http.StatusNotFound {
		t.Errorf("a colleague asks with it: %d %s", resp.status, resp.body)
	}

	// R98: a share contains the number of pictures, but not the pictures.
	share := f.share(f.alice.Subject, asked)
	shared := get[api.SharedMessageList](f, http.StatusOK, call{
		method: "GET", path: "/v1/share/" + share.ID.String() + "/message", token: f.bob.Subject,
	})
	if got := shared.Items; got[0].PictureCount != 1 || got[1].PictureCount != 0 {
		t.Errorf("shared %+v", got)
	}
	resp = f.do(call{method: "GET", path: "/v1/picture/" + kept.ID.String(), token: f.bob.Subject})
	if resp.status != http.StatusNotFound {
		t.Errorf("shown to a colleague: %d", resp.status)
	}
}
