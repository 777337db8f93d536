package cluster

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Settings of the servers' health checks, and the maximum size of a request body that is buffered for a retry.
const (
	probeEvery   = 250 * time.Millisecond
	probeTimeout = time.Second
	dialTimeout  = 2 * time.Second
	maxKept      = 1 << 20
)

// Balancer distributes requests over servers. It forwards each request to the ready server with the fewest requests in
// progress. It does not buffer streams and WebSockets, and has no sticky sessions. If a server refuses the connection,
// it tries the next server. It sends no request twice.
type Balancer struct {
	servers   []*backend
	proxy     *httputil.ReverseProxy
	transport *http.Transport
	cancel    context.CancelFunc
	probes    sync.WaitGroup // One goroutine per server.
}

type backend struct {
	address string
	ready   atomic.Bool
	active  atomic.Int64 // Requests in progress.
}

// NewBalancer returns a balancer for servers at these addresses and starts their health checks. Close stops them.
func NewBalancer(addresses []string, log *slog.Logger) *Balancer {
	b := &Balancer{transport: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		MaxIdleConnsPerHost: 256, IdleConnTimeout: 30 * time.Second, DisableCompression: true,
	}}
	b.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetXForwarded()
			r.Out.Host, r.Out.URL.Scheme = r.In.Host, "http"
		},
		Transport: b, FlushInterval: -1, ErrorHandler: refuse,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	var ctx context.Context
	ctx, b.cancel = context.WithCancel(context.Background())
	for _, address := range addresses {
		server := &backend{address: address}
		b.servers = append(b.servers, server)
		b.probes.Go(func() { b.watch(ctx, server, log) })
	}
	return b
}

// Close stops the health checks. Close the HTTP server that uses the balancer first.
func (b *Balancer) Close() {
	b.cancel()
	b.probes.Wait()
	b.transport.CloseIdleConnections()
}

// watch polls a server's readiness.
func (b *Balancer) watch(ctx context.Context, server *backend, log *slog.Logger) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: probeTimeout}
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		status, err := probe(ctx, client, server.address)
		if ready := err == nil && status == http.StatusOK; server.ready.Swap(ready) != ready {
			log.Info("a server changed", "address", server.address, "ready", ready, "status", status, "err", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

type visitKey struct{}

// visit is a request and the server that handles it.
type visit struct{ server *backend }

// leave and move must be called by the request's goroutine.
func (v *visit) leave() {
	if v.server != nil {
		v.server.active.Add(-1)
		v.server = nil
	}
}

func (v *visit) move(to *backend) {
	v.leave()
	v.server = to
	to.active.Add(1)
}

func (b *Balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := new(visit)
	defer v.leave()
	r = r.WithContext(context.WithValue(r.Context(), visitKey{}, v))
	if err := keepBody(r); err != nil {
		refuse(w, r, err)
		return
	}
	b.proxy.ServeHTTP(w, r)
}

// keepBody buffers a small body, so that it can be sent to another server.
func keepBody(r *http.Request) error {
	if r.Body == nil || r.ContentLength == 0 || r.ContentLength > maxKept {
		return nil
	}
	kept, err := io.ReadAll(io.LimitReader(r.Body, maxKept))
	if err != nil {
		return err
	}
	if r.ContentLength < 0 && len(kept) == maxKept {
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(kept), r.Body), r.Body}
		return nil
	}
	r.ContentLength = int64(len(kept))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(kept)), nil }
	r.Body, err = r.GetBody()
	return err
}

// RoundTrip implements http.RoundTripper for the proxy: it chooses the server.
func (b *Balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	v, _ := r.Context().Value(visitKey{}).(*visit)
	var refused error
	for i, server := range b.candidates() {
		if i > 0 && r.Body != nil && r.Body != http.NoBody && r.GetBody == nil {
			break
		}
		out, err := requestTo(r, server)
		if err != nil {
			return nil, err
		}
		v.move(server)
		resp, err := b.transport.RoundTrip(out)
		if !isRefusal(err) {
			return resp, err
		}
		server.ready.Store(false)
		refused = err
	}
	return nil, refused
}

func requestTo(r *http.Request, server *backend) (*http.Request, error) {
	out := r.WithContext(r.Context())
	address := *r.URL
	address.Host = server.address
	out.URL = &address
	if r.GetBody != nil {
		var err error
		if out.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// isRefusal reports whether the connection failed before the request was sent.
func isRefusal(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// candidates returns the servers in the order of attempts. Servers that are not ready come last. If no server is ready,
// for example because the database is down, the error response of such a server is more useful than the balancer's.
func (b *Balancer) candidates() []*backend {
	type candidate struct {
		*backend
		rank int64
	}
	all := make([]candidate, 0, len(b.servers))
	for _, s := range b.servers {
		c := candidate{backend: s, rank: s.active.Load()}
		if !s.ready.Load() {
			c.rank += 1 << 32
		}
		all = append(all, c)
	}
	// The order spreads the load and is not a secret.
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] }) //nolint:gosec
	slices.SortStableFunc(all, func(x, y candidate) int { return int(x.rank - y.rank) })
	servers := make([]*backend, len(all))
	for i, c := range all {
		servers[i] = c.backend
	}
	return servers
}

// refuse writes an error response in the servers' format if a server could not be reached or closed the connection.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusBadGateway
	if isRefusal(err) {
		status = http.StatusServiceUnavailable
	}
	if r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // The client has disconnected.
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Retry-After", strconv.Itoa(1+rand.IntN(3))) //nolint:gosec // Spreads clients; not a secret.
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"type":"about:blank","title":"`+http.StatusText(status)+`","status":`+
		strconv.Itoa(status)+
		`,"code":"unavailable","detail":"サーバーに接続できません。少し待ってから、もう一度お試しください。"}`)
}
