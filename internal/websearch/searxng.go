package websearch

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
)

// searxng uses a SearXNG server. The settings of the server must include json in search.formats
// (https://docs.searxng.org/dev/search_api.html).
type searxng struct{ base string }

func (s searxng) request(ctx context.Context, query string) (*http.Request, error) {
	return get(ctx, s.base+"/search", url.Values{
		"q": {query}, "format": {"json"}, "categories": {"general"}, "language": {"ja"}, "safesearch": {"1"},
	})
}

func (searxng) results(body []byte) ([]Result, int, error) {
	var response struct {
		Results             []json.RawMessage `json:"results"`
		UnresponsiveEngines []json.RawMessage `json:"unresponsive_engines"`
	}
	if err := json.Unmarshal(body, &response); err != nil {
		return nil, 0, err
	}
	if len(response.Results) == 0 && len(response.UnresponsiveEngines) > 0 {
		return nil, 0, errEngines
	}
	type item struct {
		URL           string `json:"url"`
		Title         string `json:"title"`
		Content       string `json:"content"`
		PublishedDate string `json:"publishedDate"` //nolint:tagliatelle // SearXNG's name.
	}
	return wellFormed(response.Results, func(r item) Result {
		return Result{URL: r.URL, Title: r.Title, Snippet: r.Content, Published: date(r.PublishedDate)}
	})
}
