package main

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/secret"
	"github.com/tsumugi-ai/tsumugi/internal/slack"
	"github.com/tsumugi-ai/tsumugi/store"
	fake "github.com/tsumugi-ai/tsumugi/test/fakes/slack"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestSlackByCommand shows, tests and removes a connection. Without the secret key, only the test fails.
func TestSlackByCommand(t *testing.T) {
	t.Parallel()
	workspace := fake.New(fake.Demo())
	t.Cleanup(workspace.Close)
	server := httptest.NewServer(workspace)
	t.Cleanup(server.Close)
	workspace.SetURL(server.URL)
	o := on(t)
	o.do("org", "create", "--name", "紡", "--domain", "example.co.jp", "--super-admin", "hanako@example.co.jp",
		"--super-admin-name", "管理 花子")
	o.refused("not connected", "slack", "show", "--organization", "紡")
	db := must.Get(store.Open(t.Context(), strings.TrimPrefix(o.environ[0], "DATABASE_URL=")))(t)
	t.Cleanup(db.Close)
	key := secret.NewKey()
	var keys secret.Keyring
	must.Succeed(t, keys.UnmarshalText([]byte(key)))
	// The server adopts the installation of its settings in the same way.
	settings := slackSettings{SlackBotToken: fake.DemoToken, SlackSigningSecret: fake.DemoSecret, SlackAPIURL: server.URL + "/api/"}
	domain, err := newSlackSetup(settings, db.WithSecrets(keys), "http://localhost", true, commandLog(&logOutput{t.Output()}))
	must.Succeed(t, err)
	t.Cleanup(domain.adapter.Close)
	found := must.Get(domain.adapter.Identify(t.Context(), settings.credentials()))(t)
	must.Succeed(t, db.AdoptInstallation(t.Context(), slack.Name, found))
	if out := o.do("slack", "list"); !strings.Contains(out, "デモ商事") || !strings.Contains(out, fake.DemoTeam) ||
		!strings.Contains(out, string(channel.SourceEnvironment)) {
		t.Errorf("list printed\n%s", out)
	}
	if out := o.do("slack", "show", "--organization", "紡"); !strings.Contains(out, "all that the app is in") {
		t.Errorf("show printed\n%s", out)
	}
	if out := o.do("slack", "links", "--organization", "紡"); strings.Count(out, "\n") != 1 {
		t.Errorf("links printed\n%s", out)
	}
	o.refused("SLACK_BOT_TOKEN", "slack", "test", "--organization", "紡")
	o.environ = append(o.environ, "SLACK_BOT_TOKEN="+fake.DemoToken, "SLACK_SIGNING_SECRET="+fake.DemoSecret,
		"SLACK_API_URL="+server.URL+"/api/")
	if out := o.do("slack", "test", "--organization", "紡"); strings.Count(out, " ok ") != 4 ||
		strings.Contains(out, fake.DemoSecret) {
		t.Errorf("test printed\n%s", out)
	}
	if out := o.do("slack", "disconnect", "--organization", "紡"); !strings.Contains(out, "紡 is disconnected") {
		t.Errorf("disconnect printed\n%s", out)
	}
	o.refused("not connected", "slack", "disconnect", "--organization", "紡")
	if events := o.audit("--action", "slack.remove"); len(events) != 1 || events[0].ActorKind != "operator" {
		t.Errorf("the log has %+v", events)
	}
}
