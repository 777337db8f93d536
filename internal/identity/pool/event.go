package pool

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/timeout"
)

// Action is the name of a session or password event in the audit log.
type Action string

// The actions in the audit log.
const (
	actionSignIn          Action = "session.begin"
	ActionSignInFailed    Action = "session.fail"
	actionLocked          Action = "session.lock" // Too many wrong passwords.
	actionSignOut         Action = "session.end"
	actionSignOutAll      Action = "session.end_all"
	actionRefreshRefused  Action = "session.refuse"
	actionCodeRequested   Action = "password.request" // For a forgotten password.
	actionPasswordReset   Action = "password.reset"   // With a code for a forgotten password.
	actionPasswordSet     Action = "password.set"     // Replaces a temporary password.
	actionPasswordChanged Action = "password.change"
	actionPasswordFailed  Action = "password.fail" // A wrong code, or a wrong current password.
	actionFactorAdded     Action = "session.factor_add"
	actionFactorRemoved   Action = "session.factor_remove"
	actionRecoveryCodes   Action = "session.recovery_codes" // New ones replace all earlier ones.
	actionPasskeyAdded    Action = "session.passkey_add"
	actionPasskeyRemoved  Action = "session.passkey_remove"
)

// proved reports whether only the account's owner can cause the action. Anyone can cause the others.
func (a Action) proved() bool {
	switch a {
	case actionSignIn, actionSignOut, actionSignOutAll, actionPasswordReset, actionPasswordSet, actionPasswordChanged,
		actionFactorAdded, actionFactorRemoved, actionRecoveryCodes, actionPasskeyAdded, actionPasskeyRemoved:
		return true
	}
	return false
}

// The methods of a sign-in.
const (
	byPassword = "password"
	byPasskey  = "passkey"
	bySSO      = "sso"
)

// The proofs of the second factor in a sign-in.
const (
	factorTOTP         = "totp"
	factorRecoveryCode = "recovery_code"
	factorPasskey      = "passkey"
	factorTrusted      = "trusted_device" // Given there within the last 30 days.
)

// Event is an entry for the audit log. It contains neither secrets nor the typed name, which may be a password. An
// event without an Action is not recorded.
type Event struct {
	Action Action
	Sub    uuid.UUID // The account. uuid.Nil: no account.
	Method string    // The method of a sign-in, else "".
	Factor string    // The proof of the second factor in a sign-in, or "".
	Reason string    // The reason of a rejection, else "".
	Proved bool      // Caused by the account's owner. Other events are aggregated to one entry an hour with a count.
	At     time.Time
	Origin Origin
}

func (p *Pool) event(ctx context.Context, action Action, sub uuid.UUID) Event {
	return Event{Action: action, Sub: sub, Proved: action.proved(), At: p.now(), Origin: originOf(ctx)}
}

// refused records a rejected attempt in the audit log. user is nil for an unknown name. A failure is only logged,
// because the response and its timing must not depend on it.
func (p *Pool) refused(ctx context.Context, action Action, user *User, reason string) {
	event := p.event(ctx, action, uuid.Nil)
	event.Reason = reason
	if user != nil {
		event.Sub = user.Sub
	}
	if err := p.store.RecordPoolEvent(timeout.Call(ctx), event); err != nil {
		p.cfg.Logger.WarnContext(ctx, "pool: audit log entry not stored", "action", action, "sub", event.Sub,
			"err", err)
	}
}
