package pool

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Action is the audit log's word for what happened to somebody's sign-ins and passwords.
type Action string

// What the audit log is told.
const (
	ActionSignIn          Action = "session.begin"
	ActionSignInFailed    Action = "session.fail"
	ActionLocked          Action = "session.lock" // Too many wrong passwords.
	ActionSignOut         Action = "session.end"
	ActionSignOutAll      Action = "session.end_all"
	ActionRefreshRefused  Action = "session.refuse"
	ActionCodeRequested   Action = "password.request" // For a forgotten password.
	ActionPasswordReset   Action = "password.reset"   // With such a code.
	ActionPasswordSet     Action = "password.set"     // In place of a temporary one.
	ActionPasswordChanged Action = "password.change"
	ActionPasswordFailed  Action = "password.fail" // A wrong code, or a wrong password in place of the old one.
)

// proved reports whether the account's owner has done it, as far as is known. Anybody can do the others.
func (a Action) proved() bool {
	switch a {
	case ActionSignIn, ActionSignOut, ActionSignOutAll, ActionPasswordReset, ActionPasswordSet, ActionPasswordChanged:
		return true
	}
	return false
}

// How sessions begin.
const (
	byPassword = "password"
	bySSO      = "sso"
)

// Event is what the audit log is told. Nothing secret stands in it, nor what was typed as a name: that may be a
// password. Without an Action there is nothing to tell.
type Event struct {
	Action Action
	Sub    uuid.UUID // Whose account it is. uuid.Nil: nobody's.
	Method string    // How a session begins, "" for others.
	Reason string    // Why something was refused, "" for others.
	Proved bool      // The account's owner has done it. What others do is told once an hour, with how often.
	At     time.Time
	Origin Origin
}

func (p *Pool) event(ctx context.Context, action Action, sub uuid.UUID) Event {
	return Event{Action: action, Sub: sub, Proved: action.proved(), At: p.now(), Origin: OriginOf(ctx)}
}

// refused tells the audit log of a refused attempt with the name of a user, or of nobody. That it cannot be told
// is logged only: the answer is the same, and so is the time that it takes.
func (p *Pool) refused(ctx context.Context, action Action, user *User, reason string) {
	event := p.event(ctx, action, uuid.Nil)
	event.Reason = reason
	if user != nil {
		event.Sub = user.Sub
	}
	if err := p.store.RecordPoolEvent(ctx, event); err != nil {
		p.cfg.Logger.WarnContext(ctx, "pool: the audit log was not told", "action", action, "sub", event.Sub, "error",
			err)
	}
}
