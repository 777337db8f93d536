package bridge_test

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/tsumugi-ai/tsumugi/stream/bridge"
	"github.com/tsumugi-ai/tsumugi/stream/bridge/bridgetest"
	"github.com/tsumugi-ai/tsumugi/test/leak"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// cluster has three servers, for tests that do not stop any of them.
var cluster *bridgetest.Cluster

func TestMain(m *testing.M) { leak.Main(suite{m}) }

// suite runs the tests with shared servers.
type suite struct{ *testing.M }

// Run runs the tests and returns the exit code.
func (s suite) Run() int {
	var err error
	if cluster, err = bridgetest.Start(3); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer cluster.Shutdown()
	return s.M.Run()
}

// connect returns a bridge over the servers at a URL, and creates the stream of texts. The bridge is closed when the
// test ends.
func connect(t *testing.T, urls string) *bridge.Bridge {
	t.Helper()
	b, err := bridge.Connect(t.Context(), bridge.Config{URL: urls, Name: t.Name(), ConnectTimeout: testTimeout})
	must.Succeed(t, err)
	t.Cleanup(b.Close)
	return b
}

func TestConnectedReportsTheLink(t *testing.T) {
	t.Parallel()
	link := bridgetest.NewLink(t, cluster.URL(0))
	b := connect(t, link.URL())
	must.Become(t, "the bridge is connected", b.Connected)
	link.Cut()
	must.Become(t, "the bridge is disconnected", func() bool { return !b.Connected() })
	link.Heal()
	must.Become(t, "the bridge is connected", b.Connected)
}

// TestCredentialsInTheURL connects to a server that requires a password.
func TestCredentialsInTheURL(t *testing.T) {
	t.Parallel()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, JetStream: true, StoreDir: t.TempDir(),
		Username: "tsumugi", Password: "p:@/",
	})
	must.Succeed(t, err)
	s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	u := url.URL{Scheme: "nats", Host: s.Addr().String(), User: url.UserPassword("tsumugi", "p:@/")}
	connect(t, u.String()).Close()
	u.User = url.UserPassword("tsumugi", "wrong")
	// A server that does not respond in time is tried again later, without an error.
	must.Become(t, "the password is refused", func() bool {
		b, refusal := bridge.Connect(t.Context(), bridge.Config{URL: u.String(), ConnectTimeout: 500 * time.Millisecond})
		if err = refusal; err == nil {
			b.Close()
		}
		return err != nil
	})
	if !errors.Is(err, nats.ErrAuthorization) || strings.Contains(err.Error(), "wrong") {
		t.Errorf("with a wrong password: %v", err)
	}
}

// TestEventsOfAnotherVersionCountAsMissed: subscribers read the state itself instead of an event that this version does
// not understand.
func TestEventsOfAnotherVersionCountAsMissed(t *testing.T) {
	t.Parallel()
	s := must.Get(server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, JetStream: true, StoreDir: t.TempDir(),
	}))(t)
	s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	b := connect(t, s.ClientURL())
	received, missed := make(chan string, 2), make(chan struct{}, 1)
	stop, err := b.Subscribe(func(topic string, _ []byte) { received <- topic }, func() { missed <- struct{}{} })
	must.Succeed(t, err)
	defer stop()
	other := must.Get(nats.Connect(s.ClientURL()))(t)
	defer other.Close()
	for _, token := range []string{"zbGF0ZXI", "tbm93"} { // "later" of another version, "now" of this one.
		must.Succeed(t, other.Publish("tsumugi.feed."+token, []byte("{}")))
	}
	for range 2 {
		select {
		case topic := <-received:
			if topic != "now" {
				t.Errorf("received an event of %q", topic)
			}
		case <-missed:
		case <-time.After(testTimeout):
			t.Fatal("an event is lost without notice")
		}
	}
}
