package api

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/api/openai"
	"github.com/tsumugi-ai/tsumugi/internal/api/ratelimit"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
	"github.com/tsumugi-ai/tsumugi/stream"
)

const (
	mcpAnswerTimeout = 30 * time.Minute // Of an answer, including its wait for a slot.
	progressInterval = time.Second      // Between two reports of an answer's progress.
	progressBeat     = 15 * time.Second // The same while the answer does not grow.
)

type askArguments struct {
	Skill    string `json:"skill,omitempty" jsonschema:"スキルの id（list_skills の結果）。thread_id を指定するときは省略できます。"`
	Question string `json:"question" jsonschema:"質問。32000文字以内"`
	ThreadID string `json:"thread_id,omitempty" jsonschema:"続けて質問するチャットの id（前の結果の thread_id）。省略すると新しいチャットを作ります。"`
}

// answerRecord is the structured result of toolAsk.
type answerRecord struct {
	Answer    string           `json:"answer" jsonschema:"回答（Markdown）。[1] のような番号は citations の index です。"`
	ThreadID  string           `json:"thread_id" jsonschema:"続けて質問するときに指定する値"`
	ThreadURL string           `json:"thread_url" jsonschema:"このチャットを Tsumugi で開くURL"`
	Complete  bool             `json:"complete" jsonschema:"false のときは、回答が途中で終わっています。"`
	Citations []citationRecord `json:"citations"`
}

type citationRecord struct {
	Index   int    `json:"index"`
	Title   string `json:"title" jsonschema:"ファイルの名前、またはウェブページの題名"`
	Page    int    `json:"page,omitempty"`
	Locator string `json:"locator,omitempty" jsonschema:"ファイルの中の場所"`
	URL     string `json:"url,omitempty"`
	Quote   string `json:"quote,omitempty"`
}

func (s *Server) askSkill(c *call, report func(characters int), in askArguments) (string, answerRecord, error) {
	threadID := c.optionalID("thread_id", in.ThreadID)
	if in.ThreadID == "" && in.Skill == "" {
		c.fail("skill", "skill か thread_id を指定してください。")
	}
	if err := c.err(); err != nil {
		return "", answerRecord{}, err
	}
	answer, err := s.askAndWait(c, threadID, in, report)
	threadURL := s.cfg.PublicURL + "/chat/" + answer.ThreadID.String()
	switch {
	case fault.CodeOf(err) == openai.UnknownModel:
		return "", answerRecord{}, fault.Wrap(err, fault.NotFound,
			"スキルが見つからないか、同じ名前のスキルが複数あります。list_skills の id を指定してください。")
	case err != nil:
		return "", answerRecord{}, err
	case answer.Status == chat.StatusFailed:
		return "", answerRecord{}, fault.Errorf(fault.Unavailable, "%s\n\nチャット：%s", answer.Failure.Detail, threadURL)
	}
	out := answerRecord{
		Answer: shorten(strings.TrimSpace(answer.Content)), ThreadID: answer.ThreadID.String(), ThreadURL: threadURL,
		Complete: answer.FinishReason == chat.FinishStop,
		Citations: convert(answer.Cited(), func(cited chat.Citation) citationRecord {
			return citationRecord{
				Index: cited.Index, Title: cited.Filename, Page: cited.Page, Locator: cited.Locator, URL: cited.URL,
				Quote: cited.Quote,
			}
		}),
	}
	return answerText(answer, out), out, nil
}

// answerText returns an answer with its notices, sources and thread.
func answerText(answer chat.Message, out answerRecord) string {
	parts := []string{out.Answer}
	if !out.Complete {
		parts = append(parts, "（回答は途中で終わっています。）")
	}
	if notice := answer.Notice(); notice != "" {
		parts = append(parts, "⚠️ "+notice)
	}
	if sources := sourceLines(answer.Citations); len(sources) > 0 {
		parts = append(parts, "出典：\n"+strings.Join(sources, "\n"))
	}
	parts = append(parts, "チャット："+out.ThreadURL+"（thread_id: "+out.ThreadID+"）")
	return strings.Join(parts, "\n\n")
}

