package api_test

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/channel/workspace"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/secret"
	"github.com/tsumugi-ai/tsumugi/internal/slack"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// slackSettings are a fixture's settings for Slack.
type slackSettings struct {
	unsealed    bool   // Without a key for secrets.
	apiURL      string // The URL of the fake workspace. If "", every call of Slack fails.
	environment channel.Credentials
	intake      *taken
}

// slackServices returns the services for Slack, with an intake that only counts.
func (f *fixture) slackServices(t *testing.T, with settings, log *slog.Logger) api.Slack {
	t.Helper()
	var keys secret.Keyring
	if !with.slack.unsealed {
		must.Succeed(t, keys.UnmarshalText([]byte(secret.NewKey())))
	}
	with.slack.apiURL = cmp.Or(with.slack.apiURL, "http://127.0.0.1:1/api/")
	if with.slack.intake == nil {
		with.slack.intake = &taken{}
	}
	adapter := must.Get(slack.New(slack.Config{APIURL: with.slack.apiURL}, log))(t)
	t.Cleanup(adapter.Close)
	db := f.db.WithSecrets(keys)
	setup := workspace.NewSetup(workspace.SetupConfig{
		Surface: slack.Name, PublicURL: issuer, Environment: with.slack.environment, HasKey: !keys.Empty(),
	}, db, adapter, log)
	setup.Start()
	t.Cleanup(setup.Stop)
	return api.Slack{
		Setup:   setup,
		Links:   workspace.NewLinker(workspace.LinkerConfig{Surface: slack.Name, PublicURL: issuer}, db, setup, adapter, log),
		Enqueue: with.slack.intake.Enqueue,
	}
}

// taken is an intake that records its events.
type taken struct {
	mu    sync.Mutex
	all   []channel.IncomingEvent
	fails error
}

// Enqueue stores an event.
func (i *taken) Enqueue(_ context.Context, in channel.IncomingEvent) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.fails == nil {
		i.all = append(i.all, in)
	}
	return i.fails
}

func (i *taken) texts() (texts []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, in := range i.all {
		texts = append(texts, in.TeamID+": "+in.Text)
	}
	return texts
}

// signed returns a request of Slack, signed with a secret at a time.
func signed(secret, path, contentType, body string, at time.Time) call {
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + stamp + ":" + body))
	return call{method: "POST", path: path, body: body, header: map[string]string{
		"Content-Type": contentType, "X-Slack-Request-Timestamp": stamp,
		"X-Slack-Signature": "v0=" + hex.EncodeToString(mac.Sum(nil)),
	}}
}

// mention returns an event in which a person mentions the assistant.
func mention(team, text string) string {
	body, err := json.Marshal(map[string]any{
		"type": "event_callback", "team_id": team, "api_app_id": "A1", "event_id": "Ev" + newID(),
		"authorizations": []any{map[string]any{"team_id": team, "user_id": "UBOT"}},
		"event": map[string]any{
			"type": "app_mention", "channel": "C1", "user": "U1", "team": team, "text": "<@UBOT> " + text, "ts": "1.1",
		},
	})
	if err != nil {
		panic(err)
	}
	return string(body)
}

// workspaces connects Alice's organization with T1 and the stranger's with T2, and returns their signing secrets.
func (f *fixture) workspaces() {
	f.t.Helper()
	for organization, team := range map[string]string{
		f.alice.OrganizationID.String(): "T1", f.stranger.OrganizationID.String(): "T2",
	} {
		f.exec("UPDATE users SET role = 'organization-super-admin' WHERE organization_id = $1", organization)
		token := f.alice.Subject
		if team == "T2" {
			token = f.stranger.Subject
		}
		get[api.SlackConfig](f, http.StatusOK, call{method: "PUT", path: "/v1/slack-config", token: token, body: map[string]any{
			"signing_secret": "secret-of-" + team,
		}})
		f.exec("UPDATE channel_installations SET team_id = $2, team_name = $2 WHERE organization_id = $1", organization, team)
	}
}

