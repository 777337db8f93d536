package postgres

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// serverAttributes runs the server as the account and in a new session, so that Ctrl-C in a terminal does not reach it
// before its supervisor has finished. The kernel sends it a signal to stop when the supervisor dies.
func serverAttributes(acct account) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Credential: acct.credential(),
		Setsid:     true,
		Pdeathsig:  syscall.SIGINT, // PostgreSQL's fast shutdown.
	}
}

// workingOn lists the processes that use a cluster, except zombies. The server and its children have the cluster as
// their working directory.
func workingOn(cluster string, _ int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var found []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		dir := filepath.Join("/proc", e.Name())
		if cwd, err := os.Readlink(filepath.Join(dir, "cwd")); err != nil || cwd != cluster {
			continue
		}
		if comm, err := os.ReadFile(filepath.Join(dir, "comm")); err != nil ||
			!bytes.HasPrefix(comm, []byte("postgres")) {
			continue // A person's shell may have that working directory.
		}
		if stat, err := os.ReadFile(filepath.Join(dir, "stat")); err != nil || isZombie(stat) {
			continue
		}
		found = append(found, pid)
	}
	return found
}

// isZombie reads the state after the command's name, which is in parentheses and may contain any character.
func isZombie(stat []byte) bool {
	i := bytes.LastIndexByte(stat, ')')
	return i >= 0 && i+2 < len(stat) && (stat[i+2] == 'Z' || stat[i+2] == 'X')
}
