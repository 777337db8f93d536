package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/api/ratelimit"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// openAI reports whether a path is in OpenAI's form, which includes the form of its errors.
func openAI(path string) bool {
	return path == modelsPath || strings.HasPrefix(path, modelsPath+"/") || path == "/v1/chat/completions"
}

// writeOpenAIError writes a problem in OpenAI's form, with the status and headers of the problem.
func writeOpenAIError(w http.ResponseWriter, p Problem) error {
	return writeJSON(w, p.Status, OpenAIError{Error: openAIErrorOf(p)})
}

func openAIErrorOf(p Problem) OpenAIErrorBody {
	body := OpenAIErrorBody{Message: p.Detail, Code: p.Code, Type: "invalid_request_error"}
	if p.Limit != "" {
		body.Param = &p.Limit
	}
	switch {
	case p.Status == http.StatusUnauthorized:
		body.Type = "authentication_error"
	case p.Status == http.StatusForbidden:
		body.Type = "permission_error"
	case p.Status == http.StatusTooManyRequests:
		body.Type = "rate_limit_error"
	case p.Status >= http.StatusInternalServerError:
		body.Type = "server_error"
	}
	if len(p.Errors) > 0 {
		body.Param, body.Message = &p.Errors[0].Field, p.Errors[0].Message
	}
	return body
}

// completeChat handles a request in the form of OpenAI's chat completions. It asks in a thread of the actor, and
// deletes the thread at the end if the request should not be stored.
func (s *Server) completeChat(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	admission, err := s.admit(r.Context(), actor)
	if err != nil {
		return err
	}
	defer admission.Release()
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	req, exchange, err := s.beginCompletion(w, r, actor, func() error { return admission.Attach(cancel) })
	if err != nil {
		return err
	}
	if !req.store {
		defer s.forget(r, actor, exchange.Answer.ThreadID)
	}
	c := &completion{
		req: req, id: "chatcmpl-" + exchange.Answer.ID.String(), created: exchange.Answer.CreatedAt.Unix(), w: w,
	}
	if req.stream {
		err = s.streamCompletion(ctx, actor, exchange, c)
	} else if exchange, err = s.Chat.WaitFor(ctx, owner(actor), exchange); err == nil {
		moveWriteDeadline(w)
		err = s.answerCompletion(ctx, actor, exchange.Answer, c)
	}
	if err != nil && c.begun {
		panic(http.ErrAbortHandler) // Otherwise the client would treat the incomplete response as complete.
	}
	return err
}

// beginCompletion reads a request and stores its question in a new thread. It calls received after reading the request,
// and returns an error of received.
func (s *Server) beginCompletion(w http.ResponseWriter, r *http.Request, actor identity.Actor, received func() error) (
	req completionRequest, exchange chat.Exchange, err error,
) {
	leave, err := s.receiveCompletion(w, r, &req)
	if err != nil {
		return req, exchange, err
	}
	defer leave()
	if err := received(); err != nil {
		return req, exchange, err
	}
	id := req.requestID(r)
	if err := s.Limiter.CountQuestion(actor, id); err != nil { // Even for a missing model.
		return req, exchange, err
	}
	thread := chat.NewThread{}
	if !req.store {
		thread.Lifetime = chat.TemporaryLifetime
	}
	if thread.SkillID, err = s.skillOf(r, actor, req.model); err != nil {
		return req, exchange, err
	}
	drop, err := s.storePictures(r, actor, id, &req)
	if err == nil {
		moveWriteDeadline(w)
		question := req.question(id)
		exchange, err = s.answer(r, actor, question, func(ctx context.Context) (chat.Exchange, error) {
			return s.Chat.StartThread(ctx, owner(actor), thread, question)
		})
	}
	if err != nil {
		drop()
	}
	return req, exchange, req.renameParams(err)
}

