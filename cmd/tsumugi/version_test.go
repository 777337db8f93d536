package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestVersionIsPrinted(t *testing.T) {
	t.Parallel()
	file := must.Get(os.ReadFile("VERSION"))(t)
	var text, encoded bytes.Buffer
	must.Succeed(t, run(t.Context(), []string{"version"}, nil, &text, io.Discard))
	must.Succeed(t, run(t.Context(), []string{"version", "--json"}, nil, &encoded, io.Discard))
	var got build
	decoder := json.NewDecoder(&encoded)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&got); err != nil || decoder.More() {
		t.Fatal(err)
	}
	if got.Version != strings.TrimSpace(string(file)) || got.Commit == "" || !strings.HasPrefix(got.Go, "go1.") {
		t.Errorf("got %+v", got)
	}
	steps := must.Get(os.ReadDir("../../migrations"))(t)
	newest := ""
	for _, step := range steps {
		if number, _, ok := strings.Cut(step.Name(), "_"); ok && strings.HasSuffix(step.Name(), ".sql") {
			newest = strings.TrimLeft(number, "0")
		}
	}
	if strconv.Itoa(got.Schema) != newest {
		t.Errorf("the schema is %d, not %s", got.Schema, newest)
	}
	want := [][]string{{"version", got.Version}, {"commit", got.Commit}, {"schema", newest}, {"go", got.Go}}
	lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	if len(lines) != len(want) {
		t.Fatalf("printed\n%s", text.String())
	}
	for i, line := range lines {
		if fields := strings.Fields(line); len(fields) < 2 || fields[0] != want[i][0] ||
			strings.Join(fields[1:], " ") != want[i][1] {
			t.Errorf("line %d is %q", i, line)
		}
	}
}

func TestRecordedCommit(t *testing.T) {
	t.Parallel()
	for want, settings := range map[string][]debug.BuildSetting{
		"":            {{Key: "vcs.modified", Value: "true"}},
		"0a1b2c":      {{Key: "vcs.revision", Value: "0a1b2c"}, {Key: "vcs.modified", Value: "false"}},
		"0a1b2-dirty": {{Key: "vcs.modified", Value: "true"}, {Key: "vcs.revision", Value: "0a1b2"}},
	} {
		if got := recordedCommit(&debug.BuildInfo{Settings: settings}); got != want {
			t.Errorf("%v: %q", settings, got)
		}
	}
}
