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
	limit := 3 * time.Second
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline))
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
