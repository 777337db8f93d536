// Package websearch searches the web with a search API and reads the text of web pages. It protects the internal
// network and respects the robots.txt of sites.
//
// A Provider implements one of the search APIs; New validates its configuration. Pages are untrusted: they are fetched
// only from public addresses (see package dial), and an ExtractFunc extracts their text in a child process. The package
// is independent of questions and answers; package chat/ground uses it.
package websearch

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/dial"
	"github.com/tsumugi-ai/tsumugi/internal/lru"
	"github.com/tsumugi-ai/tsumugi/internal/proxy"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

// Result is a page found by a search.
type Result struct {
	URL       string // http or https.
	Title     string // On one line.
	Snippet   string // Excerpt by the search service; may be empty.
	Published time.Time
}

// Page is the content of a web page.
type Page struct {
	URL       string // URL after redirects.
	Passages  []extract.Passage
	Published time.Time // Zero if unknown.
}

// ExtractFunc extracts the text of a page in the format of the extension of filename. It is the method of
// *extractor.Extractor.
type ExtractFunc func(ctx context.Context, filename string, file io.Reader,
	page func(p extract.Page, total int) error) error

// Config configures a Service. A zero field means its default.
type Config struct {
	Provider ProviderConfig
	Extract  ExtractFunc

	PageTimeout   time.Duration // Time limit for fetching a page. Default 8 s.
	CacheLifetime time.Duration // Lifetime of cached results and pages. Default 1 h.

	// Proxy returns the proxy for fetching pages. Default: proxy.FromEnvironment. The search API uses
	// http.ProxyFromEnvironment.
	Proxy proxy.Func

	// ProxyResolves sends names of pages to the proxy without resolving them, for networks without DNS for external
	// names. Then only the proxy can refuse names of internal addresses.
	ProxyResolves bool

	// Resolver resolves the names of pages. Default: net.DefaultResolver. Tests use it.
	Resolver *net.Resolver

	// AllowAddress permits fetching pages from addresses that are not public. Tests use it for pages on this machine.
	AllowAddress func(netip.AddrPort) bool
}

const (
	defaultPageTimeout   = 8 * time.Second
	defaultCacheLifetime = time.Hour

	// Sizes of the caches, which all people share.
	resultBytes = 8 << 20
	pageBytes   = 64 << 20
)

// Service searches the web and reads pages. It is safe for concurrent use.
type Service struct {
	provider      Provider
	fetcher       *fetcher
	cacheLifetime time.Duration
	results       *lru.Cache[string, cacheEntry[[]Result]]
	pages         *lru.Cache[string, cacheEntry[Page]]

	searches, failed, read, unreadable, forbidden, cacheHits atomic.Int64 // See Stats.
	failing                                                  atomic.Bool
}

// Stats contains counters of a Service.
type Stats struct {
	Searches   int64 // Successful queries.
	Failed     int64 // Failed queries.
	Read       int64 // Pages that were fetched and read.
	Unreadable int64 // Pages that could not be read: unavailable, in an unsupported format, or disallowed for robots.
	Forbidden  int64 // Pages whose URL, or a redirect of it, is forbidden.
	CacheHits  int64 // Queries and pages served from the cache.
	Failing    bool  // The last query failed.
}

// Stats returns the counters since the start of the Service.
func (s *Service) Stats() Stats {
	return Stats{
		Searches: s.searches.Load(), Failed: s.failed.Load(), Read: s.read.Load(), Unreadable: s.unreadable.Load(),
		Forbidden: s.forbidden.Load(), CacheHits: s.cacheHits.Load(),
		Failing: s.failing.Load(),
	}
}

// cacheEntry is a cached value and the time at which it was stored.
type cacheEntry[V any] struct {
	value V
	at    time.Time
}

// New returns a Service. The caller must call Close.
func New(cfg Config) (*Service, error) {
	provider, err := NewProvider(cfg.Provider)
	if err != nil {
		return nil, err
	}
	provider.allowAddress = cfg.AllowAddress
	if cfg.PageTimeout <= 0 {
		cfg.PageTimeout = defaultPageTimeout
	}
	if cfg.CacheLifetime <= 0 {
		cfg.CacheLifetime = defaultCacheLifetime
	}
	if cfg.Proxy == nil {
		cfg.Proxy = proxy.FromEnvironment()
	}
	return &Service{
		provider: provider, fetcher: newFetcher(cfg), cacheLifetime: cfg.CacheLifetime,
		results: lru.New[string, cacheEntry[[]Result]](resultBytes), pages: lru.New[string, cacheEntry[Page]](pageBytes),
	}, nil
}

