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

// notificationColumns are the columns of a notice n, without Read.
const notificationColumns = `n.id, n.organization_id, n.user_id, n.title, n.body, n.url, n.level, n.audience, n.published_at,
		n.ends_at, n.request_id IS NOT NULL AS own`

// visibleNotifications selects the notices n for the organization $1 and its user $2 that are published and have not
// ended.
const visibleNotifications = `
		(n.organization_id IS NULL OR n.organization_id = $1) AND (n.user_id IS NULL OR n.user_id = $2)
		AND n.published_at <= now()
		AND (n.ends_at IS NULL OR n.ends_at > now())
		AND (n.audience = 'all'
		     OR EXISTS (SELECT FROM users u
		                WHERE u.id = $2 AND u.organization_id = $1
		                  AND u.role IN ('organization-admin', 'organization-super-admin')))`

func (db *DB) ListNotifications(ctx context.Context, organizationID, userID uuid.UUID, offset,
	limit int,
) ([]org.Notification, error) {
	return queryRows[org.Notification](ctx, db.pool, `
		SELECT `+notificationColumns+`,
		       EXISTS (SELECT FROM notification_reads r
		               WHERE r.notification_id = n.id AND r.user_id = $2 AND r.organization_id = $1) AS read
		FROM notifications n
		WHERE `+visibleNotifications+`
		ORDER BY n.published_at DESC, n.id DESC
		OFFSET $3 LIMIT $4`,
		organizationID, userID, offset, limit)
}

// ReadNotifications implements org.Store. The rows are added in the order of their ids, so that two calls for the same
// user cannot deadlock.
func (db *DB) ReadNotifications(ctx context.Context, organizationID, userID uuid.UUID, ids []uuid.UUID) error {
	return exec(ctx, db.pool, `
		INSERT INTO notification_reads (organization_id, user_id, notification_id)
		SELECT $1, $2, n.id
		FROM notifications n
		WHERE n.id = ANY ($3) AND `+visibleNotifications+`
		ORDER BY n.id
		ON CONFLICT (user_id, notification_id) DO NOTHING`,
		organizationID, userID, orEmpty(ids))
}

// PublishNotification adds a notice without an actor. A notice without a time is published now. If the organization
// does not exist, the error has the code fault.NotFound.
func (db *DB) PublishNotification(ctx context.Context, n org.Notification) error {
	return insertNotification(ctx, db.pool, n)
}

func insertNotification(ctx context.Context, q querier, n org.Notification) error {
	err := exec(ctx, q, `
		INSERT INTO notifications (id, organization_id, title, body, url, level, audience, published_at, user_id)
		VALUES ($1, $2, $3, $4, $5, $6, coalesce(nullif($7, ''), 'all'), coalesce($8, now()), $9)`,
		n.ID, n.OrganizationID, n.Title, n.Body, n.URL, n.Level, n.Audience, orNull(n.PublishedAt), n.UserID)
	switch {
	case hasCode(err, codeForeignKey):
		return fault.Wrap(err, fault.NotFound, "組織が見つかりません。")
	case hasCode(err, codeUnique):
		return fault.Wrap(err, fault.Conflict, "このお知らせはすでに公開されています。")
	case hasCode(err, codeCheck):
		return fault.Wrap(err, fault.Invalid, "お知らせの内容が正しくありません。")
	}
	return err
}

func (db *DB) FindNotification(ctx context.Context, id uuid.UUID) (org.Notification, error) {
	return queryRow[org.Notification](ctx, db.pool, `
		SELECT `+notificationColumns+`, false AS read
		FROM notifications n
		WHERE n.id = $1`, id)
}

func (db *DB) UpcomingNotifications(ctx context.Context) (map[uuid.UUID]time.Time, error) {
	rows, err := queryRows[struct {
		ID uuid.UUID
		At time.Time
	}](ctx, db.pool, `
		SELECT id, published_at AS at FROM notifications WHERE published_at > now()
		UNION ALL
		SELECT id, ends_at FROM notifications WHERE published_at <= now() AND ends_at > now()`)
	upcoming := make(map[uuid.UUID]time.Time, len(rows))
	for _, r := range rows {
		upcoming[r.ID] = r.At
	}
	return upcoming, err
}

// managedNotices selects the notices n that the administrators of the organization $1 see.
const managedNotices = `
		(n.organization_id = $1 OR n.organization_id IS NULL) AND n.user_id IS NULL
		AND (n.request_id IS NOT NULL OR n.published_at <= now())`

func (db *DB) ListNotices(ctx context.Context, organizationID uuid.UUID, offset, limit int) ([]org.Notification, int,
	error,
) {
	return queryPage[org.Notification](ctx, db, `SELECT count(*) FROM notifications n WHERE `+managedNotices, `
		SELECT `+notificationColumns+`, false AS read
		FROM notifications n
		WHERE `+managedNotices+`
		ORDER BY n.published_at DESC, n.id DESC
		OFFSET $2 LIMIT $3`, []any{organizationID}, offset, limit)
}

func (db *DB) FindNotice(ctx context.Context, organizationID, id uuid.UUID) (org.Notification, error) {
	return findNotice(ctx, db.pool, organizationID, `n.id = $2`, id)
}

// findNotice returns the managed notice that matches a condition on $2.
func findNotice(ctx context.Context, q querier, organizationID uuid.UUID, condition string, arg any) (org.Notification,
	error,
) {
	return findRow[org.Notification](ctx, q, org.ErrNoNotice, `
		SELECT `+notificationColumns+`, false AS read
		FROM notifications n
		WHERE `+managedNotices+` AND `+condition, organizationID, arg)
}

