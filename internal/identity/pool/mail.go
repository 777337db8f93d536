package pool

import (
	"context"
	"sync"
	"time"
)

// Mailer sends what the pool has to tell people. It is safe for concurrent use. An error says that a message will not
// arrive.
type Mailer interface {
	SendInvitation(ctx context.Context, invitation Invitation) error
	SendResetCode(ctx context.Context, code ResetCode) error
	SendPasswordChanged(ctx context.Context, notice Notice) error
	SendNewDevice(ctx context.Context, notice Notice) error
}

// Notice tells somebody of what was done with their account, in case it was not them.
type Notice struct {
	Email   string
	Name    string
	At      time.Time
	Agent   string // The program and the system it was done with, as "Chrome（Windows）". "" where that is not known.
	Address string // Where it was done from. "" where that is not known.
}

// Invitation tells somebody that they have an account, and how to sign in for the first time.
type Invitation struct {
	Email             string
	Name              string
	TemporaryPassword string
	ValidFor          time.Duration // Of the password, from now.
}

// ResetCode is what somebody who forgot their password sets another one with.
type ResetCode struct {
	Email    string
	Name     string
	Code     string        // Six digits.
	ValidFor time.Duration // From now.
}

const (
	mailPatience       = 30 * time.Second // For a message that nobody waits for.
	invitationPatience = 10 * time.Second // For one that an administrator waits for.
	maxUnderWay        = 64
)

// outbox sends messages that nobody waits for: how long that takes, and whether there is one at all, must not show.
type outbox struct {
	base   context.Context //nolint:containedctx // Of the messages, which outlive the calls that cause them.
	cancel context.CancelFunc
	places chan struct{} // Holds a token for each call that may cause a message, and each message that is under way.
	once   sync.Once     // Of stop.
}

func newOutbox(ctx context.Context) *outbox {
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	return &outbox{base: base, cancel: cancel, places: make(chan struct{}, maxUnderWay)}
}

// enter takes a place, or reports that there is none. It is given back by leave or send.
func (o *outbox) enter() bool {
	select {
	case o.places <- struct{}{}:
		return true
	default:
		return false
	}
}

func (o *outbox) leave() { <-o.places }

// send runs what sends a message, in a place that was taken before.
func (o *outbox) send(message func(ctx context.Context)) {
	go func() {
		defer o.leave()
		ctx, cancel := context.WithTimeout(o.base, mailPatience)
		defer cancel()
		message(ctx)
	}()
}

// notify has a notice sent, after what it tells of is done. One that finds no place, or is not delivered, is logged
// only.
func (p *Pool) notify(ctx context.Context, user User, send func(Mailer, context.Context, Notice) error) {
	if p.cfg.Mailer == nil || !p.outbox.enter() {
		p.cfg.Logger.WarnContext(ctx, "pool: a notice was not delivered: there is no mail, or too much of it", "sub",
			user.Sub)
		return
	}
	origin := OriginOf(ctx)
	notice := Notice{Email: user.Email, Name: user.Name, At: p.now(), Agent: origin.Agent()}
	if origin.Address.IsValid() {
		notice.Address = origin.Address.String()
	}
	p.outbox.send(func(ctx context.Context) {
		if err := send(p.cfg.Mailer, ctx, notice); err != nil {
			p.cfg.Logger.WarnContext(ctx, "pool: a notice was not delivered", "sub", user.Sub, "error", err)
		}
	})
}

// stop takes all places, so that no message is under way any more and none begins. When ctx ends, those that are left
// are given up.
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

// Stop waits for the messages that are under way, and gives them up when ctx ends. From then on ForgotPassword is
// refused. It may be called twice.
func (p *Pool) Stop(ctx context.Context) { p.outbox.once.Do(func() { p.outbox.stop(ctx) }) }

// invite sends an invitation and reports whether it is on its way.
func (p *Pool) invite(ctx context.Context, user User, temporary string) error {
	ctx, cancel := context.WithTimeout(ctx, invitationPatience)
	defer cancel()
	err := p.cfg.Mailer.SendInvitation(ctx, Invitation{
		Email: user.Email, Name: user.Name, TemporaryPassword: temporary, ValidFor: p.cfg.TemporaryLifetime,
	})
	if err != nil {
		p.cfg.Logger.WarnContext(ctx, "pool: an invitation was not delivered", "sub", user.Sub, "error", err)
		return undelivered()
	}
	return nil
}

// undelivered is the refusal of what needs mail where it does not get through, or there is none.
func undelivered() *refusal {
	return &refusal{kind: "CodeDeliveryFailureException", message: "Unable to deliver message to user."}
}
