package llm

import (
	"math"
	"unicode/utf8"
)

// EstimateTokens estimates the number of tokens of a text, for providers that report no usage and for fitting a prompt
// into a model's context. It needs no vocabulary.
//
// Current vocabularies (o200k, Llama 3, Qwen) use about one token per non-ASCII Japanese character — fewer for frequent
// words, more for rare kanji — and one per four ASCII characters. The estimate for Japanese is rather too high than too
// low.
func EstimateTokens(text string) int {
	var count tokenCount
	count.add(text)
	return count.total()
}

// tokenCount estimates the tokens of a text in pieces.
type tokenCount struct{ ascii, wide, rare int }

func (c *tokenCount) add(text string) {
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
			c.ascii++
		case r > 0xFFFF: // Emoji and rare kanji are split into bytes.
			c.rare++
		default:
			c.wide++
		}
	}
}

func (c *tokenCount) total() int { return (c.ascii+3)/4 + c.wide + 2*c.rare }

// estimateInput estimates the prompt tokens of a request, including the tokens around each message, tool and call.
func estimateInput(req *Request) int {
	const frame = 4
	tokens := 0
	for _, m := range req.Messages {
		tokens += frame + EstimateTokens(m.Content) + PictureTokens(m.Pictures)
		for _, call := range m.ToolCalls {
			tokens += frame + EstimateTokens(call.Name) + EstimateTokens(call.Arguments)
		}
	}
	for _, tool := range req.Tools {
		tokens += frame + EstimateTokens(tool.Name) + EstimateTokens(tool.Description) +
			EstimateTokens(string(tool.Parameters))
	}
	return tokens
}

// PictureTokens estimates the number of tokens of pictures like OpenAI's models of the GPT-4 family. A picture is
// scaled down to 2,048 pixels, and to 768 on the shorter side. It then costs 85 tokens plus 170 for each started square
// of 512 pixels. Other models use up to three times as many for large pictures.
func PictureTokens(pictures []Picture) int {
	const longest, shorter, square, each, base = 2048, 768, 512, 170, 85
	tokens := 0
	for _, p := range pictures {
		width, height := float64(max(p.Width, 1)), float64(max(p.Height, 1))
		scale := min(1, longest/max(width, height))
		scale = min(scale, shorter/min(width, height))
		squares := math.Ceil(width*scale/square) * math.Ceil(height*scale/square)
		tokens += base + each*int(squares)
	}
	return tokens
}
