package store

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// EditOrganization changes an organization's name and its mail domains (lower case) on behalf of an operator, logs the
// change, and returns the organization. Nil leaves a value unchanged. Errors: org.ErrNoOrganization, and fault.Conflict
// if another organization has one of the domains.
func (db *DB) EditOrganization(ctx context.Context, id uuid.UUID, name *string, domains []string,
	by org.AuditActor,
) (org.Organization, error) {
	var after org.Organization
	err := db.tx(ctx, func(tx pgx.Tx) error {
		before, err := findRow[org.Organization](ctx, tx, org.ErrNoOrganization,
			selectOrganization+` WHERE id = $1 FOR NO KEY UPDATE`, id)
		if err != nil {
			return err
		}
		after = before
		var changes []org.Change
		if name != nil && *name != before.Name {
			after.Name = *name
			changes = append(changes, org.Change{Field: "name", Before: before.Name, After: after.Name})
		}
		if was, is := strings.Join(before.MailDomains, " "), strings.Join(domains, " "); domains != nil && was != is {
			after.MailDomains = domains
			changes = append(changes, org.Change{Field: "mail_domains", Before: was, After: is})
			if err := claimDomains(ctx, tx, after); err != nil {
				return err
			}
		}
		if len(changes) == 0 {
			return nil
		}
		if err := exec(ctx, tx, `UPDATE organizations SET name = $2, mail_domains = $3 WHERE id = $1`,
			id, after.Name, orEmpty(after.MailDomains)); err != nil {
			return err
		}
		return audit(ctx, tx, org.Event{
			OrganizationID: &id, By: by, Action: org.ActionOrganizationEdit, TargetKind: org.TargetOrganization,
			TargetID: id.String(), TargetLabel: after.Name, Details: changes,
		})
	})
	return after, err
}

// claimDomains refuses mail domains of another organization, because the domain of an address determines how its owner
// signs in.
func claimDomains(ctx context.Context, tx pgx.Tx, o org.Organization) error {
	if err := exec(ctx, tx, `SELECT pg_advisory_xact_lock(hashtext('tsumugi mail domains'))`); err != nil {
		return err
	}
	owner, err := queryValue[string](ctx, tx, `
		SELECT name FROM organizations WHERE mail_domains && $2 AND id <> $1 ORDER BY created_at LIMIT 1`,
		o.ID, orEmpty(o.MailDomains))
	if err == nil {
		return fault.Errorf(fault.Conflict, "メールドメインは「%s」で使われています。", owner)
	}
	return ifNoRows(err, nil)
}

// Announce adds a notice on behalf of an operator, and logs it. The errors are those of PublishNotification.
func (db *DB) Announce(ctx context.Context, n org.Notification, by org.AuditActor) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := insertNotification(ctx, tx, n); err != nil {
			return err
		}
		return audit(ctx, tx, org.Event{
			OrganizationID: n.OrganizationID, By: by, Action: org.ActionPublish, TargetKind: org.TargetNotification,
			TargetID: n.ID.String(), TargetLabel: n.Title,
			Details: []org.Change{
				{Field: "level", After: string(n.Level)},
				{Field: "audience", After: string(n.Audience)},
			},
		})
	})
}

// AuditedPool is a user pool's database on behalf of an operator. It logs the changes.
type AuditedPool struct {
	*DB
	By org.AuditActor
}

func (o AuditedPool) RotatePoolKey(ctx context.Context, next pool.Key, retireAt time.Time) error {
	return o.tx(ctx, func(tx pgx.Tx) error {
		if err := o.rotatePoolKey(ctx, tx, next, retireAt); err != nil {
			return err
		}
		return audit(ctx, tx, org.Event{
			By: o.By, Action: org.ActionKeysRotate, TargetKind: org.TargetKey, TargetID: next.ID, TargetLabel: next.ID,
			Details: []org.Change{
				{Field: "active_from", After: next.ActiveFrom.Format(time.RFC3339)},
				{Field: "old_until", After: retireAt.Format(time.RFC3339)},
			},
		})
	})
}
