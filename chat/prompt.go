package chat

import (
	"context"
	"slices"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// historyMessages limits how many earlier messages are read.
const historyMessages = 60

// history returns how much of a thread is sent to the model.
func (c Config) history() Limit { return Limit{Messages: historyMessages, Bytes: c.HistoryBytes} }

// newAsk returns a question with what the model would be sent for it.
func newAsk(owner Owner, sk skill.Skill, guidance org.Guidance, history []Message, question Message) Ask {
	return Ask{
		Owner: owner, Skill: sk, Question: question, History: history,
		Prompt: newPrompt(sk, guidance, history, question),
	}
}

// newPrompt returns the conversation for the model: the skill's instructions and what every skill is told, the history,
// and the question.
func newPrompt(sk skill.Skill, guidance org.Guidance, history []Message, question Message) []llm.Message {
	if question.ParentID != nil {
		sk = sk.FollowUp()
	}
	messages := []llm.Message{{Role: llm.RoleSystem, Content: sk.System(time.Now()) + guide(guidance)}}
	// A conversation must begin with a question.
	from := 0
	for from < len(history) && history[from].Role != RoleUser {
		from++
	}
	for _, m := range append(slices.Clone(history[from:]), question) {
		role := llm.RoleUser
		if m.Role == RoleAssistant {
			role = llm.RoleAssistant
		}
		messages = append(messages, llm.Message{Role: role, Content: m.modelText()})
	}
	return messages
}

// modelText returns what the model reads of a message.
func (m Message) modelText() string {
	if m.Prompt != "" {
		return m.Prompt
	}
	return m.Content
}

// withOpening adds the beginning of the branch to a history that was cut off before it, in threads that are about the
// page in their first question.
func (s *Service) withOpening(
	ctx context.Context, owner Owner, sk skill.Skill, question Message, history []Message,
) ([]Message, error) {
	if question.ParentID == nil || !sk.OfExtension() {
		return history, nil
	}
	opening, err := s.questions.Opening(ctx, owner, question.ThreadID, *question.ParentID)
	if err != nil {
		return nil, err
	}
	for i, m := range opening {
		if len(history) > 0 && history[0].ID == m.ID {
			return append(opening[:i:i], history...), nil
		}
	}
	return append(opening, history...), nil
}
