package offline

import (
	"context"
	"sync"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
)

// Exports for the external tests.

// SplitSentences returns the texts of the sentences.
func SplitSentences(text string) []string {
	var out []string
	for _, s := range splitSentences(text) {
		out = append(out, s.text)
	}
	return out
}

// Headings returns the recognized headings.
func Headings(text string) []string {
	var out []string
	for _, s := range splitSentences(text) {
		if s.kind == kindHeading {
			out = append(out, s.text)
		}
	}
	return out
}

// Title returns the title for a question.
func Title(question string) string { return makeTitle(question) }

// Escape escapes text for Markdown.
func Escape(text string) string { return escape(text) }

// Pieces splits an answer into chunks.
func Pieces(text string) []string { return cutPieces(text) }

// Proofread applies the automatic corrections. It also returns the passages that need the writer's decision.
func Proofread(text string) (corrected string, asked []string) {
	at := 0
	for _, e := range sharedEngine().proof.check(text, scopeHonour) {
		if e.ask {
			asked = append(asked, e.old)
			continue
		}
		corrected += text[at:e.start] + e.new
		at = e.end
	}
	return corrected + text[at:], asked
}

// Keywords returns the five best compound nouns.
func Keywords(text string) []string { return keywords(splitSentences(text), 5) }

// Answer answers a conversation.
func Answer(ctx context.Context, messages ...llm.Message) string {
	return sharedEngine().answer(ctx, messages)
}

// sharedEngine avoids compiling the rules for each test and fuzz input.
var sharedEngine = sync.OnceValue(newEngine)
