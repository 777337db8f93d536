package llmtest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	_ "image/jpeg" // Decodes the formats that are sent to models.
	_ "image/png"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
)

// wireContent is the content of a message: a text, or parts that are texts and pictures.
type wireContent struct {
	text     string
	pictures []llm.Picture
}

func (c *wireContent) UnmarshalJSON(encoded []byte) error {
	if err := json.Unmarshal(encoded, &c.text); err == nil {
		return nil
	}
	var parts []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if err := json.Unmarshal(encoded, &parts); err != nil {
		return err
	}
	for _, part := range parts {
		if part.Type == "text" {
			c.text += part.Text
			continue
		}
		picture, err := parsePicture(part.ImageURL.URL)
		if err != nil {
			return fmt.Errorf("part of type %q: %w", part.Type, err)
		}
		c.pictures = append(c.pictures, picture)
	}
	return nil
}

// parsePicture decodes a data URL.
func parsePicture(url string) (llm.Picture, error) {
	media, encoded, _ := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return llm.Picture{}, err
	}
	size, form, err := image.DecodeConfig(bytes.NewReader(data))
	if err == nil && media != "image/"+form {
		err = fmt.Errorf("%s is called %s", form, media)
	}
	return llm.Picture{MediaType: media, Width: size.Width, Height: size.Height, Data: data}, err
}

// told lists the pictures of each question with their types and sizes.
func told(messages []llm.Message) string {
	var lines []string
	for _, m := range messages {
		for i, p := range m.Pictures {
			lines = append(lines, fmt.Sprintf("- 画像%d: %s %d×%d", i+1, p.MediaType, p.Width, p.Height))
		}
	}
	return fmt.Sprintf("画像を%d枚受け取りました。\n\n%s", len(lines), strings.Join(lines, "\n"))
}
