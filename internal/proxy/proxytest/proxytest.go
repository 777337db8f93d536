// Package proxytest is an HTTP proxy for tests, which only tunnels.
package proxytest

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
)

// Request is a request that a Proxy has received.
type Request struct {
	Method        string
	Target        string // Host and port.
	Authorization string // The header Proxy-Authorization.
}

// Proxy records requests and opens tunnels. It is safe for concurrent use.
type Proxy struct {
	// Host is the address of the proxy.
	Host string

	servers map[string]string

	mu       sync.Mutex
	requests []Request // Guarded by mu.
}

// New starts a proxy, which runs until the test ends. servers maps the targets of tunnels to the addresses of servers;
// the proxy refuses other targets.
func New(t *testing.T, servers map[string]string) *Proxy {
	t.Helper()
	p := &Proxy{servers: servers}
	server := httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(server.Close)
	p.Host = server.Listener.Addr().String()
	return p
}

// URL returns the URL of the proxy with the given credentials.
func (p *Proxy) URL(user, password string) *url.URL {
	return &url.URL{Scheme: "http", Host: p.Host, User: url.UserPassword(user, password)}
}

// Requests returns the requests that the proxy has received.
func (p *Proxy) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.requests = append(p.requests, Request{r.Method, r.Host, r.Header.Get("Proxy-Authorization")})
	p.mu.Unlock()
	address, found := p.servers[r.Host]
	if r.Method != http.MethodConnect || !found {
		http.Error(w, "refused", http.StatusForbidden)
		return
	}
	server, err := new(net.Dialer).DialContext(r.Context(), "tcp", address)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = server.Close() }()
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = client.Close() }()
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var running sync.WaitGroup
	running.Go(func() {
		_, _ = io.Copy(server, buffered)
		_ = server.(*net.TCPConn).CloseWrite()
	})
	_, _ = io.Copy(client, server)
	_ = client.Close()
	running.Wait()
}
