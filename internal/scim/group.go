package scim

import (
	"context"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	filter "github.com/scim2/filter-parser/v2"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// maxGroupAttribute limits the external id of a group, in characters.
const maxGroupAttribute = 255

// representation returns a group as a resource, with its version.
func (s groups) representation(g Group) map[string]any {
	members := make([]any, 0, len(g.Members))
	for _, m := range g.Members {
		members = append(members, map[string]any{
			"value": m.ID.String(), "display": m.Name, "type": "User", "$ref": s.baseURL + "/Users/" + m.ID.String(),
		})
	}
	resource := map[string]any{
		"schemas": []string{urnGroup}, "id": g.ID.String(), "displayName": g.Name, "members": members,
		"meta": map[string]any{
			"resourceType": "Group", "created": timestamp(g.CreatedAt), "location": s.baseURL + "/Groups/" + g.ID.String(),
			"version": version(g.versioned()),
		},
	}
	set(resource, "externalId", g.ExternalID)
	return resource
}

// versioned returns the attributes that the version depends on.
func (g Group) versioned() map[string]any {
	ids := make([]string, len(g.Members))
	for i, m := range g.Members {
		ids[i] = m.ID.String()
	}
	return map[string]any{"displayName": g.Name, "externalId": g.ExternalID, "members": ids}
}

// groups are the groups of an organization as resources.
type groups struct{ *Service }

func (s groups) get(ctx context.Context, client Client, id uuid.UUID) (map[string]any, error) {
	g, err := s.store.FindSCIMGroup(ctx, client.OrganizationID, id)
	if err != nil {
		return nil, err
	}
	return s.representation(g), nil
}

// list returns the groups that match a filter: those from the first one, which is counted from 0, and their total
// number. An organization has few enough groups to read all of them, but their members are read for the page only.
func (s groups) list(ctx context.Context, client Client, query listQuery) (page []map[string]any, total int, err error) {
	groups, err := s.matching(ctx, client, query)
	if err != nil {
		return nil, 0, err
	}
	total = len(groups)
	groups = groups[min(query.offset, total):]
	groups = groups[:min(query.count, len(groups))]
	members := query.shows("members")
	if members {
		if err := s.store.SetSCIMMembers(ctx, groups); err != nil {
			return nil, 0, err
		}
	}
	for _, g := range groups {
		resource := s.representation(g)
		if !members { // The version depends on the members.
			meta, _ := resource["meta"].(map[string]any)
			delete(meta, "version")
		}
		page = append(page, resource)
	}
	return page, total, nil
}

// matching returns the groups that match the filter of a query, without their members. If the filter depends on
// members, it reads those of one group at a time.
func (s groups) matching(ctx context.Context, client Client, query listQuery) (matching []Group, err error) {
	if query.filter == "" {
		return s.store.ListSCIMGroups(ctx, client.OrganizationID, nil)
	}
	expression, err := groupType.parseFilter(query.filter)
	if err != nil {
		return nil, err
	}
	groups, err := s.store.ListSCIMGroups(ctx, client.OrganizationID, groupType.indexed(expression))
	if err != nil {
		return nil, err
	}
	members := query.filters("members") || query.filters("version")
	for _, g := range groups {
		candidate := []Group{g}
		if members {
			if err := s.store.SetSCIMMembers(ctx, candidate); err != nil {
				return nil, err
			}
		}
		if groupType.matches(expression, s.representation(candidate[0])) {
			matching = append(matching, g)
		}
	}
	return matching, nil
}

// editedGroup is a group while operations are applied to it.
type editedGroup struct {
	Group
	members map[uuid.UUID]bool
}

func edit(g Group) *editedGroup {
	edited := &editedGroup{Group: g, members: make(map[uuid.UUID]bool, len(g.Members))}
	for _, m := range g.Members {
		edited.members[m.ID] = true
	}
	return edited
}

// done returns the edited group, or an error if it is invalid.
func (e *editedGroup) done() (Group, error) {
	g := e.Group
	draft, err := org.GroupDraft{Name: g.Name}.Checked()
	if err != nil {
		return Group{}, fault.Wrap(err, InvalidValue, "displayName: %s", fault.DetailOf(err))
	}
	g.Name, g.Members = draft.Name, nil
	if utf8.RuneCountInString(g.ExternalID) > maxGroupAttribute {
		return Group{}, fault.Errorf(InvalidValue, "externalId は%d文字以内で指定してください。", maxGroupAttribute)
	}
	byID := func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }
	for _, id := range slices.SortedFunc(maps.Keys(e.members), byID) {
		g.Members = append(g.Members, Member{ID: id})
	}
	return g, nil
}

func (s groups) add(ctx context.Context, client Client, raw map[string]any) (map[string]any, error) {
	edited := edit(Group{})
	if err := edited.replace(raw); err != nil {
		return nil, err
	}
	g, err := edited.done()
	if err != nil {
		return nil, err
	}
	if g, err = s.store.AddSCIMGroup(ctx, client, g); err != nil {
		return nil, err
	}
	return s.representation(g), nil
}

