package stream_test

import (
	"testing"

	"github.com/tsumugi-ai/tsumugi/stream/streamtest"
)

func TestOneServer(t *testing.T) {
	t.Parallel()
	streamtest.Suite(t, func(t *testing.T) streamtest.World {
		s := streamtest.NewServer(t, nil)
		return streamtest.World{Writer: s, Successor: s, Reader: s, Rounds: 10_000}
	})
}

func TestSeveralServers(t *testing.T) {
	t.Parallel()
	streamtest.Suite(t, func(t *testing.T) streamtest.World {
		network := streamtest.NewNetwork()
		server := func() streamtest.Server {
			node := network.Node()
			s := streamtest.NewServer(t, node)
			s.Cut, s.Heal = node.Cut, node.Heal
			return s
		}
		return streamtest.World{Writer: server(), Successor: server(), Reader: server(), Rounds: 1000}
	})
}
