package saml_test

import (
	"fmt"
	"sync"
	"testing"

	crewjam "github.com/crewjam/saml"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml/samltest"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
)

func TestR58_AddressesAreLinkedByTheRules(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := f.organization("other.example")
	f.exec(`UPDATE organizations SET mail_domains = '{corp.example,sub.corp.example,shared.example}' WHERE id = $1`,
		f.org)
	f.exec(
		`UPDATE saml_configs SET email_domains = '{corp.example,shared.example,dropped.example}'
			WHERE organization_id = $1`,
		f.org,
	)
	f.member(f.org, "password@corp.example", identity.RoleGeneralUser, identity.AuthCognito)
	f.member(f.org, "invited@corp.example", identity.RoleGeneralUser, identity.AuthFederated)
	f.member(f.org, "without@corp.example", identity.RoleOrganizationAdmin, identity.AuthFederated)
	f.member(f.org, "seen@corp.example", identity.RoleGeneralUser, identity.AuthFederated)
	f.member(f.org, "off@corp.example", identity.RoleGeneralUser, identity.AuthCognito)
	f.member(other, "foreign@shared.example", identity.RoleGeneralUser, identity.AuthCognito)
	f.exec(`UPDATE users SET last_signed_in_at = now() WHERE email = 'seen@corp.example'`)
	f.exec(`UPDATE users SET state = 'inactive' WHERE email = 'off@corp.example'`)
	for _, c := range []struct {
		name, email string
		code        fault.Code
		action      string // In the audit log.
	}{
		{"exactly a member's", "password@corp.example", "", "member.link"},
		{"of a member who has another NameID", "password@corp.example", sso.CodeLinked, ""},
		{"of an administrator without a password", "without@corp.example", sso.CodeNoPassword, ""},
		{"another case", "Seen@corp.example", sso.CodeNotLinked, ""},
		{"another case of a member with a password", "ALICE@corp.example", sso.CodeNotLinked, ""},
		{"another case of an invitation", "Invited@Corp.example", "", "member.link"},
		{"inactive", "off@corp.example", sso.CodeInactive, ""},
		{"of another organization", "foreign@shared.example", sso.CodeNotLinked, ""},
		{"nobody's", "new@shared.example", "", "member.provision"},
		{"of another domain", "alice@evil.example", sso.CodeAddress, ""},
		{"of a domain that was not chosen", "alice@sub.corp.example", sso.CodeAddress, ""},
		{"of a domain that operators took away", "alice@dropped.example", sso.CodeAddress, ""},
		{"of a longer domain", "alice@corp.example.evil.example", sso.CodeAddress, ""},
		{"of a domain below", "alice@x.corp.example", sso.CodeAddress, ""},
		{"look-alike letter", "аlice@corp.example", sso.CodeAddress, ""}, // A Cyrillic а.
		{"full width", "ａlice@corp.example", sso.CodeAddress, ""},
		{"Kelvin sign", "\u212Aen@corp.example", sso.CodeAddress, ""}, // strings.ToLower makes it a k.
		{"Turkish i", "al\u0130ce@corp.example", sso.CodeAddress, ""},
		{"look-alike domain", "alice@cоrp.example", sso.CodeAddress, ""},
		{"two addresses in one", "alice@evil.example,alice@corp.example", sso.CodeAddress, ""},
		{"two at signs", "alice@evil.example@corp.example", sso.CodeAddress, ""},
		{"a name before it", "Alice <alice@corp.example>", sso.CodeAddress, ""},
		{"quoted", `"alice"@corp.example`, sso.CodeAddress, ""},
		{"space within", "ali ce@corp.example", sso.CodeAddress, ""},
		{"comment within", "alice(x)@corp.example", sso.CodeAddress, ""},
		{"no-break space before it", "\u00a0alice@corp.example", sso.CodeAddress, ""},
		{"full-width space after it", "alice@corp.example\u3000", sso.CodeAddress, ""},
		{"line separator after it", "alice@corp.example\u2028", sso.CodeAddress, ""},
		{"no address", "", sso.CodeAddress, ""},
	} {
		f.exec(`DELETE FROM audit_events`)
		_, err := f.signIn("n-"+c.name, c.email, "名前")
		if fault.CodeOf(err) != c.code {
			t.Errorf("%s: %v", c.name, err)
		}
		told := value[string](f, `SELECT coalesce(string_agg(action, ','), '') FROM audit_events WHERE NOT sign_in`)
		if told != c.action {
			t.Errorf("%s: the audit log tells of %q", c.name, told)
		}
		begun := value[string](f, `
			SELECT string_agg(concat_ws(' ', action, actor_kind, host(address), details->0->>'after'), ',')
			FROM audit_events WHERE sign_in`)
		want := "session.begin user sso" // Its address is that of the exchange.
		if c.code != "" {
			want = "session.fail unknown 192.0.2.7 sso"
		}
		if begun != want {
			t.Errorf("%s: the audit log tells of a sign-in %q, want %q", c.name, begun, want)
		}
	}
	if n := value[int](f, `SELECT count(*) FROM federated_identities`); n != 3 {
		t.Errorf("%d people are linked", n)
	}
}

