package main

import "syscall"

// raiseFileLimit lets this process, and those that it starts, have as many connections as the system allows.
func raiseFileLimit() {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil {
		limit.Cur = limit.Max
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit) // What needs more says so itself.
	}
}
