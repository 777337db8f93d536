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
	useNoted     = time.Minute // How exactly it is known when a session was used last.
	sessionSweep = time.Minute // How often sessions are ended that have run out.
	maxUserAgent = 300         // Bytes.
)

// Session is one sign-in on one device.
type Session struct {
	ID        uuid.UUID
	AuthType  AuthType
	BeganAt   time.Time
	UsedAt    time.Time // Within a minute.
	ExpiresAt time.Time // At the latest.
	UserAgent string
	Address   *netip.Addr
}

// SessionUse is a call in a session, as the store keeps the last one.
type SessionUse struct {
	Actor     Actor
	UserAgent string
}

// SessionStore is what the Service needs of a database for sessions.
type SessionStore interface {
	// NoteSession keeps when and from where a session is used, and the session itself if it is not known yet. One that
	// has ended stays as it is.
	NoteSession(ctx context.Context, use SessionUse) error

	// ListSessions returns the sessions of a user that are not over, the last used first.
	ListSessions(ctx context.Context, organizationID, userID uuid.UUID) ([]Session, error)

	// EndSession ends one of the actor's own sessions, whichever provider keeps it. If the user has no such session,
	// the error has the code fault.NotFound. Ending another one than the actor's is logged.
	EndSession(ctx context.Context, actor Actor, session uuid.UUID) error

	// EndOtherSessions ends all sessions of the actor but the actor's, and logs it.
	EndOtherSessions(ctx context.Context, actor Actor) error

	// EndStaleSessions ends sessions that have run out, so that they stay ended whatever their organization sets later,
	// and what is open in them ends. It forgets those that nobody asks for any more.
	EndStaleSessions(ctx context.Context) error
}

// NoteUse notes that the actor uses their session. A failure is logged only: it must keep nobody out.
func (s *Service) NoteUse(ctx context.Context, actor Actor, userAgent string) {
	if actor.Session == uuid.Nil || time.Since(actor.usedAt) < useNoted {
		return
	}
	use := SessionUse{Actor: actor, UserAgent: userAgent[:min(len(userAgent), maxUserAgent)]}
	if err := s.store.NoteSession(ctx, use); err != nil && !errors.Is(err, context.Canceled) {
		s.log.WarnContext(ctx, "noting that a session is used failed", "user_id", actor.ID, "err", err)
	}
}

// Sessions returns the actor's sessions, the last used first.
func (s *Service) Sessions(ctx context.Context, actor Actor) ([]Session, error) {
	return s.store.ListSessions(ctx, actor.OrganizationID, actor.ID)
}

// EndSession ends one of the actor's sessions: its next call and its refreshes are refused, and what is open in it
// ends.
func (s *Service) EndSession(ctx context.Context, actor Actor, session uuid.UUID) error {
	return s.store.EndSession(ctx, actor, session)
}

// EndOtherSessions ends all of the actor's sessions but this one.
func (s *Service) EndOtherSessions(ctx context.Context, actor Actor) error {
	if actor.Session == uuid.Nil {
		return fault.Errorf(fault.Conflict, "このセッションを特定できないため、ほかのセッションだけを終了することはできません。")
	}
	return s.store.EndOtherSessions(ctx, actor)
}

// endStale ends sessions that have run out until the context ends.
func (s *Service) endStale(ctx context.Context) {
	ticker := time.NewTicker(sessionSweep)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := s.store.EndStaleSessions(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "ending sessions that have run out failed; it is tried again", "err", err)
		}
	}
}
