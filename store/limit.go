package store

import (
	"context"
	"strconv"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// tokensUsed is the number of tokens that member u has used this month.
const tokensUsed = `
	(SELECT coalesce(sum(d.input_tokens + d.output_tokens), 0)::bigint FROM usage_daily d
	 WHERE d.organization_id = u.organization_id AND d.user_id = u.id AND d.date = ANY (` + thisMonthsDays + `))`

// monthsLimit is the number of tokens that member u may use per month, NULL for no limit.
const monthsLimit = `
	CASE u.limit_rule
	    WHEN 'own' THEN u.limit_tokens
	    WHEN 'default' THEN (SELECT o.member_tokens FROM organizations o WHERE o.id = u.organization_id)
	END`

// MemberBalance implements org.BudgetStore.
func (db *DB) MemberBalance(ctx context.Context, organizationID, userID uuid.UUID) (org.Balance, error) {
	return findRow[org.Balance](ctx, db.pool, org.ErrNoMember, `
		SELECT false AS over, l.tokens IS NULL AS unlimited, coalesce(l.tokens, 0) AS "limit", `+tokensUsed+` AS used,
		       (SELECT coalesce(max(n.percent), 0) FROM member_limit_notices n
		        WHERE n.organization_id = u.organization_id AND n.user_id = u.id AND n.month = `+thisMonth+`) AS notified,
		       `+nextMonth+` AS resets_on, true AS member_limits
		FROM users u
		CROSS JOIN LATERAL (SELECT `+monthsLimit+` AS tokens) l
		WHERE u.organization_id = $1 AND u.id = $2`, organizationID, userID)
}

// PublishMemberNotice implements org.BudgetStore.
func (db *DB) PublishMemberNotice(ctx context.Context, percent int, notice org.Notification) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			INSERT INTO member_limit_notices (organization_id, user_id, month, percent)
			SELECT $1, $2, `+thisMonth+`, $3
			WHERE NOT EXISTS (SELECT FROM member_limit_notices
			                  WHERE organization_id = $1 AND user_id = $2 AND month = `+thisMonth+` AND percent >= $3)
			ON CONFLICT DO NOTHING`, notice.OrganizationID, notice.UserID, percent)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return insertNotification(ctx, tx, notice)
	})
}

// MemberTokens implements org.Store.
func (db *DB) MemberTokens(ctx context.Context, organizationID uuid.UUID) (*int64, error) {
	return memberTokens(ctx, db.pool, organizationID)
}

func memberTokens(ctx context.Context, q querier, organizationID uuid.UUID) (*int64, error) {
	return findValue[*int64](ctx, q, org.ErrNoOrganization, `SELECT member_tokens FROM organizations WHERE id = $1`,
		organizationID)
}

// SetMemberTokens implements org.Store.
func (db *DB) SetMemberTokens(
	ctx context.Context, actor identity.Actor, tokens *int64, check func(*org.Member) error,
) error {
	return db.changeOrganization(ctx, actor, check, func(tx pgx.Tx) error {
		before, err := memberTokens(ctx, tx, actor.OrganizationID)
		if err != nil {
			return err
		}
		change := org.Change{Field: "tokens", Before: optionalNumber(before), After: optionalNumber(tokens)}
		if change.Before == change.After {
			return nil
		}
		if err := exec(ctx, tx, `UPDATE organizations SET member_tokens = $2 WHERE id = $1`,
			actor.OrganizationID, tokens); err != nil {
			return err
		}
		return audit(ctx, tx, organizationEvent(actor, org.ActionMemberLimit, change))
	})
}

// optionalNumber returns a number for the audit log, or "" for nil.
func optionalNumber(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}
