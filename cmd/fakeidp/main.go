// Command fakeidp is a SAML 2.0 identity provider for browser tests, and for trying single sign-on without a real one.
//
//	fakeidp --listen 127.0.0.1:9912 --user 'hanako:secret:hanako@demo.example:山田 花子'
//
// It prints the URL of its metadata, whose text goes into 管理 › SAML › 編集, with the attributes that it prints below. A
// service provider that it does not know is looked up by its entity id, which is the URL of the metadata. It is no part of
// the product; it imports package samltest and the standard library.
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
	"strings"
	"syscall"
	"time"

	"github.com/tsumugi-ai/tsumugi/identity/saml/samltest"
)

const (
	patience    = 5 * time.Second // For a service provider's metadata, and for a request's header.
	maxMetadata = 1 << 20         // Bytes.
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "fakeidp:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends. It writes the metadata's URL to stdout as soon as connections are taken, so that a test which
// listens on port 0 learns the port.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("fakeidp", flag.ContinueOnError)
	flags.SetOutput(stderr)
	listen := flags.String("listen", "127.0.0.1:9912", "address to serve on; port 0 takes a free one")
	var users []samltest.User
	flags.Func("user", "`login:password:address:name[:NameID]` of somebody who signs in; may be repeated", func(text string) error {
		user, err := parseUser(text)
		users = append(users, user)
		return err
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", *listen)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // The server has closed it, unless the start failed.
	provider, err := samltest.New(samltest.Config{URL: "http://" + listener.Addr().String(), Users: users, Discover: fetch})
	if err != nil {
		return err
	}
	server := &http.Server{Handler: provider, ReadHeaderTimeout: patience}
	stopped := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stopped()
	if _, err := fmt.Fprintf(stdout, "%s\n  address: %s\n  name:    %s\n",
		provider.EntityID(), samltest.EmailAttribute, samltest.NameAttribute); err != nil {
		return err
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func parseUser(text string) (samltest.User, error) {
	parts := strings.SplitN(text, ":", 5)
	if len(parts) < 4 {
		return samltest.User{}, errors.New("it is not login:password:address:name")
	}
	user := samltest.User{Login: parts[0], Password: parts[1], Email: parts[2], Name: parts[3]}
	if len(parts) == 5 {
		user.NameID = parts[4]
	}
	return user, nil
}

// fetch returns a service provider's metadata, whose URL is its name.
func fetch(ctx context.Context, entityID string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, entityID, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request) //nolint:gosec // A tool for tests: whoever starts it names the services.
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", entityID, answer.Status)
	}
	return io.ReadAll(io.LimitReader(answer.Body, maxMetadata))
}
