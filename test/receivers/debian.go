package receivers

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

// debian is a folder with unpacked packages.
type debian string

// install unpacks Debian packages, with those of their dependencies that are not installed, without root. It keeps
// them in the folder .cache of the repository. The test is skipped on other systems.
func install(t *testing.T, packages ...string) debian {
	t.Helper()
	if _, err := exec.LookPath("apt-get"); err != nil {
		t.Skip("needs packages of Debian")
	}
	cache := filepath.Join(repository(t), ".cache/receivers")
	dir := filepath.Join(cache, packages[0])
	if _, err := os.Stat(dir); err == nil {
		return debian(dir)
	}
	must.Succeed(t, os.MkdirAll(cache, 0o750))
	work := must.Get(os.MkdirTemp(cache, "new-"))(t)
	defer func() { _ = os.RemoveAll(work) }()
	download(t, work, packages)
	archives := must.Get(filepath.Glob(filepath.Join(work, "cache/archives/*.deb")))(t)
	root := filepath.Join(work, "root")
	must.Succeed(t, os.Mkdir(root, 0o750))
	for _, archive := range archives {
		//nolint:gosec // The folders are those of this package.
		unpack := exec.CommandContext(t.Context(), "dpkg-deb", "--extract", archive, root)
		if out, err := unpack.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", archive, err, out)
		}
	}
	if err := os.Rename(root, dir); err != nil && !os.IsExist(err) { // Another process may have been faster.
		t.Fatal(err)
	}
	return debian(dir)
}

// download downloads packages. It uses the package lists of the system, or own ones if these are missing or too old.
func download(t *testing.T, work string, packages []string) {
	t.Helper()
	apt := func(options ...string) ([]byte, error) {
		for _, folder := range []string{"cache/archives/partial", "lists/partial"} {
			must.Succeed(t, os.MkdirAll(filepath.Join(work, folder), 0o750))
		}
		options = append([]string{
			"-q", "-y", "-o", "Debug::NoLocking=true", "-o", "Dir::Cache=" + filepath.Join(work, "cache"),
			"-o", "APT::Sandbox::User=root",
		}, options...)
		//nolint:gosec // The options are those of this package.
		return exec.CommandContext(t.Context(), "apt-get", options...).CombinedOutput()
	}
	get := append([]string{"--download-only", "--no-install-recommends", "install"}, packages...)
	if _, err := apt(get...); err == nil {
		return
	}
	lists := []string{"-o", "Dir::State::lists=" + filepath.Join(work, "lists")}
	if out, err := apt(append(slices.Clone(lists), "update")...); err != nil {
		t.Fatalf("apt-get update: %v: %s", err, out)
	}
	if out, err := apt(append(lists, get...)...); err != nil {
		t.Fatalf("apt-get install: %v: %s", err, out)
	}
}

// glob returns the folder that matches a pattern in the unpacked packages or, if they were installed already, in the
// system.
func (d debian) glob(t *testing.T, pattern string) string {
	t.Helper()
	for _, root := range []string{string(d), "/"} {
		if found, err := filepath.Glob(filepath.Join(root, pattern)); err == nil && len(found) > 0 {
			return found[0]
		}
	}
	t.Fatalf("no %s", pattern)
	return ""
}

// command returns a command that runs a program of the packages.
func (d debian) command(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	libraries := must.Get(filepath.Glob(filepath.Join(string(d), "usr/lib/*")))(t)
	more := must.Get(filepath.Glob(filepath.Join(string(d), "lib/*-*")))(t)
	//nolint:gosec // The program is one of Debian, the arguments are those of this package.
	cmd := exec.CommandContext(t.Context(), d.glob(t, program), args...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+strings.Join(append(libraries, more...), ":"))
	return cmd
}

// repository returns the folder of the repository.
func repository(t *testing.T) string {
	t.Helper()
	out := must.Get(exec.CommandContext(context.WithoutCancel(t.Context()), "go", "env", "GOMOD").Output())(t)
	return filepath.Dir(strings.TrimSpace(string(out)))
}
