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

// selectShare begins every query for shares.
const selectShare = `
	SELECT h.id, h.thread_id, h.user_id, u.name AS owner_name, u.email AS owner_email, t.skill_id, s.name AS skill_name,
	       s.icon_path AS skill_icon_path, h.title, cardinality(h.message_ids) AS messages, h.created_at, h.updated_at
	FROM shares h
	JOIN users u ON u.id = h.user_id
	JOIN threads t ON t.id = h.thread_id
	JOIN skills s ON s.id = t.skill_id`

// isLinked is the condition that the owner of the share h may open its thread. Without that, the share does not exist for
// anyone.
const isLinked = `NOT EXISTS (
	SELECT FROM threads l
	WHERE l.id = h.thread_id AND l.project_id IS NOT NULL
	  AND NOT may_open_project(h.organization_id, h.user_id, l.project_id))`

func findShare(ctx context.Context, q querier, organizationID, shareID uuid.UUID) (chat.Share, error) {
	return findRow[chat.Share](ctx, q, chat.ErrNoShare, selectShare+`
		WHERE h.organization_id = $1 AND h.id = $2 AND `+isLinked, organizationID, shareID)
}

func (db *DB) FindShare(ctx context.Context, organizationID, shareID uuid.UUID) (chat.Share, error) {
	return findShare(ctx, db.pool, organizationID, shareID)
}

func (db *DB) ListShares(
	ctx context.Context, organizationID uuid.UUID, userID, threadID *uuid.UUID, offset, limit int,
) ([]chat.Share, int, error) {
	const where = `
		WHERE h.organization_id = $1 AND ($2::uuid IS NULL OR h.user_id = $2)
		    AND ($3::uuid IS NULL OR h.thread_id = $3) AND ` + isLinked
	return queryPage[chat.Share](ctx, db, `SELECT count(*) FROM shares h`+where,
		selectShare+where+` ORDER BY h.updated_at DESC, h.id OFFSET $4 LIMIT $5`,
		[]any{organizationID, userID, threadID}, offset, limit)
}

func (db *DB) PutShare(
	ctx context.Context, owner identity.Owner, snapshot chat.Snapshot, by org.AuditActor,
) (chat.Share, error) {
	var share chat.Share
	err := db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockThread(ctx, tx, owner, snapshot.ThreadID); err != nil {
			return err
		}
		thread, err := findThread(ctx, tx, owner, snapshot.ThreadID)
		if err != nil {
			return err
		}
		switch {
		case thread.Shared:
			return chat.ErrShareProject
		case thread.ExpiresAt != nil:
			return chat.ErrShareTemporary
		}
		leaf, err := findMessage(ctx, tx, owner, snapshot.Leaf)
		switch {
		case err != nil:
			return err
		case leaf.ThreadID != thread.ID, leaf.Role != chat.RoleAssistant:
			return chat.ErrNoMessage
		case !leaf.Status.Terminal():
			return chat.ErrShareRunning
		}
		var id uuid.UUID
		var updated bool
		err = tx.QueryRow(ctx, `
			INSERT INTO shares AS h (id, organization_id, user_id, thread_id, title, message_ids)
			VALUES ($1, $2, $3, $4, $5, ARRAY (`+upToSQL+`))
			ON CONFLICT (organization_id, thread_id) DO UPDATE
			SET title = excluded.title, message_ids = excluded.message_ids, updated_at = clock_timestamp()
			RETURNING h.id, h.id <> $1`,
			snapshot.ShareID, owner.OrganizationID, owner.UserID, thread.ID, thread.Title, leaf.ID).Scan(&id, &updated)
		if err != nil {
			return err
		}
		if share, err = findShare(ctx, tx, owner.OrganizationID, id); err != nil {
			return err
		}
		action := org.ActionShare
		if updated {
			action = org.ActionShareUpdate
		}
		return audit(ctx, tx, shareEvent(by, action, owner.OrganizationID, share))
	})
	return share, err
}

// upToSQL reads the ids of the branch that ends with the message $6, in order.
const upToSQL = `
	WITH RECURSIVE branch AS (
	    SELECT m.id, m.parent_id, m.seq FROM messages m WHERE m.id = $6
	    UNION ALL
	    SELECT m.id, m.parent_id, m.seq
	    FROM branch b
	    CROSS JOIN LATERAL (SELECT * FROM messages WHERE id = b.parent_id ` + fence + `) m
	)
	SELECT b.id FROM branch b ORDER BY b.seq`

// shareEvent returns an audit entry about a share.
func shareEvent(by org.AuditActor, action org.Action, organizationID uuid.UUID, share chat.Share) org.Event {
	event := org.Event{
		OrganizationID: &organizationID, By: by, Action: action, TargetKind: org.TargetShare,
		TargetID:    share.ID.String(),
		TargetLabel: share.Title,
	}
	if by.ID == nil || *by.ID != share.UserID {
		event.Details = []org.Change{{Field: "owner", Before: share.OwnerEmail}}
	}
	return event
}

