//go:build !linux

package sse

import (
	"net"
	"syscall"
)

// canPump says that this system can write to a connection, and look at it, without waiting. Elsewhere than on Linux all
// streams are sent by net/http.
const canPump = false

func socket(net.Conn) (syscall.RawConn, int32) { return nil, 0 }

type writer struct{}

func (*writer) init() {}

func (*writer) write(int32, [][]byte) (int, error) { return 0, nil }

func discard(syscall.RawConn) error { return nil }
