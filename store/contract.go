package store

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// japanToday is the current day in Japan, by the database's clock.
const japanToday = `(now() AT TIME ZONE 'Asia/Tokyo')::date`

// thisMonth is the first day of the current month in Japan.
const thisMonth = `date_trunc('month', now() AT TIME ZONE 'Asia/Tokyo')::date`

// nextMonth is the first day of the next month in Japan.
const nextMonth = `(` + thisMonth + ` + interval '1 month')::date`

// thisMonthsDays is the array of the days of the current month in Japan until today. With it, the whole primary key
// selects each day of a member's usage.
const thisMonthsDays = `ARRAY (SELECT t.date::date FROM generate_series(` + thisMonth + `, ` + japanToday + `,
	interval '1 day') AS t (date))`

// lockOrganization prevents other changes of an organization's members and contract until the transaction ends.
// Statements that only refer to the organization, such as inserts of member rows, do not wait.
func lockOrganization(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	return execRow(ctx, tx, org.ErrNoOrganization, `SELECT 1 FROM organizations WHERE id = $1 FOR NO KEY UPDATE`, id)
}

// freeSeats returns the number of further active members that an organization may have. The organization must be
// locked.
func freeSeats(ctx context.Context, tx pgx.Tx, organizationID uuid.UUID) (int, error) {
	return queryValue[int](ctx, tx, `
		SELECT c.seats - (SELECT count(*) FROM users u WHERE u.organization_id = $1 AND u.state = 'active')
		FROM contracts c
		WHERE c.organization_id = $1`, organizationID)
}

// selectContract begins every query for contracts.
const selectContract = `
	SELECT c.plan, c.status, c.seats, c.tokens, c.storage, c.starts_on, c.ends_on,
	       (SELECT count(*) FROM users u WHERE u.organization_id = c.organization_id
	           AND u.state = 'active') AS seats_used,
	       (SELECT coalesce(sum(d.input_tokens + d.output_tokens), 0)::bigint FROM usage_daily d
	        WHERE d.organization_id = c.organization_id AND d.date >= ` + thisMonth + `) AS tokens_used,
	       (SELECT coalesce(sum(s.size), 0)::bigint FROM data_sources s
	           WHERE s.organization_id = c.organization_id) AS storage_used,
	       ` + nextMonth + ` AS resets_on
	FROM contracts c`

func (db *DB) ContractView(ctx context.Context, organizationID uuid.UUID) (org.ContractView, error) {
	var views []org.ContractView
	var days []org.DayUsage
	err := send(ctx, db.pool, func(batch *pgx.Batch) {
		batch.Queue(selectContract+` WHERE c.organization_id = $1`, organizationID).Query(collect(&views))
		batch.Queue(`
			SELECT t.date::date AS date, coalesce(sum(d.messages), 0)::bigint AS messages,
			       coalesce(sum(d.input_tokens), 0)::bigint AS input_tokens,
			       coalesce(sum(d.output_tokens), 0)::bigint AS output_tokens
			FROM generate_series(`+japanToday+` - ($2::int - 1), `+japanToday+`, interval '1 day') AS t (date)
			LEFT JOIN usage_daily d ON d.organization_id = $1 AND d.date = t.date::date
			GROUP BY t.date
			ORDER BY t.date`, organizationID, org.UsageDays).Query(collect(&days))
	})
	switch {
	case err != nil:
		return org.ContractView{}, err
	case len(views) == 0:
		return org.ContractView{}, org.ErrNoOrganization
	}
	views[0].Usage = days
	return views[0], nil
}

func (db *DB) OwnUsage(ctx context.Context, organizationID, userID uuid.UUID) (org.OwnUsage, error) {
	return queryRow[org.OwnUsage](ctx, db.pool, `
		SELECT coalesce(sum(d.messages), 0)::bigint AS messages,
		       coalesce(sum(d.input_tokens), 0)::bigint AS input_tokens,
		       coalesce(sum(d.output_tokens), 0)::bigint AS output_tokens,
		       `+nextMonth+` AS resets_on,
		       (SELECT `+monthsLimit+` FROM users u WHERE u.organization_id = $1 AND u.id = $2) AS token_limit
		FROM usage_daily d
		WHERE d.organization_id = $1 AND d.user_id = $2 AND d.date = ANY (`+thisMonthsDays+`)`,
		organizationID, userID)
}

