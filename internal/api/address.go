package api

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

type clientAddressKey struct{}

// withAddress finds out where requests come from: the peer of the connection, or, if that is a proxy whose word counts,
// what X-Forwarded-For says, read from the right up to the first address that is no such proxy. What a client writes
// itself stands further left and is never reached.
func withAddress(proxies []netip.Prefix) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx := context.WithValue(r.Context(), clientAddressKey{}, findAddress(r, proxies))
			next.ServeHTTP(w, r.WithContext(ctx))
		})
	}
}

// clientAddress returns where the context's request comes from, the zero Addr if that is unknown.
func clientAddress(ctx context.Context) netip.Addr {
	address, _ := ctx.Value(clientAddressKey{}).(netip.Addr)
	return address
}

// findAddress returns the first address from the right that is no proxy of ours. Where there is none, or what a proxy
// says cannot be understood, it is the peer.
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

// parseAddress reads an address, with a port or without, the zero Addr if it is none. One of IPv4 that is written as
// IPv6 is one of IPv4, and zones, which networks of proxies do not have, are left out.
func parseAddress(s string) netip.Addr {
	address, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	if err != nil {
		withPort, _ := netip.ParseAddrPort(s) // The zero one in an error.
		address = withPort.Addr()
	}
	return address.Unmap().WithZone("")
}