// TestR71_UnsignedRequestsAreRefused: altered, old and unsigned requests receive 401 with an empty body, whatever other
// errors they have, and are not stored.
func TestR71_UnsignedRequestsAreRefused(t *testing.T) {
	t.Parallel()
	intake := &taken{}
	f := newFixtureWith(t, llmtest.Say("はい"), settings{slack: slackSettings{intake: intake}})
	f.workspaces()
	const path, json = "/external/slack/v1/event", "application/json"
	now, right := time.Now(), "secret-of-T1"
	body := mention("T1", "糸とは")
	altered := signed(right, path, json, body, now)
	altered.body = strings.Replace(body, "糸", "絹", 1)
	version := signed(right, path, json, body, now)
	version.header["X-Slack-Signature"] = "v1" + strings.TrimPrefix(version.header["X-Slack-Signature"], "v0")
	bare := signed(right, path, json, body, now)
	delete(bare.header, "X-Slack-Signature")
	timeless := signed(right, path, json, body, now)
	delete(timeless.header, "X-Slack-Request-Timestamp")
	for name, c := range map[string]call{
		"altered": altered, "another version": version, "unsigned": bare, "without a time": timeless,
		"another secret":                signed("secret", path, json, body, now),
		"empty secret":                  signed("", path, json, body, now),
		"five minutes and a second old": signed(right, path, json, body, now.Add(-301*time.Second)),
		"ahead":                         signed(right, path, json, body, now.Add(310*time.Second)),
		"no JSON":                       signed("secret", path, json, "{", now),
		"too large":                     signed(right, path, json, strings.Repeat(" ", 2<<20), now),
		"another app's":                 signed("secret-of-T2", path, json, body, now),
		"two workspaces": signed("secret-of-T2", path, json,
			strings.Replace(body, `{`, `{"team_id":"T2","authorizations":[{"team_id":"T2"}],`, 1), now),
	} {
		if resp := f.do(c); resp.status != http.StatusUnauthorized || len(resp.body) != 0 {
			t.Errorf("%s: %d %q", name, resp.status, resp.body)
		}
	}
	if texts := intake.texts(); len(texts) != 0 {
		t.Fatalf("taken in: %q", texts)
	}
	f.exec("UPDATE organizations SET address_ranges = '{203.0.113.0/24}'") // Slack's servers are outside.
	for _, c := range []call{
		signed(right, path, json, body, now),
		signed(right, path, json, body, now.Add(-295*time.Second)),
		signed("secret-of-T2", path, json, mention("T2", "他社"), now),
		signed(right, path, json, mention("T9", "知らない"), now),
		signed(right, path, json, `{"type":"something_new"}`, now),
	} {
		if resp := f.do(c); resp.status != http.StatusOK || len(resp.body) != 0 {
			t.Errorf("got %d %q", resp.status, resp.body)
		}
	}
	if texts := intake.texts(); !slices.Equal(texts, []string{"T1: 糸とは", "T1: 糸とは", "T2: 他社"}) {
		t.Errorf("taken in: %q", texts)
	}
	challenge := f.do(signed(right, path, json, `{"type":"url_verification","challenge":"3eZbrw1aBm2r"}`, now))
	if challenge.status != http.StatusOK || string(challenge.body) != "3eZbrw1aBm2r" {
		t.Errorf("the challenge: %d %q", challenge.status, challenge.body)
	}
	if refused := f.do(signed("x", path, json, `{"type":"url_verification","challenge":"3eZb"}`, now)); refused.status != 401 {
		t.Errorf("an unsigned challenge: %d %q", refused.status, refused.body)
	}
}