// usedByMember is the usage by member in the organization $1 over the last $2 days.
const usedByMember = `
	WITH used AS (
	    SELECT u.id AS user_id, coalesce(u.name, '') AS name, coalesce(u.email, '') AS email,
	           sum(d.messages)::bigint AS messages, sum(d.input_tokens)::bigint AS input_tokens,
	           sum(d.output_tokens)::bigint AS output_tokens
	    FROM usage_daily d
	    LEFT JOIN users u ON u.id = d.user_id AND u.organization_id = d.organization_id
	    WHERE d.organization_id = $1 AND d.date > ` + japanToday + ` - $2::int
	    GROUP BY u.id
	)`

func (db *DB) UsageByMember(ctx context.Context, organizationID uuid.UUID, offset, limit int) ([]org.MemberUsage, int,
	error,
) {
	return queryPage[org.MemberUsage](ctx, db, usedByMember+` SELECT count(*) FROM used`, usedByMember+`
		SELECT user_id, name, email, messages, input_tokens, output_tokens
		FROM used
		ORDER BY input_tokens + output_tokens DESC, messages DESC, user_id
		OFFSET $3 LIMIT $4`, []any{organizationID, org.UsageDays}, offset, limit)
}

// usedByModel is the usage by model in the organization $1 in the period from $2 to $3.
const usedByModel = `
	WITH used AS (
	    SELECT model_id, sum(messages)::bigint AS messages, sum(input_tokens)::bigint AS input_tokens,
	           sum(output_tokens)::bigint AS output_tokens
	    FROM usage_models
	    WHERE organization_id = $1 AND date BETWEEN $2::date AND $3::date
	    GROUP BY model_id
	)`

func (db *DB) UsageByModel(ctx context.Context, organizationID uuid.UUID, period org.Period, offset, limit int) (
	[]org.ModelUsage, int, error,
) {
	return queryPage[org.ModelUsage](ctx, db, usedByModel+` SELECT count(*) FROM used`, usedByModel+`
		SELECT model_id, messages, input_tokens, output_tokens
		FROM used
		ORDER BY input_tokens + output_tokens DESC, messages DESC, model_id
		OFFSET $4 LIMIT $5`, []any{organizationID, period.From, period.To}, offset, limit)
}

func (db *DB) DailyUsageByModel(ctx context.Context, organizationID uuid.UUID, period org.Period, limit int) (
	[]org.ModelDay, error,
) {
	return queryRows[org.ModelDay](ctx, db.pool, `
		SELECT date, model_id, sum(messages)::bigint AS messages, sum(input_tokens)::bigint AS input_tokens,
		       sum(output_tokens)::bigint AS output_tokens
		FROM usage_models
		WHERE organization_id = $1 AND date BETWEEN $2::date AND $3::date
		GROUP BY date, model_id
		ORDER BY date, model_id
		LIMIT $4`, organizationID, period.From, period.To, limit)
}

func (db *DB) DailyUsage(ctx context.Context, organizationID uuid.UUID, period org.Period, limit int) (
	[]org.MemberDay, error,
) {
	return queryRows[org.MemberDay](ctx, db.pool, `
		SELECT d.date, coalesce(u.name, '') AS name, coalesce(u.email, '') AS email, d.messages::bigint AS messages,
		       d.input_tokens, d.output_tokens
		FROM usage_daily d
		LEFT JOIN users u ON u.id = d.user_id AND u.organization_id = d.organization_id
		WHERE d.organization_id = $1 AND d.date BETWEEN $2::date AND $3::date
		ORDER BY d.date, u.email, d.user_id
		LIMIT $4`, organizationID, period.From, period.To, limit)
}

