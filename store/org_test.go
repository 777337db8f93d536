package store_test

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestOrganizations(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	wantCode(t, f.CreateOrganization(t.Context(), org.Organization{ID: f.a, Name: "x", AuthType: "cognito"}),
		fault.Conflict)
	wantCode(t, f.CreateOrganization(t.Context(), org.Organization{ID: newID(), Name: "", AuthType: "cognito"}),
		fault.Invalid)
	wantCode(t, f.CreateOrganization(t.Context(), org.Organization{ID: newID(), Name: "x", AuthType: "magic"}),
		fault.Invalid)
	if n, err := f.CountUsers(t.Context()); err != nil || n != 3 {
		t.Errorf("CountUsers = %d, %v, want 3", n, err)
	}
}

func TestNotifications(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	now := time.Now()
	publish := func(organizationID *uuid.UUID, title string, age time.Duration) uuid.UUID {
		id := newID()
		must.Succeed(t, f.PublishNotification(t.Context(), org.Notification{
			ID: id, OrganizationID: organizationID, Title: title, Level: org.LevelInfo, PublishedAt: now.Add(-age),
		}))
		return id
	}
	oldest := publish(nil, "全員へ", 3*time.Hour)
	publish(&f.a, "自社へ", 2*time.Hour)
	foreign := publish(&f.b, "他社へ", time.Hour)
	future := publish(nil, "明日", -24*time.Hour)
	newest := newID()
	must.Succeed(t,
		f.PublishNotification(t.Context(), org.Notification{ID: newest, Title: "今", Level: org.LevelWarning}))

	titles := func(offset, limit int) (list []string, read int) {
		got := must.Get(f.ListNotifications(t.Context(), f.a, f.ann.UserID, offset, limit))(t)
		for _, n := range got {
			list = append(list, n.Title)
			if n.Read {
				read++
			}
		}
		return list, read
	}
	if got, read := titles(0, 10); !equal(got, "今", "自社へ", "全員へ") || read != 0 {
		t.Errorf("all: %v, %d read", got, read)
	}
	if got, _ := titles(1, 1); !equal(got, "自社へ") {
		t.Errorf("second page: %v", got)
	}

	for range 2 { // Marking twice is allowed, and invisible ids are ignored.
		must.Succeed(t,
			f.ReadNotifications(t.Context(), f.a, f.ann.UserID, []uuid.UUID{oldest, foreign, future, newID()}))
	}
	if _, read := titles(0, 10); read != 1 {
		t.Errorf("%d read, want 1", read)
	}
	if n := value[int](t, f, `SELECT count(*) FROM notification_reads`); n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
	must.Succeed(t, f.ReadNotifications(t.Context(), f.a, f.ann.UserID, nil))
	if got, err := f.ListNotifications(t.Context(), f.a, f.bob.UserID, 0, 10); err != nil || len(got) != 3 ||
		got[2].Read {
		t.Errorf("a colleague's list: %+v, %v", got, err)
	}

	missing := newID()
	wantCode(t, f.PublishNotification(t.Context(), org.Notification{
		ID: newID(), OrganizationID: &missing, Title: "x", Level: org.LevelInfo,
	}), fault.NotFound)
	wantCode(t, f.PublishNotification(t.Context(), org.Notification{ID: newest, Title: "x", Level: org.LevelInfo}),
		fault.Conflict)
	wantCode(t, f.PublishNotification(t.Context(), org.Notification{ID: newID(), Title: "x", Level: "loud"}),
		fault.Invalid)
}

func equal(got []string, want ...string) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if got[i] != want[i] {
			return false
		}
	}
	return true
}

