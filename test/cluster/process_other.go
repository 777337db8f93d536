//go:build !linux

package cluster

import "syscall"

// attributes puts a server into a process group of its own, so that Ctrl-C in a terminal reaches only this process,
// which stops it gracefully.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
