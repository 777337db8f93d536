package saml_test

import (
	"encoding/base64"
	"errors"
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
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
	"github.com/tsumugi-ai/tsumugi/test/must"
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
	if got := value[string](f,
		`SELECT action || '/' || actor_email || '/' || host(address) || '/' || request_id FROM audit_events
			WHERE action LIKE 'member.%'`); got != "member.provision/dora@corp.example/192.0.2.7/r1" {
		t.Errorf("audit: %s", got)
	}
	refreshed, err := f.sso.Refresh(t.Context(), clientID, session.RefreshToken)
	if err != nil || refreshed.IDToken == "" || refreshed.RefreshToken != "" {
		t.Errorf("refreshed: %+v, %v", refreshed, err)
	}
	for _, c := range [][2]string{
		{"web", session.RefreshToken},
		{clientID, "x" + session.RefreshToken},
		{clientID, ""},
	} {
		if _, err := f.sso.Refresh(t.Context(), c[0], c[1]); fault.CodeOf(err) != fault.Unauthenticated {
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
	if _, err := f.signIn("n-dora", "dora@corp.example", "堂本"); fault.CodeOf(err) != sso.CodeInactive {
		t.Errorf("inactive: %v", err)
	}
}

func TestR57_StatesAndCodesAreUsedOnceInTheBrowserThatBegan(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	respond := func(b begun) []byte { return f.forge(b.request.ID, "n1", "alice@corp.example", "アリス").bytes(t) }
	post := func(organizationID uuid.UUID, browser, relayState string, response []byte) (sso.Outcome, error) {
		return f.saml.Consume(t.Context(), saml.ACSRequest{
			OrganizationID: organizationID, Browser: browser, RelayState: relayState,
			Response: base64.StdEncoding.EncodeToString(response),
		})
	}
	b, other := f.begin("/home/thread"), f.begin("")
	elsewhere := f.organization("elsewhere.example")
	for name, refused := range map[string]func() (sso.Outcome, error){
		"another browser": func() (sso.Outcome, error) {
			return post(f.org, other.Browser, b.relayState,
				respond(b))
		},
		"no cookie":          func() (sso.Outcome, error) { return post(f.org, "", b.relayState, respond(b)) },
		"no state":           func() (sso.Outcome, error) { return post(f.org, b.Browser, "", respond(b)) },
		"begun by the other": func() (sso.Outcome, error) { return post(f.org, b.Browser, "/home", respond(b)) },
		"another organization": func() (sso.Outcome, error) {
			return post(elsewhere, b.Browser, b.relayState,
				respond(b))
		},
	} {
		if _, err := refused(); fault.CodeOf(err) != sso.CodeState {
			t.Errorf("%s: %v", name, err)
		}
	}
	response := respond(b)
	outcome := must.Get(f.post(b, response))(t)
	if _, err := f.post(b, response); fault.CodeOf(err) != sso.CodeState {
		t.Errorf("a state twice: %v", err)
	}
	if _, err := f.post(other, response); fault.CodeOf(err) != sso.CodeResponse {
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
		if _, err := f.sso.Exchange(t.Context(), c.organizationID, c.code,
			c.browser); fault.CodeOf(err) != sso.CodeState {
			t.Errorf("%s: %v", name, err)
		}
	}
	session, err := f.sso.Exchange(t.Context(), f.org, outcome.Code, b.Browser)
	if err != nil || session.Next != "/home/thread" {
		t.Fatalf("got %+v, %v", session, err)
	}
	if _, err := f.sso.Exchange(t.Context(), f.org, outcome.Code, b.Browser); fault.CodeOf(err) != sso.CodeState {
		t.Errorf("a code twice: %v", err)
	}

	late := f.begin("")
	outcome, err = f.post(late, respond(late))
	must.Succeed(t, err)
	f.clock.pass(sso.CodeLifetime)
	if _, err := f.sso.Exchange(t.Context(), f.org, outcome.Code, late.Browser); fault.CodeOf(err) != sso.CodeState {
		t.Errorf("a code after a minute: %v", err)
	}
	late = f.begin("")
	f.clock.pass(sso.StateLifetime)
	if _, err := f.post(late, respond(late)); fault.CodeOf(err) != sso.CodeState {
		t.Errorf("a state after ten minutes: %v", err)
	}
}

// TestR57_CodesAndAssertionsRace uses each code and assertion concurrently: exactly one use succeeds.
func TestR57_CodesAndAssertionsRace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	use := saml.Use{OrganizationID: f.org, EntityID: "idp", AssertionID: "a", ExpiresAt: time.Now().Add(time.Hour)}
	b := f.begin("")
	outcome := must.Get(f.post(b, f.forge(b.request.ID, "n1", "alice@corp.example", "アリス").bytes(t)))(t)
	var used, exchanged counter
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { used.count(f.db.UseAssertion(t.Context(), use, time.Now()), fault.Conflict) })
		all.Go(func() {
			_, err := f.sso.Exchange(t.Context(), f.org, outcome.Code, b.Browser)
			exchanged.count(err, sso.CodeState)
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
	must.Succeed(t, err)
	shared := sso.New(sso.Config{PublicURL: publicURL, ClientID: clientID}, f.db, users)
	other := saml.New(f.providers, f.db, shared)
	b := f.begin("")
	outcome, err := other.Consume(t.Context(), saml.ACSRequest{
		OrganizationID: f.org, Browser: b.Browser, RelayState: b.relayState,
		Response: base64.StdEncoding.EncodeToString(f.forge(b.request.ID, "n1", "alice@corp.example", "アリス").bytes(t)),
	})
	must.Succeed(t, err)
	session := must.Get(f.sso.Exchange(t.Context(), f.org, outcome.Code, b.Browser))(t)
	if _, err := shared.Refresh(t.Context(), clientID, session.RefreshToken); err != nil {
		t.Error(err)
	}
}

func TestReplayedAssertionIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.begin("")
	response := f.forge(b.request.ID, "n1", "alice@corp.example", "アリス").bytes(t)
	must.Get(f.post(b, response))(t)
	// As if an attacker with write access to the database restored the state: the assertion itself was recorded as
	// used.
	again := f.begin("")
	f.exec(`UPDATE saml_states SET request_id = $1`, b.request.ID)
	if _, err := f.post(again, response); fault.CodeOf(err) != sso.CodeResponse ||
		!strings.Contains(err.Error(), "used before") {
		t.Errorf("got %v", err)
	}
}

func TestSignInNeedsTheSettingsInUse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.begin("")
	must.Get(f.saml.TurnOff(t.Context(), f.admin))(t)
	if _, err := f.post(b, f.forge(b.request.ID, "n1", "alice@corp.example",
		"アリス").bytes(t)); fault.CodeOf(err) != sso.CodeDisabled {
		t.Errorf("switched off meanwhile: %v", err)
	}
	must.Get(f.saml.TurnOn(t.Context(), f.admin))(t)
	b = f.begin("")
	outcome, err := f.post(b, f.forge(b.request.ID, "n1", "alice@corp.example", "アリス").bytes(t))
	must.Succeed(t, err)
	_, err = f.saml.TurnOff(t.Context(), f.admin)
	must.Succeed(t, err)
	if _, err := f.sso.Exchange(t.Context(), f.org, outcome.Code, b.Browser); fault.CodeOf(err) != sso.CodeState {
		t.Errorf("a code from before it was switched off: %v", err)
	}
	f.exec(`UPDATE saml_configs SET certificates = '{}'`)
	incomplete := f.organization("bare.example")
	f.exec(`UPDATE organizations SET auth_type = 'federated_idp' WHERE id = $1`, incomplete) // As an operator can.
	for _, organizationID := range []uuid.UUID{f.org, incomplete, uuid.New()} {
		if _, err := f.saml.Begin(t.Context(), sso.Request{OrganizationID: organizationID}); fault.CodeOf(err) != sso.CodeDisabled {
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
	outcome := must.Get(f.post(b, f.forge(b.request.ID, "n1", "alice@corp.example", "アリス").bytes(t)))(t)
	f.exec(`UPDATE users SET state = 'inactive' WHERE id = $1`, f.alice.ID)
	if _, err := f.sso.Exchange(t.Context(), f.org, outcome.Code, b.Browser); fault.CodeOf(err) != sso.CodeState {
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
		if _, err := f.saml.Change(t.Context(), f.admin,
			saml.Change{NameAttribute: new("cn")}); fault.CodeOf(err) != fault.Forbidden {
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
	f.saml = saml.New(f.providers, f.db, sso.New(sso.Config{
		PublicURL: publicURL, Clock: f.clock.now, Logger: slog.New(slog.NewTextHandler(&logged, nil)),
	}, f.db, nil))
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

// FuzzR51_SignedResponses replaces a part of a valid response. It creates a new response for each input, because
// responses expire soon.
func FuzzR51_SignedResponses(f *testing.F) {
	idp := must.Get(samltest.New(samltest.Config{URL: "https://idp.example"}))(f)
	x := &fixture{idp: idp, org: uuid.New()}
	settings := saml.Settings{
		OrganizationID: x.org, EntityID: idp.EntityID(),
		Certificates: [][]byte{idp.Certificate.Raw},
	}
	service := saml.New(nil, nil, sso.New(sso.Config{PublicURL: publicURL}, nil, nil))
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

// TestSessionsEndAtTheProvidersTime: a session ends at the time set by the provider, even if refreshed.
func TestSessionsEndAtTheProvidersTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sign := func(ends ...time.Duration) (sso.Session, error) {
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
			return sso.Session{}, err
		}
		return f.sso.Exchange(t.Context(), f.org, outcome.Code, b.Browser)
	}
	session, err := sign(2*time.Hour, 30*time.Minute)
	must.Succeed(t, err)
	if session.ExpiresIn > 1800 || session.ExpiresIn < 1780 {
		t.Errorf("the tokens hold for %d s", session.ExpiresIn)
	}
	left := value[int](f, `SELECT round(extract(epoch FROM max(expires_at) - now()))::int FROM pool_grants`)
	if left > 1800 || left < 1780 {
		t.Errorf("the session lasts for %d s", left)
	}
	_, err = f.sso.Refresh(t.Context(), clientID, session.RefreshToken)
	must.Succeed(t, err)
	f.exec(
		`UPDATE pool_grants SET auth_time = auth_time - interval '1 hour',
			expires_at = expires_at - interval '31 minutes'`,
	)
	if _, err := f.sso.Refresh(t.Context(), clientID,
		session.RefreshToken); fault.CodeOf(err) != fault.Unauthenticated {
		t.Errorf("refreshed after its end: %v", err)
	}
	if _, err := sign(-time.Minute); fault.CodeOf(err) != sso.CodeResponse {
		t.Errorf("a session that is over: %v", err)
	}
}
