package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// retentionPeriod is the time after which the thread r of retained_threads is deleted if it is not touched. A day has
// 24 hours, independent of the time zone of the database session.
const retentionPeriod = `r.days * interval '24 hours'`

// isNotified is the condition that the user $2 of the organization $1 is to be shown that the thread r will be deleted:
// its owner was notified, and it is the user's own one, which the user may still open, or shared in a project that the
// user manages, and its owner may no longer open it.
const isNotified = `r.told_at >= r.since AND r.id IN (
	SELECT t.id FROM threads t
	WHERE t.organization_id = $1 AND t.user_id = $2 AND t.told_at IS NOT NULL AND ` + mayRead + `
	UNION ALL
	SELECT t.id
	FROM projects_of($1, $2) a
	JOIN threads t ON t.project_id = a.project_id AND t.visibility = 'project'
	WHERE a.role = 'manager' AND t.told_at IS NOT NULL AND t.user_id <> $2 AND NOT ` + ownerMayOpen + `)`

// ownerMayOpen is the condition that the owner of the thread t may open it.
const ownerMayOpen = `(t.project_id IS NULL OR project_role(t.organization_id, t.user_id, t.project_id) IS NOT NULL)`

// isReachable is the condition that the thread r is not in a deleted project. Members cannot open such threads and could
// not prevent their deletion.
const isReachable = `NOT EXISTS (
	SELECT FROM threads t JOIN projects p ON p.id = t.project_id WHERE t.id = r.id AND p.deleted_at IS NOT NULL)`

// deletesAt is the time at which the thread r is deleted after its owner was notified at the time told. $3 is
// chat.NoticePeriod.
func deletesAt(told string) string {
	return `greatest(r.touched_at + ` + retentionPeriod + `, ` + told + ` + $3::interval)`
}

// unchanged is the condition that the thread t, which may have changed before it was locked, is as in r.
const unchanged = `t.touched_at = r.touched_at AND t.told_at IS NOT DISTINCT FROM r.told_at AND NOT t.pinned`

const (
	retentionScanLimit   = 1_000 // Threads scanned per pass to find owners to notify.
	retentionNotifyLimit = 5_000 // Threads included in the notifications of one transaction.
)

func (db *DB) Retention(ctx context.Context, organizationID uuid.UUID) (*int, error) {
	return retentionDays(ctx, db.pool, organizationID)
}

func retentionDays(ctx context.Context, q querier, organizationID uuid.UUID) (*int, error) {
	return findValue[*int](ctx, q, org.ErrNoOrganization, `SELECT retention_days FROM organizations WHERE id = $1`,
		organizationID)
}

func (db *DB) SetRetention(
	ctx context.Context, actor identity.Actor, days *int, check func(*org.Member) error,
) error {
	return db.changeOrganization(ctx, actor, check, func(tx pgx.Tx) error {
		before, err := retentionDays(ctx, tx, actor.OrganizationID)
		if err != nil {
			return err
		}
		change := org.Change{Field: "retention_days", Before: optionalNumber(before), After: optionalNumber(days)}
		if change.Before == change.After {
			return nil
		}
		if err := exec(ctx, tx, `
			UPDATE organizations SET retention_days = $2, retention_since = clock_timestamp() WHERE id = $1`,
			actor.OrganizationID, days); err != nil {
			return err
		}
		return audit(ctx, tx, organizationEvent(actor, org.ActionRetention, change))
	})
}

// PreviewRetention implements org.Store. It does not count threads that follow the setting of their project, or are in a
// deleted project.
func (db *DB) PreviewRetention(ctx context.Context, organizationID uuid.UUID, days int) (org.RetentionPreview, error) {
	return queryRow[org.RetentionPreview](ctx, db.pool, `
		SELECT count(*) AS told, count(*) FILTER (WHERE touched_at <= now() - $2 * interval '24 hours') AS due,
		       count(DISTINCT user_id) AS members
		FROM threads t
		WHERE organization_id = $1 AND NOT pinned AND expires_at IS NULL
		  AND touched_at <= now() - ($2 * interval '24 hours' - $3::interval)
		  AND NOT EXISTS (
		      SELECT FROM projects p
		      WHERE p.id = t.project_id
		        AND (p.deleted_at IS NOT NULL
		             OR p.retention_days IS NOT NULL AND (t.visibility = 'project' OR p.retention_days <= $2)))`,
		organizationID, days, chat.NoticePeriod)
}

