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
	return modelSettings(ctx, db.pool, organizationID)
}

func modelSettings(ctx context.Context, q querier, organizationID uuid.UUID) (chat.ModelSettings, error) {
	return findValue[chat.ModelSettings](ctx, q, org.ErrNoOrganization, `SELECT models FROM organizations WHERE id = $1`,
		organizationID)
}

// SetModelSettings implements chat.ModelStore.
func (db *DB) SetModelSettings(
	ctx context.Context, actor identity.Actor, settings chat.ModelSettings,
	check func(*org.Member, chat.ModelSettings) ([]org.Change, error),
) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		member, err := lockForActor(ctx, tx, actor)
		if err != nil {
			return err
		}
		before, err := modelSettings(ctx, tx, actor.OrganizationID)
		if err != nil {
			return err
		}
		changes, err := check(member, before)
		if err != nil || reflect.DeepEqual(before, settings) {
			return err
		}
		if err := exec(ctx, tx, `UPDATE organizations SET models = $2 WHERE id = $1`, actor.OrganizationID,
			settings); err != nil {
			return err
		}
		return audit(ctx, tx, organizationEvent(actor, org.ActionModels, changes...))
	})
}
