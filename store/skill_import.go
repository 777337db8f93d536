package store

import (
	"cmp"
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// errDryRun rolls back a dry run.
var errDryRun = errors.New("store: only tried")

// ImportSkills saves an operator's skills for one organization, or for all if it is nil, and returns the result for
// each skill. Their keys identify them within that scope, so repeating an import changes nothing. The changes are
// logged as one event. With dry, nothing is saved. Errors: org.ErrNoOrganization if the organization does not exist,
// fault.Conflict for a name that another skill has, fault.NotFound for a key to retire that no skill has.
func (db *DB) ImportSkills(ctx context.Context, organizationID *uuid.UUID, in skill.Import, by org.AuditActor,
	dry bool,
) ([]skill.ImportResult, error) {
	var outcome []skill.ImportResult
	err := db.tx(ctx, func(tx pgx.Tx) error {
		outcome = nil // An earlier attempt may have set it.
		if err := exec(ctx, tx, skillsLock); err != nil {
			return err
		}
		if organizationID != nil {
			if err := lockOrganization(ctx, tx, *organizationID); err != nil {
				return err
			}
		}
		categories, err := importCategories(ctx, tx, organizationID, in.Categories)
		if err != nil {
			return err
		}
		for _, s := range in.Skills {
			done, err := importSkill(ctx, tx, organizationID, categories, s)
			if err != nil {
				return err
			}
			outcome = append(outcome, done)
		}
		for _, key := range in.Retire {
			done, err := retireSkill(ctx, tx, organizationID, key)
			if err != nil {
				return err
			}
			outcome = append(outcome, done)
		}
		if err := checkSkillNames(ctx, tx, organizationID, in.Skills); err != nil {
			return err
		}
		if dry {
			return errDryRun
		}
		return auditImport(ctx, tx, organizationID, outcome, by)
	})
	if errors.Is(err, errDryRun) {
		err = nil
	}
	return outcome, err
}

// importCategories saves categories and returns their ids by key.
func importCategories(ctx context.Context, tx pgx.Tx, organizationID *uuid.UUID,
	list []skill.ImportedCategory,
) (map[string]uuid.UUID, error) {
	ids := make(map[string]uuid.UUID, len(list))
	for _, c := range list {
		id := c.ID
		err := tx.QueryRow(ctx, `
			SELECT id FROM categories WHERE organization_id IS NOT DISTINCT FROM $1 AND key = $2`, organizationID,
			c.Key).Scan(&id)
		if err != nil && !isNoRows(err) {
			return nil, err
		}
		if err := exec(ctx, tx, saveCategory, id, c.Name, c.Position, organizationID, c.Key); err != nil {
			return nil, err
		}
		ids[c.Key] = id
	}
	return ids, nil
}

// importSkill saves one skill.
func importSkill(
	ctx context.Context, tx pgx.Tx, organizationID *uuid.UUID, categories map[string]uuid.UUID, s skill.ImportedSkill,
) (skill.ImportResult, error) {
	s.OrganizationID = organizationID
	if s.CategoryKey != "" {
		s.CategoryID = categories[s.CategoryKey]
	}
	done := skill.ImportResult{Key: s.Key, Name: s.Name, Change: skill.ImportChanged}
	err := tx.QueryRow(ctx, `
		SELECT id FROM skills WHERE organization_id IS NOT DISTINCT FROM $1 AND key = $2`, organizationID,
		s.Key).Scan(&s.ID)
	if err != nil && !isNoRows(err) {
		return done, err
	}
	var added bool
	err = tx.QueryRow(ctx, saveSkill, skillValues(s.Skill, s.Key)...).Scan(&added)
	switch {
	case isNoRows(err):
		done.Change, err = skill.ImportUnchanged, nil
	case added:
		done.Change = skill.ImportAdded
	}
	return done, err
}

// retireSkill retires a skill. Its threads are kept.
func retireSkill(ctx context.Context, tx pgx.Tx, organizationID *uuid.UUID, key string) (skill.ImportResult, error) {
	done := skill.ImportResult{Key: key, Change: skill.ImportRetired}
	var before bool
	err := tx.QueryRow(ctx, `
		SELECT name, retired_at IS NOT NULL FROM skills
		WHERE organization_id IS NOT DISTINCT FROM $1 AND key = $2`, organizationID, key).Scan(&done.Name, &before)
	switch {
	case isNoRows(err):
		return done, fault.Errorf(fault.NotFound, "キー %s のスキルはありません。", key)
	case err != nil:
		return done, err
	case before:
		done.Change = skill.ImportUnchanged
		return done, nil
	}
	_, err = tx.Exec(ctx, `
		UPDATE skills SET retired_at = now(), updated_at = now()
		WHERE organization_id IS NOT DISTINCT FROM $1 AND key = $2`, organizationID, key)
	return done, err
}

// checkSkillNames refuses names that would appear twice in one list. An organization sees its own skills and those for
// all organizations.
func checkSkillNames(ctx context.Context, tx pgx.Tx, organizationID *uuid.UUID, list []skill.ImportedSkill) error {
	names := convert(list, func(s skill.ImportedSkill) string { return s.Name })
	twice, err := queryValue[string](ctx, tx, `
		SELECT name FROM skills
		WHERE (organization_id IS NULL OR $1::uuid IS NULL OR organization_id = $1)
		    AND owner_id IS NULL AND retired_at IS NULL AND name = ANY ($2)
		GROUP BY name
		HAVING count(*) > 1
		ORDER BY name
		LIMIT 1`, organizationID, names)
	if err == nil {
		return fault.Errorf(fault.Conflict, "「%s」という名前のスキルはすでにあります。", twice)
	}
	return ifNoRows(err, nil)
}

// auditImport logs the changes of an import, if any.
func auditImport(ctx context.Context, tx pgx.Tx, organizationID *uuid.UUID, outcome []skill.ImportResult,
	by org.AuditActor,
) error {
	event := org.Event{
		OrganizationID: organizationID, By: by, Action: org.ActionSkillImport,
		TargetKind: org.TargetSkill,
	}
	for _, done := range outcome {
		if done.Change == skill.ImportUnchanged {
			continue
		}
		event.Details = append(event.Details, org.Change{Field: "skill_" + string(done.Change), After: done.Name})
		event.TargetLabel = cmp.Or(event.TargetLabel, done.Name)
	}
	if len(event.Details) == 0 {
		return nil
	}
	return audit(ctx, tx, event)
}
