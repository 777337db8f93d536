package websearch_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/extracttest"
	"github.com/tsumugi-ai/tsumugi/internal/dial"
	"github.com/tsumugi-ai/tsumugi/internal/websearch"
	"github.com/tsumugi-ai/tsumugi/internal/websearch/websearchtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// fakes is a Service with a fake search and pages on this machine.
type fakes struct {
	*websearch.Service

	server *websearchtest.Server
	url    string
}

// serve starts a fake search with pages. On this machine, the service can fetch pages only from this server.
func serve(t *testing.T, cfg websearch.Config, more ...websearchtest.Page) fakes {
	t.Helper()
	listener := httptest.NewUnstartedServer(nil)
	f := fakes{url: "http://" + listener.Listener.Addr().String()}
	f.server = websearchtest.New(f.url, more...)
	listener.Config.Handler = f.server
	listener.Start()
	t.Cleanup(listener.Close)
	cfg.Provider = websearch.ProviderConfig{Kind: websearch.SearXNG, URL: f.url}
	cfg.Extract = extracttest.InProcess{}.Extract
	if cfg.AllowAddress == nil {
		here := listener.Listener.Addr().(*net.TCPAddr).AddrPort()
		cfg.AllowAddress = func(at netip.AddrPort) bool { return at == here }
	}
	var err error
	if f.Service, err = websearch.New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// text returns the text of a page.
func text(p websearch.Page) string {
	var b strings.Builder
	for _, passage := range p.Passages {
		b.WriteString(passage.Text + "\n")
	}
	return b.String()
}

func TestPagesAreRead(t *testing.T) {
	t.Parallel()
	f := serve(t, websearch.Config{})
	for path, want := range map[string]string{
		"/pages/minimum-wage": "2026年10月1日から時間額1,142円に改定",
		"/pages/books":        "電子取引で受け取った請求書は、電子データのまま保存", // Shift_JIS.
		"/pages/fair":         "つむぎ国際会議場で開かれます",            // EUC-JP without a declaration.
	} {
		page, err := f.Read(t.Context(), f.url+path)
		if err != nil || page.URL != f.url+path || !strings.Contains(text(page), want) {
			t.Errorf("%s: %v, %+v", path, err, page)
		}
		if strings.Contains(text(page), "トップ") {
			t.Errorf("%s: the navigation is read:\n%s", path, text(page))
		}
	}
	page, err := f.Read(t.Context(), f.url+"/pages/minimum-wage-news")
	if err != nil || page.Published.Format(time.DateOnly) != "2026-08-05" {
		t.Errorf("published %v, %v", page.Published, err)
	}
	for _, agent := range f.server.Agents() {
		if !strings.HasPrefix(agent, "TsumugiBot/") {
			t.Errorf("User-Agent %q", agent)
		}
	}
}

// TestPagesAreReadInTheCharsetOfTheirHeader reads pages whose charset only the header declares.
func TestPagesAreReadInTheCharsetOfTheirHeader(t *testing.T) {
	t.Parallel()
	send := func(path, contentType, content string) websearchtest.Page {
		return websearchtest.Page{Path: path, Serve: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			_, _ = w.Write([]byte(content))
		}}
	}
	f := serve(t, websearch.Config{},
		send("/menu", "text/html; charset=windows-1252", "<p>It\x92s a caf\xe9"),
		send("/meeting", `text/html; charset="GB2312"`, "<p>\xbb\xe1\xd2\xe9"),
		send("/declared", "text/html; charset=iso-8859-1", "<meta charset=euc-kr><p>\xc8\xb8\xc0\xc7"),
		send("/marked", "text/html; charset=Shift_JIS", "\xef\xbb\xbf<p>会議"),
		send("/bad", `text/html; charset="x><p>y"`, "<p>会議"),
	)
	for path, want := range map[string]string{
		"/menu": "It’s a café", "/meeting": "会议", "/declared": "회의", "/marked": "会議", "/bad": "会議",
	} {
		page, err := f.Read(t.Context(), f.url+path)
		if err != nil || text(page) != want+"\n" {
			t.Errorf("%s: %v, %q, want %q", path, err, text(page), want)
		}
	}
}

func TestR90_InternalAddressesAreNotRead(t *testing.T) {
	t.Parallel()
	f := serve(t, websearch.Config{})
	port := f.url[strings.LastIndex(f.url, ":"):]
	page, err := f.Read(t.Context(), f.url+"/moved#top")
	if err != nil || page.URL != f.url+"/pages/minimum-wage" {
		t.Errorf("a redirect within the site: %v, %s", err, page.URL)
	}
	for _, address := range []string{
		f.url + "/leads/metadata", f.url + "/leads/loopback",
		"http://127.0.0.1/", "http://localhost/", "http://[::1]/", "http://[::ffff:127.0.0.1]/",
		"http://[::ffff:169.254.169.254]/", "http://169.254.169.254/", "http://10.0.0.1/",
		"https://127.0.0.1:22/", "http://user:pass@127.0.0.1" + port + "/pages/fair",
		"file:///etc/passwd", "gopher://127.0.0.1/", "ftp://example.com/", "http:///", "//example.com/", "",
		"http://example.com/" + strings.Repeat("a", 2000),
	} {
		if page, err := f.Read(t.Context(), address); !errors.Is(err, dial.ErrForbidden) {
			t.Errorf("%s: %v, %+v", address, err, page)
		}
	}
	for _, address := range []string{"http://127.1/", "http://0/", "http://0x7f000001/", "http://2130706433/"} {
		if page, err := f.Read(t.Context(), address); err == nil { // Only some resolvers resolve these names.
			t.Errorf("%s: read %+v", address, page)
		}
	}
}

