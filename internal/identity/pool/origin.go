package pool

import (
	"context"
	"crypto/sha256"
	"net/netip"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/opaque"
)

// Origin is where a call comes from. The handler that serves the pool puts it into the call's context.
type Origin struct {
	Address   netip.Addr // Zero where it is unknown.
	RequestID string
	UserAgent string
	Device    string // The secret that a browser keeps for this server, "" for none. See NewDevice.
	Browser   bool   // It would keep such a secret.
}

type originKey struct{}

// WithOrigin returns a context of a call from somewhere.
func WithOrigin(ctx context.Context, origin Origin) context.Context {
	return context.WithValue(ctx, originKey{}, origin)
}

// OriginOf returns where the context's call comes from, the zero Origin if that is unknown.
func OriginOf(ctx context.Context) Origin {
	origin, _ := ctx.Value(originKey{}).(Origin)
	return origin
}

// NewDevice returns a secret that a browser is known by again.
func NewDevice() string {
	device, _ := opaque.New()
	return device
}

// Network returns what counts as one address: an address of IPv4, or the /64 that a provider gives one customer of
// IPv6.
func (o Origin) Network() string {
	if !o.Address.IsValid() || o.Address.Is4() {
		return o.Address.String()
	}
	network, _ := o.Address.WithZone("").Prefix(64) // 64 bits are right for IPv6.
	return network.String()
}

// DeviceKey returns what a device is kept under, nil for none. A browser is known by its secret alone; a program that
// keeps none, by what it calls itself and its address.
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

// Agent returns what a person calls the program, as in "Chrome（Windows）", or "".
func (o Origin) Agent() string { return identity.Agent(o.UserAgent) }
