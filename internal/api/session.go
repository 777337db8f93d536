package api

import (
	"net/http"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

func (s *Server) listSessions(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	sessions, err := s.Identity.Sessions(r.Context(), actor)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, SessionList{Items: convert(sessions, func(found identity.Session) Session {
		session := Session{
			ID: found.ID, Current: found.ID == actor.Session, AuthType: AuthKind(found.AuthType),
			Device:  identity.Agent(found.UserAgent),
			BeganAt: found.BeganAt.UTC(), LastUsedAt: found.UsedAt.UTC(), ExpiresAt: found.ExpiresAt.UTC(),
		}
		if found.Address != nil {
			session.Address = found.Address.String()
		}
		return session
	})})
}

func (s *Server) endSession(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "session_id")
	if err != nil {
		return err
	}
	if err := s.Identity.EndSession(r.Context(), actor, id); err != nil {
		return err
	}
	return writeNoContent(w)
}

func (s *Server) endOtherSessions(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	if err := s.Identity.EndOtherSessions(r.Context(), actor); err != nil {
		return err
	}
	return writeNoContent(w)
}

func (s *Server) endMemberSessions(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "user_id")
	if err != nil {
		return err
	}
	if err := s.Org.EndMemberSessions(r.Context(), actor, id); err != nil {
		return err
	}
	return writeNoContent(w)
}

func (s *Server) getSessionLimits(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	limits, err := s.Org.SessionLimits(r.Context(), actor)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, SessionLimits{
		SingleSignOn: SessionLimit{IdleMinutes: limits.SingleSignOn.Idle, MaxMinutes: limits.SingleSignOn.Max},
		Password:     SessionLimit{IdleMinutes: limits.Password.Idle, MaxMinutes: limits.Password.Max},
		Connection:   ConnectionLimit{IdleMinutes: limits.Connection},
	})
}

func (s *Server) putSessionLimits(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var req SessionLimits
	if err := decode(w, r, &req); err != nil {
		return err
	}
	limits := org.SessionLimits{
		SingleSignOn: org.SessionLimit{Idle: req.SingleSignOn.IdleMinutes, Max: req.SingleSignOn.MaxMinutes},
		Password:     org.SessionLimit{Idle: req.Password.IdleMinutes, Max: req.Password.MaxMinutes},
		Connection:   req.Connection.IdleMinutes,
	}
	if err := s.Org.SetSessionLimits(r.Context(), actor, limits); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, req)
}
