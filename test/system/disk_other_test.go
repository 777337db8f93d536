//go:build !linux

package system_test

import "testing"

// smallDisk reports that no disk can be mounted on this system.
func smallDisk(*testing.T, string) bool { return false }
