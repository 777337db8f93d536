package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

const modelsPath = "/v1/models"

// openAI reports whether a path is one of those in OpenAI's form, whose errors have OpenAI's form too.
func openAI(path string) bool {
	return path == modelsPath || strings.HasPrefix(path, modelsPath+"/") || path == "/v1/chat/completions"
}

// writeOpenAIError answers a problem in OpenAI's form. The status and headers are those of the problem.
func writeOpenAIError(w http.ResponseWriter, p Problem) error {
	return writeJSON(w, p.Status, OpenAIError{Error: openAIErrorOf(p)})
}

func openAIErrorOf(p Problem) OpenAIErrorBody {
	body := OpenAIErrorBody{Message: p.Detail, Code: p.Code, Type: "invalid_request_error"}
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
	body.Param = p.Limit
	if len(p.Errors) > 0 {
		body.Param, body.Message = p.Errors[0].Field, p.Errors[0].Message
	}
	return body
}

// listModels returns the skills that can be used, as models.
func (s *Server) listModels(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	list := OpenAIModelList{Object: "list", Data: []OpenAIModel{}}
	for offset := 0; ; offset += maxLimit {
		skills, err := s.Skill.List(r.Context(), actor.OrganizationID, actor.ID, offset, maxLimit)
		if err != nil {
			return err
		}
		for _, found := range skills {
			if found.Unavailable == "" {
				list.Data = append(list.Data, toModel(found))
			}
		}
		if len(skills) < maxLimit {
			return writeJSON(w, http.StatusOK, list)
		}
	}
}

// getModel returns a skill that can be used, as a model.
func (s *Server) getModel(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	name, err := url.PathUnescape(strings.TrimPrefix(r.URL.EscapedPath(), modelsPath+"/")) // A key may contain a slash.
	if err != nil {
		return errNoModel()
	}
	found, err := s.findModel(r.Context(), actor, name)
	if err != nil {
		return err
	}
	if found.Unavailable != "" {
		return errNoModel()
	}
	return writeJSON(w, http.StatusOK, toModel(found))
}

func toModel(s skill.Skill) OpenAIModel {
	return OpenAIModel{
		ID: modelName(s), Object: "model", Created: int(s.CreatedAt.Unix()), OwnedBy: "tsumugi", Name: s.Name,
	}
}

// modelName returns the name of a skill as a model: its key, or its id if it has none.
func modelName(s skill.Skill) string {
	if s.Key != "" {
		return s.Key
	}
	return s.ID.String()
}

// findModel returns the skill with a key or an id.
func (s *Server) findModel(ctx context.Context, actor identity.Actor, name string) (skill.Skill, error) {
	for offset := 0; ; offset += maxLimit {
		skills, err := s.Skill.List(ctx, actor.OrganizationID, actor.ID, offset, maxLimit)
		if err != nil {
			return skill.Skill{}, err
		}
		for _, found := range skills {
			if name == modelName(found) || name == found.ID.String() {
				return found, nil
			}
		}
		if len(skills) < maxLimit {
			return skill.Skill{}, errNoModel()
		}
	}
}

// codeModel is the code of an unknown model, as OpenAI has it.
const codeModel fault.Code = "model_not_found"

func errNoModel() error {
	return fault.Errorf(codeModel, "モデル（スキル）が見つかりません。GET /v1/models の id を指定してください。")
}

// completionRequest is what is read of a request; all other parameters are ignored.
type completionRequest struct {
	Model         string              `json:"model"`
	Messages      []completionMessage `json:"messages"`
	N             *int                `json:"n"`
	Stream        bool                `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Store *bool `json:"store"`
}

type completionMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"` // A string, or a list of parts.
}

// text returns the text of a message.
func (m completionMessage) text() (string, bool) {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return text, true
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(m.Content, &parts) != nil {
		return "", false
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Type != "text" {
			return "", false
		}
		b.WriteString(p.Text)
	}
	return b.String(), true
}

// decodeCompletion reads a request leniently: unknown parameters are ignored.
func decodeCompletion(w http.ResponseWriter, r *http.Request) (completionRequest, error) {
	var req completionRequest
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return req, fault.Errorf(codeMediaType, "Content-Type には application/json を指定してください。")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return req, decodeError(err)
	}
	if err := refuseNUL(body); err != nil {
		return req, err
	}
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&req); err != nil {
		return req, decodeError(err)
	}
	return req, nil
}

// conversation returns the question of a request, the messages before it, and the instructions of its system messages.
func (req completionRequest) conversation() (question string, earlier []chat.Earlier, instructions string, err error) {
	if req.N != nil && *req.N != 1 {
		return "", nil, "", fault.InvalidField("n", "1 だけを指定できます。")
	}
	var orders []string
	var said []chat.Earlier
	for i, m := range req.Messages {
		field := "messages[" + strconv.Itoa(i) + "]"
		text, ok := m.text()
		if !ok {
			return "", nil, "", fault.InvalidField(field+".content", "文章だけを指定できます。")
		}
		role := chat.Role(m.Role)
		switch {
		case m.Role == "system" || m.Role == "developer":
			orders = append(orders, text)
			continue
		case role != chat.RoleUser && role != chat.RoleAssistant:
			return "", nil, "", fault.InvalidField(field+".role", "system、developer、user、assistant のどれかを指定してください。")
		case len(said) == 0 && role == chat.RoleAssistant:
			return "", nil, "", fault.InvalidField(field+".role", "メッセージは user から始めてください。")
		}
		// Questions and answers take turns in a thread.
		if last := len(said) - 1; last >= 0 && said[last].Role == role {
			said[last].Content += "\n\n" + text
			continue
		}
		said = append(said, chat.Earlier{Role: role, Content: text})
	}
	last := len(said) - 1
	if last < 0 || said[last].Role != chat.RoleUser {
		return "", nil, "", fault.InvalidField("messages", "最後は user のメッセージにしてください。")
	}
	return said[last].Content, said[:last], strings.Join(orders, "\n\n"), nil
}

