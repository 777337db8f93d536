package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// memberState is the state of the user u of the organization o. All users of an organization with a requested deletion
// are inactive.
const memberState = `CASE WHEN o.deletes_at IS NULL THEN u.state ELSE 'inactive' END`

// selectDeletion begins every query for deletions.
const selectDeletion = `
	SELECT d.id, d.name, d.requested_at, o.deletes_at, d.started_at, coalesce(d.counts, '{}') AS counts,
	       coalesce(d.certificate, '') AS certificate
	FROM organization_deletions d
	LEFT JOIN organizations o ON o.id = d.id`

var errNoDeletion = fault.Errorf(fault.NotFound, "the deletion of this organization was not requested")

// RequestDeletion locks an organization for its members and sets the time of its deletion, after a grace period, on
// behalf of an operator. A repeated request changes nothing, unless grace is 0: then the deletion is due at once.
// Error: org.ErrNoOrganization.
func (db *DB) RequestDeletion(
	ctx context.Context, id uuid.UUID, grace time.Duration, by org.AuditActor,
) (org.Deletion, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (deletion org.Deletion, err error) {
		if err := lockOrganization(ctx, tx, id); err != nil {
			return deletion, err
		}
		if err := exec(ctx, tx, `
			INSERT INTO organization_deletions (id, name) SELECT id, name FROM organizations WHERE id = $1
			ON CONFLICT DO NOTHING`, id); err != nil {
			return deletion, err
		}
		tag, err := tx.Exec(ctx, `
			UPDATE organizations SET deletes_at = now() + $2::interval
			WHERE id = $1 AND (deletes_at IS NULL OR $2::interval = '0')`, id, grace)
		if err != nil {
			return deletion, err
		}
		if deletion, err = findDeletion(ctx, tx, id); err != nil || tag.RowsAffected() == 0 {
			return deletion, err
		}
		return deletion, audit(ctx, tx, deletionEvent(deletion, by,
			org.Change{Field: "deletes_at", After: deletion.DeletesAt.Format(time.RFC3339)}))
	})
}

// CancelDeletion cancels a requested deletion on behalf of an operator. Threads are not deleted by the organization's
// retention setting before their owners are notified again, because they could not read the notices. Errors:
// fault.NotFound without a request, and fault.Conflict if the deletion has started.
func (db *DB) CancelDeletion(ctx context.Context, id uuid.UUID, by org.AuditActor) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := exec(ctx, tx, `SELECT 1 FROM organizations WHERE id = $1 FOR NO KEY UPDATE`, id); err != nil {
			return err
		}
		deletion, err := findDeletion(ctx, tx, id)
		if err != nil {
			return err
		}
		if deletion.StartedAt != nil {
			return fault.Errorf(fault.Conflict, "the deletion of %s has started and cannot be canceled", deletion.Name)
		}
		if err := send(ctx, tx, func(batch *pgx.Batch) {
			batch.Queue(`DELETE FROM organization_deletions WHERE id = $1`, id)
			batch.Queue(`
				UPDATE organizations
				SET deletes_at = NULL,
				    retention_since = CASE WHEN retention_days IS NOT NULL THEN clock_timestamp() END
				WHERE id = $1`, id)
		}); err != nil {
			return err
		}
		return audit(ctx, tx, deletionEvent(deletion, by,
			org.Change{Field: "deletes_at", Before: deletion.DeletesAt.Format(time.RFC3339)}))
	})
}

// deletionEvent returns an audit entry of no organization, because those of the organization are deleted.
func deletionEvent(d org.Deletion, by org.AuditActor, change org.Change) org.Event {
	return org.Event{
		By: by, Action: org.ActionDeletion, TargetKind: org.TargetOrganization, TargetID: d.ID.String(),
		TargetLabel: d.Name, Details: []org.Change{change},
	}
}

// FindDeletion returns the requested deletion of an organization, also after its end. Without one, the error has the
// code fault.NotFound.
func (db *DB) FindDeletion(ctx context.Context, id uuid.UUID) (org.Deletion, error) {
	return findDeletion(ctx, db.pool, id)
}

func findDeletion(ctx context.Context, q querier, id uuid.UUID) (org.Deletion, error) {
	return findRow[org.Deletion](ctx, q, errNoDeletion, selectDeletion+` WHERE d.id = $1`, id)
}

func (db *DB) DueDeletions(ctx context.Context) ([]uuid.UUID, error) {
	return queryValues[uuid.UUID](ctx, db.pool, `
		SELECT d.id
		FROM organization_deletions d
		LEFT JOIN organizations o ON o.id = d.id
		WHERE d.certificate IS NULL AND (o.id IS NULL OR o.deletes_at <= now())
		ORDER BY d.requested_at`)
}

