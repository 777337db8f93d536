package store

import (
	"context"
	"reflect"
	"strconv"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

var _ org.Store = (*DB)(nil)

// CreateOrganization adds an organization without members. If the id is taken, the error has the code fault.Conflict.
func (db *DB) CreateOrganization(ctx context.Context, o org.Organization) error {
	return insertOrganization(ctx, db.pool, o)
}

// CreateOrganizationWithMembers adds an organization with its first members in one transaction, because an organization
// without members would block the name. The errors are those of CreateOrganization and CreateUser.
func (db *DB) CreateOrganizationWithMembers(ctx context.Context, o org.Organization, members []identity.NewUser) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := insertOrganization(ctx, tx, o); err != nil {
			return err
		}
		for _, u := range members {
			if err := insertUser(ctx, tx, u); err != nil {
				return err
			}
		}
		return nil
	})
}

func insertOrganization(ctx context.Context, q querier, o org.Organization) error {
	err := exec(ctx, q, `
		INSERT INTO organizations (id, name, auth_type, mail_domains)
		VALUES ($1, $2, $3, $4)`,
		o.ID, o.Name, o.AuthType, orEmpty(o.MailDomains))
	switch {
	case hasCode(err, codeUnique):
		return fault.Wrap(err, fault.Conflict, "この組織はすでに登録されています。")
	case hasCode(err, codeCheck):
		return fault.Wrap(err, fault.Invalid, "組織の内容が正しくありません。")
	}
	return err
}

// changeOrganization locks an actor's organization, calls check to find out whether the actor may change it, and
// changes it.
func (db *DB) changeOrganization(
	ctx context.Context, actor identity.Actor, check func(*org.Member) error, change func(pgx.Tx) error,
) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		member, err := lockForActor(ctx, tx, actor)
		if err != nil {
			return err
		}
		if err := check(member); err != nil {
			return err
		}
		return change(tx)
	})
}

// organizationEvent returns an audit entry about a setting of the actor's organization.
func organizationEvent(actor identity.Actor, action org.Action, details ...org.Change) org.Event {
	return org.Event{
		OrganizationID: &actor.OrganizationID, By: org.AuditActorOf(actor), Action: action,
		TargetKind: org.TargetOrganization, TargetID: actor.OrganizationID.String(),
		TargetLabel: actor.OrganizationName, Details: details,
	}
}

// CountUsers returns the number of users of all organizations.
func (db *DB) CountUsers(ctx context.Context) (int, error) {
	return queryValue[int](ctx, db.pool, `SELECT count(*) FROM users`)
}

// tokensUsed is the number of tokens that member u has used this month.
const tokensUsed = `
	(SELECT coalesce(sum(d.input_tokens + d.output_tokens), 0)::bigint FROM usage_daily d
	 WHERE d.organization_id = u.organization_id AND d.user_id = u.id AND d.date = ANY (` + thisMonthsDays + `))`

// monthsLimit is the number of tokens that member u may use per month, NULL for no limit. The highest limit of the
// member's groups replaces that of the organization.
const monthsLimit = `
	CASE u.limit_rule
	    WHEN 'own' THEN u.limit_tokens
	    WHEN 'default' THEN coalesce(
	        (SELECT max(g.token_limit) FROM group_members k JOIN member_groups g ON g.id = k.group_id
	         WHERE k.user_id = u.id),
	        (SELECT o.member_tokens FROM organizations o WHERE o.id = u.organization_id))
	END`

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

func (db *DB) MemberTokens(ctx context.Context, organizationID uuid.UUID) (*int64, error) {
	return memberTokens(ctx, db.pool, organizationID)
}

func memberTokens(ctx context.Context, q querier, organizationID uuid.UUID) (*int64, error) {
	return findValue[*int64](ctx, q, org.ErrNoOrganization, `SELECT member_tokens FROM organizations WHERE id = $1`,
		organizationID)
}

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
func optionalNumber[T int | int64](n *T) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(int64(*n), 10)
}

// guidanceColumns are the columns of guidanceRow, from an organization o and the profile p of a user, which may be
// missing.
const guidanceColumns = `o.instructions, coalesce(p.name, '') AS about_name,
	coalesce(p.department, '') AS about_department, coalesce(p.tone, '') AS about_tone,
	coalesce(p.signature, '') AS about_signature`

type guidanceRow struct {
	Instructions    string
	AboutName       string
	AboutDepartment string
	AboutTone       string
	AboutSignature  string
}

func (r guidanceRow) guidance() org.Guidance {
	return org.Guidance{
		Instructions: r.Instructions,
		About: org.About{
			Name: r.AboutName, Department: r.AboutDepartment, Tone: r.AboutTone, Signature: r.AboutSignature,
		},
	}
}

