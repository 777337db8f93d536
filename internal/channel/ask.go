package channel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/internal/timeout"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// answer calls ask with the member linked to the person, or shows the person why the question is not answered.
func (h *eventHandler) answer(ctx context.Context, ask func(context.Context, identity.Owner) error) error {
	if text := h.forbidden(); text != "" {
		return h.refuse(ctx, text)
	}
	linked, ok, err := h.member(ctx, h.await)
	if err != nil || !ok {
		return err
	}
	err = ask(ctx, linked.Owner)
	switch fault.CodeOf(err) {
	case fault.ThreadBusy:
		return h.wait(ctx)
	case fault.MemberLimit:
		return h.refuse(ctx, fault.DetailOf(err)+textUsage)
	}
	return h.explain(ctx, err)
}

// forbidden returns the reason why the policy forbids answers in this place, or "".
func (h *eventHandler) forbidden() string {
	policy := h.to.Installation.Policy
	switch {
	case h.event.Incoming.Shared && !policy.SharedChannels:
		return textShared
	case len(policy.Channels) > 0 && !h.to.Direct && !slices.Contains(policy.Channels, h.to.Channel):
		return textChannel
	}
	return ""
}

// member returns the member linked to the person. Without one, it shows the person a notice and returns ok false. For a
// person who is not linked, it calls none instead.
func (h *eventHandler) member(
	ctx context.Context, none func(context.Context) error,
) (_ LinkedMember, ok bool, err error) {
	linked, err := h.Links.FindLink(ctx, h.to)
	if err != nil {
		return LinkedMember{}, false, err
	}
	switch linked.State {
	case LinkActive:
		return linked, true, nil
	case LinkRemoved:
		err = h.refuse(ctx, textRemoved)
	case LinkRefused:
		err = h.refuse(ctx, textStranger)
	case LinkNone:
		err = none(ctx)
	}
	return LinkedMember{}, false, err
}

// await defers a question until the person is linked, and invites the person once. It drops the question when the
// invitation has expired.
func (h *eventHandler) await(ctx context.Context) error {
	if h.event.Incoming.Kind == KindRegenerate {
		return h.inviteNow(ctx)
	}
	age := time.Since(h.event.ReceivedAt)
	if h.event.Progress.Invited && age > InvitationLifetime {
		return nil
	}
	if !h.event.Progress.Invited {
		if err := h.invite(ctx, textUnlinked); err != nil {
			return err
		}
		h.event.Progress.Invited = true
		if err := h.save(ctx); err != nil {
			return err
		}
	}
	return later{min(h.cfg.LinkRetry+age/10, time.Minute)} // Each check is a call of the surface.
}

// invite shows the person an invitation to link their account.
func (h *eventHandler) invite(ctx context.Context, text string) error {
	url, err := h.Links.Invite(ctx, h.to)
	if err != nil {
		return err
	}
	return h.notify(ctx, Notice{Kind: NoticeLink, Text: text, URL: url, Label: textDoLink})
}

// wait defers a question until the thread's current answer is complete, and notifies the person once.
func (h *eventHandler) wait(ctx context.Context) error {
	if h.overdue() {
		return h.refuse(ctx, textWaited)
	}
	if !h.event.Progress.Waiting {
		if err := h.notify(ctx, Notice{Kind: NoticeInfo, Text: textWaiting}); err != nil {
			return err
		}
		h.event.Progress.Waiting = true
		if err := h.save(ctx); err != nil {
			return err
		}
	}
	return later{h.cfg.BusyRetry}
}

func (h *eventHandler) overdue() bool { return time.Since(h.event.ReceivedAt) > h.cfg.MaxWait }

// ask asks a question and starts the delivery of its answer.
func (h *eventHandler) ask(ctx context.Context, owner identity.Owner) error {
	if ok, err := h.findProject(ctx, owner); err != nil || !ok {
		return err
	}
	done := &h.event.Progress
	if done.Question != nil && !equalID(done.ProjectID, h.projectID()) {
		done.Question = nil // The channel was bound or unbound since the last attempt.
	}
	if done.Question == nil {
		if err := h.prepare(ctx, owner); err != nil || done.Question == nil {
			return err
		}
		if err := h.save(ctx); err != nil {
			return err
		}
		if done.Problems != "" {
			if err := h.notify(ctx, Notice{Kind: NoticeInfo, Text: done.Problems}); err != nil {
				h.Log.InfoContext(ctx, "channel: notice about files not shown", "err", err)
			}
		}
	}
	exchange, err := h.send(ctx, owner)
	if err != nil {
		return err
	}
	return h.deliver(ctx, owner, exchange, h.event.Incoming.Message)
}

