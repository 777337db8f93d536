package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/tsumugi-ai/tsumugi/internal/websearch"
)

// searching holds the settings of web search.
type searching struct {
	SearchURL      string `env:"TSUMUGI_SEARCH_URL" placeholder:"URL" help:"SearXNG server for web search, or another address of the service that --search-provider names. Default: no web search, or the service's own address."`
	SearchProvider string `env:"TSUMUGI_SEARCH_PROVIDER" placeholder:"NAME" help:"Service for web search in place of a SearXNG server: brave, tavily or google. Default: none."`
	SearchKey      string `env:"TSUMUGI_SEARCH_KEY" placeholder:"KEY" help:"Key of that service."`
	SearchEngineID string `name:"search-engine-id" env:"TSUMUGI_SEARCH_ENGINE_ID" placeholder:"ID" help:"Id (cx) of Google's search engine."`
	ProxyResolves  bool   `env:"TSUMUGI_PROXY_RESOLVES" help:"Send the names of web pages to the proxy without resolving them, where DNS knows no external names. The proxy must refuse internal addresses."`
}

// searches reports whether web search is configured.
func (s *searching) searches() bool { return s.SearchURL != "" || s.SearchProvider != "" }

// checkSearch checks the settings of web search.
func (s *searching) checkSearch() error {
	if err := checkURL(s.SearchURL, []string{"http", "https"}); err != nil {
		return fmt.Errorf("--search-url (TSUMUGI_SEARCH_URL) %w", err)
	}
	switch websearch.Kind(s.SearchProvider) {
	case "":
		if s.SearchKey != "" || s.SearchEngineID != "" {
			return errors.New("--search-key (TSUMUGI_SEARCH_KEY) and --search-engine-id (TSUMUGI_SEARCH_ENGINE_ID) " +
				"are of a service: --search-provider (TSUMUGI_SEARCH_PROVIDER) is missing")
		}
		return nil
	case websearch.Brave, websearch.Tavily, websearch.Google:
	default:
		return fmt.Errorf("--search-provider (TSUMUGI_SEARCH_PROVIDER) %q is none of brave, tavily and google",
			s.SearchProvider)
	}
	if s.SearchKey == "" {
		return fmt.Errorf("--search-provider (TSUMUGI_SEARCH_PROVIDER) %s needs --search-key (TSUMUGI_SEARCH_KEY)",
			s.SearchProvider)
	}
	if websearch.Kind(s.SearchProvider) == websearch.Google && s.SearchEngineID == "" {
		return errors.New("--search-provider (TSUMUGI_SEARCH_PROVIDER) google needs --search-engine-id " +
			"(TSUMUGI_SEARCH_ENGINE_ID)")
	}
	return nil
}

// openSearch returns the service for web search, or nil if it is not configured. The caller must close it.
func (s *searching) openSearch(extract websearch.ExtractFunc) (*websearch.Service, error) {
	if !s.searches() {
		return nil, nil //nolint:nilnil // Web search is optional.
	}
	kind := cmp.Or(websearch.Kind(s.SearchProvider), websearch.SearXNG)
	service, err := websearch.New(websearch.Config{
		Provider: websearch.ProviderConfig{Kind: kind, URL: s.SearchURL, Key: s.SearchKey, EngineID: s.SearchEngineID},
		Extract:  extract, ProxyResolves: s.ProxyResolves, AllowAddress: fakePages(),
	})
	if err != nil {
		return nil, fmt.Errorf("web search (TSUMUGI_SEARCH_URL, TSUMUGI_SEARCH_PROVIDER): %w", err)
	}
	return service, nil
}
