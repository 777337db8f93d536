package bridge_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/tsumugi-ai/tsumugi/stream/bridge"
	"github.com/tsumugi-ai/tsumugi/stream/bridge/bridgetest"
)

// cluster is three servers for the tests that break none of them.
var cluster *bridgetest.Cluster

func TestMain(m *testing.M) {
	var err error
	if cluster, err = bridgetest.Start(3); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	cluster.Shutdown()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// connect returns a bridge by the servers at a URL, until the test is over.
func connect(t *testing.T, url string) *bridge.Bridge {
	t.Helper()
	b, err := bridge.Connect(t.Context(), bridge.Config{URL: url, Name: t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func TestConnect(t *testing.T) {
	t.Parallel()
	for i := range cluster.Len() {
		b := connect(t, cluster.URL(i))
		if err := b.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
