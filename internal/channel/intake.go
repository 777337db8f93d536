package channel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/project"
	"github.com/tsumugi-ai/tsumugi/internal/timeout"
	"github.com/tsumugi-ai/tsumugi/internal/work"
)

// maxEventID bounds the id of an event, in bytes.
const maxEventID = 255

// Enqueue stores an event once, even if it arrives several times. Any server handles it after Enqueue has returned.
// Enqueue drops events of unconnected workspaces and events of kind KindIgnored. Its errors have the code
// fault.Unavailable if the surface should send the event again.
func (s *Service) Enqueue(ctx context.Context, in IncomingEvent) error {
	if in.Kind == KindIgnored {
		return nil
	}
	if in.EventID == "" || len(in.EventID) > maxEventID {
		return fault.InvalidField("event_id", "イベントのIDがないか、長すぎます。")
	}
	ctx, cancel := context.WithTimeout(ctx, timeout.Store)
	defer cancel()
	installation, err := s.Installations.FindInstallation(ctx, in.Surface, in.EnterpriseID, in.TeamID)
	if errors.Is(err, ErrNotInstalled) {
		s.Log.InfoContext(ctx, "channel: event of an unknown workspace dropped", "surface", in.Surface,
			"team", in.TeamID)
		return nil
	}
	if err != nil {
		return err
	}
	if in.Kind == KindRevoked && in.TeamID != "" && in.TeamID != installation.TeamID {
		return nil // Of a removed installation of one workspace, and not of its enterprise.
	}
	added, err := s.Store.AddEvent(ctx, Event{
		InstallationID: installation.ID, OrganizationID: installation.OrganizationID, Incoming: in, Lane: in.lane(),
	})
	switch {
	case err != nil:
		return err
	case !added:
		s.counters.duplicates.Add(1)
		return nil
	}
	s.counters.enqueued.Add(1)
	s.events.Wake()
	return nil
}

// lane returns the key of a queue whose events are handled one at a time: a person's questions in a thread. Other
// events have none.
func (in IncomingEvent) lane() string {
	switch in.Kind {
	case KindQuestion, KindSummarize, KindRegenerate:
		return strings.Join([]string{in.Channel, in.Thread, in.Person}, " ")
	}
	return ""
}

// claimEvents claims events. It reserves a quarter of the places for quick events, so that questions cannot delay a
// stop.
func (s *Service) claimEvents(ctx context.Context) ([]Event, error) {
	free, questions := s.cfg.MaxEvents, s.cfg.MaxEvents*3/4
	for _, job := range s.events.Jobs() {
		free--
		if job.Value.Lane != "" {
			questions--
		}
	}
	if free <= 0 {
		return nil, nil
	}
	if questions <= 0 {
		return s.Store.ClaimEvents(ctx, free, true, s.cfg.Lease)
	}
	return s.Store.ClaimEvents(ctx, min(free, questions), false, s.cfg.Lease)
}

// later is an error that defers an event. The deferral is not counted as a failed attempt.
type later struct{ after time.Duration }

func (l later) Error() string { return fmt.Sprintf("channel: again in %v", l.after) }

// handle handles an event and stores the result.
func (s *Service) handle(ctx context.Context, job *work.Job[Event]) {
	e := job.Value
	log := s.Log.With("installation", e.InstallationID, "event", e.Incoming.EventID, "kind", e.Incoming.Kind)
	err := s.act(ctx, &e)
	store, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout.Store)
	defer cancel()
	wait, waits := errors.AsType[later](err)
	limited, isLimited := errors.AsType[*RateLimitError](err)
	switch {
	case ctx.Err() != nil: // Stopped, or the claim was lost.
		e.Attempt--
		err = s.Store.RequeueEvent(store, e, 0)
	case err == nil, errors.Is(err, ErrNotInstalled):
		err = s.Store.EndEvent(store, e)
	case errors.Is(err, ErrRevoked):
		err = s.erase(ctx, e.InstallationID)
	case waits:
		e.Attempt--
		err = s.Store.RequeueEvent(store, e, wait.after)
	case isLimited:
		s.counters.limited.Add(1)
		e.Attempt--
		err = s.Store.RequeueEvent(store, e, limited.RetryAfter)
	case errors.Is(err, ErrGone) || e.Attempt >= s.cfg.MaxAttempts:
		log.WarnContext(ctx, "channel: event failed", "attempt", e.Attempt, "err", err)
		s.giveUp(ctx, e, err)
		err = s.Store.EndEvent(store, e)
	default:
		log.InfoContext(ctx, "channel: event failed, retrying", "attempt", e.Attempt, "err", err)
		err = s.Store.RequeueEvent(store, e, work.Backoff(e.Attempt, s.cfg.MinPause, s.cfg.MaxPause))
	}
	if err != nil && !errors.Is(err, ErrClaimLost) {
		log.WarnContext(ctx, "channel: event result not stored", "err", err)
	}
}

