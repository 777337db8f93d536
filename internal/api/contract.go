package api

import (
	"time"

	"github.com/oapi-codegen/runtime/types"

	"github.com/tsumugi-ai/tsumugi/internal/org"
)

func (s *Server) listMemberUsage(c *call, offset, limit int) (any, error) {
	usage, total, err := s.Org.UsageByMember(c.ctx(), c.actor, offset, limit)
	return MemberUsageList{Items: convert(usage, toMemberUsage), Total: total}, err
}

// month returns the period of the parameter month, or the zero Period without it.
func (c *call) month() org.Period {
	first := c.date("month", "2006-01", "月は 2026-04 の形式で指定してください。")
	if first.IsZero() {
		return org.Period{}
	}
	return org.Period{From: first, To: first.AddDate(0, 1, -1)}
}

func (s *Server) listToolUsage(c *call) (any, error) {
	period := c.month()
	offset, limit := c.page()
	if err := c.err(); err != nil {
		return nil, err
	}
	usage, total, err := s.Org.UsageByTool(c.ctx(), c.actor, period, offset, limit)
	return ToolUsageList{Total: total, Items: convert(usage, func(u org.ToolUsage) ToolUsage {
		return ToolUsage{
			Tool: u.Tool, Title: u.Title, SkillID: u.SkillID, SkillName: u.SkillName, Calls: u.Calls, Failures: u.Failures,
			DurationMs: u.DurationMS,
		}
	})}, err
}

func (s *Server) listModelUsage(c *call) (any, error) {
	period := c.month()
	offset, limit := c.page()
	if err := c.err(); err != nil {
		return nil, err
	}
	usage, total, err := s.Org.UsageByModel(c.ctx(), c.actor, period, offset, limit)
	if err != nil {
		return nil, err
	}
	name, err := s.Models.Names(c.ctx(), c.actor.OrganizationID)
	if err != nil {
		return nil, err
	}
	return ModelUsageList{Total: total, Items: convert(usage, func(u org.ModelUsage) ModelUsage {
		return ModelUsage{
			ModelID: u.ModelID, Name: name(u.ModelID), Messages: u.Messages, InputTokens: u.InputTokens,
			OutputTokens: u.OutputTokens,
		}
	})}, nil
}

func (s *Server) myUsage(c *call) (any, error) {
	usage, err := s.Org.OwnUsage(c.ctx(), c.actor)
	if err != nil {
		return nil, err
	}
	storage, err := s.Sources.Storage(c.ctx(), c.actor.Owner())
	return OwnUsage{
		Storage:  OwnStorage{Used: storage.Used, Limit: storage.Limit},
		Messages: usage.Messages, InputTokens: usage.InputTokens, OutputTokens: usage.OutputTokens,
		ResetsOn: day(usage.ResetsOn), TokenLimit: usage.TokenLimit,
	}, err
}

func toContract(v org.ContractView) Contract {
	return Contract{
		Plan: v.Plan, Status: ContractStatus(v.Status), StartsOn: day(v.StartsOn), EndsOn: day(value(v.EndsOn)),
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
}

func toMemberUsage(m org.MemberUsage) MemberUsage {
	return MemberUsage{
		UserID: value(m.UserID), Name: m.Name, Email: m.Email, Messages: m.Messages, InputTokens: m.InputTokens,
		OutputTokens: m.OutputTokens,
	}
}

func day(t time.Time) types.Date { return types.Date{Time: t} }
