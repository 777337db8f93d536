package api

import "github.com/tsumugi-ai/tsumugi/internal/skill"

func (s *Server) requestSkill(c *call, req SkillPublishRequest) (any, error) {
	custom, err := s.Library.RequestPublication(c.ctx(), c.actor, c.pathID, req.Note)
	return toMadeSkill(custom), err
}

func (s *Server) withdrawSkillRequest(c *call) (any, error) {
	custom, err := s.Library.WithdrawRequest(c.ctx(), c.actor, c.pathID)
	return toMadeSkill(custom), err
}

func (s *Server) listSkillRequests(c *call, offset, limit int) (any, error) {
	list, total, err := s.Library.Requests(c.ctx(), c.actor, offset, limit)
	return SkillRequestList{Items: convert(list, toSkillRequest), Total: total}, err
}

func (s *Server) getSkillRequest(c *call) (any, error) {
	request, err := s.Library.Request(c.ctx(), c.actor, c.pathID)
	return toSkillRequest(request), err
}

func (s *Server) decideSkillRequest(c *call, req SkillDecisionRequest) (any, error) {
	decision := skill.Decision{Approve: req.Approve, Reason: req.Reason}
	return nil, s.Library.Decide(c.ctx(), c.actor, c.pathID, decision)
}

func (s *Server) hideSkill(c *call, req SkillHideRequest) (any, error) {
	return nil, s.Library.Hide(c.ctx(), c.actor, c.pathID, req.Hidden)
}

func (s *Server) listHiddenSkills(c *call) (any, error) {
	hidden, err := s.Library.Hidden(c.ctx(), c.actor)
	return toSkillList(c.actor, hidden), err
}

func toSkillRequest(q skill.Request) SkillRequest {
	return SkillRequest{
		ID: q.ID, SkillID: q.SkillID, SkillName: q.SkillName, IconPath: q.IconPath, Version: q.Version,
		UserName: q.UserName, UserEmail: q.UserEmail, Note: q.Note, State: SkillRequestState(q.State),
		Reason: q.Reason, CreatedAt: q.CreatedAt.UTC(), DecidedAt: utc(q.DecidedAt),
		Documents: convert(q.Documents, toSkillDocument), Content: optional(q.Content, toSkillContent),
	}
}
