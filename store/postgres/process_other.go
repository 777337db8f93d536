//go:build unix && !linux

package postgres

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// serverAttributes runs the server as the account and in a new session, so that Ctrl-C in a terminal does not reach it
// before its supervisor has finished. These systems send no signal when the supervisor dies. The next start stops the
// remaining server.
func serverAttributes(acct account) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: acct.credential(), Setsid: true}
}

// workingOn returns pid, which is from postmaster.pid, if it is a running PostgreSQL server.
func workingOn(_ string, pid int) []int {
	if pid <= 0 || syscall.Kill(pid, 0) == syscall.ESRCH {
		return nil
	}
	out, err := exec.Command("ps", "-o", "state=,comm=", "-p", strconv.Itoa(pid)).Output() //nolint:gosec // A number.
	state := strings.TrimSpace(string(out))
	if err != nil || strings.HasPrefix(state, "Z") || !strings.Contains(state, "postgres") {
		return nil
	}
	return []int{pid}
}
