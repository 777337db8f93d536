package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// maxLoggedMembers is the maximum number of addresses in an entry of the audit log.
const maxLoggedMembers = 50

// selectGroup begins the queries for groups of members.
const selectGroup = `
	SELECT g.id, g.name, g.description, g.source, g.token_limit, g.member_count
	FROM member_groups g
	WHERE g.organization_id = $1`

// searchGroups selects the groups whose name contains $2.
const searchGroups = ` AND ($2 = '' OR position($2 IN lower(normalize(g.name, NFKC))) > 0)`

func (db *DB) ListGroups(ctx context.Context, organizationID uuid.UUID, search string, offset, limit int) (
	[]org.Group, int, error,
) {
	return queryPage[org.Group](ctx, db, `
		SELECT count(*) FROM member_groups g WHERE g.organization_id = $1`+searchGroups,
		selectGroup+searchGroups+` ORDER BY g.name, g.id OFFSET $3 LIMIT $4`,
		[]any{organizationID, normalizeSearch(search)}, offset, limit)
}

func (db *DB) FindGroup(ctx context.Context, organizationID, id uuid.UUID) (org.Group, error) {
	return findGroup(ctx, db.pool, organizationID, id)
}

func findGroup(ctx context.Context, q querier, organizationID, id uuid.UUID) (org.Group, error) {
	return findRow[org.Group](ctx, q, org.ErrNoGroup, selectGroup+` AND g.id = $2`, organizationID, id)
}

func (db *DB) AddGroup(ctx context.Context, actor identity.Actor, call org.GroupCall,
	check func(*org.Member) error,
) (org.Group, error) {
	return changeGroup(ctx, db, actor, check, func(tx pgx.Tx) (org.Group, error) {
		known, err := queryRows[struct {
			ID   uuid.UUID
			Same bool
		}](ctx, tx, `
			SELECT id, request_hash = $3 AS same FROM member_groups WHERE organization_id = $1 AND request_id = $2`,
			actor.OrganizationID, call.RequestID, call.RequestHash[:])
		switch {
		case err != nil:
			return org.Group{}, err
		case len(known) == 1 && known[0].Same:
			return findGroup(ctx, tx, actor.OrganizationID, known[0].ID)
		case len(known) == 1:
			return org.Group{}, org.ErrRequestConflict
		}
		if err := checkGroups(ctx, tx, actor.OrganizationID); err != nil {
			return org.Group{}, err
		}
		g := call.Group
		if err := saveGroup(ctx, tx, g.Name, `
			INSERT INTO member_groups (organization_id, id, name, description, token_limit, request_id, request_hash)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`, actor.OrganizationID, g.ID, g.Name, g.Description, g.TokenLimit,
			call.RequestID, call.RequestHash[:]); err != nil {
			return g, err
		}
		if err := auditGroup(ctx, tx, actor.OrganizationID, org.AuditActorOf(actor), org.ActionGroupCreate, g, groupChanges(org.Group{}, g)); err != nil {
			return g, err
		}
		return findGroup(ctx, tx, actor.OrganizationID, g.ID)
	})
}

// checkGroups returns an error if an organization may not have another group.
func checkGroups(ctx context.Context, tx pgx.Tx, organizationID uuid.UUID) error {
	n, err := queryValue[int](ctx, tx, `SELECT count(*) FROM member_groups WHERE organization_id = $1`, organizationID)
	if err == nil && n >= org.MaxGroups {
		err = org.ErrTooManyGroups
	}
	return err
}

