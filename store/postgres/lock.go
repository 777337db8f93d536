package postgres

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// folderLock is held from start to stop and ensures that a data folder has one supervisor. The kernel releases it
// whenever the process ends, so it is never stale. Its file contains the process ids of the supervisor and its server.
// The next supervisor reads them, because it may only end a server that a supervisor of this package started.
type folderLock struct {
	file *os.File
	// previous is the process id of the last supervisor's server, or 0.
	previous int
}

func lockFolder(f folder, acct account) (*folderLock, error) {
	path := filepath.Join(f.root, "lock")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the data folder %s cannot be locked: %w", f.root, err)
	}
	if err := acct.give(path); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("the data folder %s cannot be locked: %w", f.root, err)
	}
	l := &folderLock{file: file}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := l.read()
		_ = file.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("the data folder %s cannot be locked: %w", f.root, err)
		}
		return nil, fmt.Errorf("%w: %s is served by process %d already; stop that one, or choose another data folder",
			ErrInUse, f.root, holder)
	}
	_, l.previous = l.read()
	return l, nil
}

// read returns the process ids of the supervisor and the server in the file, 0 for missing ones.
func (l *folderLock) read() (supervisor, server int) {
	buf := make([]byte, 64)
	n, _ := l.file.ReadAt(buf, 0) // A short read is normal, and an unreadable file is treated as empty.
	fields := strings.Fields(string(buf[:n]))
	if len(fields) > 0 {
		supervisor, _ = strconv.Atoi(fields[0])
	}
	if len(fields) > 1 {
		server, _ = strconv.Atoi(fields[1])
	}
	return supervisor, server
}

// note records the server process of this supervisor.
func (l *folderLock) note(server int) error {
	text := fmt.Sprintf("%-10d %-10d\n", os.Getpid(), server)
	_, err := l.file.WriteAt([]byte(text), 0)
	l.previous = server
	return err
}

func (l *folderLock) release() {
	if l != nil {
		// Closing the file does not release the lock while a child that was just forked, and has not executed its
		// program yet, has the file open too.
		_ = syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN)
		_ = l.file.Close() // The file is not removed, because removing it would race with the next process that locks it.
	}
}
