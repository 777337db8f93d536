package channel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/answer"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// maxQuoted bounds the part of a conversation that is quoted in a question, in characters.
const maxQuoted = 12_000

// answered calls ask with the member linked to the person, or shows the person why the question is not answered.
func (a *acting) answered(ctx context.Context, ask func(context.Context, chat.Owner) error) error {
	if text := a.forbidden(); text != "" {
		return a.refuse(ctx, text)
	}
	owner, ok, err := a.member(ctx)
	if err != nil || !ok {
		return err
	}
	err = ask(ctx, owner)
	switch fault.CodeOf(err) {
	case "", fault.Internal, fault.Unavailable, fault.Canceled:
		return err // The event is retried.
	case fault.ThreadBusy:
		return a.wait(ctx)
	case fault.MemberLimit:
		return a.refuse(ctx, fault.DetailOf(err)+textUsage)
	}
	if errors.Is(err, ErrLost) {
		return err
	}
	return a.refuse(ctx, fault.DetailOf(err))
}

// forbidden returns the reason why the policy forbids answers in this place, or "".
func (a *acting) forbidden() string {
	policy := a.to.Installation.Policy
	switch {
	case a.event.Incoming.Shared && !policy.SharedChannels:
		return textShared
	case len(policy.Channels) > 0 && !a.to.Direct && !slices.Contains(policy.Channels, a.to.Channel):
		return textChannel
	}
	return ""
}

// member returns the member linked to the person. Without one, it shows the person a notice and returns ok false.
func (a *acting) member(ctx context.Context) (owner chat.Owner, ok bool, err error) {
	linked, err := a.Links.FindLink(ctx, a.to)
	if err != nil {
		return chat.Owner{}, false, err
	}
	switch linked.State {
	case LinkActive:
		return linked.Owner, true, nil
	case LinkRemoved:
		err = a.refuse(ctx, textRemoved)
	case LinkRefused:
		err = a.refuse(ctx, textStranger)
	case LinkNone:
		err = a.await(ctx)
	}
	return chat.Owner{}, false, err
}

// await defers a question until the person is linked, and invites the person once. It drops the question when the
// invitation has expired.
func (a *acting) await(ctx context.Context) error {
	if a.event.Incoming.Kind == Regenerate {
		return a.invite(ctx, textLink)
	}
	age := time.Since(a.event.ReceivedAt)
	if a.event.Done.Invited && age > invitationLifetime {
		return nil
	}
	if !a.event.Done.Invited {
		if err := a.invite(ctx, textUnlinked); err != nil {
			return err
		}
		a.event.Done.Invited = true
		if err := a.save(ctx); err != nil {
			return err
		}
	}
	return later{min(a.cfg.Unlinked+age/10, time.Minute)} // Each check is a call of the surface.
}

// invite shows the person an invitation to link their account.
func (a *acting) invite(ctx context.Context, text string) error {
	url, err := a.Links.Invite(ctx, a.to)
	if err != nil {
		return err
	}
	return a.tell(ctx, Notice{Kind: NoticeLink, Text: text, URL: url, Label: textDoLink})
}

// wait defers a question until the thread's current answer is complete, and notifies the person once.
func (a *acting) wait(ctx context.Context) error {
	if a.overdue() {
		return a.refuse(ctx, textWaited)
	}
	if !a.event.Done.Waiting {
		if err := a.tell(ctx, Notice{Kind: NoticeInfo, Text: textWaiting}); err != nil {
			return err
		}
		a.event.Done.Waiting = true
		if err := a.save(ctx); err != nil {
			return err
		}
	}
	return later{a.cfg.Busy}
}

func (a *acting) overdue() bool { return time.Since(a.event.ReceivedAt) > a.cfg.MaxWait }

// ask asks a question and starts the delivery of its answer.
func (a *acting) ask(ctx context.Context, owner chat.Owner) error {
	done := &a.event.Done
	if done.Question == nil {
		if err := a.prepare(ctx, owner); err != nil || done.Question == nil {
			return err
		}
		if err := a.save(ctx); err != nil {
			return err
		}
		if done.Problems != "" {
			if err := a.tell(ctx, Notice{Kind: NoticeInfo, Text: done.Problems}); err != nil {
				a.Log.InfoContext(ctx, "channel: notice about files not shown", "err", err)
			}
		}
	}
	exchange, err := a.send(ctx, owner)
	if err != nil {
		return err
	}
	return a.deliver(ctx, owner, exchange, a.event.Incoming.Message)
}

