package websearch

import "net/http"

// What the tests look at from inside.
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

// Allow reports whether a path may be read.
func (r rules) Allow(path string) bool { return r.allow(path) }

// ProviderOf returns a SearXNG provider whose requests go to a transport.
func ProviderOf(transport http.RoundTripper) Provider {
	return Provider{adapter: searxng{"http://search.example"}, client: &http.Client{Transport: transport}}
}
