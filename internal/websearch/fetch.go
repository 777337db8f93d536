package websearch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/dial"
)

const (
	maxBody      = 2 << 20 // Bytes of a page. For a longer text, only the beginning is read.
	maxText      = 400_000 // Bytes of a page's text.
	maxRedirects = 5
	maxHeader    = 64 << 10

	textTimeout = 10 * time.Second // For the text extraction of a page.
	pdfTimeout  = 30 * time.Second // For a PDF file. The first one includes the compilation of the reader.
	extractions = 4                // Concurrent extractions.

	// agent is the User-Agent of requests, and robot is the name that robots.txt uses for them.
	robot = "TsumugiBot"
	agent = robot + "/1.0 (reads pages that a person's question has found)"
)

// Reasons not to read a page.
var (
	errRobots      = errors.New("websearch: robots.txt does not allow it")
	errRedirects   = errors.New("websearch: too many redirects")
	errUnsupported = errors.New("websearch: no format that can be read")
	errTooLarge    = errors.New("websearch: too large")
)

// fetcher reads pages.
type fetcher struct {
	client    *http.Client
	robots    *robots
	extractor ExtractFunc
	timeout   time.Duration
	slots     chan struct{} // Holds a value for each running extraction.
}

func newFetcher(cfg Config) *fetcher {
	dialer := dial.New(dial.Config{
		Proxy: cfg.Proxy, ProxyResolves: cfg.ProxyResolves, Resolver: cfg.Resolver, AllowAddress: cfg.AllowAddress,
	})
	f := &fetcher{
		client: &http.Client{
			Transport: &http.Transport{
				DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: dial.Timeout,
				MaxResponseHeaderBytes: maxHeader, IdleConnTimeout: dial.Timeout,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		extractor: cfg.Extract, timeout: cfg.PageTimeout, slots: make(chan struct{}, extractions),
	}
	f.robots = newRobots(f, cfg.CacheLifetime)
	return f
}

// read fetches a page and extracts its text.
func (f *fetcher) read(ctx context.Context, address string) (Page, error) {
	content, at, name, err := f.fetch(ctx, address)
	if err != nil {
		return Page{}, err
	}
	page := Page{URL: at}
	if name == htmlName {
		page.Published = published(content)
	}
	page.Passages, err = f.extract(ctx, name, content)
	return page, err
}

// fetch returns the content of a page, its URL after redirects, and a file name with the extension of its format.
func (f *fetcher) fetch(ctx context.Context, address string) (content []byte, at, name string, err error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	response, err := f.follow(ctx, address, f.robots.check)
	if err != nil {
		return nil, "", "", err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, "", "", fmt.Errorf("websearch: %s", response.Status)
	}
	declared, known := formatOf(response.Header.Get("Content-Type"))
	if known && declared == "" {
		return nil, "", "", errUnsupported
	}
	content, err = io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return nil, "", "", err
	}
	if name = declared; !known {
		name, _ = formatOf(http.DetectContentType(content))
	}
	switch {
	case name == "":
		return nil, "", "", errUnsupported
	case len(content) > maxBody && name == pdfName:
		return nil, "", "", errTooLarge
	}
	content = content[:min(len(content), maxBody)]
	if _, parameters, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err == nil && name == htmlName {
		content = extract.WithCharset(content, strings.TrimSpace(parameters["charset"]))
	}
	return content, response.Request.URL.String(), name, nil
}

// follow requests a URL and follows redirects. It calls check before each request. The caller must close the body of
// the response.
func (f *fetcher) follow(ctx context.Context, address string, check func(context.Context, *url.URL) error) (
	*http.Response, error,
) {
	for range maxRedirects + 1 {
		u, err := parseURL(address)
		if err != nil {
			return nil, err
		}
		if err := check(ctx, u); err != nil {
			return nil, err
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
		if err != nil {
			return nil, err
		}
		request.Header.Set("User-Agent", agent)
		request.Header.Set("Accept", "text/html,application/xhtml+xml,application/pdf;q=0.9,text/plain;q=0.8")
		request.Header.Set("Accept-Language", "ja,en;q=0.5")
		response, err := f.client.Do(request) //nolint:bodyclose // The caller or the next statements close it.
		if err != nil {
			return nil, err
		}
		target := response.Header.Get("Location")
		if response.StatusCode < 300 || response.StatusCode > 399 || target == "" {
			return response, nil
		}
		_ = response.Body.Close()
		next, err := u.Parse(target)
		if err != nil {
			return nil, dial.ErrForbidden
		}
		address = next.String()
	}
	return nil, errRedirects
}

// File names for the formats of pages.
const (
	htmlName = "page.html"
	pdfName  = "page.pdf"
	textName = "page.txt"
)

// formatOf returns the file name for a content type, "" if the format is not supported. known is false for an
// unspecific content type.
func formatOf(contentType string) (name string, known bool) {
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		mediaType, _, _ = strings.Cut(strings.ToLower(contentType), ";")
	}
	switch strings.TrimSpace(mediaType) {
	case "text/html", "application/xhtml+xml":
		return htmlName, true
	case "application/pdf":
		return pdfName, true
	case "text/plain":
		return textName, true
	case "", "application/octet-stream", "binary/octet-stream":
		return "", false
	}
	return "", true
}

// errEnough stops the extraction of a long page.
var errEnough = errors.New("websearch: enough was read")

// extract returns the passages of a page.
func (f *fetcher) extract(ctx context.Context, name string, content []byte) ([]extract.Passage, error) {
	within := textTimeout
	if name == pdfName {
		within = pdfTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	select {
	case f.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-f.slots }()
	var pages []extract.Page
	size := 0
	err := f.extractor(ctx, name, bytes.NewReader(content), func(p extract.Page, _ int) error {
		p.Text, p.Marks = beginning(p, maxText-size)
		pages = append(pages, p)
		if size += len(p.Text); size >= maxText {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return extract.Split(pages), nil
}

// beginning returns the first bytes of a page's text, up to a character boundary, and the marks in it.
func beginning(p extract.Page, most int) (string, []extract.Mark) {
	if len(p.Text) <= most {
		return p.Text, p.Marks
	}
	text := strings.ToValidUTF8(p.Text[:most], "")
	marks := p.Marks
	for len(marks) > 0 && marks[len(marks)-1].Offset >= len(text) {
		marks = marks[:len(marks)-1]
	}
	return text, marks
}
