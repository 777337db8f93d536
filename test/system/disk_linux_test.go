package system_test

import (
	"syscall"
	"testing"
)

// smallDisk puts a disk with little room at a folder until the test ends, and says whether that is allowed here.
func smallDisk(t *testing.T, dir string) bool {
	t.Helper()
	if syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=160m") != nil {
		return false
	}
	t.Cleanup(func() { must(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return true
}
