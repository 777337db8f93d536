package llm

import "unicode/utf8"

// EstimateTokens guesses how many tokens a text costs, for providers that report no usage and for fitting a prompt into
// a model's context. It needs no vocabulary.
//
// Current vocabularies (o200k, Llama 3, Qwen) spend about one token on a Japanese character that isn't ASCII — frequent
// words less, rare kanji more — and one on four ASCII characters. The guess is high rather than low for Japanese.
func EstimateTokens(text string) int {
	var count tokenCount
	count.add(text)
	return count.total()
}

// tokenCount estimates the tokens of a text that comes in pieces.
type tokenCount struct{ ascii, wide, rare int }

func (c *tokenCount) add(text string) {
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
			c.ascii++
		case r > 0xFFFF: // Emoji and rare kanji fall apart into bytes.
			c.rare++
		default:
			c.wide++
		}
	}
}

func (c *tokenCount) total() int { return (c.ascii+3)/4 + c.wide + 2*c.rare }

// estimateInput guesses the prompt tokens of a request, with the few that frame each message.
func estimateInput(messages []Message) int {
	const frame = 4
	tokens := 0
	for _, m := range messages {
		tokens += frame + EstimateTokens(m.Content)
	}
	return tokens
}
