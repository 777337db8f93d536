package bridge

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Check connects to one of the NATS servers and asks for JetStream, as Connect does, without creating anything. Its
// error may contain texts of the server.
func Check(ctx context.Context, url string) error {
	limit := nats.DefaultTimeout
	if deadline, ok := ctx.Deadline(); ok {
		limit = time.Until(deadline) / 2 // Leaves time for a second server of the URL, or for JetStream.
	}
	nc, err := nats.Connect(url, nats.Name("tsumugi doctor"), nats.NoReconnect(), nats.Timeout(limit))
	if err != nil {
		return fmt.Errorf("bridge: %w", err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err == nil {
		_, err = js.AccountInfo(ctx)
	}
	if err != nil {
		return fmt.Errorf("bridge: JetStream: %w", err)
	}
	return nil
}
