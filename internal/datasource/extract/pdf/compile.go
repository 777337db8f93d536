package pdf

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// Compile stores PDFium's compiled code in a folder, for Config.Cache, and makes it readable by other users.
// Compilation takes seconds and hundreds of megabytes. Processes that compile into the same folder therefore wait for
// each other, and only the first one compiles.
func Compile(folder string) (err error) {
	lock, err := os.Open(folder) //nolint:gosec // The operator's.
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }() // Releases the lock.
	// Some network file systems cannot lock a folder. Concurrent processes then compile redundantly.
	_ = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
	engine, err := Start(Config{Cache: folder})
	if err != nil {
		return err
	}
	return errors.Join(engine.Close(), openToAll(folder))
}

// openToAll makes the files in a folder readable by other users. It does not change readable files, because another
// user may own them.
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
		if errors.Is(err, fs.ErrNotExist) { // A temporary file of a process that could not lock the folder.
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
