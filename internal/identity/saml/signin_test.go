package saml_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	crewjam "github.com/crewjam/saml"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml/samltest"
)

func TestSignInAddsTheMember(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	session, err := f.signIn("n-dora", "Dora@corp.example", "  堂本  ドラ ")
	if err != nil || session.IDToken == "" || session.RefreshToken == "" || session.ClientID != clientID {
		t.Fatalf("got %+v, %v", session, err)
	}
	const where = ` FROM users WHERE email = 'dora@corp.example' AND organization_id = $1`
	if got := value[string](f, `SELECT name || '/' || role || '/' || auth_type || '/' || state`+where,
		f.org); got != "堂本 ドラ/general-user/federated_idp/active" {
		t.Errorf("got %s", got)
	}
	if got := value[string](f, `SELECT action || '/' || actor_email || '/' || host(address) || '/' || request_id FROM audit_events WHERE action LIKE 'member.%'`); got != "member.provision/dora@corp.example/192.0.2.7/r1" {
		t.Errorf("audit: %s", got)
	}
	refreshed, err := f.saml.Refresh(t.Context(), clientID, session.RefreshToken)
	if err != nil || refreshed.IDToken == "" || refreshed.RefreshToken != "" {
		t.Errorf("refreshed: %+v, %v", refreshed, err)
	}
	for _, c := range [][2]string{
		{"web", session.RefreshToken},
		{clientID, "x" + session.RefreshToken},
		{clientID, ""},
	} {
		if _, err := f.saml.Refresh(t.Context(), c[0], c[1]); fault.CodeOf(err) != fault.Unauthenticated {
			t.Errorf("refreshed for %s: %v", c[0], err)
		}
	}
	// The same person is recognized by the NameID alone, whatever the address.
	if _, err := f.signIn("n-dora", "dora.married@corp.example", "別の名前"); err != nil {
		t.Fatal(err)
	}
	if n := value[int](f, `SELECT count(*) FROM users WHERE organization_id = $1`, f.org); n != 3 {
		t.Errorf("%d members", n)
	}
	f.exec(`UPDATE users SET state = 'inactive' WHERE email = 'dora@corp.example'`)
	if _, err := f.signIn("n-dora", "dora@corp.example", "堂本"); fault.CodeOf(err) != saml.CodeInactive {
		t.Errorf("inactive: %v", err)
	}
}

