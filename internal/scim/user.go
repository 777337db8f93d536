package scim

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

const (
	maxName = 100   // Characters of the name of a member.
	maxKey  = 1_000 // Bytes of an indexed value.
)

// attributes returns a copy of a user's attributes, with the values that the app may have changed. For a member whom the
// identity provider does not know, it describes the member.
func (u User) attributes() map[string]any {
	resource, _ := clone(u.Attributes).(map[string]any)
	if resource == nil {
		resource = map[string]any{
			"userName": u.Email, "name": nameParts(u.Name),
			"emails": []any{map[string]any{"value": u.Email, "type": "work", "primary": true}},
		}
	}
	resource["displayName"] = u.Name
	resource["active"] = u.State == identity.StateActive
	set(resource, "externalId", u.ExternalID)
	return resource
}

// nameParts returns the parts of a member's name. Okta requires both a family name and a given name, so that a name of
// one word is both. The family name is the last word of a name in Latin letters, and otherwise the first one.
func nameParts(name string) map[string]any {
	words := strings.Fields(name)
	family, given := name, name
	isLatin := func(r rune) bool { return r <= unicode.MaxLatin1 || unicode.Is(unicode.Latin, r) }
	switch last := len(words) - 1; {
	case last < 1:
	case strings.IndexFunc(name, func(r rune) bool { return !isLatin(r) }) < 0:
		family, given = words[last], strings.Join(words[:last], " ")
	default:
		family, given = words[0], strings.Join(words[1:], " ")
	}
	return map[string]any{"formatted": name, "familyName": family, "givenName": given}
}

// representation returns a user as a resource, with its version.
func (s users) representation(u User) map[string]any {
	resource := s.unversioned(u)
	meta, _ := resource["meta"].(map[string]any)
	meta["version"] = version(u.attributes())
	return resource
}

// unversioned returns a user as a resource without its version.
func (s users) unversioned(u User) map[string]any {
	resource := u.attributes()
	schemas := []string{urnUser}
	if extended, ok := resource[urnEnterprise].(map[string]any); ok {
		schemas = append(schemas, urnEnterprise)
		if manager, ok := extended["manager"].(map[string]any); ok && manager["value"] != nil {
			manager["$ref"] = s.baseURL + "/Users/" + toText(manager["value"])
		}
	}
	resource["schemas"], resource["id"] = schemas, u.ID.String()
	resource["meta"] = map[string]any{
		"resourceType": "User", "created": timestamp(u.CreatedAt), "lastModified": timestamp(u.ChangedAt),
		"location": s.baseURL + "/Users/" + u.ID.String(),
	}
	return resource
}