// giveUp notifies the person of a failed question.
func (s *Service) giveUp(ctx context.Context, e Event, cause error) {
	text := textGaveUp
	if errors.Is(cause, ErrGone) {
		text = textClosed
	}
	if e.Lane == "" {
		return
	}
	in, err := s.Installations.Installation(ctx, e.InstallationID)
	if err != nil {
		return
	}
	if surface, err := s.surface(in); err == nil {
		_ = surface.Notify(ctx, e.target(in), Notice{Kind: NoticeRefused, Text: text}) // Best effort.
	}
}

// act executes an event. Each step may be repeated.
func (s *Service) act(ctx context.Context, e *Event) error {
	in, err := s.Installations.Installation(ctx, e.InstallationID)
	if err != nil {
		return err
	}
	surface, err := s.surface(in)
	if err != nil {
		return err
	}
	h := &eventHandler{Service: s, event: e, surface: surface, to: e.target(in)}
	err = h.run(ctx)
	if errors.Is(err, ErrRevoked) && e.Incoming.Kind != KindRevoked && s.isReplaced(ctx, in) {
		return later{s.cfg.MinPause}
	}
	return err
}

// run executes the event by its kind.
func (h *eventHandler) run(ctx context.Context) error {
	in := &h.event.Incoming
	if in.Text != "" {
		in.Text = h.surface.ResolveMentions(ctx, h.to, in.Text)
	}
	switch in.Kind {
	case KindQuestion, KindSummarize:
		return h.answer(ctx, h.ask)
	case KindRegenerate:
		return h.answer(ctx, h.regenerate)
	case KindEdit:
		return h.handleEdit(ctx)
	case KindDelete:
		return h.handleDelete(ctx)
	case KindStop:
		return h.stop(ctx)
	case KindRate:
		return h.rate(ctx)
	case KindDecide:
		return h.decide(ctx)
	case KindHelp:
		return h.help(ctx)
	case KindLink:
		return h.link(ctx)
	case KindUnlink:
		return h.unlink(ctx)
	case KindProject:
		return h.showProject(ctx)
	case KindBind:
		return h.bind(ctx)
	case KindUnbind:
		return h.unbind(ctx)
	case KindHomeOpened:
		return h.home(ctx)
	case KindThreadOpened:
		return h.prompts(ctx)
	case KindRevoked:
		if changed := h.to.Installation.ChangedAt.Truncate(time.Second); !in.At.IsZero() && in.At.Before(changed) {
			return nil // It was connected again since then. If not, the next call fails with ErrRevoked.
		}
		return ErrRevoked
	}
	return nil
}

// eventHandler is the execution of an event.
type eventHandler struct {
	*Service
	event   *Event
	surface Surface
	to      Target
	project *project.Project // The project of the question; nil for none.
}

// save stores the event's progress.
func (h *eventHandler) save(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout.Store)
	defer cancel()
	return h.Store.SaveEvent(ctx, *h.event)
}

// notify shows the person a notice.
func (h *eventHandler) notify(ctx context.Context, n Notice) error {
	ctx, cancel := context.WithTimeout(ctx, h.cfg.CallTimeout)
	defer cancel()
	return h.surface.Notify(ctx, h.to, n)
}

// refuse shows the person the reason for a refusal.
func (h *eventHandler) refuse(ctx context.Context, text string) error {
	return h.notify(ctx, Notice{Kind: NoticeRefused, Text: text})
}

// explain shows the person the error of a refused action. It returns nil, and errors after which the event is retried.
func (h *eventHandler) explain(ctx context.Context, err error) error {
	switch fault.CodeOf(err) {
	case "", fault.Internal, fault.Unavailable, fault.Canceled:
		return err
	}
	if errors.Is(err, ErrClaimLost) {
		return err
	}
	return h.refuse(ctx, fault.DetailOf(err))
}

// requestID returns an id that is equal for all attempts. It is derived from the question's message, or from the event
// without one.
func (h *eventHandler) requestID() uuid.UUID {
	i := h.event.Incoming
	name := "event " + i.EventID
	if i.Kind == KindQuestion && i.Message != "" {
		name = "message " + i.Channel + " " + string(i.Message)
	}
	return uuid.NewSHA1(h.event.InstallationID, []byte(name))
}