func TestR57_StatesAndCodesAreUsedOnceInTheBrowserThatBegan(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	respond := func(b begun) []byte { return f.forge(b.request.ID, "n1", "alice@corp.example", "アリス").bytes(t) }
	post := func(organizationID uuid.UUID, browser, relayState string, response []byte) (saml.Outcome, error) {
		return f.saml.Consume(t.Context(), saml.Posted{
			OrganizationID: organizationID, Browser: browser, RelayState: relayState,
			Response: base64.StdEncoding.EncodeToString(response),
		})
	}
	b, other := f.begin("/home/thread"), f.begin("")
	elsewhere := f.organization("elsewhere.example")
	for name, refused := range map[string]func() (saml.Outcome, error){
		"another browser": func() (saml.Outcome, error) {
			return post(f.org, other.Browser, b.relayState,
				respond(b))
		},
		"no cookie":          func() (saml.Outcome, error) { return post(f.org, "", b.relayState, respond(b)) },
		"no state":           func() (saml.Outcome, error) { return post(f.org, b.Browser, "", respond(b)) },
		"begun by the other": func() (saml.Outcome, error) { return post(f.org, b.Browser, "/home", respond(b)) },
		"another organization": func() (saml.Outcome, error) {
			return post(elsewhere, b.Browser, b.relayState,
				respond(b))
		},
	} {
		if _, err := refused(); fault.CodeOf(err) != saml.CodeState {
			t.Errorf("%s: %v", name, err)
		}
	}
	response := respond(b)
	outcome, err := f.post(b, response)
	must(t, err)
	if _, err := f.post(b, response); fault.CodeOf(err) != saml.CodeState {
		t.Errorf("a state twice: %v", err)
	}
	if _, err := f.post(other, response); fault.CodeOf(err) != saml.CodeResponse {
		t.Errorf("a response for another sign-in: %v", err)
	}
	for name, c := range map[string]struct {
		organizationID uuid.UUID
		code, browser  string
	}{
		"another browser": {f.org, outcome.Code, other.Browser}, "no cookie": {f.org, outcome.Code, ""},
		"another organization": {elsewhere, outcome.Code, b.Browser},
		"another code":         {f.org, "x" + outcome.Code, b.Browser},
	} {
		if _, err := f.saml.Exchange(t.Context(), c.organizationID, c.code,
			c.browser); fault.CodeOf(err) != saml.CodeState {
			t.Errorf("%s: %v", name, err)
		}
	}
	session, err := f.saml.Exchange(t.Context(), f.org, outcome.Code, b.Browser)
	if err != nil || session.Next != "/home/thread" {
		t.Fatalf("got %+v, %v", session, err)
	}
	if _, err := f.saml.Exchange(t.Context(), f.org, outcome.Code, b.Browser); fault.CodeOf(err) != saml.CodeState {
		t.Errorf("a code twice: %v", err)
	}

	late := f.begin("")
	outcome, err = f.post(late, respond(late))
	must(t, err)
	f.clock.pass(saml.CodeLifetime)
	if _, err := f.saml.Exchange(t.Context(), f.org, outcome.Code, late.Browser); fault.CodeOf(err) != saml.CodeState {
		t.Errorf("a code after a minute: %v", err)
	}
	late = f.begin("")
	f.clock.pass(saml.StateLifetime)
	if _, err := f.post(late, respond(late)); fault.CodeOf(err) != saml.CodeState {
		t.Errorf("a state after ten minutes: %v", err)
	}
}

// TestR57_CodesAndAssertionsRace uses each one concurrently: exactly one use succeeds.
func TestR57_CodesAndAssertionsRace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	use := saml.Use{OrganizationID: f.org, EntityID: "idp", AssertionID: "a", ExpiresAt: time.Now().Add(time.Hour)}
	b := f.begin("")
	outcome, err := f.post(b, f.forge(b.request.ID, "n1", "alice@corp.example", "アリス").bytes(t))
	must(t, err)
	var used, exchanged counter
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { used.count(f.db.UseAssertion(t.Context(), use, time.Now()), fault.Conflict) })
		all.Go(func() {
			_, err := f.saml.Exchange(t.Context(), f.org, outcome.Code, b.Browser)
			exchanged.count(err, saml.CodeState)
		})
	}
	all.Wait()
	if used.good != 1 || used.odd != nil || exchanged.good != 1 || exchanged.odd != nil {
		t.Errorf("assertions %d, %v, codes %d, %v", used.good, used.odd, exchanged.good, exchanged.odd)
	}
}

// counter counts the results of concurrent attempts.
type counter struct {
	mu   sync.Mutex
	good int
	odd  error
}

func (c *counter) count(err error, refused fault.Code) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.good++
	case fault.CodeOf(err) != refused:
		c.odd = err
	}
}

// TestAnyServerCompletesASignIn runs each step of a sign-in on another server.
func TestAnyServerCompletesASignIn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	users, err := pool.New(t.Context(), pool.Config{
		PoolID: "ap-northeast-1_Test", ClientID: "web", FederatedClientID: clientID,
		Issuer: publicURL + "/pool/ap-northeast-1_Test",
	}, f.db)
	must(t, err)
	other := saml.New(saml.Config{PublicURL: publicURL, ClientID: clientID}, f.db, users)
	b := f.begin("")
	outcome, err := other.Consume(t.Context(), saml.Posted{
		OrganizationID: f.org, Browser: b.Browser, RelayState: b.relayState,
		Response: base64.StdEncoding.EncodeToString(f.forge(b.request.ID, "n1", "alice@corp.example", "アリス").bytes(t)),
	})
	must(t, err)
	session, err := f.saml.Exchange(t.Context(), f.org, outcome.Code, b.Browser)
	must(t, err)
	if _, err := other.Refresh(t.Context(), clientID, session.RefreshToken); err != nil {
		t.Error(err)
	}
}

func TestReplayedAssertionIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.begin("")
	response := f.forge(b.request.ID, "n1", "alice@corp.example", "アリス").bytes(t)
	_, err := f.post(b, response)
	must(t, err)
	// As if an attacker with write access to the database restored the state: the assertion itself was recorded as
	// used.
	again := f.begin("")
	f.exec(`UPDATE saml_states SET request_id = $1`, b.request.ID)
	if _, err := f.post(again, response); fault.CodeOf(err) != saml.CodeResponse ||
		!strings.Contains(err.Error(), "used before") {
		t.Errorf("got %v", err)
	}
}

func TestR58_AddressesAreLinkedByTheRules(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := f.organization("other.example")
	f.exec(`UPDATE organizations SET mail_domains = '{corp.example,sub.corp.example,shared.example}' WHERE id = $1`,
		f.org)
	f.exec(`UPDATE saml_configs SET email_domains = '{corp.example,shared.example,dropped.example}' WHERE organization_id = $1`, f.org)
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
		{"of a member who has another NameID", "password@corp.example", saml.CodeLinked, ""},
		{"of an administrator without a password", "without@corp.example", saml.CodeNoPassword, ""},
		{"another case", "Seen@corp.example", saml.CodeNotLinked, ""},
		{"another case of a member with a password", "ALICE@corp.example", saml.CodeNotLinked, ""},
		{"another case of an invitation", "Invited@Corp.example", "", "member.link"},
		{"inactive", "off@corp.example", saml.CodeInactive, ""},
		{"of another organization", "foreign@shared.example", saml.CodeNotLinked, ""},
		{"nobody's", "new@shared.example", "", "member.provision"},
		{"of another domain", "alice@evil.example", saml.CodeAddress, ""},
		{"of a domain that was not chosen", "alice@sub.corp.example", saml.CodeAddress, ""},
		{"of a domain that operators took away", "alice@dropped.example", saml.CodeAddress, ""},
		{"of a longer domain", "alice@corp.example.evil.example", saml.CodeAddress, ""},
		{"of a domain below", "alice@x.corp.example", saml.CodeAddress, ""},
		{"look-alike letter", "аlice@corp.example", saml.CodeAddress, ""}, // A Cyrillic а.
		{"full width", "ａlice@corp.example", saml.CodeAddress, ""},
		{"Kelvin sign", "\u212Aen@corp.example", saml.CodeAddress, ""}, // strings.ToLower makes it a k.
		{"Turkish i", "al\u0130ce@corp.example", saml.CodeAddress, ""},
		{"look-alike domain", "alice@cоrp.example", saml.CodeAddress, ""},
		{"two addresses in one", "alice@evil.example,alice@corp.example", saml.CodeAddress, ""},
		{"two at signs", "alice@evil.example@corp.example", saml.CodeAddress, ""},
		{"a name before it", "Alice <alice@corp.example>", saml.CodeAddress, ""},
		{"quoted", `"alice"@corp.example`, saml.CodeAddress, ""},
		{"space within", "ali ce@corp.example", saml.CodeAddress, ""},
		{"comment within", "alice(x)@corp.example", saml.CodeAddress, ""},
		{"no-break space before it", "\u00a0alice@corp.example", saml.CodeAddress, ""},
		{"full-width space after it", "alice@corp.example\u3000", saml.CodeAddress, ""},
		{"line separator after it", "alice@corp.example\u2028", saml.CodeAddress, ""},
		{"no address", "", saml.CodeAddress, ""},
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
			SELECT string_agg(concat_ws(' ', action, actor_kind, host(address), details->0->>'after'), ',') FROM audit_events WHERE sign_in`)
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

// TestR58_InvitationIsUsedOnce: a member who has signed in by an invitation keeps the link, even if the app was never
// opened.
func TestR58_InvitationIsUsedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.member(f.org, "invited@corp.example", identity.RoleGeneralUser, identity.AuthFederated)
	_, err := f.signIn("n1", "invited@corp.example", "招待 された")
	must(t, err)
	if _, err := f.signIn("n2", "Invited@corp.example", "別人"); fault.CodeOf(err) != saml.CodeNotLinked {
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

// TestR58_AddressAsNameID has no attributes: the NameID is the address and, if it is transient, the address is what a
// person is recognized by.
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
	if got := value[string](f, `SELECT u.email || '/' || u.name FROM users u JOIN federated_identities i ON i.user_id = u.id`); got != "new.person@corp.example/New.Person" {
		t.Errorf("got %s", got)
	}
	_, err = f.saml.Change(t.Context(), f.admin, saml.Change{EmailAttribute: new(samltest.EmailAttribute)})
	must(t, err)
	b := f.begin("")
	r := f.forge(b.request.ID, "n2", "a@corp.example", "x")
	r.assertion.AttributeStatements[0].Attributes[0].Values = append(r.assertion.AttributeStatements[0].Attributes[0].Values, crewjam.AttributeValue{Value: "b@corp.example"})
	if _, err := f.post(b, r.bytes(t)); fault.CodeOf(err) != saml.CodeAddress {
		t.Errorf("two addresses: %v", err)
	}
}

// TestR58_NameIDsOfOneMember: at many identity providers people choose what their NameID is made of.
func TestR58_NameIDsOfOneMember(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.signIn("n1", "alice@corp.example", "アリス")
	must(t, err)
	b := f.begin("") // A person recognized by the address.
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
		"別人"); fault.CodeOf(err) != saml.CodeResponse {
		t.Errorf("the key of somebody whose NameID is transient: %v", err)
	}
	if n := value[int](f, `SELECT count(DISTINCT user_id) FROM federated_identities`); n != 5 {
		t.Errorf("five people are %d members", n)
	}
}

// TestR58_AnAccountAfterItsMember: a member who gets the account of a removed member gets none of that member's
// sessions, and the removed one gets none of the new member's.
func TestR58_AnAccountAfterItsMember(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	old, err := f.signIn("n1", "new@corp.example", "前任")
	must(t, err)
	f.exec(`DELETE FROM users WHERE email = 'new@corp.example'`) // The account itself is deleted later.
	current, err := f.signIn("n2", "new@corp.example", "後任")
	must(t, err)
	if _, err := f.saml.Refresh(t.Context(), clientID, old.RefreshToken); fault.CodeOf(err) != fault.Unauthenticated {
		t.Errorf("the removed member goes on as the new one: %v", err)
	}
	_, err = f.saml.Refresh(t.Context(), clientID, current.RefreshToken)
	must(t, err)
}

// TestLookAlikeNames: at many identity providers people choose their own names.
func TestLookAlikeNames(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i, name := range []string{"理\u202e管", "\u2066管理", "管\u200f理", "管\x7f理", "  "} {
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
			added.count(err, saml.CodeNoSeat)
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

// TestR58_OnePersonTwice signs a new person in in two tabs at once.
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
				_, err = f.saml.Exchange(t.Context(), f.org, outcome.Code, b.Browser)
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

func TestSignInNeedsTheSettingsInUse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.begin("")
	_, err := f.saml.TurnOff(t.Context(), f.admin)
	must(t, err)
	if _, err := f.post(b, f.forge(b.request.ID, "n1", "alice@corp.example",
		"アリス").bytes(t)); fault.CodeOf(err) != saml.CodeDisabled {
		t.Errorf("switched off meanwhile: %v", err)
	}
	_, err = f.saml.TurnOn(t.Context(), f.admin)
	must(t, err)
	b = f.begin("")
	outcome, err := f.post(b, f.forge(b.request.ID, "n1", "alice@corp.example", "アリス").bytes(t))
	must(t, err)
	_, err = f.saml.TurnOff(t.Context(), f.admin)
	must(t, err)
	if _, err := f.saml.Exchange(t.Context(), f.org, outcome.Code, b.Browser); fault.CodeOf(err) != saml.CodeState {
		t.Errorf("a code from before it was switched off: %v", err)
	}
	f.exec(`UPDATE saml_configs SET certificates = '{}'`)
	incomplete := f.organization("bare.example")
	f.exec(`UPDATE organizations SET auth_type = 'federated_idp' WHERE id = $1`, incomplete) // As an operator can.
	for _, organizationID := range []uuid.UUID{f.org, incomplete, uuid.New()} {
		if _, err := f.saml.Begin(t.Context(), organizationID, "", ""); fault.CodeOf(err) != saml.CodeDisabled {
			t.Errorf("got %v", err)
		}
	}
}

// TestR45_MemberDeactivatedDuringSignIn: a member who is deactivated between the identity provider's response and the
// exchange gets no tokens.
func TestR45_MemberDeactivatedDuringSignIn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.begin("")
	outcome, err := f.post(b, f.forge(b.request.ID, "n1", "alice@corp.example", "アリス").bytes(t))
	must(t, err)
	f.exec(`UPDATE users SET state = 'inactive' WHERE id = $1`, f.alice.ID)
	if _, err := f.saml.Exchange(t.Context(), f.org, outcome.Code, b.Browser); fault.CodeOf(err) != saml.CodeState {
		t.Errorf("got %v", err)
	}
}

// TestR61_SettingsAreASuperAdmins: an actor who was demoted during the request cannot change the settings.
func TestR61_SettingsAreASuperAdmins(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, change := range []string{
		`role = 'organization-admin'`,
		`role = 'organization-super-admin', state = 'inactive'`,
	} {
		f.exec(`UPDATE users SET `+change+` WHERE id = $1`, f.admin.ID)
		if _, err := f.saml.TurnOff(t.Context(), f.admin); fault.CodeOf(err) != fault.Forbidden {
			t.Errorf("%s: %v", change, err)
		}
		if _, err := f.saml.Change(t.Context(), f.admin, saml.Change{NameAttribute: new("cn")}); fault.CodeOf(err) != fault.Forbidden {
			t.Errorf("%s: %v", change, err)
		}
	}
}

func TestMemberWhoseAccountIsBeingCreated(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.member(f.org, "invited@corp.example", identity.RoleGeneralUser, identity.AuthFederated)
	f.exec(`UPDATE users SET subject = 'invite:x' WHERE email = 'invited@corp.example'`)
	if _, err := f.signIn("n1", "invited@corp.example", "名前"); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("got %v", err)
	}
	f.exec(`UPDATE users SET subject = gen_random_uuid() WHERE email = 'invited@corp.example'`)
	if _, err := f.signIn("n1", "invited@corp.example", "名前"); err != nil {
		t.Error(err)
	}
}

// TestRefusalsAreLoggedWithoutTheAssertion checks that the log contains nothing of a response.
func TestRefusalsAreLoggedWithoutTheAssertion(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var logged strings.Builder
	f.saml = saml.New(saml.Config{
		PublicURL: publicURL, Clock: f.clock.now, Logger: slog.New(slog.NewTextHandler(&logged, nil)),
	}, f.db, nil)
	for _, spoil := range []func(r *forged){
		func(r *forged) { r.signAssertion = false },
		func(r *forged) { r.response.Status.StatusCode.Value = crewjam.StatusAuthnFailed },
		func(r *forged) { r.response.Destination = "https://secret.example" },
		func(r *forged) { r.assertion.AttributeStatements = nil },
		func(r *forged) { r.assertion.Conditions = nil },
	} {
		b := f.begin("")
		r := f.forge(b.request.ID, "secret-name-id", "secret@corp.example", "秘密")
		spoil(r)
		_, err := f.post(b, r.bytes(t))
		if err == nil || strings.Contains(fault.DetailOf(err), "secret") {
			t.Errorf("got %v", err)
		}
		if why := errors.Unwrap(err); why == nil || strings.Contains(why.Error(), "secret") {
			t.Errorf("the cause is %v", why)
		}
	}
	if lines := logged.String(); strings.Count(lines, "single sign-on refused") != 5 ||
		strings.Contains(lines, "secret") || strings.Contains(lines, "<") {
		t.Errorf("logged:\n%s", lines)
	}
}

// FuzzR51_SignedResponses replaces a part of a valid response. The response is made anew for each input, because it
// expires soon.
func FuzzR51_SignedResponses(f *testing.F) {
	idp, err := samltest.New(samltest.Config{URL: "https://idp.example"})
	must(f, err)
	x := &fixture{idp: idp, org: uuid.New()}
	settings := saml.Settings{
		OrganizationID: x.org, EntityID: idp.EntityID(),
		Certificates: [][]byte{idp.Certificate.Raw},
	}
	service := saml.New(saml.Config{PublicURL: publicURL}, nil, nil)
	f.Add(uint16(0), uint16(0), []byte(nil), false)
	f.Add(uint16(300), uint16(10), []byte("<x/>"), true)
	f.Add(uint16(700), uint16(0), []byte("<!-- -->"), true)
	f.Fuzz(func(t *testing.T, at, length uint16, insert []byte, both bool) {
		r := x.forge(requestID, "signed", "alice@corp.example", "アリス")
		r.signResponse = both
		good := r.bytes(t)
		begin := int(at) % len(good)
		end := min(begin+int(length), len(good))
		spoilt := slices.Concat(good[:begin], insert, good[end:])
		nameID, attributes, err := service.Verify(settings, requestID, spoilt)
		if err == nil && (nameID != "signed" || len(attributes) != 2 ||
			attributes[0].Values[0] != "alice@corp.example") {
			t.Errorf("%q, %v were accepted", nameID, attributes)
		}
	})
}

// TestSessionsEndWhenTheProviderSaysSo, refreshed or not.
func TestSessionsEndWhenTheProviderSaysSo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sign := func(ends ...time.Duration) (saml.Session, error) {
		b := f.begin("")
		r := f.forge(b.request.ID, "n1", "new@corp.example", "名前")
		first := r.assertion.AuthnStatements[0]
		r.assertion.AuthnStatements = nil
		for _, end := range ends {
			statement := first
			statement.SessionNotOnOrAfter = new(f.clock.now().Add(end))
			r.assertion.AuthnStatements = append(r.assertion.AuthnStatements, statement)
		}
		outcome, err := f.post(b, r.bytes(t))
		if err != nil {
			return saml.Session{}, err
		}
		return f.saml.Exchange(t.Context(), f.org, outcome.Code, b.Browser)
	}
	session, err := sign(2*time.Hour, 30*time.Minute)
	must(t, err)
	if session.ExpiresIn > 1800 || session.ExpiresIn < 1780 {
		t.Errorf("the tokens hold for %d s", session.ExpiresIn)
	}
	if left := value[int](f, `SELECT round(extract(epoch FROM max(expires_at) - now()))::int FROM pool_grants`); left > 1800 || left < 1780 {
		t.Errorf("the session lasts for %d s", left)
	}
	_, err = f.saml.Refresh(t.Context(), clientID, session.RefreshToken)
	must(t, err)
	f.exec(`UPDATE pool_grants SET auth_time = auth_time - interval '1 hour', expires_at = expires_at - interval '31 minutes'`)
	if _, err := f.saml.Refresh(t.Context(), clientID, session.RefreshToken); fault.CodeOf(err) != fault.Unauthenticated {
		t.Errorf("refreshed after its end: %v", err)
	}
	if _, err := sign(-time.Minute); fault.CodeOf(err) != saml.CodeResponse {
		t.Errorf("a session that is over: %v", err)
	}
}
