package deploy_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// secretSettings are the settings that contain secrets.
var secretSettings = []string{
	"DATABASE_URL", "NATS_URL", "OPENAI_API_KEY", "SLACK_APP_TOKEN", "SLACK_BOT_TOKEN", "SLACK_CLIENT_SECRET",
	"SLACK_SIGNING_SECRET", "SMTP_URL", "TSUMUGI_AUDIT_OTLP_HEADERS", "TSUMUGI_DEMO_PASSWORD",
	"TSUMUGI_SEARCH_KEY", "TSUMUGI_SECRET_KEY",
}

func secretSetting(name string) bool { return slices.Contains(secretSettings, name) }

// checkSettings checks that the server knows the settings, and that each has one value.
func checkSettings(t *testing.T, names []string) {
	t.Helper()
	files, err := filepath.Glob("../../cmd/tsumugi/*.go")
	if err != nil {
		t.Fatal(err)
	}
	known := make(map[string]bool)
	for _, file := range files {
		source := readFile(t, strings.TrimPrefix(filepath.ToSlash(file), "../../"))
		for _, tag := range regexp.MustCompile("`[^`]*\\benv:\"([A-Z_]+)\"").FindAllStringSubmatch(source, -1) {
			known[tag[1]] = true
		}
	}
	if len(known) < 50 {
		t.Fatalf("the server has %d settings", len(known))
	}
	for i, name := range names {
		if !known[name] {
			t.Errorf("the server does not know the setting %s", name)
		}
		if slices.Contains(names[:i], name) {
			t.Errorf("%s has two values", name)
		}
	}
}

// stopLimit returns the time that a stop of the server takes at most, in seconds.
func stopLimit(t *testing.T) int64 {
	t.Helper()
	limit := regexp.MustCompile(`\bstopLimit += (\d+) \* time\.Second\b`).FindStringSubmatch(
		readFile(t, "cmd/tsumugi/serve.go"))
	if limit == nil {
		t.Fatal("cmd/tsumugi/serve.go does not define stopLimit")
	}
	seconds, err := strconv.ParseInt(limit[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return seconds
}