func (db *DB) AddNotice(ctx context.Context, actor identity.Actor, call org.NoticeCall,
	check func(*org.Member, bool) error,
) (added org.Notification, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) error {
		member, err := lockForActor(ctx, tx, actor)
		if err != nil {
			return err
		}
		same, err := queryValue[bool](ctx, tx, `
			SELECT request_hash = $3 FROM notifications WHERE organization_id = $1 AND request_id = $2`,
			actor.OrganizationID, call.RequestID, call.RequestHash[:])
		known := err == nil
		switch {
		case err != nil && !isNoRows(err):
			return err
		case known && !same:
			return org.ErrRequestConflict
		}
		if err := check(member, known); err != nil {
			return err
		}
		if !known {
			if err := insertNotice(ctx, tx, actor, call); err != nil {
				return err
			}
		}
		added, err = findNotice(ctx, tx, actor.OrganizationID, `n.request_id = $2`, call.RequestID)
		return err
	})
	return added, err
}

// insertNotice adds a notice of an administrator, and logs it.
func insertNotice(ctx context.Context, tx pgx.Tx, actor identity.Actor, call org.NoticeCall) error {
	n := call.Notice
	err := exec(ctx, tx, `
		INSERT INTO notifications (id, organization_id, title, body, url, level, audience, published_at, ends_at,
		                           request_id, request_hash)
		VALUES ($1, $2, $3, $4, $5, $6, $7, coalesce($8, now()), $9, $10, $11)`,
		n.ID, actor.OrganizationID, n.Title, n.Body, n.URL, n.Level, n.Audience, orNull(n.PublishedAt), n.EndsAt,
		call.RequestID, call.RequestHash[:])
	if err != nil {
		return err
	}
	return audit(ctx, tx, noticeEvent(actor, n, org.ActionPublish, []org.Change{
		{Field: "level", After: string(n.Level)},
		{Field: "audience", After: string(n.Audience)},
	}))
}

func (db *DB) ChangeNotice(ctx context.Context, actor identity.Actor, id uuid.UUID,
	decide func(*org.Member, org.Notification) (org.NoticeChange, error),
) (notice org.Notification, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) error {
		member, err := lockForActor(ctx, tx, actor)
		if err != nil {
			return err
		}
		if notice, err = findNotice(ctx, tx, actor.OrganizationID, `n.request_id IS NOT NULL AND n.id = $2`,
			id); err != nil {
			return err
		}
		change, err := decide(member, notice)
		if err != nil || len(change.Details) == 0 {
			return err
		}
		if err := storeNotice(ctx, tx, actor.OrganizationID, id, change); err != nil {
			return err
		}
		if !change.Remove {
			notice = change.Notice
		}
		return audit(ctx, tx, noticeEvent(actor, notice, change.Action, change.Details))
	})
	return notice, err
}

// storeNotice changes or deletes a notice of an administrator.
func storeNotice(ctx context.Context, tx pgx.Tx, organizationID, id uuid.UUID, change org.NoticeChange) error {
	if change.Remove {
		return exec(ctx, tx, `DELETE FROM notifications WHERE organization_id = $1 AND id = $2`, organizationID, id)
	}
	n := change.Notice
	return exec(ctx, tx, `
		UPDATE notifications
		SET title = $3, body = $4, url = $5, level = $6, audience = $7, published_at = $8, ends_at = $9
		WHERE organization_id = $1 AND id = $2`,
		organizationID, id, n.Title, n.Body, n.URL, n.Level, n.Audience, n.PublishedAt, n.EndsAt)
}

// noticeEvent returns an audit entry about a notice.
func noticeEvent(actor identity.Actor, n org.Notification, action org.Action, details []org.Change) org.Event {
	return org.Event{
		OrganizationID: &actor.OrganizationID, By: org.AuditActorOf(actor), Action: action,
		TargetKind: org.TargetNotification, TargetID: n.ID.String(), TargetLabel: n.Title, Details: details,
	}
}

// lockForSuper locks the actor's organization. It refuses an actor who is not an active super-admin in their current
// state.
func lockForSuper(ctx context.Context, tx pgx.Tx, actor identity.Actor) error {
	return lockForRole(ctx, tx, actor.OrganizationID, actor.ID, isSuperAdmin)
}

func isSuperAdmin(role identity.Role) bool { return role == identity.RoleOrganizationSuperAdmin }

// lockForRole locks an organization. It refuses a member who is not active with an allowed role in their current state.
func lockForRole(ctx context.Context, tx pgx.Tx, organizationID, userID uuid.UUID,
	allowed func(identity.Role) bool,
) error {
	if err := lockOrganization(ctx, tx, organizationID); err != nil {
		return err
	}
	member, err := findActor(ctx, tx, organizationID, userID)
	if err == nil && (member == nil || !allowed(member.Role) || member.State != identity.StateActive) {
		return org.ErrForbidden
	}
	return err
}

// lockForActor locks the actor's organization. It returns the current state of the actor, nil for a former member.
func lockForActor(ctx context.Context, tx pgx.Tx, actor identity.Actor) (*org.Member, error) {
	if err := lockOrganization(ctx, tx, actor.OrganizationID); err != nil {
		return nil, err
	}
	return findActor(ctx, tx, actor.OrganizationID, actor.ID)
}
