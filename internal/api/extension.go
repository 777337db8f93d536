package api

import (
	"context"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/internal/webpage"
)

// maxPageBody bounds the body of a question about a page, in bytes. It is the size of a page with all characters
// escaped.
const maxPageBody = 4 << 20

// streamChatCompletion answers a question of the browser extension about a page. The answer is an ordinary message, in
// a thread with one of the extension's skills.
func (s *Server) streamChatCompletion(c *call) error {
	return s.streamExchange(c, func() (chat.Exchange, error) {
		var req ChatCompletionStreamRequest
		if err := decodeUpTo(maxPageBody, c.w, c.r, &req); err != nil {
			return chat.Exchange{}, err
		}
		question, continues, err := c.pageQuestion(req)
		if err != nil {
			return chat.Exchange{}, err
		}
		projectID := c.optionalID("project_id", req.ProjectID)
		if projectID != nil && continues {
			c.fail("project_id", "続きの質問では、プロジェクトを指定できません。")
		}
		if err := c.err(); err != nil {
			return chat.Exchange{}, err
		}
		kind := skill.Kind(req.Kind)
		return s.answer(c, question, func(ctx context.Context) (chat.Exchange, error) {
			if continues {
				return s.askFollowUp(ctx, c.actor, kind, question)
			}
			begins, _ := skill.Extension(kind)
			return s.Chat.StartThread(ctx, c.actor.Owner(), chat.NewThread{
				SkillID: begins.ID, ProjectID: projectID,
			}, question)
		})
	})
}

// pageQuestion returns the question of a request, and whether it refers to a thread.
func (c *checks) pageQuestion(req ChatCompletionStreamRequest) (q chat.Question, continues bool, err error) {
	if id := c.optionalID("thread_id", req.ThreadID); id != nil {
		q.ThreadID, continues = *id, true
	}
	q.RequestID = c.requiredRequestID(req.RequestID)
	if err := c.err(); err != nil {
		return q, continues, err
	}
	asked, err := webpage.Request{
		Kind: skill.Kind(req.Kind), IsFollowUp: continues, URL: req.Page.URL, Title: req.Page.Title, Text: req.Page.Text,
		Truncated: req.Page.TruncatedCharacters, Selection: req.Selection,
		Messages: convert(req.Messages, func(m ChatCompletionMessage) webpage.Message {
			return webpage.Message{Role: string(m.Role), Content: m.Content}
		}),
	}.Question()
	q.Content, q.Prompt, q.AcceptTokens = asked.Content, asked.Prompt, req.AcceptTokens
	return q, continues, err
}

// askFollowUp asks in a thread of the extension that allows questions of this kind.
func (s *Server) askFollowUp(
	ctx context.Context, actor identity.Actor, kind skill.Kind, question chat.Question,
) (chat.Exchange, error) {
	thread, err := s.Chat.FindThread(ctx, actor.Owner(), question.ThreadID)
	if err != nil {
		return chat.Exchange{}, err
	}
	found, err := s.Skill.Get(ctx, actor.OrganizationID, actor.ID, thread.SkillID)
	if err != nil {
		return chat.Exchange{}, err
	}
	if !found.IsExtension() || found.FollowUp().Kind != kind {
		return chat.Exchange{}, fault.InvalidField("thread_id", "この種類の質問をするチャットではありません。")
	}
	return s.Chat.Send(ctx, actor.Owner(), question)
}
