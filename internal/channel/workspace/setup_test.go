package workspace_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/channel/workspace"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestSetup(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	if in := o.home; in.TeamID != "T1" || in.EnterpriseID != "" || in.TeamName != "紡" || in.BotUserID != "UBOT1" ||
		in.Credentials.BotToken != "xoxb-home" || in.Source != channel.SourceStored {
		t.Errorf("got %+v", in)
	}
	text := func(s string) *string { return &s }
	for _, actor := range []identity.Actor{o.taro, o.hanako} {
		actor.Role = identity.RoleOrganizationAdmin // An admin can neither read nor change it.
		if _, err := o.setup.Save(t.Context(), actor, workspace.SetupEdit{AppToken: text("x")}); !errors.Is(err, org.ErrForbidden) {
			t.Errorf("changed: %v", err)
		}
		if err := o.setup.Remove(t.Context(), actor); !errors.Is(err, org.ErrForbidden) {
			t.Errorf("removed: %v", err)
		}
	}
	demoted := o.hanako
	o.exec("UPDATE users SET role = 'general-user' WHERE id = $1", demoted.ID)
	if _, err := o.setup.Save(t.Context(), demoted, workspace.SetupEdit{AppToken: text("x")}); !errors.Is(err, org.ErrForbidden) {
		t.Errorf("changed by somebody who was demoted in between: %v", err)
	}
	o.exec("UPDATE users SET role = 'organization-super-admin' WHERE id = $1", demoted.ID)
	if _, err := o.setup.Save(t.Context(), o.hanako, workspace.SetupEdit{BotToken: text("xoxb-wrong")}); fault.CodeOf(err) !=
		fault.Invalid {
		t.Errorf("a token that is refused: %v", err)
	}
	if _, err := o.setup.Save(t.Context(), o.hanako, workspace.SetupEdit{BotToken: text("xoxb-away")}); !errors.Is(err,
		workspace.ErrWorkspaceTaken) {
		t.Errorf("another organization's workspace: %v", err)
	}
	found, err := o.setup.FindInstallation(t.Context(), surface, "E1", "T1")
	if err != nil || found.ID != o.home.ID || found.Credentials.BotToken != "xoxb-home" {
		t.Errorf("got %+v, %v", found, err)
	}
	if _, err := o.setup.FindInstallation(t.Context(), surface, "E1", "T3"); !errors.Is(err, channel.ErrNotInstalled) {
		t.Errorf("another workspace of the same enterprise: %v", err)
	}
	if _, err := o.setup.FindInstallation(t.Context(), surface, "", ""); !errors.Is(err, channel.ErrNotInstalled) {
		t.Errorf("no workspace: %v", err)
	}
}

// TestEnterpriseInstallation: an enterprise's installation serves all of its workspaces, except those with a separate
// installation.
func TestEnterpriseInstallation(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	super := o.person(o.organization("親会社"), "boss@example.org", identity.RoleOrganizationSuperAdmin)
	o.workspaces["xoxb-grid"] = workspace.Workspace{EnterpriseID: "E1", Name: "グループ"}
	grid := o.connect(super, "xoxb-grid")
	for team, want := range map[string]uuid.UUID{"T1": o.home.ID, "T3": grid.ID, "": grid.ID} {
		if found, err := o.setup.FindInstallation(t.Context(), surface, "E1", team); err != nil || found.ID != want {
			t.Errorf("%s: %+v, %v", team, found, err)
		}
	}
	if _, err := o.setup.FindInstallation(t.Context(), surface, "E2", "T3"); !errors.Is(err, channel.ErrNotInstalled) {
		t.Errorf("another enterprise: %v", err)
	}
	o.people["UGRID"] = workspace.Profile{Name: "甲", Confirmed: true, Teams: []string{"T3"}, EnterpriseID: "E1"}
	o.people["UOUT"] = workspace.Profile{Name: "乙", Confirmed: true, Teams: []string{"T3"}, EnterpriseID: "E2"}
	if found := o.link(grid, "UGRID", "T3"); found.State != channel.LinkNone {
		t.Errorf("of the enterprise: %+v", found)
	}
	if found := o.link(grid, "UOUT", "T3"); found.State != channel.LinkRefused {
		t.Errorf("of another enterprise: %+v", found)
	}
}

