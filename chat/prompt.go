package chat

import (
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// historyMessages is how many earlier messages are read at most.
const historyMessages = 60

// history says how much of a thread the model is given.
func (c Config) history() Limit { return Limit{Messages: historyMessages, Bytes: c.HistoryBytes} }

// prompt is what the model is told.
type prompt struct {
	messages []llm.Message
	question string // As the thread shows it, for the title.
}

// newPrompt returns the conversation for the model: the skill's instructions, the history, and the question.
func newPrompt(sk skill.Skill, history []Message, content, question string) prompt {
	messages := []llm.Message{{Role: llm.RoleSystem, Content: sk.System(time.Now())}}
	// A conversation begins with a question.
	from := 0
	for from < len(history) && history[from].Role != RoleUser {
		from++
	}
	for _, m := range history[from:] {
		role := llm.RoleUser
		if m.Role == RoleAssistant {
			role = llm.RoleAssistant
		}
		messages = append(messages, llm.Message{Role: role, Content: m.modelText()})
	}
	if question == "" {
		question = content
	}
	messages = append(messages, llm.Message{Role: llm.RoleUser, Content: question})
	return prompt{messages: messages, question: content}
}

// modelText returns what the model reads of a message.
func (m Message) modelText() string {
	if m.Prompt != "" {
		return m.Prompt
	}
	return m.Content
}
