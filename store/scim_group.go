package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/scim"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// selectSCIMGroup begins the queries for groups of SCIM.
const selectSCIMGroup = `
	SELECT g.id, g.name, coalesce(g.external_id, '') AS external_id, g.created_at
	FROM member_groups g
	WHERE g.organization_id = $1 AND g.source = 'scim'`

func (db *DB) ListSCIMGroups(ctx context.Context, organizationID uuid.UUID, match *scim.Match) ([]scim.Group, error) {
	if match == nil {
		return queryRows[scim.Group](ctx, db.pool, selectSCIMGroup+` ORDER BY g.id`, organizationID)
	}
	return queryRows[scim.Group](ctx, db.pool, selectSCIMGroup+`
		AND (g.id = ANY ($2) OR g.id IN (SELECT k.group_id FROM group_members k WHERE k.user_id = ANY ($3)))
		ORDER BY g.id`, organizationID, orEmpty(match.IDs), orEmpty(match.Members))
}

func (db *DB) SetSCIMMembers(ctx context.Context, groups []scim.Group) error {
	return setSCIMMembers(ctx, db.pool, groups)
}

func (db *DB) FindSCIMGroup(ctx context.Context, organizationID, id uuid.UUID) (scim.Group, error) {
	return findSCIMGroup(ctx, db.pool, organizationID, id)
}

func findSCIMGroup(ctx context.Context, q querier, organizationID, id uuid.UUID) (scim.Group, error) {
	group, err := findRow[scim.Group](ctx, q, org.ErrNoGroup, selectSCIMGroup+` AND g.id = $2`, organizationID, id)
	if err != nil {
		return group, err
	}
	groups := []scim.Group{group}
	err = setSCIMMembers(ctx, q, groups)
	return groups[0], err
}

// setSCIMMembers sets the members of groups.
func setSCIMMembers(ctx context.Context, q querier, groups []scim.Group) error {
	rows, err := queryRows[struct {
		GroupID uuid.UUID
		ID      uuid.UUID
		Name    string
	}](ctx, q, `
		SELECT k.group_id, u.id, u.name
		FROM group_members k JOIN users u ON u.id = k.user_id
		WHERE k.group_id = ANY ($1)
		ORDER BY u.id`, convert(groups, func(g scim.Group) uuid.UUID { return g.ID }))
	members := make(map[uuid.UUID][]scim.Member, len(groups))
	for _, row := range rows {
		members[row.GroupID] = append(members[row.GroupID], scim.Member{ID: row.ID, Name: row.Name})
	}
	for i := range groups {
		groups[i].Members = members[groups[i].ID]
	}
	return err
}

func (db *DB) AddSCIMGroup(ctx context.Context, client scim.Client, g scim.Group) (scim.Group, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (none scim.Group, _ error) {
		if err := lockOrganization(ctx, tx, client.OrganizationID); err != nil {
			return none, err
		}
		if err := checkGroups(ctx, tx, client.OrganizationID); err != nil {
			return none, err
		}
		g.ID = uuidv7.New()
		if err := saveSCIMGroup(ctx, tx, `
			INSERT INTO member_groups (organization_id, id, name, source, external_id, request_id, request_hash)
			VALUES ($1, $2, $3, 'scim', nullif($4, ''), $2, '')`, client, g); err != nil {
			return none, err
		}
		added := org.Group{ID: g.ID, Name: g.Name, Source: org.GroupSCIM}
		if err := auditGroup(ctx, tx, client.OrganizationID, client.By(), org.ActionGroupCreate, added,
			groupChanges(org.Group{}, added)); err != nil {
			return none, err
		}
		return setSCIMGroupMembers(ctx, tx, client, added, scim.Group{}, g)
	})
}