// TestR71_InteractionsAndCommands: the same rules apply to buttons and commands, which are sent as forms.
func TestR71_InteractionsAndCommands(t *testing.T) {
	t.Parallel()
	intake := &taken{}
	f := newFixtureWith(t, llmtest.Say("はい"), settings{slack: slackSettings{intake: intake}})
	f.workspaces()
	const form = "application/x-www-form-urlencoded"
	command := url.Values{
		"command": {"/tsumugi"}, "team_id": {"T1"}, "channel_id": {"C1"}, "user_id": {"U1"}, "trigger_id": {"1.2"},
		"text": {"糸とは"}, "api_app_id": {"A1"},
	}.Encode()
	pressed := url.Values{"payload": {`{"type":"block_actions","team":{"id":"T1"},"user":{"id":"U1","team_id":"T1"},
		"channel":{"id":"C1"},"message":{"ts":"1.1"},
		"actions":[{"action_id":"tsumugi_stop","action_ts":"1.2","value":"` + newID() + `"}]}`}}.Encode()
	for path, body := range map[string]string{"command": command, "interaction": pressed} {
		path = "/external/slack/v1/" + path
		if resp := f.do(signed("secret-of-T1", path, form, body, time.Now())); resp.status != 200 || len(resp.body) != 0 {
			t.Errorf("%s: %d %q", path, resp.status, resp.body)
		}
		if resp := f.do(signed("secret-of-T2", path, form, body, time.Now())); resp.status != 401 || len(resp.body) != 0 {
			t.Errorf("%s of another app: %d %q", path, resp.status, resp.body)
		}
		if resp := f.do(signed("secret-of-T1", path, form, body+"&x=%", time.Now().Add(-time.Hour))); resp.status != 401 {
			t.Errorf("%s, old: %d %q", path, resp.status, resp.body)
		}
	}
	if all := intake.texts(); len(all) != 2 {
		t.Errorf("taken in: %q", all)
	}
}

// TestR71_FailedEventsAreSentAgain: if an event cannot be stored, the status is 503, so that Slack sends it again.
func TestR71_FailedEventsAreSentAgain(t *testing.T) {
	t.Parallel()
	intake := &taken{fails: fault.Wrap(errors.New("gone"), fault.Unavailable, "データベースに接続できません。")}
	f := newFixtureWith(t, llmtest.Say("はい"), settings{slack: slackSettings{
		intake:      intake,
		environment: channel.Credentials{BotToken: "xoxb-1", SigningSecret: "of the environment"},
	}})
	f.workspaces()
	resp := f.do(signed("secret-of-T1", "/external/slack/v1/event", "application/json", mention("T1", "糸"), time.Now()))
	if resp.status != http.StatusServiceUnavailable || resp.header.Get("Retry-After") == "" {
		t.Errorf("got %d %s", resp.status, resp.body)
	}
	// The workspace of the environment is unknown before Slack was called.
	resp = f.do(signed("of the environment", "/external/slack/v1/event", "application/json", mention("T3", "糸"), time.Now()))
	if resp.status != http.StatusServiceUnavailable {
		t.Errorf("got %d %s", resp.status, resp.body)
	}
	if resp := f.do(signed("of the environment", "/external/slack/v1/event", "application/json", mention("T1", "糸"),
		time.Now())); resp.status != http.StatusUnauthorized {
		t.Errorf("for a workspace that is set up in the app: %d %s", resp.status, resp.body)
	}
}

// TestR91_SlackSecretsAreNotShown: no response, log or table contains a stored secret.
func TestR91_SlackSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{})
	f.exec("UPDATE users SET role = 'organization-super-admin' WHERE id = $1", f.alice.ID)
	secrets := map[string]any{
		"signing_secret": "geheim-1", "app_token": "geheim-2", "client_id": "1.2", "client_secret": "geheim-3",
	}
	put := call{method: "PUT", path: "/v1/slack-config", token: f.alice.Subject, body: secrets}
	resp := f.do(put)
	var config api.SlackConfig
	if err := json.Unmarshal(resp.body, &config); err != nil || resp.status != http.StatusOK {
		t.Fatalf("got %d %s", resp.status, resp.body)
	}
	want := api.SlackCredentials{SigningSecret: true, AppToken: true, ClientID: "1.2", ClientSecret: true}
	if config.Credentials != want || config.Source != "stored" || !config.Storable {
		t.Errorf("got %+v", config)
	}
	// If Slack is unreachable, the error does not contain the token.
	token := f.do(call{method: "PUT", path: "/v1/slack-config", token: f.alice.Subject, body: map[string]any{
		"bot_token": "geheim-4",
	}})
	if p := token.problem(t); p.Status != http.StatusServiceUnavailable || !strings.Contains(p.Detail, "Slack") {
		t.Errorf("got %+v", p)
	}
	audit := f.do(call{method: "GET", path: "/v1/audit", token: f.alice.Subject})
	if !strings.Contains(string(audit.body), "signing_secret") {
		t.Errorf("the log has no entry: %s", audit.body)
	}
	var kept string
	f.scan(&kept, `SELECT string_agg(i::text, ' ') || (SELECT string_agg(a::text, ' ') FROM audit_events a)
		FROM channel_installations i`)
	for name, text := range map[string]string{
		"the answer": string(resp.body), "an error": string(token.body), "the audit log": string(audit.body),
		"the database": kept, "the log": strings.Join(f.logs.with(), ""),
	} {
		if strings.Contains(text, "geheim") {
			t.Errorf("%s has a secret: %s", name, text)
		}
	}
}

