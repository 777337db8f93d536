//go:build !linux

package sse

import (
	"net"
	"syscall"
)

// canTakeOver says that this system can write to a connection, and look at it, without waiting. On others than Linux,
// net/http writes all streams.
const canTakeOver = false

func rawConn(net.Conn) syscall.RawConn { return nil }

func writeNow(syscall.RawConn, [][]byte) (int, error) { return 0, nil }

func discard(syscall.RawConn) error { return nil }

func unacknowledged(syscall.RawConn) (int, error) { return 0, nil }
