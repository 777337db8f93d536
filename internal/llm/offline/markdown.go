package offline

import (
	"strings"
	"unicode"

	"github.com/tsumugi-ai/tsumugi/internal/answer"
)

// escape escapes text from outside as answer.Escape does, and so that no number in brackets looks like a citation.
func escape(text string) string {
	runes := []rune(text)
	for i, r := range runes {
		switch {
		case strings.ContainsRune("【［", r) && i+1 < len(runes) && unicode.IsDigit(runes[i+1]):
			runes[i] = '〔'
		case strings.ContainsRune("】］", r) && i > 0 && unicode.IsDigit(runes[i-1]):
			runes[i] = '〕'
		}
	}
	return answer.Escape(string(runes))
}