// TestAnotherWorkspace: a change of the workspace deletes links and conversations, because its people are others.
func TestAnotherWorkspace(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	must.Succeed(t, o.signIn(o.begin(o.taro, ""), "UTARO", "T1"))
	o.workspaces["xoxb-again"] = o.workspaces["xoxb-home"]
	again := o.connect(o.hanako, "xoxb-again")
	if again.ID != o.home.ID || o.link(again, "UTARO", "").State != channel.LinkActive ||
		!again.ChangedAt.After(o.home.ChangedAt) || o.home.ChangedAt.IsZero() {
		t.Errorf("a new token of the same workspace: %+v", again)
	}
	o.workspaces["xoxb-new"] = workspace.Workspace{TeamID: "T3", Name: "新"}
	moved := o.connect(o.hanako, "xoxb-new")
	o.people["UTARO"] = workspace.Profile{Name: "別人", Confirmed: true, Teams: []string{"T3"}}
	if moved.ID == o.home.ID || moved.TeamID != "T3" || o.link(moved, "UTARO", "").State != channel.LinkNone {
		t.Errorf("another workspace: %+v", moved)
	}
}

func TestEraseInstallation(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	must.Succeed(t, o.signIn(o.begin(o.taro, ""), "UTARO", "T1"))
	signers, err := o.setup.Signers(t.Context(), true)
	if err != nil || len(signers) != 0 {
		t.Fatalf("none has a signing secret: %+v, %v", signers, err)
	}
	secret := "signing"
	if _, err := o.setup.Save(t.Context(), o.hanako, workspace.SetupEdit{SigningSecret: &secret}); err != nil {
		t.Fatal(err)
	}
	if signers, err = o.setup.Signers(t.Context(), false); err != nil || len(signers) != 1 || signers[0].Secret != secret {
		t.Errorf("after it was set: %+v, %v", signers, err)
	}
	must.Succeed(t, o.setup.EraseInstallation(t.Context(), o.home.ID))
	if _, err := o.setup.Installation(t.Context(), o.home.ID); !errors.Is(err, channel.ErrNotInstalled) {
		t.Errorf("it is there: %v", err)
	}
	if signers, err := o.setup.Signers(t.Context(), false); err != nil || len(signers) != 0 {
		t.Errorf("its secret still signs: %+v, %v", signers, err)
	}
	if link, err := o.links.OwnLink(t.Context(), o.taro, ""); err != nil || link.Workspace != "" || link.Link != nil {
		t.Errorf("got %+v, %v", link, err)
	}
	events, _, err := o.db.ListEvents(t.Context(), org.AuditQuery{Action: org.ActionSlackRemove, Limit: 10})
	if err != nil || len(events) != 1 || events[0].By.Kind != org.BySystem || events[0].TargetLabel != "紡 (T1)" {
		t.Errorf("the log has %+v, %v", events, err)
	}
}

func TestInstallByBrowser(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.workspaces["token-of-1"] = o.workspaces["xoxb-home"]
	begin := func() (string, string) {
		address, browser, err := o.setup.BeginInstall(t.Context(), o.hanako)
		must.Succeed(t, err)
		u, err := url.Parse(address)
		if err != nil || u.Query().Get("redirect_uri") != "https://tsumugi.example/external/slack/v1/oauth/callback" {
			t.Fatalf("got %s, %v", address, err)
		}
		return u.Query().Get("state"), browser
	}
	state, browser := begin()
	_, another := begin()
	if err := o.setup.FinishInstall(t.Context(), state, another, "1"); !errors.Is(err, workspace.ErrState) {
		t.Errorf("another browser: %v", err)
	}
	if err := o.setup.FinishInstall(t.Context(), state, browser, "1"); err != nil {
		t.Error(err)
	}
	if err := o.setup.FinishInstall(t.Context(), state, browser, "1"); !errors.Is(err, workspace.ErrState) {
		t.Errorf("again: %v", err)
	}
	if in, err := o.setup.Installation(t.Context(), o.home.ID); err != nil || in.Credentials.BotToken != "token-of-1" ||
		in.Credentials.ClientSecret != "client-secret" {
		t.Errorf("got %v, %v", in, err)
	}
	state, browser = begin()
	if err := o.setup.FinishInstall(t.Context(), state, browser, ""); !errors.Is(err, workspace.ErrInstallDenied) {
		t.Errorf("denied: %v", err)
	}
	state, browser = begin()
	o.now = o.now.Add(11 * time.Minute)
	if err := o.setup.FinishInstall(t.Context(), state, browser, "1"); !errors.Is(err, workspace.ErrState) {
		t.Errorf("too late: %v", err)
	}
	state, browser = begin()
	o.exec("UPDATE users SET role = 'general-user' WHERE id = $1", o.hanako.ID)
	if err := o.setup.FinishInstall(t.Context(), state, browser, "1"); !errors.Is(err, org.ErrForbidden) {
		t.Errorf("by somebody who was demoted in between: %v", err)
	}
}