// TestLockedOrganizationsGetNoMembers: while an organization is being deleted, its members cannot
// sign in, and single sign-on creates no members.
func TestLockedOrganizationsGetNoMembers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.member(f.org, "known@corp.example", identity.RoleGeneralUser, identity.AuthFederated)
	f.exec(`UPDATE organizations SET deletes_at = now() + interval '1 day' WHERE id = $1`, f.org)
	before := value[int](f, `SELECT count(*) FROM users`)
	for _, email := range []string{"known@corp.example", "new@corp.example"} {
		if _, err := f.signIn("n-"+email, email, "名前"); fault.CodeOf(err) != sso.CodeInactive {
			t.Errorf("%s: %v", email, err)
		}
	}
	if n := value[int](f, `SELECT count(*) FROM users`) - before; n != 0 {
		t.Errorf("%d members are added", n)
	}
}

// TestR58_InvitationIsUsedOnce: a member who has signed in by an invitation keeps the link, even if they never opened
// the app.
func TestR58_InvitationIsUsedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.member(f.org, "invited@corp.example", identity.RoleGeneralUser, identity.AuthFederated)
	_, err := f.signIn("n1", "invited@corp.example", "招待 された")
	must(t, err)
	if _, err := f.signIn("n2", "Invited@corp.example", "別人"); fault.CodeOf(err) != sso.CodeNotLinked {
		t.Errorf("another spelling took the account over: %v", err)
	}
	_, err = f.signIn("n1", "invited@corp.example", "招待 された")
	must(t, err)
}

func TestR58_RolesNeverComeFromTheAssertion(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.begin("")
	r := f.forge(b.request.ID, "n1", "new@corp.example", "名前")
	for _, name := range []string{"role", "Role", "groups", "https://tsumugi.example/role", "organization_id"} {
		r.assertion.AttributeStatements[0].Attributes = append(r.assertion.AttributeStatements[0].Attributes,
			crewjam.Attribute{
				Name: name, Values: []crewjam.AttributeValue{{Type: "xs:string", Value: "organization-super-admin"}},
			})
	}
	_, err := f.post(b, r.bytes(t))
	must(t, err)
	if role := value[string](f, `SELECT role FROM users WHERE email = 'new@corp.example'`); role != "general-user" {
		t.Errorf("got %s", role)
	}
}

// TestR58_AddressAsNameID has no attributes: the NameID is the address. If the NameID is transient, the address
// identifies the person.
func TestR58_AddressAsNameID(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.saml.Change(t.Context(), f.admin, saml.Change{EmailAttribute: new(""), NameAttribute: new("")})
	must(t, err)
	for range 2 {
		b := f.begin("")
		r := f.forge(b.request.ID, "New.Person@corp.example", "x", "x")
		r.assertion.Subject.NameID.Format, r.assertion.AttributeStatements = string(crewjam.TransientNameIDFormat), nil
		_, err := f.post(b, r.bytes(t))
		must(t, err)
	}
	if got := value[string](f,
		`SELECT u.email || '/' || u.name FROM users u
			JOIN federated_identities i ON i.user_id = u.id`); got != "new.person@corp.example/New.Person" {
		t.Errorf("got %s", got)
	}
	_, err = f.saml.Change(t.Context(), f.admin, saml.Change{EmailAttribute: new(samltest.EmailAttribute)})
	must(t, err)
	b := f.begin("")
	r := f.forge(b.request.ID, "n2", "a@corp.example", "x")
	r.assertion.AttributeStatements[0].Attributes[0].Values = append(
		r.assertion.AttributeStatements[0].Attributes[0].Values, crewjam.AttributeValue{Value: "b@corp.example"},
	)
	if _, err := f.post(b, r.bytes(t)); fault.CodeOf(err) != sso.CodeAddress {
		t.Errorf("two addresses: %v", err)
	}
}

