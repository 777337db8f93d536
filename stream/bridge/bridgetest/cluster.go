// Package bridgetest runs NATS servers within a test, as a cluster whose nodes can be stopped and restarted, behind
// links that can be cut.
package bridgetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// startTimeout bounds the start of a server.
const startTimeout = 2 * time.Minute

// Cluster is a set of NATS servers with JetStream. Its methods belong to one goroutine.
type Cluster struct {
	dir     string
	options []*server.Options
	servers []*server.Server // Nil for a stopped server.
}

// NewCluster starts n servers for a test and stops them when it ends.
func NewCluster(t testing.TB, n int) *Cluster {
	t.Helper()
	c, err := Start(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Shutdown)
	return c
}

// Start starts n servers for all tests of a binary; TestMain calls Shutdown. Several servers form a cluster.
func Start(n int) (*Cluster, error) {
	dir, err := os.MkdirTemp("", "bridgetest")
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, servers: make([]*server.Server, n)}
	host := loopback()
	ports, err := freePorts(host, 2*n)
	if err != nil {
		return nil, err
	}
	var routes []*url.URL
	for i := range n {
		routes = append(routes, &url.URL{Scheme: "nats", Host: net.JoinHostPort(host, strconv.Itoa(ports[n+i]))})
	}
	for i := range n {
		o := &server.Options{
			ServerName: fmt.Sprintf("n%d", i), Host: host, Port: ports[i], NoLog: true, NoSigs: true,
			JetStream: true, StoreDir: filepath.Join(dir, strconv.Itoa(i)), JetStreamMaxMemory: 1 << 30,
			JetStreamMaxStore: 1 << 30,
		}
		if n > 1 {
			// Clients use only the configured URLs, so that cutting a link has an effect.
			o.Cluster = server.ClusterOpts{Name: "tsumugi", Host: host, Port: ports[n+i], NoAdvertise: true}
			o.Routes = routes
		}
		c.options = append(c.options, o)
	}
	for i := range n {
		if err := c.start(i); err != nil {
			c.Shutdown()
			return nil, err
		}
	}
	return c, c.ready()
}

// start starts a server without waiting for it.
func (c *Cluster) start(i int) error {
	s, err := server.NewServer(c.options[i].Clone())
	if err != nil {
		return err
	}
	c.servers[i] = s
	s.Start()
	return nil
}

// ready waits until every running server accepts clients.
func (c *Cluster) ready() error {
	for i, s := range c.servers {
		if s != nil && !s.ReadyForConnections(startTimeout) {
			return fmt.Errorf("bridgetest: server %d is not ready", i)
		}
	}
	return nil
}

// Len returns the number of servers, stopped ones included.
func (c *Cluster) Len() int { return len(c.servers) }

// URL returns the address of one server.
func (c *Cluster) URL(i int) string {
	return "nats://" + net.JoinHostPort(c.options[i].Host, strconv.Itoa(c.options[i].Port))
}

// URLs returns the addresses of all servers in the form of Config.URL, starting with server i.
func (c *Cluster) URLs(i int) string {
	urls := make([]string, 0, c.Len())
	for k := range c.Len() {
		urls = append(urls, c.URL((i+k)%c.Len()))
	}
	return strings.Join(urls, ",")
}

// Stop kills a server: its connections break, and its memory is lost.
func (c *Cluster) Stop(i int) {
	if s := c.servers[i]; s != nil {
		s.Shutdown()
		s.WaitForShutdown()
		c.servers[i] = nil
	}
}

// Restart starts a stopped server at its address.
func (c *Cluster) Restart(t testing.TB, i int) {
	t.Helper()
	err := c.start(i)
	if err == nil {
		err = c.ready()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Leader returns the index of the server that leads a stream, or -1 without a leader.
func (c *Cluster) Leader(stream string) int {
	for i, s := range c.servers {
		if s != nil && s.JetStreamIsStreamLeader("$G", stream) {
			return i
		}
	}
	return -1
}

// Shutdown stops all servers and removes their files.
func (c *Cluster) Shutdown() {
	for i := range c.servers {
		c.Stop(i)
	}
	_ = os.RemoveAll(c.dir)
}

// loopback returns a loopback address that other programs are unlikely to use, so that a server's port is still free
// when it is restarted: a random address of 127.0.0.0/8 on Linux, and 127.0.0.1 on other systems.
func loopback() string {
	// Avoids collisions; not a secret.
	host := net.IPv4(127, byte(1+rand.IntN(254)), byte(rand.IntN(256)), byte(1+rand.IntN(254))).String() //nolint:gosec
	l, err := listen(host)
	if err != nil {
		return "127.0.0.1"
	}
	_ = l.Close()
	return host
}

// freePorts returns ports of a host that are free at the moment.
func freePorts(host string, n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := listen(host)
		if err != nil {
			return nil, err
		}
		defer func() { _ = l.Close() }()
		addr, ok := l.Addr().(*net.TCPAddr)
		if !ok {
			return nil, errors.New("bridgetest: no TCP address")
		}
		ports = append(ports, addr.Port)
	}
	return ports, nil
}

// listen listens on a free port of a host.
func listen(host string) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(context.Background(), "tcp", net.JoinHostPort(host, "0"))
}
