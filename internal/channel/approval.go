package channel

import (
	"context"
	"errors"
	"slices"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/stream"
)

// A request for a decision about a tool call is posted as a separate message in the answer's thread. It is a part of the
// answer's delivery: DeliveryProgress records the intent before the post, and the message is replaced when the request
// is decided, on any surface, or expires.

// approvalPosition is a part of a text with the state of a decision.
type approvalPosition struct{ run, seq int }

// readApprovals reads the requests for decisions about the answer's calls if the text has a new state of one.
func (w *deliveryWorker) readApprovals(ctx context.Context, text *stream.Text) error {
	at := approvalPosition{text.Run(), text.ApprovalSeq()}
	if at == w.approvalsAt || at.seq == 0 && len(w.Progress.Approvals) == 0 {
		return nil
	}
	list, err := w.Chat.ListAnswerApprovals(ctx, w.owner(), w.AnswerID)
	if err == nil {
		w.approvals, w.approvalsAt = list, at
	}
	return err
}

// planApprovals returns the next call for the posted requests.
func (w *deliveryWorker) planApprovals(now view) action {
	for i, p := range w.Progress.Approvals {
		at := slices.IndexFunc(w.approvals, func(a chat.ToolApproval) bool { return a.ID == p.ID })
		if at < 0 {
			continue // Not read yet.
		}
		of := w.approvals[at]
		if now.ended && of.State == chat.ApprovalWaiting {
			of.State = chat.ApprovalCanceled
		}
		switch {
		case p.Ref == "":
			return w.approvalAction(callFind, i, of)
		case p.Unknown || p.State != of.State:
			return w.approvalAction(callReplace, i, of)
		}
	}
	return action{}
}

// planRequest returns the call that posts the next request, or no call. A surface that cannot replace messages has no
// requests, because their buttons would remain.
func (w *deliveryWorker) planRequest() action {
	for _, of := range w.approvals {
		isPosted := slices.ContainsFunc(w.Progress.Approvals, func(p PostedApproval) bool { return p.ID == of.ID })
		if of.State == chat.ApprovalWaiting && !isPosted && w.traits.CanReplace {
			return w.approvalAction(callBegin, len(w.Progress.Approvals), of)
		}
	}
	return action{}
}

func (w *deliveryWorker) approvalAction(c call, part int, of chat.ToolApproval) action {
	return action{call: c, part: part, final: true, draft: w.approvalDraft(of)}
}

func (w *deliveryWorker) approvalDraft(of chat.ToolApproval) Draft {
	return Draft{AnswerID: w.AnswerID, State: StateDone, URL: w.threadURL(), Approval: &of}
}

// withdrawApprovals removes the buttons of the requests of a deleted answer.
func (w *deliveryWorker) withdrawApprovals(ctx context.Context) error {
	for _, p := range w.Progress.Approvals {
		if p.Ref == "" || p.State != "" && p.State != chat.ApprovalWaiting {
			continue
		}
		of := chat.ToolApproval{Approval: chat.Approval{ID: p.ID, State: chat.ApprovalCanceled}, Title: p.Title}
		if err := w.surface.Replace(ctx, w.to, p.Ref, w.approvalDraft(of)); err != nil && !errors.Is(err, ErrGone) {
			return err
		}
	}
	return nil
}

// decide stores the person's decision about a call of a tool. The delivery of the answer shows it.
func (h *eventHandler) decide(ctx context.Context) error {
	linked, err := h.Links.FindLink(ctx, h.to)
	if err != nil {
		return err
	}
	if linked.State != LinkActive {
		return h.explain(ctx, chat.ErrNotDecider)
	}
	in := h.event.Incoming
	_, err = h.Chat.DecideToolCall(ctx, linked.actor(), chat.Decision{
		ID: in.ApprovalID, RequestID: h.requestID(), Approved: in.Approved, ArgumentsSHA256: in.ArgumentsSHA256,
	})
	switch {
	case fault.CodeOf(err) == fault.NotFound: // Another member's, or deleted with its thread.
		err = chat.ErrNotDecider
	case errors.Is(err, chat.ErrArgumentsChanged):
		return h.refuse(ctx, textArguments)
	}
	return h.explain(ctx, err)
}