// send begins the answer to the event's question. It notifies the person before an answer that takes many tokens.
func (a *acting) send(ctx context.Context, owner chat.Owner) (exchange chat.Exchange, err error) {
	done := &a.event.Done
	if done.Question.ThreadID == uuid.Nil {
		exchange, err = a.Chat.StartThread(ctx, owner, chat.NewThread{SkillID: done.SkillID}, *done.Question)
	} else {
		exchange, err = a.Chat.Send(ctx, owner, *done.Question)
	}
	costly, ok := errors.AsType[*chat.CostError](err)
	if !ok {
		return exchange, err
	}
	text := fmt.Sprintf(textCostly, chat.FormatTokens(costly.Tokens))
	if err := a.tell(ctx, Notice{Kind: NoticeInfo, Text: text}); err != nil {
		return chat.Exchange{}, err
	}
	done.Question.AcceptTokens = costly.Tokens
	if err := a.save(ctx); err != nil {
		return chat.Exchange{}, err
	}
	return a.send(ctx, owner)
}

// prepare stores the question in the event. The question remains nil if the person received a notice instead.
func (a *acting) prepare(ctx context.Context, owner chat.Owner) error {
	in, done := a.event.Incoming, &a.event.Done
	thread, err := a.conversation(ctx, owner)
	if err != nil {
		return err
	}
	sk, text, err := a.skill(ctx, owner, thread)
	if err != nil {
		return err
	}
	if thread != nil && thread.SkillID != sk.ID {
		thread = nil
	}
	var said []Said
	if in.Kind == Ask && text == "" {
		return a.refuse(ctx, textEmpty)
	}
	if a.to.Thread != "" && a.to.Thread != string(in.Message) {
		if said, err = a.surface.Said(ctx, a.to, in.Message); err != nil {
			return err
		}
	}
	if a.to.Thread == "" {
		if err := a.open(ctx, text); err != nil {
			return err
		}
	}
	q := &chat.Question{RequestID: a.requestID(), Content: text}
	files := in.Files
	for _, s := range said {
		files = append(files, s.Files...)
	}
	if q.DataSourceIDs, err = a.sources(ctx, owner, sk, files); err != nil {
		return err
	}
	if thread != nil {
		q.ThreadID = thread.ID
	}
	done.SkillID = sk.ID
	switch {
	case in.Kind == Summarize:
		if len(said) == 0 {
			return a.refuse(ctx, textNothing)
		}
		q.Content, q.Prompt = textSummarize, summaryPrompt(said)
	case sk.FormType == skill.FormForm:
		values, ok := fill(sk, text, q.DataSourceIDs)
		if !ok {
			return a.tell(ctx, Notice{
				Kind: NoticeRefused, Text: fmt.Sprintf(textForm, sk.Name), Label: textOpenApp,
				URL: a.cfg.PublicURL + "/home/skill/" + sk.ID.String(),
			})
		}
		q.Form, q.Content = values, ""
	case !in.Direct:
		said, err := a.sinceLastQuestion(ctx, thread, said)
		if err != nil {
			return err
		}
		q.Prompt = askPrompt(said, text)
	}
	done.Question = q
	return nil
}

// open creates a thread for a question from outside of a thread.
func (a *acting) open(ctx context.Context, question string) error {
	thread, err := a.surface.Open(ctx, a.to, a.event.Incoming.EventID, question)
	if err != nil {
		return err
	}
	a.event.Done.Thread, a.to.Thread = thread, thread
	return a.save(ctx)
}

// conversation returns the member's Tsumugi thread for the surface's thread, or nil.
func (a *acting) conversation(ctx context.Context, owner chat.Owner) (*chat.Thread, error) {
	if a.to.Thread == "" {
		return nil, nil //nolint:nilnil // None is no error.
	}
	id, err := a.Store.FindConversation(ctx, a.event.InstallationID, owner, a.to.Channel, a.to.Thread)
	if err != nil || id == nil {
		return nil, err
	}
	thread, err := a.Chat.FindThread(ctx, owner, *id)
	if fault.CodeOf(err) == fault.NotFound {
		return nil, nil //nolint:nilnil // It was deleted at this moment.
	}
	return &thread, err
}