func TestUsers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	got, err := f.UserBySubject(t.Context(), claims("sub-ann", newID()))
	want := identity.UserStatus{OrganizationAuthType: identity.AuthCognito, AddressRanges: []netip.Prefix{}, User: identity.User{
		ID: f.ann.UserID, OrganizationID: f.a, OrganizationName: "紡株式会社", Subject: "sub-ann", Email: "ann@example.com",
		Name: "ann", Role: identity.RoleGeneralUser, State: identity.StateActive, AuthType: identity.AuthCognito,
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("UserBySubject = %+v, %v", got, err)
	}
	_, err = f.UserBySubject(t.Context(), claims("nobody", uuid.Nil))
	wantCode(t, err, fault.NotFound)

	user := identity.NewUser{
		OrganizationID: f.a, Name: "new", Role: identity.RoleGeneralUser, AuthType: identity.AuthCognito,
	}
	for name, tt := range map[string]struct {
		change func(u *identity.NewUser)
		code   fault.Code
	}{
		"address taken":      {func(u *identity.NewUser) { u.Email = "mallory@example.com" }, fault.Conflict},
		"subject taken":      {func(u *identity.NewUser) { u.Subject = "sub-ann" }, fault.Conflict},
		"no organization":    {func(u *identity.NewUser) { u.OrganizationID = newID() }, fault.NotFound},
		"upper case address": {func(u *identity.NewUser) { u.Email = "New@example.com" }, fault.Invalid},
		"unknown role":       {func(u *identity.NewUser) { u.Role = "king" }, fault.Invalid},
		"fine":               {func(*identity.NewUser) {}, ""},
	} {
		u := user
		u.ID, u.Subject, u.Email = newID(), name, strings.ReplaceAll(name, " ", ".")+"@example.com"
		tt.change(&u)
		if err := f.CreateUser(t.Context(), u); fault.CodeOf(err) != tt.code {
			t.Errorf("%s: %v, want code %q", name, err, tt.code)
		}
	}
}

func TestOrganizationAndMembersAreCreatedTogether(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	founded := org.Organization{ID: newID(), Name: "新会社", AuthType: "cognito", MailDomains: []string{"new.example"}}
	member := func(name string) identity.NewUser {
		return identity.NewUser{
			ID: newID(), OrganizationID: founded.ID, Subject: name, Email: name + "@new.example", Name: name,
			Role: identity.RoleGeneralUser, AuthType: identity.AuthCognito,
		}
	}
	twice := []identity.NewUser{member("dan"), member("dan")}
	wantCode(t, f.CreateOrganizationWithMembers(t.Context(), founded, twice), fault.Conflict)
	if n := value[int](t, f, `SELECT count(*) FROM organizations WHERE id = $1`, founded.ID); n != 0 {
		t.Error("an organization without members was stored")
	}
	must.Succeed(t,
		f.CreateOrganizationWithMembers(t.Context(), founded, []identity.NewUser{member("dan"), member("eve")}))
	if n := value[int](t, f, `SELECT count(*) FROM users WHERE organization_id = $1`, founded.ID); n != 2 {
		t.Errorf("%d members", n)
	}
}

func TestMarkSignedIn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const query = `SELECT coalesce(last_signed_in_at, 'epoch') FROM users WHERE id = $1`
	must.Succeed(t, f.MarkSignedIn(t.Context(), f.ann.UserID))
	first := value[time.Time](t, f, query, f.ann.UserID)
	if time.Since(first) > time.Minute {
		t.Fatalf("signed in at %s", first)
	}
	must.Succeed(t, f.MarkSignedIn(t.Context(), f.ann.UserID))
	if again := value[time.Time](t, f, query, f.ann.UserID); !again.Equal(first) {
		t.Errorf("set again within a minute: %s, %s", first, again)
	}
	f.exec(t, `UPDATE users SET last_signed_in_at = now() - interval '2 minutes'`)
	must.Succeed(t, f.MarkSignedIn(t.Context(), f.ann.UserID))
	if later := value[time.Time](t, f, query, f.ann.UserID); !later.After(first) {
		t.Errorf("not set after a minute: %s, %s", first, later)
	}
	// A member who signed in shortly before the invitation has used the invitation.
	f.exec(t, `UPDATE users SET last_signed_in_at = now() - interval '20 seconds',
			invited_at = now() - interval '10 seconds'`)
	must.Succeed(t, f.MarkSignedIn(t.Context(), f.ann.UserID))
	if !value[bool](t, f, `SELECT last_signed_in_at > invited_at FROM users WHERE id = $1`, f.ann.UserID) {
		t.Error("not set after an invitation")
	}
}

