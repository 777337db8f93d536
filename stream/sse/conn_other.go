//go:build !linux

package sse

import (
	"net"
	"syscall"
)

// canTakeOver reports whether this system supports nonblocking writes and checks of a connection. On systems other than
// Linux, net/http writes all streams.
const canTakeOver = false

func rawConn(net.Conn) syscall.RawConn { return nil }

func writeNow(syscall.RawConn, [][]byte) (int, error) { return 0, nil }

func discard(syscall.RawConn) error { return nil }

func unacknowledged(syscall.RawConn) (int, error) { return 0, nil }
