package cluster

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports for addresses that somebody else must know before they are listened on. They lie below those that systems give
// to outgoing connections, so that a server finds its port free when it comes back.
const (
	lowestPort = 20000
	ports      = 12000
)

// Loopback returns a host of this machine that hardly anybody else uses: one of the millions that Linux has, on which
// neither another process nor an outgoing connection takes a port while its server is away. Elsewhere it is 127.0.0.1.
func Loopback(ctx context.Context) string {
	host := net.IPv4(127, byte(1+rand.IntN(254)), byte(rand.IntN(256)), byte(1+rand.IntN(254))).String() //nolint:gosec // As below.
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "127.0.0.1"
	}
	_ = listener.Close()
	return host
}

// FreeAddress returns an address of a host of this machine on which nobody listens at the moment.
func FreeAddress(ctx context.Context, host string) (string, error) {
	port, err := freePort(ctx, host)
	return net.JoinHostPort(host, strconv.Itoa(port)), err
}

func freePort(ctx context.Context, host string) (int, error) {
	for range 1000 {
		port := lowestPort + rand.IntN(ports) //nolint:gosec // Avoids others; no secret.
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			continue
		}
		return port, listener.Close()
	}
	return 0, errors.New("no port is free")
}
