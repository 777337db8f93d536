package api

import (
	_ "embed"
	"net/http"
)

// docsPage is openapi.yaml as a page. docs/gen generates it.
//
//go:embed docs/page.gen.html
var docsPage []byte

//go:embed docs/page.css
var docsStyle []byte

func serveDocsPage(w http.ResponseWriter, _ *http.Request) error {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'")
	_, _ = w.Write(docsPage) // The client may have disconnected.
	return nil
}

func serveDocsStyle(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	_, _ = w.Write(docsStyle) // The client may have disconnected.
	return nil
}
