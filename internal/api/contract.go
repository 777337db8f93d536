package api

import (
	"net/http"
	"time"

	"github.com/oapi-codegen/runtime/types"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

func (s *Server) getContract(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	view, err := s.Org.Contract(r.Context(), actor)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, toContract(view))
}

func (s *Server) listMemberUsage(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	offset, limit, err := page(r)
	if err != nil {
		return err
	}
	usage, total, err := s.Org.UsageByMember(r.Context(), actor, offset, limit)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, MemberUsageList{Items: convert(usage, toMemberUsage), Total: total})
}

func (s *Server) listModelUsage(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var c checks
	period := c.month("month", r.URL.Query()["month"])
	offset, limit := c.page(r)
	if err := c.err(); err != nil {
		return err
	}
	usage, total, err := s.Org.UsageByModel(r.Context(), actor, period, offset, limit)
	if err != nil {
		return err
	}
	name, err := s.Models.Names(r.Context(), actor.OrganizationID)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, ModelUsageList{Total: total, Items: convert(usage,
		func(u org.ModelUsage) ModelUsage {
			return ModelUsage{
				ModelID: u.ModelID, Name: name(u.ModelID), Messages: u.Messages, InputTokens: u.InputTokens,
				OutputTokens: u.OutputTokens,
			}
		})})
}

func (s *Server) myUsage(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	usage, err := s.Org.OwnUsage(r.Context(), actor)
	if err != nil {
		return err
	}
	storage, err := s.Sources.Storage(r.Context(), actor.Owner())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, OwnUsage{
		Storage:  OwnStorage{Used: storage.Used, Limit: storage.Limit},
		Messages: usage.Messages, InputTokens: usage.InputTokens, OutputTokens: usage.OutputTokens,
		ResetsOn: day(usage.ResetsOn), TokenLimit: usage.TokenLimit,
	})
}

func toContract(v org.ContractView) Contract {
	out := Contract{
		Plan: v.Plan, Status: ContractStatus(v.Status), StartsOn: day(v.StartsOn),
		Seats:   Seats{Limit: v.Seats, Used: v.SeatsUsed},
		Tokens:  TokenAllowance{Limit: v.Tokens, Used: v.TokensUsed, ResetsOn: day(v.ResetsOn)},
		Storage: StorageAllowance{Limit: v.Storage, Used: v.StorageUsed},
		Usage: convert(v.Usage, func(d org.DayUsage) DayUsage {
			return DayUsage{
				Date: day(d.Date), Messages: d.Messages, InputTokens: d.InputTokens,
				OutputTokens: d.OutputTokens,
			}
		}),
	}
	if v.EndsOn != nil {
		out.EndsOn = day(*v.EndsOn)
	}
	return out
}

func toMemberUsage(m org.MemberUsage) MemberUsage {
	out := MemberUsage{
		Name: m.Name, Email: m.Email, Messages: m.Messages, InputTokens: m.InputTokens, OutputTokens: m.OutputTokens,
	}
	if m.UserID != nil {
		out.UserID = *m.UserID
	}
	return out
}

func day(t time.Time) types.Date { return types.Date{Time: t} }