// stores reports whether the thread of a request remains.
func (req completionRequest) stores() bool { return req.Store == nil || *req.Store }

// requestID returns the id by which a repeated request finds its answer. OpenAI's libraries take any text as a key. A
// request that stores nothing has no answer to be found: two with one key would share a thread, and the first to end
// would delete it under the other.
func (req completionRequest) requestID(r *http.Request) uuid.UUID {
	if key := r.Header.Get("Idempotency-Key"); key != "" && req.stores() {
		return uuid.NewSHA1(idempotencyKeys, []byte(key))
	}
	return uuid.Must(uuid.NewV7())
}

// idempotencyKeys is the namespace of the request ids that are made of keys.
var idempotencyKeys = uuid.MustParse("5a8f6c1e-2f0b-5d7c-9b43-6d0f4c1e7a92")

// completeChat answers a request in the form of OpenAI's chat completions. It is a thread of the actor, which is
// deleted at the end if the request asks for nothing to be stored.
func (s *Server) completeChat(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	admission, err := s.admit(r.Context(), actor)
	if err != nil {
		return err
	}
	defer admission.Release()
	req, err := decodeCompletion(w, r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	if err := admission.Attach(cancel); err != nil {
		return err
	}
	exchange, err := s.beginCompletion(w, r, actor, req)
	if err != nil {
		return err
	}
	if !req.stores() {
		defer s.forget(r, actor, exchange.Answer.ThreadID)
	}
	c := &completion{
		req: req, id: "chatcmpl-" + exchange.Answer.ID.String(), created: exchange.Answer.CreatedAt.Unix(), w: w,
	}
	if req.Stream {
		err = s.streamCompletion(ctx, actor, exchange, c)
	} else if exchange, err = s.Chat.WaitFor(ctx, owner(actor), exchange); err == nil {
		moveWriteDeadline(w)
		err = s.answerCompletion(ctx, actor, exchange.Answer, c)
	}
	if err != nil && c.begun {
		panic(http.ErrAbortHandler) // The client must not take what it has for the whole answer.
	}
	return err
}

// beginCompletion stores the question of a request in a thread of its own.
func (s *Server) beginCompletion(
	w http.ResponseWriter, r *http.Request, actor identity.Actor, req completionRequest,
) (chat.Exchange, error) {
	content, earlier, instructions, err := req.conversation()
	if err != nil {
		return chat.Exchange{}, err
	}
	question := chat.Question{RequestID: req.requestID(r), Content: content, Earlier: earlier}
	if err := s.Limiter.ask(w, r, actor, question.RequestID); err != nil { // Also of a model that is not there.
		return chat.Exchange{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	found, err := s.findModel(ctx, actor, req.Model)
	if err != nil {
		return chat.Exchange{}, err
	}
	if instructions != "" {
		first := &content
		if len(earlier) > 0 {
			first = &earlier[0].Content
		}
		prompt := "# 指示\n" + instructions + "\n\n# 質問\n" + *first
		if len(earlier) > 0 {
			earlier[0].Prompt = prompt
		} else {
			question.Prompt = prompt
		}
	}
	thread := chat.NewThread{SkillID: found.ID}
	if !req.stores() {
		thread.Lifetime = chat.TemporaryLifetime
	}
	return s.answer(w, r, actor, question, func(ctx context.Context) (chat.Exchange, error) {
		return s.Chat.StartThread(ctx, owner(actor), thread, question)
	})
}

// forget deletes the thread of a request that asked for nothing to be stored. A thread that remains expires.
func (s *Server) forget(r *http.Request, actor identity.Actor, threadID uuid.UUID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), callTimeout)
	defer cancel()
	if err := s.Chat.DeleteThread(ctx, owner(actor), threadID); err != nil && fault.CodeOf(err) != fault.NotFound {
		s.log.WarnContext(ctx, "a thread that was not to be stored remains for a while",
			"thread_id", threadID, "err", err)
	}
}

// answerCompletion answers a request that does not stream.
func (s *Server) answerCompletion(ctx context.Context, actor identity.Actor, answer chat.Message, c *completion) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if _, err := s.Identity.Again(ctx, actor); err != nil { // The actor may have lost access in the meantime.
		return err
	}
	if err := failureOf(answer); err != nil {
		return err
	}
	return writeJSON(c.w, http.StatusOK, OpenAICompletion{
		ID: c.id, Object: "chat.completion", Created: int(c.created), Model: c.req.Model, Usage: usageOf(answer),
		Choices: []OpenAIChoice{{
			FinishReason: finishOf(answer), Message: OpenAIMessage{Role: "assistant", Content: answer.Content},
		}},
	})
}

// failureOf returns the error of an answer that failed.
func failureOf(answer chat.Message) error {
	if answer.Status != chat.StatusFailed {
		return nil
	}
	if answer.Failure == nil {
		return fault.Errorf(fault.Unavailable, "%s", busyDetail)
	}
	return fault.Errorf(fault.Unavailable, "%s", answer.Failure.Detail)
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
