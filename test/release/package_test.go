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

// TestDebianPackage installs, upgrades, removes and purges the package as the README does, and runs the server with the
// account, the settings and the command of its systemd unit. systemd itself does not run in a chroot.
func TestDebianPackage(t *testing.T) {
	t.Parallel()
	files := dist(t, "*_"+runtime.GOARCH+".deb")
	if len(files) != 1 {
		t.Fatalf("packages: %v", files)
	}
	d := newDebian(t)
	command(t, "cp", files[0], d.path("tmp/new.deb"))
	d.run(t, "apt", "install", "--yes", "/tmp/new.deb")
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

	// The same program as the next version, not compressed, because compression takes most of a minute.
	d.run(t, "dpkg-deb", "--raw-extract", "/tmp/new.deb", "/tmp/next")
	d.run(t, "sed", "-i", `s/^Version: .*/&.1/`, "/tmp/next/DEBIAN/control")
	d.run(t, "dpkg-deb", "-Znone", "--build", "/tmp/next", "/tmp/next.deb")
	d.run(t, "apt", "install", "--yes", "/tmp/next.deb")
	if d.read(t, settings) != edited || d.read(t, secret) != key {
		t.Error("the upgrade changed the settings or the secret key")
	}
	second := d.service(t, address)
	second.hasAnswer(t, thread)
	second.stop(t)

	d.run(t, "apt", "remove", "--yes", "tsumugi")
	if d.exists("usr/bin/tsumugi") || !d.exists("var/lib/tsumugi/postgres") || !d.exists(settings) {
		t.Error("the removal did not remove the program only")
	}
	d.run(t, "apt", "purge", "--yes", "tsumugi")
	if d.exists("var/lib/tsumugi") || d.exists("etc/tsumugi") || strings.Contains(d.read(t, "etc/passwd"), "tsumugi") {
		t.Error("the purge left data, settings or the account")
	}
}

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
	script, err := os.ReadFile("../../deploy/package/postinstall.sh")
	must.Succeed(t, err)
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
