package websearch

import "net/http"

// Exports for tests.
var (
	Public         = public
	CheckDial      = checkDial
	ParseRobots    = parseRobots
	PublishedOf    = published
	DateOf         = date
	MaxBody        = maxBody
	ErrRobots      = errRobots
	ErrRedirects   = errRedirects
	ErrUnsupported = errUnsupported
)

// Allow exports allow.
func (r rules) Allow(path string) bool { return r.allow(path) }

// ProviderOf returns a SearXNG provider that uses a transport.
func ProviderOf(transport http.RoundTripper) Provider {
	return Provider{adapter: searxng{"http://search.example"}, client: &http.Client{Transport: transport}}
}