func (db *DB) EditGroup(ctx context.Context, actor identity.Actor, id uuid.UUID, change func(*org.Group) error,
	check func(*org.Member) error,
) (org.Group, error) {
	return changeGroup(ctx, db, actor, check, func(tx pgx.Tx) (org.Group, error) {
		before, err := findGroup(ctx, tx, actor.OrganizationID, id)
		if err != nil {
			return before, err
		}
		g := before
		if err := change(&g); err != nil {
			return before, err
		}
		changes := groupChanges(before, g)
		if len(changes) == 0 {
			return before, nil
		}
		if before.Source == org.GroupSCIM && before.Name != g.Name {
			return before, org.ErrProviderGroupName
		}
		if err := saveGroup(ctx, tx, g.Name, `
			UPDATE member_groups SET name = $3, description = $4, token_limit = $5
			WHERE organization_id = $1 AND id = $2`, actor.OrganizationID, g.ID, g.Name, g.Description,
			g.TokenLimit); err != nil {
			return before, err
		}
		if err := auditGroup(ctx, tx, actor.OrganizationID, org.AuditActorOf(actor), org.ActionGroupEdit, g, changes); err != nil {
			return before, err
		}
		return findGroup(ctx, tx, actor.OrganizationID, g.ID)
	})
}

func (db *DB) DeleteGroup(ctx context.Context, actor identity.Actor, id uuid.UUID, check func(*org.Member) error) error {
	_, err := changeGroup(ctx, db, actor, check, func(tx pgx.Tx) (org.Group, error) {
		g, err := findGroup(ctx, tx, actor.OrganizationID, id)
		if err != nil {
			return g, err
		}
		return g, removeGroup(ctx, tx, actor.OrganizationID, org.AuditActorOf(actor), g)
	})
	return err
}

// removeGroup deletes a group, names managers of projects that have lost their last one, and logs it.
func removeGroup(ctx context.Context, tx pgx.Tx, organizationID uuid.UUID, by org.AuditActor, g org.Group) error {
	// Before the members of the group, whose streams a trigger closes.
	if err := exec(ctx, tx, `DELETE FROM project_grants WHERE organization_id = $1 AND group_id = $2`,
		organizationID, g.ID); err != nil {
		return err
	}
	if err := exec(ctx, tx, `DELETE FROM member_groups WHERE organization_id = $1 AND id = $2`,
		organizationID, g.ID); err != nil {
		return err
	}
	if err := nameManagers(ctx, tx, organizationID); err != nil {
		return err
	}
	return auditGroup(ctx, tx, organizationID, by, org.ActionGroupDelete, g, []org.Change{
		{Field: "members", Before: strconv.Itoa(g.MemberCount)},
	})
}

func (db *DB) ChangeGroupMembers(ctx context.Context, actor identity.Actor, id uuid.UUID, members org.GroupMembers,
	check func(*org.Member) error,
) (group org.Group, unknown []string, err error) {
	group, err = changeGroup(ctx, db, actor, check, func(tx pgx.Tx) (org.Group, error) {
		g, err := findGroup(ctx, tx, actor.OrganizationID, id)
		if err != nil {
			return g, err
		}
		if g.Source != org.GroupManual {
			return g, org.ErrProviderGroup
		}
		add, missing, err := findMembers(ctx, tx, actor.OrganizationID, members)
		if err != nil {
			return g, err
		}
		unknown = missing
		return moveMembers(ctx, tx, actor.OrganizationID, org.AuditActorOf(actor), g, add, members.Remove)
	})
	return group, unknown, err
}

// moveMembers adds members to a group and removes others, names managers of projects that have lost their last one, and
// logs it. It returns the group. The organization must be locked.
func moveMembers(ctx context.Context, tx pgx.Tx, organizationID uuid.UUID, by org.AuditActor, g org.Group,
	add, remove []uuid.UUID,
) (org.Group, error) {
	removed, err := queryValues[string](ctx, tx, `
		WITH removed AS (
		    DELETE FROM group_members WHERE organization_id = $1 AND group_id = $2 AND user_id = ANY ($3)
		    RETURNING user_id
		)
		SELECT u.email FROM removed r JOIN users u ON u.id = r.user_id ORDER BY u.email`,
		organizationID, g.ID, orEmpty(remove))
	if err != nil {
		return g, err
	}
	added, err := queryValues[string](ctx, tx, `
		WITH added AS (
		    INSERT INTO group_members (organization_id, group_id, user_id)
		    SELECT $1, $2, w.id FROM unnest($3::uuid[]) AS w (id)
		    ON CONFLICT DO NOTHING
		    RETURNING user_id
		)
		SELECT u.email FROM added a JOIN users u ON u.id = a.user_id ORDER BY u.email`,
		organizationID, g.ID, orEmpty(add))
	if err != nil || len(added)+len(removed) == 0 {
		return g, err
	}
	if g, err = findGroup(ctx, tx, organizationID, g.ID); err != nil {
		return g, err
	}
	if g.MemberCount > org.MaxGroupMembers {
		return g, org.ErrGroupFull
	}
	if len(removed) > 0 {
		if err := nameManagers(ctx, tx, organizationID); err != nil {
			return g, err
		}
	}
	return g, auditGroup(ctx, tx, organizationID, by, org.ActionGroupMembers, g, changed([]org.Change{
		{Field: "added", After: listMembers(added)}, {Field: "removed", Before: listMembers(removed)},
	}))
}

