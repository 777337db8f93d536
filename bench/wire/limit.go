package wire

import "syscall"

// RaiseFileLimit raises the limit of open files for this process and its children to the system's maximum. It returns
// the limit, or 0 if it is unknown.
func RaiseFileLimit() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	limit.Cur = limit.Max
	_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit) // If this fails, opening too many files reports an error.
	return int(limit.Cur)
}
