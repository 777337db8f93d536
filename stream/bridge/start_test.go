package bridge_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream/bridge"
	"github.com/tsumugi-ai/tsumugi/stream/bridge/bridgetest"
	"github.com/tsumugi-ai/tsumugi/stream/streamtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestServerStartsWithoutNATS: the server connects to the others when NATS is available.
func TestServerStartsWithoutNATS(t *testing.T) {
	t.Parallel()
	nodes := bridgetest.NewCluster(t, 1)
	link := bridgetest.NewLink(t, nodes.URL(0))
	link.Cut()
	early, err := bridge.Connect(t.Context(), bridge.Config{URL: link.URL(), ConnectTimeout: 300 * time.Millisecond})
	must.Succeed(t, err)
	t.Cleanup(early.Close)
	if early.Connected() {
		t.Error("it is connected to nobody")
	}
	missed := make(chan struct{}, 1)
	stop := must.Get(early.Subscribe(func(string, []byte) {}, func() { missed <- struct{}{} }))(t)
	t.Cleanup(stop)
	writer := streamtest.NewServer(t, early)
	text := writer.Hub.Open(head)
	text.AppendText("まだ、だれも知らない。")
	link.Heal()
	<-missed
	reader := streamtest.NewServer(t, connect(t, nodes.URL(0)))
	seen, done := reading(t, reader.Hub)
	seen()
	text.Finish(finished)
	if c := done(); c.Text != text.Text() || c.Resets > 0 {
		t.Errorf("%q, %d resets", c.Text, c.Resets)
	}
}

// TestR19_OthersAreNotifiedOfALostConnection: events in transit are lost, and only their sender can detect it.
func TestR19_OthersAreNotifiedOfALostConnection(t *testing.T) {
	t.Parallel()
	nodes := bridgetest.NewCluster(t, 1)
	link := bridgetest.NewLink(t, nodes.URL(0))
	connect(t, link.URL())
	missed := make(chan struct{}, 1)
	stop := must.Get(connect(t, nodes.URL(0)).Subscribe(func(string, []byte) {}, func() { missed <- struct{}{} }))(t)
	defer stop()
	link.Cut()
	link.Heal()
	select {
	case <-missed:
	case <-time.After(testTimeout):
		t.Error("a server that kept its connection is not told that events of another one are lost")
	}
}

// TestStalledLinkIsDropped: a stalled link delays neither publishers nor the server's shutdown for long.
func TestStalledLinkIsDropped(t *testing.T) {
	t.Parallel()
	b, err := bridge.Connect(t.Context(), bridge.Config{URL: stuck(t), ConnectTimeout: 300 * time.Millisecond})
	must.Succeed(t, err)
	event := make([]byte, 64<<10)
	began := time.Now()
	for range 500 {
		b.Publish("topic", event)
	}
	b.Close()
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}

// stuck returns the address of a server that sends each client its greeting and then stops reading.
func stuck(t *testing.T) string {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	over := make(chan struct{})
	t.Cleanup(func() {
		_ = listener.Close()
		<-over
	})
	go func() {
		defer close(over)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			_, _ = fmt.Fprint(
				conn,
				`INFO {"server_id":"stuck","version":"2.12.0","proto":1,"headers":true,"max_payload":1048576}`+"\r\n",
			)
			lines := bufio.NewReaderSize(conn, 1)
			for line := ""; err == nil && !strings.HasPrefix(line, "PING"); {
				line, err = lines.ReadString('\n')
			}
			_, _ = fmt.Fprint(conn, "PONG\r\n")
		}
	}()
	return "nats://" + listener.Addr().String()
}
