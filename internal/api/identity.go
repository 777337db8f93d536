package api

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// afterSignOut is the page for the browser after sign-out.
const afterSignOut = "/logout/success"

func (s *Server) authType(w http.ResponseWriter, r *http.Request) error {
	var req AuthTypeRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	provider, err := s.Identity.ProviderFor(r.Context(), req.Email)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, AuthType{
		AuthType: AuthKind(provider.AuthType), OrganizationID: provider.OrganizationID,
		ClientID: s.cfg.ClientID, Endpoint: s.cfg.Endpoint, Region: s.cfg.Region,
	})
}

func (s *Server) signOut(c *call) (any, error) {
	if s.Sessions != nil && c.actor.Session != uuid.Nil { // First, because it writes the audit log.
		if err := s.Sessions.RevokeSession(c.ctx(), c.actor.Session); err != nil {
			return nil, err
		}
	}
	err := s.Identity.EndSession(c.ctx(), c.actor, c.actor.Session)
	if fault.CodeOf(err) == fault.NotFound {
		err = nil
	}
	return SignOut{SignOutURL: afterSignOut}, err
}

func (s *Server) me(c *call) (any, error) {
	a := c.actor
	s.Identity.RecordSignIn(c.ctx(), a) // The app requests it once, at startup.
	return toMe(a), nil
}

func toMe(a identity.Actor) Me {
	return Me{
		ID: a.ID, Name: a.Name, Email: a.Email, Role: Role(a.Role), State: UserState(a.State),
		AuthType: AuthKind(a.AuthType), Organization: Organization{ID: a.OrganizationID, Name: a.OrganizationName},
	}
}
