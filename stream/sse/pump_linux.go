package sse

import (
	"cmp"
	"errors"
	"io"
	"net"
	"syscall"
	"unsafe"
)

// canPump says that this system can write to a connection, and look at it, without waiting.
const canPump = true

// socket returns the way to look at a connection, and the descriptor to write to it, both without waiting: nil and 0 if there is
// none.
func socket(conn net.Conn) (raw syscall.RawConn, fd int32) {
	var err error
	switch conn := conn.(type) { // No others: what wraps a connection may change the bytes.
	case *net.TCPConn:
		raw, err = conn.SyscallConn()
	case *net.UnixConn:
		raw, err = conn.SyscallConn()
	default:
		return nil, 0
	}
	if err == nil {
		err = raw.Control(func(n uintptr) { fd = int32(n) }) //nolint:gosec // A descriptor.
	}
	if err != nil {
		return nil, 0
	}
	return raw, fd
}

// writer writes without waiting, straight to a descriptor. By way of the net.Conn it would be the same system call, but three
// more lines of the processor's cache and two atomic operations, which is a tenth of what an event costs where there are
// thousands of streams.
type writer struct {
	vectors []syscall.Iovec
	message syscall.Msghdr
}

func (w *writer) init() { w.vectors = make([]syscall.Iovec, 0, maxSlices) }

// write writes as much as the connection takes now, and returns how much that was. Whoever calls it keeps the connection from
// being closed meanwhile: the number of its descriptor would be another's then.
func (w *writer) write(fd int32, bufs [][]byte) (n int, err error) {
	for _, b := range bufs {
		v := syscall.Iovec{Base: unsafe.SliceData(b)} //nolint:gosec // The kernel reads the piece, which lives until write returns.
		v.SetLen(len(b))
		w.vectors = append(w.vectors, v)
		w.message.Iovlen++ // Its type is not the same on every processor.
	}
	w.message.Iov = unsafe.SliceData(w.vectors) //nolint:gosec // As above.
	defer func() {
		clear(w.vectors)
		w.vectors, w.message.Iovlen = w.vectors[:0], 0
	}()
	return written(func() (uintptr, uintptr, syscall.Errno) {
		//nolint:gosec // The one way to call it without a copy of the pieces: package syscall has none.
		return syscall.Syscall(syscall.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&w.message)), sendFlags)
	})
}

const sendFlags = syscall.MSG_DONTWAIT | syscall.MSG_NOSIGNAL

// written makes a system call that writes, and returns how much was written: nothing where the connection takes nothing now.
func written(call func() (n, _ uintptr, errno syscall.Errno)) (n int, err error) {
	for {
		switch n, _, errno := call(); errno {
		case 0:
			return int(n), nil //nolint:gosec // A length.
		case syscall.EINTR:
		case syscall.EAGAIN:
			return 0, nil
		default:
			return 0, errno
		}
	}
}

// discard throws away what a client has sent, a little at a time. It returns io.EOF if the client will send nothing
// more, which it may say and still read, and another error if the connection is broken.
func discard(raw syscall.RawConn) error {
	if raw == nil {
		return nil
	}
	var gone error
	err := raw.Read(func(fd uintptr) bool {
		var some [512]byte
		switch n, err := syscall.Read(int(fd), some[:]); { //nolint:gosec // A descriptor.
		case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EINTR):
		case err != nil:
			gone = err
		case n == 0:
			gone = io.EOF
		}
		return true
	})
	return cmp.Or(gone, err)
}
