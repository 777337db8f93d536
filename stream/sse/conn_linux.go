package sse

import (
	"cmp"
	"errors"
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// canTakeOver says that this system can write to a connection, and look at it, without waiting.
const canTakeOver = true

// rawConn returns the way to write to a connection, and look at it, without waiting; nil if there is none.
func rawConn(conn net.Conn) syscall.RawConn {
	switch conn.(type) { // No others: what wraps a connection may change the bytes.
	case *net.TCPConn, *net.UnixConn:
		raw, err := conn.(syscall.Conn).SyscallConn() //nolint:forcetypeassert // Both are.
		if err == nil {
			return raw
		}
	}
	return nil
}

// writeNow writes as much as the connection takes without waiting, and returns how much that was.
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

// maxDiscards bounds the reads of one call of discard: 64 KiB.
const maxDiscards = 128

// discard reads what a client has sent, up to a bound, and drops it. It returns io.EOF if the client will send nothing
// more, which it may say and still read, and another error if the connection is broken.
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

// unacknowledged returns the number of bytes that were written to a connection and are still to be acknowledged by the
// client's system.
func unacknowledged(raw syscall.RawConn) (n int, err error) {
	closed := raw.Control(func(fd uintptr) {
		n, err = unix.IoctlGetInt(int(fd), unix.TIOCOUTQ) //nolint:gosec // A descriptor.
	})
	return n, cmp.Or(err, closed)
}