// skill returns the skill for a question, and the question without the skill's name: the named skill, else the thread's
// skill, else the first skill for plain questions.
func (a *acting) skill(ctx context.Context, owner chat.Owner, thread *chat.Thread) (skill.Skill, string, error) {
	in := a.event.Incoming
	skills, err := a.listSkills(ctx, owner)
	if err != nil {
		return skill.Skill{}, "", err
	}
	if in.Kind == Summarize {
		i := slices.IndexFunc(skills, func(s skill.Skill) bool { return s.TaskType == skill.TaskSummarization })
		if i < 0 {
			return skill.Skill{}, "", fault.Errorf(fault.NotFound, textNoSkill, "要約")
		}
		return skills[i], "", nil
	}
	if in.SkillName != "" {
		for _, s := range skills {
			if strings.EqualFold(s.Name, strings.TrimSpace(in.SkillName)) {
				return s, strings.TrimSpace(in.Text), nil
			}
		}
		return skill.Skill{}, "", fault.Errorf(fault.NotFound, textNoSkill, in.SkillName)
	}
	for _, s := range skills {
		if rest, ok := cutName(in.Text, s.Name); ok {
			return s, rest, nil
		}
	}
	if thread != nil {
		s, err := a.Skills.Get(ctx, owner.OrganizationID, owner.UserID, thread.SkillID)
		return s, strings.TrimSpace(in.Text), err
	}
	i := slices.IndexFunc(skills, func(s skill.Skill) bool {
		return s.Kind == "" && s.TaskType == "" && s.FormType == skill.FormChat
	})
	if i < 0 {
		return skill.Skill{}, "", fault.Errorf(fault.NotFound, textNoSkill, "汎用チャット")
	}
	return skills[i], strings.TrimSpace(in.Text), nil
}

// listSkills returns the member's skills.
func (a *acting) listSkills(ctx context.Context, owner chat.Owner) (skills []skill.Skill, _ error) {
	for {
		page, err := a.Skills.List(ctx, owner.OrganizationID, owner.UserID, len(skills), skill.MaxPage)
		skills = append(skills, page...)
		if err != nil || len(page) < skill.MaxPage {
			return skills, err
		}
	}
}

// cutName removes the name of a skill from the beginning of a text. The name must be on its own line or be followed by
// a colon.
func cutName(text, name string) (rest string, ok bool) {
	text = strings.TrimSpace(text)
	if len(text) < len(name) || !strings.EqualFold(text[:len(name)], name) {
		return "", false
	}
	for _, end := range []string{"\n", ":", "："} {
		if rest, ok = strings.CutPrefix(text[len(name):], end); ok {
			return strings.TrimSpace(rest), true
		}
	}
	return "", false
}

// fill fills in a form that requires a single text, or a file for proofreading. ok is false if the form requires more.
func fill(sk skill.Skill, text string, files []uuid.UUID) (values map[string]string, ok bool) {
	values = make(map[string]string)
	proofreads := sk.Kind == skill.KindProofreading
	for _, f := range sk.FormFields {
		switch {
		case proofreads && f.Type == skill.FieldFile && len(files) == 1:
			values[f.Name], ok = files[0].String(), true
		case proofreads && f.Type == skill.FieldTextarea && len(files) == 0:
			values[f.Name], ok = text, true
		case !f.Required:
		case f.Type == skill.FieldSelect && len(f.Options) > 0:
			values[f.Name] = f.Options[0]
		case ok || f.Type != skill.FieldText && f.Type != skill.FieldTextarea:
			return nil, false
		default:
			values[f.Name], ok = text, true
		}
	}
	return values, ok
}

// sinceLastQuestion returns the messages after the person's last question in the thread. The thread in the app already
// contains the earlier ones.
func (a *acting) sinceLastQuestion(ctx context.Context, thread *chat.Thread, said []Said) ([]Said, error) {
	if thread == nil || len(said) == 0 {
		return said, nil
	}
	last, err := a.last(ctx)
	if err != nil || last == nil {
		return said, err
	}
	i := slices.IndexFunc(said, func(s Said) bool { return s.Ref == last.Message })
	return said[i+1:], nil
}

// askPrompt returns the model's prompt for a question in a conversation, or "" if the prompt is the question itself.
func askPrompt(said []Said, question string) string {
	if said = recent(said); len(said) == 0 {
		return ""
	}
	remarks := make([]answer.Remark, len(said))
	for i, s := range said {
		remarks[i] = answer.Remark{Name: s.Name, Text: s.Text}
	}
	return answer.RemarksInstruction + "\n" + answer.Remarks(remarks) + answer.RemarksQuestion +
		unfenced(question)
}