func (db *DB) ChangeSCIMGroup(ctx context.Context, client scim.Client, id uuid.UUID,
	decide func(scim.Group) (scim.Group, error),
) (scim.Group, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (none scim.Group, _ error) {
		before, group, err := lockSCIMGroup(ctx, tx, client, id)
		if err != nil {
			return none, err
		}
		after, err := decide(before)
		if err != nil {
			return none, err
		}
		if after.Name != before.Name || after.ExternalID != before.ExternalID {
			if err := saveSCIMGroup(ctx, tx, `
				UPDATE member_groups SET name = $3, external_id = nullif($4, '') WHERE organization_id = $1 AND id = $2`,
				client, after); err != nil {
				return none, err
			}
			group.Name = after.Name
			if err := auditGroup(ctx, tx, client.OrganizationID, client.By(), org.ActionGroupEdit, group, changed([]org.Change{
				{Field: "name", Before: before.Name, After: after.Name},
				{Field: "external_id", Before: before.ExternalID, After: after.ExternalID},
			})); err != nil {
				return none, err
			}
		}
		return setSCIMGroupMembers(ctx, tx, client, group, before, after)
	})
}

// lockSCIMGroup locks the organization, and returns a group of SCIM in both forms.
func lockSCIMGroup(ctx context.Context, tx pgx.Tx, client scim.Client, id uuid.UUID) (
	g scim.Group, group org.Group, err error,
) {
	if err = lockOrganization(ctx, tx, client.OrganizationID); err != nil {
		return g, group, err
	}
	if g, err = findSCIMGroup(ctx, tx, client.OrganizationID, id); err != nil {
		return g, group, err
	}
	group, err = findGroup(ctx, tx, client.OrganizationID, id)
	return g, group, err
}

// saveSCIMGroup executes a statement that stores a group. Its parameters are the organization, the id, the name and the
// external id.
func saveSCIMGroup(ctx context.Context, tx pgx.Tx, sql string, client scim.Client, g scim.Group) error {
	err := exec(ctx, tx, sql, client.OrganizationID, g.ID, g.Name, g.ExternalID)
	switch {
	case violates(err, "member_groups_name"):
		return fault.Wrap(err, scim.Uniqueness, "「%s」という名前のグループはすでにあります。アプリのグループと同じ名前は使えません。", g.Name)
	case violates(err, "member_groups_external"):
		return fault.Wrap(err, scim.Uniqueness, "externalId %q は、すでに別のグループが使用しています。", g.ExternalID)
	}
	return err
}

// setSCIMGroupMembers changes the members of a group to those of after, and returns the group.
func setSCIMGroupMembers(ctx context.Context, tx pgx.Tx, client scim.Client, group org.Group, before, after scim.Group) (
	none scim.Group, _ error,
) {
	memberID := func(m scim.Member) uuid.UUID { return m.ID }
	had, has := convert(before.Members, memberID), convert(after.Members, memberID)
	add, remove := without(has, had), without(had, has)
	if err := checkSCIMMembers(ctx, tx, client, add); err != nil {
		return none, err
	}
	if _, err := moveMembers(ctx, tx, client.OrganizationID, client.By(), group, add, remove); err != nil {
		return none, err
	}
	return findSCIMGroup(ctx, tx, client.OrganizationID, group.ID)
}

// checkSCIMMembers refuses ids that no user has. It locks the members, so that none is removed meanwhile.
func checkSCIMMembers(ctx context.Context, tx pgx.Tx, client scim.Client, ids []uuid.UUID) error {
	if len(ids) == 0 {
		return nil
	}
	found, err := queryValues[uuid.UUID](ctx, tx, `
		SELECT u.id`+fromSCIMUsers+` AND u.id = ANY ($2) ORDER BY u.id FOR KEY SHARE OF u`, client.OrganizationID, ids)
	if err != nil || len(found) == len(ids) {
		return err
	}
	return fault.Errorf(scim.InvalidValue, "members に、この組織にいない利用者 %s があります。", without(ids, found)[0])
}

// without returns the ids that are not among others.
func without(ids, others []uuid.UUID) (rest []uuid.UUID) {
	known := make(map[uuid.UUID]bool, len(others))
	for _, id := range others {
		known[id] = true
	}
	for _, id := range ids {
		if !known[id] {
			rest = append(rest, id)
		}
	}
	return rest
}

func (db *DB) DeleteSCIMGroup(ctx context.Context, client scim.Client, id uuid.UUID, check func(scim.Group) error) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		g, group, err := lockSCIMGroup(ctx, tx, client, id)
		if err != nil {
			return err
		}
		if err := check(g); err != nil {
			return err
		}
		return removeGroup(ctx, tx, client.OrganizationID, client.By(), group)
	})
}
