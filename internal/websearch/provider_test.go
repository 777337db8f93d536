package websearch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/websearch"
	"github.com/tsumugi-ai/tsumugi/test/leak"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestMain(m *testing.M) { leak.Main(m) }

const secret = "key-that-stays-here"

// wants checks the requests against the documentation of each API.
var wants = map[websearch.Kind]func(r *http.Request, query string) bool{
	websearch.SearXNG: func(r *http.Request, query string) bool {
		return r.Method == http.MethodGet && r.URL.Path == "/search" && r.FormValue("q") == query &&
			r.FormValue("format") == "json"
	},
	websearch.Brave: func(r *http.Request, query string) bool {
		return r.Method == http.MethodGet && r.URL.Path == "/res/v1/web/search" && r.FormValue("q") == query &&
			r.Header.Get("X-Subscription-Token") == secret && r.FormValue("country") == "JP"
	},
	websearch.Tavily: func(r *http.Request, query string) bool {
		var body struct {
			Query      string
			MaxResults int `json:"max_results"`
		}
		return r.Method == http.MethodPost && r.URL.Path == "/search" &&
			r.Header.Get("Authorization") == "Bearer "+secret && r.Header.Get("Content-Type") == "application/json" &&
			json.NewDecoder(r.Body).Decode(&body) == nil && body.Query == query && body.MaxResults == 10
	},
	websearch.Google: func(r *http.Request, query string) bool {
		return r.Method == http.MethodGet && r.URL.Path == "/customsearch/v1" && r.FormValue("q") == query &&
			r.FormValue("key") == secret && r.FormValue("cx") == "engine"
	},
}

// provider returns the provider of an API that handler implements.
func provider(t *testing.T, kind websearch.Kind, handler http.HandlerFunc) websearch.Provider {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	p := must.Get(websearch.NewProvider(websearch.ProviderConfig{
		Kind: kind, URL: server.URL + "/", Key: secret, EngineID: "engine",
	}))(t)
	return p
}

// TestProviders tests the same behaviour for all search APIs, with responses from their documentation.
func TestProviders(t *testing.T) {
	t.Parallel()
	const query = "つむぎ県 最低賃金 2026"
	for kind, asked := range wants {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			recorded := must.Get(os.ReadFile("testdata/" + string(kind) + ".json"))(t)
			p := provider(t, kind, func(w http.ResponseWriter, r *http.Request) {
				if !asked(r, query) || !strings.HasPrefix(r.UserAgent(), "TsumugiBot/") {
					t.Errorf("asked %s %s, %v", r.Method, r.URL, r.Header)
				}
				_, _ = w.Write(recorded)
			})
			got, err := p.Search(t.Context(), query)
			if err != nil || len(got) != 2 {
				t.Fatalf("found %+v, %v", got, err)
			}
			first, second := got[0], got[1]
			if first.URL != "https://www.labor.example.jp/wage" || first.Title != "つむぎ県の最低賃金 | つむぎ労働局" ||
				!strings.Contains(first.Snippet, "1,142円") || first.Published.Format(time.DateOnly) != "2026-09-01" {
				t.Errorf("the first result is %+v", first)
			}
			if second.URL != "https://news.example.jp/articles/1?from=top" || !second.Published.IsZero() ||
				second.Snippet != "審議会は8月5日、 時間額1,142円とするよう答申した。" {
				t.Errorf("the second result is %+v", second)
			}
		})
		t.Run(string(kind)+" fails", func(t *testing.T) {
			t.Parallel()
			checkFailures(t, kind)
		})
	}
}

