package api

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

type clientAddressKey struct{}

// withAddress determines the client address of a request: the peer of the connection or, if the peer is a trusted
// proxy, the rightmost address of X-Forwarded-For that is not a trusted proxy. Entries written by clients are further
// left and are ignored.
func withAddress(proxies []netip.Prefix) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx := context.WithValue(r.Context(), clientAddressKey{}, findAddress(r, proxies))
			next.ServeHTTP(w, r.WithContext(ctx))
		})
	}
}

// clientAddress returns the client address of the context's request, or the zero Addr if it is unknown.
func clientAddress(ctx context.Context) netip.Addr {
	address, _ := ctx.Value(clientAddressKey{}).(netip.Addr)
	return address
}

// findAddress returns the rightmost address that is not a trusted proxy. If all are trusted, or an entry is malformed,
// it returns the peer.
func findAddress(r *http.Request, proxies []netip.Prefix) netip.Addr {
	ours := func(a netip.Addr) bool {
		return slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	peer := parseAddress(r.RemoteAddr)
	if !ours(peer) {
		return peer
	}
	for _, line := range slices.Backward(r.Header.Values("X-Forwarded-For")) {
		for line != "" {
			comma := strings.LastIndexByte(line, ',')
			entry := strings.TrimSpace(line[comma+1:])
			line = line[:max(comma, 0)]
			if entry == "" {
				continue
			}
			if address := parseAddress(entry); !address.IsValid() {
				return peer
			} else if !ours(address) {
				return address
			}
		}
	}
	return peer
}

// parseAddress parses an address with or without a port. It returns the zero Addr for a malformed one. IPv4-mapped
// IPv6 addresses become IPv4, and zones are dropped because networks of proxies have none.
func parseAddress(s string) netip.Addr {
	address, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	if err != nil {
		withPort, _ := netip.ParseAddrPort(s) // The zero AddrPort if malformed.
		address = withPort.Addr()
	}
	return address.Unmap().WithZone("")
}

// addressText formats an address. It returns "" for nil and for the zero Addr.
func addressText(address *netip.Addr) string {
	if address == nil || !address.IsValid() {
		return ""
	}
	return address.String()
}