func (db *DB) CountExpiring(ctx context.Context, owner identity.Owner) (chat.ExpiringCount, error) {
	return queryRow[chat.ExpiringCount](ctx, db.pool, `
		SELECT count(*) AS threads, min(`+deletesAt("r.told_at")+`) AS first
		FROM retained_threads r
		WHERE `+isNotified, owner.OrganizationID, owner.UserID, chat.NoticePeriod)
}

func (db *DB) ListExpiring(
	ctx context.Context, owner identity.Owner, offset, limit int,
) ([]chat.ExpiringThread, error) {
	return queryRows[chat.ExpiringThread](ctx, db.pool, `
		SELECT `+threadColumns+`, `+isRunning+`, `+deletesAt("r.told_at")+` AS deletes_at
		FROM retained_threads r
		JOIN threads t ON t.id = r.id
		JOIN skills s ON s.id = t.skill_id
		WHERE `+isNotified+`
		ORDER BY deletes_at, t.id
		OFFSET $4 LIMIT $5`, owner.OrganizationID, owner.UserID, chat.NoticePeriod, offset, limit)
}

func (db *DB) ClearOutdatedNotices(ctx context.Context, limit int) (int, error) {
	tag, err := db.pool.Exec(ctx, `
		UPDATE threads SET told_at = NULL
		WHERE id IN (SELECT t.id
		             FROM (SELECT t.id
		                   FROM organizations o
		                   JOIN threads t ON t.organization_id = o.id AND t.told_at < o.retention_since
		                   UNION
		                   SELECT t.id
		                   FROM projects p
		                   JOIN threads t ON t.organization_id = p.organization_id AND t.project_id = p.id
		                                  AND t.told_at < p.retention_since
		                   LIMIT $1) r
		             JOIN threads t ON t.id = r.id
		             FOR UPDATE OF t SKIP LOCKED)`, limit)
	return int(tag.RowsAffected()), translate(err)
}

// NotifyOwners implements chat.Store. It locks the row of each owner until the notification is stored, so that
// two servers do not send separate notifications for parts of an owner's threads. It skips locked rows instead of
// waiting for them.
func (db *DB) NotifyOwners(
	ctx context.Context, limit int, notice func(chat.RetentionNotice) org.Notification,
) (int, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (int, error) {
		people, err := lockOwnersToNotify(ctx, tx, limit)
		if err != nil || len(people) == 0 {
			return 0, err
		}
		notices, err := markNotified(ctx, tx, people)
		for i := 0; i < len(notices) && err == nil; i++ {
			if notices[i].UserID != uuid.Nil {
				err = insertNotification(ctx, tx, notice(notices[i]))
			}
		}
		return len(notices), err
	})
}

// lockOwnersToNotify locks and returns users who own threads that they have not been notified of yet.
func lockOwnersToNotify(ctx context.Context, tx pgx.Tx, limit int) ([]uuid.UUID, error) {
	return queryValues[uuid.UUID](ctx, tx, `
		SELECT u.id
		FROM users u
		WHERE u.id IN (SELECT r.user_id
		               FROM retained_threads r
		               WHERE r.told_at IS NULL AND r.touched_at <= now() - (`+retentionPeriod+` - $2::interval)
		                 AND `+isReachable+`
		               LIMIT $3)
		ORDER BY u.id
		LIMIT $1
		FOR NO KEY UPDATE SKIP LOCKED`, limit, chat.NoticePeriod, retentionScanLimit)
}

