package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/org"
)

// Announce adds a notice on behalf of an operator, and logs it. The errors are those of PublishNotification.
func (db *DB) Announce(ctx context.Context, n org.Notification, by org.Doer) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := insertNotification(ctx, tx, n); err != nil {
			return err
		}
		return audit(ctx, tx, org.Event{
			OrganizationID: n.OrganizationID, By: by, Action: org.ActionPublish, TargetKind: org.TargetNotification,
			TargetID: n.ID.String(), TargetLabel: n.Title,
			Details: []org.Change{{Field: "level", After: string(n.Level)}, {Field: "audience", After: string(n.Audience)}},
		})
	})
}
