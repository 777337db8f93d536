package release_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

const (
	settings = "etc/tsumugi/tsumugi.env"
	secret   = "etc/tsumugi/secret.env"
)

// TestUnitIsHardened checks the exposure of the systemd unit by the rules of systemd-analyze, in which 10 is the worst.
func TestUnitIsHardened(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("needs systemd-analyze")
	}
	const unit = "../../deploy/package/tsumugi.service"
	command(t, "systemd-analyze", "security", "--offline=true", "--threshold=25", unit) // Tenths.
	text, err := os.ReadFile(unit)
	must.Succeed(t, err)
	if regexp.MustCompile(`(?m)^MemoryDenyWriteExecute=`).Match(text) {
		t.Error("the runtime of WebAssembly cannot compile")
	}
}

// packager installs and removes packages of a format.
type packager struct {
	arch            string // This machine's processor, as the packages name it.
	install, remove []string
	purge           []string // Removes what is left after remove; nil if only people do.
	edited          string   // The edited settings after remove.
}

// rpm returns a command of rpm(8) in a Debian system. It does not check dependencies, because the database of rpm does not
// contain Debian's packages.
func rpm(args ...string) []string {
	return append([]string{"rpm", "--force-debian", "--dbpath", "/var/lib/rpm", "--nodeps"}, args...)
}

// TestPackages installs, upgrades and removes the packages as the README does, and runs the server with the account, the
// settings and the command of its systemd unit. systemd itself does not run in a chroot.
func TestPackages(t *testing.T) {
	t.Parallel()
	for format, p := range map[string]packager{
		"deb": {
			arch: runtime.GOARCH, install: []string{"apt", "install", "--yes"},
			remove: []string{"apt", "remove", "--yes", "tsumugi"}, purge: []string{"apt", "purge", "--yes", "tsumugi"},
			edited: settings,
		},
		"rpm": {
			arch:    map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH],
			install: rpm("--upgrade"), remove: rpm("--erase", "tsumugi"), edited: settings + ".rpmsave",
		},
	} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			p.test(t, format)
		})
	}
}

func (p packager) test(t *testing.T, format string) {
	files, programs := dist(t, "*"+p.arch+"."+format), dist(t, "tsumugi-*-linux-"+runtime.GOARCH)
	if len(files) == 0 && format == "rpm" { // As after scripts/dist --quick.
		t.Skip("the release has no RPM package")
	}
	if len(files) != 1 || len(programs) != 1 {
		t.Fatalf("packages: %v, programs: %v", files, programs)
	}
	d := newDebian(t)
	install := func(file string) {
		t.Helper()
		command(t, "cp", file, d.path("tmp/new."+format))
		d.run(t, append(p.install, "/tmp/new."+format)...)
		got := d.run(t, "stat", "--format=%A %U:%G /%n", "--", "usr/bin/tsumugi", settings, secret, "var/lib/tsumugi",
			"usr/lib/systemd/system/tsumugi.service", "usr/share/doc/tsumugi/copyright")
		if got != installed {
			t.Errorf("the package installed\n%s", got)
		}
	}
	install(files[0])
	key := d.read(t, secret)
	address := freeAddress(t)
	edited := strings.Replace(d.read(t, settings), "127.0.0.1:8080", address, 1) +
		"TSUMUGI_DEMO_PASSWORD=" + password + "\n"
	if err := os.WriteFile(d.path(settings), []byte(edited), 0o640); err != nil { //nolint:gosec // As the package does.
		t.Fatal(err)
	}
	first := d.service(t, address)
	thread := first.ask(t)
	first.readPDF(t)
	first.stop(t)

	next := t.TempDir() // The same program as a later version.
	command(t, "env", "VERSION=1000.0.0", "ARCH="+runtime.GOARCH, "BINARY="+programs[0], "../../scripts/package", format, next)
	install(must.Get(filepath.Glob(filepath.Join(next, "*")))(t)[0])
	if d.read(t, settings) != edited || d.read(t, secret) != key {
		t.Error("the upgrade changed the settings or the secret key")
	}
	second := d.service(t, address)
	second.hasAnswer(t, thread)
	second.stop(t)

	d.run(t, p.remove...)
	if d.exists("usr/bin/tsumugi") || d.exists("usr/lib/systemd/system/tsumugi.service") ||
		!d.exists("var/lib/tsumugi/postgres") || d.read(t, p.edited) != edited || d.read(t, secret) != key {
		t.Error("the removal did not remove the program only")
	}
	if p.purge == nil {
		return
	}
	d.run(t, p.purge...)
	if d.exists("var/lib/tsumugi") || d.exists("etc/tsumugi") || strings.Contains(d.read(t, "etc/passwd"), "tsumugi") {
		t.Error("the purge left data, settings or the account")
	}
}

