package channel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/timeout"
	"github.com/tsumugi-ai/tsumugi/internal/work"
)

const (
	// findSlack is the tolerated difference between the clocks of the surface and of this server.
	findSlack = time.Minute

	minCharacters  = 100         // Smallest limit for a message.
	attachTimeout  = time.Minute // For a call that uploads a file.
	attachmentName = "回答.md"
)

// perform stores the intended effect, makes a call and records its result. Storing the intent also detects a lost claim
// before the call.
func (w *deliveryWorker) perform(ctx context.Context, a action) error {
	if !time.Now().Before(w.job.Until()) {
		return ErrClaimLost // The process was suspended for longer than its lease.
	}
	w.recordIntent(a)
	if err := w.save(ctx); err != nil {
		return err
	}
	// The end of the Service does not interrupt a call, because that would leave its effect unknown. The end of the
	// lease does.
	timeout := w.cfg.CallTimeout
	if a.call == callAttach {
		timeout = max(timeout, attachTimeout)
	} else {
		timeout = min(timeout, time.Until(w.job.Until()))
	}
	calling, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	ref, found, err := w.make(calling, a)
	if !errors.Is(err, ErrCannotAppend) { // ErrCannotAppend means no effect.
		w.written(a, ref)
	}
	if err != nil {
		return w.failed(ctx, a, err)
	}
	if a.call != callFind { // Between two attempts of Begin.
		w.Progress.FailingSince, w.Progress.Failures, w.Progress.Refusals = time.Time{}, 0, 0
	}
	w.succeeded(a, ref, found)
	if a.call == callBegin || a.call == callFind || a.call == callAttach {
		return w.save(ctx) // Repeating the call could not recover this result.
	}
	return nil
}

// written records the time of a call. ref is the message that it has posted or found, or "".
func (w *deliveryWorker) written(a action, ref Ref) {
	now := time.Now()
	w.writableAt = now.Add(w.traits.MinInterval)
	if a.call.writes() {
		ref = w.posted(a).Ref
	}
	if ref != "" {
		w.writtenAt[ref] = now
	}
}

// posted returns the message of an action that was posted, or whose post is intended.
func (w *deliveryWorker) posted(a action) *PostedMessage {
	if a.draft.Approval != nil {
		return &w.Progress.Approvals[a.part].PostedMessage
	}
	return &w.Progress.Messages[a.part]
}

// forget removes the last message, which was not posted or is deleted.
func (w *deliveryWorker) forget(a action) {
	if a.draft.Approval != nil {
		w.Progress.Approvals = w.Progress.Approvals[:a.part]
		return
	}
	w.Progress.Messages = w.Progress.Messages[:a.part]
}

// recordIntent records the intended effect of a call.
func (w *deliveryWorker) recordIntent(a action) {
	p := &w.Progress
	switch a.call {
	case callBegin:
		if of := a.draft.Approval; of != nil {
			p.Approvals = append(p.Approvals, PostedApproval{
				ID: of.ID, Title: of.Title, PostedMessage: PostedMessage{StartedAt: time.Now()},
			})
			return
		}
		p.Messages = append(p.Messages, PostedMessage{StartedAt: time.Now(), FirstMarkdown: a.draft.Markdown})
	case callAppend, callFinish:
		p.Messages[a.part].IntendedBytes = len(a.draft.Markdown)
	case callAttach:
		p.AttachTried = true
	}
}

// make makes a call.
func (w *deliveryWorker) make(ctx context.Context, a action) (ref Ref, found bool, err error) {
	if a.call == callAttach {
		return "", true, w.surface.Attach(ctx, w.to, Attachment{
			AnswerID: w.AnswerID, Name: attachmentName, Markdown: a.draft.Markdown, Again: a.again,
		})
	}
	p := *w.posted(a)
	from := a.draft
	from.Markdown, from.State = a.draft.Markdown[:min(p.ConfirmedBytes, len(a.draft.Markdown))], StateWriting
	from.Reason, from.Citations, from.Notice, from.Attached = "", nil, "", false
	switch a.call {
	case callBegin:
		ref, err = w.surface.Begin(ctx, w.to, a.draft)
	case callFind:
		first := a.draft // The current text may differ: it may belong to a later run.
		first.Markdown = p.FirstMarkdown
		ref, found, err = w.surface.Find(ctx, w.to, p.StartedAt.Add(-findSlack), w.known(), first)
	case callAppend:
		err = w.surface.Append(ctx, w.to, p.Ref, from, a.draft)
	case callReplace:
		err = w.surface.Replace(ctx, w.to, p.Ref, a.draft)
	case callFinish:
		err = w.surface.Finish(ctx, w.to, p.Ref, from, a.draft)
	}
	return ref, found, err
}

// known returns the known names of posted messages.
func (w *deliveryWorker) known() []Ref {
	refs := append([]Ref(nil), w.Progress.Obsolete...)
	for _, p := range w.Progress.Messages {
		if p.Ref != "" {
			refs = append(refs, p.Ref)
		}
	}
	for _, p := range w.Progress.Approvals {
		if p.Ref != "" {
			refs = append(refs, p.Ref)
		}
	}
	return refs
}

