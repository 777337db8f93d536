// Command fakemodel serves an OpenAI-compatible model that does what the question says, for browser tests, benchmarks and
// try-outs without a provider.
//
//	fakemodel --listen 127.0.0.1:9911 --tokens-per-second 50
//	OPENAI_BASE_URL=http://127.0.0.1:9911/v1 OPENAI_API_KEY=test OPENAI_MODEL=tsumugi-test tsumugi serve
//
// A question may carry a directive such as
//
//	@script {"chars": 6000, "tokens_per_second": 200}
//	@script {"numbered": 300, "tokens_per_second": 50}
//	@script {"fail": "error", "fail_after": 120}
//	@script {"stall_after": 50}
//	@script {"status": 429, "retry_after": 1, "times": 2, "key": "once"}
//
// whose fields package llmtest describes (Directive). A question without one gets 600 characters of Markdown. Requests for
// a title are answered at once. It is no part of the product; it imports package llmtest and the standard library.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/tsumugi-ai/tsumugi/llm/llmtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "fakemodel:", err)
		os.Exit(1)
	}
}

// patience is how long a connection may wait for its first question: clients keep some in reserve.
const patience = 5 * time.Minute

// run serves until ctx ends. It writes the base URL to stdout as soon as connections are taken, so that a test which
// listens on port 0 learns the port.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("fakemodel", flag.ContinueOnError)
	flags.SetOutput(stderr)
	listen := flags.String("listen", "127.0.0.1:9911", "address to serve on; port 0 takes a free one")
	rate := flags.Float64("tokens-per-second", 50, "pace of an answer whose directive names none; 0 is as fast as possible")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if *rate < 0 {
		return errors.New("--tokens-per-second is negative")
	}
	var pace time.Duration
	if *rate > 0 {
		pace = time.Duration(float64(time.Second) / *rate)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", *listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: llmtest.NewHandler(pace), ReadHeaderTimeout: patience}
	stopped := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stopped()
	if _, err := fmt.Fprintf(stdout, "http://%s/v1\n", listener.Addr()); err != nil {
		return err
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
