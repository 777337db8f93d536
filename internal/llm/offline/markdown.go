package offline

import (
	"strings"
	"unicode"

	"github.com/tsumugi-ai/tsumugi/internal/answer"
)

// escape escapes external text like answer.Escape, and also numbers in brackets, which resemble citations.
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
