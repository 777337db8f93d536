package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/proofread"
)

func (s *Server) listMessages(c *call) (any, error) {
	threadID, leaf := c.queryID("thread_id"), c.optionalQueryID("leaf")
	offset, limit := c.page()
	if err := c.err(); err != nil {
		return nil, err
	}
	messages, err := s.Chat.ListMessages(c.ctx(), c.actor.Owner(), threadID, leaf, offset, limit)
	list := MessageList{Items: convert(messages, toMessage)}
	if err == nil && offset == 0 && len(messages) > 0 && messages[0].SharedIn != nil {
		var waiting []chat.Message
		waiting, err = s.Chat.ListWaiting(c.ctx(), c.actor.Owner(), threadID)
		list.Queue = convert(waiting, toMessage)
	}
	return list, err
}

func (s *Server) askMessage(c *call) (any, error) {
	exchange, err := s.ask(c)
	if err == nil && exchange.Waits() {
		return waitingReply(exchange), nil
	}
	return reply{http.StatusAccepted, toExchange(exchange)}, err
}

// waitingReply returns the reply with a question that waits in a shared thread.
func waitingReply(exchange chat.Exchange) reply {
	q := exchange.Question
	return reply{http.StatusAccepted, WaitingQuestion{
		MessageID: q.ID, ThreadID: q.ThreadID, Status: JobStatus(q.Status), Position: q.Waiting,
	}}
}

func (s *Server) askMessageAndWait(c *call) (any, error) {
	exchange, err := s.ask(c)
	if err != nil {
		return nil, err
	}
	if exchange.Waits() {
		return waitingReply(exchange), nil
	}
	exchange, err = s.Chat.WaitFor(c.ctx(), c.actor.Owner(), exchange)
	moveWriteDeadline(c.w)
	if err == nil {
		err = s.reload(c.ctx(), c.actor)
	}
	return toExchange(exchange), err
}

// reload checks that an actor has not lost access during a long call.
func (s *Server) reload(ctx context.Context, actor identity.Actor) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := s.Identity.ReloadActor(ctx, actor)
	return err
}

// ask decodes a question and asks it.
func (s *Server) ask(c *call) (chat.Exchange, error) {
	var req MessageRequest
	if err := decode(c.w, c.r, &req); err != nil {
		return chat.Exchange{}, err
	}
	question := c.question(req)
	if err := c.err(); err != nil {
		return chat.Exchange{}, err
	}
	question.MayWait = true
	return s.answer(c, question, func(ctx context.Context) (chat.Exchange, error) {
		return s.Chat.Send(ctx, c.actor.Owner(), question)
	})
}

// answer counts a question and calls begin to ask it.
func (s *Server) answer(
	c *call, question chat.Question, begin func(context.Context) (chat.Exchange, error),
) (chat.Exchange, error) {
	if err := s.Limiter.CountQuestion(c.actor, question.RequestID); err != nil {
		return chat.Exchange{}, err
	}
	ctx, cancel := context.WithTimeout(c.ctx(), callTimeout)
	defer cancel()
	exchange, err := begin(ctx)
	if errors.Is(err, chat.ErrThreadBusy) {
		// If the answer cannot be read or has ended since, its id is omitted.
		if running, _ := s.Chat.FindAttachable(ctx, c.actor.Owner(), question.ThreadID, ""); running != nil {
			err = &busy{error: err, messageID: running.ID}
		}
	}
	return exchange, err
}

// busy is chat.ErrThreadBusy with the id of the running answer.
type busy struct {
	error

	messageID uuid.UUID
}

// Unwrap returns the underlying error.
func (b *busy) Unwrap() error { return b.error }

// question parses a question.
func (c *checks) question(req MessageRequest) chat.Question {
	q := chat.Question{
		ThreadID: c.id("thread_id", req.ThreadID), Content: req.Content, Form: req.Form,
		Regenerate: c.optionalID("regenerate", req.Regenerate), Edit: c.optionalID("edit", req.Edit),
		ParentID: c.optionalID("parent_id", req.ParentID), ModelID: req.ModelID, Thinking: req.Thinking,
		AcceptTokens: req.AcceptTokens, RequestID: c.requiredRequestID(req.RequestID),
	}
	if req.DataSourceIds != nil { // An empty list means none, instead of the data sources of the thread.
		q.DataSourceIDs = c.distinctIDs("data_source_ids", req.DataSourceIds)
	}
	if req.PictureIds != nil { // An empty list means none, instead of the pictures of the replaced question.
		q.PictureIDs = c.distinctIDs("picture_ids", req.PictureIds)
	}
	return q
}

func (s *Server) stopMessage(c *call) (any, error) {
	return nil, s.Chat.StopMessage(c.ctx(), c.actor.Owner(), c.pathID)
}

func (s *Server) cancelWaitingQuestion(c *call) (any, error) {
	return nil, s.Chat.CancelWaiting(c.ctx(), c.actor.Owner(), c.pathID)
}

// suggestQuestions suggests questions. The model may take longer than other calls.
func (s *Server) suggestQuestions(c *call) (any, error) {
	texts, err := s.Chat.Suggest(c.ctx(), c.actor.Owner(), c.pathID)
	moveWriteDeadline(c.w)
	if err == nil {
		err = s.reload(c.ctx(), c.actor)
	}
	return SuggestionList{Items: convert(texts, func(text string) string { return text })}, err
}

