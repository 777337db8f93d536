package channel

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// own returns the delivery of an answer that the person asked for. For other answers it returns nil after notifying the
// person.
func (h *eventHandler) own(ctx context.Context, answerID uuid.UUID) (*Delivery, error) {
	d, err := h.Store.FindDelivery(ctx, h.event.OrganizationID, h.event.InstallationID, answerID)
	switch {
	case err != nil:
		return nil, err
	case d == nil:
		return nil, h.refuse(ctx, textNoAnswer)
	case d.Person != h.to.Person:
		return nil, h.refuse(ctx, textOthers)
	}
	err = h.Store.CheckMember(ctx, d.owner())
	if fault.CodeOf(err) == fault.NotFound {
		return nil, h.refuse(ctx, textRemoved)
	}
	return d, err
}

// stop stops the answer of the event, or without one the person's last answer in the thread.
func (h *eventHandler) stop(ctx context.Context) error {
	var d *Delivery
	var err error
	if id := h.event.Incoming.AnswerID; id != uuid.Nil {
		d, err = h.own(ctx, id)
	} else {
		d, err = h.last(ctx)
		if err == nil && (d == nil || d.Ended) {
			return h.refuse(ctx, textNoRunning)
		}
	}
	if err != nil || d == nil {
		return err
	}
	return ignoreMissing(h.Chat.StopMessage(ctx, d.owner(), d.AnswerID))
}

// last returns the person's last delivery in the thread, or nil.
func (h *eventHandler) last(ctx context.Context) (*Delivery, error) {
	return h.Store.LastDelivery(ctx, h.event.OrganizationID, h.event.InstallationID, h.to.Channel, h.to.Thread,
		h.to.Person)
}

// ignoreMissing returns nil for an error because of a deletion.
func ignoreMissing(err error) error {
	if fault.CodeOf(err) == fault.NotFound {
		return nil
	}
	return err
}

// handleEdit offers to regenerate the answer to an edited question.
func (h *eventHandler) handleEdit(ctx context.Context) error {
	e := h.event
	asked, err := h.Store.ListDeliveries(ctx, e.OrganizationID, e.InstallationID, h.to.Channel, e.Incoming.Message)
	if err != nil || len(asked) == 0 || asked[0].Person != h.to.Person {
		return err
	}
	d := asked[0]
	_, edited, err := h.isEdited(ctx, d.owner(), d, h.event.Incoming.Text)
	if err != nil || !edited {
		return ignoreMissing(err)
	}
	h.to.Thread = d.Thread
	return h.notify(ctx, Notice{Kind: NoticeEdited, Text: textEdited, AnswerID: d.AnswerID})
}

// handleDelete stops the answers to a question whose message was deleted.
func (h *eventHandler) handleDelete(ctx context.Context) error {
	in := h.event.Incoming
	busy, err := h.Store.WithdrawQuestion(ctx, h.event.OrganizationID, h.event.InstallationID, in.Channel, in.Message)
	if err != nil {
		return err
	}
	asked, err := h.Store.ListDeliveries(ctx, h.event.OrganizationID, h.event.InstallationID, in.Channel, in.Message)
	if err != nil {
		return err
	}
	for _, d := range asked {
		if d.Ended {
			continue
		}
		if err := ignoreMissing(h.Chat.StopMessage(ctx, d.owner(), d.AnswerID)); err != nil {
			return err
		}
	}
	if busy && !h.overdue() {
		return later{h.cfg.BusyRetry} // Its answer is not known yet.
	}
	return nil
}

// rate rates an answer.
func (h *eventHandler) rate(ctx context.Context) error {
	in := h.event.Incoming
	d, err := h.own(ctx, in.AnswerID)
	if err != nil || d == nil {
		return err
	}
	text := textRated
	if in.Rating == "" {
		text = textWithdrawn
		err = h.Chat.WithdrawFeedback(ctx, d.owner(), d.AnswerID)
	} else {
		err = h.Chat.GiveFeedback(ctx, d.owner(), d.AnswerID, chat.Feedback{Rating: in.Rating, Comment: in.Comment})
	}
	switch fault.CodeOf(err) {
	case "":
		return h.notify(ctx, Notice{Kind: NoticeFeedback, Text: text, AnswerID: d.AnswerID})
	case fault.Internal, fault.Unavailable, fault.Canceled:
		return err
	}
	return h.refuse(ctx, fault.DetailOf(err))
}

// help explains how to ask. For a linked person it lists the skills.
func (h *eventHandler) help(ctx context.Context) error {
	linked, err := h.Links.FindLink(ctx, h.to)
	if err != nil {
		return err
	}
	n := Notice{Kind: NoticeHelp, Text: textHelp, URL: h.cfg.PublicURL, Label: textOpenApp}
	if linked.State == LinkActive {
		if n.Skills, err = h.skillPrompts(ctx, linked.Owner); err != nil {
			return err
		}
	}
	return h.notify(ctx, n)
}

// skillPrompts returns the member's skills as prompts.
func (h *eventHandler) skillPrompts(ctx context.Context, owner identity.Owner) ([]Prompt, error) {
	skills, err := h.listSkills(ctx, owner)
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
func (h *eventHandler) link(ctx context.Context) error {
	linked, ok, err := h.member(ctx, h.inviteNow)
	if err != nil || !ok {
		return err
	}
	return h.notify(ctx, Notice{Kind: NoticeLinked, Text: fmt.Sprintf(textLinked, linked.Name, linked.Email)})
}

// inviteNow invites a person who did not ask a question.
func (h *eventHandler) inviteNow(ctx context.Context) error { return h.invite(ctx, textLink) }

// unlink removes the person's link.
func (h *eventHandler) unlink(ctx context.Context) error {
	removed, err := h.Links.RemoveLink(ctx, h.to)
	if err != nil {
		return err
	}
	if !removed {
		return h.refuse(ctx, textNoLink)
	}
	return h.notify(ctx, Notice{Kind: NoticeUnlinked, Text: textUnlinkedOK})
}

// home shows the person's home page.
func (h *eventHandler) home(ctx context.Context) error {
	linked, err := h.Links.FindLink(ctx, h.to)
	if err != nil {
		return err
	}
	page := Home{AppURL: h.cfg.PublicURL}
	switch linked.State {
	case LinkActive:
		page.Linked, page.Account = true, fmt.Sprintf("%s（%s）", linked.Name, linked.Email)
		page.Skills, err = h.skillPrompts(ctx, linked.Owner)
	case LinkNone:
		page.LinkURL, err = h.Links.Invite(ctx, h.to)
	}
	if err != nil {
		return err
	}
	return h.surface.ShowHome(ctx, h.to, page)
}

// maxPrompts is the number of prompts shown in an opened conversation.
const maxPrompts = 4

// prompts shows suggested questions.
func (h *eventHandler) prompts(ctx context.Context) error {
	linked, err := h.Links.FindLink(ctx, h.to)
	if err != nil || linked.State != LinkActive {
		return err
	}
	skills, err := h.listSkills(ctx, linked.Owner)
	if err != nil {
		return err
	}
	var prompts []Prompt
	for _, s := range skills {
		if len(s.Suggestions) > 0 && s.Unavailable == "" && len(prompts) < maxPrompts {
			prompts = append(prompts, Prompt{Title: s.Name, Text: s.Name + "\n" + s.Suggestions[0]})
		}
	}
	return h.surface.ShowPrompts(ctx, h.to, prompts)
}
