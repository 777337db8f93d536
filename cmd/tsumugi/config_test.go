package main

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestHelpExplainsEverySetting(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	must.Succeed(t, run(t.Context(), []string{"serve", "--help"}, nil, &out, io.Discard))
	for _, setting := range settings(t) {
		if !strings.Contains(out.String(), "$"+setting.name) {
			t.Errorf("the help lacks %s", setting.name)
		}
	}
	out.Reset()
	must.Succeed(t, run(t.Context(), []string{"--help"}, nil, &out, io.Discard))
	for _, command := range []string{"serve", "migrate", "notification", "version"} {
		if !strings.Contains(out.String(), command) {
			t.Errorf("the help lacks %s", command)
		}
	}
}

// TestConfigurationIsDocumented checks that docs/configuration.md has exactly the settings of the server, with their
// defaults.
func TestConfigurationIsDocumented(t *testing.T) {
	t.Parallel()
	page := must.Get(os.ReadFile("../../docs/configuration.md"))(t)
	documented := map[string]string{} // Defaults by name; "" for the settings in the table of settings without effect.
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(line, "|"); strings.HasPrefix(line, "| `") {
			for _, name := range strings.Split(cells[1], ",") {
				documented[strings.Trim(name, " `")] = cells[2]
			}
		}
	}
	for _, setting := range settings(t) {
		def, ok := documented[setting.name]
		delete(documented, setting.name)
		if !ok {
			t.Errorf("%s is not in docs/configuration.md", setting.name)
		} else if quoted := strings.Trim(def, " "); strings.HasPrefix(quoted, "`") && setting.def != "" &&
			quoted != "`"+setting.def+"`" {
			t.Errorf("docs/configuration.md says that %s is %s by default; it is %q", setting.name, quoted, setting.def)
		}
	}
	for name := range documented {
		t.Errorf("docs/configuration.md has %s, which is no setting", name)
	}
}

type setting struct{ name, def string }

// settings returns the environment variables of `tsumugi serve` and their defaults.
func settings(t *testing.T) []setting {
	t.Helper()
	parser := must.Get(kong.New(&commands{}))(t)
	var all []setting
	for _, command := range parser.Model.Leaves(false) {
		if command.Name != "serve" {
			continue
		}
		for _, flag := range slices.Concat(command.AllFlags(false)...) {
			for _, name := range flag.Envs {
				all = append(all, setting{name, flag.Default})
			}
		}
	}
	if len(all) < 20 {
		t.Fatalf("%d settings", len(all))
	}
	return all
}

