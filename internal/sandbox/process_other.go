//go:build !linux

package sandbox

import (
	"fmt"
	"syscall"
	"time"
)

// On other systems, a child has only a process group, and the elapsed time replaces its CPU time.

func attributes(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func giveUpPrivileges() error { return nil }

func restrict(uint64, bool) error { return nil }

func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }

func memory(int) int64 { return 0 }

func cpuTime(_ int, running time.Duration) time.Duration { return running }

func descriptorPath(descriptor uintptr) string { return fmt.Sprintf("/dev/fd/%d", descriptor) }
