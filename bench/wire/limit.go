package wire

import "syscall"

// RaiseFileLimit raises the limit of open files for this process and its children to the system's maximum, and returns
// it; 0 if it is unknown.
func RaiseFileLimit() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	limit.Cur = limit.Max
	_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit) // Whatever needs more reports it.
	return int(limit.Cur)
}
