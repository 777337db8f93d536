package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/api/openai"
	"github.com/tsumugi-ai/tsumugi/internal/api/ratelimit"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/stream"
)

const modelsPath = "/v1/models"

// openAI reports whether a path is in OpenAI's form, which includes the form of its errors.
func openAI(path string) bool {
	return path == modelsPath || strings.HasPrefix(path, modelsPath+"/") || path == "/v1/chat/completions" ||
		path == "/v1/responses"
}

// writeOpenAIError writes a problem in OpenAI's form, with the status and headers of the problem.
func writeOpenAIError(w http.ResponseWriter, p Problem) error {
	var param *string
	message := p.Detail
	if len(p.Errors) > 0 {
		param, message = &p.Errors[0].Field, p.Errors[0].Message
	} else if p.Limit != "" {
		param = &p.Limit
	}
	return writeJSON(w, p.Status, openai.NewError(p.Status, p.Code, message, param))
}

// completeChat handles a request in the form of OpenAI's chat completions.
func (s *Server) completeChat(c *call) error { return s.answerOpenAI(c, openai.ParseCompletion) }

// createResponse handles a request in the form of OpenAI's responses.
func (s *Server) createResponse(c *call) error { return s.answerOpenAI(c, openai.ParseResponse) }

// answerOpenAI handles a request in one of OpenAI's forms. It asks in a thread of the actor, and deletes the thread at
// the end if the request should not be stored.
func (s *Server) answerOpenAI(c *call, parse parseOpenAI) error {
	admission, err := s.admit(c.ctx(), c.actor)
	if err != nil {
		return err
	}
	defer admission.Release()
	ctx, cancel := context.WithCancelCause(c.ctx())
	defer cancel(nil)
	stop := func() {}
	defer func() { stop() }()
	req, exchange, err := s.beginCompletion(c, parse, func() (err error) {
		stop, err = s.attachCall(ctx, admission, cancel, func(ctx context.Context) error { return s.reload(ctx, c.actor) })
		return err
	})
	if err != nil {
		return err
	}
	if !req.Store {
		defer s.forget(c, exchange.Answer.ThreadID)
	}
	response := openai.NewResponse(c.w, req, exchange.Answer)
	if req.Stream {
		err = s.streamCompletion(ctx, c.actor, exchange, response)
	} else {
		err = s.answerCompletion(ctx, c.w, c.actor, exchange, response)
	}
	if err != nil && response.Begun() {
		panic(http.ErrAbortHandler) // Otherwise the client would treat the incomplete response as complete.
	}
	return err
}

// parseOpenAI parses the body of a request in one of OpenAI's forms.
type parseOpenAI func(body []byte) (openai.Request, error)

// beginCompletion reads a request and stores its question in a new thread. It calls received after reading the request,
// and returns an error of received.
func (s *Server) beginCompletion(c *call, parse parseOpenAI, received func() error) (
	req openai.Request, exchange chat.Exchange, err error,
) {
	leave, err := s.receiveCompletion(c.w, c.r, parse, &req)
	if err != nil {
		return req, exchange, err
	}
	defer leave()
	if err := received(); err != nil {
		return req, exchange, err
	}
	id := req.ID(c.r)
	if err := s.Limiter.CountQuestion(c.actor, id); err != nil { // Even for a missing model.
		return req, exchange, err
	}
	thread := chat.NewThread{}
	if !req.Store {
		thread.Lifetime = chat.TemporaryLifetime
	}
	if thread.SkillID, err = s.skillOf(c, req.Model); err != nil {
		return req, exchange, err
	}
	drop, err := s.storePictures(c, id, &req)
	if err == nil {
		moveWriteDeadline(c.w)
		question := req.Question(id)
		exchange, err = s.answer(c, question, func(ctx context.Context) (chat.Exchange, error) {
			return s.Chat.StartThread(ctx, c.actor.Owner(), thread, question)
		})
	}
	if err != nil {
		drop()
	}
	return req, exchange, req.TranslateError(err)
}

// receiveCompletion reads a request. A request that may have pictures occupies one of a few slots, which bound the
// memory of such requests. The caller releases it with leave.
func (s *Server) receiveCompletion(
	w http.ResponseWriter, r *http.Request, parse parseOpenAI, req *openai.Request,
) (leave func(), err error) {
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
		limit = openai.MaxRequest
		r.Body = &patientBody{
			ReadCloser: r.Body, rc: http.NewResponseController(w), end: time.Now().Add(pictureTimeout),
		}
	}
	body, err := readJSON(limit, w, r)
	if err == nil {
		*req, err = parse(body)
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
func (s *Server) skillOf(c *call, name string) (uuid.UUID, error) {
	ctx, cancel := context.WithTimeout(c.ctx(), callTimeout)
	defer cancel()
	found, err := s.findModel(ctx, c.actor, name)
	return found.ID, err
}

// storePictures stores the pictures of a request and adds their ids to its turns. drop deletes the new ones, except for
// pictures used by a question. For a repeated request it finds the stored pictures by their content.
func (s *Server) storePictures(c *call, requestID uuid.UUID, req *openai.Request) (drop func(), err error) {
	var added []uuid.UUID
	drop = func() {
		for _, id := range added { // If this fails, the sweep deletes the picture.
			_ = s.Pictures.Delete(context.WithoutCancel(c.ctx()), c.actor.Owner(), id)
		}
	}
	for i := range req.Turns {
		turn := &req.Turns[i]
		for _, p := range turn.Pictures {
			if err := s.Limiter.Count(ratelimit.KindUpload, c.actor); err != nil {
				return drop, err
			}
			sum := sha256.Sum256(p.Content)
			once := uuid.NewSHA1(requestID, sum[:])
			kept, created, err := s.Pictures.Upload(c.ctx(), c.actor.Owner(), c.actor.Session, &once,
				bytes.NewReader(p.Content))
			if err != nil {
				return drop, p.TranslateError(err)
			}
			if created {
				added = append(added, kept.ID)
			}
			if !slices.Contains(turn.PictureIDs, kept.ID) {
				turn.PictureIDs = append(turn.PictureIDs, kept.ID)
			}
		}
		turn.Pictures = nil
	}
	return drop, nil
}

// forget deletes the thread of a request that should not be stored. If this fails, the thread expires.
func (s *Server) forget(c *call, threadID uuid.UUID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx()), callTimeout)
	defer cancel()
	if err := s.Chat.DeleteThread(ctx, c.actor.Owner(), threadID); err != nil && fault.CodeOf(err) != fault.NotFound {
		s.log.WarnContext(ctx, "api: deleting the thread of an unstored completion failed, it expires",
			"thread_id", threadID, "err", err)
	}
}

