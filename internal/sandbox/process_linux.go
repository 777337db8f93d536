package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// nobody is the user of a child whose parent is root.
const nobody = 65534

// attributes puts a child into a separate process group and makes the kernel kill it when the parent dies. A trusted
// child keeps the parent's user.
func attributes(trusted bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() == 0 && !trusted {
		a.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	return a
}

// giveUpPrivileges prevents the thread and its children from gaining privileges.
func giveUpPrivileges() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }

// trustedPriority is the nice value of trusted children, so that they do not slow down the server.
const trustedPriority = 10

// restrict permanently lowers the limits of this process, the child, and the priority of a trusted one.
func restrict(cpuSeconds uint64, trusted bool) error {
	limits := map[int]uint64{unix.RLIMIT_CPU: cpuSeconds, unix.RLIMIT_CORE: 0, unix.RLIMIT_NOFILE: 64}
	if !trusted {
		limits[unix.RLIMIT_FSIZE] = 0
	} else if err := lowerPriority(); err != nil {
		return fmt.Errorf("priority: %w", err)
	}
	for resource, limit := range limits {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return fmt.Errorf("limit %d: %w", resource, err)
		}
	}
	return nil
}

// lowerPriority sets the nice value of all threads of this process, except of those whose value is higher already. It
// does not use the process group, which contains other processes if a shell has started this one.
func lowerPriority() error {
	for lowered := true; lowered; { // A thread that is created meanwhile may have its creator's old value.
		lowered = false
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, entry := range threads {
			id, err := strconv.Atoi(entry.Name())
			if err != nil {
				return err
			}
			level, err := unix.Getpriority(unix.PRIO_PROCESS, id) // 20 minus the nice value.
			if err == nil && 20-level < trustedPriority {
				lowered = true
				err = unix.Setpriority(unix.PRIO_PROCESS, id, trustedPriority)
			}
			if err != nil && !errors.Is(err, unix.ESRCH) { // The thread has ended.
				return err
			}
		}
	}
	return nil
}

// killGroup kills a child and its descendants.
func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }

// memory returns the resident memory of a process, in bytes, 0 if it has ended.
func memory(pid int) int64 {
	statm, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(statm)
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}

// ticksPerSecond is the unit of CPU times in /proc, the same on all of Linux's platforms that Go supports.
const ticksPerSecond = 100

// cpuTime returns the CPU time of a process, 0 if it has ended. The second argument, its running time, is the result on
// systems without /proc.
func cpuTime(pid int, _ time.Duration) time.Duration {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	// proc_pid_stat(5): the name, in parentheses, may contain any character; utime and stime are the fields 14 and 15.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(string(fields[11]), 10, 64)
	system, _ := strconv.ParseInt(string(fields[12]), 10, 64)
	return time.Duration(user+system) * time.Second / ticksPerSecond
}

// descriptorPath returns the path of an open file or folder.
func descriptorPath(descriptor uintptr) string {
	return "/proc/self/fd/" + strconv.FormatUint(uint64(descriptor), 10)
}
