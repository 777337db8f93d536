package api

import (
	"net/http"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

func (s *Server) requestSkill(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "skill_id")
	if err != nil {
		return err
	}
	var req SkillPublishRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	custom, err := s.Library.RequestPublication(r.Context(), actor, id, req.Note)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, toMadeSkill(custom))
}

func (s *Server) withdrawSkillRequest(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "skill_id")
	if err != nil {
		return err
	}
	custom, err := s.Library.WithdrawRequest(r.Context(), actor, id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, toMadeSkill(custom))
}

func (s *Server) listSkillRequests(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	offset, limit, err := page(r)
	if err != nil {
		return err
	}
	list, total, err := s.Library.Requests(r.Context(), actor, offset, limit)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, SkillRequestList{Items: convert(list, toSkillRequest), Total: total})
}

func (s *Server) getSkillRequest(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "skill_request_id")
	if err != nil {
		return err
	}
	request, err := s.Library.Request(r.Context(), actor, id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, toSkillRequest(request))
}

func (s *Server) decideSkillRequest(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "skill_request_id")
	if err != nil {
		return err
	}
	var req SkillDecisionRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	if err := s.Library.Decide(r.Context(), actor, id,
		skill.Decision{Approve: req.Approve, Reason: req.Reason}); err != nil {
		return err
	}
	return writeNoContent(w)
}

func (s *Server) hideSkill(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "skill_id")
	if err != nil {
		return err
	}
	var req SkillHideRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	if err := s.Library.Hide(r.Context(), actor, id, req.Hidden); err != nil {
		return err
	}
	return writeNoContent(w)
}

func (s *Server) listHiddenSkills(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	hidden, err := s.Library.Hidden(r.Context(), actor)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, SkillList{
		Items: convert(hidden, func(found skill.Skill) Skill { return toSkill(actor, found) }),
	})
}

func toSkillRequest(q skill.Request) SkillRequest {
	request := SkillRequest{
		ID: q.ID, SkillID: q.SkillID, SkillName: q.SkillName, IconPath: q.IconPath, Version: q.Version,
		UserName: q.UserName, UserEmail: q.UserEmail, Note: q.Note, State: SkillRequestState(q.State),
		Reason: q.Reason, CreatedAt: q.CreatedAt.UTC(), Documents: convert(q.Documents, toSkillDocument),
	}
	if q.DecidedAt != nil {
		request.DecidedAt = q.DecidedAt.UTC()
	}
	if q.Content != nil {
		request.Content = toSkillContent(*q.Content)
	}
	return request
}
