package channel

import (
	"context"
	"errors"
	"time"
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
func (w *delivering) perform(ctx context.Context, a action) error {
	if !time.Now().Before(*w.claim.until.Load()) {
		return ErrLost // The process was suspended for longer than its lease.
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
		timeout = min(timeout, time.Until(*w.claim.until.Load()))
	}
	calling, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	ref, found, err := w.make(calling, a)
	if !errors.Is(err, ErrCannotAppend) { // ErrCannotAppend means no effect.
		w.wrote[a.part] = time.Now()
		w.rested = w.wrote[a.part].Add(w.traits.MinInterval)
	}
	if err != nil {
		return w.failed(ctx, a, err)
	}
	w.tried = 0
	w.succeeded(a, ref, found)
	if a.call == callBegin || a.call == callFind || a.call == callAttach {
		return w.save(ctx) // Repeating the call could not recover this result.
	}
	return nil
}

// recordIntent records the intended effect of a call.
func (w *delivering) recordIntent(a action) {
	p := &w.Progress
	switch a.call {
	case callBegin:
		p.Posted = append(p.Posted, Posted{Begun: time.Now(), First: a.draft.Markdown})
	case callAppend, callFinish:
		p.Posted[a.part].Meant = len(a.draft.Markdown)
	case callAttach:
		p.Attaching = true
	}
}

// make makes a call.
func (w *delivering) make(ctx context.Context, a action) (ref Ref, found bool, err error) {
	if a.call == callAttach {
		return "", true, w.surface.Attach(ctx, w.to, Attachment{
			AnswerID: w.AnswerID, Name: attachmentName, Markdown: a.draft.Markdown, Again: a.again,
		})
	}
	p := w.Progress.Posted[a.part]
	from := a.draft
	from.Markdown, from.State = a.draft.Markdown[:min(p.Held, len(a.draft.Markdown))], Writing
	from.Reason, from.Citations, from.Notice, from.Attached = "", nil, "", false
	switch a.call {
	case callBegin:
		ref, err = w.surface.Begin(ctx, w.to, a.draft)
	case callFind:
		first := a.draft // The current text may differ: it may belong to a later run.
		first.Markdown = p.First
		ref, found, err = w.surface.Find(ctx, w.to, p.Begun.Add(-findSlack), w.known(), first)
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
func (w *delivering) known() []Ref {
	refs := append([]Ref(nil), w.Progress.Former...)
	for _, p := range w.Progress.Posted {
		if p.Ref != "" {
			refs = append(refs, p.Ref)
		}
	}
	return refs
}

// succeeded records the effect of a successful call.
func (w *delivering) succeeded(a action, ref Ref, found bool) {
	progress := &w.Progress
	if a.call == callAttach {
		progress.Attached = true
		return
	}
	p := &progress.Posted[a.part]
	if a.call == callFind {
		switch {
		case found && w.traits.CanReplace:
			p.Ref, p.First, p.Unsure = ref, "", true
		case found: // Begin posts such messages whole.
			p.Ref, p.First, p.Held, p.Meant, p.Closed = ref, "", len(a.draft.Markdown), len(a.draft.Markdown), true
		default: // No message was posted.
			progress.Posted = progress.Posted[:a.part]
			delete(w.wrote, a.part)
		}
		return
	}
	if a.draft.State == Superseded {
		progress.Former = append(progress.Former, p.Ref)
		progress.Posted = progress.Posted[:a.part]
		delete(w.wrote, a.part)
		return
	}
	switch a.call {
	case callBegin:
		p.Ref, p.First, p.Begun = ref, "", time.Now()
		p.Streaming = w.traits.CanAppend && a.draft.State == Writing
	case callReplace, callFinish:
		p.Streaming, p.Unsure = false, false
	}
	p.Held, p.Meant, p.Closed = len(a.draft.Markdown), len(a.draft.Markdown), a.final
}

// failed records the known effect of a failed call.
func (w *delivering) failed(ctx context.Context, a action, err error) error {
	limit, isLimited := errors.AsType[*RateLimited](err)
	var p *Posted
	if a.call != callAttach {
		p = &w.Progress.Posted[a.part]
	}
	switch {
	case errors.Is(err, ErrGone), errors.Is(err, ErrRevoked):
		return err
	case isLimited: // The call had no effect.
		w.counters.limited.Add(1)
		w.limits.set(limited{w.InstallationID, a.call}, limit.RetryAfter)
		w.log.InfoContext(ctx, "channel: rate limited", "call", a.call, "for", limit.RetryAfter)
		if a.call == callBegin {
			w.Progress.Posted = w.Progress.Posted[:a.part]
		} else if p != nil {
			p.Meant = p.Held
		}
		return nil
	case errors.Is(err, ErrCannotAppend) && p != nil:
		p.Streaming, p.Unsure = false, true
		return nil
	}
	if errors.Is(err, ErrTooLong) && w.shorten(a) {
		return nil
	}
	if p != nil {
		p.Unsure = p.Unsure || a.call == callAppend || a.call == callFinish
	}
	w.counters.failed.Add(1)
	w.tried++
	pause := w.Service.pause(w.tried)
	w.pause = time.Now().Add(pause)
	w.log.WarnContext(ctx, "channel: call failed, retrying", "call", a.call, "again_in", pause,
		"err", err)
	return nil
}

// shorten reduces the maximum length of messages, if messages can be replaced. It reports whether it did.
func (w *delivering) shorten(a action) bool {
	shorter := w.traits.MaxCharacters * 4 / 5
	if !w.traits.CanReplace || shorter < minCharacters {
		return false
	}
	w.traits.MaxCharacters = shorter
	if a.call == callBegin {
		w.Progress.Posted = w.Progress.Posted[:a.part]
	}
	for i := range w.Progress.Posted {
		w.Progress.Posted[i].Unsure, w.Progress.Posted[i].Closed = true, false
	}
	return true
}

// save stores the progress.
func (w *delivering) save(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	return w.Store.SaveDelivery(ctx, w.Delivery)
}
