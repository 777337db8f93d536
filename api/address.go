package api

import (
	"context"
	"net/http"
	"net/netip"

	"github.com/go-chi/chi/v5/middleware"
)

// withAddress finds out where requests come from: the peer of the connection, or, if that is a proxy whose word counts, what
// X-Forwarded-For says, read from the right up to the first address that is no such proxy. What a client writes itself stands
// further left and is never reached.
func withAddress(proxies []netip.Prefix) func(http.Handler) http.Handler {
	if len(proxies) == 0 {
		return middleware.ClientIPFromRemoteAddr
	}
	names := make([]string, len(proxies))
	for i, p := range proxies {
		names[i] = p.String()
	}
	return func(next http.Handler) http.Handler {
		forwarded := middleware.ClientIPFromXFF(names...)(next)
		peer := middleware.ClientIPFromRemoteAddr(forwarded) // Stays where a proxy says nothing that can be understood.
		return peer
	}
}

// clientAddress returns where the context's request comes from, the zero Addr if that is unknown.
func clientAddress(ctx context.Context) netip.Addr { return middleware.GetClientIPAddr(ctx) }