// Close closes idle connections. No other call may be in progress.
func (s *Service) Close() {
	s.fetcher.client.CloseIdleConnections()
	s.provider.client.CloseIdleConnections()
}

// Search returns the results of a query, best first, within providerTimeout. An error is a *fault.Error with a text for
// people.
func (s *Service) Search(ctx context.Context, query string) ([]Result, error) {
	if found, ok := s.results.Get(query); ok && time.Since(found.at) < s.cacheLifetime {
		s.cacheHits.Add(1)
		return found.value, nil
	}
	results, err := s.provider.Search(ctx, query)
	if err != nil {
		s.failed.Add(1)
		if !errors.Is(ctx.Err(), context.Canceled) { // The caller still needs the results.
			s.failing.Store(true)
		}
		return nil, err
	}
	s.searches.Add(1)
	s.failing.Store(false)
	size := len(query)
	for _, r := range results {
		size += len(r.URL) + len(r.Title) + len(r.Snippet) + 100
	}
	s.results.Put(query, cacheEntry[[]Result]{results, time.Now()}, size)
	return results, nil
}

// Read returns the text of a page. The error is dial.ErrForbidden if its URL, or a redirect of it, is forbidden.
func (s *Service) Read(ctx context.Context, address string) (Page, error) {
	if found, ok := s.pages.Get(address); ok && time.Since(found.at) < s.cacheLifetime {
		s.cacheHits.Add(1)
		return found.value, nil
	}
	page, err := s.fetcher.read(ctx, address)
	switch {
	case errors.Is(err, dial.ErrForbidden):
		s.forbidden.Add(1)
		return Page{}, err
	case err != nil:
		s.unreadable.Add(1)
		logProxy(ctx, err)
		return Page{}, err
	}
	s.read.Add(1)
	size := 0
	for _, p := range page.Passages {
		size += len(p.Text) + len(p.Locator) + 100
	}
	s.pages.Put(address, cacheEntry[Page]{page, time.Now()}, size)
	return page, nil
}

// logProxy logs the error of a page if the proxy has failed or refused, rather than the server of the page. The log does
// not contain the address of the page.
func logProxy(ctx context.Context, err error) {
	failure, ok := errors.AsType[*proxy.Error](err)
	if ok && failure.Status < http.StatusInternalServerError && ctx.Err() == nil {
		slog.WarnContext(ctx, "websearch: the proxy fetches no page", "err", failure)
	}
}

// Limits of search results.
const (
	maxAddress = 2_000 // Bytes of a URL.
	maxTitle   = 200   // Characters.
	maxSnippet = 1_000 // Characters.
	maxResults = 20    // Results of one query.
)

// clean returns the results that can be shown and fetched: with URLs on the public web, titles on one line, and no
// invisible characters.
func clean(found []Result, allow func(netip.AddrPort) bool) []Result {
	results := make([]Result, 0, len(found))
	for _, r := range found[:min(len(found), maxResults)] {
		u, err := parseURL(r.URL)
		if err != nil || dial.Internal(u, allow) {
			continue
		}
		r.URL, r.Title, r.Snippet = u.String(), runes.OneLine(r.Title, maxTitle), runes.OneLine(r.Snippet, maxSnippet)
		r.Title = cmp.Or(r.Title, Site(r.URL))
		r.Published = plausible(r.Published)
		results = append(results, r)
	}
	return results
}

// parseURL parses an http or https URL and removes its fragment. It returns dial.ErrForbidden for other URLs and for
// URLs with user information.
func parseURL(address string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		len(address) > maxAddress || !utf8.ValidString(address) || strings.ContainsFunc(u.Host, unicode.IsSpace) {
		return nil, dial.ErrForbidden
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// Site returns the host name of a URL without www.
func Site(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.")
}