func TestWrongSettingsAreNamed(t *testing.T) {
	t.Parallel()
	for setting, environ := range map[string][]string{
		"TSUMUGI_LISTEN":             {"TSUMUGI_LISTEN=8080"},
		"TSUMUGI_PUBLIC_URL":         {"TSUMUGI_PUBLIC_URL=tsumugi.example"},
		"DATABASE_URL":               {"DATABASE_URL=mysql://localhost/x"},
		"OPENAI_BASE_URL":            {"OPENAI_BASE_URL=localhost:11434"},
		"BLOB_URL":                   {"BLOB_URL=s3://key:secret@bucket"},
		"NATS_URL":                   {"NATS_URL=http://127.0.0.1:4222", "DATABASE_URL=postgres://localhost/x"},
		"TSUMUGI_MAX_STREAMS":        {"TSUMUGI_MAX_STREAMS=0"},
		"TSUMUGI_LEASE":              {"TSUMUGI_LEASE=100ms"},
		"OPENAI_FIRST_TOKEN_TIMEOUT": {"OPENAI_FIRST_TOKEN_TIMEOUT=10ms"},
		"OPENAI_TOKEN_TIMEOUT":       {"OPENAI_TOKEN_TIMEOUT=thirty"},
		"COGNITO_CLIENT_ID":          {"COGNITO_USER_POOL_ID=ap-northeast-1_AbCdEf123"},
		"COGNITO_REGION":             {"COGNITO_USER_POOL_ID=us-east-1_AbCdEf123", "COGNITO_CLIENT_ID=abc"},
		"TSUMUGI_TRUSTED_PROXIES":    {"TSUMUGI_TRUSTED_PROXIES=10.0.0.1/99"},
		"TSUMUGI_LIMITS":             {"TSUMUGI_LIMITS=question=-1"},
		"TSUMUGI_LINK_HELP":          {"TSUMUGI_LINK_HELP=javascript:alert(1)"},
		"OPENAI_EMBEDDING_MODEL":     {"OPENAI_EMBEDDING_MODEL=m"}, // Without a provider.
		"TSUMUGI_TAG_MANAGER_ID":     {"TSUMUGI_TAG_MANAGER_ID=GTM-<script>"},
		"TAG_MANAGER_ID":             {"TSUMUGI_TAG_MANAGER_ID=GTM-ABC"},
		"TSUMUGI_SECRET_KEY":         {"TSUMUGI_SECRET_KEY=c2hvcnQ="},
		"SLACK_BOT_TOKEN":            {"SLACK_SIGNING_SECRET=geheim"},
		"SLACK_SIGNING_SECRET":       {"SLACK_BOT_TOKEN=xoxb-1"},
		"SLACK_APP_TOKEN":            {"SLACK_BOT_TOKEN=xoxb-1", "SLACK_APP_TOKEN=xoxb-1"},
		"SLACK_CLIENT_ID":            {"SLACK_BOT_TOKEN=xoxb-1", "SLACK_SIGNING_SECRET=x", "SLACK_CLIENT_SECRET=x"},
		"SLACK_API_URL":              {"SLACK_API_URL=slack.com/api"},
		"TSUMUGI_LOG":                {"TSUMUGI_LOG=xml"},
		"TSUMUGI_DEMO":               {"TSUMUGI_DEMO=perhaps"},
		"TSUMUGI_AUDIT_OTLP_URL":     {"TSUMUGI_AUDIT_OTLP_URL=collector:4318"},
		"TSUMUGI_AUDIT_OTLP_HEADERS": {"TSUMUGI_AUDIT_OTLP_HEADERS=a=b"},
		"TSUMUGI_AUDIT_SYSLOG_URL":   {"TSUMUGI_AUDIT_SYSLOG_URL=tcp://siem.example:514"},
		"TSUMUGI_AUDIT_CERT_FILE": {
			"TSUMUGI_AUDIT_SYSLOG_URL=tls://siem.example", "TSUMUGI_AUDIT_CERT_FILE=missing.pem", "TSUMUGI_AUDIT_KEY_FILE=missing.key",
		},
		"TSUMUGI_AUDIT_KEY_FILE": {"TSUMUGI_AUDIT_SYSLOG_URL=tls://siem.example", "TSUMUGI_AUDIT_KEY_FILE=missing.key"},
		"AUDIT_CERT_FILE": {
			"TSUMUGI_AUDIT_OTLP_URL=http://127.0.0.1:4318", "TSUMUGI_AUDIT_CERT_FILE=c.pem", "TSUMUGI_AUDIT_KEY_FILE=c.key",
		},
		"TSUMUGI_MODELS": {"TSUMUGI_MODELS=config_test.go"},
		"MODELS":         {"TSUMUGI_MODELS=missing.yaml"},
		"TSUMUGI_LISTNE": {"TSUMUGI_LISTNE=127.0.0.1:0"},
	} {
		err := run(t.Context(), []string{"serve"}, environ, io.Discard, io.Discard)
		name := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(setting, "TSUMUGI_"), "_", "-"))
		if err == nil || (!strings.Contains(err.Error(), setting) && !strings.Contains(err.Error(), "--"+name)) {
			t.Errorf("%s: %v", environ[0], err)
		}
	}
	alone := run(t.Context(), []string{"serve"}, []string{"NATS_URL=nats://127.0.0.1:4222"}, io.Discard, io.Discard)
	if alone == nil || !strings.Contains(alone.Error(), "DATABASE_URL") {
		t.Errorf("servers that share no database: %v", alone)
	}
	if err := run(t.Context(), []string{"serve", "--nonsense"}, nil, io.Discard, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "--nonsense") {
		t.Errorf("an unknown flag: %v", err)
	}
}
