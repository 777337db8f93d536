package cluster

import "syscall"

// attributes puts a server into a group of its own, so that Ctrl-C in a terminal reaches the one who stops it in order,
// and has the kernel end it when this process dies.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
