// Command cluster runs several servers on this machine with everything they need: a PostgreSQL, a NATS cluster and a
// load balancer. Developers use it to watch the death of a server: it prints the process ids and restarts a server that
// ends.
//
//	cluster --servers 3
//	kill -9 PID
//
// It is not part of the product. It imports package cluster.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/tsumugi-ai/tsumugi/test/cluster"
)

// stopTimeout bounds stopping the servers; answers in progress get 30 s.
const stopTimeout = 45 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends this process and its children at once.
	context.AfterFunc(ctx, stop)
	if err := run(ctx, os.Args[1:], os.Environ(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

// command holds the command-line flags.
type command struct {
	Servers int    `default:"3" help:"Number of servers."`
	Listen  string `default:"127.0.0.1:8080" help:"Address and port of the balancer."`
	Data    string `default:"./data" type:"path" help:"Folder for the database, the NATS nodes and the logs. It may be the data folder of tsumugi serve."`
	Model   string `placeholder:"URL" help:"OpenAI-compatible server that answers. Default: OPENAI_BASE_URL and OPENAI_API_KEY, else the offline engine."`
	Program string `default:"bin/tsumugi" type:"path" help:"The built server."`
}

var errUsage = errors.New("--servers must be between 1 and 16")

// run runs the cluster until ctx is cancelled.
func run(ctx context.Context, args, environ []string, stdout io.Writer) error {
	var cmd command
	helped := false
	parser, err := kong.New(&cmd, kong.Name("cluster"), kong.Writers(stdout, stdout),
		kong.Exit(func(int) { helped = true }),
		kong.Description("Several Tsumugi servers on this machine, with a PostgreSQL, a NATS cluster and a "+
			"balancer. Other settings of the servers are taken from the environment; tsumugi serve --help lists them."))
	if err != nil {
		return err
	}
	if _, err := parser.Parse(args); helped || err != nil {
		return err
	}
	if cmd.Servers < 1 || cmd.Servers > 16 {
		return errUsage
	}
	if cmd.Model != "" {
		environ = append(environ, "OPENAI_BASE_URL="+cmd.Model)
	}
	return cmd.serve(ctx, environ, &report{w: stdout})
}

func (cmd *command) serve(ctx context.Context, environ []string, out *report) error {
	out.say("起動しています …")
	c, err := cluster.Start(ctx, cluster.Config{
		Program: cmd.Program, Servers: cmd.Servers, Data: cmd.Data, Listen: cmd.Listen, Environ: environ,
		Durable: true, KeepAlive: true, Report: out.say,
	})
	if err != nil {
		return err
	}
	out.say("ログ           " + cmd.Data + "/logs")
	out.say("サーバーを kill -9 PID で止めても、回答は別のサーバーで続きます。止めたサーバーは起動し直されます。")
	// The first server prints the address of all servers and, if it was just created, the first sign-in.
	out.print(c.Server(0).Welcome())
	<-ctx.Done()
	out.say("終了しています …（書きかけの回答を最大 30 秒待ちます）")
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	return c.Stop(stopping)
}

// report prints the cluster's events for the user.
type report struct {
	mu sync.Mutex // Guards w.
	w  io.Writer
}

func (r *report) say(text string) { r.print("  " + strings.TrimSpace(text) + "\n") }

func (r *report) print(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = io.WriteString(r.w, text) // An error cannot be reported anywhere else.
}
