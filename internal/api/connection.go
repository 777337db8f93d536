package api

import (
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/oauth"
)

// maxUserCode bounds a typed user code, in characters.
const maxUserCode = 32

func (s *Server) getGrant(c *call) (any, error) {
	consent, refused, err := s.OAuth.ValidateRequest(oauth.Request{
		ResponseType: c.query("response_type"), ClientID: c.query("client_id"), RedirectURI: c.query("redirect_uri"),
		Scope: c.query("scope"), State: c.query("state"), Challenge: c.query("code_challenge"),
		ChallengeMethod: c.query("code_challenge_method"),
	})
	switch {
	case err != nil:
		return nil, err
	case refused != "":
		return GrantRequested{RedirectTo: refused}, nil
	}
	return GrantRequested{
		Client: toClient(consent.Client), Scopes: toScopes(consent.Scopes), LeadsTo: consent.Redirect.Host,
	}, nil
}

func (s *Server) grant(c *call, req GrantAnswer) (any, error) {
	asked := oauth.Request{
		ResponseType: req.ResponseType, ClientID: req.ClientID, RedirectURI: req.RedirectURI, Scope: req.Scope,
		State: req.State, Challenge: req.CodeChallenge, ChallengeMethod: req.CodeChallengeMethod,
	}
	if !req.Allow {
		redirect, err := s.OAuth.Deny(asked)
		return GrantRedirect{RedirectTo: redirect}, err
	}
	if err := c.actor.RequireRecentSession(time.Now()); err != nil {
		return nil, err
	}
	redirect, err := s.OAuth.Allow(c.ctx(), c.actor, asked)
	return GrantRedirect{RedirectTo: redirect}, err
}

func (s *Server) getDevice(c *call) (any, error) {
	code := c.text("user_code", maxUserCode)
	if err := c.err(); err != nil {
		return nil, err
	}
	var device oauth.DeviceRequest
	if err := s.Limiter.GuessCode(c.actor, func() (err error) {
		device, err = s.OAuth.Device(c.ctx(), code)
		return err
	}); err != nil {
		return nil, err
	}
	return DeviceRequested{
		Client: toClient(device.Client), Scopes: toScopes(device.Grant.Scopes),
		Device: identity.Agent(device.Grant.UserAgent), CreatedAt: device.Grant.CreatedAt.UTC(),
		Address: addressText(device.Grant.Address),
	}, nil
}

func (s *Server) answerDevice(c *call, req DeviceAnswer) (any, error) {
	if req.Allow {
		if err := c.actor.RequireRecentSession(time.Now()); err != nil {
			return nil, err
		}
	}
	return nil, s.Limiter.GuessCode(c.actor, func() error {
		return s.OAuth.AnswerDevice(c.ctx(), c.actor, req.UserCode, req.Allow)
	})
}

func (s *Server) listConnections(c *call) (any, error) {
	connections, err := s.OAuth.Connections(c.ctx(), c.actor)
	return ConnectionList{Items: convert(connections, s.toConnection), Total: len(connections)}, err
}

func (s *Server) listOrganizationConnections(c *call, offset, limit int) (any, error) {
	connections, total, err := s.OAuth.ListAll(c.ctx(), c.actor, offset, limit)
	return ConnectionList{
		Items: convert(connections, func(c oauth.Connection) Connection {
			out := s.toConnection(c)
			out.User = ConnectionUser{ID: c.UserID, Name: c.UserName, Email: c.UserEmail}
			return out
		}), Total: total,
	}, err
}

func (s *Server) endConnection(c *call) (any, error) {
	return nil, s.OAuth.End(c.ctx(), c.actor, c.pathID)
}

func (s *Server) endOrganizationConnection(c *call) (any, error) {
	return nil, s.OAuth.EndMemberConnection(c.ctx(), c.actor, c.pathID)
}

func (s *Server) createToken(c *call, req PersonalTokenRequest) (any, error) {
	requestID := c.requiredRequestID(req.RequestID)
	last, err := time.Parse(time.DateOnly, req.ExpiresOn)
	if err != nil {
		c.fail("expires_on", dayMessage)
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	connection, token, err := s.OAuth.CreateToken(c.ctx(), c.actor, oauth.NewToken{
		RequestID: requestID, Name: req.Name, ExpiresAt: oauth.EndOfDay(last),
		Scopes: convert(req.Scopes, func(s Scope) identity.Scope { return identity.Scope(s) }),
	})
	return created(PersonalToken{Token: token, Connection: s.toConnection(connection)}), err
}

func (s *Server) getConnectionPolicy(c *call) (any, error) {
	allowed, err := s.OAuth.PersonalTokens(c.ctx(), c.actor)
	return ConnectionPolicy{PersonalTokens: allowed}, err
}

func (s *Server) putConnectionPolicy(c *call, req ConnectionPolicy) (any, error) {
	return req, s.OAuth.SetPersonalTokens(c.ctx(), c.actor, req.PersonalTokens)
}

func toClient(c oauth.Client) ConnectionClient { return ConnectionClient{ID: c.ID, Name: c.Name} }

func toScopes(scopes []identity.Scope) []Scope {
	return convert(scopes, func(s identity.Scope) Scope { return Scope(s) })
}

func (s *Server) toConnection(c oauth.Connection) Connection {
	out := Connection{
		ID: c.ID, Kind: ConnectionOfClient, Name: s.OAuth.ClientName(c.ClientID), Scopes: toScopes(c.Scopes),
		Device: identity.Agent(c.UserAgent), Address: addressText(c.Address), CreatedAt: c.CreatedAt.UTC(),
		ExpiresAt: utc(c.ExpiresAt),
	}
	if c.ClientID == oauth.Personal {
		out.Kind, out.Name = ConnectionPersonal, c.Name
	}
	if c.UsedAt.After(c.CreatedAt) {
		out.LastUsedAt = c.UsedAt.UTC()
	}
	return out
}