// succeeded records the effect of a successful call.
func (w *deliveryWorker) succeeded(a action, ref Ref, found bool) {
	progress := &w.Progress
	if a.call == callAttach {
		progress.Attached = true
		return
	}
	p := w.posted(a)
	if a.call == callFind {
		switch {
		case found && w.traits.CanReplace:
			p.Ref, p.FirstMarkdown, p.Unknown = ref, "", true
		case found: // Begin posts such messages whole.
			p.Ref, p.FirstMarkdown, p.Closed = ref, "", true
			p.ConfirmedBytes, p.IntendedBytes = len(a.draft.Markdown), len(a.draft.Markdown)
		default: // No message was posted.
			w.forget(a)
		}
		return
	}
	if a.draft.State == StateSuperseded {
		progress.Obsolete = append(progress.Obsolete, p.Ref)
		w.forget(a)
		return
	}
	if of := a.draft.Approval; of != nil {
		progress.Approvals[a.part].State = of.State
	}
	switch a.call {
	case callBegin:
		p.Ref, p.FirstMarkdown, p.StartedAt = ref, "", time.Now()
		p.Streaming = w.traits.CanAppend && a.draft.State == StateWriting
	case callReplace, callFinish:
		p.Streaming, p.Unknown = false, false
	}
	p.ConfirmedBytes, p.IntendedBytes, p.Closed = len(a.draft.Markdown), len(a.draft.Markdown), a.final
}

// failed records the known effect of a failed call.
func (w *deliveryWorker) failed(ctx context.Context, a action, err error) error {
	limit, isLimited := errors.AsType[*RateLimitError](err)
	var p *PostedMessage
	if a.call != callAttach {
		p = w.posted(a)
	}
	switch {
	case errors.Is(err, ErrGone) && a.call == callReplace && a.draft.Approval != nil:
		w.Progress.Approvals[a.part].State = a.draft.Approval.State // A person has deleted the message.
		p.Unknown = false
		return nil
	case errors.Is(err, ErrGone), errors.Is(err, ErrRevoked):
		return err
	case isLimited: // The call had no effect.
		w.counters.limited.Add(1)
		w.limits.set(limitKey{w.InstallationID, a.call}, limit.RetryAfter)
		w.log.InfoContext(ctx, "channel: rate limited", "call", a.call, "for", limit.RetryAfter)
		if a.call == callBegin {
			w.forget(a)
		} else if p != nil {
			p.IntendedBytes = p.ConfirmedBytes
		}
		return nil
	case errors.Is(err, ErrCannotAppend) && (a.call == callAppend || a.call == callFinish):
		p.Streaming, p.Unknown = false, true
		return nil
	}
	if errors.Is(err, ErrTooLong) && w.shorten(a) {
		return nil
	}
	if p != nil {
		p.Unknown = p.Unknown || a.call == callAppend || a.call == callFinish
	}
	w.counters.failed.Add(1)
	pause, abandoned := w.backOff(err)
	if abandoned {
		return fmt.Errorf("%w: %s: %w", errAbandoned, a.call, err)
	}
	w.pause = time.Now().Add(pause)
	w.log.WarnContext(ctx, "channel: call failed, retrying", "call", a.call, "again_in", pause,
		"err", err)
	return nil
}

// errAbandoned means that a delivery is given up.
var errAbandoned = errors.New("channel: too many failures")

// backOff counts a failure. It returns the pause until the next attempt, or that the delivery is given up. A refused
// call may never succeed. A call that fails without a response is expected to succeed after an outage.
func (w *deliveryWorker) backOff(err error) (pause time.Duration, abandoned bool) {
	p, now := &w.Progress, time.Now()
	if p.FailingSince.IsZero() {
		p.FailingSince = now
	}
	p.Failures++
	pause = work.Backoff(p.Failures, w.cfg.MinPause, w.cfg.MaxPause)
	if errors.Is(err, ErrRefused) || errors.Is(err, ErrTooLong) || errors.Is(err, ErrCannotAppend) {
		p.Refusals++
		pause = work.Backoff(p.Refusals, w.cfg.MinPause, 10*w.cfg.MaxPause)
	} else {
		p.Refusals = 0
	}
	return pause, p.Refusals >= w.cfg.MaxRefusals || now.Sub(p.FailingSince) >= w.cfg.MaxOutage
}

// shorten reduces the maximum length of messages, if messages can be replaced. It reports whether it did.
func (w *deliveryWorker) shorten(a action) bool {
	shorter := w.traits.MaxCharacters * 4 / 5
	if !w.traits.CanReplace || shorter < minCharacters || a.draft.Approval != nil {
		return false
	}
	w.traits.MaxCharacters = shorter
	if a.call == callBegin {
		w.Progress.Messages = w.Progress.Messages[:a.part]
	}
	for i := range w.Progress.Messages {
		w.Progress.Messages[i].Unknown, w.Progress.Messages[i].Closed = true, false
	}
	return true
}

// save stores the progress.
func (w *deliveryWorker) save(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout.Store)
	defer cancel()
	return w.Store.SaveDelivery(ctx, w.Delivery)
}
