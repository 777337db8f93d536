package stream_test

import (
	"context"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/streamtest"
)

// newServer returns a server that is joined to others by a transport, nil for none, until the test is over.
func newServer(t testing.TB, transport stream.Transport) streamtest.Server {
	t.Helper()
	hub := stream.NewHub(stream.HubConfig{Transport: transport})
	feed, err := stream.NewFeed(transport)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		hub.Stop(ctx)
		feed.Close()
	})
	return streamtest.Server{Hub: hub, Feed: feed}
}

func TestOneServer(t *testing.T) {
	t.Parallel()
	streamtest.Suite(t, func(t *testing.T) streamtest.World {
		s := newServer(t, nil)
		return streamtest.World{Writer: s, Successor: s, Reader: s, Rounds: 10_000}
	})
}

func TestSeveralServers(t *testing.T) {
	t.Parallel()
	streamtest.Suite(t, func(t *testing.T) streamtest.World {
		network := streamtest.NewNetwork()
		server := func() streamtest.Server {
			node := network.Node()
			s := newServer(t, node)
			s.Cut, s.Heal = node.Cut, node.Heal
			return s
		}
		return streamtest.World{Writer: server(), Successor: server(), Reader: server(), Rounds: 1000}
	})
}