// findMembers returns the members to add to a group, and the addresses that no member of the organization has. It locks
// the members, so that none is removed meanwhile.
func findMembers(ctx context.Context, tx pgx.Tx, organizationID uuid.UUID, members org.GroupMembers) (
	found []uuid.UUID, unknown []string, err error,
) {
	rows, err := queryRows[struct {
		ID    uuid.UUID
		Email string
	}](ctx, tx, `
		SELECT id, email FROM users
		WHERE organization_id = $1 AND (id = ANY ($2) OR email = ANY ($3))
		ORDER BY id
		FOR KEY SHARE`, organizationID, orEmpty(members.Add), orEmpty(members.AddEmails))
	if err != nil {
		return nil, nil, err
	}
	ids, emails := make(map[uuid.UUID]bool, len(rows)), make(map[string]bool, len(rows))
	for _, row := range rows {
		ids[row.ID], emails[row.Email] = true, true
	}
	if slices.ContainsFunc(members.Add, func(id uuid.UUID) bool { return !ids[id] }) {
		return nil, nil, fault.InvalidField("add", "選択したメンバーの中に、組織にいない人が含まれています。選び直してください。")
	}
	for _, email := range members.AddEmails {
		if !emails[email] {
			unknown = append(unknown, email)
		}
	}
	for _, row := range rows {
		found = append(found, row.ID)
	}
	return orEmpty(found), unknown, nil
}

// changeGroup calls change with the actor's organization locked, if check allows it.
func changeGroup(ctx context.Context, db *DB, actor identity.Actor, check func(*org.Member) error,
	change func(pgx.Tx) (org.Group, error),
) (org.Group, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (org.Group, error) {
		member, err := lockForActor(ctx, tx, actor)
		if err != nil {
			return org.Group{}, err
		}
		if err := check(member); err != nil {
			return org.Group{}, err
		}
		return change(tx)
	})
}

// saveGroup executes a statement that stores a group with a name. It refuses a name that is taken.
func saveGroup(ctx context.Context, tx pgx.Tx, name, sql string, args ...any) error {
	err := exec(ctx, tx, sql, args...)
	if violates(err, "member_groups_name") {
		return org.ErrGroupName(name)
	}
	return err
}

func auditGroup(ctx context.Context, tx pgx.Tx, organizationID uuid.UUID, by org.AuditActor, action org.Action,
	g org.Group, details []org.Change,
) error {
	return audit(ctx, tx, org.Event{
		OrganizationID: &organizationID, By: by, Action: action,
		TargetKind: org.TargetGroup, TargetID: g.ID.String(), TargetLabel: g.Name, Details: details,
	})
}

// groupChanges returns the differences between two versions of a group.
func groupChanges(before, after org.Group) []org.Change {
	limit := func(g org.Group) string {
		if g.TokenLimit == nil {
			return ""
		}
		return strconv.FormatInt(*g.TokenLimit, 10)
	}
	return changed([]org.Change{
		{Field: "name", Before: before.Name, After: after.Name},
		{Field: "description", Before: before.Description, After: after.Description},
		{Field: "token_limit", Before: limit(before), After: limit(after)},
	})
}

// listMembers returns addresses for the audit log.
func listMembers(emails []string) string {
	if len(emails) <= maxLoggedMembers {
		return strings.Join(emails, ", ")
	}
	return fmt.Sprintf("%s (+%d)", strings.Join(emails[:maxLoggedMembers], ", "), len(emails)-maxLoggedMembers)
}

