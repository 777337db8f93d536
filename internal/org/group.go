package org

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// Limits of the groups.
const (
	MaxGroups        = 500    // Of an organization.
	MaxGroupMembers  = 20_000 // Of a group.
	maxGroupName     = 100    // In characters.
	maxGroupText     = 1_000  // In characters.
	maxMembersAtOnce = 1_000  // Members in one call.
)

// GroupSource is where a group comes from.
type GroupSource string

// The sources of groups.
const (
	GroupManual GroupSource = "manual" // Created by an administrator.
	GroupOIDC   GroupSource = "oidc"   // From the claims of single sign-on by OpenID Connect.
	GroupSCIM   GroupSource = "scim"   // From the identity provider, by SCIM.
)

// Group is a set of members of an organization. Skills can be offered to it, and it can have a limit.
type Group struct {
	ID          uuid.UUID
	Name        string
	Description string
	Source      GroupSource
	TokenLimit  *int64 // Tokens per month for each member; nil for the organization's limit.
	MemberCount int
}

// GroupDraft is the input for a group.
type GroupDraft struct {
	Name        string
	Description string
	TokenLimit  *int64
}

// GroupCall is a call that adds a group.
type GroupCall struct {
	RequestID   uuid.UUID
	RequestHash [32]byte // Hash of the draft: the same request id with another hash is a conflict.
	Group       Group
}

// GroupMembers is a change of the members of a group. Members who are in the group already are not added again, and
// others than its members are not removed.
type GroupMembers struct {
	Add       []uuid.UUID
	AddEmails []string // Lower case.
	Remove    []uuid.UUID
}

// The errors of the groups.
var (
	ErrNoGroup           = fault.Errorf(fault.NotFound, "グループが見つかりません。")
	ErrTooManyGroups     = fault.Errorf(fault.Conflict, "グループは%d件まで作成できます。使わないグループを削除してください。", MaxGroups)
	ErrProviderGroup     = fault.Errorf(fault.Conflict, "このグループのメンバーは、組織のIDプロバイダーから設定されます。IDプロバイダーで変更してください。")
	ErrProviderGroupName = fault.Errorf(fault.Conflict,
		"このグループの名前は、組織のIDプロバイダーから設定されます。IDプロバイダーで変更してください。")
	ErrGroupFull = fault.Errorf(fault.Conflict, "グループのメンバーは%s人までです。", grouped(MaxGroupMembers))
)

// ErrGroupName refuses the name of another group of the organization.
func ErrGroupName(name string) error {
	taken := fault.InvalidField("name", "「%s」という名前のグループはすでにあります。別の名前を入力してください。", name)
	taken.Code = fault.Conflict
	return taken
}

// Groups returns a page of the groups of the actor's organization whose name contains a text, by name, and their total
// number. For administrators.
func (s *Service) Groups(ctx context.Context, actor identity.Actor, search string, offset, limit int) ([]Group, int,
	error,
) {
	if err := administers(actor); err != nil {
		return nil, 0, err
	}
	return s.store.ListGroups(ctx, actor.OrganizationID, search, offset, limit)
}

// Group returns a group of the actor's organization. For administrators.
func (s *Service) Group(ctx context.Context, actor identity.Actor, id uuid.UUID) (Group, error) {
	if err := administers(actor); err != nil {
		return Group{}, err
	}
	return s.store.FindGroup(ctx, actor.OrganizationID, id)
}

// AddGroup adds a group without members. A repeated call with the same request id returns the same group. For
// administrators. Errors: fault.Forbidden, fault.Invalid, fault.Conflict for a taken name and ErrTooManyGroups.
func (s *Service) AddGroup(ctx context.Context, actor identity.Actor, requestID uuid.UUID, draft GroupDraft) (Group,
	error,
) {
	if err := administers(actor); err != nil {
		return Group{}, err
	}
	draft, err := draft.Checked()
	if err != nil {
		return Group{}, err
	}
	content, err := json.Marshal(draft)
	if err != nil {
		return Group{}, err
	}
	return s.store.AddGroup(ctx, actor, GroupCall{
		RequestID: requestID, RequestHash: sha256.Sum256(content), Group: draft.in(Group{ID: uuidv7.New()}),
	}, stillAdministers)
}

