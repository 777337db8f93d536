package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/proofread"
)

func (s *Server) listMessages(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var c checks
	threadID := c.id("thread_id", r.URL.Query().Get("thread_id"))
	leaf := c.optionalID("leaf", r.URL.Query().Get("leaf"))
	offset, limit := c.page(r)
	if err := c.err(); err != nil {
		return err
	}
	messages, err := s.Chat.ListMessages(r.Context(), actor.Owner(), threadID, leaf, offset, limit)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, MessageList{Items: convert(messages, toMessage)})
}

func (s *Server) askMessage(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	exchange, err := s.ask(w, r, actor)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusAccepted, toExchange(exchange))
}

func (s *Server) askMessageAndWait(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	exchange, err := s.ask(w, r, actor)
	if err != nil {
		return err
	}
	exchange, err = s.Chat.WaitFor(r.Context(), actor.Owner(), exchange)
	moveWriteDeadline(w)
	if err != nil {
		return err
	}
	// The actor may have lost access in the meantime.
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	if _, err := s.Identity.ReloadActor(ctx, actor); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, toExchange(exchange))
}

// ask decodes a question and asks it.
func (s *Server) ask(w http.ResponseWriter, r *http.Request, actor identity.Actor) (chat.Exchange, error) {
	var req MessageRequest
	if err := decode(w, r, &req); err != nil {
		return chat.Exchange{}, err
	}
	question, err := toQuestion(r, req)
	if err != nil {
		return chat.Exchange{}, err
	}
	return s.answer(r, actor, question, func(ctx context.Context) (chat.Exchange, error) {
		return s.Chat.Send(ctx, actor.Owner(), question)
	})
}

// answer counts a question and calls begin to ask it.
func (s *Server) answer(
	r *http.Request, actor identity.Actor, question chat.Question,
	begin func(context.Context) (chat.Exchange, error),
) (chat.Exchange, error) {
	if err := s.Limiter.CountQuestion(actor, question.RequestID); err != nil {
		return chat.Exchange{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	exchange, err := begin(ctx)
	if errors.Is(err, chat.ErrThreadBusy) {
		// If the answer cannot be read or has ended since, its id is omitted.
		if running, _ := s.Chat.FindAttachable(ctx, actor.Owner(), question.ThreadID, ""); running != nil {
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

func toQuestion(r *http.Request, req MessageRequest) (chat.Question, error) {
	var c checks
	q := chat.Question{
		ThreadID: c.id("thread_id", req.ThreadID), Content: req.Content, Form: req.Form,
		Regenerate: c.optionalID("regenerate", req.Regenerate), Edit: c.optionalID("edit", req.Edit),
		ParentID: c.optionalID("parent_id", req.ParentID), ModelID: req.ModelID, Thinking: req.Thinking,
		AcceptTokens: req.AcceptTokens,
	}
	q.RequestID = c.requiredRequestID(r, req.RequestID)
	if req.DataSourceIds != nil {
		q.DataSourceIDs = []uuid.UUID{} // None, instead of the data sources of the thread.
	}
	for i, id := range req.DataSourceIds {
		if id := c.id("data_source_ids["+strconv.Itoa(i)+"]", id); !slices.Contains(q.DataSourceIDs, id) {
			q.DataSourceIDs = append(q.DataSourceIDs, id)
		}
	}
	if req.PictureIds != nil {
		q.PictureIDs = []uuid.UUID{} // None, instead of the pictures of the replaced question.
	}
	for i, id := range req.PictureIds {
		if id := c.id("picture_ids["+strconv.Itoa(i)+"]", id); !slices.Contains(q.PictureIDs, id) {
			q.PictureIDs = append(q.PictureIDs, id)
		}
	}
	return q, c.err()
}

func (s *Server) stopMessage(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "message_id")
	if err != nil {
		return err
	}
	if err := s.Chat.StopMessage(r.Context(), actor.Owner(), id); err != nil {
		return err
	}
	return writeNoContent(w)
}

func (s *Server) giveFeedback(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var req FeedbackRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	var c checks
	id := c.id("message_id", req.MessageID)
	if req.Rating != FeedbackRequestRatingGood && req.Rating != FeedbackRequestRatingBad {
		c.fail("rating", "good か bad を指定してください。")
	}
	if err := c.err(); err != nil {
		return err
	}
	feedback := chat.Feedback{Rating: chat.Rating(req.Rating), Comment: req.Comment, WithText: req.WithText}
	if err := s.Chat.GiveFeedback(r.Context(), actor.Owner(), id, feedback); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, Feedback{
		MessageID: id, Rating: FeedbackRating(req.Rating), Comment: req.Comment, WithText: req.WithText,
	})
}

func (s *Server) withdrawFeedback(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "message_id")
	if err != nil {
		return err
	}
	if err := s.Chat.WithdrawFeedback(r.Context(), actor.Owner(), id); err != nil {
		return err
	}
	return writeNoContent(w)
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
	}
	out.ModelID, out.ModelName = m.Writer()
	if m.Proofread != nil {
		out.Proofread = toProofread(*m.Proofread)
		if m.Decisions != nil {
			out.Proofread.Decisions = toDecisions(*m.Decisions)
		}
	}
	if len(m.Pictures) > 0 {
		out.Pictures = convert(m.Pictures, toPicture)
	}
	if m.ParentID != nil {
		out.ParentID = *m.ParentID
	}
	if m.Failure != nil {
		out.Error = MessageError{Code: m.Failure.Code, Detail: m.Failure.Detail, Retryable: m.Failure.Retryable}
	}
	if m.Feedback != nil {
		out.Feedback = MessageFeedback{
			Rating: MessageFeedbackRating(m.Feedback.Rating), Comment: m.Feedback.Comment, WithText: m.Feedback.WithText,
		}
	}
	if m.CompletedAt != nil {
		out.CompletedAt = m.CompletedAt.UTC()
	}
	return out
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
	}
	if len(r.Unchecked) > 0 {
		out.Unchecked = convert(r.Unchecked, func(u proofread.Range) ProofreadRange {
			return ProofreadRange{Start: u.Start, End: u.End}
		})
	}
	if r.File != nil {
		out.File = ProofreadFile{DataSourceID: r.File.DataSourceID, Filename: r.File.Filename, Docx: r.File.DOCX}
	}
	return out
}
