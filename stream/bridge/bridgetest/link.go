package bridgetest

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// Link is a proxy to a server whose connections can be cut. It is safe for concurrent use.
type Link struct {
	listener net.Listener
	target   string
	work     sync.WaitGroup

	mu    sync.Mutex
	cut   bool                  // Guarded by mu. New connections are refused.
	conns map[net.Conn]struct{} // Guarded by mu. Both ends of each.
}

// NewLink returns a link to the server at a URL. It is closed when the test ends.
func NewLink(t testing.TB, target string) *Link {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := listen("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	l := &Link{listener: listener, target: u.Host, conns: make(map[net.Conn]struct{})}
	l.work.Go(l.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		l.Cut()
		l.work.Wait()
	})
	return l
}

// URL returns the server's address through this link.
func (l *Link) URL() string { return "nats://" + l.listener.Addr().String() }

// Cut breaks every connection and refuses new ones until Heal is called.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	for c := range l.conns {
		_ = c.Close()
	}
}

// Heal allows connections again.
func (l *Link) Heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = false
}

func (l *Link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", l.target)
		if err != nil || !l.keep(client, server) {
			_ = client.Close()
			if err == nil {
				_ = server.Close()
			}
			continue
		}
		l.work.Go(func() { l.pass(client, server) })
		l.work.Go(func() { l.pass(server, client) })
	}
}

// keep registers a pair of connections, unless the link is cut.
func (l *Link) keep(client, server net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return false
	}
	l.conns[client], l.conns[server] = struct{}{}, struct{}{}
	return true
}

// pass copies in one direction until either side closes, and then closes both sides.
func (l *Link) pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range []net.Conn{to, from} {
		_ = c.Close()
		delete(l.conns, c)
	}
}
