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
	l := later{SearchURL: "http://user:secret@127.0.0.1:8888"}
	var out bytes.Buffer
	l.warn(slog.New(slog.NewTextHandler(&out, nil)))
	for _, name := range []string{"TSUMUGI_SEARCH_URL"} {
		if !strings.Contains(out.String(), "setting="+name) {
			t.Errorf("%s is not named: %s", name, &out)
		}
		if !strings.Contains(string(source), "`"+name+"`") {
			t.Errorf("docs/configuration.md lacks %s", name)
		}
	}
	if strings.Contains(out.String(), "secret") || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("said more: %s", &out)
	}
}
