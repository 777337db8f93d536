package bridge_test

import (
	"testing"

	"github.com/tsumugi-ai/tsumugi/stream/bridge/bridgetest"
	"github.com/tsumugi-ai/tsumugi/stream/streamtest"
)

// linked returns a server with a link to a NATS server that can be cut.
func linked(t *testing.T, url string) streamtest.Server {
	t.Helper()
	link := bridgetest.NewLink(t, url)
	s := streamtest.NewServer(t, connect(t, link.URL()))
	s.Cut, s.Heal = link.Cut, link.Heal
	return s
}

func TestServersOnThreeNodes(t *testing.T) {
	t.Parallel()
	streamtest.Suite(t, func(t *testing.T) streamtest.World {
		return streamtest.World{
			Writer: linked(t, cluster.URL(0)), Successor: linked(t, cluster.URL(1)), Reader: linked(t, cluster.URL(2)),
			Rounds: 50,
		}
	})
}