// TestSlackNeedsAKey: without a key nothing is stored, and the page can show the reason.
func TestSlackNeedsAKey(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{slack: slackSettings{unsealed: true}})
	f.exec("UPDATE users SET role = 'organization-super-admin' WHERE id = $1", f.alice.ID)
	config := get[api.SlackConfig](f, http.StatusOK, call{method: "GET", path: "/v1/slack-config", token: f.alice.Subject})
	if config.Storable || config.Source != "none" {
		t.Errorf("got %+v", config)
	}
	p := f.do(call{method: "PUT", path: "/v1/slack-config", token: f.alice.Subject, body: map[string]any{
		"signing_secret": "geheim",
	}}).problem(t)
	if p.Status != http.StatusConflict || !strings.Contains(p.Detail, "TSUMUGI_SECRET_KEY") {
		t.Errorf("got %+v", p)
	}
}

func TestSlackSettingsAreChecked(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{})
	f.exec("UPDATE users SET role = 'organization-super-admin' WHERE id = $1", f.alice.ID)
	policy := func(channels ...string) map[string]any {
		return map[string]any{"policy": map[string]any{"auto_link": true, "shared_channels": true, "channels": channels}}
	}
	for field, body := range map[string]map[string]any{
		"signing_secret":     {"signing_secret": "geheim mit Leerzeichen"},
		"client_id":          {"client_id": strings.Repeat("1", 600)},
		"policy.channels[1]": policy("C0123", "general"),
		"policy.channels":    policy(slices.Repeat([]string{"C0123"}, 201)...),
		"token":              {"token": "x"},
	} {
		p := f.do(call{method: "PUT", path: "/v1/slack-config", token: f.alice.Subject, body: body}).problem(t)
		if p.Status != http.StatusBadRequest || len(p.Errors) != 1 || p.Errors[0].Field != field {
			t.Errorf("%s: %+v", field, p)
		}
	}
	config := get[api.SlackConfig](f, http.StatusOK, call{
		method: "PUT", path: "/v1/slack-config", token: f.alice.Subject, body: policy("C0123", "C0456", "C0123"),
	})
	if p := config.Policy; !p.AutoLink || !p.SharedChannels || !slices.Equal(p.Channels, []string{"C0123", "C0456"}) {
		t.Errorf("got %+v", p)
	}
	manifest := get[api.SlackManifest](f, http.StatusOK, call{
		method: "GET", path: "/v1/slack-config/manifest?socket=true", token: f.alice.Subject,
	})
	if !json.Valid([]byte(manifest.Manifest)) || strings.Contains(manifest.Manifest, "/external/slack/v1/event") ||
		!strings.Contains(manifest.Manifest, issuer+"/external/slack/v1/link/callback") {
		t.Errorf("got %s", manifest.Manifest)
	}
	for _, status := range []int{http.StatusNoContent, http.StatusNotFound} {
		if resp := f.do(call{method: "DELETE", path: "/v1/slack-config", token: f.alice.Subject}); resp.status != status {
			t.Errorf("got %d %s", resp.status, resp.body)
		}
	}
}
