package channel

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/timeout"
	"github.com/tsumugi-ai/tsumugi/internal/work"
	"github.com/tsumugi-ai/tsumugi/stream"
)

// claimDeliveries claims deliveries without a server.
func (s *Service) claimDeliveries(ctx context.Context) ([]Delivery, error) {
	free := s.cfg.MaxDeliveries - s.deliveries.Len()
	if free <= 0 {
		return nil, nil
	}
	claimed, err := s.Store.ClaimDeliveries(ctx, free, s.cfg.Lease)
	s.counters.takeovers.Add(int64(len(claimed)))
	return claimed, err
}

// deliveryWorker is a delivery in progress on this server. It belongs to one goroutine.
type deliveryWorker struct {
	*Service
	Delivery
	job        *work.Job[Delivery]
	surface    Surface
	traits     Traits
	to         Target
	log        *slog.Logger
	writtenAt  map[Ref]time.Time // Time of the last write to each message.
	inProject  bool              // The thread is in a project, whose access the person can lose, or unknown.
	checkedAt  time.Time         // When the person's access to the thread was last checked.
	pause      time.Time         // End of the pause after a failed call.
	writableAt time.Time         // Time of the last write plus the interval for a message.

	approvals   []chat.ToolApproval // Requests for decisions about tool calls of the answer.
	approvalsAt approvalPosition    // Position of the text when approvals was read.
}

// view is a snapshot of an answer.
type view struct {
	run    int
	text   string
	ended  bool
	state  State
	reason string
	cited  []chat.Citation
	notice string
}

// deliver delivers an answer until it is complete, the claim is lost, or the Service stops.
func (s *Service) deliver(ctx context.Context, job *work.Job[Delivery]) {
	d := job.Value
	w := &deliveryWorker{Service: s, Delivery: d, job: job, writtenAt: make(map[Ref]time.Time), log: s.Log.With(
		"installation", d.InstallationID, "answer", d.AnswerID,
	)}
	err := w.prepare(ctx)
	if err == nil {
		err = w.follow(ctx)
	}
	store, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout.Store)
	defer cancel()
	isLost := errors.Is(err, ErrClaimLost)
	switch {
	case (isLost || errors.Is(context.Cause(ctx), work.ErrLost)) && w.isDeleted(store):
		err = w.withdraw(store)
	case isLost:
		return
	case ctx.Err() != nil: // Stopped, or the claim was lost.
		err = s.Store.ReleaseDelivery(store, w.Delivery, 0)
	case err == nil:
		s.counters.delivered.Add(1)
		w.title(store)
		err = s.Store.EndDelivery(store, w.Delivery)
	case errors.Is(err, errAbandoned):
		err = w.abandon(store, err)
	case errors.Is(err, ErrGone), errors.Is(err, ErrNotInstalled):
		w.log.InfoContext(ctx, "channel: place of an answer deleted", "err", err)
		err = s.Store.EndDelivery(store, w.Delivery)
	case errors.Is(err, ErrRevoked) && !s.isReplaced(store, w.to.Installation):
		err = s.erase(ctx, d.InstallationID)
	default:
		pause, abandoned := w.backOff(err)
		if abandoned {
			err = w.abandon(store, err)
			break
		}
		w.log.WarnContext(ctx, "channel: delivery interrupted", "again_in", pause, "err", err)
		err = s.Store.ReleaseDelivery(store, w.Delivery, pause)
	}
	if err != nil && !errors.Is(err, ErrClaimLost) {
		w.log.WarnContext(ctx, "channel: delivery result not stored, lease expires", "err", err)
	}
}

// prepare loads the installation and sets the surface and the target.
func (w *deliveryWorker) prepare(ctx context.Context) error {
	in, err := w.Installations.Installation(ctx, w.InstallationID)
	if err != nil {
		return err
	}
	if w.surface, err = w.Service.surface(in); err != nil {
		return err
	}
	w.traits = w.surface.Traits()
	w.to = Target{
		Installation: in, Channel: w.Channel, Thread: w.Thread, Person: w.Person, PersonTeam: w.PersonTeam,
		Direct: w.Direct,
	}
	thread, err := w.Chat.FindThread(ctx, w.owner(), w.ThreadID)
	w.inProject = err != nil || thread.Project != nil
	for i := range w.Progress.Messages { // A former server's call without a recorded result may have succeeded.
		if p := &w.Progress.Messages[i]; p.ConfirmedBytes != p.IntendedBytes {
			p.Unknown = true
		}
	}
	return nil
}

