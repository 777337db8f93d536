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
func newAsk(
	owner Owner, sk skill.Skill, guidance org.Guidance, before Before, exchange Exchange, chosen Chosen,
) Ask {
	return Ask{
		Owner: owner, Skill: sk, Question: exchange.Question, AnswerID: exchange.Answer.ID, History: before.History,
		Prompt: newPrompt(sk, guidance, before, exchange.Question), Model: chosen,
	}
}

// Before is what precedes a question in its branch.
type Before struct {
	History []Message         // As much of it as the model is sent.
	Form    map[string]string // The values with which it began, where the skill's instructions have places for them.

	Instructions string // Of the thread.
}

// newPrompt returns the conversation for the model: the system prompt with the instructions of the skill, the
// organization, the person and the thread, the history, and the question.
func newPrompt(sk skill.Skill, guidance org.Guidance, before Before, question Message) []llm.Message {
	if question.ParentID != nil {
		sk = sk.FollowUp()
	}
	values := question.Form
	if values == nil {
		values = before.Form
	}
	history := before.History
	system := sk.System(time.Now(), values) + guide(guidance) + conditions(before.Instructions)
	messages := []llm.Message{{Role: llm.RoleSystem, Content: system}}
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
		messages = append(messages, llm.Message{
			Role: role, Content: m.modelText(), Pictures: promptPictures(m.Pictures),
		})
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

// withOpening completes what precedes a question by the beginning of its branch, if the skill needs it: by the values of
// its form, which belong into the instructions, or by the page that the first question brought along, if the history was
// cut off before it.
func (s *Service) withOpening(
	ctx context.Context, owner Owner, sk skill.Skill, question Message, history []Message,
) (Before, error) {
	before := Before{History: history}
	if question.ParentID == nil || !sk.OfExtension() && (question.Form != nil || !sk.HasVariables()) {
		return before, nil
	}
	opening, err := s.questions.Opening(ctx, owner, question.ThreadID, *question.ParentID)
	if err != nil {
		return Before{}, err
	}
	if !sk.OfExtension() {
		if len(opening) > 0 {
			before.Form = opening[0].Form
		}
		return before, nil
	}
	for i, m := range opening {
		if len(history) > 0 && history[0].ID == m.ID {
			before.History = slices.Concat(opening[:i], history)
			return before, nil
		}
	}
	before.History = slices.Concat(opening, history)
	return before, nil
}
