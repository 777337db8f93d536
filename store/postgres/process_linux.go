package postgres

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// serverAttributes runs the server as the account, in a session of its own (Ctrl-C in a terminal must not reach it
// before its supervisor has finished its work), and has the kernel ask it to stop when the supervisor dies.
func serverAttributes(acct account) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Credential: acct.credential(),
		Setsid:     true,
		Pdeathsig:  syscall.SIGINT, // PostgreSQL's fast shutdown.
	}
}

// workingOn lists the living processes that work on a cluster: the server and its children have it as their working
// directory. Zombies do nothing any more and are left out.
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
			continue // A person's shell may stand in that folder.
		}
		if stat, err := os.ReadFile(filepath.Join(dir, "stat")); err != nil || isZombie(stat) {
			continue
		}
		found = append(found, pid)
	}
	return found
}

// isZombie reads the state behind the command's name, which stands in parentheses and may hold any character.
func isZombie(stat []byte) bool {
	i := bytes.LastIndexByte(stat, ')')
	return i >= 0 && i+2 < len(stat) && (stat[i+2] == 'Z' || stat[i+2] == 'X')
}
