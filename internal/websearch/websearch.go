// Package websearch searches the web and reads pages of it: what a search server or a search service finds, and the
// text of the pages, which are fetched with care for this network and for their sites.
//
// A Provider is one of the search APIs; New checks which. Pages are untrusted: they are fetched from public addresses
// alone, see public, and their text is extracted by an Extractor, which does so in a child process. The package knows
// nothing of questions and answers: package chat/ground asks it.
package websearch

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/lru"
)

// Result is a page that a search has found.
type Result struct {
	URL       string // http or https.
	Title     string // On one line.
	Snippet   string // What the search shows of it; may be empty.
	Published time.Time
}

// Page is a page that was read.
type Page struct {
	URL       string // Where it is, after redirects.
	Passages  []extract.Passage
	Published time.Time // Zero if it does not say.
}

// Extractor reads the text of a page, whose format is the extension of filename. *child.Extractor is one.
type Extractor interface {
	Extract(ctx context.Context, filename string, file io.Reader, page func(p extract.Page, total int) error) error
}

// Config is what a Service needs. The zero value of a field means its default.
type Config struct {
	Provider  ProviderConfig
	Extractor Extractor

	PageTimeout time.Duration // For fetching a page. Default 8 s.
	Keep        time.Duration // How long results and pages are kept in memory. Default an hour.

	// Allow lets pages be fetched from addresses that are not public. It is for tests, whose pages are on this machine.
	Allow func(netip.AddrPort) bool
}

const (
	defaultPageTimeout = 8 * time.Second
	defaultKeep        = time.Hour

	// Of what is kept in memory, for all people together.
	resultBytes = 8 << 20
	pageBytes   = 64 << 20
)

// Service searches the web and reads pages. It is safe for concurrent use.
type Service struct {
	provider Provider
	fetcher  *fetcher
	keep     time.Duration
	results  *lru.Cache[string, kept[[]Result]]
	pages    *lru.Cache[string, kept[Page]]

	searches, failed, read, unread, forbidden, fromMemory atomic.Int64 // See Stats.
}

// Stats counts what a Service has done.
type Stats struct {
	Searches   int64 // Queries that the search has answered.
	Failed     int64 // Queries that it has not answered.
	Read       int64 // Pages that were fetched and read.
	Unread     int64 // Pages that could not be read: away, of another format, or not for robots.
	Forbidden  int64 // Pages whose address, or one that they lead to, must not be asked.
	FromMemory int64 // Queries and pages that were known already.
}

// Stats returns what the Service has done since it began.
func (s *Service) Stats() Stats {
	return Stats{
		Searches: s.searches.Load(), Failed: s.failed.Load(), Read: s.read.Load(), Unread: s.unread.Load(),
		Forbidden: s.forbidden.Load(), FromMemory: s.fromMemory.Load(),
	}
}

// kept is a value and when it was found.
type kept[V any] struct {
	value V
	at    time.Time
}

// New returns a Service. Close must be called.
func New(cfg Config) (*Service, error) {
	provider, err := NewProvider(cfg.Provider)
	if err != nil {
		return nil, err
	}
	provider.allow = cfg.Allow
	if cfg.PageTimeout <= 0 {
		cfg.PageTimeout = defaultPageTimeout
	}
	if cfg.Keep <= 0 {
		cfg.Keep = defaultKeep
	}
	return &Service{
		provider: provider, fetcher: newFetcher(cfg), keep: cfg.Keep,
		results: lru.New[string, kept[[]Result]](resultBytes), pages: lru.New[string, kept[Page]](pageBytes),
	}, nil
}

// Close ends idle connections. No call may be under way.
func (s *Service) Close() {
	s.fetcher.client.CloseIdleConnections()
	s.provider.client.CloseIdleConnections()
}

// Search returns what the search finds for a query, best first, within providerTimeout. An error is a *fault.Error with
// a text for people.
func (s *Service) Search(ctx context.Context, query string) ([]Result, error) {
	if found, ok := s.results.Get(query); ok && time.Since(found.at) < s.keep {
		s.fromMemory.Add(1)
		return found.value, nil
	}
	results, err := s.provider.Search(ctx, query)
	if err != nil {
		s.failed.Add(1)
		return nil, err
	}
	s.searches.Add(1)
	size := len(query)
	for _, r := range results {
		size += len(r.URL) + len(r.Title) + len(r.Snippet) + 100
	}
	s.results.Put(query, kept[[]Result]{results, time.Now()}, size)
	return results, nil
}

// Read returns the text of a page. The error is ErrForbidden if its address, or one that it leads to, must not be
// asked.
func (s *Service) Read(ctx context.Context, address string) (Page, error) {
	if found, ok := s.pages.Get(address); ok && time.Since(found.at) < s.keep {
		s.fromMemory.Add(1)
		return found.value, nil
	}
	page, err := s.fetcher.read(ctx, address)
	switch {
	case errors.Is(err, ErrForbidden):
		s.forbidden.Add(1)
		return Page{}, err
	case err != nil:
		s.unread.Add(1)
		return Page{}, err
	}
	s.read.Add(1)
	size := 0
	for _, p := range page.Passages {
		size += len(p.Text) + len(p.Locator) + 100
	}
	s.pages.Put(address, kept[Page]{page, time.Now()}, size)
	return page, nil
}

// Limits of what a search finds.
const (
	maxAddress = 2_000 // Bytes of a URL.
	maxTitle   = 200   // Characters.
	maxSnippet = 1_000 // Characters.
	maxResults = 20    // Of a query.
)

// clean returns results that can be shown and fetched: with a URL of the public web, titles on one line, and no
// characters that a reader does not see.
func clean(found []Result, allow func(netip.AddrPort) bool) []Result {
	results := make([]Result, 0, len(found))
	for _, r := range found[:min(len(found), maxResults)] {
		u, err := parseURL(r.URL)
		if err != nil || internal(u, allow) {
			continue
		}
		r.URL, r.Title, r.Snippet = u.String(), oneLine(r.Title, maxTitle), oneLine(r.Snippet, maxSnippet)
		if r.Title == "" {
			r.Title = Site(r.URL)
		}
		r.Published = plausible(r.Published)
		results = append(results, r)
	}
	return results
}

// parseURL returns a URL of the web without its fragment. Others, and those with a password, are ErrForbidden.
func parseURL(address string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		len(address) > maxAddress || !utf8.ValidString(address) || strings.ContainsFunc(u.Host, unicode.IsSpace) {
		return nil, ErrForbidden
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// Site returns the name of the site that a URL is of.
func Site(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.")
}

// oneLine returns the first characters of a text on one line, without those that a reader does not see.
func oneLine(text string, most int) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, text)
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most-1]) + "…"
	}
	return text
}