// follow watches the answer, as clients do, until it is delivered completely.
func (w *deliveryWorker) follow(ctx context.Context) error {
	w.status(ctx, textThinking)
	leave := func() {}
	defer func() { leave() }()
	for {
		attachment, err := w.Chat.Attach(ctx, w.owner(), w.AnswerID)
		if err == nil {
			// Called after Attach: when the last watcher leaves, the server unsubscribes from another server's text.
			leave()
			leave = attachment.Leave
			var done bool
			if done, err = w.watch(ctx, attachment); done {
				return err
			}
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case fault.CodeOf(err) == fault.NotFound:
			return w.withdraw(ctx)
		case err != nil && !isFault(err):
			return err // Of the surface, or a lost claim.
		case err != nil:
			w.log.InfoContext(ctx, "channel: watching an answer failed, retrying", "err", err)
			if err := w.sleep(ctx, w.cfg.MinPause, nil); err != nil {
				return err
			}
		}
	}
}

// isFault reports whether an error of a domain or the store may be temporary.
func isFault(err error) bool {
	_, ok := errors.AsType[*fault.Error](err)
	return ok && !errors.Is(err, ErrClaimLost) && !errors.Is(err, ErrNotInstalled)
}

// watch delivers a text while it grows. done reports that the delivery is complete or has failed.
func (w *deliveryWorker) watch(ctx context.Context, a chat.Attachment) (done bool, _ error) {
	if a.Text == nil {
		return false, w.sleep(ctx, a.Patience, a.Opened)
	}
	watch := a.Text.Watch("")
	for {
		for watch.Take() != nil { // The updates only signal new text: step reads the whole text.
		}
		more, over := watch.Wait()
		if over {
			break
		}
		if err := w.checkAccess(ctx); err != nil {
			return false, err
		}
		if err := w.readApprovals(ctx, a.Text); err != nil {
			return false, err
		}
		if rest := time.Until(w.writableAt); rest > 0 { // The text may grow meanwhile.
			if err := w.sleep(ctx, rest, nil); err != nil {
				return true, err
			}
			continue
		}
		wait, err := w.step(ctx, view{run: a.Text.Run(), text: a.Text.Text(), state: StateWriting})
		switch {
		case err != nil:
		case wait > 0:
			w.writableAt = time.Now().Add(min(wait, max(w.traits.MinInterval, time.Millisecond)))
		case wait < 0:
			err = w.sleep(ctx, w.idle(), more)
		}
		if err != nil {
			return true, err
		}
	}
	if _, err := watch.Over(); errors.Is(err, stream.ErrAbandoned) {
		return false, nil // follow attaches to the next run.
	}
	return w.complete(ctx)
}

// checkAccess returns an error with the code fault.NotFound if the person may no longer open the thread, because they
// are no longer an active member or have lost access to its project.
func (w *deliveryWorker) checkAccess(ctx context.Context) error {
	if time.Since(w.checkedAt) < w.cfg.AccessCheck {
		return nil
	}
	err := w.Store.CheckMember(ctx, w.owner())
	if err == nil && w.inProject {
		_, err = w.Chat.FindThread(ctx, w.owner(), w.ThreadID)
	}
	if fault.CodeOf(err) == fault.NotFound {
		return err
	}
	if err == nil {
		w.checkedAt = time.Now()
	}
	return nil
}

// complete delivers the stored text of an answer that has ended.
func (w *deliveryWorker) complete(ctx context.Context) (done bool, _ error) {
	m, err := w.Chat.FindMessage(ctx, w.owner(), w.AnswerID)
	if err == nil && len(w.Progress.Approvals) > 0 {
		w.approvals, err = w.Chat.ListAnswerApprovals(ctx, w.owner(), w.AnswerID)
	}
	if err != nil || !m.Status.Terminal() {
		return false, err
	}
	if err := w.checkAccess(ctx); err != nil {
		return false, err
	}
	now := view{run: m.Run, text: m.Content, ended: true, state: StateDone, cited: m.Cited(), notice: m.Notice()}
	switch {
	case m.Status == chat.StatusFailed:
		now.state = StateFailed
		if m.Failure != nil {
			now.reason = m.Failure.Detail
		}
	case m.FinishReason == chat.FinishStopped:
		now.state = StateStopped
	}
	for {
		wait, err := w.step(ctx, now)
		if err != nil || wait < 0 {
			return true, err
		}
		if err := w.sleep(ctx, wait, nil); err != nil {
			return true, err
		}
	}
}

