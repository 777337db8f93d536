package postgres

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	leftoverPoll    = 10 * time.Millisecond
	leftoverTimeout = 15 * time.Second // For the previous server to shut down by itself.
)

// clearLeftovers prepares the data directory for a launch if the last server did not end cleanly. That server gets a
// signal to stop when its supervisor dies, but may take a moment to end, and so may its children. An ended server may
// remain in the process table as a zombie. clearLeftovers removes postmaster.pid when no process uses the directory,
// because PostgreSQL refuses to start if the pid in it belongs to an unrelated process by then.
func (s *Server) clearLeftovers() error {
	pid := s.folder.readPID().pid
	path := filepath.Join(s.folder.cluster, "postmaster.pid")
	if _, err := os.Lstat(path); os.IsNotExist(err) {
		return nil
	}
	ours := pid != 0 && pid == s.lock.previous
	begin := time.Now()
	signals := []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL}
	for rounds := 0; ; rounds++ {
		left := workingOn(s.folder.cluster, pid)
		if len(left) == 0 {
			break
		}
		if rounds == 0 {
			s.log.Info("waiting for the previous database server to end", "process", pid)
		}
		if !ours && time.Since(begin) > 3*time.Second {
			return fmt.Errorf("%w: another PostgreSQL server (process %d) works on %s; stop it first",
				ErrInUse, left[0], s.folder.cluster)
		}
		if step := leftoverTimeout / 3; ours && len(signals) > 0 &&
			time.Since(begin) >= time.Duration(3-len(signals))*step {
			for _, p := range left {
				_ = syscall.Kill(p, signals[0]) // Fails if the process has ended.
			}
			signals = signals[1:]
		}
		if time.Since(begin) > leftoverTimeout+quitTimeout {
			return fmt.Errorf("%w: the previous server (process %d) on %s does not end", ErrInUse, left[0],
				s.folder.cluster)
		}
		if !s.pause(leftoverPoll) {
			return fmt.Errorf("stopped while waiting for the previous server")
		}
	}
	for _, name := range []string{path, s.socketPath(), s.socketPath() + ".lock"} {
		if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("the data folder: %w", err)
		}
	}
	return nil
}

func (s *Server) socketPath() string { return filepath.Join(s.socketDir, ".s.PGSQL."+port) }

// cleanUp removes the socket's folder, which may be outside the data folder. A server that ended cleanly has removed
// its files. Otherwise the folder stays, and the next start removes the files.
func (s *Server) cleanUp() { _ = os.Remove(s.socketDir) }
