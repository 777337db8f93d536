package store

import (
	"context"
	"reflect"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

var _ chat.ModelStore = (*DB)(nil)

// ModelSettings implements chat.ModelStore.
func (db *DB) ModelSettings(ctx context.Context, organizationID uuid.UUID) (chat.ModelSettings, error) {
	row, err := queryRow[struct{ Models chat.ModelSettings }](ctx, db.pool,
		`SELECT models FROM organizations WHERE id = $1`, organizationID)
	if isNoRows(err) {
		return chat.ModelSettings{}, org.ErrNoOrganization
	}
	return row.Models, translate(err)
}

// SetModelSettings implements chat.ModelStore.
func (db *DB) SetModelSettings(
	ctx context.Context, actor identity.Actor, settings chat.ModelSettings,
	check func(*org.Member, chat.ModelSettings) ([]org.Change, error),
) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockOrganization(ctx, tx, actor.OrganizationID); err != nil {
			return err
		}
		member, err := findActor(ctx, tx, actor.OrganizationID, actor.ID)
		if err != nil {
			return err
		}
		before, err := queryRow[struct{ Models chat.ModelSettings }](ctx, tx,
			`SELECT models FROM organizations WHERE id = $1`, actor.OrganizationID)
		if err != nil {
			return err
		}
		changes, err := check(member, before.Models)
		if err != nil || reflect.DeepEqual(before.Models, settings) {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE organizations SET models = $2 WHERE id = $1`, actor.OrganizationID,
			settings); err != nil {
			return err
		}
		return audit(ctx, tx, org.Event{
			OrganizationID: &actor.OrganizationID, By: org.AuditActorOf(actor), Action: org.ActionModels,
			TargetKind: org.TargetOrganization, TargetID: actor.OrganizationID.String(),
			TargetLabel: actor.OrganizationName, Details: changes,
		})
	})
}
