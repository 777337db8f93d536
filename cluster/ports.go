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

// FreeAddress returns an address of this machine on which nobody listens at the moment.
func FreeAddress(ctx context.Context) (string, error) {
	port, err := freePort(ctx)
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), err
}

func freePort(ctx context.Context) (int, error) {
	for range 1000 {
		port := lowestPort + rand.IntN(ports) //nolint:gosec // Avoids others; no secret.
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		return port, listener.Close()
	}
	return 0, errors.New("no port is free")
}