// summaryPrompt returns the model's prompt for a summary of a conversation.
func summaryPrompt(said []Said) string {
	var b strings.Builder
	for _, s := range recent(said) {
		fmt.Fprintf(&b, "%s: %s\n", s.Name, s.Text)
	}
	return textSummarize + "\n<text>\n" + unfenced(b.String()) + "</text>"
}

// unfenced escapes a text so that it cannot open or close a tag of the prompt.
func unfenced(text string) string {
	return skill.Neutralize(text, "said", "message", "source", "notes", "question")
}

// recent returns the newest messages with text, up to maxQuoted characters.
func recent(said []Said) []Said {
	said = slices.DeleteFunc(slices.Clone(said), func(s Said) bool { return strings.TrimSpace(s.Text) == "" })
	room := maxQuoted
	for i := len(said) - 1; i >= 0; i-- {
		n := utf8.RuneCountInString(said[i].Text)
		if n > room {
			said[i].Text = string([]rune(said[i].Text)[:room]) + "…"
			return said[i:]
		}
		room -= n
	}
	return said
}

// regenerate answers a question again, with the current text of its message.
func (a *acting) regenerate(ctx context.Context, owner chat.Owner) error {
	d, err := a.own(ctx, a.event.Incoming.AnswerID)
	if err != nil || d == nil {
		return err
	}
	if d.UserID != owner.UserID {
		return a.refuse(ctx, textOthers)
	}
	a.to.Thread = d.Thread
	if a.event.Done.Question == nil {
		q, err := a.again(ctx, owner, *d)
		if err != nil {
			return err
		}
		a.event.Done.Question = &q
		if err := a.save(ctx); err != nil {
			return err
		}
	}
	exchange, err := a.send(ctx, owner)
	if err != nil {
		return err
	}
	return a.deliver(ctx, owner, exchange, d.Message)
}

// again returns the question for a repeated answer: an edit if the question's message was edited.
func (a *acting) again(ctx context.Context, owner chat.Owner, d Delivery) (chat.Question, error) {
	q := chat.Question{RequestID: a.requestID(), ThreadID: d.ThreadID, Regenerate: &d.AnswerID}
	if d.Message == "" {
		return q, nil
	}
	message, err := a.surface.Message(ctx, a.to, d.Message)
	if errors.Is(err, ErrGone) {
		return q, nil
	}
	if err != nil {
		return q, err
	}
	text, edited, err := a.isEdited(ctx, owner, d, message.Text)
	if err != nil || !edited {
		return q, err
	}
	q.Regenerate, q.Edit, q.Content = nil, &d.QuestionID, text
	if !d.Direct && d.Thread != string(d.Message) {
		said, err := a.surface.Said(ctx, a.to, d.Message)
		if err != nil {
			return q, err
		}
		q.Prompt = askPrompt(said, text)
	}
	return q, nil
}

// isEdited compares a message with the question that was asked. If they differ, it returns the new text and true.
func (a *acting) isEdited(ctx context.Context, owner chat.Owner, d Delivery, text string) (string, bool, error) {
	question, err := a.Chat.FindMessage(ctx, owner, d.QuestionID)
	if err != nil || question.Form != nil {
		return "", false, err
	}
	thread, err := a.Chat.FindThread(ctx, owner, d.ThreadID)
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
func (a *acting) deliver(ctx context.Context, owner chat.Owner, exchange chat.Exchange, message Ref) error {
	until := time.Now().Add(a.cfg.Lease)
	d := Delivery{
		AnswerID: exchange.Answer.ID, OrganizationID: owner.OrganizationID, UserID: owner.UserID,
		ThreadID: exchange.Answer.ThreadID, QuestionID: exchange.Question.ID, InstallationID: a.event.InstallationID,
		Channel: a.to.Channel, Thread: a.to.Thread, Message: message, Person: a.to.Person, PersonTeam: a.to.PersonTeam,
		Direct: a.to.Direct, Claim: uuid.Must(uuid.NewV7()),
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	added, err := a.Store.AddDelivery(ctx, d, a.cfg.Lease)
	if err == nil && added {
		a.beginDelivery(d, until)
	}
	return err
}
