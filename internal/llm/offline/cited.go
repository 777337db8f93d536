package offline

import (
	"context"
	"html"
	"regexp"
	"strings"
	"unicode/utf8"
)

// notesName is the task of notesTask.
const notesName = "notes"

// maxNoted is the maximum number of sentences in the notes of a part.
const maxNoted = 12

// notesTask notes the central sentences of a part of a document, each with the number of its source. A model receives
// this task before it summarizes a document larger than its context.
func notesTask(ctx context.Context, p prompt) string {
	text := joinSources(p.sources)
	sentences := len(candidates(splitSentences(text)))
	if sentences == 0 {
		return "なし"
	}
	s := summarize(ctx, text, wish{points: min(max(sentences/6, 3), maxNoted)})
	var b strings.Builder
	for _, point := range append([]string{s.lead}, s.points...) {
		if point != "" {
			b.WriteString("- " + escape(point) + citationOf(point, p.sources) + "\n")
		}
	}
	return b.String()
}

// citationOf returns a citation of the source that contains a sentence, or "" if none does.
func citationOf(sentence string, sources []source) string {
	for _, length := range []int{utf8.RuneCountInString(sentence), 24, 10} {
		runes := []rune(sentence)
		end := squeeze(string(runes[max(0, len(runes)-length):]))
		for _, s := range sources {
			if s.index != "" && strings.Contains(squeeze(s.text), end) {
				return "[" + s.index + "]"
			}
		}
	}
	return ""
}

// squeeze removes white space from a text, which may differ after lines were joined and split.
func squeeze(text string) string { return strings.Join(strings.Fields(text), "") }

// noteLine matches a line of <notes> and its citations.
var noteLine = regexp.MustCompile(`(?m)^- (.*?)((?: \[[0-9]{1,3}\])*)$`)

// takeNotes returns the lines of <notes> as sources, and the message without them.
func takeNotes(content string) (sources []source, rest string) {
	for {
		before, after, ok := strings.Cut(content, "<notes ")
		if !ok {
			return sources, rest + content
		}
		attributes, inside, ok := cutTag(after)
		text, remaining, closed := strings.Cut(inside, "</notes>")
		if !ok || !closed {
			return sources, rest + content
		}
		rest += before
		content = remaining
		named := readAttributes(attributes)
		for _, line := range noteLine.FindAllStringSubmatch(text, -1) {
			number, _, _ := strings.Cut(strings.TrimPrefix(line[2], " ["), "]")
			sources = append(sources, source{
				index: onlyDigits(number), filename: named.filename, text: html.UnescapeString(line[1]),
			})
		}
	}
}
