package channel_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/secret"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
)

const surface = "slack"

// yellowPages is a surface's directory in memory: workspaces by bot token, people by id, sign-ins by code.
type yellowPages struct {
	mu         sync.Mutex // Guards the following.
	workspaces map[string]channel.Workspace
	people     map[string]channel.Profile
	codes      map[string]channel.Identity
	nonces     map[string]string // By code.
	asked      int               // Profiles that were asked for.
}

func (y *yellowPages) Identify(_ context.Context, c channel.Credentials) (channel.Workspace, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	w, ok := y.workspaces[c.BotToken]
	if !ok {
		return w, fault.Errorf(fault.Invalid, "トークンが受け付けられません。")
	}
	return w, nil
}

func (y *yellowPages) Profile(_ context.Context, _ channel.Installation, person string) (channel.Profile, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.asked++
	p, ok := y.people[person]
	if !ok {
		return p, fault.Errorf(fault.Invalid, "この人を確認できません。")
	}
	return p, nil
}

func (*yellowPages) Check(context.Context, channel.Installation) []channel.Check {
	return []channel.Check{{Name: "token", OK: true}}
}

func (*yellowPages) InstallURL(c channel.Credentials, redirect, state string) string {
	return "https://slack.example/install?" + url.Values{
		"client_id": {c.ClientID}, "redirect_uri": {redirect}, "state": {state},
	}.Encode()
}

func (*yellowPages) Install(_ context.Context, _ channel.Credentials, _, code string) (string, error) {
	return "token-of-" + code, nil
}

func (*yellowPages) SignInURL(_ channel.Installation, redirect, state, nonce string) string {
	return "https://slack.example/openid?" + url.Values{
		"redirect_uri": {redirect}, "state": {state}, "nonce": {nonce},
	}.Encode()
}

func (y *yellowPages) SignIn(
	_ context.Context, _ channel.Installation, _, code, nonce string,
) (channel.Identity, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	who, ok := y.codes[code]
	if !ok || y.nonces[code] != nonce {
		return who, fault.Errorf(fault.Invalid, "本人確認を完了できません。")
	}
	return who, nil
}

