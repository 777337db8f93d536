// Command fakeidp serves a SAML 2.0 identity provider for browser tests, and for trials of single sign-on without a
// real one.
//
//	fakeidp --listen 127.0.0.1:9913 --user 'hanako:secret:hanako@demo.example:山田 花子'
//
// It prints the URL of its metadata and its attributes. The user enters the text of the metadata and the attributes at
// 管理 › SAML › 編集. fakeidp fetches the metadata of an unknown service provider from its entity id, which is a URL. It
// is not part of the product. It imports packages fakes and samltest and the standard library.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/identity/saml/samltest"
	"github.com/tsumugi-ai/tsumugi/test/fakes"
)

const (
	fetchTimeout = 5 * time.Second // For fetching a service provider's metadata, and for reading a request's header.
	maxMetadata  = 1 << 20         // Bytes.
)

func main() { fakes.Main("fakeidp", run) }

// run serves until ctx is cancelled. Its output begins with the metadata's URL.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("fakeidp", flag.ContinueOnError)
	flags.SetOutput(stderr)
	listen := flags.String("listen", "127.0.0.1:9913", "address to serve on; port 0 takes a free one")
	var users []samltest.User
	flags.Func("user", "`login:password:address:name[:NameID]` of somebody who signs in; may be repeated",
		func(text string) error {
			user, err := parseUser(text)
			users = append(users, user)
			return err
		})
	if err := fakes.Parse(flags, args); err != nil {
		return err
	}
	return fakes.Serve(ctx, *listen, fetchTimeout, stdout, func(url string) (http.Handler, string, error) {
		provider, err := samltest.New(samltest.Config{URL: url, Users: users, Discover: fetch})
		if err != nil {
			return nil, "", err
		}
		return provider, fmt.Sprintf("%s\n  address: %s\n  name:    %s\n",
			provider.EntityID(), samltest.EmailAttribute, samltest.NameAttribute), nil
	})
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

// fetch returns a service provider's metadata, whose URL is its entity id.
func fetch(ctx context.Context, entityID string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, entityID, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request) //nolint:gosec // The user of this test tool chooses the URLs.
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", entityID, answer.Status)
	}
	return io.ReadAll(io.LimitReader(answer.Body, maxMetadata))
}