func (s groups) replace(ctx context.Context, client Client, id uuid.UUID, ifMatch string, raw map[string]any) (
	map[string]any, error,
) {
	return s.change(ctx, client, id, ifMatch, func(g *editedGroup) error { return g.replace(raw) })
}

func (s groups) patch(ctx context.Context, client Client, id uuid.UUID, ifMatch string, operations []operation) (
	map[string]any, error,
) {
	return s.change(ctx, client, id, ifMatch, func(g *editedGroup) error {
		for _, op := range operations {
			if err := g.patch(op); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s groups) change(ctx context.Context, client Client, id uuid.UUID, ifMatch string,
	change func(*editedGroup) error,
) (map[string]any, error) {
	g, err := s.store.ChangeSCIMGroup(ctx, client, id, func(before Group) (Group, error) {
		if err := checkVersion(ifMatch, before.versioned()); err != nil {
			return Group{}, err
		}
		edited := edit(before)
		if err := change(edited); err != nil {
			return Group{}, err
		}
		return edited.done()
	})
	if err != nil {
		return nil, err
	}
	return s.representation(g), nil
}

func (s groups) remove(ctx context.Context, client Client, id uuid.UUID, ifMatch string) error {
	return s.store.DeleteSCIMGroup(ctx, client, id, func(g Group) error { return checkVersion(ifMatch, g.versioned()) })
}

// replace sets all attributes from a resource.
func (e *editedGroup) replace(raw map[string]any) error {
	raw = maps.Clone(raw)
	members := any(nil)
	for name, value := range raw {
		if strings.EqualFold(name, "members") { // There may be more than the values of an attribute of a user.
			members = value
			delete(raw, name)
		}
	}
	resource, err := groupType.canonical(raw)
	if err != nil {
		return err
	}
	e.Name, _ = resource["displayName"].(string)
	e.ExternalID, _ = resource["externalId"].(string)
	return e.setMembers(opReplace, members)
}

// patch applies an operation.
func (e *editedGroup) patch(op operation) error {
	if op.Path == "" {
		return op.forEach("", e.patch)
	}
	to, err := groupType.parsePath(op.Path)
	if err != nil {
		return err
	}
	switch to.attribute.Name {
	case "members":
		return e.patchMembers(to, op)
	case "displayName", "externalId":
		record := map[string]any{"displayName": e.Name, "externalId": e.ExternalID}
		if err := to.attribute.assign(record, op); err != nil {
			return err
		}
		e.Name, _ = record["displayName"].(string)
		e.ExternalID, _ = record["externalId"].(string)
		return nil
	}
	return fault.Errorf(InvalidPath, "path %q には対応していません。", shown(op.Path))
}

// patchMembers applies an operation to the members.
func (e *editedGroup) patchMembers(to target, op operation) error {
	if to.where == nil && to.sub == nil {
		return e.setMembers(op.Op, op.Value)
	}
	if op.Op != opRemove || to.sub != nil {
		return fault.Errorf(Mutability, "メンバーの一部は変更できません。追加（add）または削除（remove）してください。")
	}
	compared, ok := to.where.(*filter.AttributeExpression)
	if !ok || !strings.EqualFold(compared.AttributePath.AttributeName, "value") ||
		!strings.EqualFold(string(compared.Operator), string(filter.EQ)) {
		return fault.Errorf(InvalidPath, "path %q には対応していません。メンバーは members[value eq \"…\"] の形式で指定してください。",
			shown(op.Path))
	}
	if id, err := uuid.Parse(toText(compared.CompareValue)); err == nil {
		delete(e.members, id)
	}
	return nil
}

// errGroupInGroup refuses groups as members.
var errGroupInGroup = fault.Errorf(InvalidValue, "グループをグループのメンバーにすることはできません。利用者を割り当ててください。")

// setMembers adds, replaces or removes the members of a value: a list of records with ids, or one of them.
func (e *editedGroup) setMembers(op string, value any) error {
	if op != opAdd && (op == opReplace || empty(value)) {
		clear(e.members)
	}
	list, ok := value.([]any)
	if !ok && !empty(value) {
		list = []any{value}
	}
	if len(list) > org.MaxGroupMembers {
		return org.ErrGroupFull
	}
	members := groupType.schema.Attributes[1]
	for _, element := range list {
		typed, err := members.single(element)
		if err != nil {
			return err
		}
		record, _ := typed.(map[string]any)
		if kind, _ := record["type"].(string); strings.EqualFold(kind, "Group") {
			return errGroupInGroup
		}
		given, _ := record["value"].(string)
		id, err := uuid.Parse(given)
		switch {
		case err == nil && id == e.ID:
			return fault.Errorf(InvalidValue, "グループを、そのグループ自身のメンバーにすることはできません。")
		case op == opRemove && err != nil:
			continue
		case err != nil:
			return fault.Errorf(InvalidValue, "members に、この組織にいない利用者 %q があります。", shown(given))
		case op == opRemove:
			delete(e.members, id)
		default:
			e.members[id] = true
		}
	}
	return nil
}
