package api

import (
	"net/netip"

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

func (s *Server) getSessionLimits(c *call) (any, error) {
	limits, err := s.Org.SessionLimits(c.ctx(), c.actor)
	return SessionLimits{
		SingleSignOn: SessionLimit{IdleMinutes: limits.SingleSignOn.Idle, MaxMinutes: limits.SingleSignOn.Max},
		Password:     SessionLimit{IdleMinutes: limits.Password.Idle, MaxMinutes: limits.Password.Max},
		Connection:   ConnectionLimit{IdleMinutes: limits.Connection},
	}, err
}

func (s *Server) putSessionLimits(c *call, req SessionLimits) (any, error) {
	return req, s.Org.SetSessionLimits(c.ctx(), c.actor, org.SessionLimits{
		SingleSignOn: org.SessionLimit{Idle: req.SingleSignOn.IdleMinutes, Max: req.SingleSignOn.MaxMinutes},
		Password:     org.SessionLimit{Idle: req.Password.IdleMinutes, Max: req.Password.MaxMinutes},
		Connection:   req.Connection.IdleMinutes,
	})
}

func (s *Server) getAddressRanges(c *call) (any, error) {
	ranges, err := s.Org.AddressRanges(c.ctx(), c.actor)
	return toAddressRanges(c.actor, ranges), err
}

func (s *Server) putAddressRanges(c *call, req AddressRangesRequest) (any, error) {
	ranges, err := s.Org.SetAddressRanges(c.ctx(), c.actor, org.AddressRangeTexts{
		App: req.Ranges, API: req.APIRanges, Connections: req.ConnectionRanges,
	})
	return toAddressRanges(c.actor, ranges), err
}

func toAddressRanges(actor identity.Actor, ranges org.AddressRanges) AddressRanges {
	return AddressRanges{
		Ranges: *rangeTexts(&ranges.App), APIRanges: rangeTexts(ranges.API), ConnectionRanges: rangeTexts(ranges.Connections),
		Address: addressText(&actor.Address),
	}
}

func rangeTexts(ranges *[]netip.Prefix) *[]string {
	if ranges == nil {
		return nil
	}
	return new(convert(*ranges, netip.Prefix.String))
}