// askAndWait asks a question and returns the complete answer. It calls report with the length of the text while the
// answer grows. If the client cancels the call, it stops the answer.
func (s *Server) askAndWait(
	c *call, threadID *uuid.UUID, in askArguments, report func(characters int),
) (answer chat.Message, err error) {
	leave, err := s.occupy(ratelimit.KindStream, c.actor)
	if err != nil {
		return answer, err
	}
	defer leave()
	admission, err := s.admit(c.ctx(), c.actor)
	if err != nil {
		return answer, err
	}
	defer admission.Release()
	ctx, cut := context.WithDeadlineCause(c.ctx(), streamDeadline(c.actor.ExpiresAt), identity.ErrExpired)
	defer cut()
	ctx, cut = context.WithTimeoutCause(ctx, mcpAnswerTimeout, errSlowAnswer)
	defer cut()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop, err := s.attachCall(ctx, admission, cancel, func(ctx context.Context) error {
		err := s.reload(ctx, c.actor)
		if err == nil && threadID != nil {
			_, err = s.findThread(ctx, c.actor, *threadID)
		}
		return err
	})
	if err != nil {
		return answer, err
	}
	defer stop()
	exchange, err := s.sendQuestion(c, threadID, in)
	if err != nil {
		return answer, err
	}
	answer, err = s.awaitAnswer(ctx, c.actor, exchange, report)
	switch {
	case err == nil:
		err = s.reload(c.ctx(), c.actor)
	case c.ctx().Err() != nil:
		s.stopAnswer(c, exchange.Answer.ID)
	case ctx.Err() != nil:
		if err = context.Cause(ctx); fault.CodeOf(err) == fault.Internal {
			err = fault.Wrap(err, fault.Unavailable, "サーバーを再起動しています。少し時間をおいて、もう一度お試しください。")
		}
	}
	return answer, err
}

var errSlowAnswer = fault.Errorf(fault.Unavailable, "回答に時間がかかっています。Tsumugi を開いて、続きを確認してください。")

// sendQuestion stores a question, in a new thread or in an existing one.
func (s *Server) sendQuestion(c *call, threadID *uuid.UUID, in askArguments) (exchange chat.Exchange, err error) {
	question := chat.Question{RequestID: uuidv7.New(), Content: in.Question}
	var skillID uuid.UUID
	if in.Skill != "" {
		if skillID, err = s.skillOf(c, in.Skill); err != nil {
			return exchange, err
		}
	}
	begin := func(ctx context.Context) (chat.Exchange, error) {
		return s.Chat.StartThread(ctx, c.actor.Owner(), chat.NewThread{SkillID: skillID}, question)
	}
	if threadID != nil {
		thread, err := s.findThread(c.ctx(), c.actor, *threadID)
		if err == nil && in.Skill != "" && skillID != thread.SkillID {
			err = fault.InvalidField("skill",
				"このチャットは別のスキル（%s）のものです。skill を省略するか、thread_id を省略してください。", thread.SkillName)
		}
		if err != nil {
			return exchange, err
		}
		question.ThreadID = thread.ID
		begin = func(ctx context.Context) (chat.Exchange, error) { return s.Chat.Send(ctx, c.actor.Owner(), question) }
	}
	return s.answer(c, question, begin)
}

func (s *Server) findThread(ctx context.Context, actor identity.Actor, id uuid.UUID) (chat.Thread, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return s.Chat.FindThread(ctx, actor.Owner(), id)
}

// awaitAnswer waits for a complete answer and reports its progress.
func (s *Server) awaitAnswer(
	ctx context.Context, actor identity.Actor, exchange chat.Exchange, report func(characters int),
) (chat.Message, error) {
	watch := func(ctx context.Context, text *stream.Text) error {
		var last time.Time
		return text.Follow(ctx, progressBeat, func() error {
			if time.Since(last) >= progressInterval {
				last = time.Now()
				report(utf8.RuneCountInString(text.Text()))
			}
			return nil
		}, func() error { return nil })
	}
	if err := s.watchAnswer(ctx, actor, exchange, watch, context.Cause); err != nil {
		return chat.Message{}, err
	}
	return s.waitForAnswer(ctx, actor, exchange)
}

// stopAnswer stops the answer to a canceled call.
func (s *Server) stopAnswer(c *call, id uuid.UUID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx()), callTimeout)
	defer cancel()
	if err := s.Chat.StopMessage(ctx, c.actor.Owner(), id); err != nil {
		s.log.WarnContext(ctx, "mcp: stopping a canceled answer failed", "message_id", id, "err", err)
	}
}
