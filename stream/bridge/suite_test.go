package bridge_test

import (
	"context"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/bridge"
	"github.com/tsumugi-ai/tsumugi/stream/bridge/bridgetest"
	"github.com/tsumugi-ai/tsumugi/stream/streamtest"
)

// serve returns a server behind a bridge, until the test is over.
func serve(t *testing.T, b *bridge.Bridge) streamtest.Server {
	t.Helper()
	hub := stream.NewHub(stream.HubConfig{Transport: b})
	feed, err := stream.NewFeed(b)
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

// linked returns a server whose link to a NATS server can be cut.
func linked(t *testing.T, url string) streamtest.Server {
	t.Helper()
	link := bridgetest.NewLink(t, url)
	s := serve(t, connect(t, link.URL()))
	s.Cut, s.Heal = link.Cut, link.Heal
	return s
}

func TestServersOnThreeNodes(t *testing.T) {
	t.Parallel()
	streamtest.Suite(t, func(t *testing.T) streamtest.World {
		return streamtest.World{
			Writer: linked(t, cluster.URL(0)), Successor: linked(t, cluster.URL(1)), Reader: linked(t, cluster.URL(2)), Rounds: 50,
		}
	})
}
