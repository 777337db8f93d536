package chat

import (
	"context"
	"slices"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// historyMessages limits the number of earlier messages that are read.
const historyMessages = 60

// history returns the limit for the part of a thread that is sent to the model.
func (c Config) history() HistoryLimit {
	return HistoryLimit{Messages: historyMessages, Bytes: c.HistoryBytes}
}

// newAsk returns a question with its prompt.
func newAsk(
	owner identity.Owner, sk skill.Skill, guidance org.Guidance, before BranchContext, exchange Exchange, chosen AnswerModel,
) AnswerRequest {
	return AnswerRequest{
		Owner: owner, Skill: sk, Question: exchange.Question, AnswerID: exchange.Answer.ID, History: before.History,
		Prompt: newPrompt(sk, guidance, before, exchange.Question), Model: chosen,
	}
}

// BranchContext is the content of a branch before a question.
type BranchContext struct {
	History []Message // The earlier messages, as far as they are sent to the model.
	// The values of the form that began the branch, if the skill's instructions have variables for them.
	Form map[string]string

	Instructions string // Of the thread.
}

// newPrompt returns the conversation for the model: the system prompt with the instructions of the skill, the
// organization, the person and the thread, the history, and the question.
func newPrompt(sk skill.Skill, guidance org.Guidance, before BranchContext, question Message) []llm.Message {
	if question.ParentID != nil {
		sk = sk.FollowUp()
	}
	values := question.Form
	if values == nil {
		values = before.Form
	}
	history := before.History
	system := sk.System(time.Now(), values) + guidanceText(guidance) + threadInstructions(before.Instructions)
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

// modelText returns the text of a message for the model.
func (m Message) modelText() string {
	if m.Prompt != "" {
		return m.Prompt
	}
	return m.Content
}

// withOpening adds the beginning of the branch to the content before a question, if the skill needs it: the values of
// its form for the instructions, or the page in the first question, if the history does not include it.
func (s *Service) withOpening(
	ctx context.Context, owner identity.Owner, sk skill.Skill, question Message, history []Message,
) (BranchContext, error) {
	before := BranchContext{History: history}
	if question.ParentID == nil || !sk.IsExtension() && (question.Form != nil || !sk.HasVariables()) {
		return before, nil
	}
	opening, err := s.store.Opening(ctx, owner, question.ThreadID, *question.ParentID)
	if err != nil {
		return BranchContext{}, err
	}
	if !sk.IsExtension() {
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