// setProviderGroups makes a member belong to the groups of an identity provider with the given external ids, and to no
// other groups of that source. It creates missing groups while the organization may have more, and names managers of
// projects that have lost their last one. The organization must be locked.
func setProviderGroups(ctx context.Context, tx pgx.Tx, organizationID, userID uuid.UUID, source org.GroupSource,
	externalIDs []string,
) error {
	if err := addProviderGroups(ctx, tx, organizationID, source, externalIDs); err != nil {
		return err
	}
	changes, err := queryRows[struct {
		ID    uuid.UUID
		Name  string
		Email string
		Added bool
	}](ctx, tx, `
		WITH wanted AS (
		    SELECT g.id FROM member_groups g
		    WHERE g.organization_id = $1 AND g.source = $3 AND g.external_id = ANY ($4)
		), removed AS (
		    DELETE FROM group_members k USING member_groups g
		    WHERE k.user_id = $2 AND g.id = k.group_id AND g.organization_id = $1 AND g.source = $3
		        AND k.group_id NOT IN (SELECT id FROM wanted)
		    RETURNING k.group_id
		), added AS (
		    INSERT INTO group_members (organization_id, group_id, user_id)
		    SELECT $1, w.id, $2 FROM wanted w
		    WHERE (SELECT count(*) FROM group_members k WHERE k.group_id = w.id) < $5
		    ON CONFLICT DO NOTHING
		    RETURNING group_id
		), changed AS (
		    SELECT group_id, false AS added FROM removed UNION ALL SELECT group_id, true FROM added
		)
		SELECT g.id, g.name, u.email, c.added
		FROM changed c
		JOIN member_groups g ON g.id = c.group_id
		JOIN users u ON u.id = $2
		ORDER BY g.name, g.id`, organizationID, userID, source, externalIDs, org.MaxGroupMembers)
	left := false
	for _, c := range changes {
		if err != nil {
			break
		}
		change := org.Change{Field: "removed", Before: c.Email}
		left = left || !c.Added
		if c.Added {
			change = org.Change{Field: "added", After: c.Email}
		}
		err = auditGroup(ctx, tx, organizationID, org.System(), org.ActionGroupMembers, org.Group{ID: c.ID, Name: c.Name},
			[]org.Change{change})
	}
	if err == nil && left {
		err = nameManagers(ctx, tx, organizationID)
	}
	return err
}

// addProviderGroups creates the groups of an identity provider that are missing, while the organization may have more.
func addProviderGroups(ctx context.Context, tx pgx.Tx, organizationID uuid.UUID, source org.GroupSource,
	externalIDs []string,
) error {
	known, err := queryRows[struct{ Name, ExternalID string }](ctx, tx, `
		SELECT name, CASE source WHEN $2 THEN coalesce(external_id, '') ELSE '' END AS external_id
		FROM member_groups
		WHERE organization_id = $1`, organizationID, source)
	if err != nil {
		return err
	}
	names, ids := make(map[string]bool, len(known)), make(map[string]bool, len(known))
	for _, g := range known {
		names[g.Name], ids[g.ExternalID] = true, true
	}
	for _, externalID := range externalIDs {
		name := org.ProviderGroupName(externalID, func(name string) bool { return names[name] })
		if ids[externalID] || name == "" || len(names) >= org.MaxGroups {
			continue
		}
		g := org.Group{ID: uuidv7.New(), Name: name, Source: source}
		if err := exec(ctx, tx, `
			INSERT INTO member_groups (organization_id, id, name, source, external_id, request_id, request_hash)
			VALUES ($1, $2, $3, $4, $5, $2, '')`, organizationID, g.ID, g.Name, source, externalID); err != nil {
			return err
		}
		names[name], ids[externalID] = true, true
		if err := auditGroup(ctx, tx, organizationID, org.System(), org.ActionGroupCreate, g,
			groupChanges(org.Group{}, g)); err != nil {
			return err
		}
	}
	return nil
}
