package release_test

import (
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

const (
	settings = "etc/tsumugi/tsumugi.env"
	secret   = "etc/tsumugi/secret.env"
)

// TestDebianPackage installs, upgrades, removes and purges the package, and runs the server with the account, the
// settings and the command of its systemd unit. systemd itself does not run in a chroot.
func TestDebianPackage(t *testing.T) {
	t.Parallel()
	files := dist(t, "*_"+runtime.GOARCH+".deb")
	if len(files) != 1 {
		t.Fatalf("packages: %v", files)
	}
	d := newDebian(t)
	command(t, "cp", files[0], d.path("tmp/new.deb"))
	d.run(t, "dpkg", "--install", "/tmp/new.deb")
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
	d.run(t, "dpkg", "--install", "/tmp/next.deb")
	if d.read(t, settings) != edited || d.read(t, secret) != key {
		t.Error("the upgrade changed the settings or the secret key")
	}
	second := d.service(t, address)
	second.hasAnswer(t, thread)
	second.stop(t)

	d.run(t, "dpkg", "--remove", "tsumugi")
	if d.exists("usr/bin/tsumugi") || !d.exists("var/lib/tsumugi/postgres") || !d.exists(settings) {
		t.Error("the removal did not remove the program only")
	}
	d.run(t, "dpkg", "--purge", "tsumugi")
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
