// Command fakeslack serves a fake Slack workspace for browser tests and trials without Slack.
//
//	fakeslack --listen 127.0.0.1:9913
//
// It prints its address. The people and secrets are those of package slack's Demo. A test connects a Tsumugi server by
// POST /control/connect. It is not part of the product and imports packages fakes and slack and the standard library.
package main

import (
	"context"
	"flag"
	"io"
	"net/http"
	"time"

	"github.com/tsumugi-ai/tsumugi/test/fakes"
	"github.com/tsumugi-ai/tsumugi/test/fakes/slack"
)

// headerTimeout bounds the idle time of a connection. It is long because clients keep idle connections.
const headerTimeout = 5 * time.Minute

func main() { fakes.Main("fakeslack", run) }

// run serves until ctx ends. The first line of its output contains the address.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	config := slack.Demo()
	flags := flag.NewFlagSet("fakeslack", flag.ContinueOnError)
	flags.SetOutput(stderr)
	listen := flags.String("listen", "127.0.0.1:9913", "address to listen on; port 0 selects a free port")
	flags.BoolVar(&config.App.SocketMode, "socket-mode", false, "deliver events by WebSocket instead of HTTP")
	flags.BoolVar(&config.Tiers, "tiers", true, "refuse calls beyond Slack's rate tiers")
	if err := fakes.Parse(flags, args); err != nil {
		return err
	}
	workspace := slack.New(config)
	defer workspace.Close()
	return fakes.Serve(ctx, *listen, headerTimeout, stdout, func(url string) (http.Handler, string, error) {
		workspace.SetURL(url)
		return workspace, url + "\n", nil
	})
}
