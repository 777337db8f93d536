package proxy_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/proxy"
	"github.com/tsumugi-ai/tsumugi/test/leak"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestMain(m *testing.M) { leak.Main(m) }

// accept starts a server for one connection, which serve handles, and returns its address.
func accept(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if conn, err := listener.Accept(); err == nil {
			serve(conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return listener.Addr().String()
}

// expect reads a text from a connection.
func expect(t *testing.T, r io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(r, got); err != nil || string(got) != want {
		t.Errorf("received %q, %v, want %q", got, err, want)
	}
}

// TestFirstBytesOfTheServer verifies that a greeting that arrives together with the response of the proxy is not lost.
func TestFirstBytesOfTheServer(t *testing.T) {
	t.Parallel()
	const greeting = "220 mail.example ESMTP\r\n"
	for scheme, serve := range map[string]func(net.Conn){
		"http": func(conn net.Conn) {
			expect(t, conn, "CONNECT mail.example:587 HTTP/1.1\r\nHost: mail.example:587\r\n")
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nVia: test\r\n\r\n"+greeting)
			expect(t, conn, "User-Agent: Go-http-client/1.1\r\n\r\nEHLO")
		},
		"socks5": func(conn net.Conn) {
			expect(t, conn, "\x05\x01\x00")
			_, _ = io.WriteString(conn, "\x05\x00")
			expect(t, conn, "\x05\x01\x00\x03\x0cmail.example\x02\x4b")
			_, _ = io.WriteString(conn, "\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00"+greeting)
			expect(t, conn, "EHLO")
		},
	} {
		via := &url.URL{Scheme: scheme, Host: accept(t, serve)}
		conn, err := proxy.Dial(t.Context(), via, "mail.example:587")
		if err != nil {
			t.Errorf("%s: %v", scheme, err)
			continue
		}
		expect(t, conn, greeting)
		if _, err := io.WriteString(conn, "EHLO"); err != nil {
			t.Errorf("%s: %v", scheme, err)
		}
		_ = conn.Close()
	}
}

// TestRefusals verifies that errors distinguish proxies that refuse from servers that a proxy cannot reach, and do not
// contain the destination.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, refusal := range []struct {
		scheme, response string
		status           int
		cause            string
	}{
		{"http", "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", 407, "407"},
		{"http", "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", 502, "502 Bad Gateway"},
		{"http", "", 0, "EOF"},
		{"socks5", "\x05\xff", 0, "no acceptable authentication methods"},
	} {
		via := &url.URL{Scheme: refusal.scheme, Host: accept(t, func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 1000))
			_, _ = io.WriteString(conn, refusal.response)
		})}
		_, err := proxy.Dial(t.Context(), via, "mail.example:587")
		failure, ok := errors.AsType[*proxy.Error](err)
		if !ok || failure.Status != refusal.status || failure.Host != via.Host {
			t.Errorf("%+v: %#v", refusal, err)
		} else if text := err.Error(); !strings.Contains(text, refusal.cause) || strings.Contains(text, "mail.example") {
			t.Errorf("%+v: %s", refusal, text)
		}
	}
}

// TestSilentProxy verifies that a proxy that does not respond delays the caller until its context ends.
func TestSilentProxy(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"http", "https", "socks5"} {
		ctx, cancel := context.WithCancel(t.Context())
		via := &url.URL{Scheme: scheme, User: url.UserPassword("user", "geheim"), Host: accept(t, func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 1))
			cancel()
			_, _ = io.Copy(io.Discard, conn)
		})}
		_, err := proxy.Dial(ctx, via, "mail.example:587")
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), via.Host) ||
			strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v", scheme, err)
		}
	}
}
