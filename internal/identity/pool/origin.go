package pool

import (
	"context"
	"crypto/sha256"
	"net/netip"
)

// Origin is the origin of a call. The handler that mounts the pool stores it in the call's context.
type Origin struct {
	Address   netip.Addr // Zero if unknown.
	RequestID string
	UserAgent string
	Device    string // The secret stored by a browser for this server, or "".
	Browser   bool   // The client can store such a secret.
}

type originKey struct{}

// WithOrigin returns a context that carries the origin of a call.
func WithOrigin(ctx context.Context, origin Origin) context.Context {
	return context.WithValue(ctx, originKey{}, origin)
}

// originOf returns the origin of the context's call, or the zero Origin.
func originOf(ctx context.Context) Origin {
	origin, _ := ctx.Value(originKey{}).(Origin)
	return origin
}

// Network returns the network that is counted as one address: an IPv4 address, or an IPv6 /64, which a provider assigns
// to one customer.
func (o Origin) Network() string {
	if !o.Address.IsValid() || o.Address.Is4() {
		return o.Address.String()
	}
	network, _ := o.Address.WithZone("").Prefix(64) // 64 is a valid prefix length for IPv6.
	return network.String()
}

// DeviceKey returns the key under which a device is stored, or nil. A browser is identified by its secret alone, a
// program without a secret by its user agent and address.
func (o Origin) DeviceKey() []byte {
	text := "device " + o.Device
	switch {
	case o.Device != "":
	case o.Browser || !o.Address.IsValid():
		return nil
	default:
		text = "program " + o.Network() + " " + o.UserAgent
	}
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}
