// Package proxy connects through the operator's proxy, for connections that are not made by net/http with its own
// proxy support. It imports no other package of this module.
package proxy

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"net/url"

	"golang.org/x/net/http/httpproxy"
	"golang.org/x/net/proxy"
)

// Func returns the proxy for a URL, or nil for a direct connection.
type Func func(*url.URL) (*url.URL, error)

// FromEnvironment returns the proxies of HTTPS_PROXY and HTTP_PROXY with the exceptions of NO_PROXY, by the rules of
// net/http.
func FromEnvironment() Func { return httpproxy.FromEnvironment().ProxyFunc() }

// Error is the error of a connection through a proxy. Its text has no credentials and no destination.
type Error struct {
	Host   string // Host and port of the proxy.
	Status int    // Status code of the proxy's response, 0 without a response. 5xx: the destination is unavailable.
	Err    error
}

func (e *Error) Error() string { return "the proxy " + e.Host + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Dial connects to an address, which is a host and a port, through the proxy at via. It supports the schemes http,
// https, socks5 and socks5h. Its errors are of the type *Error.
func Dial(ctx context.Context, via *url.URL, address string) (conn net.Conn, err error) {
	switch via.Scheme {
	case "socks5", "socks5h":
		conn, err = dialSOCKS(ctx, via, address)
	case "http", "https":
		conn, err = dialHTTP(ctx, via, address)
	default:
		err = errors.New("its scheme is not supported")
	}
	if err == nil {
		return conn, nil
	}
	failure := &Error{Host: via.Host, Err: cmp.Or(ctx.Err(), err)}
	if status, ok := errors.AsType[statusError](err); ok {
		failure.Status = status.code
	}
	return nil, failure
}

// statusError is a response that refuses a tunnel.
type statusError struct {
	code   int
	status string
}

func (e statusError) Error() string { return "refused with status " + e.status }

func dialSOCKS(ctx context.Context, via *url.URL, address string) (net.Conn, error) {
	dialer, err := proxy.FromURL(via, new(net.Dialer))
	if err != nil {
		return nil, err
	}
	conn, err := dialer.(proxy.ContextDialer).DialContext(ctx, "tcp", address)
	if failure, ok := errors.AsType[*net.OpError](err); ok {
		err = failure.Err // Without the destination.
	}
	return conn, err
}

// defaultPorts are the ports of HTTP proxies whose URL has none.
var defaultPorts = map[string]string{"http": "80", "https": "443"}

// dialHTTP connects to an HTTP proxy and requests a tunnel to address.
func dialHTTP(ctx context.Context, via *url.URL, address string) (net.Conn, error) {
	server := net.JoinHostPort(via.Hostname(), cmp.Or(via.Port(), defaultPorts[via.Scheme]))
	tcp, err := new(net.Dialer).DialContext(ctx, "tcp", server)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = tcp.Close() })
	conn := tcp
	if via.Scheme == "https" {
		conn = tls.Client(tcp, &tls.Config{ServerName: via.Hostname(), MinVersion: tls.VersionTLS12})
	}
	reader := bufio.NewReader(conn)
	err = requestTunnel(conn, reader, via.User, address)
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		_ = tcp.Close()
		return nil, err
	}
	return &tunnel{conn, reader}, nil
}

// requestTunnel sends a CONNECT request and reads its response. It returns an error unless the tunnel is open.
func requestTunnel(conn net.Conn, reader *bufio.Reader, user *url.Userinfo, address string) error {
	request := &http.Request{
		Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: make(http.Header),
	}
	if user != nil {
		password, _ := user.Password()
		request.Header.Set("Proxy-Authorization",
			"Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if err := request.Write(conn); err != nil {
		return err
	}
	response, err := http.ReadResponse(reader, request) //nolint:bodyclose // The body is the tunnel.
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return statusError{response.StatusCode, response.Status}
	}
	return nil
}

// tunnel is a connection through a proxy. Its reader may contain the first bytes of the server, which an SMTP server
// sends without a request.
type tunnel struct {
	net.Conn

	reader *bufio.Reader
}

func (t *tunnel) Read(p []byte) (int, error) { return t.reader.Read(p) }
