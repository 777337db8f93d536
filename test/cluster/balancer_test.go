package cluster_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/tsumugi-ai/tsumugi/test/cluster"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// balance starts a balancer for servers at these addresses and returns its address.
func balance(t *testing.T, addresses ...string) string {
	t.Helper()
	b := cluster.NewBalancer(addresses, slog.New(slog.DiscardHandler))
	front := httptest.NewServer(b)
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
		b.Close()
	})
	return front.URL
}

// serve starts a server with a handler and returns its address. The server is ready if ready is nil or true.
func serve(t *testing.T, ready *atomic.Bool, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" || ready == nil {
			handler(w, r)
		} else if !ready.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.Listener.Addr().String()
}

func post(t *testing.T, url, body string) (status int, answer string) {
	t.Helper()
	req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body)))(t)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp := must.Get(client.Do(req))(t)
	defer resp.Body.Close()
	text := must.Get(io.ReadAll(resp.Body))(t)
	return resp.StatusCode, string(text)
}

func yes() *atomic.Bool {
	b := new(atomic.Bool)
	b.Store(true)
	return b
}

func echo(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, name+" "+r.Header.Get("X-Forwarded-For")+" "+r.Host+" ")
		_, _ = w.Write(body)
	}
}

// TestRefusedRequestsAreSentToAnotherServer has an address without a server. No request fails, and each one arrives
// completely and once.
func TestRefusedRequestsAreSentToAnotherServer(t *testing.T) {
	t.Parallel()
	nobody := must.Get(cluster.FreeAddress(t.Context(), cluster.Loopback(t.Context())))(t)
	var arrived atomic.Int64
	url := balance(t, nobody, serve(t, yes(), func(w http.ResponseWriter, r *http.Request) {
		arrived.Add(1)
		echo("a")(w, r)
	}))
	body := strings.Repeat("質問", 1000)
	for range 20 {
		status, answer := post(t, url, body)
		if status != http.StatusOK || answer != "a 127.0.0.1 "+strings.TrimPrefix(url, "http://")+" "+body {
			t.Fatalf("got %d %.60s", status, answer)
		}
	}
	if n := arrived.Load(); n != 20 {
		t.Errorf("%d arrived", n)
	}
	large := strings.Repeat("x", 3<<20)
	must.Become(t, "a large request", func() bool {
		status, answer := post(t, url, large)
		return status == http.StatusOK && strings.HasSuffix(answer, large)
	})
}

func TestNoServerIsReachable(t *testing.T) {
	t.Parallel()
	nobody := must.Get(cluster.FreeAddress(t.Context(), cluster.Loopback(t.Context())))(t)
	if status, answer := post(t, balance(t, nobody), "x"); status != http.StatusServiceUnavailable ||
		!strings.Contains(answer, "サーバーに接続できません") {
		t.Errorf("got %d %s", status, answer)
	}
}

// TestServersThatAreNotReadyGetNothingNew checks that a server that is about to stop gets no requests, and that all
// servers are tried if none is ready.
func TestServersThatAreNotReadyGetNothingNew(t *testing.T) {
	t.Parallel()
	readyA, readyB := yes(), yes()
	url := balance(t, serve(t, readyA, echo("a")), serve(t, readyB, echo("b")))
	from := func(name string) func() bool {
		return func() bool {
			for range 8 {
				if _, answer := post(t, url, ""); !strings.HasPrefix(answer, name) {
					return false
				}
			}
			return true
		}
	}
	readyA.Store(false)
	must.Become(t, "all go to b", from("b"))
	readyA.Store(true)
	readyB.Store(false)
	must.Become(t, "all go to a", from("a"))
	readyA.Store(false)
	must.Become(t, "both are asked", func() bool { _, answer := post(t, url, ""); return strings.HasPrefix(answer, "b") })
}