// send begins the answer to the event's question. It notifies the person before an answer that takes many tokens.
func (h *eventHandler) send(ctx context.Context, owner identity.Owner) (exchange chat.Exchange, err error) {
	done := &h.event.Progress
	if done.Question.ThreadID == uuid.Nil {
		exchange, err = h.Chat.StartThread(ctx, owner, chat.NewThread{
			SkillID: done.SkillID, ProjectID: done.ProjectID,
		}, *done.Question)
	} else {
		exchange, err = h.Chat.Send(ctx, owner, *done.Question)
	}
	costly, ok := errors.AsType[*chat.CostError](err)
	if !ok {
		return exchange, err
	}
	text := fmt.Sprintf(textCostly, chat.FormatTokens(costly.Tokens))
	if err := h.notify(ctx, Notice{Kind: NoticeInfo, Text: text}); err != nil {
		return chat.Exchange{}, err
	}
	done.Question.AcceptTokens = costly.Tokens
	if err := h.save(ctx); err != nil {
		return chat.Exchange{}, err
	}
	return h.send(ctx, owner)
}

// prepare stores the question in the event. The question remains nil if the person received a notice instead.
func (h *eventHandler) prepare(ctx context.Context, owner identity.Owner) error {
	in, done := h.event.Incoming, &h.event.Progress
	thread, err := h.conversation(ctx, owner)
	if err != nil {
		return err
	}
	sk, text, err := h.skill(ctx, owner, thread)
	if err != nil {
		return err
	}
	if thread != nil && thread.SkillID != sk.ID {
		thread = nil
	}
	var messages []Message
	if in.Kind == KindQuestion && text == "" {
		return h.refuse(ctx, textEmpty)
	}
	if h.to.Thread != "" && h.to.Thread != string(in.Message) {
		if messages, err = h.surface.History(ctx, h.to, in.Message); err != nil {
			return err
		}
	}
	if h.to.Thread == "" {
		if err := h.open(ctx, text); err != nil {
			return err
		}
	}
	q := &chat.Question{RequestID: h.requestID(), Content: text}
	files := in.Files
	for _, s := range messages {
		files = append(files, s.Files...)
	}
	if q.DataSourceIDs, err = h.sources(ctx, owner, sk, files); err != nil {
		return err
	}
	if thread != nil {
		q.ThreadID = thread.ID
	}
	done.SkillID, done.ProjectID = sk.ID, h.projectID()
	switch {
	case in.Kind == KindSummarize:
		if len(messages) == 0 {
			return h.refuse(ctx, textNothing)
		}
		q.Content, q.Prompt = textSummarize, summaryPrompt(messages)
	case sk.FormType == skill.FormForm:
		values, ok := fill(sk, text, q.DataSourceIDs)
		if !ok {
			return h.notify(ctx, Notice{
				Kind: NoticeRefused, Text: fmt.Sprintf(textForm, sk.Name), Label: textOpenApp,
				URL: h.cfg.PublicURL + "/home/skill/" + sk.ID.String(),
			})
		}
		q.Form, q.Content = values, ""
	case !in.Direct:
		messages, err := h.sinceLastQuestion(ctx, thread, messages)
		if err != nil {
			return err
		}
		q.Prompt = askPrompt(messages, text)
	}
	done.Question = q
	return nil
}

// open creates a thread for a question from outside of a thread.
func (h *eventHandler) open(ctx context.Context, question string) error {
	thread, err := h.surface.Open(ctx, h.to, h.event.ReceivedAt.Add(-findSlack), h.event.Incoming.EventID, question)
	if err != nil {
		return err
	}
	h.event.Progress.Thread, h.to.Thread = thread, thread
	return h.save(ctx)
}

// conversation returns the member's Tsumugi thread for the surface's thread, or nil. In a channel, it must be in the
// channel's project.
func (h *eventHandler) conversation(ctx context.Context, owner identity.Owner) (*chat.Thread, error) {
	if h.to.Thread == "" {
		return nil, nil //nolint:nilnil // None is no error.
	}
	id, err := h.Store.FindConversation(ctx, h.event.InstallationID, owner, h.to.Channel, h.to.Thread)
	if err != nil || id == nil {
		return nil, err
	}
	thread, err := h.Chat.FindThread(ctx, owner, *id)
	if fault.CodeOf(err) == fault.NotFound {
		return nil, nil //nolint:nilnil // It was deleted at this moment.
	}
	if err == nil && !h.to.Direct && !h.isIn(thread) {
		return nil, nil //nolint:nilnil // The channel was bound or unbound, or the member moved the thread.
	}
	return &thread, err
}