// isDeleted reports whether the answer was deleted, which also removes the claim.
func (w *deliveryWorker) isDeleted(ctx context.Context) bool {
	_, err := w.Chat.FindMessage(ctx, w.owner(), w.AnswerID)
	return w.surface != nil && fault.CodeOf(err) == fault.NotFound
}

// idle returns the time to wait for more text: until the stream reaches its maximum age, or the next check of the
// person's access.
func (w *deliveryWorker) idle() time.Duration {
	wait := w.cfg.AccessCheck
	if i := len(w.Progress.Messages) - 1; i >= 0 && w.Progress.Messages[i].Streaming {
		wait = min(wait, max(time.Until(w.Progress.Messages[i].StartedAt.Add(w.traits.AppendLifetime)), time.Millisecond))
	}
	return wait
}

// withdraw ends the messages of an answer that was deleted with its thread and its delivery.
func (w *deliveryWorker) withdraw(ctx context.Context) error {
	if time.Now().After(w.job.Until()) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, w.cfg.CallTimeout)
	defer cancel()
	err := w.withdrawApprovals(ctx)
	i := len(w.Progress.Messages) - 1
	if err != nil || i < 0 || w.Progress.Messages[i].Ref == "" {
		return err
	}
	return w.surface.Replace(ctx, w.to, w.Progress.Messages[i].Ref, Draft{
		AnswerID: w.AnswerID, Part: i, State: StateStopped, Reason: textDeleted, Last: true, URL: w.threadURL(),
	})
}

// threadURL returns the address of the thread in the app.
func (w *deliveryWorker) threadURL() string { return w.cfg.PublicURL + "/chat/" + w.ThreadID.String() }

// status shows that the answer is in progress. A failure is not retried because the status is not part of the answer.
func (w *deliveryWorker) status(ctx context.Context, text string) {
	if len(w.Progress.Messages) > 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, w.cfg.CallTimeout)
	defer cancel()
	if err := w.surface.Status(ctx, w.to, text); err != nil {
		w.log.InfoContext(ctx, "channel: status not shown", "err", err)
	}
}

// abandon ends a delivery after too many failures, and sends the person a link to the answer. A failed notice is not
// retried.
func (w *deliveryWorker) abandon(ctx context.Context, cause error) error {
	w.log.WarnContext(ctx, "channel: delivery given up", "err", cause)
	err := w.Store.EndDelivery(ctx, w.Delivery)
	if err == nil {
		w.counters.abandoned.Add(1)
	}
	if err != nil || w.surface == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.cfg.CallTimeout)
	defer cancel()
	if err := w.surface.Notify(ctx, w.to, Notice{
		Kind: NoticeRefused, Text: textUndelivered, URL: w.threadURL(), Label: textOpenApp,
	}); err != nil {
		w.log.InfoContext(ctx, "channel: notice about a given up delivery not shown", "err", err)
	}
	return nil
}

// title names a direct conversation after the member's thread. A failure is not retried.
func (w *deliveryWorker) title(ctx context.Context) {
	if !w.to.Direct {
		return
	}
	thread, err := w.Chat.FindThread(ctx, w.owner(), w.ThreadID)
	if err == nil && thread.Title != "" {
		err = w.surface.ShowTitle(ctx, w.to, thread.Title)
	}
	if err != nil {
		w.log.InfoContext(ctx, "channel: title not shown", "err", err)
	}
}

// sleep waits for a duration or for more, or returns the error of ctx.
func (w *deliveryWorker) sleep(ctx context.Context, wait time.Duration, more <-chan struct{}) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	case <-more:
	}
	return nil
}

// step makes the next call of the plan. It returns 0 after a call, a negative wait if there is nothing to do, and
// otherwise the time until the call is allowed.
func (w *deliveryWorker) step(ctx context.Context, now view) (wait time.Duration, _ error) {
	a := w.plan(now)
	if a.call == callNone {
		return -1, nil
	}
	if wait = w.delay(a); wait > 0 {
		return wait, nil
	}
	return 0, w.perform(ctx, a)
}

// delay returns the time until an action is allowed. It considers the message's interval, the pause after a failure and
// the rate limit.
func (w *deliveryWorker) delay(a action) time.Duration {
	wait := max(time.Until(w.pause), w.limits.wait(limitKey{w.InstallationID, a.call}))
	if a.call.writes() {
		wait = max(wait, time.Until(w.writtenAt[w.posted(a).Ref].Add(w.traits.MinInterval)))
	}
	return wait
}