// receiveCompletion reads a request. A request that may have pictures occupies one of a few slots, which bound the
// memory of such requests. The caller releases it with leave.
func (s *Server) receiveCompletion(w http.ResponseWriter, r *http.Request, req *completionRequest) (leave func(),
	err error,
) {
	limit, leave := int64(maxBody), func() {}
	if r.ContentLength < 0 || r.ContentLength > maxBody {
		within, cancel := context.WithTimeout(r.Context(), completionPatience)
		defer cancel()
		select {
		case s.largeCompletions <- struct{}{}:
			leave = func() { <-s.largeCompletions }
		case <-within.Done():
			return nil, fault.Wrap(within.Err(), fault.Unavailable, "%s", busyDetail)
		}
		limit = maxCompletion
		r.Body = &patientBody{
			ReadCloser: r.Body, rc: http.NewResponseController(w), end: time.Now().Add(pictureTimeout),
		}
	}
	body, err := readJSON(limit, w, r)
	if err == nil {
		*req, err = parseCompletion(body)
	}
	if err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// Number of slots for requests with pictures, and the maximum wait for one.
const (
	largeCompletions   = 4
	completionPatience = 20 * time.Second
)

// skillOf returns the id of the skill with a model's name.
func (s *Server) skillOf(r *http.Request, actor identity.Actor, name string) (uuid.UUID, error) {
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	found, err := s.findModel(ctx, actor, name)
	return found.ID, err
}

// storePictures stores the pictures of a request and adds their ids to its turns. drop deletes the new ones, except for
// pictures used by a question. For a repeated request it finds the stored pictures by their content.
func (s *Server) storePictures(r *http.Request, actor identity.Actor, requestID uuid.UUID, req *completionRequest) (
	drop func(), err error,
) {
	var added []uuid.UUID
	drop = func() {
		for _, id := range added { // If this fails, the sweep deletes the picture.
			_ = s.Pictures.Delete(context.WithoutCancel(r.Context()), pictureOwner(actor), id)
		}
	}
	for i := range req.turns {
		turn := &req.turns[i]
		for _, p := range turn.pictures {
			if err := s.Limiter.Count(ratelimit.KindUpload, actor); err != nil {
				return drop, err
			}
			sum := sha256.Sum256(p.content)
			once := uuid.NewSHA1(requestID, sum[:])
			kept, created, err := s.Pictures.Upload(r.Context(), pictureOwner(actor), actor.Session, &once,
				bytes.NewReader(p.content))
			if err != nil {
				return drop, renameField(err, map[string]string{"file": p.param})
			}
			if created {
				added = append(added, kept.ID)
			}
			if !slices.Contains(turn.PictureIDs, kept.ID) {
				turn.PictureIDs = append(turn.PictureIDs, kept.ID)
			}
		}
		turn.pictures = nil
	}
	return drop, nil
}

// forget deletes the thread of a request that should not be stored. If this fails, the thread expires.
func (s *Server) forget(r *http.Request, actor identity.Actor, threadID uuid.UUID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), callTimeout)
	defer cancel()
	if err := s.Chat.DeleteThread(ctx, owner(actor), threadID); err != nil && fault.CodeOf(err) != fault.NotFound {
		s.log.WarnContext(ctx, "api: deleting the thread of an unstored completion failed, it expires",
			"thread_id", threadID, "err", err)
	}
}

// answerCompletion answers a request without streaming.
func (s *Server) answerCompletion(ctx context.Context, actor identity.Actor, answer chat.Message, c *completion) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if _, err := s.Identity.ReloadActor(ctx, actor); err != nil { // The actor may have lost access in the meantime.
		return err
	}
	if err := c.failureOf(answer); err != nil {
		return err
	}
	return writeJSON(c.w, http.StatusOK, OpenAICompletion{
		ID: c.id, Object: "chat.completion", Created: int(c.created), Model: c.req.model, Usage: usageOf(answer),
		Choices: []OpenAIChoice{{
			FinishReason: finishOf(answer), Message: OpenAIAnswer{Role: "assistant", Content: c.content(answer)},
		}},
	})
}

// failureOf returns the error of a failed answer.
func (c *completion) failureOf(answer chat.Message) error {
	if answer.Status != chat.StatusFailed {
		return nil
	}
	if answer.Failure == nil {
		return fault.Errorf(fault.Unavailable, "%s", busyDetail)
	}
	if err := c.req.refusedByModel(*answer.Failure); err != nil {
		return err
	}
	return fault.Errorf(fault.Unavailable, "%s", answer.Failure.Detail)
}

// content returns the text of a complete answer with the notice of missing documents. JSON is not changed.
func (c *completion) content(answer chat.Message) string {
	notice := answer.Notice()
	if notice == "" || c.req.inJSON() {
		return answer.Content
	}
	return answer.Content + "\n\n⚠️ " + notice
}

func usageOf(answer chat.Message) OpenAIUsage {
	return OpenAIUsage{
		PromptTokens: answer.InputTokens, CompletionTokens: answer.OutputTokens,
		TotalTokens: answer.InputTokens + answer.OutputTokens,
	}
}

func finishOf(answer chat.Message) string {
	if answer.FinishReason == chat.FinishLength {
		return "length"
	}
	return "stop"
}
