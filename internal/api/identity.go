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

func (s *Server) signOut(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	if s.Sessions != nil && actor.Session != uuid.Nil { // First, because it writes the audit log.
		if err := s.Sessions.RevokeSession(r.Context(), actor.Session); err != nil {
			return err
		}
	}
	if err := s.Identity.EndSession(r.Context(), actor, actor.Session); err != nil &&
		fault.CodeOf(err) != fault.NotFound {
		return err
	}
	return writeJSON(w, http.StatusOK, SignOut{SignOutURL: afterSignOut})
}

func (s *Server) me(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	s.Identity.RecordSignIn(r.Context(), actor) // The app requests it once, at startup.
	return writeJSON(w, http.StatusOK, Me{
		ID: actor.ID, Name: actor.Name, Email: actor.Email, Role: Role(actor.Role), State: UserState(actor.State),
		AuthType: AuthKind(actor.AuthType), Organization: Organization{
			ID:   actor.OrganizationID,
			Name: actor.OrganizationName,
		},
	})
}