// TestR58_NameIDsOfOneMember: at many identity providers people can choose the source of their NameID.
func TestR58_NameIDsOfOneMember(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.signIn("n1", "alice@corp.example", "アリス")
	must(t, err)
	b := f.begin("") // A person identified by the address.
	r := f.forge(b.request.ID, "t1", "transient@corp.example", "一時")
	r.assertion.Subject.NameID.Format = string(crewjam.TransientNameIDFormat)
	_, err = f.post(b, r.bytes(t))
	must(t, err)
	for i, nameID := range []string{"n1\u3000", "\u00a0n1", "N1"} {
		if _, err := f.signIn(nameID, fmt.Sprintf("mallory%d@corp.example", i), "別人"); err != nil {
			t.Errorf("%q: %v", nameID, err)
		}
	}
	if _, err := f.signIn("email:transient@corp.example", "eve@corp.example",
		"別人"); fault.CodeOf(err) != sso.CodeResponse {
		t.Errorf("the key of somebody whose NameID is transient: %v", err)
	}
	if n := value[int](f, `SELECT count(DISTINCT user_id) FROM federated_identities`); n != 5 {
		t.Errorf("five people are %d members", n)
	}
}

// TestR58_AnAccountAfterItsMember: a member who receives the account of a removed member does not receive that member's
// sessions, and vice versa.
func TestR58_AnAccountAfterItsMember(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	old, err := f.signIn("n1", "new@corp.example", "前任")
	must(t, err)
	f.exec(`DELETE FROM users WHERE email = 'new@corp.example'`) // The account itself is deleted later.
	current, err := f.signIn("n2", "new@corp.example", "後任")
	must(t, err)
	if _, err := f.sso.Refresh(t.Context(), clientID, old.RefreshToken); fault.CodeOf(err) != fault.Unauthenticated {
		t.Errorf("the removed member goes on as the new one: %v", err)
	}
	_, err = f.sso.Refresh(t.Context(), clientID, current.RefreshToken)
	must(t, err)
}

// TestLookAlikeNames: at many identity providers people choose their own names.
func TestLookAlikeNames(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i, name := range []string{"理\u202e管", "\u2066管理", "管\u200f理", "管\x7f理", "  ", "管\u2029理", "\u3164"} {
		email := fmt.Sprintf("new%d@corp.example", i)
		if _, err := f.signIn(email, email, name); err != nil {
			t.Fatal(err)
		}
		if got := value[string](f, `SELECT name FROM users WHERE email = $1`, email); got != fmt.Sprintf("new%d", i) {
			t.Errorf("%q is called %q", name, got)
		}
	}
}

func TestR58_SeatsLimitWhoIsAdded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.exec(`UPDATE contracts SET seats = 4 WHERE organization_id = $1`, f.org)
	var added counter
	var all sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d", "e"} { // For two free seats.
		b := f.begin("")
		response := f.forge(b.request.ID, name, name+"@corp.example", name).bytes(t)
		all.Go(func() {
			_, err := f.post(b, response)
			added.count(err, sso.CodeNoSeat)
		})
	}
	all.Wait()
	if n := value[int](f, `SELECT count(*) FROM users WHERE organization_id = $1`, f.org); added.good != 2 ||
		added.odd != nil || n != 4 {
		t.Errorf("%d members, %d added, %v", n, added.good, added.odd)
	}
	if _, err := f.signIn("alice", "alice@corp.example", "アリス"); err != nil {
		t.Errorf("a member needs no other seat: %v", err)
	}
}

// TestR58_OnePersonTwice signs in a new person in two tabs concurrently.
func TestR58_OnePersonTwice(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var signedIn counter
	var all sync.WaitGroup
	for range 4 {
		b := f.begin("")
		response := f.forge(b.request.ID, "twin", "twin@corp.example", "双子").bytes(t)
		all.Go(func() {
			outcome, err := f.post(b, response)
			if err == nil {
				_, err = f.sso.Exchange(t.Context(), f.org, outcome.Code, b.Browser)
			}
			signedIn.count(err, "")
		})
	}
	all.Wait()
	if n := value[int](f, `SELECT count(*) FROM pool_users WHERE email = 'twin@corp.example'`); signedIn.good != 4 ||
		n != 1 {
		t.Errorf("%d signed in, %v, %d accounts", signedIn.good, signedIn.odd, n)
	}
}