// version returns the entity tag of a resource.
func version(attributes map[string]any) string {
	encoded, err := json.Marshal(attributes)
	if err != nil { // Attributes come from JSON.
		panic(err)
	}
	sum := sha256.Sum256(encoded)
	return `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
}

// draft validates the attributes of a user, and returns the values for the store.
func draft(attributes map[string]any) (Draft, error) {
	d := Draft{Attributes: attributes, Active: true}
	d.UserName, _ = attributes["userName"].(string)
	d.ExternalID, _ = attributes["externalId"].(string)
	if active, ok := attributes["active"].(bool); ok {
		d.Active = active
	}
	if d.UserName = strings.TrimSpace(d.UserName); d.UserName == "" {
		return d, fault.Errorf(InvalidValue, "userName を指定してください。")
	}
	address := ""
	for _, value := range elements(attributes["emails"]) {
		record, _ := value.(map[string]any)
		email, _ := record["value"].(string)
		kind, _ := record["type"].(string)
		d.Emails = append(d.Emails, strings.ToLower(email))
		switch {
		case isPrimary(record):
			address = email
		case !hasPrimary(attributes) && (address == "" || strings.EqualFold(kind, "work")):
			address = email
		}
	}
	var err error
	if d.Email, err = org.CleanAddress("emails", cmp.Or(address, d.UserName)); err != nil {
		return d, fault.Wrap(err, InvalidValue,
			"メールアドレスの形式が正しくありません。emails（またはuserName）に、ログインに使うメールアドレスを指定してください。")
	}
	if d.Name = displayName(attributes, d.Email); !org.ValidName(d.Name) {
		return d, fault.Errorf(InvalidValue, "displayName に使えない文字が含まれているか、%d文字を超えています。", maxName)
	}
	if slices.ContainsFunc(append([]string{d.UserName, d.ExternalID}, d.Emails...), func(key string) bool {
		return len(key) > maxKey
	}) {
		return d, fault.Errorf(InvalidValue, "userName、externalId、emails の値が長すぎます（%dバイトまで）。", maxKey)
	}
	return d, checkSize(attributes)
}

func hasPrimary(attributes map[string]any) bool {
	return slices.ContainsFunc(elements(attributes["emails"]), isPrimary)
}

// displayName returns the name of a member: displayName, or else a name from the other attributes.
func displayName(attributes map[string]any, email string) string {
	given, _ := attributes["displayName"].(string)
	if given = strings.TrimSpace(given); given != "" {
		return given
	}
	name, _ := attributes["name"].(map[string]any)
	part := func(key string) string {
		text, _ := name[key].(string)
		return strings.TrimSpace(text)
	}
	local, _, _ := strings.Cut(email, "@")
	full := strings.TrimSpace(part("familyName") + " " + part("givenName"))
	return runes.First(cmp.Or(part("formatted"), full, local), maxName)
}

// users are the members of an organization as resources.
type users struct{ *Service }

func (s users) get(ctx context.Context, client Client, id uuid.UUID) (map[string]any, error) {
	u, err := s.store.FindSCIMUser(ctx, client.OrganizationID, id)
	if err != nil {
		return nil, err
	}
	return s.representation(u), nil
}

// list returns the users that match a filter: those from the first one, which is counted from 0, and their total number.
// It reads each candidate once, and never more of them at a time than a page has.
func (s users) list(ctx context.Context, client Client, query listQuery) (page []map[string]any, total int, err error) {
	if query.filter == "" {
		users, total, err := s.store.ListSCIMUsers(ctx, client.OrganizationID, query.offset, query.count)
		for _, u := range users {
			page = append(page, s.representation(u))
		}
		return page, total, err
	}
	expression, err := userType.parseFilter(query.filter)
	if err != nil {
		return nil, 0, err
	}
	represent := s.unversioned
	if query.filters("version") {
		represent = s.representation
	}
	for match, after := userType.indexed(expression), uuid.Nil; ; {
		users, err := s.store.FilterSCIMUsers(ctx, client.OrganizationID, match, after, maxResults)
		if err != nil {
			return nil, 0, err
		}
		for _, u := range users {
			after = u.ID
			if !userType.matches(expression, represent(u)) {
				continue
			}
			if total >= query.offset && len(page) < query.count {
				page = append(page, s.representation(u))
			}
			total++
		}
		if len(users) < maxResults {
			return page, total, nil
		}
	}
}

// add adds a member. Members of single sign-on are added in the same way by their first sign-in.
func (s users) add(ctx context.Context, client Client, raw map[string]any) (map[string]any, error) {
	attributes, err := userType.canonical(raw)
	if err != nil {
		return nil, err
	}
	d, err := draft(attributes)
	if err != nil {
		return nil, err
	}
	u, err := s.store.AddSCIMUser(ctx, client, d, func(r org.MemberContext) (org.MemberChange, error) {
		return r.Provision(d.Name, d.Active)
	})
	if err != nil {
		return nil, err
	}
	s.members.Settle(ctx, u.ID)
	return s.representation(u), nil
}

// replace replaces the attributes of a user.
func (s users) replace(ctx context.Context, client Client, id uuid.UUID, ifMatch string, raw map[string]any) (
	map[string]any, error,
) {
	attributes, err := userType.canonical(raw)
	if err != nil {
		return nil, err
	}
	return s.change(ctx, client, id, ifMatch, func(map[string]any) (map[string]any, error) {
		after, _ := clone(attributes).(map[string]any)
		return after, nil
	})
}

// patch applies operations to a user.
func (s users) patch(ctx context.Context, client Client, id uuid.UUID, ifMatch string, operations []operation) (
	map[string]any, error,
) {
	return s.change(ctx, client, id, ifMatch, func(attributes map[string]any) (map[string]any, error) {
		return attributes, userType.patchEach(attributes, operations)
	})
}

func (s users) change(ctx context.Context, client Client, id uuid.UUID, ifMatch string,
	change func(attributes map[string]any) (map[string]any, error),
) (map[string]any, error) {
	u, err := s.store.ChangeSCIMUser(ctx, client, id, func(u User, r org.MemberContext) (Change, error) {
		before := u.attributes()
		if err := checkVersion(ifMatch, before); err != nil {
			return Change{}, err
		}
		after, err := change(u.attributes())
		if err != nil {
			return Change{}, err
		}
		if _, given := after["active"]; !given { // A missing or empty value changes nothing.
			after["active"] = before["active"]
		}
		// The representation always has a displayName. One that the identity provider did not send is not stored, so that
		// the name follows the attribute name.
		derived := u.Attributes["displayName"] == nil && after["displayName"] == before["displayName"]
		if derived {
			delete(after, "displayName")
		}
		d, err := draft(after)
		if err != nil {
			return Change{}, err
		}
		if derived && reflect.DeepEqual(after["name"], before["name"]) {
			d.Name = u.Name
		}
		if d.Email != u.Email && r.Member.AuthType != identity.AuthFederated {
			if known, err := draft(before); d.Active && (err != nil || d.Email != known.Email) {
				return Change{}, fault.Errorf(Mutability,
					"パスワードでログインするメンバーのメールアドレスは、IDプロバイダーから変更できません。")
			}
			d.Email = u.Email // A changed address does not prevent the deactivation. It is stored, but not used to sign in.
		}
		member, err := r.Provision(d.Name, d.Active)
		return Change{Member: member, Draft: d}, err
	})
	if err != nil {
		return nil, err
	}
	s.members.Settle(ctx, id)
	return s.representation(u), nil
}

// remove deactivates a member and hides them from the identity provider. Their data is deleted by the organization's
// retention, or when an administrator removes the member.
func (s users) remove(ctx context.Context, client Client, id uuid.UUID, ifMatch string) error {
	_, err := s.store.ChangeSCIMUser(ctx, client, id, func(before User, r org.MemberContext) (Change, error) {
		if err := checkVersion(ifMatch, before.attributes()); err != nil {
			return Change{}, err
		}
		member, err := r.Provision(before.Name, false)
		return Change{Member: member, Delete: true}, err
	})
	if err == nil {
		s.members.Settle(ctx, id)
	}
	return err
}

// checkVersion refuses a change if the client has read another version (If-Match).
func checkVersion(ifMatch string, attributes map[string]any) error {
	if ifMatch == "" || matchesTag(ifMatch, version(attributes)) {
		return nil
	}
	return fault.Errorf(codeVersion, "ほかの変更と重なりました。最新の内容を読み込んでから、もう一度お試しください。")
}

// matchesTag reports whether a list of entity tags contains a tag.
func matchesTag(list, tag string) bool {
	for wanted := range strings.SplitSeq(list, ",") {
		wanted = strings.TrimSpace(wanted)
		if wanted == "*" || strings.TrimPrefix(wanted, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}
