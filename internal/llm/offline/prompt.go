package offline

import (
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/answer"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
)

// prompt is a parsed conversation.
type prompt struct {
	system   string           // The system messages.
	sources  []answer.Passage // The <source> elements and the lines of <notes> of all questions.
	question string           // The last question without sources.
	earlier  []string         // The questions before it, newest first.
}

// readPrompt parses a conversation.
func readPrompt(messages []llm.Message) prompt {
	var p prompt
	var questions []string
	for _, m := range messages {
		switch m.Role {
		case llm.RoleSystem:
			p.system += m.Content + "\n"
		case llm.RoleUser:
			sources, rest := answer.Split(m.Content)
			noted, rest := splitNotes(rest)
			if after, found := strings.CutPrefix(rest, answer.ConversationInstruction); found {
				_, rest, _ = strings.Cut(after, "</said>\n") // The remarks of others come before the question.
				rest = strings.TrimPrefix(rest, answer.ConversationQuestion)
			}
			p.sources = slices.Concat(p.sources, sources, noted)
			questions = append(questions, strings.TrimSpace(rest))
		}
	}
	if n := len(questions); n > 0 {
		slices.Reverse(questions)
		p.question, p.earlier = questions[0], questions[1:]
	}
	return p
}

var (
	notesElement = regexp.MustCompile(`(?s)^<notes filename="([^"]*)">\n(.*?)</notes>\n`)
	noteLine     = regexp.MustCompile(`(?m)^- (.*?)((?: \[[0-9]{1,3}\])*)$`)
)

// splitNotes returns the lines of the <notes> at the beginning of a text as sources, and the remaining text.
func splitNotes(text string) (sources []answer.Passage, rest string) {
	for {
		element := notesElement.FindStringSubmatch(text)
		if element == nil {
			return sources, text
		}
		for _, line := range noteLine.FindAllStringSubmatch(element[2], -1) {
			number, _, _ := strings.Cut(strings.TrimPrefix(line[2], " ["), "]")
			index, _ := strconv.Atoi(number) // 0 without a citation.
			sources = append(sources, answer.Passage{
				Index: index, Filename: html.UnescapeString(element[1]), Text: html.UnescapeString(line[1]),
			})
		}
		text = text[len(element[0]):]
	}
}

// element returns the text of the first element with a name.
func element(content, name string) (text string, found bool) {
	_, after, found := strings.Cut(content, "<"+name+">")
	if !found {
		return "", false
	}
	text, _, found = strings.Cut(after, "</"+name+">")
	return strings.TrimSpace(text), found
}

// cite returns the citation of a source, or "" if it has no number or the instructions forbid citations.
func (p prompt) cite(source answer.Passage) string {
	if source.Index == 0 || strings.Contains(p.system, "引用番号を付けない") {
		return ""
	}
	return " [" + strconv.Itoa(source.Index) + "]"
}
