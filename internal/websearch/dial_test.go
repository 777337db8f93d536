package websearch_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/net/http/httpproxy"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/extracttest"
	"github.com/tsumugi-ai/tsumugi/internal/dial"
	"github.com/tsumugi-ai/tsumugi/internal/proxy"
	"github.com/tsumugi-ai/tsumugi/internal/proxy/proxytest"
	"github.com/tsumugi-ai/tsumugi/internal/websearch"
	"github.com/tsumugi-ai/tsumugi/internal/websearch/websearchtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// publicAddress is the address of example.com in the DNS of these tests. The certificate of httptest has this name.
const publicAddress = "93.184.215.14"

// names are the names that the test's DNS knows.
var names = map[string][]string{
	"example.com.":        {publicAddress},
	"inside.example.com.": {"10.0.0.7"},
	"both.example.com.":   {"192.168.0.1", publicAddress},
	"here.example.com.":   {"127.0.0.1"},
}

// resolver returns a resolver that asks a DNS server with names, in this process.
func resolver(t *testing.T) *net.Resolver {
	t.Helper()
	var running sync.WaitGroup
	t.Cleanup(running.Wait)
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		running.Go(func() {
			defer func() { _ = server.Close() }()
			for {
				query, err := readDNS(server)
				if err != nil {
					return // The client has closed the connection.
				}
				if _, err := server.Write(answerDNS(query)); err != nil {
					return
				}
			}
		})
		return client, nil
	}}
}

// readDNS reads a message of DNS over TCP: its length and its bytes.
func readDNS(r io.Reader) (m dnsmessage.Message, err error) {
	var size uint16
	if err := binary.Read(r, binary.BigEndian, &size); err != nil {
		return m, err
	}
	packed := make([]byte, size)
	if _, err := io.ReadFull(r, packed); err != nil {
		return m, err
	}
	return m, m.Unpack(packed)
}

// answerDNS returns the response to a query for IPv4 addresses; other queries have no results.
func answerDNS(m dnsmessage.Message) []byte {
	question := m.Questions[0]
	found, known := names[question.Name.String()]
	m.Response, m.Additionals = true, nil
	if !known {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, address := range found {
		if question.Type == dnsmessage.TypeA {
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET},
				Body:   &dnsmessage.AResource{A: netip.MustParseAddr(address).As4()},
			})
		}
	}
	packed, err := m.Pack()
	if err != nil {
		panic(err)
	}
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(packed))), packed...)
}

// web is a server of pages that is reached by tunnels of a proxy.
type web struct {
	*websearch.Service

	tls, plain *httptest.Server
	visits     chan string // The SNI and Host of each request for a page. Buffered.
}

// startWeb starts the servers. reach starts a proxy with tunnels to them and configures the service.
func startWeb(t *testing.T, reach func(w *web) websearch.Config) *web {
	t.Helper()
	w := &web{visits: make(chan string, 100)}
	handler := http.HandlerFunc(w.serve)
	w.tls, w.plain = httptest.NewUnstartedServer(handler), httptest.NewServer(handler)
	w.tls.EnableHTTP2 = true
	w.tls.StartTLS()
	t.Cleanup(w.tls.Close)
	t.Cleanup(w.plain.Close)
	cfg := reach(w)
	cfg.Provider = websearch.ProviderConfig{Kind: websearch.SearXNG, URL: w.plain.URL}
	cfg.Extract, cfg.Resolver = extracttest.InProcess{}.Extract, resolver(t)
	var err error
	if w.Service, err = websearch.New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	w.Trust(w.tls.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs)
	return w
}

func (w *web) serve(response http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		http.NotFound(response, r)
		return
	}
	name := "plain"
	if r.TLS != nil {
		name = r.TLS.ServerName
	}
	w.visits <- name + " " + r.Host
	if target := r.URL.Query().Get("to"); target != "" {
		http.Redirect(response, r, target, http.StatusFound)
		return
	}
	websearchtest.HTML("見出し", "<p>公開された本文です。</p>")(response, r)
}

// targets returns the targets of tunnels to the servers, by their addresses.
func (w *web) targets(host string) map[string]string {
	return map[string]string{
		host + ":443": w.tls.Listener.Addr().String(), host + ":80": w.plain.Listener.Addr().String(),
	}
}

// through returns a proxy function: the proxy at a URL, with the exceptions of noProxy.
func through(at *url.URL, noProxy string) proxy.Func {
	return (&httpproxy.Config{HTTPProxy: at.String(), HTTPSProxy: at.String(), NoProxy: noProxy}).ProxyFunc()
}