// office is two organizations, each with a workspace, and people of all kinds.
type office struct {
	*yellowPages
	t      *testing.T
	dsn    string
	db     *store.DB
	setup  *channel.Setup
	links  *channel.Linker
	log    *bytes.Buffer
	now    time.Time
	hanako identity.Actor // Super-admin of the first organization.
	taro   identity.Actor // A member of it.
	rival  identity.Actor // Super-admin of the other one.
	home   channel.Installation
	away   channel.Installation
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{
		t: t, dsn: storetest.DSN(t), log: &bytes.Buffer{}, now: time.Now(),
		yellowPages: &yellowPages{
			workspaces: map[string]channel.Workspace{
				"xoxb-home": {TeamID: "T1", EnterpriseID: "E1", AppID: "A1", BotUserID: "UBOT1", Name: "紡"},
				"xoxb-away": {TeamID: "T2", AppID: "A2", BotUserID: "UBOT2", Name: "他社"},
			},
			people: map[string]channel.Profile{
				"UHANAKO": member("花子", "hanako@example.jp"), "UTARO": member("太郎", "Taro@example.jp"),
				"URIVAL": {Name: "五郎", Email: "rival@example.com", Confirmed: true, Teams: []string{"T2"}},
			},
			codes: map[string]channel.Identity{}, nonces: map[string]string{},
		},
	}
	db, err := store.Open(t.Context(), o.dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	var keys secret.Keyring
	if err := keys.UnmarshalText([]byte(secret.NewKey())); err != nil {
		t.Fatal(err)
	}
	o.db = db.WithSecrets(keys)
	first, second := o.organization("紡績"), o.organization("他社")
	o.hanako = o.person(first, "hanako@example.jp", identity.RoleOrganizationSuperAdmin)
	o.taro = o.person(first, "taro@example.jp", identity.RoleGeneralUser)
	o.rival = o.person(second, "rival@example.com", identity.RoleOrganizationSuperAdmin)
	o.serve(channel.Credentials{})
	o.home = o.connect(o.hanako, "xoxb-home")
	o.away = o.connect(o.rival, "xoxb-away")
	return o
}

func member(name, email string) channel.Profile {
	return channel.Profile{Name: name, Email: email, Confirmed: true, Teams: []string{"T1"}}
}

// serve makes the services, for a server with settings.
func (o *office) serve(environment channel.Credentials) {
	log := slog.New(slog.NewTextHandler(o.log, nil))
	clock := func() time.Time { return o.now }
	o.setup = channel.NewSetup(channel.SetupConfig{
		Surface: surface, PublicURL: "https://tsumugi.example", Environment: environment, Sealing: true, Clock: clock,
	}, o.db, o, log)
	o.links = channel.NewLinker(channel.LinkerConfig{
		Surface: surface, PublicURL: "https://tsumugi.example", Clock: clock,
	}, o.db, o.setup, o, log)
}

func (o *office) organization(name string) uuid.UUID {
	o.t.Helper()
	id := uuid.Must(uuid.NewV7())
	if err := o.db.CreateOrganization(o.t.Context(), org.Organization{
		ID: id, Name: name, AuthType: string(identity.AuthCognito),
	}); err != nil {
		o.t.Fatal(err)
	}
	return id
}

func (o *office) person(organization uuid.UUID, email string, role identity.Role) identity.Actor {
	o.t.Helper()
	u := identity.NewUser{
		ID: uuid.Must(uuid.NewV7()), OrganizationID: organization, Subject: uuid.NewString(), Email: email, Name: email,
		Role: role, AuthType: identity.AuthCognito,
	}
	if err := o.db.CreateUser(o.t.Context(), u); err != nil {
		o.t.Fatal(err)
	}
	if err := o.db.MarkSignedIn(o.t.Context(), u.ID); err != nil {
		o.t.Fatal(err)
	}
	return identity.Actor{User: identity.User{
		ID: u.ID, OrganizationID: organization, Email: email, Name: email, Role: role, State: identity.StateActive,
	}}
}

// connect sets a workspace up.
func (o *office) connect(super identity.Actor, token string) channel.Installation {
	o.t.Helper()
	id, secret := "client", "client-secret"
	view, err := o.setup.Save(o.t.Context(), super, channel.Edit{BotToken: &token, ClientID: &id, ClientSecret: &secret})
	if err != nil {
		o.t.Fatal(err)
	}
	return view.Installation
}

// policy sets what the first organization allows.
func (o *office) policy(p channel.Policy) {
	o.t.Helper()
	view, err := o.setup.Save(o.t.Context(), o.hanako, channel.Edit{Policy: &p})
	if err != nil {
		o.t.Fatal(err)
	}
	o.home = view.Installation
}

func (o *office) exec(sql string, args ...any) {
	o.t.Helper()
	conn, err := pgx.Connect(o.t.Context(), o.dsn)
	if err != nil {
		o.t.Fatal(err)
	}
	defer func() { _ = conn.Close(o.t.Context()) }()
	if _, err := conn.Exec(o.t.Context(), sql, args...); err != nil {
		o.t.Fatal(err)
	}
}

func (o *office) link(in channel.Installation, person, team string) channel.Linked {
	o.t.Helper()
	found, err := o.links.FindLink(o.t.Context(), channel.Target{Installation: in, Person: person, PersonTeam: team})
	if err != nil {
		o.t.Fatal(err)
	}
	return found
}

// notice is what a person who is not linked is shown: it returns the state of its address.
func (o *office) notice(person string) string {
	o.t.Helper()
	address, err := o.links.Invite(o.t.Context(), channel.Target{Installation: o.home, Person: person})
	if err != nil {
		o.t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme+"://"+u.Host+u.Path != "https://tsumugi.example/setting/slack" {
		o.t.Fatalf("got %s", address)
	}
	return u.Query().Get("state")
}

// browser is where a member confirms, and somebody signs in to the surface.
type browser struct{ state, cookie, nonce string }

func (o *office) begin(actor identity.Actor, state string) browser {
	o.t.Helper()
	address, cookie, err := o.links.Begin(o.t.Context(), actor, state)
	if err != nil {
		o.t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		o.t.Fatal(err)
	}
	return browser{u.Query().Get("state"), cookie, u.Query().Get("nonce")}
}

// signIn has somebody sign in to the surface in a browser, and comes back.
func (o *office) signIn(b browser, person, team string) error {
	code := uuid.NewString()
	o.mu.Lock()
	o.codes[code] = channel.Identity{TeamID: team, Person: person}
	o.nonces[code] = b.nonce
	o.mu.Unlock()
	return o.links.Finish(o.t.Context(), b.state, b.cookie, code)
}

func TestLinkInOneBrowser(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	if found := o.link(o.home, "UTARO", ""); found.State != channel.LinkNone {
		t.Fatalf("before: %+v", found)
	}
	state := o.notice("UTARO")
	own, err := o.links.Own(t.Context(), o.taro, state)
	if err != nil || own.Asking == nil || own.Asking.Name != "太郎" || own.Workspace != "紡" || !own.CanLink ||
		own.Link != nil {
		t.Fatalf("got %+v, %v", own, err)
	}
	b := o.begin(o.taro, state)
	if err := o.signIn(b, "UTARO", "T1"); err != nil {
		t.Fatal(err)
	}
	found := o.link(o.home, "UTARO", "T1")
	if found.State != channel.LinkActive || found.Owner.UserID != o.taro.ID || found.Email != "taro@example.jp" {
		t.Errorf("got %+v", found)
	}
	if err := o.signIn(b, "UTARO", "T1"); !errors.Is(err, channel.ErrProofState) {
		t.Errorf("the same again: %v", err)
	}
	if _, err := o.links.Own(t.Context(), o.taro, state); !errors.Is(err, channel.ErrProofState) {
		t.Errorf("the notice after it was used: %v", err)
	}
	own, err = o.links.Own(t.Context(), o.taro, "")
	if err != nil || own.Link == nil || own.Link.Person != "UTARO" || own.Link.Name != "太郎" || own.Link.Automatic {
		t.Errorf("got %+v, %v", own.Link, err)
	}
	list, total, err := o.links.List(t.Context(), o.hanako, 0, 10)
	if err != nil || total != 1 || list[0].UserEmail != "taro@example.jp" {
		t.Errorf("got %+v, %d, %v", list, total, err)
	}
	if err := o.links.Unlink(t.Context(), o.taro); err != nil {
		t.Error(err)
	}
	if err := o.links.Unlink(t.Context(), o.taro); !errors.Is(err, channel.ErrNotLinked) {
		t.Errorf("again: %v", err)
	}
	events, _, err := o.db.ListEvents(t.Context(), org.AuditQuery{OrganizationID: &o.taro.OrganizationID, Limit: 10})
	var actions []string
	for _, e := range events {
		actions = append(actions, string(e.Action)+" "+e.By.Email)
	}
	want := []string{"slack.unlink taro@example.jp", "slack.link taro@example.jp", "slack.edit hanako@example.jp"}
	if err != nil || !slices.Equal(actions, want) {
		t.Errorf("the log has %q, %v", actions, err)
	}
}

// TestForeignProofsAreRefused: an address that was forwarded, a browser in which it did not begin, somebody else at the
// surface, another workspace, a guest, another organization.
func TestForeignProofsAreRefused(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.people["UGUEST"] = channel.Profile{Name: "協力会社", Confirmed: true, Teams: []string{"T1"}, Guest: true}
	o.people["UGONE"] = channel.Profile{Name: "退職", Confirmed: true, Teams: []string{"T1"}, Deleted: true}
	for name, test := range map[string]struct {
		try  func() error
		want error
	}{
		"a forwarded address that a colleague opens": {func() error {
			return o.signIn(o.begin(o.taro, o.notice("UHANAKO")), "UTARO", "T1")
		}, channel.ErrOtherPerson},
		"another browser": {func() error {
			b := o.begin(o.taro, o.notice("UTARO"))
			b.cookie = o.begin(o.hanako, "").cookie
			return o.signIn(b, "UTARO", "T1")
		}, channel.ErrProofState},
		"no cookie": {func() error {
			b := o.begin(o.taro, "")
			b.cookie = ""
			return o.signIn(b, "UTARO", "T1")
		}, channel.ErrProofState},
		"the state of the notice itself": {func() error {
			b := o.begin(o.taro, "")
			b.state = o.notice("UTARO")
			return o.signIn(b, "UTARO", "T1")
		}, channel.ErrProofState},
		"another attempt's nonce": {func() error {
			b := o.begin(o.taro, "")
			b.nonce = o.begin(o.taro, "").nonce
			code := uuid.NewString()
			o.codes[code], o.nonces[code] = channel.Identity{TeamID: "T1", Person: "UTARO"}, "another"
			return o.links.Finish(t.Context(), b.state, b.cookie, code)
		}, fault.Errorf(fault.Invalid, "本人確認を完了できません。")},
		"another workspace": {func() error {
			return o.signIn(o.begin(o.taro, ""), "URIVAL", "T2")
		}, channel.ErrNotMember},
		"a guest": {func() error {
			return o.signIn(o.begin(o.taro, ""), "UGUEST", "T1")
		}, channel.ErrNotMember},
		"a deleted account": {func() error {
			return o.signIn(o.begin(o.taro, ""), "UGONE", "T1")
		}, channel.ErrNotMember},
		"denied at the surface": {func() error {
			b := o.begin(o.taro, "")
			return o.links.Finish(t.Context(), b.state, b.cookie, "")
		}, channel.ErrDenied},
		"too late": {func() error {
			b := o.begin(o.taro, "")
			o.now = o.now.Add(11 * time.Minute)
			return o.signIn(b, "UTARO", "T1")
		}, channel.ErrProofState},
		"a notice too old": {func() error {
			state := o.notice("UTARO")
			o.now = o.now.Add(2 * time.Hour)
			_, _, err := o.links.Begin(t.Context(), o.taro, state)
			return err
		}, channel.ErrProofState},
		"another organization's notice": {func() error {
			_, _, err := o.links.Begin(t.Context(), o.rival, o.notice("UTARO"))
			return err
		}, channel.ErrProofState},
		"a member who was removed in between": {func() error {
			jiro := o.person(o.taro.OrganizationID, "jiro@example.jp", identity.RoleGeneralUser)
			b := o.begin(jiro, "")
			o.exec("UPDATE users SET state = 'inactive' WHERE id = $1", jiro.ID)
			return o.signIn(b, "UTARO", "T1")
		}, channel.ErrProofState},
	} {
		if err := test.try(); err == nil || fault.CodeOf(err) != fault.CodeOf(test.want) ||
			fault.DetailOf(err) != fault.DetailOf(test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, total, err := o.links.List(t.Context(), o.hanako, 0, 10); err != nil || total != 0 {
		t.Errorf("%d links, %v", total, err)
	}
}

// TestOneLinkEach: a person is one member, and a member one person.
func TestOneLinkEach(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	if err := o.signIn(o.begin(o.taro, ""), "UTARO", "T1"); err != nil {
		t.Fatal(err)
	}
	if err := o.signIn(o.begin(o.taro, ""), "UTARO", "T1"); err != nil {
		t.Errorf("the same again: %v", err)
	}
	if err := o.signIn(o.begin(o.hanako, ""), "UTARO", "T1"); !errors.Is(err, channel.ErrPersonTaken) {
		t.Errorf("another member: %v", err)
	}
	if err := o.signIn(o.begin(o.taro, ""), "UHANAKO", "T1"); !errors.Is(err, channel.ErrMemberTaken) {
		t.Errorf("another person: %v", err)
	}
	if err := o.links.UnlinkMember(t.Context(), o.taro, o.taro.ID); !errors.Is(err, org.ErrForbidden) {
		t.Errorf("unlinked by a member: %v", err)
	}
	if err := o.links.UnlinkMember(t.Context(), o.rival, o.taro.ID); !errors.Is(err, channel.ErrNotLinked) {
		t.Errorf("unlinked by another organization: %v", err)
	}
	if err := o.links.UnlinkMember(t.Context(), o.hanako, o.taro.ID); err != nil {
		t.Error(err)
	}
	if err := o.signIn(o.begin(o.taro, ""), "UTARO", "T1"); err != nil {
		t.Error(err)
	}
	removed, err := o.links.RemoveLink(t.Context(), channel.Target{Installation: o.home, Person: "UTARO"})
	if err != nil || !removed || o.link(o.home, "UTARO", "").State != channel.LinkNone {
		t.Errorf("from the surface: %t, %v", removed, err)
	}
}

// TestLinksFollowTheMember: a disabled member is told, a removed one is not linked any longer.
func TestLinksFollowTheMember(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	if err := o.signIn(o.begin(o.taro, ""), "UTARO", "T1"); err != nil {
		t.Fatal(err)
	}
	o.exec("UPDATE users SET state = 'inactive' WHERE id = $1", o.taro.ID)
	if found := o.link(o.home, "UTARO", ""); found.State != channel.LinkRemoved {
		t.Errorf("disabled: %+v", found)
	}
	o.exec("DELETE FROM users WHERE id = $1", o.taro.ID)
	if found := o.link(o.home, "UTARO", ""); found.State != channel.LinkNone {
		t.Errorf("removed: %+v", found)
	}
}

// TestAutomaticLinks: by the confirmed address, where it is switched on, of full members of the workspace, with exactly
// one active member of the organization.
func TestAutomaticLinks(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	if found := o.link(o.home, "UTARO", ""); found.State != channel.LinkNone {
		t.Errorf("switched off: %+v", found)
	}
	o.policy(channel.Policy{AutoLink: true})
	inactive := o.person(o.taro.OrganizationID, "left@example.jp", identity.RoleGeneralUser)
	o.exec("UPDATE users SET state = 'inactive' WHERE id = $1", inactive.ID)
	invited := o.person(o.taro.OrganizationID, "invited@example.jp", identity.RoleGeneralUser)
	o.exec("UPDATE users SET last_signed_in_at = NULL WHERE id = $1", invited.ID)
	odd := o.person(o.taro.OrganizationID, "odd@example.jp", identity.RoleGeneralUser)
	o.exec(`INSERT INTO pool_users (sub, email, email_verified, name, groups, status, enabled, password_hash, version,
		    created_at, updated_at)
		SELECT subject::uuid, email, false, name, '{}', 'CONFIRMED', true, '', 1, now(), now() FROM users WHERE id = $1`, odd.ID)
	unconfirmed := member("太郎", "taro@example.jp")
	unconfirmed.Confirmed = false
	guest, bot, deleted, stranger := member("客", "taro@example.jp"), member("機械", "taro@example.jp"),
		member("退職", "taro@example.jp"), member("他社", "taro@example.jp")
	guest.Guest, bot.Bot, deleted.Deleted, stranger.Stranger = true, true, true, true
	elsewhere := member("別", "taro@example.jp")
	elsewhere.Teams = []string{"T9"}
	for name, test := range map[string]struct {
		profile channel.Profile
		want    channel.LinkState
	}{
		"unconfirmed": {unconfirmed, channel.LinkNone}, "without an address": {member("無", ""), channel.LinkNone},
		"guest": {guest, channel.LinkRefused}, "bot": {bot, channel.LinkRefused},
		"deleted": {deleted, channel.LinkRefused}, "stranger": {stranger, channel.LinkRefused},
		"another workspace's":               {elsewhere, channel.LinkRefused},
		"unknown address":                   {member("新", "new@example.jp"), channel.LinkNone},
		"member of another organization":    {member("五郎", "rival@example.com"), channel.LinkNone},
		"disabled member":                   {member("退職", "left@example.jp"), channel.LinkNone},
		"member who has never signed in":    {member("招待", "invited@example.jp"), channel.LinkNone},
		"member with unconfirmed address":   {member("奇", "odd@example.jp"), channel.LinkNone},
		"address with a wildcard":           {member("奇", "%@example.jp"), channel.LinkNone},
		"address with the domain in common": {member("奇", "x@example.jp"), channel.LinkNone},
	} {
		o.people["UX"] = test.profile
		if found := o.link(o.home, "UX", ""); found.State != test.want {
			t.Errorf("%s: %+v", name, found)
		}
	}
	asked := o.asked
	if found := o.link(o.home, "UTARO", "T2"); found.State != channel.LinkRefused || o.asked != asked {
		t.Errorf("of another workspace in a shared channel: %+v", found)
	}
	if found := o.link(o.away, "URIVAL", ""); found.State != channel.LinkNone {
		t.Errorf("in an organization that has not switched it on: %+v", found)
	}
	for range 2 {
		if found := o.link(o.home, "UTARO", "T1"); found.State != channel.LinkActive || found.Owner.UserID != o.taro.ID {
			t.Fatalf("got %+v", found)
		}
	}
	if o.asked != asked+2 {
		t.Errorf("the profile was asked for %d times", o.asked-asked)
	}
	// Somebody else with the same address is not linked beside them.
	o.people["UTWIN"] = member("双子", "taro@example.jp")
	if found := o.link(o.home, "UTWIN", ""); found.State != channel.LinkNone {
		t.Errorf("a second person: %+v", found)
	}
	list, _, err := o.links.List(t.Context(), o.hanako, 0, 10)
	if err != nil || len(list) != 1 || !list[0].Automatic {
		t.Errorf("got %+v, %v", list, err)
	}
}

// TestAutomaticLinksAtOnce: of many events of one person, one links them.
func TestAutomaticLinksAtOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.policy(channel.Policy{AutoLink: true})
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			found, err := o.links.FindLink(t.Context(), channel.Target{Installation: o.home, Person: "UTARO"})
			if err != nil || found.State != channel.LinkActive {
				t.Errorf("got %+v, %v", found, err)
			}
		})
	}
	all.Wait()
	if _, total, err := o.db.ListEvents(t.Context(), org.AuditQuery{Action: org.ActionSlackLink, Limit: 10}); err != nil ||
		total != 1 {
		t.Errorf("%d entries, %v", total, err)
	}
}

// TestR91_LogsHaveNoCredentials: neither do values that are printed.
func TestR91_LogsHaveNoCredentials(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	slog.New(slog.NewTextHandler(o.log, nil)).Info("x", "installation", o.home, "credentials", o.home.Credentials,
		"text", o.home.Credentials.String())
	if strings.Contains(o.log.String(), "xoxb") || strings.Contains(o.log.String(), "client-secret") {
		t.Errorf("the log has %s", o.log)
	}
}
