package cluster

import (
	"context"
	"errors"
	"net"
	"sync"
)

// Link forwards TCP connections to an address and simulates network faults. It is safe for concurrent use.
type Link struct {
	target   string
	listener net.Listener
	ended    context.Context
	end      context.CancelFunc
	running  sync.WaitGroup // Goroutines: accept, and the two directions of each connection.

	mu    sync.Mutex
	cut   bool                  // Guarded by mu. Connections are closed.
	open  chan struct{}         // Guarded by mu. Closed while bytes are forwarded.
	conns map[net.Conn]struct{} // Guarded by mu. Both ends of each connection.
}

// NewLink starts a link to an address. The caller must close it.
func NewLink(ctx context.Context, target string) (*Link, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &Link{target: target, listener: listener, open: make(chan struct{}), conns: make(map[net.Conn]struct{})}
	close(l.open)
	l.ended, l.end = context.WithCancel(context.Background())
	l.running.Go(l.accept) //nolint:contextcheck // It runs until Close.
	return l, nil
}

// Address returns the address of the link's listener.
func (l *Link) Address() string { return l.listener.Addr().String() }

// Cut closes all connections. Until Heal, it also closes new connections when they arrive.
func (l *Link) Cut() {
	l.mu.Lock()
	l.cut = true
	l.mu.Unlock()
	l.breakOff()
}

// Silence stops forwarding without closing connections, as if all packets were lost.
func (l *Link) Silence() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.open:
		l.open = make(chan struct{})
	default: // The link is already silent.
	}
}

// Heal ends Cut and Silence, and forwards the data that Silence has delayed.
func (l *Link) Heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = false
	select {
	case <-l.open:
	default:
		close(l.open)
	}
}

// Close closes the link and waits for its goroutines.
func (l *Link) Close() {
	l.end()
	_ = l.listener.Close()
	l.breakOff()
	l.running.Wait()
}

func (l *Link) breakOff() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for conn := range l.conns {
		_ = conn.Close()
	}
	clear(l.conns)
}

func (l *Link) accept() {
	for {
		near, err := l.listener.Accept()
		if err != nil {
			return
		}
		if !l.keep(near) {
			continue
		}
		l.running.Go(func() { l.connect(near) })
	}
}

// keep registers a connection, or closes it if the link is cut.
func (l *Link) keep(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut || l.ended.Err() != nil {
		_ = conn.Close()
		return false
	}
	l.conns[conn] = struct{}{}
	return true
}

func (l *Link) drop(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
		delete(l.conns, conn)
	}
}

// connect forwards one connection until either end closes it.
func (l *Link) connect(near net.Conn) {
	defer l.drop(near)
	if !l.wait() {
		return
	}
	far, err := new(net.Dialer).DialContext(l.ended, "tcp", l.target)
	if err != nil || !l.keep(far) {
		return
	}
	defer l.drop(far)
	var back sync.WaitGroup
	back.Go(func() {
		_ = l.pass(near, far)
		l.drop(near, far)
	})
	_ = l.pass(far, near)
	l.drop(near, far)
	back.Wait()
}

// wait waits until bytes may be forwarded, and reports whether the link is still open.
func (l *Link) wait() bool {
	l.mu.Lock()
	open := l.open
	l.mu.Unlock()
	select {
	case <-open:
		return true
	case <-l.ended.Done():
		return false
	}
}

func (l *Link) pass(to, from net.Conn) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !l.wait() {
				return errors.New("the link has ended")
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}
