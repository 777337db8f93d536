package api

import (
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

func (s *Server) listSessions(c *call) (any, error) {
	sessions, err := s.Identity.Sessions(c.ctx(), c.actor)
	return SessionList{Items: convert(sessions, func(found identity.Session) Session {
		return Session{
			ID: found.ID, Current: found.ID == c.actor.Session, AuthType: AuthKind(found.AuthType),
			Device: identity.Agent(found.UserAgent), Address: addressText(found.Address),
			BeganAt: found.BeganAt.UTC(), LastUsedAt: found.UsedAt.UTC(), ExpiresAt: found.ExpiresAt.UTC(),
		}
	})}, err
}

func (s *Server) endSession(c *call) (any, error) {
	return nil, s.Identity.EndSession(c.ctx(), c.actor, c.pathID)
}

func (s *Server) endOtherSessions(c *call) (any, error) {
	return nil, s.Identity.EndOtherSessions(c.ctx(), c.actor)
}

func (s *Server) endMemberSessions(c *call) (any, error) {
	return nil, s.Org.EndMemberSessions(c.ctx(), c.actor, c.pathID)
}

func (s *Server) putSessionLimits(c *call, req SessionLimitsPutRequest) (any, error) {
	limits, err := s.Org.SetSessionLimits(c.ctx(), c.actor, func(l *org.SessionLimits) {
		assign(&l.SingleSignOn.Idle, req.SingleSignOn.IdleMinutes)
		assign(&l.SingleSignOn.Max, req.SingleSignOn.MaxMinutes)
		assign(&l.Password.Idle, req.Password.IdleMinutes)
		assign(&l.Password.Max, req.Password.MaxMinutes)
		assign(&l.Connection, req.Connection.IdleMinutes)
	})
	return toSessionLimits(limits), err
}

func toSessionLimits(limits org.SessionLimits) SessionLimits {
	return SessionLimits{
		SingleSignOn: SessionLimit{IdleMinutes: limits.SingleSignOn.Idle, MaxMinutes: limits.SingleSignOn.Max},
		Password:     SessionLimit{IdleMinutes: limits.Password.Idle, MaxMinutes: limits.Password.Max},
		Connection:   ConnectionLimit{IdleMinutes: limits.Connection},
	}
}

func (s *Server) getAddressRanges(c *call) (any, error) {
	ranges, err := s.Org.AddressRanges(c.ctx(), c.actor)
	return toAddressRanges(c.actor, ranges), err
}

func (s *Server) putAddressRanges(c *call, req AddressRangesRequest) (any, error) {
	ranges, err := s.Org.SetAddressRanges(c.ctx(), c.actor, func(texts *org.AddressRangeTexts) {
		if req.Ranges != nil {
			texts.App = req.Ranges
		}
		req.APIRanges.assign(&texts.API)
		req.ConnectionRanges.assign(&texts.Connections)
	})
	return toAddressRanges(c.actor, ranges), err
}

func toAddressRanges(actor identity.Actor, ranges org.AddressRanges) AddressRanges {
	texts := ranges.Texts()
	return AddressRanges{
		Ranges: texts.App, APIRanges: texts.API, ConnectionRanges: texts.Connections,
		Address: addressText(&actor.Address),
	}
}