// TestAddressWithoutTLS: Slack does not send events to such an address. Administrators see this even without a
// connection test.
func TestAddressWithoutTLS(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	wrong := func() (n int) {
		t.Helper()
		checks := must.Get(o.setup.Test(t.Context(), o.hanako))(t)
		for _, check := range checks {
			if check.Name == "address" && !check.OK && strings.Contains(check.Detail, "Socket Mode") {
				n++
			}
		}
		return n
	}
	if v, err := o.setup.View(t.Context(), o.hanako); err != nil || v.SocketOnly || wrong() != 0 {
		t.Errorf("with https://: %+v, %v", v, err)
	}
	o.serveAt("http://tsumugi.example", channel.Credentials{})
	if v, err := o.setup.View(t.Context(), o.hanako); err != nil || !v.SocketOnly || wrong() != 1 {
		t.Errorf("with http://: %+v, %v", v, err)
	}
	token := "xapp-1"
	if v, err := o.setup.Save(t.Context(), o.hanako, workspace.SetupEdit{AppToken: &token}); err != nil || !v.SocketOnly ||
		wrong() != 0 {
		t.Errorf("in Socket Mode: %+v, %v", v, err)
	}
}

// TestEnvironment: the server's settings configure one workspace for the only organization.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	settings := channel.Credentials{BotToken: "xoxb-env", SigningSecret: "signing", AppToken: "xapp"}
	o.workspaces["xoxb-env"] = workspace.Workspace{TeamID: "T5", AppID: "A5", BotUserID: "UBOT5", Name: "設定"}
	adopt := func() error { return o.db.AdoptInstallation(t.Context(), surface, o.workspaces["xoxb-env"]) }
	if err := adopt(); !errors.Is(err, workspace.ErrManyOrganizations) {
		t.Errorf("of two organizations: %v", err)
	}
	o.exec("DELETE FROM organizations WHERE id = $1", o.rival.OrganizationID)
	if err := adopt(); !errors.Is(err, workspace.ErrConfigured) {
		t.Errorf("set up in the app: %v", err)
	}
	must.Succeed(t, o.setup.Remove(t.Context(), o.hanako))
	o.serve(settings)
	signers, err := o.setup.Signers(t.Context(), true)
	if err != nil || len(signers) != 1 || signers[0] != (workspace.Signer{Secret: "signing"}) {
		t.Errorf("before its workspace is known: %+v, %v", signers, err)
	}
	o.setup.Start()
	defer o.setup.Stop()
	for deadline := time.Now().Add(10 * time.Second); ; {
		found, err := o.setup.FindInstallation(t.Context(), surface, "", "T5")
		if err == nil {
			if found.Credentials != settings || found.Source != channel.SourceEnvironment ||
				found.OrganizationID != o.hanako.OrganizationID {
				t.Errorf("got %+v", found)
			}
			o.home = found
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	token := "xoxb-home"
	if _, err := o.setup.Save(t.Context(), o.hanako, workspace.SetupEdit{BotToken: &token}); !errors.Is(err,
		workspace.ErrFromEnvironment) {
		t.Errorf("changed: %v", err)
	}
	o.policy(channel.Policy{AutoLink: true})
	if !o.home.Policy.AutoLink || o.home.Credentials != settings {
		t.Errorf("the policy: %+v", o.home)
	}
	if err := o.setup.Remove(t.Context(), o.hanako); !errors.Is(err, workspace.ErrFromEnvironment) {
		t.Errorf("removed: %v", err)
	}
	o.organization("あとから")
	if err := adopt(); err != nil {
		t.Errorf("at the next start, with another organization: %v", err)
	}
	o.serve(channel.Credentials{}) // Without the settings, the row is ignored and can be removed.
	if _, err := o.setup.FindInstallation(t.Context(), surface, "", "T5"); !errors.Is(err, channel.ErrNotInstalled) {
		t.Errorf("without the settings: %v", err)
	}
	if in := o.connect(o.hanako, "xoxb-home"); in.Source != channel.SourceStored || in.TeamID != "T1" {
		t.Errorf("set up in the app afterwards: %+v", in)
	}
}
