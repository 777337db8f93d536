package wire

import "syscall"

// RaiseFileLimit lets this process, and those that it starts, have as many connections as the system allows, and
// returns how many that is; 0 if it cannot be found out.
func RaiseFileLimit() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	limit.Cur = limit.Max
	_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit) // What needs more says so itself.
	return int(limit.Cur)
}