// deletionSteps delete the rows of the organization $1, in the order of their execution. Those with many rows come
// first, in batches that take a few seconds at most, so that each later step deletes few rows by cascades. Triggers
// make files orphans.
var deletionSteps = []string{
	`DELETE FROM threads WHERE id IN (SELECT id FROM threads WHERE organization_id = $1 LIMIT 50)`,
	`DELETE FROM pictures WHERE id IN (SELECT id FROM pictures WHERE organization_id = $1 LIMIT 500)`,
	// Before the data sources, which are kept while shared skills and projects use them.
	`DELETE FROM skill_documents WHERE organization_id = $1`,
	`DELETE FROM project_sources WHERE organization_id = $1 AND data_source_id IN (
	     SELECT data_source_id FROM project_sources WHERE organization_id = $1 LIMIT 5)`,
	`DELETE FROM projects WHERE organization_id = $1`,
	`DELETE FROM data_sources WHERE id IN (SELECT id FROM data_sources WHERE organization_id = $1 LIMIT 5)`,
	`DELETE FROM skills WHERE id IN (SELECT id FROM skills WHERE organization_id = $1 LIMIT 20)`,
	`WITH leaving AS (
	     SELECT id, organization_id, subject, email FROM users WHERE organization_id = $1 LIMIT 20 FOR UPDATE
	 ), queued AS (
	     INSERT INTO account_changes AS a (user_id, organization_id, subject, email, remove, due_at)
	     SELECT id, organization_id, CASE WHEN starts_with(subject, '` + noSubject + `') THEN '' ELSE subject END, email,
	            true, now()
	     FROM leaving
	     ON CONFLICT (user_id) DO UPDATE SET remove = true, version = a.version + 1
	 )
	 DELETE FROM users u USING leaving l WHERE u.id = l.id`,
	`DELETE FROM notifications WHERE id IN (SELECT id FROM notifications WHERE organization_id = $1 LIMIT 50)`,
	`DELETE FROM tool_usage WHERE ctid IN (SELECT ctid FROM tool_usage WHERE organization_id = $1 LIMIT 5000)`,
	`DELETE FROM usage_models WHERE ctid IN (SELECT ctid FROM usage_models WHERE organization_id = $1 LIMIT 5000)`,
	`DELETE FROM usage_daily WHERE ctid IN (SELECT ctid FROM usage_daily WHERE organization_id = $1 LIMIT 5000)`,
	deleteEvents,
	`DELETE FROM organizations WHERE id = $1`,
}

const deleteEvents = `
	DELETE FROM audit_events WHERE id IN (SELECT id FROM audit_events WHERE organization_id = $1 LIMIT 5000)`

// deletionCounts counts what exists of the organization $1, by kind.
const deletionCounts = `jsonb_build_object(
	'members', (SELECT count(*) FROM users WHERE organization_id = $1),
	'threads', (SELECT count(*) FROM threads WHERE organization_id = $1),
	'messages', (SELECT count(*) FROM messages WHERE organization_id = $1),
	'files', (SELECT count(*) FROM data_sources WHERE organization_id = $1),
	'pictures', (SELECT count(*) FROM pictures WHERE organization_id = $1),
	'file_bytes', (SELECT coalesce(sum(size), 0) FROM (` + filesSQL + `) f),
	'projects', (SELECT count(*) FROM projects WHERE organization_id = $1),
	'skills', (SELECT count(*) FROM skills WHERE organization_id = $1),
	'notices', (SELECT count(*) FROM notifications WHERE organization_id = $1),
	'audit_events', (SELECT count(*) FROM audit_events WHERE organization_id = $1))`

// DeleteBatch implements org.Store. It locks the organization, so that nothing is added to it and no other
// server deletes it at the same time.
func (db *DB) DeleteBatch(ctx context.Context, id uuid.UUID) (more bool, err error) {
	return txResult(ctx, db, func(tx pgx.Tx) (bool, error) {
		_, err := queryValue[uuid.UUID](ctx, tx, `
			SELECT id FROM organizations WHERE id = $1 AND deletes_at <= now() FOR UPDATE SKIP LOCKED`, id)
		if err != nil {
			return false, ifNoRows(err, nil)
		}
		// Counting and deleting may take longer than statements of calls. The caller limits the time.
		if err := exec(ctx, tx, `SET LOCAL statement_timeout = 0`); err != nil {
			return false, err
		}
		if err := exec(ctx, tx, `
			UPDATE organization_deletions SET started_at = clock_timestamp(), counts = `+deletionCounts+`
			WHERE id = $1 AND started_at IS NULL`, id); err != nil {
			return false, err
		}
		for _, step := range deletionSteps {
			if tag, err := tx.Exec(ctx, step, id); err != nil || tag.RowsAffected() > 0 {
				return true, err
			}
		}
		return false, nil
	})
}

func (db *DB) FinishDeletion(
	ctx context.Context, id uuid.UUID, certify func(org.Deletion) (string, error),
) (done bool, err error) {
	return txResult(ctx, db, func(tx pgx.Tx) (bool, error) {
		deletion, err := queryRow[org.Deletion](ctx, tx, selectDeletion+`
			WHERE d.id = $1 AND d.certificate IS NULL AND o.id IS NULL
			  AND NOT EXISTS (SELECT FROM account_changes WHERE organization_id = $1)
			  AND NOT EXISTS (SELECT FROM loose_files WHERE organization_id = $1)
			FOR UPDATE OF d`, id)
		if err != nil {
			return false, ifNoRows(err, nil)
		}
		if err := exec(ctx, tx, deleteEvents, id); err != nil { // Those of sign-ins during the deletion.
			return false, err
		}
		certificate, err := certify(deletion)
		if err != nil {
			return false, err
		}
		return true, exec(ctx, tx, `UPDATE organization_deletions SET certificate = $2 WHERE id = $1`, id, certificate)
	})
}
