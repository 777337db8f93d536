//go:build unix && !linux

package postgres

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// serverAttributes runs the server as the account and in a session of its own: Ctrl-C in a terminal must not reach it
// before its supervisor has finished. There is no signal on the supervisor's death on these systems; the next start
// ends what is left.
func serverAttributes(acct account) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: acct.credential(), Setsid: true}
}

// workingOn returns the server that postmaster.pid names if it is alive.
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
