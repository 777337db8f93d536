package main

import (
	"cmp"
	_ "embed" // For the version.
	"encoding/json"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/tsumugi-ai/tsumugi/migrations"
)

// versionFile is the only place of the product's version. A test compares the packages for npm and the extension with
// it.
//
//go:embed VERSION
var versionFile string

// version is the product's version.
var version = strings.TrimSpace(versionFile)

// commit is set by scripts/build, because Go records no commit in a build with -buildvcs=false.
var commit string

// build describes the program.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Schema  int    `json:"schema"` // The number of the newest migration in the program.
	Go      string `json:"go"`
}

// currentBuild describes this program.
func currentBuild() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return build{version, cmp.Or(commit, recordedCommit(info), "unknown"), migrations.Newest(), runtime.Version()}
}

// recordedCommit returns the commit that Go has recorded in a build, or "".
func recordedCommit(info *debug.BuildInfo) string {
	settings := make(map[string]string)
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	recorded := settings["vcs.revision"]
	if recorded != "" && settings["vcs.modified"] == "true" {
		recorded += "-dirty"
	}
	return recorded
}

type versionCommand struct {
	JSON bool `help:"Print a JSON object."`
}

// Run prints the version, the commit, the newest migration and the version of Go.
func (c *versionCommand) Run(out *output) error {
	b := currentBuild()
	if c.JSON {
		return json.NewEncoder(out).Encode(b)
	}
	return table{
		{"version", b.Version}, {"commit", b.Commit}, {"schema", strconv.Itoa(b.Schema)}, {"go", b.Go},
	}.write(out)
}