// sinceLastQuestion returns the messages after the person's last question in the thread. The thread in the app already
// contains the earlier ones.
func (h *eventHandler) sinceLastQuestion(
	ctx context.Context, thread *chat.Thread, messages []Message,
) ([]Message, error) {
	if thread == nil || len(messages) == 0 {
		return messages, nil
	}
	last, err := h.last(ctx)
	if err != nil || last == nil {
		return messages, err
	}
	i := slices.IndexFunc(messages, func(s Message) bool { return s.Ref == last.Message })
	return messages[i+1:], nil
}

// regenerate answers a question again, with the current text of its message.
func (h *eventHandler) regenerate(ctx context.Context, owner identity.Owner) error {
	d, err := h.own(ctx, h.event.Incoming.AnswerID)
	if err != nil || d == nil {
		return err
	}
	if d.UserID != owner.UserID {
		return h.refuse(ctx, textOthers)
	}
	if ok, err := h.mayRepeat(ctx, owner, *d); err != nil || !ok {
		return err
	}
	h.to.Thread = d.Thread
	if h.event.Progress.Question == nil {
		q, err := h.again(ctx, owner, *d)
		if err != nil {
			return err
		}
		h.event.Progress.Question = &q
		if err := h.save(ctx); err != nil {
			return err
		}
	}
	exchange, err := h.send(ctx, owner)
	if err != nil {
		return err
	}
	return h.deliver(ctx, owner, exchange, d.Message)
}

// again returns the question for a repeated answer: an edit if the question's message was edited.
func (h *eventHandler) again(ctx context.Context, owner identity.Owner, d Delivery) (chat.Question, error) {
	q := chat.Question{RequestID: h.requestID(), ThreadID: d.ThreadID, Regenerate: &d.AnswerID}
	if d.Message == "" {
		return q, nil
	}
	message, err := h.surface.Message(ctx, h.to, d.Message)
	if errors.Is(err, ErrGone) {
		return q, nil
	}
	if err != nil {
		return q, err
	}
	text, edited, err := h.isEdited(ctx, owner, d, message.Text)
	if err != nil || !edited {
		return q, err
	}
	q.Regenerate, q.Edit, q.Content = nil, &d.QuestionID, text
	if !d.Direct && d.Thread != string(d.Message) {
		messages, err := h.surface.History(ctx, h.to, d.Message)
		if err != nil {
			return q, err
		}
		q.Prompt = askPrompt(messages, text)
	}
	return q, nil
}

// isEdited compares a message with the question that was asked. If they differ, it returns the new text and true.
func (h *eventHandler) isEdited(
	ctx context.Context, owner identity.Owner, d Delivery, text string,
) (string, bool, error) {
	question, err := h.Chat.FindMessage(ctx, owner, d.QuestionID)
	if err != nil || question.Form != nil {
		return "", false, err
	}
	thread, err := h.Chat.FindThread(ctx, owner, d.ThreadID)
	if err != nil {
		return "", false, err
	}
	text = strings.TrimSpace(text)
	if rest, ok := cutName(text, thread.SkillName); ok {
		text = rest
	}
	return text, text != "" && text != question.Content, nil
}

// deliver stores the delivery of an answer. This server delivers it, unless it was stored before.
func (h *eventHandler) deliver(ctx context.Context, owner identity.Owner, exchange chat.Exchange, message Ref) error {
	until := time.Now().Add(h.cfg.Lease)
	d := Delivery{
		AnswerID: exchange.Answer.ID, OrganizationID: owner.OrganizationID, UserID: owner.UserID,
		ThreadID: exchange.Answer.ThreadID, QuestionID: exchange.Question.ID, InstallationID: h.event.InstallationID,
		Channel: h.to.Channel, Thread: h.to.Thread, Message: message, Person: h.to.Person, PersonTeam: h.to.PersonTeam,
		Direct: h.to.Direct, Claim: uuidv7.New(),
	}
	ctx, cancel := context.WithTimeout(ctx, timeout.Store)
	defer cancel()
	added, err := h.Store.AddDelivery(ctx, d, h.cfg.Lease)
	if err == nil && added {
		h.deliveries.Add(d, until)
	}
	return err
}
