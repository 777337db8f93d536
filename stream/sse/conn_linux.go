package sse

import (
	"cmp"
	"errors"
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// canTakeOver reports whether this system supports nonblocking writes and checks of a connection.
const canTakeOver = true

// rawConn returns the raw connection for nonblocking access, or nil.
func rawConn(conn net.Conn) syscall.RawConn {
	switch conn.(type) { // Only these types, because a wrapper may change the bytes.
	case *net.TCPConn, *net.UnixConn:
		raw, err := conn.(syscall.Conn).SyscallConn() //nolint:forcetypeassert // Both are.
		if err == nil {
			return raw
		}
	}
	return nil
}

// writeNow writes as much as the connection accepts without blocking, and returns the number of bytes.
func writeNow(raw syscall.RawConn, pieces [][]byte) (n int, err error) {
	closed := raw.Write(func(fd uintptr) bool {
		for n, err = unix.Writev(int(fd), pieces); errors.Is(err, unix.EINTR); { //nolint:gosec // A descriptor.
			n, err = unix.Writev(int(fd), pieces) //nolint:gosec // The same.
		}
		return true
	})
	if errors.Is(err, unix.EAGAIN) {
		return 0, nil
	}
	return max(n, 0), cmp.Or(err, closed)
}

// maxDiscards bounds the number of reads in one call of discard: 64 KiB in total.
const maxDiscards = 128

// discard reads and drops data sent by a client, up to a bound. It returns io.EOF if the client has closed its sending
// side, after which it may still read. It returns another error if the connection is broken.
func discard(raw syscall.RawConn) error {
	if raw == nil {
		return nil
	}
	var gone error
	err := raw.Read(func(fd uintptr) bool {
		var some [512]byte
		for range maxDiscards {
			switch n, err := unix.Read(int(fd), some[:]); { //nolint:gosec // A descriptor.
			case errors.Is(err, unix.EAGAIN):
				return true
			case errors.Is(err, unix.EINTR):
			case err != nil:
				gone = err
				return true
			case n == 0:
				gone = io.EOF
				return true
			}
		}
		return true
	})
	return cmp.Or(gone, err)
}

// unacknowledged returns the number of written bytes that the client's system has not yet acknowledged.
func unacknowledged(raw syscall.RawConn) (n int, err error) {
	closed := raw.Control(func(fd uintptr) {
		n, err = unix.IoctlGetInt(int(fd), unix.TIOCOUTQ) //nolint:gosec // A descriptor.
	})
	return n, cmp.Or(err, closed)
}