func (db *DB) Balance(ctx context.Context, organizationID uuid.UUID) (org.Balance, error) {
	return findRow[org.Balance](ctx, db.pool, org.ErrNoOrganization, `
		SELECT c.status IN ('suspended', 'ended') OR coalesce(c.ends_on < `+japanToday+`, false) AS over,
		       false AS unlimited, c.tokens AS "limit", `+nextMonth+` AS resets_on,
		       EXISTS (SELECT FROM organizations o WHERE o.id = $1 AND o.member_tokens IS NOT NULL)
		       OR EXISTS (SELECT FROM users u WHERE u.organization_id = $1 AND u.limit_rule = 'own')
		       OR EXISTS (SELECT FROM member_groups g WHERE g.organization_id = $1 AND g.token_limit IS NOT NULL)
		           AS member_limits,
		       (SELECT coalesce(sum(d.input_tokens + d.output_tokens), 0)::bigint FROM usage_daily d
		        WHERE d.organization_id = c.organization_id AND d.date >= `+thisMonth+`) AS used,
		       (SELECT coalesce(max(n.percent), 0) FROM contract_notices n
		        WHERE n.organization_id = c.organization_id AND n.month = `+thisMonth+`) AS notified
		FROM contracts c
		WHERE c.organization_id = $1`, organizationID)
}

