package channel

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/project"
)

// findProject sets the project of a question to the project of the channel. It returns ok false after a notice to a
// person who may not ask in the project. Summaries do not use projects.
func (h *eventHandler) findProject(ctx context.Context, owner identity.Owner) (ok bool, _ error) {
	h.project = nil
	if h.to.Direct || h.event.Incoming.Kind == KindSummarize {
		return true, nil
	}
	bound, err := h.Projects.FindChannel(ctx, owner, h.event.InstallationID, h.to.Channel)
	if err != nil || bound == nil {
		return err == nil, err
	}
	p := bound.Project
	switch {
	case !isActive(p):
		return true, h.notifyInactive(ctx)
	case p.Role == "":
		return false, h.refuse(ctx, textNotInProject)
	}
	shared, err := h.isShared(ctx)
	switch {
	case err != nil:
		return false, err
	case shared:
		return false, h.refuse(ctx, textProjectShared)
	}
	h.project = &p
	return true, nil
}

// isActive reports whether questions can be asked in a project.
func isActive(p project.Project) bool { return p.ArchivedAt == nil && p.DeletedAt == nil }

// notifyInactive notifies the person once that the project of the channel is not used.
func (h *eventHandler) notifyInactive(ctx context.Context) error {
	if h.event.Progress.Inactive {
		return nil
	}
	if err := h.notify(ctx, Notice{Kind: NoticeInfo, Text: textInactive}); err != nil {
		return err
	}
	h.event.Progress.Inactive = true
	return h.save(ctx)
}

// isShared reports whether the channel is shared with other organizations. Events of messages contain this information;
// commands and buttons do not.
func (h *eventHandler) isShared(ctx context.Context) (bool, error) {
	if in := h.event.Incoming; in.Shared || in.Message != "" {
		return in.Shared, nil
	}
	place, err := h.surface.Place(ctx, h.to)
	return place.Shared, err
}

// projectID returns the id of the question's project, or nil.
func (h *eventHandler) projectID() *uuid.UUID {
	if h.project == nil {
		return nil
	}
	return &h.project.ID
}

// isIn reports whether the project of a thread equals the project of the question. Both may be missing.
func (h *eventHandler) isIn(thread chat.Thread) bool {
	if thread.Project == nil {
		return h.project == nil
	}
	return equalID(&thread.Project.ID, h.projectID())
}

func equalID(a, b *uuid.UUID) bool { return a == b || a != nil && b != nil && *a == *b }

// mayRepeat reports whether an answer may be generated again in the channel. It notifies the person if the answer is in
// an archived project, or in one that is no longer the project of the channel.
func (h *eventHandler) mayRepeat(ctx context.Context, owner identity.Owner, d Delivery) (bool, error) {
	thread, err := h.Chat.FindThread(ctx, owner, d.ThreadID)
	if err != nil || thread.Project == nil || d.Direct {
		return err == nil, err
	}
	if thread.Project.Archived {
		return false, h.refuse(ctx, textArchived)
	}
	if ok, err := h.findProject(ctx, owner); err != nil || !ok {
		return false, err
	}
	if !h.isIn(thread) {
		return false, h.refuse(ctx, textOtherProject)
	}
	return true, nil
}

// showProject shows the project of the channel. Only people with a role in it see its name.
func (h *eventHandler) showProject(ctx context.Context) error {
	linked, ok, err := h.member(ctx, h.inviteNow)
	if err != nil || !ok {
		return err
	}
	if h.to.Direct {
		return h.refuse(ctx, textBindDirect)
	}
	bound, err := h.Projects.FindChannel(ctx, linked.Owner, h.event.InstallationID, h.to.Channel)
	if err != nil {
		return err
	}
	text := textNotBound
	switch {
	case bound == nil:
	case bound.Project.Role == "":
		text = textNotInProject
	case !isActive(bound.Project):
		text = fmt.Sprintf(textInactiveBoundTo, bound.Project.Name)
	default:
		text = fmt.Sprintf(textBoundTo, bound.Project.Name)
	}
	return h.notify(ctx, Notice{Kind: NoticeInfo, Text: text})
}

// bind binds the channel to a project that the person manages. The notice names the readers of the answers.
func (h *eventHandler) bind(ctx context.Context) error {
	if text := h.forbidden(); text != "" {
		return h.refuse(ctx, text)
	}
	linked, ok, err := h.member(ctx, h.inviteNow)
	if err != nil || !ok {
		return err
	}
	if h.to.Direct {
		return h.refuse(ctx, textBindDirect)
	}
	place, err := h.surface.Place(ctx, h.to)
	switch {
	case errors.Is(err, ErrGone):
		return h.refuse(ctx, textClosed)
	case err != nil:
		return err
	case place.Direct:
		return h.refuse(ctx, textBindDirect)
	case place.Shared:
		return h.refuse(ctx, textBindShared)
	}
	p, err := h.Projects.BindChannel(ctx, linked.actor(), h.event.Incoming.Text, project.Channel{
		InstallationID: h.event.InstallationID, Channel: h.to.Channel, Name: place.Name,
	})
	if err != nil {
		return h.explain(ctx, err)
	}
	return h.notify(ctx, Notice{
		Kind: NoticeInfo, Text: fmt.Sprintf(textBound, p.Name), Label: textOpenApp,
		URL: h.cfg.PublicURL + "/home/project/" + p.ID.String() + "/setting",
	})
}

// unbind removes the binding of the channel.
func (h *eventHandler) unbind(ctx context.Context) error {
	linked, ok, err := h.member(ctx, h.inviteNow)
	if err != nil || !ok {
		return err
	}
	bound, err := h.Projects.FindChannel(ctx, linked.Owner, h.event.InstallationID, h.to.Channel)
	switch {
	case err != nil:
		return err
	case bound == nil:
		return h.refuse(ctx, textNotBound)
	}
	err = h.Projects.UnbindChannel(ctx, linked.actor(), bound.Project.ID, bound.ID)
	switch {
	case errors.Is(err, project.ErrNoProject), errors.Is(err, project.ErrForbidden):
		return h.refuse(ctx, textMayNotUnbind)
	case err != nil:
		return h.explain(ctx, err)
	}
	return h.notify(ctx, Notice{Kind: NoticeInfo, Text: fmt.Sprintf(textUnbound, bound.Project.Name)})
}

// actor returns the member as the actor of a change.
func (m LinkedMember) actor() identity.Actor {
	return identity.Actor{User: identity.User{
		ID: m.Owner.UserID, OrganizationID: m.Owner.OrganizationID, Name: m.Name, Email: m.Email,
	}}
}
