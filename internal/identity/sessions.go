package identity

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

const (
	useResolution = time.Minute // Resolution of the time when a session was last used.
	sessionSweep  = time.Minute // Interval between sweeps of expired sessions.
	maxUserAgent  = 300         // In bytes.
)

// Session is one sign-in on one device.
type Session struct {
	ID        uuid.UUID
	AuthType  AuthType
	BeganAt   time.Time
	UsedAt    time.Time // Accurate to a minute.
	ExpiresAt time.Time // At the latest.
	UserAgent string
	Address   *netip.Addr
}

// SessionUse is one use of a session.
type SessionUse struct {
	Actor     Actor
	UserAgent string
}

// RecordUse records the use of the actor's session. It only logs a failure, which must not lock out anyone.
func (s *Service) RecordUse(ctx context.Context, actor Actor, userAgent string) {
	if actor.Session == uuid.Nil || time.Since(actor.usedAt) < useResolution {
		return
	}
	use := SessionUse{Actor: actor, UserAgent: ShortAgent(userAgent)}
	if err := s.store.RecordSession(ctx, use); err != nil && !errors.Is(err, context.Canceled) {
		s.log.WarnContext(ctx, "identity: session use not recorded", "user_id", actor.ID, "err", err)
	}
}

// ShortAgent returns the stored part of a user agent.
func ShortAgent(userAgent string) string { return userAgent[:min(len(userAgent), maxUserAgent)] }

// Sessions returns the actor's active sessions, most recently used first.
func (s *Service) Sessions(ctx context.Context, actor Actor) ([]Session, error) {
	return s.store.ListSessions(ctx, actor.OrganizationID, actor.ID)
}

// EndSession ends one of the actor's sessions: its next call and refresh are rejected, and its streams are closed.
func (s *Service) EndSession(ctx context.Context, actor Actor, session uuid.UUID) error {
	return s.store.EndSession(ctx, actor, session)
}

// EndOtherSessions ends all of the actor's sessions except the current one.
func (s *Service) EndOtherSessions(ctx context.Context, actor Actor) error {
	if actor.Session == uuid.Nil {
		return fault.Errorf(fault.Conflict, "このセッションを特定できないため、ほかのセッションだけを終了することはできません。")
	}
	return s.store.EndOtherSessions(ctx, actor)
}
