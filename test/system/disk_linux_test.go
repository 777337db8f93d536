package system_test

import (
	"syscall"
	"testing"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

// smallDisk mounts a small disk on a folder until the test ends. It returns false if this process may not mount one.
func smallDisk(t *testing.T, dir string) bool {
	t.Helper()
	if syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=160m") != nil {
		return false
	}
	t.Cleanup(func() { must.Succeed(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return true
}
