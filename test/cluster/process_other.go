//go:build !linux

package cluster

import "syscall"

// attributes puts a server into a new process group, so that Ctrl-C in a terminal reaches only this process, which
// stops the server gracefully.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
