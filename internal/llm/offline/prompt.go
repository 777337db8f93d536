package offline

import (
	"html"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/answer"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
)

// prompt is a parsed conversation. The tags are those of the product's prompts:
//
//	<task>KIND</task>                                        in a system message, first line
//	<source index="1" filename="…" page="3">…</source>       in a system or user message
//	<source index="1" title="…" site="…" date="…">…</source> in a user message, a page of the web
//	<notes filename="…">- … [1]</notes>                      in a user message, notes of documents
//	<text>…</text>                                           in a user message, the text to work on
//	<field>…</field>, LABEL: VALUE                           in a user message, the other entries of a form
//	<question>…</question>                                   in a user message, the question for a title or queries
//	<earlier>…</earlier>                                     in a user message, the question before that
type prompt struct {
	task     string
	sources  []source
	text     string   // The contents of <text> in the last user message.
	question string   // The last user message without tags.
	entries  []entry  // One-line entries of the form.
	earlier  []string // The user's earlier messages, newest first.
}

// entry is a labelled form value.
type entry struct{ label, value string }

// The tasks of the browser extension.
const (
	pageSummary  = "chrome_extension_page_whole_summary"
	pageQuestion = "chrome_extension_page_whole_summary_follow_up"
)

// maxSources bounds the number of passages.
const maxSources = 500

// readPrompt parses a conversation.
func readPrompt(messages []llm.Message) prompt {
	p := prompt{task: "chat"}
	last := len(messages) - 1
	for last > 0 && messages[last].Role != llm.RoleUser {
		last--
	}
	for i, m := range messages {
		content := m.Content
		if m.Role == llm.RoleSystem {
			if task, ok := tagged(content, "task"); ok && p.task == "chat" {
				p.task = strings.ToLower(strings.TrimSpace(task))
			}
		}
		// Older user messages may contain the passages of older questions, or the page of the conversation.
		if m.Role == llm.RoleSystem || i == last || p.task == pageQuestion {
			var found, noted []source
			found, content = takeSources(content)
			noted, content = takeNotes(content)
			p.sources = append(append(p.sources, found...), noted...)
		}
		if m.Role == llm.RoleUser && i < last {
			_, content = takeSources(content)
			_, content = takeNotes(content)
			content = dropRemarks(content)
			p.earlier = append(p.earlier, plain(content))
		}
		if i == last {
			p.text, _ = tagged(content, "text")
			p.entries = readEntries(content)
			p.question = strings.TrimSpace(dropRemarks(content))
		}
	}
	p.sources = p.sources[:min(len(p.sources), maxSources)]
	if p.task == pageQuestion {
		for i := range p.sources {
			p.sources[i].index = ""
		}
	}
	slices.Reverse(p.earlier)
	return p
}

// dropRemarks removes the preceding remarks of others, and their introduction, from a question.
func dropRemarks(content string) string {
	if !strings.HasPrefix(content, answer.ConversationInstruction) {
		return content
	}
	_, after, ok := strings.Cut(content, "</said>\n")
	if !ok {
		return content
	}
	_, question, ok := strings.Cut(after, answer.ConversationQuestion)
	if !ok {
		return after
	}
	return question
}

// plain returns a user's message without its tags, or its <text> if it has one.
func plain(content string) string {
	if text, ok := tagged(content, "text"); ok {
		return text
	}
	return strings.TrimSpace(content)
}

// tagged returns the text between the first <name> and the following </name>.
func tagged(content, name string) (string, bool) {
	_, after, ok := strings.Cut(content, "<"+name+">")
	if !ok {
		return "", false
	}
	inside, _, ok := strings.Cut(after, "</"+name+">")
	return strings.TrimSpace(inside), ok
}

// takeSources returns the passages of a message, and the message without them.
func takeSources(content string) ([]source, string) {
	var sources []source
	var rest strings.Builder
	for len(sources) < maxSources {
		before, after, ok := strings.Cut(content, "<source ")
		if !ok {
			break
		}
		attributes, inside, ok := cutTag(after)
		if !ok {
			break
		}
		text, remaining, ok := strings.Cut(inside, "</source>")
		if !ok {
			break
		}
		rest.WriteString(before)
		content = remaining
		s := readAttributes(attributes)
		s.text = html.UnescapeString(text)
		sources = append(sources, s)
	}
	rest.WriteString(content)
	return sources, rest.String()
}

// cutTag splits s after the ">" that ends a tag. It ignores ">" inside quoted attributes.
func cutTag(s string) (tag, rest string, ok bool) {
	quoted := false
	for i := range len(s) {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == '>' && !quoted:
			return s[:i], s[i+1:], true
		}
	}
	return "", "", false
}

// readAttributes parses name="value" pairs.
func readAttributes(tag string) source {
	var s source
	for {
		name, after, ok := strings.Cut(tag, `="`)
		if !ok {
			return s
		}
		value, rest, ok := strings.Cut(after, `"`)
		if !ok {
			return s
		}
		tag = rest
		value = strings.Join(strings.Fields(html.UnescapeString(value)), " ")
		switch strings.TrimSpace(name) {
		case "index":
			s.index = onlyDigits(value)
		case "filename", "title":
			s.filename = value
		case "site":
			s.site = value
		case "page":
			s.page = onlyDigits(value)
		}
	}
}

// onlyDigits returns a short number, or "", because the number is written into the answer unescaped.
func onlyDigits(value string) string {
	if len(value) > 9 || strings.Trim(value, "0123456789") != "" {
		return ""
	}
	return value
}

// readEntries parses the LABEL: VALUE lines before the form's first text.
func readEntries(content string) []entry {
	if !strings.Contains(content, "<text>") {
		return nil
	}
	head, _, _ := strings.Cut(content, "<")
	var out []entry
	for line := range strings.Lines(head) {
		label, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if ok && label != "" && utf8.RuneCountInString(label) <= 20 && len(out) < 20 {
			out = append(out, entry{label, strings.TrimSpace(value)})
		}
	}
	return out
}
