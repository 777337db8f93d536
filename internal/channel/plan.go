package channel

import (
	"time"
)

// call names a method of a Surface.
type call string

const (
	callNone    call = ""
	callBegin   call = "begin"
	callFind    call = "find"
	callAppend  call = "append"
	callReplace call = "replace"
	callFinish  call = "finish"
	callAttach  call = "attach"
)

// writes reports whether the call changes an existing message.
func (c call) writes() bool { return c == callAppend || c == callReplace || c == callFinish }

// action is the next call to make.
type action struct {
	call  call
	part  int
	draft Draft
	final bool // The call gives the message its final state.
	again bool // For callAttach: an earlier attempt was made.
}

// plan returns the next call that brings the surface to the current state of the answer and of its requests for
// decisions. A new request follows the text before it.
func (w *deliveryWorker) plan(now view) action {
	if now.run < w.Progress.Run {
		return action{} // The old run is about to be abandoned.
	}
	a := w.planApprovals(now)
	if a.call == callNone {
		a = w.planAnswer(now)
	}
	if a.call == callNone && !now.ended {
		a = w.planRequest()
	}
	return a
}

// planAnswer returns the next call for the messages of the answer. The messages of a later run replace those of the
// earlier run.
func (w *deliveryWorker) planAnswer(now view) action {
	p := &w.Progress
	if p.Run != now.run {
		p.Run = now.run
		for i := range p.Messages {
			p.Messages[i].Unknown, p.Messages[i].Closed = true, false
		}
	}
	drafts := w.drafts(now)
	for i, d := range drafts {
		final := now.ended || i < len(drafts)-1
		if i == len(p.Messages) {
			if final || d.Markdown != "" && w.traits.CanReplace {
				return action{call: callBegin, part: i, draft: d, final: final}
			}
			return action{}
		}
		if c := w.planPart(p.Messages[i], d, final); c != callNone {
			return action{call: c, part: i, draft: d, final: final}
		}
	}
	if i := len(p.Messages) - 1; i >= max(len(drafts), 1) {
		c := callReplace
		if p.Messages[i].Ref == "" {
			c = callFind
		}
		return action{call: c, part: i, draft: Draft{AnswerID: w.AnswerID, Part: i, State: StateSuperseded}, final: true}
	}
	if last := len(drafts) - 1; now.ended && drafts[last].Attached && !p.Attached {
		return action{call: callAttach, part: last, draft: Draft{Markdown: now.text}, again: p.AttachTried}
	}
	return action{}
}

// planPart returns the next call for a posted message.
func (w *deliveryWorker) planPart(p PostedMessage, d Draft, final bool) call {
	grown := len(d.Markdown) > p.ConfirmedBytes
	switch {
	case p.Ref == "":
		return callFind
	case p.Unknown && (final || d.Markdown != ""):
		return callReplace
	case p.Unknown || p.Closed:
		return callNone // While a new run has no text, the text of the earlier run remains.
	case p.Streaming && (final || time.Since(p.StartedAt) >= w.traits.AppendLifetime):
		return callFinish
	case p.Streaming && grown:
		return callAppend
	case !p.Streaming && (final || grown && w.traits.CanReplace):
		return callReplace
	}
	return callNone
}

// drafts returns the messages of an answer, at least one.
func (w *deliveryWorker) drafts(now view) []Draft {
	pieces := split(now.text, w.traits.MaxCharacters, now.ended)
	attached := len(pieces) > w.traits.MaxMessages
	pieces = pieces[:min(len(pieces), w.traits.MaxMessages)]
	if len(pieces) == 0 {
		pieces = []piece{{}}
	}
	drafts := make([]Draft, len(pieces))
	for i, p := range pieces {
		d := Draft{
			AnswerID: w.AnswerID, Part: i, Markdown: p.markdown(now.text), State: StateDone, URL: w.threadURL(),
		}
		if i == len(pieces)-1 {
			d.Last, d.State, d.Reason = true, now.state, now.reason
			if now.ended {
				d.Citations, d.Notice, d.Attached = now.cited, now.notice, attached
			}
		}
		drafts[i] = d
	}
	return drafts
}
