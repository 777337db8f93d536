package stream_test

import (
	"context"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/streamtest"
)

// TestReachWaitsForTheCursor: a client connects to a server whose mirror is behind the client's cursor, or still has an
// earlier run. The server waits until the mirror has caught up, and sends no reset.
func TestReachWaitsForTheCursor(t *testing.T) {
	t.Parallel()
	network := streamtest.NewNetwork()
	writing := stream.NewHub(stream.HubConfig{Transport: network.Node()})
	watching := stream.NewHub(stream.HubConfig{Transport: network.Node()})
	defer writing.Stop(t.Context())
	defer watching.Stop(t.Context())
	first := writing.Open(stream.Head{MessageID: "m", Run: 1})
	first.AppendText("一")
	interest := watching.Join("m")
	defer interest.Leave()
	interest.Mirror()
	<-interest.Opened()
	mirror := interest.Text()

	reached := make(chan bool, 1)
	go func() { reached <- mirror.WaitForCursor(t.Context(), "1-6") }()
	first.AppendText("二")
	if !<-reached || mirror.Text() != "一二" {
		t.Errorf("the mirror has %q", mirror.Text())
	}

	go func() { reached <- mirror.WaitForCursor(t.Context(), "2-3") }()
	second := writing.Open(stream.Head{MessageID: "m", Run: 2})
	second.AppendText("三")
	if <-reached {
		t.Error("the client of the second run is served with the first")
	}
	for next := interest.Text(); next == nil || next.Run() != 2; next = interest.Text() {
		<-interest.Opened()
	}
	// WaitForCursor returns with the context's error for a cursor that is never reached, and at once for a cursor of an
	// earlier run.
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if !interest.Text().WaitForCursor(ctx, "2-999") || !interest.Text().WaitForCursor(t.Context(), "1-999") ||
		!second.WaitForCursor(t.Context(), "2-999") {
		t.Error("a cursor that does not hold is not answered")
	}
	second.Finish(stream.End{Outcome: stream.Finished})
	writing.Close(second)
}