func (db *DB) SharedMessages(
	ctx context.Context, reader identity.Owner, shareID uuid.UUID, offset, limit int,
) ([]chat.Message, error) {
	rows, err := queryRows[messageRow](ctx, db.pool, `
		SELECT m.role, m.content, coalesce(m.finish_reason, '') AS finish_reason, m.citations,
		       (SELECT count(*) FROM message_pictures p WHERE p.message_id = m.id) AS picture_count, m.created_at,
		       (SELECT t.cites_project FROM threads t WHERE t.id = h.thread_id) AS cites_project
		FROM shares h
		CROSS JOIN LATERAL unnest(h.message_ids) WITH ORDINALITY AS said (id, place)
		JOIN messages m ON m.id = said.id AND m.thread_id = h.thread_id
		WHERE h.organization_id = $1 AND h.id = $2 AND `+isLinked+`
		ORDER BY said.place
		OFFSET $3 LIMIT $4`, reader.OrganizationID, shareID, offset, limit)
	if err == nil && len(rows) == 0 {
		_, err = findShare(ctx, db.pool, reader.OrganizationID, shareID)
	}
	if err != nil {
		return nil, err
	}
	return readableMessages(ctx, db.pool, reader, rows)
}

func (db *DB) EndShare(
	ctx context.Context, organizationID, shareID uuid.UUID, userID *uuid.UUID, by org.AuditActor,
) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if userID == nil {
			if err := lockForRole(ctx, tx, organizationID, *by.ID, identity.Role.IsAdmin); err != nil {
				return err
			}
		}
		share, err := findShare(ctx, tx, organizationID, shareID)
		if err != nil {
			return err
		}
		if err := execRow(ctx, tx, chat.ErrNoShare, `
			DELETE FROM shares WHERE organization_id = $1 AND id = $2 AND ($3::uuid IS NULL OR user_id = $3)`,
			organizationID, shareID, userID); err != nil {
			return err
		}
		return audit(ctx, tx, shareEvent(by, org.ActionShareEnd, organizationID, share))
	})
}

// endShareOf removes the share of a locked thread, if it has one.
func endShareOf(ctx context.Context, tx pgx.Tx, organizationID, threadID uuid.UUID, by org.AuditActor) error {
	shares, err := queryRows[chat.Share](ctx, tx, selectShare+`
		WHERE h.organization_id = $1 AND h.thread_id = $2
		FOR UPDATE OF h`, organizationID, threadID)
	if err != nil || len(shares) == 0 {
		return err
	}
	if err := exec(ctx, tx, `DELETE FROM shares WHERE id = $1`, shares[0].ID); err != nil {
		return err
	}
	return audit(ctx, tx, shareEvent(by, org.ActionShareEnd, organizationID, shares[0]))
}

func (db *DB) CopyShare(
	ctx context.Context, owner identity.Owner, shareID uuid.UUID, t chat.NewThread,
) (copied chat.Thread, created bool, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) error {
		// The lock on the share prevents changes and deletion of the share and, through its foreign key, deletion of
		// the thread.
		if err := exec(ctx, tx, `
			SELECT 1 FROM shares WHERE organization_id = $1 AND id = $2 FOR SHARE`, owner.OrganizationID,
			shareID); err != nil {
			return err
		}
		share, err := findShare(ctx, tx, owner.OrganizationID, shareID)
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `
			INSERT INTO threads (id, organization_id, user_id, skill_id, request_id, title)
			SELECT $3, $1, $2, s.id, $5, $6
			FROM skills s
			WHERE s.id = $4 AND `+mayUse+` AND s.retired_at IS NULL AND `+isShown+`
			ON CONFLICT (user_id, request_id) DO NOTHING`,
			owner.OrganizationID, owner.UserID, t.ID, share.SkillID, t.RequestID, share.Title)
		if err != nil {
			return err
		}
		if created = tag.RowsAffected() > 0; created {
			if err := copyMessages(ctx, tx, owner.OrganizationID, shareID, t.ID); err != nil {
				return err
			}
		}
		copied, err = findRow[chat.Thread](ctx, tx, errNoSkill,
			addedThreadSQL, owner.OrganizationID, owner.UserID, t.ID, t.RequestID)
		if err == nil && copied.SkillID != share.SkillID {
			return chat.ErrRequestConflict
		}
		return err
	})
	return copied, created && err == nil, err
}

// copyMessages copies the messages of a share into a thread. Prompts, reasoning, quotes from documents, usage and
// feedback are not copied.
func copyMessages(ctx context.Context, tx pgx.Tx, organizationID, shareID, threadID uuid.UUID) error {
	said, err := queryValues[uuid.UUID](ctx, tx, `
		SELECT unnest(h.message_ids) FROM shares h WHERE h.organization_id = $1 AND h.id = $2`, organizationID, shareID)
	if err != nil || len(said) == 0 {
		return err
	}
	copies, parents := make([]uuid.UUID, len(said)), make([]*uuid.UUID, len(said))
	for i := range said {
		if copies[i] = uuidv7.New(); i > 0 {
			parents[i] = &copies[i-1]
		}
	}
	return send(ctx, tx, func(batch *pgx.Batch) {
		batch.Queue(`
		INSERT INTO messages (id, organization_id, thread_id, role, content, status, finish_reason,
		    error_code, error_detail,
		                      error_retryable, model, parent_id, completed_at)
		SELECT said.copy, $1, $2, m.role, m.content, m.status, m.finish_reason, m.error_code, m.error_detail,
		       m.error_retryable, m.model, said.parent, now()
		FROM unnest($3::uuid[], $4::uuid[], $5::uuid[]) WITH ORDINALITY AS said (id, copy, parent, place)
		JOIN messages m ON m.id = said.id
		ORDER BY said.place`, organizationID, threadID, said, copies, parents)
		batch.Queue(`UPDATE threads SET leaf_id = $3 WHERE organization_id = $1 AND id = $2`, organizationID, threadID,
			copies[len(copies)-1])
	})
}
