package org

import (
	"context"
	"strconv"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// Bounds of an organization's session limits, in minutes. Sessions of the user pool last at most 30 days.
const (
	minSessionIdle = 5
	minSessionMax  = 60
	maxSession     = 30 * 24 * 60
)

// SessionLimit limits the duration of sessions, in minutes.
type SessionLimit struct {
	Idle int // Since the last use.
	Max  int // Since signing in. Not less than Idle.
}

// SessionLimits are the limits of an organization, by the sign-in method.
type SessionLimits struct {
	SingleSignOn SessionLimit
	Password     SessionLimit
	// Since the last use of a connection. The Max of the session in which the connection began also applies to it.
	Connection int
}

// SessionLimits returns the session limits of the actor's organization. For administrators.
func (s *Service) SessionLimits(ctx context.Context, actor identity.Actor) (SessionLimits, error) {
	if err := administers(actor); err != nil {
		return SessionLimits{}, err
	}
	return s.store.SessionLimits(ctx, actor.OrganizationID)
}

// SetSessionLimits sets the session limits of the actor's organization by calling change with the current ones, and
// returns them. For super-admins.
func (s *Service) SetSessionLimits(ctx context.Context, actor identity.Actor, change func(*SessionLimits)) (
	SessionLimits, error,
) {
	if actor.Role != identity.RoleOrganizationSuperAdmin {
		return SessionLimits{}, ErrForbidden
	}
	return s.store.SetSessionLimits(ctx, actor, func(limits *SessionLimits) error {
		change(limits)
		return limits.check()
	}, stillSuperAdmin)
}

// stillSuperAdmin refuses an actor who is not an active super-admin any more.
func stillSuperAdmin(actor *Member) error {
	if actor == nil || actor.Role != identity.RoleOrganizationSuperAdmin || actor.State != identity.StateActive {
		return ErrForbidden
	}
	return nil
}

func (l SessionLimits) check() error {
	for name, limit := range map[string]SessionLimit{"single_sign_on": l.SingleSignOn, "password": l.Password} {
		if err := limit.check(name); err != nil {
			return err
		}
	}
	if l.Connection < minSessionIdle || l.Connection > maxSession {
		return fault.InvalidField("connection.idle_minutes", "%d以上%d以下で指定してください。", minSessionIdle, maxSession)
	}
	return nil
}

func (l SessionLimit) check(name string) error {
	switch {
	case l.Max < minSessionMax || l.Max > maxSession:
		return fault.InvalidField(name+".max_minutes", "%d以上%d以下で指定してください。", minSessionMax, maxSession)
	case l.Idle < minSessionIdle || l.Idle > l.Max:
		return fault.InvalidField(name+".idle_minutes", "%d以上、max_minutes以下で指定してください。", minSessionIdle)
	}
	return nil
}

// Changes returns the differences from earlier limits.
func (l SessionLimits) Changes(before SessionLimits) (changes []Change) {
	for _, field := range []struct {
		name          string
		before, after int
	}{
		{"sso_idle_minutes", before.SingleSignOn.Idle, l.SingleSignOn.Idle},
		{"sso_max_minutes", before.SingleSignOn.Max, l.SingleSignOn.Max},
		{"password_idle_minutes", before.Password.Idle, l.Password.Idle},
		{"password_max_minutes", before.Password.Max, l.Password.Max},
		{"connection_idle_minutes", before.Connection, l.Connection},
	} {
		if field.before != field.after {
			changes = append(changes, Change{
				Field: field.name, Before: strconv.Itoa(field.before), After: strconv.Itoa(field.after),
			})
		}
	}
	return changes
}
