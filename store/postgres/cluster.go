package postgres

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// createCluster creates the data directory and the database in it. It creates them in a temporary folder and renames
// that at the end. After an interrupted first start, the next start therefore creates the cluster again.
func (s *Server) createCluster(ctx context.Context) error {
	part := filepath.Join(s.folder.root, "cluster.part")
	if err := os.RemoveAll(part); err != nil {
		return fmt.Errorf("the data folder: %w", err)
	}
	if err := s.initialize(ctx, part); err != nil {
		return fmt.Errorf("the database could not be created in %s: %w", s.folder.root, err)
	}
	// No server runs yet, so the database is created in single-user mode.
	_, err := runInput(ctx, s.account, "CREATE DATABASE "+database+";\n",
		s.programs.path("postgres"), "--single", "-D", part, "-F", "-c", "exit_on_error=on", "postgres")
	if err != nil {
		return fmt.Errorf("the database could not be created in %s: %w", s.folder.root, err)
	}
	if err := os.Rename(part, s.folder.cluster); err != nil {
		return fmt.Errorf("the data folder: %w", err)
	}
	s.log.Info("created a new database", "folder", s.folder.root, "postgresql", s.programs.version)
	return nil
}

// initialize runs initdb. Text is UTF-8 and is sorted by code point on every machine. Character classes are Unicode's,
// because extensions mishandle Japanese text with the plain C locale.
func (s *Server) initialize(ctx context.Context, dir string) error {
	args := []string{
		"-D", dir, "-U", database, "-E", "UTF8", "--locale=C", "--auth=peer", "--data-checksums",
	}
	if !s.cfg.Durable {
		args = append(args, "--no-sync", "--wal-segsize=1")
	}
	ctypes := []string{"C.UTF-8", "en_US.UTF-8"}
	if runtime.GOOS == "darwin" {
		ctypes = []string{"UTF-8", "en_US.UTF-8"}
	}
	var err error
	for _, ctype := range ctypes {
		_, err = runAs(ctx, s.account, s.programs.path("initdb"), append(slices.Clone(args), "--lc-ctype="+ctype)...)
		if err == nil || !strings.Contains(err.Error(), "invalid locale") {
			return err
		}
	}
	return err
}

// writeAccess allows only the operating system user of this process to connect, identified by the credentials of the
// socket's peer. The socket's folder is private as well, so no password has to be stored.
func (s *Server) writeAccess() error {
	self, err := user.Current()
	if err != nil {
		return fmt.Errorf("the user with number %d has no entry in /etc/passwd, which PostgreSQL needs: %w",
			os.Geteuid(), err)
	}
	for name, text := range map[string]string{
		"pg_hba.conf":   "local all all peer map=" + database + "\n",
		"pg_ident.conf": database + ` "` + self.Username + `" ` + database + "\n",
	} {
		path := filepath.Join(s.folder.cluster, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return ownershipError(s.folder.root, s.account, err)
		}
		if err := s.account.give(path); err != nil {
			return err
		}
	}
	return nil
}

// arguments returns the server's command line. It contains the settings, so that a new version of this program can
// change them. postgresql.conf applies to settings that are not on the command line.
func (s *Server) arguments() []string {
	settings := map[string]string{
		"listen_addresses":        "",
		"port":                    port,
		"unix_socket_directories": s.socketDir,
		"unix_socket_permissions": "0700",
		"cluster_name":            database,
		"timezone":                "UTC",
		"log_timezone":            "UTC",
		"lc_messages":             "C",
		"log_destination":         "stderr",
		"logging_collector":       "off",
		"log_line_prefix":         "",
		"log_checkpoints":         "off",
		// Failed statements are returned to the caller as errors. Logging them would write users' data to the log.
		"log_min_messages":        "log",
		"log_min_error_statement": "panic",
		// The queries are short; compiling them would take longer than running them.
		"jit": "off",
	}
	if !s.cfg.Durable {
		settings["fsync"] = "off"
		settings["full_page_writes"] = "off"
	}
	maps.Copy(settings, s.cfg.Settings)
	args := []string{"-D", s.folder.cluster}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	return args
}

// pidFile is the content of postmaster.pid, which the server writes.
type pidFile struct {
	pid   int  // 0 if the file does not exist or is empty.
	ready bool // The server accepts connections.
}

// The status is in line 8 of postmaster.pid since PostgreSQL 10; pg_ctl reads it too.
const statusLine = 7

func (f folder) readPID() pidFile {
	text, err := os.ReadFile(filepath.Join(f.cluster, "postmaster.pid"))
	if err != nil {
		return pidFile{}
	}
	lines := strings.Split(string(text), "\n")
	pid, _ := strconv.Atoi(strings.TrimSpace(lines[0])) // 0 for a file that is being written.
	return pidFile{pid: pid, ready: len(lines) > statusLine && strings.TrimSpace(lines[statusLine]) == "ready"}
}