// installed are the modes and owners of the installed files.
const installed = `-rwxr-xr-x root:root /usr/bin/tsumugi
-rw-r----- root:tsumugi /etc/tsumugi/tsumugi.env
-rw-r----- root:tsumugi /etc/tsumugi/secret.env
drwx------ tsumugi:tsumugi /var/lib/tsumugi
-rw-r--r-- root:root /usr/lib/systemd/system/tsumugi.service
-rw-r--r-- root:root /usr/share/doc/tsumugi/copyright
`

// service starts the server with the account, the settings and the command of the installed unit.
func (r root) service(t *testing.T, address string) *server {
	t.Helper()
	unit := r.read(t, "usr/lib/systemd/system/tsumugi.service")
	all := func(name string) (values []string) {
		for _, match := range regexp.MustCompile(`(?m)^`+name+`=(.+)$`).FindAllStringSubmatch(unit, -1) {
			values = append(values, match[1])
		}
		return values
	}
	one := func(name string) string {
		values := all(name)
		if len(values) != 1 {
			t.Fatalf("the unit has %d lines %s", len(values), name)
		}
		return values[0]
	}
	cmd := r.inside(t.Context(), one("User")+":"+one("Group"), debianMounts,
		append([]string{"env", "--chdir=" + one("WorkingDirectory")}, strings.Fields(one("ExecStart"))...)...)
	for _, file := range all("EnvironmentFile") {
		for line := range strings.Lines(r.read(t, strings.TrimPrefix(file, "/"))) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				cmd.Env = append(cmd.Env, line)
			}
		}
	}
	return serve(t, cmd, address)
}

// TestFailedKeyLeavesNoKeyFile runs the script of the package after its installation in a folder. When no key can be
// generated, the script fails and leaves no file, because the next installation would take it for one with a key.
func TestFailedKeyLeavesNoKeyFile(t *testing.T) {
	t.Parallel()
	script := must.Get(os.ReadFile("../../deploy/package/postinstall.sh"))(t)
	dir := t.TempDir()
	inside := strings.NewReplacer("/etc/", dir+"/etc/", "/var/", dir+"/var/", "/run/", dir+"/run/").Replace(string(script))
	must.Succeed(t, os.MkdirAll(filepath.Join(dir, "etc/tsumugi"), 0o700))
	install := func(newKey string) (string, error) {
		functions := "getent() { :; }; chgrp() { :; }; tsumugi() { " + newKey + "; }\n" +
			`install() { case $1 in -d) ;; *) for file; do :; done; : >"$file" ;; esac; }` + "\n"
		//nolint:gosec // A script of the repository.
		out, err := exec.CommandContext(t.Context(), "sh", "-c", functions+inside).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		text, _ := os.ReadFile(filepath.Join(dir, secret))
		return string(text), err
	}
	if text, err := install("return 1"); err == nil || text != "" {
		t.Errorf("without a key, the file is %q, %v", text, err)
	}
	if text, err := install("echo the-key"); err != nil || !strings.Contains(text, "\nTSUMUGI_SECRET_KEY=the-key\n") {
		t.Errorf("the file is %q, %v", text, err)
	}
	if text, err := install("echo another-key"); err != nil || strings.Contains(text, "another") {
		t.Errorf("the second installation changed the file to %q, %v", text, err)
	}
}
