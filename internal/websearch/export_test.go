package websearch

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
)

// Exports for tests.
var (
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

// Trust makes a service accept certificates of other authorities when it fetches pages.
func (s *Service) Trust(roots *x509.CertPool) {
	s.fetcher.client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots}
}
