package dial

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/proxy"
)

// Timeout is the time limit for connecting.
const Timeout = 4 * time.Second

// Config configures a Dialer.
type Config struct {
	Proxy proxy.Func // Proxy for a server. Required.

	// ProxyResolves sends names to the proxy without resolving them, for networks without DNS for external names. Then
	// only the proxy can refuse names of internal addresses.
	ProxyResolves bool

	Resolver *net.Resolver // Default: net.DefaultResolver.
	AnyPort  bool          // Allows ports other than 80 and 443.

	AllowAddress func(netip.AddrPort) bool // Permits addresses that are not public. Default: none.
	AllowHost    func(host string) bool    // Permits all addresses and ports of some hosts. Default: none.
}

// Dialer connects to servers, directly or through a proxy. It refuses addresses outside of the public internet.
//
// Transport.Proxy is not used, because it sends names to the proxy, which resolves them: the addresses could not be
// checked. A dialer resolves names itself and requests a tunnel to a checked address. TLS and HTTP continue to use the
// name. Pages without TLS use a tunnel too: in a request without a tunnel, the proxy replaces the header Host by the
// address in the request line (RFC 9112, 3.2.2), and the server would not find the site.
type Dialer struct {
	cfg    Config
	direct net.Dialer // Checks addresses. Its Resolver is also used for connections through a proxy.
}

// New returns a Dialer.
func New(cfg Config) *Dialer {
	d := &Dialer{cfg: cfg, direct: net.Dialer{Timeout: Timeout, Resolver: cfg.Resolver}}
	d.direct.Control = func(_, address string, _ syscall.RawConn) error { return d.check(address) }
	return d
}

// NewTransport returns a transport for requests to servers on any port. hosts are the lower-case names and IP addresses
// of servers that may have addresses inside the network. The default of via is proxy.FromEnvironment; for viaResolves,
// see Config.ProxyResolves.
func NewTransport(hosts []string, via proxy.Func, viaResolves bool) *http.Transport {
	if via == nil {
		via = proxy.FromEnvironment()
	}
	listed := func(host string) bool { return slices.Contains(hosts, strings.ToLower(host)) }
	dialer := New(Config{Proxy: via, ProxyResolves: viaResolves, AnyPort: true, AllowHost: listed})
	return &http.Transport{
		DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: Timeout,
		IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 64 << 10,
	}
}

func (d *Dialer) check(address string) error {
	return checkDial(address, d.cfg.AllowAddress, d.cfg.AnyPort)
}

// DialContext connects to an address with a name or an IP address. It implements http.Transport.DialContext.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	u := &url.URL{Scheme: "https", Host: address}
	if u.Port() == "80" {
		u.Scheme = "http"
	}
	via, err := d.cfg.Proxy(u)
	if err != nil {
		return nil, err
	}
	listed := d.cfg.AllowHost != nil && d.cfg.AllowHost(u.Hostname())
	switch {
	case via == nil && listed:
		return (&net.Dialer{Timeout: Timeout, Resolver: d.cfg.Resolver}).DialContext(ctx, network, address)
	case via == nil:
		return d.direct.DialContext(ctx, network, address)
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	if listed {
		return proxy.Dial(ctx, via, address)
	}
	if !d.cfg.ProxyResolves {
		return d.dialChecked(ctx, via, u)
	}
	if Internal(u, d.cfg.AllowAddress) || !d.cfg.AnyPort && u.Port() != "80" && u.Port() != "443" {
		return nil, ErrForbidden
	}
	return proxy.Dial(ctx, via, address)
}

// dialChecked resolves the host of u and connects through a proxy to the first address that is allowed and available.
func (d *Dialer) dialChecked(ctx context.Context, via, u *url.URL) (net.Conn, error) {
	addresses, err := d.direct.Resolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return nil, err
	}
	for _, addr := range addresses {
		address := net.JoinHostPort(addr.Unmap().String(), u.Port())
		if err = d.check(address); err != nil {
			continue
		}
		var conn net.Conn
		if conn, err = proxy.Dial(ctx, via, address); err == nil {
			return conn, nil
		}
	}
	return nil, err
}
