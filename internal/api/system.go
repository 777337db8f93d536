package api

import (
	"net/http"

	"github.com/tsumugi-ai/tsumugi/internal/doctor"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// brand is the product's name.
const brand = "Tsumugi"

func (s *Server) ping(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, Health{Status: Ok})
}

func (s *Server) readyz(w http.ResponseWriter, r *http.Request) error {
	if err := s.Ready(r.Context()); err != nil {
		return fault.Wrap(err, fault.Unavailable, "準備ができていません。")
	}
	return s.ping(w, r)
}

func (s *Server) appConfig(w http.ResponseWriter, _ *http.Request) error {
	config := AppConfig{
		Brand: brand, Links: s.cfg.Links, TagManagerID: s.cfg.TagManagerID, ModelConnected: s.cfg.ModelConnected,
	}
	if s.cfg.Passkeys {
		config.Passkeys = PasskeyClient{ClientID: s.cfg.ClientID, Endpoint: s.cfg.Endpoint}
	}
	return writeJSON(w, http.StatusOK, config)
}

func (s *Server) signingKey(w http.ResponseWriter, _ *http.Request) error {
	return writeBytes(w, "text/plain; charset=utf-8", "no-cache", s.SigningKey)
}

func (s *Server) openapi(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(openapiYAML) // The client may have disconnected.
	return nil
}

func (s *Server) getOrganizationState(c *call) (any, error) {
	if c.actor.Role != identity.RoleOrganizationSuperAdmin {
		return nil, identity.ErrForbidden
	}
	reports, err := s.State(c.ctx(), c.actor)
	return OrganizationState{Items: convert(reports, func(r doctor.Report) ServiceState {
		return ServiceState{ID: ServiceID(r.ID), State: ServiceLevel(r.State)}
	})}, err
}
