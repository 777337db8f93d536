// Command collector runs the receiver of the OpenTelemetry collector for tests, and prints the received records.
//
// Its arguments are the address to listen on, a certificate and its key. Clients must present a certificate that the
// certificate has signed, such as itself. It prints the id and the body of each record as
// a line of JSON. It is a separate Go module, so that the collector's libraries are not in the server's go.mod.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "collector:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("the arguments are an address, a certificate and a key, not %q", args)
	}
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	tls := map[string]any{"cert_file": args[1], "key_file": args[2], "client_ca_file": args[1]}
	http := map[string]any{"endpoint": args[0], "tls": tls}
	settings := confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{"http": http}})
	if err := settings.Unmarshal(config); err != nil {
		return err
	}
	printer, err := consumer.NewLogs(printRecords)
	if err != nil {
		return err
	}
	logs, err := factory.CreateLogs(ctx, receiver.Settings{
		ID: component.NewID(factory.Type()), TelemetrySettings: componenttest.NewNopTelemetrySettings(),
	}, config, printer)
	if err != nil {
		return err
	}
	if err := logs.Start(ctx, componenttest.NewNopHost()); err != nil {
		return err
	}
	<-ctx.Done()
	return logs.Shutdown(context.WithoutCancel(ctx))
}

// record is a line of the output.
type record struct {
	ID    string         `json:"id"`
	Event map[string]any `json:"event"`
}

func printRecords(_ context.Context, logs plog.Logs) error {
	out := json.NewEncoder(os.Stdout)
	for _, resource := range logs.ResourceLogs().All() {
		for _, scope := range resource.ScopeLogs().All() {
			for _, r := range scope.LogRecords().All() {
				id, _ := r.Attributes().Get("log.record.uid")
				if err := out.Encode(record{id.Str(), r.Body().Map().AsRaw()}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
