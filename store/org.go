package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

var _ org.Store = (*DB)(nil)

// CreateOrganization adds an organization without members. If the id is taken, the error has the code fault.Conflict.
func (db *DB) CreateOrganization(ctx context.Context, o org.Organization) error {
	return insertOrganization(ctx, db.pool, o)
}

// CreateOrganizationWithMembers adds an organization with its first members in one transaction: an organization without
// members would block a later one of the same name. The errors are those of CreateOrganization and CreateUser.
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

func insertOrganization(ctx context.Context, e executor, o org.Organization) error {
	_, err := e.Exec(ctx, `
		INSERT INTO organizations (id, name, auth_type, mail_domains)
		VALUES ($1, $2, $3, $4)`,
		o.ID, o.Name, o.AuthType, orEmpty(o.MailDomains))
	switch {
	case hasCode(err, codeUnique):
		return fault.Wrap(err, fault.Conflict, "この組織はすでに登録されています。")
	case hasCode(err, codeCheck):
		return fault.Wrap(err, fault.Invalid, "組織の内容が正しくありません。")
	}
	return translate(err)
}

// CountUsers returns the number of users of all organizations.
func (db *DB) CountUsers(ctx context.Context) (int, error) {
	var n int
	err := db.pool.QueryRow(ctx, `SELECT count(*) FROM users`).Scan(&n)
	return n, translate(err)
}

// visibleNotifications are the published notices n for the organization $1 and its user $2.
const visibleNotifications = `
		(n.organization_id IS NULL OR n.organization_id = $1) AND n.published_at <= now()
		AND (n.audience = 'all'
		     OR EXISTS (SELECT FROM users u
		                WHERE u.id = $2 AND u.organization_id = $1
		                  AND u.role IN ('organization-admin', 'organization-super-admin')))`

// ListNotifications implements org.Store.
func (db *DB) ListNotifications(ctx context.Context, organizationID, userID uuid.UUID, offset,
	limit int,
) ([]org.Notification, error) {
	list, err := queryRows[org.Notification](ctx, db.pool, `
		SELECT n.id, n.organization_id, n.title, n.body, n.url, n.level, n.audience, n.published_at,
		       EXISTS (SELECT FROM notification_reads r
		               WHERE r.notification_id = n.id AND r.user_id = $2 AND r.organization_id = $1) AS read
		FROM notifications n
		WHERE `+visibleNotifications+`
		ORDER BY n.published_at DESC, n.id DESC
		OFFSET $3 LIMIT $4`,
		organizationID, userID, offset, limit)
	return list, translate(err)
}

// ReadNotifications implements org.Store. The rows are added in the order of their ids, so that two calls for the same
// user cannot deadlock.
func (db *DB) ReadNotifications(ctx context.Context, organizationID, userID uuid.UUID, ids []uuid.UUID) error {
	_, err := db.pool.Exec(ctx, `
		INSERT INTO notification_reads (organization_id, user_id, notification_id)
		SELECT $1, $2, n.id
		FROM notifications n
		WHERE n.id = ANY ($3) AND `+visibleNotifications+`
		ORDER BY n.id
		ON CONFLICT (user_id, notification_id) DO NOTHING`,
		organizationID, userID, orEmpty(ids))
	return translate(err)
}

// PublishNotification adds a notice without an actor. Without a time it is published now. If the organization does not
// exist, the error has the code fault.NotFound.
func (db *DB) PublishNotification(ctx context.Context, n org.Notification) error {
	return insertNotification(ctx, db.pool, n)
}

func insertNotification(ctx context.Context, e executor, n org.Notification) error {
	_, err := e.Exec(ctx, `
		INSERT INTO notifications (id, organization_id, title, body, url, level, audience, published_at)
		VALUES ($1, $2, $3, $4, $5, $6, coalesce(nullif($7, ''), 'all'), coalesce($8, now()))`,
		n.ID, n.OrganizationID, n.Title, n.Body, n.URL, n.Level, n.Audience, orNull(n.PublishedAt))
	switch {
	case hasCode(err, codeForeignKey):
		return fault.Wrap(err, fault.NotFound, "組織が見つかりません。")
	case hasCode(err, codeUnique):
		return fault.Wrap(err, fault.Conflict, "このお知らせはすでに公開されています。")
	case hasCode(err, codeCheck):
		return fault.Wrap(err, fault.Invalid, "お知らせの内容が正しくありません。")
	}
	return translate(err)
}

// FindNotification implements org.Store.
func (db *DB) FindNotification(ctx context.Context, id uuid.UUID) (org.Notification, error) {
	n, err := queryRow[org.Notification](ctx, db.pool, `
		SELECT n.id, n.organization_id, n.title, n.body, n.url, n.level, n.audience, n.published_at, false AS read
		FROM notifications n
		WHERE n.id = $1`, id)
	return n, translate(err)
}

// UpcomingNotifications implements org.Store.
func (db *DB) UpcomingNotifications(ctx context.Context) (map[uuid.UUID]time.Time, error) {
	type row struct {
		ID          uuid.UUID
		PublishedAt time.Time
	}
	rows, err := queryRows[row](ctx, db.pool, `SELECT id, published_at FROM notifications WHERE published_at > now()`)
	if err != nil {
		return nil, translate(err)
	}
	upcoming := make(map[uuid.UUID]time.Time, len(rows))
	for _, r := range rows {
		upcoming[r.ID] = r.PublishedAt
	}
	return upcoming, nil
}