// markNotified marks the threads as notified and returns one notice per recipient: the owner or, for shared threads that
// the owner may no longer open, a manager of the project. The recipient of private ones is uuid.Nil. It also locks the
// organizations, so that a concurrent change of the setting takes effect after this notification.
func markNotified(ctx context.Context, tx pgx.Tx, people []uuid.UUID) ([]chat.RetentionNotice, error) {
	return queryRows[chat.RetentionNotice](ctx, tx, `
		WITH leaving AS (
		    SELECT t.id, r.days, r.touched_at
		    FROM (SELECT *
		          FROM retained_threads r
		          WHERE r.user_id = ANY ($1) AND r.told_at IS NULL
		            AND r.touched_at <= now() - (`+retentionPeriod+` - $2::interval) AND `+isReachable+`
		          ORDER BY r.user_id, r.id
		          LIMIT $4) r
		    JOIN threads t ON t.id = r.id
		    JOIN organizations o ON o.id = t.organization_id
		    WHERE `+unchanged+`
		    ORDER BY t.user_id, t.id
		    FOR UPDATE OF t SKIP LOCKED
		    FOR SHARE OF o SKIP LOCKED
		), told AS (
		    UPDATE threads t SET told_at = clock_timestamp()
		    FROM leaving r
		    WHERE t.id = r.id
		    RETURNING t.organization_id, t.user_id, t.project_id, t.visibility, r.days,
		              `+deletesAt("t.told_at")+` AS deletes_at
		)
		SELECT t.organization_id, coalesce(
		           CASE WHEN `+ownerMayOpen+` THEN t.user_id
		                WHEN t.visibility = 'project' THEN (`+firstManager+`)
		           END, '00000000-0000-0000-0000-000000000000') AS user_id,
		       t.days, count(*) AS threads, min(t.deletes_at) AS first
		FROM told t
		LEFT JOIN projects p ON p.id = t.project_id
		GROUP BY 1, 2, 3`,
		people, chat.NoticePeriod+chat.NoticeLookahead, chat.NoticePeriod, retentionNotifyLimit)
}

func (db *DB) DeleteDue(ctx context.Context, limit int) ([]chat.DeletedThread, error) {
	return txResult(ctx, db, func(tx pgx.Tx) ([]chat.DeletedThread, error) {
		ids, err := queryValues[uuid.UUID](ctx, tx, `
			SELECT t.id
			FROM (SELECT *
			      FROM retained_threads r
			      WHERE r.told_at >= r.since AND r.told_at <= now() - $2::interval
			        AND r.touched_at <= now() - `+retentionPeriod+` AND `+isReachable+`
			        AND NOT EXISTS (SELECT FROM generations g WHERE g.thread_id = r.id AND g.ended_at IS NULL)
			      LIMIT $1) r
			JOIN threads t ON t.id = r.id
			JOIN organizations o ON o.id = t.organization_id
			WHERE `+unchanged+`
			  AND NOT EXISTS (SELECT FROM generations g WHERE g.thread_id = t.id AND g.ended_at IS NULL)
			FOR UPDATE OF t SKIP LOCKED
			FOR SHARE OF o SKIP LOCKED`, limit, chat.NoticePeriod)
		if err != nil {
			return nil, err
		}
		deleted, err := deleteThreads(ctx, tx, ids)
		if err != nil {
			return nil, err
		}
		return deleted, countDeleted(ctx, tx, deleted)
	})
}

// countDeleted adds the number of deleted threads to the day's entry in the audit log of each organization.
func countDeleted(ctx context.Context, tx pgx.Tx, deleted []chat.DeletedThread) error {
	counts := make(map[uuid.UUID]int)
	for _, e := range deleted {
		counts[e.OrganizationID]++
	}
	for organizationID, n := range counts {
		if err := exec(ctx, tx, `
			INSERT INTO audit_events (id, organization_id, actor_kind, action, target_kind, target_id, target_label,
			                          details, tally)
			SELECT $1, o.id, $3, $4, $5, o.id::text, o.name,
			       jsonb_build_array(jsonb_build_object('field', 'threads', 'after', $6::bigint::text)),
			       sha256(convert_to('retention ' || o.id || ' ' || `+japanToday+`, 'UTF8'))
			FROM organizations o
			WHERE o.id = $2
			ON CONFLICT (tally) DO UPDATE
			SET times = audit_events.times + 1, last_at = now(),
			    details = jsonb_build_array(jsonb_build_object('field', 'threads', 'after',
			    ((audit_events.details -> 0 ->> 'after')::bigint + $6)::text))`,
			uuidv7.New(), organizationID, org.BySystem, org.ActionRetentionDelete, org.TargetOrganization, n); err != nil {
			return err
		}
	}
	return nil
}
