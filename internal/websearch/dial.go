package websearch

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"syscall"

	"github.com/tsumugi-ai/tsumugi/internal/proxy"
)

// dialer connects to the servers of pages, directly or through a proxy. It refuses addresses outside of the public
// web.
//
// Transport.Proxy is not used, because it sends names to the proxy, which resolves them: the addresses could not be
// checked. A dialer resolves names itself and requests a tunnel to a checked address. TLS and HTTP continue to use the
// name. Pages without TLS use a tunnel too: in a request without a tunnel, the proxy replaces the header Host by the
// address in the request line (RFC 9112, 3.2.2), and the server would not find the site.
type dialer struct {
	direct        net.Dialer // Checks addresses. Its Resolver is also used for connections through a proxy.
	proxy         proxy.Func
	proxyResolves bool // See Config.ProxyResolves.
	allow         func(netip.AddrPort) bool
}

func newDialer(cfg Config) *dialer {
	d := &dialer{proxy: cfg.Proxy, proxyResolves: cfg.ProxyResolves, allow: cfg.AllowAddress}
	d.direct.Timeout, d.direct.Resolver = dialTimeout, cfg.Resolver
	d.direct.Control = func(_, address string, _ syscall.RawConn) error { return checkDial(address, d.allow) }
	return d
}

// dialContext connects to an address with a name or an IP address. It implements http.Transport.DialContext.
func (d *dialer) dialContext(ctx context.Context, network, address string) (net.Conn, error) {
	u := &url.URL{Scheme: "https", Host: address}
	if u.Port() == "80" {
		u.Scheme = "http"
	}
	via, err := d.proxy(u)
	if err != nil {
		return nil, err
	}
	if via == nil {
		return d.direct.DialContext(ctx, network, address)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if !d.proxyResolves {
		return d.dialChecked(ctx, via, u)
	}
	if internal(u, d.allow) || u.Port() != "80" && u.Port() != "443" {
		return nil, ErrForbidden
	}
	return proxy.Dial(ctx, via, address)
}

// dialChecked resolves the host of u and connects through a proxy to the first address that is allowed and available.
func (d *dialer) dialChecked(ctx context.Context, via, u *url.URL) (net.Conn, error) {
	addresses, err := d.direct.Resolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return nil, err
	}
	for _, addr := range addresses {
		address := net.JoinHostPort(addr.Unmap().String(), u.Port())
		if err = checkDial(address, d.allow); err != nil {
			continue
		}
		var conn net.Conn
		if conn, err = proxy.Dial(ctx, via, address); err == nil {
			return conn, nil
		}
	}
	return nil, err
}