// TestR90_NamesOfInternalAddressesAreNotRead resolves names like a hostile name server. The name resolves to this
// machine even if an earlier check of the name succeeded.
func TestR90_NamesOfInternalAddressesAreNotRead(t *testing.T) {
	t.Parallel()
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("secret"))
	}))
	t.Cleanup(inside.Close)
	u := must.Get(url.Parse(inside.URL))(t)
	asked := make(chan netip.AddrPort, 10)
	f := serve(t, websearch.Config{AllowAddress: func(at netip.AddrPort) bool { asked <- at; return false }})
	address := "http://localhost:" + u.Port() + "/"
	if page, err := f.Read(t.Context(), address); !errors.Is(err, dial.ErrForbidden) {
		t.Errorf("%s: %v, %+v", address, err, page)
	}
	if at := <-asked; !at.Addr().IsLoopback() {
		t.Errorf("the check received %v instead of the resolved address", at)
	}
}

func TestUnreadablePages(t *testing.T) {
	t.Parallel()
	f := serve(t, websearch.Config{PageTimeout: 300 * time.Millisecond})
	for path, want := range map[string]error{
		"/private/report": websearch.ErrRobots,
		"/leads/round":    websearch.ErrRedirects,
		"/slow":           context.DeadlineExceeded,
		"/pages/picture":  websearch.ErrUnsupported,
	} {
		page, err := f.Read(t.Context(), f.url+path)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, %+v", path, err, page)
		}
	}
	if _, err := f.Read(t.Context(), f.url+"/nowhere"); err == nil {
		t.Error("a page that is not there was read")
	}
	if f.server.Asked("/private/report") > 0 {
		t.Error("robots.txt was not respected")
	}
}

// TestEndlessPage reads the beginning of a page that never ends.
func TestEndlessPage(t *testing.T) {
	t.Parallel()
	f := serve(t, websearch.Config{})
	page, err := f.Read(t.Context(), f.url+"/huge")
	if err != nil || !strings.Contains(page.Passages[0].Text, "この文です") {
		t.Fatalf("%v, %d passages", err, len(page.Passages))
	}
	if size := len(text(page)); size > websearch.MaxBody {
		t.Errorf("%d bytes were read", size)
	}
}

func TestResultsAndPagesAreCached(t *testing.T) {
	t.Parallel()
	f := serve(t, websearch.Config{})
	const path = "/pages/minimum-wage"
	var found [][]websearch.Result
	for range 2 {
		results, err := f.Search(t.Context(), "最低賃金")
		if err != nil || len(results) == 0 {
			t.Fatalf("found %v, %v", results, err)
		}
		found = append(found, results)
		if _, err := f.Read(t.Context(), f.url+path); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(found[0], found[1]) {
		t.Errorf("found %v, then %v", found[0], found[1])
	}
	for _, path := range []string{"/search", path, "/robots.txt"} {
		if n := f.server.Asked(path); n != 1 {
			t.Errorf("%s was requested %d times", path, n)
		}
	}
	if _, err := f.Read(t.Context(), "http://169.254.169.254/"); err == nil {
		t.Error("an address of this network was read")
	}
	if _, err := f.Read(t.Context(), f.url+"/nothing"); err == nil {
		t.Error("a page that does not exist was read")
	}
	if got, want := f.Stats(), (websearch.Stats{Searches: 1, Read: 1, Unreadable: 1, Forbidden: 1, CacheHits: 2}); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
	short := serve(t, websearch.Config{CacheLifetime: time.Nanosecond})
	for range 2 {
		if _, err := short.Search(t.Context(), "最低賃金"); err != nil {
			t.Fatal(err)
		}
	}
	if n := short.server.Asked("/search"); n != 2 {
		t.Errorf("an expired result was used: %d requests", n)
	}
}

// TestFailingRobots verifies that a site with a failing robots.txt is not read, and that a site without robots.txt is
// read.
func TestFailingRobots(t *testing.T) {
	t.Parallel()
	for status, read := range map[int]bool{
		http.StatusNotFound: true, http.StatusForbidden: true, http.StatusServiceUnavailable: false,
	} {
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				w.WriteHeader(status)
				return
			}
			_, _ = w.Write([]byte("<p>本文です。</p>"))
		}))
		t.Cleanup(site.Close)
		f := serve(t, websearch.Config{AllowAddress: func(netip.AddrPort) bool { return true }})
		if page, err := f.Read(t.Context(), site.URL+"/"); (err == nil) != read {
			t.Errorf("%d: %v, %+v", status, err, page)
		}
	}
}
