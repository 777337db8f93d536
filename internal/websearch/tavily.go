package websearch

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

// tavily uses the Tavily Search API (https://docs.tavily.com/documentation/api-reference/endpoint/search).
type tavily struct{ base, key string }

func (t tavily) request(ctx context.Context, query string) (*http.Request, error) {
	body, err := json.Marshal(map[string]any{
		"query": runes.First(query, 400), "max_results": 10, "search_depth": "basic", "topic": "general", "country": "japan",
	})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.base+"/search", bytes.NewReader(body))
	if err == nil {
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", "Bearer "+t.key)
	}
	return request, err
}

func (tavily) results(body []byte) ([]Result, int, error) {
	var response struct {
		Results []json.RawMessage `json:"results"`
	}
	if err := json.Unmarshal(body, &response); err != nil {
		return nil, 0, err
	}
	type item struct {
		URL           string `json:"url"`
		Title         string `json:"title"`
		Content       string `json:"content"`
		PublishedDate string `json:"published_date"`
	}
	return wellFormed(response.Results, func(r item) Result {
		return Result{URL: r.URL, Title: r.Title, Snippet: r.Content, Published: date(r.PublishedDate)}
	})
}
