//go:build !linux

package system_test

import "testing"

// smallDisk returns false: the tests can mount a disk on Linux only.
func smallDisk(*testing.T, string) bool { return false }
