package websearch

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// google asks Google's Custom Search JSON API
// (https://developers.google.com/custom-search/v1/reference/rest/v1/cse/list).
type google struct{ base, key, engineID string }

func (g google) request(ctx context.Context, query string) (*http.Request, error) {
	return get(ctx, g.base+"/customsearch/v1", url.Values{
		"key": {g.key}, "cx": {g.engineID}, "q": {cut(query, 400)}, "num": {"10"}, "hl": {"ja"}, "gl": {"jp"},
		"safe": {"active"},
	})
}

func (google) results(body []byte) ([]Result, error) {
	var response struct {
		Items []struct {
			Link    string `json:"link"`
			Title   string `json:"title"`
			Snippet string `json:"snippet"`
			PageMap struct {
				MetaTags []map[string]any `json:"metatags"`
			} `json:"pagemap"`
		} `json:"items"`
	}
	if err := json.Unmarshal(body, &response); err != nil {
		return nil, err
	}
	list := make([]Result, len(response.Items))
	for i, r := range response.Items {
		list[i] = Result{URL: r.Link, Title: r.Title, Snippet: r.Snippet, Published: dateOf(r.PageMap.MetaTags)}
	}
	return list, nil
}

// dateOf returns when a page's meta elements say that it was published, or zero.
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
