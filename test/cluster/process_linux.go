package cluster

import "syscall"

// attributes puts a server into a process group of its own, so that Ctrl-C in a terminal reaches only this process,
// which stops it gracefully, and makes the kernel kill it when this process dies.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
