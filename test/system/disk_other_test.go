//go:build !linux

package system_test

import "testing"

// smallDisk would put a disk with little room at a folder, and says that this is not possible here.
func smallDisk(*testing.T, string) bool { return false }
