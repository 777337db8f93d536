package pool

import (
	"context"
	"time"
)

// Mailer sends what the pool has to tell people. An error says that a message will not arrive.
type Mailer interface {
	SendInvitation(ctx context.Context, invitation Invitation) error
	SendResetCode(ctx context.Context, code ResetCode) error
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
