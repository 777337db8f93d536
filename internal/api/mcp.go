package api

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/api/mcp"
	"github.com/tsumugi-ai/tsumugi/internal/api/openai"
	"github.com/tsumugi-ai/tsumugi/internal/api/ratelimit"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
	"github.com/tsumugi-ai/tsumugi/stream"
)

// Bounds of calls by clients of the Model Context Protocol.
const (
	mcpAnswerTimeout  = 30 * time.Minute // Of an answer, including its wait for a slot.
	mcpThreadMessages = 100              // Messages of a thread as a resource.
	progressInterval  = time.Second      // Between two reports of an answer's progress.
	progressBeat      = 15 * time.Second // The same while the answer does not grow.
)

// newMCP returns the handler of the Model Context Protocol.
func (s *Server) newMCP() *mcp.Handler {
	return mcp.New(mcp.Config{
		Version: s.cfg.Version, PublicURL: s.cfg.PublicURL, CallTimeout: callTimeout, Log: s.log,
	})
}

// withOwnOrigin refuses calls by pages of other origins, which a browser could make after a rebinding of DNS names.
func (s *Server) withOwnOrigin(next http.Handler) http.Handler {
	return s.handle(func(w http.ResponseWriter, r *http.Request) error {
		for _, origin := range r.Header.Values("Origin") {
			if !strings.EqualFold(origin, originOf(s.cfg.PublicURL)) {
				return fault.Errorf(fault.Forbidden, "ほかのサイトのページからは利用できません。")
			}
		}
		next.ServeHTTP(w, r)
		return nil
	})
}

// originOf returns the origin of a URL.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// resourceMetadata returns the metadata of the protected resource (RFC 9728).
func (s *Server) resourceMetadata(w http.ResponseWriter, _ *http.Request) error {
	public := s.cfg.PublicURL
	return writeJSON(w, http.StatusOK, ResourceMetadata{
		Resource: public + mcp.Path, AuthorizationServers: []string{public},
		ScopesSupported: toScopes(mcp.AllScopes()), BearerMethodsSupported: []string{"header"},
		ResourceName: "Tsumugi", ResourceDocumentation: public + "/docs/api",
	})
}

// challenge returns the challenge of a refused call (RFC 6750). For the Model Context Protocol it contains the metadata
// and the scopes that a client should ask for.
func (s *Server) challenge(r *http.Request, problem Problem) string {
	if r.URL.Path != mcp.Path {
		return "Bearer"
	}
	metadata := s.cfg.PublicURL + mcp.MetadataPath + mcp.Path
	challenge := `Bearer resource_metadata="` + metadata + `", scope="chat documents"`
	switch {
	case problem.Code == string(codeScope):
		challenge += `, error="insufficient_scope"`
	case r.Header.Get("Authorization") != "":
		challenge += `, error="invalid_token"`
	}
	return challenge
}

// refuseMCPStream refuses the stream of messages outside of requests, which the server does not have.
func refuseMCPStream(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Allow", http.MethodPost)
	return fault.Errorf(codeMethod, "この操作には対応していません。")
}

// serveMCP handles a message of a client of the Model Context Protocol.
func (s *Server) serveMCP(handler *mcp.Handler) func(*call) error {
	return func(c *call) error {
		body, err := readJSON(maxBody, c.w, c.r)
		if err != nil {
			return err
		}
		var envelope mcp.Envelope
		if err := decodeStrictly(body, &envelope); err != nil {
			return err
		}
		message, err := mcp.NewMessage(body, envelope)
		if err != nil {
			return err
		}
		if !c.actor.HasScope(message.Scopes()...) {
			return errScope()
		}
		client := strings.Join([]string{c.actor.ID.String(), c.actor.Session.String(), c.r.UserAgent()}, " ")
		handler.Serve(patientWriter{c.w}, c.r, message, client, mcpService{s, c})
		return nil
	}
}

// mcpService implements mcp.Service for a call.
type mcpService struct {
	*Server
	call *call
}

func (m mcpService) HasScope(scopes ...identity.Scope) bool { return m.call.actor.HasScope(scopes...) }

