package websearch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Kind names a search API.
type Kind string

// The search APIs.
const (
	SearXNG Kind = "searxng" // A self-hosted server.
	Brave   Kind = "brave"
	Tavily  Kind = "tavily"
	Google  Kind = "google" // Custom Search JSON API.
)

// ProviderConfig configures the search API.
type ProviderConfig struct {
	Kind     Kind
	URL      string // Default: the URL of the service. SearXNG has no default.
	Key      string // Required except for SearXNG.
	EngineID string // Id of Google's search engine.
}

// providerTimeout is the time limit of a search.
const providerTimeout = 8 * time.Second

const maxResponse = 4 << 20 // Bytes of the response to one query.

// Refused is the error code of a search that the service rejected because of its key or settings.
const Refused fault.Code = "search_refused"

// Error texts for people.
const (
	detailAway    = "検索サーバーに接続できませんでした。少し時間をおいて、もう一度お試しください。続く場合は、管理者にお知らせください。"
	detailBad     = "検索サーバーの応答を読み取れませんでした。少し時間をおいて、もう一度お試しください。続く場合は、管理者にお知らせください。"
	detailLimited = "ウェブ検索の利用が上限に達しています。少し時間をおいて、もう一度お試しください。続く場合は、管理者にお知らせください。"
	detailRefused = "検索サーバーに検索を断られました。管理者に、ウェブ検索の設定の確認を依頼してください。"
)

// adapter implements one search API.
type adapter interface {
	// request returns the HTTP request for a query.
	request(ctx context.Context, query string) (*http.Request, error)
	// results decodes a response and counts malformed results. It returns errEngines if the search service itself got
	// no answer.
	results(body []byte) (found []Result, malformed int, err error)
}

var errMalformed = errors.New("websearch: every result is malformed")

// wellFormed decodes the valid results and returns the number of malformed ones.
func wellFormed[T any](list []json.RawMessage, result func(T) Result) (found []Result, malformed int, err error) {
	for _, raw := range list {
		var item T
		if json.Unmarshal(raw, &item) != nil {
			malformed++
			continue
		}
		found = append(found, result(item))
	}
	if malformed > 0 && len(found) == 0 {
		return nil, malformed, errMalformed
	}
	return found, malformed, nil
}

var errEngines = errors.New("websearch: no search engine has answered")

// Provider is a configured search API. It is safe for concurrent use.
type Provider struct {
	adapter      adapter
	client       *http.Client
	allowAddress func(netip.AddrPort) bool // See Config.AllowAddress.
}

// NewProvider returns the provider for a configuration, or an error for an invalid configuration.
func NewProvider(cfg ProviderConfig) (Provider, error) {
	base := strings.TrimRight(cfg.URL, "/")
	p := Provider{client: &http.Client{
		Transport: http.DefaultTransport.(*http.Transport).Clone(),
		// Do not follow redirects, so that the key is not sent to another server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if cfg.Kind != SearXNG && cfg.Key == "" {
		return Provider{}, fmt.Errorf("%s needs a key", cfg.Kind)
	}
	switch cfg.Kind {
	case SearXNG:
		if base == "" {
			return Provider{}, errors.New("the address of the SearXNG server is missing")
		}
		p.adapter = searxng{strings.TrimSuffix(base, "/search")}
	case Brave:
		p.adapter = brave{cmp.Or(base, "https://api.search.brave.com"), cfg.Key}
	case Tavily:
		p.adapter = tavily{cmp.Or(base, "https://api.tavily.com"), cfg.Key}
	case Google:
		if cfg.EngineID == "" {
			return Provider{}, errors.New("google needs the id of a search engine")
		}
		p.adapter = google{cmp.Or(base, "https://www.googleapis.com"), cfg.Key, cfg.EngineID}
	default:
		return Provider{}, fmt.Errorf("%q is no search that is known", cfg.Kind)
	}
	return p, nil
}

// Search returns the cleaned results of a query, best first. An error is a *fault.Error with a text for people.
func (p Provider) Search(ctx context.Context, query string) ([]Result, error) {
	ctx, cancel := context.WithTimeout(ctx, providerTimeout)
	defer cancel()
	body, err := p.ask(ctx, query)
	if err != nil {
		return nil, err
	}
	results, malformed, err := p.adapter.results(body)
	switch {
	case errors.Is(err, errEngines):
		return nil, fault.Wrap(err, fault.Unavailable, detailAway)
	case err != nil:
		return nil, fault.Wrap(err, fault.Unavailable, detailBad)
	}
	if malformed > 0 {
		slog.WarnContext(ctx, "websearch: malformed search results", "malformed", malformed, "results", len(results))
	}
	return clean(results, p.allowAddress), nil
}

// ask sends a query and returns the body of a successful response.
func (p Provider) ask(ctx context.Context, query string) ([]byte, error) {
	request, err := p.adapter.request(ctx, query)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Accept-Language", "ja")
	request.Header.Set("User-Agent", agent)
	response, err := p.client.Do(request)
	if err != nil {
		if failure, ok := errors.AsType[*url.Error](err); ok {
			err = failure.Err // Remove the URL, which may contain a key.
		}
		return nil, fault.Wrap(err, fault.Unavailable, detailAway)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, detailAway)
	}
	if response.StatusCode == http.StatusOK {
		return body, nil
	}
	// Omit the text of the response, which may contain the key or the query.
	said := fmt.Errorf("websearch: status %d", response.StatusCode)
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusPaymentRequired, statusPlanLimit, statusSpendLimit:
		return nil, fault.Wrap(said, fault.Unavailable, detailLimited)
	case http.StatusRequestTimeout:
		return nil, fault.Wrap(said, fault.Unavailable, detailAway)
	}
	if response.StatusCode >= http.StatusInternalServerError {
		return nil, fault.Wrap(said, fault.Unavailable, detailAway)
	}
	return nil, fault.Wrap(said, Refused, detailRefused)
}

// Status codes of Tavily: the limit of the plan, and the limit of additional payments.
const (
	statusPlanLimit  = 432
	statusSpendLimit = 433
)

// get returns a GET request for a URL with query parameters.
func get(ctx context.Context, address string, query url.Values) (*http.Request, error) {
	return http.NewRequestWithContext(ctx, http.MethodGet, address+"?"+query.Encode(), nil)
}
