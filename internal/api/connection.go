package api

import (
	"net/http"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/oauth"
)

// maxUserCode bounds a typed user code, in characters.
const maxUserCode = 32

func (s *Server) getGrant(w http.ResponseWriter, r *http.Request, _ identity.Actor) error {
	q := r.URL.Query()
	consent, refused, err := s.OAuth.ValidateRequest(oauth.Request{
		ResponseType: q.Get("response_type"), ClientID: q.Get("client_id"), RedirectURI: q.Get("redirect_uri"),
		Scope: q.Get("scope"), State: q.Get("state"), Challenge: q.Get("code_challenge"),
		ChallengeMethod: q.Get("code_challenge_method"),
	})
	switch {
	case err != nil:
		return err
	case refused != "":
		return writeJSON(w, http.StatusOK, GrantRequested{RedirectTo: refused})
	}
	return writeJSON(w, http.StatusOK, GrantRequested{
		Client: toClient(consent.Client), Scopes: toScopes(consent.Scopes), LeadsTo: consent.Redirect.Host,
	})
}

func (s *Server) grant(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var req GrantAnswer
	if err := decode(w, r, &req); err != nil {
		return err
	}
	asked := oauth.Request{
		ResponseType: req.ResponseType, ClientID: req.ClientID, RedirectURI: req.RedirectURI, Scope: req.Scope,
		State: req.State, Challenge: req.CodeChallenge, ChallengeMethod: req.CodeChallengeMethod,
	}
	var redirect string
	var err error
	if req.Allow {
		redirect, err = s.OAuth.Allow(r.Context(), actor, asked)
	} else {
		redirect, err = s.OAuth.Deny(asked)
	}
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, GrantRedirect{RedirectTo: redirect})
}

func (s *Server) getDevice(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var c checks
	code := c.text("user_code", r.URL.Query()["user_code"], maxUserCode)
	if err := c.err(); err != nil {
		return err
	}
	var device oauth.DeviceRequest
	if err := s.Limiter.GuessCode(actor, func() (err error) {
		device, err = s.OAuth.Device(r.Context(), code)
		return err
	}); err != nil {
		return err
	}
	out := DeviceRequested{
		Client: toClient(device.Client), Scopes: toScopes(device.Grant.Scopes),
		Device: identity.Agent(device.Grant.UserAgent), CreatedAt: device.Grant.CreatedAt.UTC(),
	}
	if device.Grant.Address != nil {
		out.Address = device.Grant.Address.String()
	}
	return writeJSON(w, http.StatusOK, out)
}

func (s *Server) answerDevice(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var req DeviceAnswer
	if err := decode(w, r, &req); err != nil {
		return err
	}
	if err := s.Limiter.GuessCode(actor, func() error {
		return s.OAuth.AnswerDevice(r.Context(), actor, req.UserCode, req.Allow)
	}); err != nil {
		return err
	}
	return writeNoContent(w)
}

func (s *Server) listConnections(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	connections, err := s.OAuth.Connections(r.Context(), actor)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, ConnectionList{
		Items: convert(connections, s.toConnection), Total: len(connections),
	})
}

func (s *Server) listOrganizationConnections(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	offset, limit, err := page(r)
	if err != nil {
		return err
	}
	connections, total, err := s.OAuth.ListAll(r.Context(), actor, offset, limit)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, ConnectionList{
		Items: convert(connections, func(c oauth.Connection) Connection {
			out := s.toConnection(c)
			out.User = ConnectionUser{ID: c.UserID, Name: c.UserName, Email: c.UserEmail}
			return out
		}), Total: total,
	})
}

func (s *Server) endConnection(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "connection_id")
	if err != nil {
		return err
	}
	if err := s.OAuth.End(r.Context(), actor, id); err != nil {
		return err
	}
	return writeNoContent(w)
}

func (s *Server) endOrganizationConnection(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "connection_id")
	if err != nil {
		return err
	}
	if err := s.OAuth.EndMemberConnection(r.Context(), actor, id); err != nil {
		return err
	}
	return writeNoContent(w)
}

func (s *Server) createToken(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var req PersonalTokenRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	var c checks
	requestID := c.requiredRequestID(r, req.RequestID)
	last, err := time.Parse(time.DateOnly, req.ExpiresOn)
	if err != nil {
		c.fail("expires_on", "日付は 2026-04-01 の形式で指定してください。")
	}
	if err := c.err(); err != nil {
		return err
	}
	created, token, err := s.OAuth.CreateToken(r.Context(), actor, oauth.NewToken{
		RequestID: requestID, Name: req.Name, ExpiresAt: oauth.EndOfDay(last),
		Scopes: convert(req.Scopes, func(s Scope) identity.Scope { return identity.Scope(s) }),
	})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusCreated, PersonalToken{Token: token, Connection: s.toConnection(created)})
}

func (s *Server) getConnectionPolicy(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	allowed, err := s.OAuth.PersonalTokens(r.Context(), actor)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, ConnectionPolicy{PersonalTokens: allowed})
}

func (s *Server) putConnectionPolicy(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var req ConnectionPolicy
	if err := decode(w, r, &req); err != nil {
		return err
	}
	if err := s.OAuth.SetPersonalTokens(r.Context(), actor, req.PersonalTokens); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, req)
}

func toClient(c oauth.Client) ConnectionClient { return ConnectionClient{ID: c.ID, Name: c.Name} }

func toScopes(scopes []identity.Scope) []Scope {
	return convert(scopes, func(s identity.Scope) Scope { return Scope(s) })
}

func (s *Server) toConnection(c oauth.Connection) Connection {
	out := Connection{
		ID: c.ID, Kind: ConnectionOfClient, Name: s.OAuth.ClientName(c.ClientID), Scopes: toScopes(c.Scopes),
		Device: identity.Agent(c.UserAgent), CreatedAt: c.CreatedAt.UTC(),
	}
	if c.ClientID == oauth.Personal {
		out.Kind, out.Name = ConnectionPersonal, c.Name
	}
	if c.UsedAt.After(c.CreatedAt) {
		out.LastUsedAt = c.UsedAt.UTC()
	}
	if c.ExpiresAt != nil {
		out.ExpiresAt = c.ExpiresAt.UTC()
	}
	if c.Address != nil {
		out.Address = c.Address.String()
	}
	return out
}
