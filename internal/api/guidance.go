package api

import "github.com/tsumugi-ai/tsumugi/internal/org"

func (s *Server) getGuidance(c *call) (any, error) {
	guidance, err := s.Org.Guidance(c.ctx(), c.actor)
	if err != nil {
		return nil, err
	}
	service, err := s.Org.DictationService(c.ctx(), c.actor)
	return Guidance{
		Instructions: guidance.Instructions, About: toAbout(guidance.About), Dictation: Dictation{Service: service},
	}, err
}

func (s *Server) putDictation(c *call, req Dictation) (any, error) {
	return req, s.Org.SetDictationService(c.ctx(), c.actor, req.Service)
}

func (s *Server) putAbout(c *call, req About) (any, error) {
	about, err := s.Org.SetAbout(c.ctx(), c.actor, org.About{
		Name: req.Name, Department: req.Department, Tone: req.Tone, Signature: req.Signature,
	})
	return toAbout(about), err
}

func (s *Server) putInstructions(c *call, req Instructions) (any, error) {
	text, err := s.Org.SetInstructions(c.ctx(), c.actor, req.Instructions)
	return Instructions{Instructions: text}, err
}

func toAbout(a org.About) About {
	return About{Name: a.Name, Department: a.Department, Tone: a.Tone, Signature: a.Signature}
}