func TestR90_PagesThroughAProxy(t *testing.T) {
	t.Parallel()
	var p *proxytest.Proxy
	w := startWeb(t, func(w *web) websearch.Config {
		p = proxytest.New(t, w.targets(publicAddress))
		return websearch.Config{Proxy: through(p.URL("user", "p:ss"), "")}
	})
	const single, both, plain = "example.com example.com", "both.example.com both.example.com", "plain example.com"
	type result struct {
		err    error
		visits []string
	}
	refused := func(visits ...string) result { return result{dial.ErrForbidden, visits} }
	for address, want := range map[string]result{
		"https://example.com/page":                            {nil, []string{single}},
		"https://both.example.com/page":                       {nil, []string{both}},
		"http://example.com/page":                             {nil, []string{plain}},
		"http://example.com/?to=https://both.example.com/":    {nil, []string{plain, both}},
		"https://inside.example.com/":                         refused(),
		"https://10.0.0.7/":                                   refused(),
		"https://example.com:8443/":                           refused(),
		"https://example.com/?to=https://inside.example.com/": refused(single),
		"https://example.com/?to=http://inside.example.com/":  refused(single),
		"https://example.com/?to=http://169.254.169.254/":     refused(single),
		"https://example.com/?to=https://[::ffff:10.0.0.7]/":  refused(single),
		"https://example.com/?to=https://example.com:8443/":   refused(single),
	} {
		page, err := w.Read(t.Context(), address)
		if !errors.Is(err, want.err) || err == nil && !strings.Contains(text(page), "公開された本文です。") {
			t.Errorf("%s: %v, %+v", address, err, page)
		}
		var visits []string
		for len(w.visits) > 0 {
			visits = append(visits, <-w.visits)
		}
		if !slices.Equal(visits, want.visits) {
			t.Errorf("%s: the servers received SNI and Host %q, want %q", address, visits, want.visits)
		}
	}
	checkTunnels(t, p, publicAddress)
}

// checkTunnels checks that a proxy has received only requests for tunnels to a host, with credentials.
func checkTunnels(t *testing.T, p *proxytest.Proxy, host string) {
	t.Helper()
	credentials := "Basic " + base64.StdEncoding.EncodeToString([]byte("user:p:ss"))
	requests := p.Requests()
	for _, r := range requests {
		if r.Method != http.MethodConnect || r.Target != host+":443" && r.Target != host+":80" ||
			r.Authorization != credentials {
			t.Errorf("the proxy received %+v", r)
		}
	}
	for _, port := range []string{"443", "80"} {
		if !slices.ContainsFunc(requests, func(r proxytest.Request) bool { return r.Target == host+":"+port }) {
			t.Errorf("no tunnel to port %s was requested", port)
		}
	}
}

func TestPagesOfNamesWithoutProxy(t *testing.T) {
	t.Parallel()
	var p *proxytest.Proxy
	w := startWeb(t, func(w *web) websearch.Config {
		p = proxytest.New(t, nil)
		here := netip.MustParseAddrPort(w.plain.Listener.Addr().String())
		return websearch.Config{
			Proxy:        through(p.URL("user", "p:ss"), ".example.com"),
			AllowAddress: func(at netip.AddrPort) bool { return at == here },
		}
	})
	_, port, _ := net.SplitHostPort(w.plain.Listener.Addr().String())
	if page, err := w.Read(t.Context(), "http://here.example.com:"+port+"/"); err != nil {
		t.Errorf("%v, %+v", err, page)
	}
	if _, err := w.Read(t.Context(), "https://inside.example.com/"); !errors.Is(err, dial.ErrForbidden) {
		t.Errorf("an internal address without proxy: %v", err)
	}
	if requests := p.Requests(); len(requests) > 0 {
		t.Errorf("the proxy received %+v", requests)
	}
}

// TestProxyResolvesNames verifies that names are not resolved here, and that names and addresses that are recognizably
// internal are refused all the same.
func TestProxyResolvesNames(t *testing.T) {
	t.Parallel()
	const host = "unknown.example.com" // Not in names.
	var p *proxytest.Proxy
	w := startWeb(t, func(w *web) websearch.Config {
		p = proxytest.New(t, w.targets(host))
		return websearch.Config{Proxy: through(p.URL("user", "p:ss"), ""), ProxyResolves: true}
	})
	for _, scheme := range []string{"https", "http"} {
		if page, err := w.Read(t.Context(), scheme+"://"+host+"/"); err != nil {
			t.Errorf("%s: %v, %+v", scheme, err, page)
		}
	}
	for _, address := range []string{
		"https://intranet/", "http://169.254.169.254/", "https://files.internal/", "http://127.1/",
		"https://" + host + ":8443/", "https://" + host + "/?to=http://10.0.0.7/",
	} {
		if _, err := w.Read(t.Context(), address); !errors.Is(err, dial.ErrForbidden) {
			t.Errorf("%s: %v", address, err)
		}
	}
	checkTunnels(t, p, host)
}

func TestUnavailableProxyIsNamed(t *testing.T) {
	t.Parallel()
	closed := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	_ = closed.Close()
	refusing := proxytest.New(t, nil)
	for _, broken := range []struct{ host, cause string }{
		{closed.Addr().String(), "connection refused"}, {refusing.Host, "403 Forbidden"},
	} {
		w := startWeb(t, func(*web) websearch.Config {
			at := &url.URL{Scheme: "http", Host: broken.host, User: url.UserPassword("user", "geheim")}
			return websearch.Config{Proxy: through(at, "")}
		})
		_, err := w.Read(t.Context(), "https://example.com/")
		want := "the proxy " + broken.host
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), broken.cause) {
			t.Errorf("the error is %v, want %q and %q", err, want, broken.cause)
		}
		if err != nil && strings.Contains(err.Error(), "geheim") {
			t.Errorf("the error contains the password: %v", err)
		}
	}
}
