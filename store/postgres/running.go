package postgres

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// ErrNotRunning is the error if no server runs on a data folder.
var ErrNotRunning = errors.New("no database is running on the data folder")

// Running returns the connection string of the server that another process runs on a data folder. It works for the
// operating system user of that process. If no server runs, the error is ErrNotRunning.
func Running(dataDir string) (dsn string, err error) {
	note, err := os.ReadFile(filepath.Join(dataDir, locationFile))
	if err == nil {
		dataDir = strings.TrimSpace(string(note))
	}
	// The lines are: process id, data directory, start time, port, socket folder, …
	// https://www.postgresql.org/docs/current/storage-file-layout.html
	pid, err := os.ReadFile(filepath.Join(dataDir, "cluster", "postmaster.pid")) //nolint:gosec // The path is the operator's.
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w %s", ErrNotRunning, dataDir)
	}
	if err != nil {
		return "", err
	}
	lines := strings.Split(string(pid), "\n")
	if len(lines) < 5 || lines[4] == "" {
		return "", fmt.Errorf("%w %s yet", ErrNotRunning, dataDir)
	}
	return connection(lines[4], database), nil
}

// connection returns the connection string of a database of the server whose socket is in a folder.
func connection(socketDir, name string) string {
	q := url.Values{"host": {socketDir}, "port": {port}, "user": {database}, "sslmode": {"disable"}}
	return (&url.URL{Scheme: "postgres", Path: "/" + name, RawQuery: q.Encode()}).String()
}