func (s *Server) giveFeedback(c *call, req FeedbackRequest) (any, error) {
	id := c.id("message_id", req.MessageID)
	if !req.Rating.Valid() {
		c.fail("rating", "good か bad を指定してください。")
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	feedback := chat.Feedback{Rating: chat.Rating(req.Rating), Comment: req.Comment, WithText: req.WithText}
	return Feedback{
		MessageID: id, Rating: FeedbackRating(req.Rating), Comment: req.Comment, WithText: req.WithText,
	}, s.Chat.GiveFeedback(c.ctx(), c.actor.Owner(), id, feedback)
}

func (s *Server) withdrawFeedback(c *call) (any, error) {
	return nil, s.Chat.WithdrawFeedback(c.ctx(), c.actor.Owner(), c.pathID)
}

func toExchange(e chat.Exchange) Exchange {
	return Exchange{Question: toMessage(e.Question), Answer: toMessage(e.Answer)}
}

func toMessage(m chat.Message) Message {
	out := Message{
		ID: m.ID, ThreadID: m.ThreadID, Siblings: m.Siblings, Role: MessageRole(m.Role), Content: m.Content,
		Form: m.Form, DataSourceIds: m.DataSourceIDs, Status: JobStatus(m.Status),
		FinishReason: MessageFinishReason(m.FinishReason), Model: m.Model, CreatedAt: m.CreatedAt.UTC(),
		Reasoning: m.Reasoning, ReasoningMs: int(m.ReasoningTime.Milliseconds()),
		Usage: Usage{InputTokens: m.InputTokens, OutputTokens: m.OutputTokens},
		Citations: convert(m.Citations, func(c chat.Citation) Citation {
			return Citation{
				Index: c.Index, ChunkEmbeddingID: c.ChunkEmbeddingID, DataSourceID: c.DataSourceID,
				Filename: c.Filename, Page: c.Page, Locator: c.Locator, Score: float32(c.Score), Quote: c.Quote,
				Support: CitationSupport(c.Support), URL: c.URL, Site: c.Site, PublishedOn: c.PublishedOn,
				WeakOccurrences: c.WeakOccurrences, Deleted: c.Deleted,
			}
		}),
		Steps: convert(m.Steps, func(t chat.Step) Step {
			return Step{
				Kind: StepKind(t.Kind), Status: JobStatus(t.Status), Detail: t.Detail, Done: t.Done, Total: t.Total,
			}
		}),
		Suggestions: m.Suggestions, ParentID: value(m.ParentID), CompletedAt: utc(m.CompletedAt),
		Error: optional(m.Failure, func(f chat.Failure) MessageError {
			return MessageError{Code: f.Code, Detail: f.Detail, Retryable: f.Retryable}
		}),
		Feedback: optional(m.Feedback, func(f chat.Feedback) MessageFeedback {
			return MessageFeedback{Rating: MessageFeedbackRating(f.Rating), Comment: f.Comment, WithText: f.WithText}
		}),
	}
	out.ModelID, out.ModelName = m.Writer()
	out.Author = optional(m.Author, func(a chat.Author) Author { return Author{ID: a.ID, Name: a.Name} })
	out.Queue.Position = m.Waiting
	if m.Proofread != nil {
		out.Proofread = toProofread(*m.Proofread)
		out.Proofread.Decisions = optional(m.Decisions, toDecisions)
	}
	if m.AwaitsApproval {
		out.Waiting = "approval"
	}
	if len(m.ToolCalls) > 0 {
		out.ToolCalls = convert(m.ToolCalls, toToolCall)
	}
	if len(m.Pictures) > 0 {
		out.Pictures = convert(m.Pictures, toPicture)
	}
	return out
}

func toToolCall(c chat.ToolCall) ToolCall {
	c = c.Shown()
	return ToolCall{
		ID: c.ID, Name: c.Name, Title: c.Title, Arguments: c.Arguments, Offset: c.Offset,
		Status: ToolCallStatus(c.State), Result: c.Result, Error: c.Error, DurationMs: int(c.Duration.Milliseconds()),
		Approval: optional(c.Approval, toToolCallApproval),
	}
}

func toProofread(r proofread.Result) Proofread {
	out := Proofread{
		Text: r.Text, Dropped: r.Dropped,
		Changes: convert(r.Changes, func(c proofread.Change) ProofreadChange {
			return ProofreadChange{
				ID: c.ID, Start: c.Start, End: c.End, Before: c.Before, After: c.After, Kind: string(c.Kind),
				Reason: c.Reason, Question: c.Question,
			}
		}),
		File: optional(r.File, func(f proofread.File) ProofreadFile {
			return ProofreadFile{DataSourceID: f.DataSourceID, Filename: f.Filename, Docx: f.DOCX}
		}),
	}
	if len(r.Unchecked) > 0 {
		out.Unchecked = convert(r.Unchecked, func(u proofread.Range) ProofreadRange {
			return ProofreadRange{Start: u.Start, End: u.End}
		})
	}
	return out
}
