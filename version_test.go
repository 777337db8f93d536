package tsumugi_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestVersionsAreEqual compares the versions of the packages for npm, of the extension, of the Helm chart, of the image
// in the Compose files and of the CHANGELOG with the product's. The app is part of the program and has none.
func TestVersionsAreEqual(t *testing.T) {
	t.Parallel()
	file := must.Get(os.ReadFile("cmd/tsumugi/VERSION"))(t)
	version := strings.TrimSpace(string(file))
	type versioned struct {
		Version string `json:"version"`
	}
	read := func(path string, into any) {
		text := must.Get(os.ReadFile(path))(t)
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	var lock struct {
		Packages map[string]versioned `json:"packages"`
	}
	read("package-lock.json", &lock)
	got := make(map[string]string)
	for _, folder := range []string{"clients/ai-sdk", "extension"} {
		var own versioned
		read(folder+"/package.json", &own)
		got[folder+"/package.json"], got["package-lock.json, "+folder] = own.Version, lock.Packages[folder].Version
	}
	var manifest versioned
	read("extension/public/manifest.json", &manifest)
	got["extension/public/manifest.json"] = manifest.Version
	for path, pattern := range map[string]string{
		"deploy/helm/tsumugi/Chart.yaml": `(?m)^(?:version|appVersion): (.+)$`,
		"deploy/compose/one.yaml":        `image: tsumugi:\$\{TSUMUGI_VERSION:-(.+)\}`,
		"deploy/compose/three.yaml":      `image: tsumugi:\$\{TSUMUGI_VERSION:-(.+)\}`,
	} {
		text, err := os.ReadFile(path) //nolint:gosec // A file of this repository.
		must.Succeed(t, err)
		for i, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			got[path+", "+strconv.Itoa(i)] = found[1]
		}
	}
	if len(got) != 9 {
		t.Errorf("versions: %v", got)
	}
	for place, has := range got {
		if has != version {
			t.Errorf("%s has version %q, not %q", place, has, version)
		}
	}
	changes := must.Get(os.ReadFile("CHANGELOG.md"))(t)
	if !strings.Contains(string(changes), "\n## ["+version+"]") {
		t.Errorf("CHANGELOG.md has no section [%s]", version)
	}
}
