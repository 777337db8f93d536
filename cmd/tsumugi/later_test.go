package main

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"
)

// TestSettingsWithoutEffectAreNamed checks that settings without an effect are accepted and logged at startup without
// their values.
func TestSettingsWithoutEffectAreNamed(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	l := later{SlackBotToken: "xoxb-secret", SearchURL: "http://127.0.0.1:8888"}
	var out bytes.Buffer
	l.warn(slog.New(slog.NewTextHandler(&out, nil)))
	for _, name := range []string{"SLACK_BOT_TOKEN", "TSUMUGI_SEARCH_URL"} {
		if !strings.Contains(out.String(), "setting="+name) {
			t.Errorf("%s is not named: %s", name, &out)
		}
		if !strings.Contains(string(source), "`"+name+"`") {
			t.Errorf("docs/configuration.md lacks %s", name)
		}
	}
	if strings.Contains(out.String(), "SLACK_SIGNING_SECRET") || strings.Contains(out.String(), "xoxb") ||
		strings.Count(out.String(), "\n") != 2 {
		t.Errorf("said more: %s", &out)
	}
}