// EditGroup changes a group's name, description and limit by calling change with the current ones. For administrators.
// The errors are those of AddGroup, and ErrNoGroup.
func (s *Service) EditGroup(ctx context.Context, actor identity.Actor, id uuid.UUID, change func(*GroupDraft)) (
	Group, error,
) {
	if err := administers(actor); err != nil {
		return Group{}, err
	}
	return s.store.EditGroup(ctx, actor, id, func(g *Group) error {
		draft := GroupDraft{Name: g.Name, Description: g.Description, TokenLimit: g.TokenLimit}
		change(&draft)
		draft, err := draft.Checked()
		*g = draft.in(*g)
		return err
	}, stillAdministers)
}

// DeleteGroup deletes a group. Its members lose the skills that were offered to the group, and its limit. For
// administrators.
func (s *Service) DeleteGroup(ctx context.Context, actor identity.Actor, id uuid.UUID) error {
	if err := administers(actor); err != nil {
		return err
	}
	return s.store.DeleteGroup(ctx, actor, id, stillAdministers)
}

// ChangeGroupMembers adds and removes members of a group. It returns the group, and the addresses that no member of the
// organization has, which are ignored. For administrators. Errors: fault.Forbidden, fault.Invalid, also for an unknown
// member id, ErrNoGroup and ErrGroupFull.
func (s *Service) ChangeGroupMembers(ctx context.Context, actor identity.Actor, id uuid.UUID, members GroupMembers) (
	group Group, unknown []string, err error,
) {
	if err := administers(actor); err != nil {
		return group, nil, err
	}
	for field, n := range map[string]int{
		"add": len(members.Add), "add_emails": len(members.AddEmails), "remove": len(members.Remove),
	} {
		if n > maxMembersAtOnce {
			return group, nil, fault.InvalidField(field, "一度に指定できるのは%s人までです。", grouped(maxMembersAtOnce))
		}
	}
	for i, email := range members.AddEmails {
		members.AddEmails[i] = strings.ToLower(strings.TrimSpace(email))
	}
	return s.store.ChangeGroupMembers(ctx, actor, id, members, stillAdministers)
}

// Checked validates a draft, and returns its stored form.
func (d GroupDraft) Checked() (GroupDraft, error) {
	d.Name = norm.NFC.String(strings.TrimSpace(d.Name))
	d.Description = norm.NFC.String(strings.TrimSpace(d.Description))
	switch {
	case runes.Blank(d.Name):
		return d, fault.InvalidField("name", "グループ名を入力してください。")
	case utf8.RuneCountInString(d.Name) > maxGroupName:
		return d, fault.InvalidField("name", "グループ名は%d文字以内で入力してください。", maxGroupName)
	case strings.ContainsFunc(d.Name, runes.NotInName) || !utf8.ValidString(d.Name):
		return d, fault.InvalidField("name", "グループ名に使えない文字が含まれています。")
	case utf8.RuneCountInString(d.Description) > maxGroupText:
		return d, fault.InvalidField("description", "説明は%s文字以内で入力してください。", grouped(maxGroupText))
	case !utf8.ValidString(d.Description) || strings.ContainsRune(d.Description, 0):
		return d, fault.InvalidField("description", "説明に使えない文字が含まれています。")
	}
	if d.TokenLimit == nil {
		return d, nil
	}
	return d, checkMemberTokens("token_limit", *d.TokenLimit)
}

// ProviderGroupName returns the name of a new group of an identity provider: its external id or, if another group has
// that name, the id with a number. It returns "" for an id that is not a valid name. taken reports whether a group has a
// name.
func ProviderGroupName(externalID string, taken func(name string) bool) string {
	draft, err := GroupDraft{Name: runes.First(strings.TrimSpace(externalID), maxGroupName)}.Checked()
	name := draft.Name
	for n := 2; err == nil && taken(name); n++ {
		suffix := fmt.Sprintf("（%d）", n)
		name = runes.First(draft.Name, maxGroupName-utf8.RuneCountInString(suffix)) + suffix
	}
	if err != nil {
		return ""
	}
	return name
}

func (d GroupDraft) in(g Group) Group {
	g.Name, g.Description, g.TokenLimit = d.Name, d.Description, d.TokenLimit
	return g
}
