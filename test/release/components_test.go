package release_test

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestComponents compares the list of components with the Go modules in the program and with the lock file of npm.
// scripts/dist --quick writes no list.
func TestComponents(t *testing.T) {
	t.Parallel()
	lists, programs := dist(t, "*.cdx.json"), dist(t, "tsumugi-*-linux-amd64")
	if len(lists) == 0 {
		t.Skip("the release has no list of components")
	}
	var list struct {
		BOMFormat  string
		Components []struct{ Name, Version, PURL string }
	}
	decode := func(file string, into any) {
		t.Helper()
		text, err := os.ReadFile(file)
		must.Succeed(t, err)
		must.Succeed(t, json.Unmarshal(text, into))
	}
	decode(lists[0], &list)
	listed := make(map[string]bool)
	for _, c := range list.Components {
		kind, _, _ := strings.Cut(c.PURL, "/")
		listed[kind+"/"+c.Name+"@"+c.Version] = true
	}
	program, err := buildinfo.ReadFile(programs[0])
	must.Succeed(t, err)
	for _, module := range program.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		if name := "pkg:golang/" + module.Path + "@" + module.Version; !listed[name] {
			t.Errorf("the list lacks %s", name)
		}
	}
	var lock struct {
		Packages map[string]struct {
			Version   string
			Dev, Link bool
		}
	}
	decode("../../package-lock.json", &lock)
	const folder = "node_modules/"
	packages := 0
	for path, p := range lock.Packages {
		at := strings.LastIndex(path, folder)
		if at < 0 || p.Dev || p.Link {
			continue
		}
		name := path[at+len(folder):]
		packages++
		if full := "pkg:npm/" + name + "@" + p.Version; !listed[full] {
			t.Errorf("the list lacks %s", full)
		}
	}
	if list.BOMFormat != "CycloneDX" || len(program.Deps) < 50 || packages < 50 {
		t.Errorf("%s, %d modules, %d packages", list.BOMFormat, len(program.Deps), packages)
	}
}
