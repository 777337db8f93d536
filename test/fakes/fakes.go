// Package fakes has the common code of the commands that serve fakes of external services. It imports the standard
// library only.
package fakes

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
)

// Main runs a command until it returns or a signal cancels its context. It exits with status 1 if the command fails.
func Main(name string, run func(ctx context.Context, args []string, stdout, stderr io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

// Parse parses flags. It returns an error if there are other arguments.
func Parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return nil
}

// Serve listens on an address and serves until ctx is cancelled. open receives the server's URL and returns the handler
// and a text. Serve writes the text to stdout when it accepts connections, so that a test that listens on port 0 can
// read the port. headerTimeout bounds reading a request's header.
func Serve(
	ctx context.Context, address string, headerTimeout time.Duration, stdout io.Writer,
	open func(url string) (http.Handler, string, error),
) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // The server closes it too, unless the start failed.
	handler, greeting, err := open("http://" + listener.Addr().String())
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout}
	stopped := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stopped()
	if _, err := io.WriteString(stdout, greeting); err != nil {
		return err
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
