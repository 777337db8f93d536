package cluster

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// Range of ports for addresses that must be known before a listener is opened. It is below the ephemeral ports of
// outgoing connections, so that a server's port is still free when it is restarted.
const (
	lowestPort = 20000
	ports      = 12000
)

// Loopback returns a loopback address that other programs are unlikely to use, so that a server's port is still free
// when it is restarted. It is a random address of 127.0.0.0/8 on Linux, and 127.0.0.1 on other systems.
func Loopback(ctx context.Context) string {
	//nolint:gosec // As below.
	host := net.IPv4(127, byte(1+rand.IntN(254)), byte(rand.IntN(256)), byte(1+rand.IntN(254))).String()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "127.0.0.1"
	}
	_ = listener.Close()
	return host
}

// FreeAddress returns an address of a local host with a port that is free at the moment.
func FreeAddress(ctx context.Context, host string) (string, error) {
	port, err := freePort(ctx, host)
	return net.JoinHostPort(host, strconv.Itoa(port)), err
}

func freePort(ctx context.Context, host string) (int, error) {
	found, err := freePorts(ctx, host, 1)
	if err != nil {
		return 0, err
	}
	return found[0], nil
}

// freePorts returns n different ports of a host that are free at the moment.
func freePorts(ctx context.Context, host string, n int) ([]int, error) {
	var found []int
	for range 1000 * n {
		port := lowestPort + rand.IntN(ports) //nolint:gosec // The random number only avoids collisions.
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			continue
		}
		defer func() { _ = listener.Close() }() // Until all are found, which are different therefore.
		if found = append(found, port); len(found) == n {
			return found, nil
		}
	}
	return nil, errors.New("no port is free")
}
