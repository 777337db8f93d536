package stream_test

import (
	"context"
	"fmt"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/streamtest"
)

// Example writes an answer on one server and watches it through another.
func Example() {
	ctx := context.Background()
	network := streamtest.NewNetwork() // In production a bridge.Bridge connects servers over NATS.
	writer := stream.NewHub(stream.HubConfig{Transport: network.Node()})
	reader := stream.NewHub(stream.HubConfig{Transport: network.Node()})
	defer reader.Stop(ctx)

	text := writer.Open(stream.Head{MessageID: "0190f3c2", Run: 1})
	text.AppendText("こんにちは")
	text.Finish(stream.End{Outcome: stream.Finished, FinishReason: "stop"})
	writer.Stop(ctx) // It returns when other servers have the text.

	interest := reader.Join("0190f3c2")
	defer interest.Leave()
	interest.Mirror()
	<-interest.Opened()
	watch := interest.Text().Watch("1-9") // A client that has received three characters.
	for {
		fmt.Print(string(watch.Take()))
		more, over := watch.Wait()
		if over {
			break
		}
		<-more
	}
	// Output:
	// data: {"type":"start","messageId":"0190f3c2","messageMetadata":{"run":1}}
	//
	// data: {"type":"text-start","id":"0"}
	//
	// data: {"type":"text-delta","id":"0","delta":"ちは"}
	// id: 1-15
	//
	// data: {"type":"text-end","id":"0"}
	//
	// data: {"type":"finish","finishReason":"stop"}
	// id: 1-15
	//
	// data: [DONE]
}
