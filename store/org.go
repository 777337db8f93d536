package store

import (
	"context"

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
