// Package network runs a test in a separate network namespace. It is for tests only.
package network

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

// variable is the environment variable that is set in the child process of Own.
const variable = "TSUMUGI_TEST_OWN_NETWORK"

// resolver is a DNS server that cannot be reached. The machine's own resolver may listen on the loopback device, and
// then name look-ups would not count as connections to other machines.
const resolver = "nameserver 192.0.2.53\n"

// Own runs the test that calls it again in a child process, and returns true there. The child has its own mounts and its
// own network, which has only a loopback device. environ is added to its environment. The test is skipped if this machine
// does not allow that.
func Own(t *testing.T, environ ...string) bool {
	t.Helper()
	if os.Getenv(variable) != "" {
		return true
	}
	for _, program := range []string{"unshare", "ip"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s", program)
		}
	}
	names := filepath.Join(t.TempDir(), "resolv.conf")
	must.Succeed(t, os.WriteFile(names, []byte(resolver), 0o644)) //nolint:gosec // Every account reads it.
	isolated := []string{
		"--net", "--mount", "sh", "-ec", `ip link set lo up; mount --bind "$0" /etc/resolv.conf; exec "$@"`, names,
	}
	if os.Geteuid() != 0 {
		isolated = append([]string{"--user", "--map-current-user", "--keep-caps"}, isolated...)
	}
	//nolint:gosec // Constants.
	if out, err := exec.CommandContext(t.Context(), "unshare", append(isolated, "true")...).CombinedOutput(); err != nil {
		t.Skipf("needs namespaces, which are not allowed here: %v: %s", err, out)
	}
	//nolint:gosec // Itself.
	cmd := exec.CommandContext(t.Context(), "unshare", append(isolated, os.Args[0], "-test.run=^"+t.Name()+"$")...)
	cmd.Env = append(append(os.Environ(), variable+"=1"), environ...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	return false
}
