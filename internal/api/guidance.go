package api

import (
	"net/http"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

func (s *Server) getGuidance(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	guidance, err := s.Org.Guidance(r.Context(), actor)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, Guidance{
		Instructions: guidance.Instructions, About: toAbout(guidance.About),
	})
}

func (s *Server) putAbout(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var req About
	if err := decode(w, r, &req); err != nil {
		return err
	}
	about, err := s.Org.SetAbout(r.Context(), actor, org.About{
		Name: req.Name, Department: req.Department, Tone: req.Tone, Signature: req.Signature,
	})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, toAbout(about))
}

func toAbout(a org.About) About {
	return About{Name: a.Name, Department: a.Department, Tone: a.Tone, Signature: a.Signature}
}

func (s *Server) putInstructions(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var req Instructions
	if err := decode(w, r, &req); err != nil {
		return err
	}
	text, err := s.Org.SetInstructions(r.Context(), actor, req.Instructions)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, Instructions{Instructions: text})
}
