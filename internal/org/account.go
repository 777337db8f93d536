package org

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/timeout"
	"github.com/tsumugi-ai/tsumugi/internal/work"
)

// Accounts manages accounts at the identity provider. Its errors have the codes fault.Conflict, fault.NotFound,
// fault.Unavailable or, for values that the provider never accepts, fault.Invalid. Other errors have no code.
type Accounts interface {
	// Invite creates an account with a temporary password and mails it. If the account exists but was never used to
	// sign in, it mails another temporary password and returns its subject. For any other existing account the error
	// has the code fault.Conflict.
	Invite(ctx context.Context, email, name string) (subject string, err error)

	// InviteFederated creates an account without a password and mails instructions for signing in. If such an account
	// exists, it only sends the mail.
	InviteFederated(ctx context.Context, email, name string) (subject string, err error)

	// Resend mails another temporary password.
	Resend(ctx context.Context, email string) error

	// Rename changes the person's name.
	Rename(ctx context.Context, subject, name string) error

	// Disable ends all sessions and refuses new ones.
	Disable(ctx context.Context, subject string) error

	// Enable allows a disabled person to sign in again.
	Enable(ctx context.Context, subject string) error

	// ResetFactor removes the second factor, so that the next sign-in requires none, or sets up another.
	ResetFactor(ctx context.Context, subject string) error

	// Delete deletes the account.
	Delete(ctx context.Context, subject string) error
}

// AccountChange is a change to a member that the identity provider has not received yet.
type AccountChange struct {
	UserID   uuid.UUID
	Subject  string // "" if the provider has no account of the member.
	Invite   bool
	Name     bool
	State    bool
	Factor   bool // The second factor is to be removed.
	Version  int64
	Attempts int // Including this one.

	// Member is the current state to send; nil for a removed member.
	Member *Member

	// Reused means that another member has the account now.
	Reused bool
}

const (
	settleTimeout    = 3 * time.Second    // Short, because the caller waits although the change is already in effect.
	accountSweep     = 15 * time.Second   // Interval between retries of pending changes.
	accountClaim     = time.Minute        // Lease of a claimed change.
	accountPauseMin  = 10 * time.Second   // Pause after a failure; doubled after each further one,
	accountPauseMax  = 5 * time.Minute    // up to this.
	inviteRequestAge = 7 * 24 * time.Hour // Time during which a call may be repeated.
)

// Settle sends pending changes of a member to the identity provider. They are already in effect on this side, so a
// failure is only logged, and the sweep retries.
func (s *Service) Settle(ctx context.Context, userID uuid.UUID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	changes, err := s.store.ClaimAccountChanges(ctx, &userID, accountClaim, 1)
	if err != nil {
		s.log.WarnContext(ctx, "org: claiming account changes failed, retrying", "user_id", userID, "err", err)
		return
	}
	for _, c := range changes {
		s.apply(ctx, c)
	}
}

// sweep sends due changes one by one and deletes old invite calls. It returns the number of changes. A claim is not
// renewed, because it lasts longer than a call of the provider.
func (s *Service) sweep(ctx context.Context) (sent int, _ error) {
	for ; ; sent++ {
		changes, err := s.store.ClaimAccountChanges(ctx, nil, accountClaim, 1)
		if err != nil {
			return sent, err
		}
		if len(changes) == 0 {
			break
		}
		s.apply(ctx, changes[0])
	}
	if err := s.store.DeleteExpiredInvites(ctx, inviteRequestAge); err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "org: deleting old invite calls failed", "err", err)
	}
	return sent, nil
}

// apply sends one claimed change.
func (s *Service) apply(ctx context.Context, c AccountChange) {
	if c.Invite && c.Member != nil {
		// The inviting server failed. The client may repeat the call.
		s.inviteMember(ctx, &Invitation{Email: c.Member.Email, Member: c.Member}, System())
		return
	}
	calling, cancel := context.WithTimeout(ctx, providerTimeout)
	err := s.applyAccountChange(calling, c)
	cancel()
	switch fault.CodeOf(err) {
	case fault.NotFound:
		s.log.InfoContext(ctx, "org: account does not exist at the identity provider", "user_id", c.UserID)
		err = nil // The account to change does not exist.
	case fault.Invalid:
		s.log.WarnContext(ctx, "org: identity provider refuses a member's name", "user_id", c.UserID, "err", err)
		err = nil // The provider will never accept the change.
	}
	noting, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout.Store)
	defer cancel()
	more := false
	if err != nil {
		pause := work.Backoff(c.Attempts, accountPauseMin, accountPauseMax)
		s.log.WarnContext(ctx, "org: account change failed, retrying",
			"user_id", c.UserID, "attempts", c.Attempts, "again_in", pause, "err", err)
		err = s.store.DeferAccountChange(noting, c.UserID, pause)
	} else {
		more, err = s.store.FinishAccountChange(noting, c)
	}
	if err != nil {
		s.log.WarnContext(ctx, "org: account change not recorded", "user_id", c.UserID, "err", err)
	}
	if more {
		s.Settle(ctx, c.UserID)
	}
}

func (s *Service) applyAccountChange(ctx context.Context, c AccountChange) error {
	switch {
	case c.Subject == "" || c.Reused:
		return nil
	case c.Member == nil:
		return s.accounts.Delete(ctx, c.Subject)
	}
	var err error
	switch { // First, because disabling must not wait for a new name.
	case !c.State:
	case c.Member.State == identity.StateActive:
		err = s.accounts.Enable(ctx, c.Subject)
	default:
		err = s.accounts.Disable(ctx, c.Subject)
	}
	if err == nil && c.Factor {
		err = s.accounts.ResetFactor(ctx, c.Subject)
	}
	if err == nil && c.Name {
		err = s.accounts.Rename(ctx, c.Subject, c.Member.Name)
	}
	return err
}

// noAccounts implements Accounts without an identity provider.
type noAccounts struct{}

var errNoAccounts = fault.Errorf(fault.Unavailable, "アカウントの管理が設定されていません。")

func (noAccounts) Invite(context.Context, string, string) (string, error) { return "", errNoAccounts }

func (noAccounts) InviteFederated(context.Context, string, string) (string, error) {
	return "", errNoAccounts
}
func (noAccounts) Resend(context.Context, string) error         { return errNoAccounts }
func (noAccounts) Rename(context.Context, string, string) error { return errNoAccounts }
func (noAccounts) Disable(context.Context, string) error        { return errNoAccounts }
func (noAccounts) Enable(context.Context, string) error         { return errNoAccounts }
func (noAccounts) ResetFactor(context.Context, string) error    { return errNoAccounts }
func (noAccounts) Delete(context.Context, string) error         { return errNoAccounts }
