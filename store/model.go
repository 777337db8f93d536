package store

import (
	"context"
	"strings"

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
	ctx context.Context, actor identity.Actor, settings chat.ModelSettings, check func(*org.Member) error,
) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockOrganization(ctx, tx, actor.OrganizationID); err != nil {
			return err
		}
		member, err := findActor(ctx, tx, actor.OrganizationID, actor.ID)
		if err != nil {
			return err
		}
		if err := check(member); err != nil {
			return err
		}
		before, err := queryRow[struct{ Models chat.ModelSettings }](ctx, tx,
			`SELECT models FROM organizations WHERE id = $1`, actor.OrganizationID)
		if err != nil {
			return err
		}
		changes := modelChanges(before.Models, settings)
		if len(changes) == 0 {
			return nil
		}
		if _, err := tx.Exec(ctx, `UPDATE organizations SET models = $2 WHERE id = $1`, actor.OrganizationID,
			settings); err != nil {
			return err
		}
		return audit(ctx, tx, org.Event{
			OrganizationID: &actor.OrganizationID, By: org.DoerOf(actor), Action: org.ActionModels,
			TargetKind: org.TargetOrganization, TargetID: actor.OrganizationID.String(),
			TargetLabel: actor.OrganizationName, Details: changes,
		})
	})
}

// modelChanges returns the differences between two settings, those of each model under its id.
func modelChanges(before, after chat.ModelSettings) (changes []org.Change) {
	if before.DefaultID != after.DefaultID {
		changes = append(changes, org.Change{Field: "default_id", Before: before.DefaultID, After: after.DefaultID})
	}
	told := make(map[string]string)
	for _, m := range before.Models {
		told[m.ID] = describeModel(m)
	}
	for _, m := range after.Models {
		if was, is := told[m.ID], describeModel(m); was != is {
			changes = append(changes, org.Change{Field: m.ID, Before: was, After: is})
		}
		delete(told, m.ID)
	}
	for _, m := range before.Models {
		if was := told[m.ID]; was != "" {
			changes = append(changes, org.Change{Field: m.ID, Before: was})
		}
	}
	return changes
}

// describeModel returns a decision as the audit log shows it, "" for none.
func describeModel(m chat.ModelSetting) string {
	var parts []string
	if m.Allowed {
		parts = append(parts, "allowed")
	}
	for _, text := range []string{m.Name, m.Note} {
		if text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, " / ")
}
