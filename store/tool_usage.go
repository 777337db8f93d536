package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// queueToolUses counts the calls of an answer and adds them to the audit log, if the condition holds. The parameters of
// the condition are the answer $1, the run $2 and the server $3.
func queueToolUses(batch *pgx.Batch, o chat.Outcome, condition string) {
	for i, use := range o.ToolUses {
		sum, decision := sha256.Sum256([]byte(use.Arguments)), ""
		if use.Approval != nil {
			decision = string(use.Approval.State)
		}
		batch.Queue(`
			WITH counted AS (
			    INSERT INTO tool_usage (message_id, ordinal, organization_id, date, skill_id, tool, title, failed, duration_ms)
			    SELECT $1, $8::int, $4, `+japanToday+`, $6, $9::text, $10::text, $12::text <> 'success', $14::int
			    WHERE `+condition+`
			    ON CONFLICT (message_id, ordinal) DO NOTHING
			    RETURNING ordinal
			)
			INSERT INTO audit_events (id, organization_id, actor_kind, actor_id, actor_name, actor_email, action, target_kind,
			                          target_id, target_label, details)
			SELECT $7, $4, 'user', $5, coalesce(p.name, ''), coalesce(p.email, ''), '`+string(org.ActionToolCall)+`',
			       '`+org.TargetTool+`', $9, $10, jsonb_build_array(
			           jsonb_build_object('field', 'skill', 'after', coalesce(s.name, '')),
			           jsonb_build_object('field', 'arguments_sha256', 'after', $13::text),
			           jsonb_build_object('field', 'rule', 'after', $11::text),
			           jsonb_build_object('field', 'outcome', 'after', $12::text),
			           jsonb_build_object('field', 'duration_ms', 'after', $14::text))
			           || CASE WHEN $15::text = '' THEN '[]'
			              ELSE jsonb_build_array(jsonb_build_object('field', 'decision', 'after', $15::text)) END
			FROM counted
			LEFT JOIN users p ON p.organization_id = $4 AND p.id = $5
			LEFT JOIN skills s ON s.id = $6`,
			o.MessageID, o.Run, o.ServerID, o.Owner.OrganizationID, o.Owner.UserID, o.SkillID, uuidv7.New(), i+1,
			storable(use.Name), storable(use.Title), use.Rule, use.State, hex.EncodeToString(sum[:]),
			storableCount(int(use.Duration.Milliseconds())), decision)
	}
}

// isEndedNow is the condition of queueToolUses that the current transaction has ended the run.
const isEndedNow = `EXISTS (SELECT FROM generations g
	WHERE g.message_id = $1 AND g.run = $2 AND g.server_id = $3 AND g.ended_at = now())`

// isDeleted is the condition of queueToolUses that the answer was deleted while it was generated.
const isDeleted = `NOT EXISTS (SELECT FROM generations g WHERE g.message_id = $1)
	AND $2::int IS NOT NULL AND $3::uuid IS NOT NULL`

// usedByTool is the usage by tool and skill in the organization $1 in the period from $2 to $3.
const usedByTool = `
	WITH used AS (
	    SELECT tool, skill_id, max(title) AS title, count(*) AS calls, count(*) FILTER (WHERE failed) AS failures,
	           sum(duration_ms)::bigint AS duration_ms
	    FROM tool_usage
	    WHERE organization_id = $1 AND date BETWEEN $2::date AND $3::date
	    GROUP BY tool, skill_id
	)`

func (db *DB) UsageByTool(ctx context.Context, organizationID uuid.UUID, period org.Period, offset, limit int) (
	[]org.ToolUsage, int, error,
) {
	return queryPage[org.ToolUsage](ctx, db, usedByTool+` SELECT count(*) FROM used`, usedByTool+`
		SELECT u.tool, u.title, u.skill_id, coalesce(s.name, '') AS skill_name, u.calls, u.failures, u.duration_ms
		FROM used u
		LEFT JOIN skills s ON s.id = u.skill_id
		ORDER BY u.calls DESC, u.tool, u.skill_id
		OFFSET $4 LIMIT $5`, []any{organizationID, period.From, period.To}, offset, limit)
}

func (db *DB) DailyUsageByTool(ctx context.Context, organizationID uuid.UUID, period org.Period, limit int) (
	[]org.ToolDay, error,
) {
	return queryRows[org.ToolDay](ctx, db.pool, `
		SELECT u.date, u.tool, max(u.title) AS title, u.skill_id, coalesce(max(s.name), '') AS skill_name,
		       count(*) AS calls, count(*) FILTER (WHERE u.failed) AS failures, sum(u.duration_ms)::bigint AS duration_ms
		FROM tool_usage u
		LEFT JOIN skills s ON s.id = u.skill_id
		WHERE u.organization_id = $1 AND u.date BETWEEN $2::date AND $3::date
		GROUP BY u.date, u.tool, u.skill_id
		ORDER BY u.date, u.tool, u.skill_id
		LIMIT $4`, organizationID, period.From, period.To, limit)
}