func (db *DB) Guidance(ctx context.Context, organizationID, userID uuid.UUID) (org.Guidance, error) {
	row, err := findRow[guidanceRow](ctx, db.pool, org.ErrNoOrganization, `
		SELECT `+guidanceColumns+`
		FROM organizations o
		LEFT JOIN profiles p ON p.organization_id = o.id AND p.user_id = $2
		WHERE o.id = $1`, organizationID, userID)
	return row.guidance(), err
}

func (db *DB) SetAbout(ctx context.Context, organizationID, userID uuid.UUID, about org.About) error {
	return exec(ctx, db.pool, `
		INSERT INTO profiles (organization_id, user_id, name, department, tone, signature)
		VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (user_id) DO UPDATE
		SET name = excluded.name, department = excluded.department, tone = excluded.tone,
		    signature = excluded.signature, updated_at = now()
		WHERE profiles.organization_id = excluded.organization_id`,
		organizationID, userID, about.Name, about.Department, about.Tone, about.Signature)
}

func (db *DB) SetInstructions(
	ctx context.Context, actor identity.Actor, text string, check func(*org.Member) error,
) error {
	return db.changeOrganization(ctx, actor, check, func(tx pgx.Tx) error {
		changed, err := tx.Exec(ctx, `UPDATE organizations SET instructions = $2 WHERE id = $1 AND instructions <> $2`,
			actor.OrganizationID, text)
		if err != nil || changed.RowsAffected() == 0 {
			return err
		}
		return audit(ctx, tx, organizationEvent(actor, org.ActionInstructions))
	})
}

func (db *DB) DictationService(ctx context.Context, organizationID uuid.UUID) (bool, error) {
	return findValue[bool](ctx, db.pool, org.ErrNoOrganization, `SELECT dictation_service FROM organizations WHERE id = $1`,
		organizationID)
}

func (db *DB) SetDictationService(
	ctx context.Context, actor identity.Actor, allowed bool, check func(*org.Member) error,
) error {
	return db.changeOrganization(ctx, actor, check, func(tx pgx.Tx) error {
		changed, err := tx.Exec(ctx, `
			UPDATE organizations SET dictation_service = $2 WHERE id = $1 AND dictation_service <> $2`,
			actor.OrganizationID, allowed)
		if err != nil || changed.RowsAffected() == 0 {
			return err
		}
		change := org.Change{Field: "dictation_service", Before: "on", After: "off"}
		if allowed {
			change.Before, change.After = change.After, change.Before
		}
		return audit(ctx, tx, organizationEvent(actor, org.ActionDictation, change))
	})
}

func (db *DB) ModelSettings(ctx context.Context, organizationID uuid.UUID) (chat.ModelSettings, error) {
	return modelSettings(ctx, db.pool, organizationID)
}

func (db *DB) MemberModelSettings(ctx context.Context, owner identity.Owner) (chat.ModelSettings, error) {
	return findValue[chat.ModelSettings](ctx, db.pool, org.ErrNoOrganization,
		`SELECT `+modelsOfMember+` FROM organizations o WHERE id = $1`, owner.OrganizationID, owner.UserID)
}

func (db *DB) GroupNames(ctx context.Context, organizationID uuid.UUID) (map[uuid.UUID]string, error) {
	return findValue[map[uuid.UUID]string](ctx, db.pool, org.ErrNoOrganization, `
		SELECT coalesce(jsonb_object_agg(id, name), '{}') FROM member_groups WHERE organization_id = $1`, organizationID)
}

func modelSettings(ctx context.Context, q querier, organizationID uuid.UUID) (chat.ModelSettings, error) {
	return findValue[chat.ModelSettings](ctx, q, org.ErrNoOrganization, `SELECT models FROM organizations WHERE id = $1`,
		organizationID)
}

func (db *DB) SetModelSettings(
	ctx context.Context, actor identity.Actor, settings chat.ModelSettings,
	check func(*org.Member, chat.ModelSettings) ([]org.Change, error),
) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		member, err := lockForActor(ctx, tx, actor)
		if err != nil {
			return err
		}
		before, err := modelSettings(ctx, tx, actor.OrganizationID)
		if err != nil {
			return err
		}
		changes, err := check(member, before)
		if err != nil || reflect.DeepEqual(before, settings) {
			return err
		}
		if err := exec(ctx, tx, `UPDATE organizations SET models = $2 WHERE id = $1`, actor.OrganizationID,
			settings); err != nil {
			return err
		}
		return audit(ctx, tx, organizationEvent(actor, org.ActionModels, changes...))
	})
}