func (m mcpService) Skills(ctx context.Context) ([]openai.Model, error) {
	return m.models(ctx, m.call.actor)
}

func (m mcpService) Search(ctx context.Context, query string, projectID *uuid.UUID, limit int) (
	[]datasource.RetrievedPassage, error,
) {
	if err := m.Limiter.Count(ratelimit.KindSearch, m.call.actor); err != nil {
		return nil, err
	}
	owner := m.call.actor.Owner()
	if projectID != nil {
		return m.Sources.SearchProject(ctx, owner, *projectID, query, limit)
	}
	return m.Sources.Search(ctx, owner, query, limit)
}

func (m mcpService) Documents(ctx context.Context, offset, limit int) ([]datasource.ListItem, error) {
	return m.Sources.List(ctx, m.call.actor.Owner(), "", offset, limit)
}

func (m mcpService) Passages(ctx context.Context, id uuid.UUID, offset, limit int) (
	datasource.Source, []datasource.Passage, error,
) {
	owner := m.call.actor.Owner()
	source, err := m.Sources.Find(ctx, owner, id)
	if err != nil {
		return source, nil, err
	}
	passages, err := m.Sources.Passages(ctx, owner, id, 1, offset, limit)
	return source, passages, err
}

func (m mcpService) Threads(ctx context.Context, offset, limit int) ([]chat.Thread, error) {
	return m.Chat.ListThreads(ctx, m.call.actor.Owner(), chat.ThreadFilter{}, offset, limit)
}

func (m mcpService) Thread(ctx context.Context, id uuid.UUID) (string, error) {
	owner := m.call.actor.Owner()
	thread, err := m.Chat.FindThread(ctx, owner, id)
	if err != nil {
		return "", err
	}
	branch, err := m.Chat.ListMessages(ctx, owner, id, nil, 0, mcpThreadMessages)
	slices.Reverse(branch)
	return threadMarkdown(thread, branch), err
}

func (m mcpService) Explain(err error) string {
	problem := m.problem(m.call.r, err)
	lines := []string{problem.Detail}
	for _, e := range problem.Errors {
		if e.Message != problem.Detail {
			lines = append(lines, e.Field+": "+e.Message)
		}
	}
	return strings.Join(lines, "\n")
}

func (m mcpService) Record(ctx context.Context, tool, title string, took time.Duration, result error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout) // The client may have left.
	defer cancel()
	return m.Org.RecordClientCall(ctx, m.call.actor, org.ClientCall{
		Tool: tool, Title: title, Failed: result != nil, Duration: took,
	})
}

func (m mcpService) Ask(ctx context.Context, q mcp.Question, report func(characters int)) (mcp.Answer, error) {
	actor := m.call.actor
	leave, err := m.occupy(ratelimit.KindStream, actor)
	if err != nil {
		return mcp.Answer{}, err
	}
	defer leave()
	admission, err := m.admit(ctx, actor)
	if err != nil {
		return mcp.Answer{}, err
	}
	defer admission.Release()
	limited, cut := context.WithDeadlineCause(ctx, streamDeadline(actor.ExpiresAt), identity.ErrExpired)
	defer cut()
	limited, cut = context.WithTimeoutCause(limited, mcpAnswerTimeout, errSlowAnswer)
	defer cut()
	limited, cancel := context.WithCancelCause(limited)
	defer cancel(nil)
	stop, err := m.attachCall(limited, admission, cancel, func(ctx context.Context) error {
		err := m.reload(ctx, actor)
		if err == nil && q.ThreadID != nil {
			_, err = m.findThread(ctx, *q.ThreadID)
		}
		return err
	})
	if err != nil {
		return mcp.Answer{}, err
	}
	defer stop()
	exchange, err := m.sendQuestion(limited, q)
	if err != nil {
		return mcp.Answer{}, err
	}
	answer, err := m.awaitAnswer(limited, exchange, report)
	switch {
	case err == nil:
		err = m.reload(ctx, actor)
	case ctx.Err() != nil:
		m.stopAnswer(ctx, exchange.Answer.ID)
	case limited.Err() != nil:
		err = m.explainEnd(ctx, context.Cause(limited))
	}
	return mcp.Answer{
		Message: answer, Sources: sourceLines(answer.Citations),
		ThreadURL: m.cfg.PublicURL + "/chat/" + exchange.Answer.ThreadID.String(),
	}, err
}

