package cluster

import "syscall"

// attributes puts a server into a new process group, so that Ctrl-C in a terminal reaches only this process, which
// stops the server gracefully. The kernel kills the server when this process dies.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
