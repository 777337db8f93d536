package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Memory and disk that one NATS node may use for streams.
const (
	natsMemory = 512 << 20
	natsDisk   = 1 << 30
)

// natsNodes is a NATS cluster with JetStream in this process.
type natsNodes struct {
	nodes   []*server.Server
	options []*server.Options
}

// startNATS starts n nodes on a host and waits until streams can be created.
func startNATS(ctx context.Context, host, dir string, n int) (*natsNodes, error) {
	nats := &natsNodes{nodes: make([]*server.Server, n)}
	var routes []*url.URL
	ports, err := freePorts(ctx, host, 2*n)
	if err != nil {
		return nil, err
	}
	for i := range n {
		client, route := ports[i], ports[n+i]
		routes = append(routes, &url.URL{Scheme: "nats", Host: net.JoinHostPort(host, strconv.Itoa(route))})
		nats.options = append(nats.options, &server.Options{
			ServerName: fmt.Sprintf("nats-%d", i+1), Host: host, Port: client, NoSigs: true, NoLog: true,
			JetStream: true, StoreDir: filepath.Join(dir, strconv.Itoa(i+1)), JetStreamMaxMemory: natsMemory,
			JetStreamMaxStore: natsDisk,
			// Nodes do not advertise addresses to clients, so that a cut link is the only path.
			Cluster: server.ClusterOpts{Name: "tsumugi", Host: host, Port: route, NoAdvertise: true},
		})
	}
	for i := range n {
		nats.options[i].Routes = routes
		if err := nats.start(i); err != nil {
			nats.stop()
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := nats.await(ctx); err != nil {
		nats.stop()
		return nil, err
	}
	return nats, nil
}

func (n *natsNodes) start(i int) error {
	options := n.options[i].Clone()
	node, err := server.NewServer(options)
	if err != nil {
		return fmt.Errorf("NATS node %d: %w", i+1, err)
	}
	n.nodes[i] = node
	node.Start()
	return nil
}

// await waits until all nodes accept clients and have a leader.
func (n *natsNodes) await(ctx context.Context) error {
	for i, node := range n.nodes {
		if !node.ReadyForConnections(startTimeout) {
			return fmt.Errorf("NATS node %d does not start", i+1)
		}
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !n.ready() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.New("the NATS cluster finds no leader")
		}
	}
	return nil
}

func (n *natsNodes) ready() bool {
	leads := false
	for _, node := range n.nodes {
		if !node.JetStreamIsCurrent() {
			return false
		}
		leads = leads || node.JetStreamIsLeader()
	}
	return leads
}

// address returns a node's address for clients.
func (n *natsNodes) address(i int) string {
	return net.JoinHostPort(n.options[i].Host, strconv.Itoa(n.options[i].Port))
}

func (n *natsNodes) stop() {
	for _, node := range n.nodes {
		if node != nil {
			node.Shutdown()
		}
	}
	for _, node := range n.nodes {
		if node != nil {
			node.WaitForShutdown()
		}
	}
}
