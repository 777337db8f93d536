package websearch

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

// google uses Google's Custom Search JSON API
// (https://developers.google.com/custom-search/v1/reference/rest/v1/cse/list).
type google struct{ base, key, engineID string }

func (g google) request(ctx context.Context, query string) (*http.Request, error) {
	return get(ctx, g.base+"/customsearch/v1", url.Values{
		"key": {g.key}, "cx": {g.engineID}, "q": {runes.First(query, 400)}, "num": {"10"}, "hl": {"ja"}, "gl": {"jp"},
		"safe": {"active"},
	})
}

func (google) results(body []byte) ([]Result, int, error) {
	var response struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(body, &response); err != nil {
		return nil, 0, err
	}
	type item struct {
		Link    string `json:"link"`
		Title   string `json:"title"`
		Snippet string `json:"snippet"`
		PageMap struct {
			MetaTags []map[string]any `json:"metatags"`
		} `json:"pagemap"`
	}
	return wellFormed(response.Items, func(r item) Result {
		return Result{URL: r.Link, Title: r.Title, Snippet: r.Snippet, Published: dateOf(r.PageMap.MetaTags)}
	})
}

// dateOf returns the publication date in the meta elements of a page, or the zero time.
func dateOf(tags []map[string]any) time.Time {
	for _, name := range dateNames {
		for _, tag := range tags {
			said, _ := tag[name].(string)
			if t := date(said); !t.IsZero() {
				return t
			}
		}
	}
	return time.Time{}
}
