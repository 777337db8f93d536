package websearch

import (
	"context"
	"encoding/json"
	"html"
	"net/http"
	"net/url"

	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

// brave uses the Brave Search API (https://api-dashboard.search.brave.com/api-reference/web/search/get).
type brave struct{ base, key string }

func (b brave) request(ctx context.Context, query string) (*http.Request, error) {
	request, err := get(ctx, b.base+"/res/v1/web/search", url.Values{
		"q": {runes.First(query, 400)}, "count": {"10"}, "country": {"JP"}, "search_lang": {"jp"}, "ui_lang": {"ja-JP"},
		"result_filter": {"web"}, "text_decorations": {"false"},
	})
	if err == nil {
		request.Header.Set("X-Subscription-Token", b.key)
	}
	return request, err
}

func (brave) results(body []byte) ([]Result, int, error) {
	var response struct {
		Web struct {
			Results []json.RawMessage `json:"results"`
		} `json:"web"`
	}
	if err := json.Unmarshal(body, &response); err != nil {
		return nil, 0, err
	}
	type item struct {
		URL         string `json:"url"`
		Title       string `json:"title"`
		Description string `json:"description"`
		PageAge     string `json:"page_age"`
	}
	return wellFormed(response.Web.Results, func(r item) Result {
		return Result{
			URL: r.URL, Title: html.UnescapeString(r.Title), Snippet: html.UnescapeString(r.Description),
			Published: date(r.PageAge),
		}
	})
}
