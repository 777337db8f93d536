package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// MoveThread implements chat.Store. Only the owner may move a thread, not a manager, because it changes who reads it.
func (db *DB) MoveThread(
	ctx context.Context, owner identity.Owner, id uuid.UUID, to chat.ThreadPlace, by org.AuditActor,
) (before, after chat.Thread, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) (err error) {
		if err := lockThread(ctx, tx, owner, id); err != nil {
			return err
		}
		if before, err = findThread(ctx, tx, owner, id); err != nil {
			return err
		}
		switch {
		case before.UserID != owner.UserID:
			return chat.ErrMoveNotOwner
		case before.ExpiresAt != nil && to.ProjectID != nil:
			return chat.ErrMoveTemporary
		}
		if to.ProjectID != nil {
			if err := checkProject(ctx, tx, owner, *to.ProjectID); err != nil {
				return err
			}
		}
		if err := execRow(ctx, tx, chat.ErrThreadBusy, `
			UPDATE threads t
			SET project_id = $3, visibility = CASE WHEN $4 THEN 'project' ELSE 'private' END,
			    updated_at = clock_timestamp()
			WHERE t.organization_id = $1 AND t.id = $2
			  AND NOT EXISTS (SELECT FROM generations g WHERE g.thread_id = $2 AND g.ended_at IS NULL)
			  AND NOT EXISTS (SELECT FROM waiting_questions w WHERE w.thread_id = $2)`,
			owner.OrganizationID, id, to.ProjectID, to.Shared); err != nil {
			return err
		}
		if err := changeReaders(ctx, tx, owner, before, to); err != nil {
			return err
		}
		if to.Shared {
			if err := endShareOf(ctx, tx, owner.OrganizationID, id, by); err != nil {
				return err
			}
		}
		after, err = findThread(ctx, tx, owner, id)
		return err
	})
	return before, after, err
}

// changeReaders sets the owner as the author of their questions when a thread becomes shared. If the thread was shared
// before, questions of removed members also have no author; a question is the owner's if the owner requested its first
// answer. When a shared thread becomes private or moves to another project, changeReaders removes the data sources of
// other members.
func changeReaders(
	ctx context.Context, tx pgx.Tx, owner identity.Owner, before chat.Thread, to chat.ThreadPlace,
) error {
	switch {
	case to.Shared && !before.Shared:
		return exec(ctx, tx, `
			UPDATE messages m SET author_id = $2
			WHERE m.organization_id = $1 AND m.thread_id = $3 AND m.role = 'user' AND m.author_id IS NULL
			  AND NOT EXISTS (
			      SELECT FROM generations g
			      WHERE g.user_id <> $2
			        AND g.message_id = (SELECT a.id FROM messages a WHERE a.parent_id = m.id ORDER BY a.seq LIMIT 1))`,
			owner.OrganizationID, owner.UserID, before.ID)
	case before.Shared && (!to.Shared || before.Project.ID != *to.ProjectID):
		return exec(ctx, tx, `
			DELETE FROM thread_data_sources a
			USING data_sources d
			WHERE a.organization_id = $1 AND a.thread_id = $3 AND d.id = a.data_source_id
			  AND d.user_id IS DISTINCT FROM $2`, owner.OrganizationID, owner.UserID, before.ID)
	}
	return nil
}

// Audience implements chat.Store. Its files are those that changeReaders keeps.
func (db *DB) Audience(
	ctx context.Context, owner identity.Owner, threadID, projectID uuid.UUID,
) (chat.Audience, error) {
	if err := checkProject(ctx, db.pool, owner, projectID); err != nil {
		return chat.Audience{}, err
	}
	return findRow[chat.Audience](ctx, db.pool, chat.ErrNoThread, `
		SELECT (SELECT count(*)
		        FROM users u
		        WHERE u.organization_id = $1 AND u.state = 'active' AND u.id IN (
		            SELECT m.user_id
		            FROM project_grants g, granted_members(g.organization_id, g.user_id, g.group_id) m
		            WHERE g.organization_id = $1 AND g.project_id = $4)) AS members,
		       ARRAY (SELECT d.filename
		              FROM thread_data_sources a
		              JOIN data_sources d ON d.id = a.data_source_id
		              WHERE a.thread_id = t.id
		                AND (d.user_id = $2 OR t.visibility = 'private' OR t.project_id = $4)
		              ORDER BY a.attached_at, d.id) AS files,
		       (SELECT count(*) FROM messages m WHERE m.thread_id = t.id AND m.role = 'user') AS questions
		FROM threads t
		WHERE t.organization_id = $1 AND t.id = $3 AND t.user_id = $2 AND `+mayRead,
		owner.OrganizationID, owner.UserID, threadID, projectID)
}
