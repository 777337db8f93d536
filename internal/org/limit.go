package org

import (
	"context"
	"strconv"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// maxMemberTokens is the highest limit for members, in tokens per month.
const maxMemberTokens = 1_000_000_000_000

// LimitRule is the rule that determines a member's limit.
type LimitRule string

// The rules.
const (
	LimitDefault LimitRule = "default" // The organization's limit for every member.
	LimitOwn     LimitRule = "own"
	LimitNone    LimitRule = "none"
)

// MemberLimit is the limit of one member, in tokens per month.
type MemberLimit struct {
	Rule   LimitRule
	Tokens *int64 // Set for LimitOwn only.
}

// String returns the limit for the audit log.
func (l MemberLimit) String() string {
	if l.Rule == LimitOwn && l.Tokens != nil {
		return strconv.FormatInt(*l.Tokens, 10)
	}
	return string(l.Rule)
}

func (l MemberLimit) check() error {
	switch l.Rule {
	case LimitDefault, LimitNone:
		if l.Tokens != nil {
			return fault.InvalidField("token_limit.tokens", "この設定では、トークン数を指定できません。")
		}
		return nil
	case LimitOwn:
		if l.Tokens == nil {
			return fault.InvalidField("token_limit.tokens", "トークン数を指定してください。")
		}
		return checkMemberTokens("token_limit.tokens", *l.Tokens)
	default:
		return fault.InvalidField("token_limit.rule", "指定できない設定です。")
	}
}

func checkMemberTokens(field string, tokens int64) error {
	if tokens < 1 || tokens > maxMemberTokens {
		return fault.InvalidField(field, "1以上%s以下の数を指定してください。", grouped(maxMemberTokens))
	}
	return nil
}

// limit returns the member's limit as set by an administrator.
func (m Member) limit() MemberLimit {
	if m.LimitRule == LimitOwn {
		return MemberLimit{Rule: m.LimitRule, Tokens: m.LimitTokens}
	}
	return MemberLimit{Rule: m.LimitRule}
}

// MemberTokens returns the limit for every member of the actor's organization in tokens per month, nil for no limit. A
// member may have an individual limit instead. For administrators.
func (s *Service) MemberTokens(ctx context.Context, actor identity.Actor) (*int64, error) {
	if err := administers(actor); err != nil {
		return nil, err
	}
	return s.store.MemberTokens(ctx, actor.OrganizationID)
}

// SetMemberTokens replaces the limit for every member. For administrators.
func (s *Service) SetMemberTokens(ctx context.Context, actor identity.Actor, tokens *int64) error {
	if err := administers(actor); err != nil {
		return err
	}
	if tokens != nil {
		if err := checkMemberTokens("tokens", *tokens); err != nil {
			return err
		}
	}
	return s.store.SetMemberTokens(ctx, actor, tokens, stillAdministers)
}
