package channel

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/answer"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// maxQuoted bounds the part of a conversation that is quoted in a question, in characters.
const maxQuoted = 12_000

// askPrompt returns the model's prompt for a question in a conversation, or "" if the prompt is the question itself.
func askPrompt(messages []Message, question string) string {
	if messages = recent(messages); len(messages) == 0 {
		return ""
	}
	conversation := make([]answer.Message, len(messages))
	for i, s := range messages {
		conversation[i] = answer.Message{Name: s.Name, Text: s.Text}
	}
	return answer.ConversationInstruction + "\n" + answer.Conversation(conversation) + answer.ConversationQuestion +
		unfenced(question)
}

// summaryPrompt returns the model's prompt for a summary of a conversation.
func summaryPrompt(messages []Message) string {
	var b strings.Builder
	for _, s := range recent(messages) {
		fmt.Fprintf(&b, "%s: %s\n", s.Name, s.Text)
	}
	return textSummarize + "\n<text>\n" + unfenced(b.String()) + "</text>"
}

// unfenced escapes a text so that it cannot open or close a tag of the prompt.
func unfenced(text string) string {
	return skill.Neutralize(text, "said", "message", "source", "notes", "question")
}

// recent returns the newest messages with text, up to maxQuoted characters.
func recent(messages []Message) []Message {
	messages = slices.DeleteFunc(slices.Clone(messages), func(s Message) bool { return strings.TrimSpace(s.Text) == "" })
	room := maxQuoted
	for i := len(messages) - 1; i >= 0; i-- {
		n := utf8.RuneCountInString(messages[i].Text)
		if n > room {
			messages[i].Text = runes.First(messages[i].Text, room) + "…"
			return messages[i:]
		}
		room -= n
	}
	return messages
}
