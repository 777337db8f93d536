package stream

import (
	"errors"
	"io"
	"net"
	"syscall"
	"unsafe"
)

// canPump says that this system can write to a connection, and look at it, without waiting.
const canPump = true

// rawConn returns the way to write to a connection without waiting, nil if there is none.
func rawConn(conn net.Conn) syscall.RawConn {
	var raw syscall.RawConn
	var err error
	switch conn := conn.(type) { // No others: what wraps a connection may change the bytes.
	case *net.TCPConn:
		raw, err = conn.SyscallConn()
	case *net.UnixConn:
		raw, err = conn.SyscallConn()
	}
	if err != nil {
		return nil
	}
	return raw
}

// writer writes without waiting. It is made once for many writes, since what it hands to a RawConn would otherwise be
// allocated each time.
type writer struct {
	vectors []syscall.Iovec
	n       int
	err     error
	call    func(fd uintptr) bool
}

func (w *writer) init() {
	w.vectors = make([]syscall.Iovec, 0, maxSlices)
	w.call = w.try
}

// write writes as much as the connection takes now, and returns how much that was.
func (w *writer) write(raw syscall.RawConn, bufs [][]byte) (n int, err error) {
	for _, b := range bufs {
		v := syscall.Iovec{Base: unsafe.SliceData(b)} //nolint:gosec // The kernel reads b, which lives until write returns.
		v.SetLen(len(b))
		w.vectors = append(w.vectors, v)
	}
	err = raw.Write(w.call)
	clear(w.vectors)
	w.vectors = w.vectors[:0]
	if err != nil {
		return 0, err
	}
	return w.n, w.err
}

func (w *writer) try(fd uintptr) bool {
	w.n, w.err = 0, nil
	for {
		first := unsafe.SliceData(w.vectors) //nolint:gosec // As above.
		//nolint:gosec // The one way to call it: package syscall does not.
		n, _, errno := syscall.Syscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(first)), uintptr(len(w.vectors)))
		switch errno {
		case 0:
			w.n = int(n) //nolint:gosec // A length.
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
		default:
			w.err = errno
		}
		return true
	}
}

// discard throws away what a client has sent, a little at a time, and reports whether it is still there.
func discard(raw syscall.RawConn) bool {
	if raw == nil {
		return true
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
	return err == nil && gone == nil
}
