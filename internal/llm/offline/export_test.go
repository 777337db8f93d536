package offline

import (
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
func Title(question string) string { return title(question) }

// Escape escapes text for Markdown.
func Escape(text string) string { return escape(text) }

// Pieces splits an answer into chunks.
func Pieces(text string) []string { return cutPieces(text) }

// Proofread applies the automatic corrections. It also returns the passages that need the writer's decision.
func Proofread(text string) (corrected string, asked []string) {
	at := 0
	for _, e := range shared().proof.check(text, "") {
		if e.question {
			asked = append(asked, text[e.start:e.end])
			continue
		}
		corrected += text[at:e.start] + e.new
		at = e.end
	}
	return corrected + text[at:], asked
}

// Answer answers a conversation.
func Answer(messages ...llm.Message) string { return shared().answer(messages).text }

// shared avoids compiling the rules for each test and fuzz input.
var shared = sync.OnceValue(func() *handler { return &handler{proof: newProofreader()} })