var errSlowAnswer = fault.Errorf(fault.Unavailable, "回答に時間がかかっています。Tsumugi を開いて、続きを確認してください。")

// explainEnd returns the error of a call that this server ended before its answer.
func (m mcpService) explainEnd(ctx context.Context, cause error) error {
	if fault.CodeOf(cause) != fault.Internal {
		return cause
	}
	if err := m.reload(ctx, m.call.actor); err != nil { // For example the token was revoked.
		return err
	}
	return fault.Wrap(cause, fault.Unavailable, "サーバーを再起動しています。少し時間をおいて、もう一度お試しください。")
}

// sendQuestion stores a question, in a new thread or in an existing one.
func (m mcpService) sendQuestion(ctx context.Context, q mcp.Question) (chat.Exchange, error) {
	owner, question := m.call.actor.Owner(), chat.Question{RequestID: uuidv7.New(), Content: q.Content}
	var skillID uuid.UUID
	if q.Skill != "" {
		id, err := m.skillOf(m.call, q.Skill)
		if err != nil {
			return chat.Exchange{}, err
		}
		skillID = id
	}
	if q.ThreadID == nil {
		return m.answer(m.call, question, func(ctx context.Context) (chat.Exchange, error) {
			return m.Chat.StartThread(ctx, owner, chat.NewThread{SkillID: skillID}, question)
		})
	}
	thread, err := m.findThread(ctx, *q.ThreadID)
	switch {
	case err != nil:
		return chat.Exchange{}, err
	case q.Skill != "" && skillID != thread.SkillID:
		return chat.Exchange{}, fault.InvalidField("skill",
			"このチャットは別のスキル（%s）のものです。skill を省略するか、thread_id を省略してください。", thread.SkillName)
	}
	question.ThreadID = thread.ID
	return m.answer(m.call, question, func(ctx context.Context) (chat.Exchange, error) {
		return m.Chat.Send(ctx, owner, question)
	})
}

func (m mcpService) findThread(ctx context.Context, id uuid.UUID) (chat.Thread, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return m.Chat.FindThread(ctx, m.call.actor.Owner(), id)
}

// awaitAnswer waits for a complete answer and reports its progress.
func (m mcpService) awaitAnswer(ctx context.Context, exchange chat.Exchange, report func(characters int)) (
	chat.Message, error,
) {
	if err := m.watchAnswer(ctx, m.call.actor, exchange, func(ctx context.Context, text *stream.Text) error {
		return reportGrowth(ctx, text, report)
	}, pause); err != nil {
		return chat.Message{}, err
	}
	return m.waitForAnswer(ctx, m.call.actor, exchange)
}

// reportGrowth reports the length of a text until it is complete.
func reportGrowth(ctx context.Context, text *stream.Text, report func(characters int)) error {
	var last time.Time
	for watch := text.Watch(""); ; {
		watch.Take() // Only the length is reported. Take advances the watch.
		more, over := watch.Wait()
		if over {
			return nil
		}
		if time.Since(last) >= progressInterval {
			last = time.Now()
			report(utf8.RuneCountInString(text.Text()))
		}
		if err := pause(ctx, more, progressBeat); err != nil {
			return err
		}
	}
}

// pause waits until a channel is closed, at most for limit.
func pause(ctx context.Context, ready <-chan struct{}, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ready:
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// stopAnswer stops the answer to a canceled call.
func (m mcpService) stopAnswer(ctx context.Context, id uuid.UUID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	if err := m.Chat.StopMessage(ctx, m.call.actor.Owner(), id); err != nil {
		m.log.WarnContext(ctx, "mcp: stopping a canceled answer failed", "message_id", id, "err", err)
	}
}
