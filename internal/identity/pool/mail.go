package pool

import (
	"context"
	"sync"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/mail"
)

const (
	mailTimeout       = 30 * time.Second // For one message sent in the background.
	invitationTimeout = 10 * time.Second // For one message that an administrator waits for.
	// Maximum calls and messages in progress: a flood of requests must not pile up goroutines while the mail server is
	// slow.
	maxUnderWay = 64
)

// outbox sends messages in the background, so that the response time does not reveal whether there is a message.
type outbox struct {
	base   context.Context //nolint:containedctx // Of the messages, which outlive the calls that cause them.
	cancel context.CancelFunc
	places chan struct{} // A token for each call that may cause a message, and for each message being sent.
	once   sync.Once     // Runs stop once.
}

func newOutbox(ctx context.Context) *outbox {
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	return &outbox{base: base, cancel: cancel, places: make(chan struct{}, maxUnderWay)}
}

// enter takes a place and reports whether one was free. leave or send releases the place.
func (o *outbox) enter() bool {
	select {
	case o.places <- struct{}{}:
		return true
	default:
		return false
	}
}

func (o *outbox) leave() { <-o.places }

// send runs message in the background. The caller must have taken a place with enter.
func (o *outbox) send(message func(ctx context.Context)) {
	go func() {
		defer o.leave()
		ctx, cancel := context.WithTimeout(o.base, mailTimeout)
		defer cancel()
		message(ctx)
	}()
}

// notify sends a notice in the background, after the change was made. If there is no free place, or delivery fails, it
// only logs this.
func (p *Pool) notify(ctx context.Context, user User, kind mail.NoticeKind) {
	if p.cfg.Mailer == nil || !p.outbox.enter() {
		p.cfg.Logger.WarnContext(ctx, "pool: notice not delivered: no mailer, or too many messages", "sub",
			user.Sub)
		return
	}
	origin := originOf(ctx)
	notice := mail.Notice{
		Kind: kind, Email: user.Email, Name: user.Name, At: p.now(), Agent: identity.Agent(origin.UserAgent),
	}
	if origin.Address.IsValid() {
		notice.Address = origin.Address.String()
	}
	p.outbox.send(func(ctx context.Context) {
		if err := p.cfg.Mailer.Send(ctx, notice); err != nil {
			p.cfg.Logger.WarnContext(ctx, "pool: notice not delivered", "sub", user.Sub, "err", err)
		}
	})
}

// stop takes all places: it waits for the messages being sent and prevents new ones. When ctx ends, the remaining ones
// are canceled.
func (o *outbox) stop(ctx context.Context) {
	defer o.cancel()
	for range cap(o.places) {
		select {
		case o.places <- struct{}{}:
		case <-ctx.Done():
			o.cancel()
			o.places <- struct{}{}
		}
	}
}

// Stop waits for the messages being sent, and cancels them when ctx ends. After that, ForgotPassword is rejected. It
// may be called more than once.
func (p *Pool) Stop(ctx context.Context) { p.outbox.once.Do(func() { p.outbox.stop(ctx) }) }

// invite sends an invitation and waits until the mailer has accepted it.
func (p *Pool) invite(ctx context.Context, user User, temporary string) error {
	ctx, cancel := context.WithTimeout(ctx, invitationTimeout)
	defer cancel()
	err := p.cfg.Mailer.Send(ctx, mail.Invitation{
		Email: user.Email, Name: user.Name, TemporaryPassword: temporary, ValidFor: p.cfg.TemporaryLifetime,
	})
	if err != nil {
		p.cfg.Logger.WarnContext(ctx, "pool: invitation not delivered", "sub", user.Sub, "err", err)
		return undelivered()
	}
	return nil
}

// undelivered is the refusal of an operation whose mail cannot be sent.
func undelivered() *refusal {
	return &refusal{kind: "CodeDeliveryFailureException", message: "Unable to deliver message to user."}
}
