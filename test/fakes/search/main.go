// Command fakesearch serves the API of a SearXNG server, and the pages of its results, for browser tests and for trials
// without a network.
//
//	fakesearch --listen 127.0.0.1:9912
//	FAKE_PAGES=127.0.0.1:9912 TSUMUGI_SEARCH_URL=http://127.0.0.1:9912 tsumugi serve
//
// Only a server that was built with the tag fakepages reads pages from this machine. Other servers use the excerpts in
// the search results.
//
// Package internal/websearch/websearchtest describes the pages. --hostile FILE adds pages from a JSON list of objects
// with Name and Text, such as chat/ground/testdata/hostile.json. fakesearch is not part of the product.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/websearch/websearchtest"
	"github.com/tsumugi-ai/tsumugi/test/fakes"
)

func main() { fakes.Main("fakesearch", run) }

const headerTimeout = time.Minute

// run serves until ctx is cancelled. Its output is the URL.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("fakesearch", flag.ContinueOnError)
	flags.SetOutput(stderr)
	listen := flags.String("listen", "127.0.0.1:9912", "address to serve on; port 0 takes a free one")
	hostile := flags.String("hostile", "", "file with hostile pages")
	if err := fakes.Parse(flags, args); err != nil {
		return err
	}
	more, err := pages(*hostile)
	if err != nil {
		return err
	}
	return fakes.Serve(ctx, *listen, headerTimeout, stdout, func(url string) (http.Handler, string, error) {
		return websearchtest.New(url, more...), url + "\n", nil
	})
}

// pages returns the pages of a file, or none if name is "".
func pages(name string) ([]websearchtest.Page, error) {
	if name == "" {
		return nil, nil
	}
	content, err := os.ReadFile(name) //nolint:gosec // The user of the command chooses the file.
	if err != nil {
		return nil, err
	}
	var list []websearchtest.Hostile
	if err := json.Unmarshal(content, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	pages := make([]websearchtest.Page, len(list))
	for i, h := range list {
		pages[i] = h.Page(i)
	}
	return pages, nil
}
