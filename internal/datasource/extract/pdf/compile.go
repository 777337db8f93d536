package pdf

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// Compile stores PDFium's compiled code in a folder, for Config.Cache, and makes it readable by other users. It takes
// seconds and hundreds of megabytes, so processes that compile into the same folder take turns, and all but the first
// find the code.
func Compile(folder string) (err error) {
	lock, err := os.Open(folder) //nolint:gosec // The operator's.
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }() // Releases the lock.
	// Some network file systems cannot lock a folder. Processes that compile there at the same time do so needlessly.
	_ = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
	engine, err := Start(Config{Cache: folder})
	if err != nil {
		return err
	}
	return errors.Join(engine.Close(), openToAll(folder))
}

// openToAll makes what is in a folder readable by other users. Another user may own it, who has done so.
func openToAll(folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) { // A temporary file of another process without the lock.
			return nil
		}
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if entry.IsDir() {
			mode = 0o755
		}
		if info.Mode().Perm()&mode == mode {
			return nil
		}
		return root.Chmod(path, mode)
	})
}
