package workspace_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/channel/workspace"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/secret"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

const surface = "slack"

// yellowPages is a Directory in memory: workspaces by bot token, people by id, sign-ins by code.
type yellowPages struct {
	mu         sync.Mutex // Guards the fields below.
	workspaces map[string]workspace.Workspace
	people     map[string]workspace.Profile
	codes      map[string]workspace.Identity
	nonces     map[string]string // By code.
	asked      int               // Number of Profile calls.
}

func (y *yellowPages) Identify(_ context.Context, c channel.Credentials) (workspace.Workspace, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	w, ok := y.workspaces[c.BotToken]
	if !ok {
		return w, fault.Errorf(fault.Invalid, "トークンが受け付けられません。")
	}
	return w, nil
}

func (y *yellowPages) Profile(_ context.Context, _ channel.Installation, person string) (workspace.Profile, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.asked++
	p, ok := y.people[person]
	if !ok {
		return p, fault.Errorf(fault.Invalid, "この人を確認できません。")
	}
	return p, nil
}

func (*yellowPages) Check(context.Context, channel.Installation) []workspace.Check {
	return []workspace.Check{{Name: "token", OK: true}}
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
) (workspace.Identity, error) {
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
	setup  *workspace.Setup
	links  *workspace.Linker
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
			workspaces: map[string]workspace.Workspace{
				"xoxb-home": {TeamID: "T1", EnterpriseID: "E1", AppID: "A1", BotUserID: "UBOT1", Name: "紡"},
				"xoxb-away": {TeamID: "T2", AppID: "A2", BotUserID: "UBOT2", Name: "他社"},
			},
			people: map[string]workspace.Profile{
				"UHANAKO": member("花子", "hanako@example.jp"), "UTARO": member("太郎", "Taro@example.jp"),
				"URIVAL": {Name: "五郎", Email: "rival@example.com", Confirmed: true, Teams: []string{"T2"}},
			},
			codes: map[string]workspace.Identity{}, nonces: map[string]string{},
		},
	}
	db := must.Get(store.Open(t.Context(), o.dsn))(t)
	t.Cleanup(db.Close)
	var keys secret.Keyring
	must.Succeed(t, keys.UnmarshalText([]byte(secret.NewKey())))
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

func member(name, email string) workspace.Profile {
	return workspace.Profile{Name: name, Email: email, Confirmed: true, Teams: []string{"T1"}}
}

// serve creates the services of a server with environment settings.
func (o *office) serve(environment channel.Credentials) {
	o.serveAt("https://tsumugi.example", environment)
}

// serveAt creates the services of a server with a public URL and environment settings.
func (o *office) serveAt(address string, environment channel.Credentials) {
	log := slog.New(slog.NewTextHandler(o.log, nil))
	clock := func() time.Time { return o.now }
	o.setup = workspace.NewSetup(workspace.SetupConfig{
		Surface: surface, PublicURL: address, Environment: environment, HasKey: true, Clock: clock,
	}, o.db, o, log)
	o.links = workspace.NewLinker(workspace.LinkerConfig{
		Surface: surface, PublicURL: address, Clock: clock,
	}, o.db, o.setup, o, log)
}

func (o *office) organization(name string) uuid.UUID {
	o.t.Helper()
	id := uuid.Must(uuid.NewV7())
	must.Succeed(o.t, o.db.CreateOrganization(o.t.Context(), org.Organization{
		ID: id, Name: name, AuthType: string(identity.AuthCognito),
	}))
	return id
}

func (o *office) person(organization uuid.UUID, email string, role identity.Role) identity.Actor {
	o.t.Helper()
	u := identity.NewUser{
		ID: uuid.Must(uuid.NewV7()), OrganizationID: organization, Subject: uuid.NewString(), Email: email, Name: email,
		Role: role, AuthType: identity.AuthCognito,
	}
	must.Succeed(o.t, o.db.CreateUser(o.t.Context(), u))
	must.Succeed(o.t, o.db.MarkSignedIn(o.t.Context(), u.ID))
	return identity.Actor{User: identity.User{
		ID: u.ID, OrganizationID: organization, Email: email, Name: email, Role: role, State: identity.StateActive,
	}}
}

// connect configures a workspace.
func (o *office) connect(super identity.Actor, token string) channel.Installation {
	o.t.Helper()
	id, secret := "client", "client-secret"
	view, err := o.setup.Save(o.t.Context(), super, workspace.SetupEdit{BotToken: &token, ClientID: &id, ClientSecret: &secret})
	must.Succeed(o.t, err)
	return view.Installation
}

// policy sets the policy of the first organization.
func (o *office) policy(p channel.Policy) {
	o.t.Helper()
	view := must.Get(o.setup.Save(o.t.Context(), o.hanako, workspace.SetupEdit{Policy: &p}))(o.t)
	o.home = view.Installation
}

func (o *office) exec(sql string, args ...any) {
	o.t.Helper()
	conn := must.Get(pgx.Connect(o.t.Context(), o.dsn))(o.t)
	defer func() { _ = conn.Close(o.t.Context()) }()
	if _, err := conn.Exec(o.t.Context(), sql, args...); err != nil {
		o.t.Fatal(err)
	}
}

func (o *office) link(in channel.Installation, person, team string) channel.LinkedMember {
	o.t.Helper()
	found, err := o.links.FindLink(o.t.Context(), channel.Target{Installation: in, Person: person, PersonTeam: team})
	must.Succeed(o.t, err)
	return found
}

// notice returns the state in the address of a notice to a person who is not linked.
func (o *office) notice(person string) string {
	o.t.Helper()
	address := must.Get(o.links.Invite(o.t.Context(), channel.Target{Installation: o.home, Person: person}))(o.t)
	u, err := url.Parse(address)
	if err != nil || u.Scheme+"://"+u.Host+u.Path != "https://tsumugi.example/setting/slack" {
		o.t.Fatalf("got %s", address)
	}
	return u.Query().Get("state")
}

// browser is a member's browser during the sign-in to the surface.
type browser struct{ state, cookie, nonce string }

func (o *office) begin(actor identity.Actor, state string) browser {
	o.t.Helper()
	address, cookie, err := o.links.Begin(o.t.Context(), actor, state)
	must.Succeed(o.t, err)
	u := must.Get(url.Parse(address))(o.t)
	return browser{u.Query().Get("state"), cookie, u.Query().Get("nonce")}
}

// signIn signs a person in to the surface in a browser, and finishes the proof.
func (o *office) signIn(b browser, person, team string) error {
	code := uuid.NewString()
	o.mu.Lock()
	o.codes[code] = workspace.Identity{TeamID: team, Person: person}
	o.nonces[code] = b.nonce
	o.mu.Unlock()
	return o.links.Finish(o.t.Context(), b.state, b.cookie, code)
}
