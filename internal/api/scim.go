package api

import (
	"net/http"
	"net/netip"

	"github.com/tsumugi-ai/tsumugi/internal/api/ratelimit"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/scim"
)

// scimHandler returns the handler for calls of identity providers. A token has the limits of a person.
func (s *Server) scimHandler() http.Handler {
	return scim.NewHandler(s.SCIM, scim.HandlerConfig{
		Origin: func(r *http.Request) (netip.Addr, string) { return clientAddress(r.Context()), requestID(r.Context()) },
		Admit: func(client scim.Client) error {
			return s.Limiter.Count(ratelimit.KindCall, identity.Actor{
				User: identity.User{ID: client.TokenID, OrganizationID: client.OrganizationID},
			})
		},
	})
}

func toSCIMConfig(v scim.View) SCIMConfig {
	return SCIMConfig{BaseURL: v.BaseURL, Tokens: convert(v.Tokens, toSCIMToken), MaxTokens: scim.MaxTokens}
}

func (s *Server) listSCIMCalls(c *call) (any, error) {
	refused := c.flag("refused")
	if err := c.err(); err != nil {
		return nil, err
	}
	calls, err := s.SCIM.Calls(c.ctx(), c.actor, refused)
	return SCIMCallList{Items: convert(calls, func(c scim.Call) SCIMCall {
		return SCIMCall{
			ID: c.ID, At: c.At.UTC(), TokenName: c.TokenName, Method: c.Method, Path: c.Path, Target: c.Target,
			Status: c.Status, Code: string(c.Code), Detail: c.Detail,
		}
	})}, err
}

func (s *Server) addSCIMToken(c *call, req SCIMTokenPostRequest) (any, error) {
	token, secret, err := s.SCIM.AddToken(c.ctx(), c.actor, req.Name)
	return created(SCIMTokenCreated{Token: secret, Record: toSCIMToken(token)}), err
}

func (s *Server) revokeSCIMToken(c *call) (any, error) {
	return nil, s.SCIM.RevokeToken(c.ctx(), c.actor, c.pathID)
}

func toSCIMToken(t scim.Token) SCIMToken {
	return SCIMToken{
		ID: t.ID, Name: t.Name, CreatedBy: t.CreatedBy, CreatedAt: t.CreatedAt.UTC(), LastUsedAt: utc(t.LastUsedAt),
	}
}
