package channel

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// own returns the delivery of an answer that the person asked for. For other answers it returns nil after notifying the
// person.
func (a *acting) own(ctx context.Context, answerID uuid.UUID) (*Delivery, error) {
	d, err := a.Store.FindDelivery(ctx, a.event.OrganizationID, a.event.InstallationID, answerID)
	switch {
	case err != nil:
		return nil, err
	case d == nil:
		return nil, a.refuse(ctx, textNoAnswer)
	case d.Person != a.to.Person:
		return nil, a.refuse(ctx, textOthers)
	}
	return d, nil
}

// stop stops the answer of the event, or without one the person's last answer in the thread.
func (a *acting) stop(ctx context.Context) error {
	var d *Delivery
	var err error
	if id := a.event.Incoming.AnswerID; id != uuid.Nil {
		d, err = a.own(ctx, id)
	} else {
		d, err = a.last(ctx)
		if err == nil && (d == nil || d.Ended) {
			return a.refuse(ctx, textNoRunning)
		}
	}
	if err != nil || d == nil {
		return err
	}
	return ignoreMissing(a.Chat.StopMessage(ctx, d.Owner(), d.AnswerID))
}

// last returns the person's last delivery in the thread, or nil.
func (a *acting) last(ctx context.Context) (*Delivery, error) {
	return a.Store.LastDelivery(ctx, a.event.OrganizationID, a.event.InstallationID, a.to.Channel, a.to.Thread,
		a.to.Person)
}

// ignoreMissing returns nil for an error because of a deletion.
func ignoreMissing(err error) error {
	if fault.CodeOf(err) == fault.NotFound {
		return nil
	}
	return err
}

// edited offers to regenerate the answer to an edited question.
func (a *acting) edited(ctx context.Context) error {
	e := a.event
	asked, err := a.Store.ListDeliveries(ctx, e.OrganizationID, e.InstallationID, a.to.Channel, e.Incoming.Message)
	if err != nil || len(asked) == 0 || asked[0].Person != a.to.Person {
		return err
	}
	d := asked[0]
	_, edited, err := a.isEdited(ctx, d.Owner(), d, a.event.Incoming.Text)
	if err != nil || !edited {
		return ignoreMissing(err)
	}
	a.to.Thread = d.Thread
	return a.tell(ctx, Notice{Kind: NoticeEdited, Text: textEdited, AnswerID: d.AnswerID})
}

// deleted stops the answers to a question whose message was deleted.
func (a *acting) deleted(ctx context.Context) error {
	in := a.event.Incoming
	busy, err := a.Store.WithdrawQuestion(ctx, a.event.OrganizationID, a.event.InstallationID, in.Channel, in.Message)
	if err != nil {
		return err
	}
	asked, err := a.Store.ListDeliveries(ctx, a.event.OrganizationID, a.event.InstallationID, in.Channel, in.Message)
	if err != nil {
		return err
	}
	for _, d := range asked {
		if d.Ended {
			continue
		}
		if err := ignoreMissing(a.Chat.StopMessage(ctx, d.Owner(), d.AnswerID)); err != nil {
			return err
		}
	}
	if busy && !a.overdue() {
		return later{a.cfg.Busy} // Its answer is not known yet.
	}
	return nil
}

// rate rates an answer.
func (a *acting) rate(ctx context.Context) error {
	in := a.event.Incoming
	d, err := a.own(ctx, in.AnswerID)
	if err != nil || d == nil {
		return err
	}
	text := textRated
	if in.Rating == "" {
		text = textWithdrawn
		err = a.Chat.WithdrawFeedback(ctx, d.Owner(), d.AnswerID)
	} else {
		err = a.Chat.GiveFeedback(ctx, d.Owner(), d.AnswerID, chat.Feedback{Rating: in.Rating, Comment: in.Comment})
	}
	switch fault.CodeOf(err) {
	case "":
		return a.tell(ctx, Notice{Kind: NoticeFeedback, Text: text, AnswerID: d.AnswerID})
	case fault.Internal, fault.Unavailable, fault.Canceled:
		return err
	}
	return a.refuse(ctx, fault.DetailOf(err))
}

// help explains how to ask. For a linked person it lists the skills.
func (a *acting) help(ctx context.Context) error {
	linked, err := a.Links.FindLink(ctx, a.to)
	if err != nil {
		return err
	}
	n := Notice{Kind: NoticeHelp, Text: textHelp, URL: a.cfg.PublicURL, Label: textOpenApp}
	if linked.State == LinkActive {
		if n.Skills, err = a.prompted(ctx, linked.Owner); err != nil {
			return err
		}
	}
	return a.tell(ctx, n)
}

// prompted returns the member's skills as prompts.
func (a *acting) prompted(ctx context.Context, owner chat.Owner) ([]Prompt, error) {
	skills, err := a.listSkills(ctx, owner)
	if err != nil {
		return nil, err
	}
	prompts := make([]Prompt, 0, len(skills))
	for _, s := range skills {
		if s.Unavailable == "" {
			prompts = append(prompts, Prompt{Title: s.Name, Text: strings.Join(strings.Fields(s.Description), "")})
		}
	}
	return prompts, nil
}

// link invites the person to link their account.
func (a *acting) link(ctx context.Context) error {
	linked, err := a.Links.FindLink(ctx, a.to)
	if err != nil {
		return err
	}
	switch linked.State {
	case LinkActive:
		return a.tell(ctx, Notice{Kind: NoticeLinked, Text: fmt.Sprintf(textLinked, linked.Name, linked.Email)})
	case LinkRemoved:
		return a.refuse(ctx, textRemoved)
	case LinkRefused:
		return a.refuse(ctx, textStranger)
	}
	return a.invite(ctx, textLink)
}

// unlink removes the person's link.
func (a *acting) unlink(ctx context.Context) error {
	removed, err := a.Links.RemoveLink(ctx, a.to)
	if err != nil {
		return err
	}
	if !removed {
		return a.refuse(ctx, textNoLink)
	}
	return a.tell(ctx, Notice{Kind: NoticeUnlinked, Text: textUnlinkedOK})
}

// home shows the person's home page.
func (a *acting) home(ctx context.Context) error {
	host, ok := a.surface.(Host)
	if !ok {
		return nil
	}
	linked, err := a.Links.FindLink(ctx, a.to)
	if err != nil {
		return err
	}
	h := Home{AppURL: a.cfg.PublicURL}
	switch linked.State {
	case LinkActive:
		h.Linked, h.Account = true, fmt.Sprintf("%s（%s）", linked.Name, linked.Email)
		h.Skills, err = a.prompted(ctx, linked.Owner)
	case LinkNone:
		h.LinkURL, err = a.Links.Invite(ctx, a.to)
	}
	if err != nil {
		return err
	}
	return host.ShowHome(ctx, a.to, h)
}

// maxPrompts is the number of prompts shown in an opened conversation.
const maxPrompts = 4

// prompts shows suggested questions.
func (a *acting) prompts(ctx context.Context) error {
	host, ok := a.surface.(Host)
	if !ok {
		return nil
	}
	linked, err := a.Links.FindLink(ctx, a.to)
	if err != nil || linked.State != LinkActive {
		return err
	}
	skills, err := a.listSkills(ctx, linked.Owner)
	if err != nil {
		return err
	}
	var prompts []Prompt
	for _, s := range skills {
		if len(s.Suggestions) > 0 && s.Unavailable == "" && len(prompts) < maxPrompts {
			prompts = append(prompts, Prompt{Title: s.Name, Text: s.Name + "\n" + s.Suggestions[0]})
		}
	}
	return host.ShowPrompts(ctx, a.to, prompts)
}