func TestProviderByMailDomain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.exec(t, `UPDATE organizations SET created_at = now() - interval '1 day' WHERE id = $1`, f.a)
	federated := newID()
	must.Succeed(t, f.CreateOrganization(t.Context(), org.Organization{
		ID: federated, Name: "連携会社", AuthType: "federated_idp", MailDomains: []string{"sso.example", "sso.example.jp"},
	}))
	f.exec(t, `UPDATE organizations SET created_at = now() - interval '2 days' WHERE id = $1`, federated)

	for domain, want := range map[string]identity.Provider{
		"sso.example":    {OrganizationID: federated, AuthType: identity.AuthFederated},
		"sso.example.jp": {OrganizationID: federated, AuthType: identity.AuthFederated},
		"example":        {OrganizationID: f.a, AuthType: identity.AuthCognito},
		"unknown.test":   {OrganizationID: f.a, AuthType: identity.AuthCognito},
	} {
		if got, err := f.ProviderByMailDomain(t.Context(), domain); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", domain, got, err, want)
		}
	}
	// If all organizations use single sign-on, an unknown address still has the result of an address with a password.
	f.exec(t, `UPDATE organizations SET auth_type = 'federated_idp'`)
	if got, err := f.ProviderByMailDomain(t.Context(), "unknown.test"); err != nil ||
		got != (identity.Provider{OrganizationID: federated, AuthType: identity.AuthCognito}) {
		t.Errorf("of an unknown address: %+v, %v", got, err)
	}
	f.exec(t, `DELETE FROM organizations`)
	_, err := f.ProviderByMailDomain(t.Context(), "sso.example")
	wantCode(t, err, fault.NotFound)
}

// TestRenamingIgnoresSharedMailDomains: mail domains are checked against other organizations only when
// they change.
func TestRenamingIgnoresSharedMailDomains(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.exec(t, `UPDATE organizations SET mail_domains = '{example.com}'`) // Older data may contain such duplicates.
	name := "紡ホールディングス"
	after, err := f.EditOrganization(t.Context(), f.a, &name, nil, org.Operator("root"))
	if err != nil || after.Name != name || !equal(after.MailDomains, "example.com") {
		t.Errorf("renamed: %+v, %v", after, err)
	}
	_, err = f.EditOrganization(t.Context(), f.a, nil, []string{"example.com", "example.jp"}, org.Operator("root"))
	wantCode(t, err, fault.Conflict)
	after, err = f.EditOrganization(t.Context(), f.a, nil, []string{"example.jp"}, org.Operator("root"))
	if err != nil || !equal(after.MailDomains, "example.jp") {
		t.Errorf("given up: %+v, %v", after, err)
	}
}

// TestFormerAdministratorsChangeNothing: an administrator who has lost the role since the call was authenticated is
// refused.
func TestFormerAdministratorsChangeNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, actor, editor := t.Context(), f.annIn(newID(), identity.AuthCognito, time.Now()), f.admin(t, f.ann)
	saved := f.save(t, editor, f.saving("スキル", skill.AudienceOrganization))
	f.exec(t, `UPDATE users SET role = $2 WHERE id = $1`, f.ann.UserID, identity.RoleGeneralUser)
	for name, call := range map[string]func() error{
		"SetPersonalTokens": func() error { return f.SetPersonalTokens(ctx, actor, false) },
		"EndConnection":     func() error { return f.EndConnection(ctx, actor, newID(), true) },
		"EndShare":          func() error { return f.EndShare(ctx, f.a, newID(), nil, editor.By) },
		"SaveSkill": func() error {
			_, err := f.SaveSkill(ctx, editor, uuid.Nil, f.saving("別のスキル", skill.AudienceOrganization))
			return err
		},
		"SetArchived": func() error {
			_, err := f.SetArchived(ctx, editor, saved.ID, true)
			return err
		},
		"DecideRequest": func() error { return f.DecideRequest(ctx, editor, newID(), skill.Decision{Approve: true}) },
		"HideSkill":     func() error { return f.HideSkill(ctx, editor, f.skills[0].ID, true) },
		"CreateCategory": func() error {
			_, err := f.CreateCategory(ctx, editor, "分類")
			return err
		},
		"RemoveInstallation": func() error { return f.RemoveInstallation(ctx, editor.By, f.a, "slack") },
		"RemoveMemberLink":   func() error { return f.RemoveMemberLink(ctx, editor.By, f.a, f.bob.UserID, "slack") },
	} {
		if err := call(); fault.CodeOf(err) != fault.Forbidden {
			t.Errorf("%s: %v", name, err)
		}
	}
}