// answerCompletion answers a request without streaming.
func (s *Server) answerCompletion(
	ctx context.Context, w http.ResponseWriter, actor identity.Actor, exchange chat.Exchange, response *openai.Response,
) error {
	answer, err := s.waitForAnswer(ctx, actor, exchange)
	if err != nil {
		return err
	}
	moveWriteDeadline(w)
	if err := s.reload(ctx, actor); err != nil {
		return err
	}
	whole, err := response.Whole(answer)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, whole)
}

// streamCompletion streams an answer. The protocol supports neither the removal of sent text nor resuming.
func (s *Server) streamCompletion(
	ctx context.Context, actor identity.Actor, exchange chat.Exchange, response *openai.Response,
) error {
	ctx, cancel := context.WithDeadline(ctx, streamDeadline(actor.ExpiresAt))
	defer cancel()
	if err := response.Begin(ctx); err != nil {
		return err
	}
	if err := s.watchAnswer(ctx, actor, exchange, response.Copy, response.Beat); err != nil {
		return err
	}
	answer, err := s.holdForAnswer(ctx, actor, exchange, response)
	if err != nil {
		return err
	}
	return response.End(ctx, answer)
}

// watchAnswer calls watch with the text of an answer. Until a server writes one, it calls idle now and then.
func (s *Server) watchAnswer(
	ctx context.Context, actor identity.Actor, exchange chat.Exchange,
	watch func(context.Context, *stream.Text) error, idle func(context.Context) error,
) error {
	for {
		found, err := within(ctx, func(ctx context.Context) (chat.Attachment, error) {
			return s.Chat.Follow(ctx, actor.Owner(), exchange.Answer)
		})
		if err != nil {
			return err
		}
		if found.Text != nil {
			err = watch(ctx, found.Text)
		} else {
			patient, end := context.WithTimeout(ctx, found.Patience)
			select {
			case <-found.Opened:
			case <-patient.Done():
			}
			end()
			err = idle(ctx)
		}
		found.Leave()
		if err != nil || found.Text != nil {
			return err
		}
	}
}

// holdForAnswer is waitForAnswer with comments to the client while it waits: the server that wrote the answer may have
// failed, and another one must take the answer over first.
func (s *Server) holdForAnswer(
	ctx context.Context, actor identity.Actor, exchange chat.Exchange, response *openai.Response,
) (answer chat.Message, err error) {
	ctx, cancel := context.WithCancel(ctx)
	found := make(chan struct{})
	go func() {
		defer close(found)
		answer, err = s.waitForAnswer(ctx, actor, exchange)
	}()
	held := response.Hold(ctx, found)
	cancel()
	<-found
	return answer, cmp.Or(held, err)
}

// waitForAnswer waits for a complete answer. A failed one has a Failure.
func (s *Server) waitForAnswer(ctx context.Context, actor identity.Actor, exchange chat.Exchange) (
	chat.Message, error,
) {
	ended, err := s.Chat.WaitFor(ctx, actor.Owner(), exchange)
	if ended.Answer.Status == chat.StatusFailed && ended.Answer.Failure == nil {
		ended.Answer.Failure = &chat.Failure{Code: string(fault.Unavailable), Detail: busyDetail}
	}
	return ended.Answer, err
}

// listModels returns the available skills as models.
func (s *Server) listModels(c *call) (any, error) {
	models, err := s.models(c.ctx(), c.actor)
	return openai.List(models), err
}

// getModel returns an available skill as a model.
func (s *Server) getModel(c *call) (any, error) {
	// A key may contain a slash.
	name, err := url.PathUnescape(strings.TrimPrefix(c.r.URL.EscapedPath(), modelsPath+"/"))
	if err != nil {
		return nil, openai.NoModel()
	}
	found, err := s.findModel(c.ctx(), c.actor, name)
	if err == nil && found.Unavailable != "" {
		err = openai.NoModel()
	}
	return found.Record(), err
}

// models returns the skills that are visible to an actor.
func (s *Server) models(ctx context.Context, actor identity.Actor) ([]openai.Model, error) {
	var skills []skill.Skill
	for {
		page, err := s.Skill.List(ctx, actor.OrganizationID, actor.ID, len(skills), maxLimit)
		if err != nil {
			return nil, err
		}
		if skills = append(skills, page...); len(page) < maxLimit {
			return openai.Models(skills), nil
		}
	}
}

// findModel returns the skill with a model id, a skill id or a key.
func (s *Server) findModel(ctx context.Context, actor identity.Actor, name string) (openai.Model, error) {
	models, err := s.models(ctx, actor)
	if err != nil {
		return openai.Model{}, err
	}
	return openai.Find(models, name)
}