// checkFailures simulates failures of an API. No error may contain the key or the query, although the server returns
// both.
func checkFailures(t *testing.T, kind websearch.Kind) {
	t.Helper()
	for _, c := range []struct {
		status int
		body   string
		code   fault.Code
		detail string
	}{
		{http.StatusUnauthorized, `{"detail":"wrong"}`, websearch.Refused, "設定の確認"},
		{http.StatusForbidden, "Forbidden", websearch.Refused, "設定の確認"},
		{http.StatusBadRequest, "{}", websearch.Refused, "設定の確認"},
		{http.StatusFound, "", websearch.Refused, "設定の確認"},
		{http.StatusTooManyRequests, "{}", fault.Unavailable, "上限"},
		{432, "{}", fault.Unavailable, "上限"},
		{http.StatusBadGateway, "<html>", fault.Unavailable, "接続できませんでした"},
		{http.StatusOK, "<html>", fault.Unavailable, "読み取れませんでした"},
		{http.StatusOK, `{"results":"none"`, fault.Unavailable, "読み取れませんでした"},
	} {
		p := provider(t, kind, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://127.0.0.1:9/"+secret)
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.body + secret + "最低賃金"))
		})
		_, err := p.Search(t.Context(), "最低賃金")
		if fault.CodeOf(err) != c.code || !strings.Contains(fault.DetailOf(err), c.detail) ||
			strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "最低賃金") {
			t.Errorf("%d %s: %v", c.status, c.body, err)
		}
	}
	p := provider(t, kind, func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = connection.Close()
		}
	})
	_, err := p.Search(t.Context(), "最低賃金")
	if fault.CodeOf(err) != fault.Unavailable || strings.Contains(err.Error(), secret) {
		t.Errorf("cut off: %v", err)
	}
}

// TestSearchDropsInvalidResults verifies that each API's valid result remains among malformed results and results with
// internal URLs.
func TestSearchDropsInvalidResults(t *testing.T) {
	t.Parallel()
	const honest = "https://www.labor.example.jp/wage"
	items := []string{`{"url":5,"link":5}`, `"text"`, `null`, `[]`}
	for _, address := range []string{
		"http://127.0.0.1/", "http://10.0.0.5/a", "http://[::1]/", "http://[::ffff:10.0.0.5]/", "http://2130706433/",
		"http://127.1/", "http://0x7f.0.0.1/", "http://localhost:8080/", "http://LOCALHOST./", "http://a.localhost/",
		"http://wiki/", "http://printer.local/", "http://metadata.google.internal/", "http://nas.home.arpa/",
		"http://169.254.169.254/latest/", honest,
	} {
		items = append(items, fmt.Sprintf(`{"url":%[1]q,"link":%[1]q,"title":"つむぎ"}`, address))
	}
	list := "[" + strings.Join(items, ",") + "]"
	for kind := range wants {
		for want, list := range map[string]string{honest: list, "": `[5,"text"]`} {
			p := provider(t, kind, func(w http.ResponseWriter, _ *http.Request) {
				_, _ = fmt.Fprintf(w, `{"results":%[1]s,"items":%[1]s,"web":{"results":%[1]s}}`, list)
			})
			got, err := p.Search(t.Context(), "最低賃金")
			if want == "" {
				if fault.CodeOf(err) != fault.Unavailable {
					t.Errorf("%s: every result is malformed: %v, %v", kind, got, err)
				}
			} else if err != nil || len(got) != 1 || got[0].URL != want {
				t.Errorf("%s: found %+v, %v", kind, got, err)
			}
		}
	}
}

// TestSearchWithoutEngines distinguishes a search without results from one in which no engine responded.
func TestSearchWithoutEngines(t *testing.T) {
	t.Parallel()
	for body, away := range map[string]bool{
		`{"results":[],"unresponsive_engines":[]}`:                     false,
		`{"results":[],"unresponsive_engines":[["google","timeout"]]}`: true,
	} {
		p := provider(t, websearch.SearXNG, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprint(w, body)
		})
		got, err := p.Search(t.Context(), "最低賃金")
		if len(got) != 0 || (fault.CodeOf(err) == fault.Unavailable) != away {
			t.Errorf("%s: found %v, %v", body, got, err)
		}
	}
}

// TestR90_SearchHasATimeLimit verifies the time limit of a search.
func TestR90_SearchHasATimeLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := websearch.ProviderOf(roundTrip(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}))
		began := time.Now()
		_, err := p.Search(t.Context(), "最低賃金")
		if took := time.Since(began); took > 8*time.Second || fault.CodeOf(err) != fault.Unavailable ||
			!errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v after %v", err, took)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestProviderConfig(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]websearch.ProviderConfig{
		"nothing":          {},
		"no server":        {Kind: websearch.SearXNG},
		"no key":           {Kind: websearch.Brave},
		"no engine":        {Kind: websearch.Google, Key: secret},
		"another provider": {Kind: "altavista", Key: secret},
	} {
		if _, err := websearch.NewProvider(cfg); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