func (db *DB) PublishLimitNotice(ctx context.Context, organizationID uuid.UUID, percent int,
	notice org.Notification,
) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			INSERT INTO contract_notices (organization_id, month, percent)
			SELECT $1, `+thisMonth+`, $2
			WHERE NOT EXISTS (SELECT FROM contract_notices
			                  WHERE organization_id = $1 AND month = `+thisMonth+` AND percent >= $2)
			ON CONFLICT DO NOTHING`, organizationID, percent)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		if err := insertNotification(ctx, tx, notice); err != nil {
			return err
		}
		return exec(ctx, tx, `
			UPDATE contract_notices SET notification_id = $3
			WHERE organization_id = $1 AND month = `+thisMonth+` AND percent = $2`, organizationID, percent, notice.ID)
	})
}

// usage is the number of tokens of a model that a user has used.
type usage struct {
	owner        identity.Owner
	model        string // A model id.
	inputTokens  int
	outputTokens int

	// answer is the answer that the tokens belong to, or nil. It is counted as a message, once, if the current
	// transaction has ended its generation for the server and run.
	answer *uuid.UUID
	server uuid.UUID
	run    int
}

// queueUsage counts usage. It locks the rows of all users, in their order, until the commit.
func queueUsage(batch *pgx.Batch, all []usage) {
	n := len(all)
	organizations, users, models := make([]uuid.UUID, n), make([]uuid.UUID, n), make([]string, n)
	input, output := make([]int, n), make([]int, n)
	answers, servers, runs := make([]*uuid.UUID, n), make([]uuid.UUID, n), make([]int, n)
	for i, u := range all {
		organizations[i], users[i], models[i] = u.owner.OrganizationID, u.owner.UserID, u.model
		input[i], output[i] = storableCount(u.inputTokens), storableCount(u.outputTokens)
		answers[i], servers[i], runs[i] = u.answer, u.server, u.run
	}
	batch.Queue(`
		WITH used AS (
		    SELECT *
		    FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::int[], $5::int[], $6::uuid[], $7::uuid[], $8::int[])
		        AS u (organization_id, user_id, model_id, input_tokens, output_tokens, message_id, server_id, run)
		), spent AS (
		    SELECT organization_id, user_id, model_id, 0 AS messages, input_tokens, output_tokens
		    FROM used
		    WHERE message_id IS NULL
		    UNION ALL
		    SELECT DISTINCT ON (message_id) u.organization_id, u.user_id, model_id, 1, input_tokens, output_tokens
		    FROM used u
		    JOIN generations g USING (message_id, server_id, run)
		    WHERE g.ended_at = now()
		), `+countUsage+`
		SELECT FROM spent`, organizations, users, models, input, output, answers, servers, runs)
}

// countUsage is a part of a WITH clause. It counts the rows of the query spent: organization_id, user_id, model_id,
// messages, input_tokens and output_tokens. The second query reads from the first one, so that the rows of a user are
// always locked in the same order, as are the users.
const countUsage = `counted AS (
	    INSERT INTO usage_daily AS d (organization_id, date, user_id, messages, input_tokens, output_tokens)
	    SELECT organization_id, ` + japanToday + `, user_id, ` + sumUsage + `
	    FROM spent
	    GROUP BY organization_id, user_id
	    ORDER BY user_id, organization_id
	    ON CONFLICT (organization_id, date, user_id) DO UPDATE
	    SET ` + addUsage + `
	    RETURNING organization_id, date, user_id
	), counted_by_model AS (
	    INSERT INTO usage_models AS d (organization_id, date, user_id, model_id, messages, input_tokens, output_tokens)
	    SELECT organization_id, date, user_id, model_id, ` + sumUsage + `
	    FROM counted
	    JOIN spent USING (organization_id, user_id)
	    GROUP BY organization_id, date, user_id, model_id
	    ORDER BY user_id, organization_id, model_id
	    ON CONFLICT (organization_id, date, user_id, model_id) DO UPDATE
	    SET ` + addUsage + `
	)`

const sumUsage = `sum(messages), sum(input_tokens), sum(output_tokens)`

const addUsage = `messages = d.messages + excluded.messages, input_tokens = d.input_tokens + excluded.input_tokens,
	        output_tokens = d.output_tokens + excluded.output_tokens`

func (db *DB) CountDeleted(ctx context.Context, o chat.Outcome) (counted bool, err error) {
	tag, err := db.pool.Exec(ctx, `
		WITH spent AS (
		    SELECT $1::uuid AS organization_id, $2::uuid AS user_id, $6::text AS model_id, 1 AS messages,
		           $4::int AS input_tokens, $5::int AS output_tokens
		    WHERE NOT EXISTS (SELECT FROM generations WHERE message_id = $3)
		), `+countUsage+`
		SELECT FROM spent`,
		o.Owner.OrganizationID, o.Owner.UserID, o.MessageID, storableCount(o.InputTokens),
		storableCount(o.OutputTokens), o.ModelID)
	if err == nil && tag.RowsAffected() > 0 && len(o.ToolUses) > 0 {
		err = send(ctx, db.pool, func(batch *pgx.Batch) { queueToolUses(batch, o, isDeleted) })
	}
	return tag.RowsAffected() > 0, translate(err)
}

// OpenOrganization adds an organization with its contract on behalf of an operator, and logs it. Fields that are not in
// the edit have the defaults of a new contract. Errors: those of CreateOrganization and SetContract.
func (db *DB) OpenOrganization(
	ctx context.Context, o org.Organization, edit org.ContractEdit, by org.AuditActor,
) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := claimDomains(ctx, tx, o); err != nil {
			return err
		}
		if err := insertOrganization(ctx, tx, o); err != nil {
			return err
		}
		contract, _, err := editContract(ctx, tx, o.ID, edit)
		if err != nil {
			return err
		}
		details := []org.Change{{Field: "name", After: o.Name}, {Field: "auth_type", After: o.AuthType}}
		for _, domain := range o.MailDomains {
			details = append(details, org.Change{Field: "mail_domain", After: domain})
		}
		return audit(ctx, tx, org.Event{
			OrganizationID: &o.ID, By: by, Action: org.ActionOrganization, TargetKind: org.TargetOrganization,
			TargetID: o.ID.String(), TargetLabel: o.Name, Details: append(details,
				contractChanges(org.Contract{}, contract)...),
		})
	})
}

// SetContract changes an organization's contract on behalf of an operator, logs it, and returns it. Errors:
// org.ErrNoOrganization, and fault.Invalid for values that no contract may have.
func (db *DB) SetContract(ctx context.Context, organizationID uuid.UUID, edit org.ContractEdit,
	by org.AuditActor,
) (org.Contract, error) {
	var after org.Contract
	err := db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockOrganization(ctx, tx, organizationID); err != nil {
			return err
		}
		var before org.Contract
		var err error
		if after, before, err = editContract(ctx, tx, organizationID, edit); err != nil {
			return err
		}
		changes := contractChanges(before, after)
		if len(changes) == 0 {
			return nil
		}
		name, err := queryValue[string](ctx, tx, `SELECT name FROM organizations WHERE id = $1`, organizationID)
		if err != nil {
			return err
		}
		return audit(ctx, tx, org.Event{
			OrganizationID: &organizationID, By: by, Action: org.ActionContract, TargetKind: org.TargetContract,
			TargetID: organizationID.String(), TargetLabel: name, Details: changes,
		})
	})
	return after, err
}

func editContract(ctx context.Context, tx pgx.Tx, organizationID uuid.UUID, e org.ContractEdit) (after,
	before org.Contract, err error,
) {
	const query = `
		SELECT plan, status, seats, tokens, storage, starts_on, ends_on FROM contracts WHERE organization_id = $1`
	if before, err = queryRow[org.Contract](ctx, tx, query, organizationID); err != nil {
		return after, before, err
	}
	err = exec(ctx, tx, `
		UPDATE contracts
		SET plan = coalesce($2, plan), status = coalesce($3, status), seats = coalesce($4, seats),
		    tokens = coalesce($5, tokens), starts_on = coalesce($6, starts_on), storage = coalesce($9, storage),
		    ends_on = CASE WHEN $8 THEN NULL ELSE coalesce($7, ends_on) END, updated_at = now()
		WHERE organization_id = $1`,
		organizationID, e.Plan, e.Status, e.Seats, e.Tokens, e.StartsOn, e.EndsOn, e.Open, e.Storage)
	if hasCode(err, codeCheck) {
		return after, before, fault.Errorf(fault.Invalid, "契約の内容が正しくありません。終了日は開始日より前にできません。")
	}
	if err != nil {
		return after, before, err
	}
	after, err = queryRow[org.Contract](ctx, tx, query, organizationID)
	return after, before, err
}

// contractChanges returns the differences between two contracts.
func contractChanges(before, after org.Contract) []org.Change {
	number := func(n int64) string {
		if n == 0 && before.Plan == "" {
			return "" // A new contract.
		}
		return strconv.FormatInt(n, 10)
	}
	day := func(t *time.Time) string {
		if t == nil || t.IsZero() {
			return ""
		}
		return t.Format(time.DateOnly)
	}
	return changed([]org.Change{
		{Field: "plan", Before: before.Plan, After: after.Plan},
		{Field: "status", Before: string(before.Status), After: string(after.Status)},
		{Field: "seats", Before: number(int64(before.Seats)), After: strconv.Itoa(after.Seats)},
		{Field: "tokens", Before: number(before.Tokens), After: strconv.FormatInt(after.Tokens, 10)},
		{Field: "storage", Before: number(before.Storage), After: strconv.FormatInt(after.Storage, 10)},
		{Field: "starts_on", Before: day(&before.StartsOn), After: day(&after.StartsOn)},
		{Field: "ends_on", Before: day(before.EndsOn), After: day(after.EndsOn)},
	})
}

// selectOrganization begins the queries for organizations.
const selectOrganization = `SELECT id, name, auth_type, mail_domains FROM organizations`

// OrganizationSummary is an organization in an operator's list.
type OrganizationSummary struct {
	org.Organization
	org.ContractView // Without Usage.

	DeletesAt *time.Time // Time of a requested deletion, or nil.
}

// ListOrganizations returns all organizations, by name.
func (db *DB) ListOrganizations(ctx context.Context) ([]OrganizationSummary, error) {
	return queryRows[OrganizationSummary](ctx, db.pool, `
		SELECT o.id, o.name, o.auth_type, o.mail_domains, o.deletes_at, c.*
		FROM organizations o
		CROSS JOIN LATERAL (`+selectContract+` WHERE c.organization_id = o.id) c
		ORDER BY o.name, o.id`)
}

// FindOrganization returns an organization, or org.ErrNoOrganization.
func (db *DB) FindOrganization(ctx context.Context, id uuid.UUID) (org.Organization, error) {
	return findRow[org.Organization](ctx, db.pool, org.ErrNoOrganization, selectOrganization+` WHERE id = $1`, id)
}
