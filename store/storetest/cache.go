package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/migrations"
	"github.com/tsumugi-ai/tsumugi/store/postgres"
)

// cacheLayout must change when the way of creating the cached cluster does.
const cacheLayout = "1"

// schemaHash identifies the schema that the migrations produce.
func schemaHash() string {
	sum := sha256.New()
	_, _ = io.WriteString(sum, cacheLayout) // A hash never returns an error.
	err := fs.WalkDir(migrations.Files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(migrations.Files, path)
		_, _ = fmt.Fprintf(sum, "%s %d\n%s", path, len(text), text)
		return err
	})
	if err != nil {
		panic(err) // Embedded files are always readable.
	}
	return hex.EncodeToString(sum.Sum(nil))[:16]
}

// tempDir creates the folder of this process's server. remove removes it. If this process ends without calling remove,
// a helper process removes the folder after the server has ended.
func tempDir() (dir string, remove func() error, err error) {
	dir, err = os.MkdirTemp(TempRoot(), "tsumugi-test-*")
	if err != nil {
		return "", nil, err
	}
	// A server started by root runs as another user, who needs to pass through the folder.
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // The folders in it are private.
		return "", nil, err
	}
	const script = `cat >/dev/null
n=0
while [ -e "$1/cluster/postmaster.pid" ] && [ $n -lt 1200 ]; do sleep 0.1; n=$((n+1)); done
rm -rf "$1"`
	r, w, err := os.Pipe()
	if err != nil {
		return "", nil, err
	}
	//nolint:gosec,noctx // Our own folder; it ends after this process.
	helper := exec.Command("/bin/sh", "-c", script, "sh", dir)
	helper.Stdin = r
	helper.Dir = "/"
	helper.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C must not end it before it has cleaned up.
	err = helper.Start()
	_ = r.Close()
	if err != nil {
		return "", nil, errors.Join(err, w.Close(), os.RemoveAll(dir))
	}
	return dir, func() error { return errors.Join(w.Close(), helper.Wait(), os.RemoveAll(dir)) }, nil
}

// roomy is the free space in memory that is required to put a server's files there.
const roomy = 2 << 30

// TempRoot returns the folder for the files of a server. It is in memory if there is enough space, because each test
// writes tens of megabytes. Otherwise it is the temporary folder, or /tmp if other users cannot access that.
func TempRoot() string {
	const memory = "/dev/shm"
	var st syscall.Statfs_t
	//nolint:gosec // A size.
	if err := syscall.Statfs(memory, &st); err == nil && st.Bavail*uint64(st.Bsize) >= roomy && openToAll(memory) {
		return memory
	}
	if dir := os.TempDir(); openToAll(dir) {
		return dir
	}
	return "/tmp"
}

// openToAll reports whether all users can pass through a folder and its parents, including the account that the server
// uses if this process is root.
func openToAll(dir string) bool {
	if os.Geteuid() != 0 {
		return true
	}
	for {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&0o1 == 0 {
			return false
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return true
		}
		dir = parent
	}
}

// cacheDir returns the folder that stores migrated clusters between runs, one per schema.
func cacheDir() (string, error) {
	root, err := os.UserCacheDir()
	if err != nil {
		root = os.TempDir()
	}
	dir := filepath.Join(root, "tsumugi", "storetest")
	return dir, os.MkdirAll(dir, 0o700)
}

// copyCached copies the migrated cluster to a new folder and creates it first if it is not in the cache. Processes that
// start at the same time wait for the one that creates it.
func copyCached(ctx context.Context, to string) error {
	root, err := cacheDir()
	if err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(root, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // Releases the lock.
	version, err := postgres.Installed(ctx, config(to))
	if err != nil {
		return err
	}
	cached := filepath.Join(root, schemaHash()+"-"+version)
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_SH); err != nil {
		return err
	}
	if _, err := os.Stat(cached); errors.Is(err, fs.ErrNotExist) {
		// Upgrading the lock's mode is not atomic, so the cache is checked again.
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
			return err
		}
		if _, err := os.Stat(cached); errors.Is(err, fs.ErrNotExist) {
			if err := makeCached(ctx, root, cached); err != nil {
				return err
			}
		}
	}
	return copyTree(cached, to)
}

// makeCached creates a cluster with the template, and removes clusters of other schemas, which are outdated because
// migrations are only added. The lock must be held.
func makeCached(ctx context.Context, root, cached string) error {
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := os.RemoveAll(filepath.Join(root, e.Name())); err != nil {
				return err
			}
		}
	}
	dir, remove, err := tempDir()
	if err != nil {
		return err
	}
	part := cached + ".part"
	err = makeCluster(ctx, dir)
	if err == nil {
		err = copyTree(filepath.Join(dir, "cluster"), part)
	}
	if err == nil {
		err = os.Rename(part, cached)
	}
	return errors.Join(err, remove())
}

// makeCluster creates a small cluster in dir that contains only the template.
func makeCluster(ctx context.Context, dir string) error {
	srv, err := postgres.Start(ctx, config(dir))
	if err != nil {
		return err
	}
	err = func() error {
		admin, err := pgx.Connect(ctx, srv.DSN())
		if err != nil {
			return err
		}
		defer func() { _ = admin.Close(ctx) }()
		for _, sql := range []string{"CREATE DATABASE " + templateName, "DROP DATABASE postgres"} {
			if _, err := admin.Exec(ctx, sql); err != nil {
				return err
			}
		}
		return migrateTemplate(ctx, srv.DatabaseDSN(templateName))
	}()
	return errors.Join(err, srv.Stop(ctx))
}

// copyTree copies folders and files. A cluster contains nothing else.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if d.IsDir() {
			return os.Mkdir(target, 0o700)
		}
		return copyFile(path, target)
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in) // Within the kernel if possible.
	return errors.Join(err, out.Close())
}