// TestStreamsPassAtOnceAndAreSpread reads the first byte of each stream before the rest is written.
func TestStreamsPassAtOnceAndAreSpread(t *testing.T) {
	t.Parallel()
	var open, probes [2]atomic.Int64
	release := make(chan struct{})
	stream := func(i int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/readyz" {
				probes[i].Add(1)
				return
			}
			open[i].Add(1)
			_, _ = io.WriteString(w, "a")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-release:
			case <-r.Context().Done():
			}
			_, _ = io.WriteString(w, "b")
		}
	}
	url := balance(t, serve(t, nil, stream(0)), serve(t, nil, stream(1)))
	// The balancer polls a server only after it has processed the last response.
	must.Become(t, "both are known to be ready", func() bool { return probes[0].Load() > 1 && probes[1].Load() > 1 })
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	var bodies []io.ReadCloser
	for range 10 {
		req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody))(t)
		resp := must.Get(client.Do(req))(t)
		first := make([]byte, 1)
		if _, err := io.ReadFull(resp.Body, first); err != nil || first[0] != 'a' {
			t.Fatalf("got %q %v", first, err)
		}
		bodies = append(bodies, resp.Body)
	}
	if a, b := open[0].Load(), open[1].Load(); a < 4 || b < 4 {
		t.Errorf("%d and %d streams", a, b)
	}
	close(release)
	for _, body := range bodies {
		if rest, err := io.ReadAll(body); err != nil || string(rest) != "b" {
			t.Errorf("got %q %v", rest, err)
		}
		_ = body.Close()
	}
}

func TestWebSocketsPass(t *testing.T) {
	t.Parallel()
	url := balance(t, serve(t, yes(), func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		kind, message, err := conn.Read(r.Context())
		if err == nil {
			_ = conn.Write(r.Context(), kind, append([]byte("echo "), message...))
		}
		_ = conn.Close(websocket.StatusServiceRestart, "")
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	// The response of a WebSocket has no body to close.
	//nolint:bodyclose
	conn, _, err := websocket.Dial(ctx, url,
		&websocket.DialOptions{HTTPClient: &http.Client{Transport: new(http.Transport)}})
	must.Succeed(t, err)
	defer func() { _ = conn.CloseNow() }()
	must.Succeed(t, conn.Write(ctx, websocket.MessageText, []byte("x")))
	if _, message, err := conn.Read(ctx); err != nil || string(message) != "echo x" {
		t.Errorf("got %q %v", message, err)
	}
	if _, _, err := conn.Read(ctx); websocket.CloseStatus(err) != websocket.StatusServiceRestart {
		t.Errorf("got %v", err)
	}
}

// TestLinkIsCutAndHealed sends bytes through a link in each of its states.
func TestLinkIsCutAndHealed(t *testing.T) {
	t.Parallel()
	listener := must.Get(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	link := must.Get(cluster.NewLink(t.Context(), listener.Addr().String()))(t)
	defer link.Close()
	connect := func() (near, far net.Conn) {
		near, err := new(net.Dialer).DialContext(t.Context(), "tcp", link.Address())
		must.Succeed(t, err)
		if far, err = listener.Accept(); err != nil {
			t.Fatal(err)
		}
		return near, far
	}
	near, far := connect()
	passes(t, near, far)
	passes(t, far, near)

	link.Silence()
	if _, err := near.Write([]byte("late")); err != nil {
		t.Fatal(err)
	}
	_ = far.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	buf := make([]byte, 4)
	if n, _ := far.Read(buf); n > 0 {
		t.Errorf("%q came through a silent link", buf[:n])
	}
	link.Heal()
	_ = far.SetReadDeadline(time.Time{})
	if _, err := io.ReadFull(far, buf); err != nil || !bytes.Equal(buf, []byte("late")) {
		t.Errorf("got %q %v", buf, err)
	}

	link.Cut()
	for _, end := range []net.Conn{near, far} {
		if _, err := end.Read(buf); err == nil {
			t.Error("a connection is open after Cut")
		}
		_ = end.Close()
	}
	link.Heal()
	near, far = connect()
	passes(t, near, far)
	_, _ = near.Close(), far.Close()
}

func passes(t *testing.T, from, to net.Conn) {
	t.Helper()
	buf := make([]byte, 5)
	if _, err := from.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(to, buf); err != nil || string(buf) != "hello" {
		t.Fatalf("got %q %v", buf, err)
	}
}
