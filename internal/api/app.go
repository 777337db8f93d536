package api

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// apiPrefixes are paths that never belong to the app.
var apiPrefixes = []string{"v1/", "external/", "docs/", "pool/", "assets/", "extension/"}

// app serves the built web app. Unknown paths are client-side routes and receive its page.
type app struct {
	files  fs.FS
	policy string // The pages' content security policy.

	mu     sync.Mutex
	zipped map[string][]byte // Guarded by mu. Compressed files by name; nil if compression does not help.
}

// newApp returns a handler for the files of the built app, which has index.html at its root.
func newApp(files fs.FS, cfg Config) (*app, error) {
	if _, err := fs.Stat(files, "index.html"); err != nil {
		return nil, fmt.Errorf("api: the app is not built: %w", err)
	}
	return &app{files: files, policy: contentPolicy(cfg), zipped: make(map[string][]byte)}, nil
}

// contentPolicy returns the pages' content security policy. It allows the app itself, the identity provider, and the
// tag manager if configured.
func contentPolicy(cfg Config) string {
	connect, script, image := "'self'", "'self'", "'self' data: blob:"
	if u, err := url.Parse(cfg.Endpoint); err == nil && u.Host != "" {
		connect += " " + u.Scheme + "://" + u.Host
	}
	if cfg.TagManagerID != "" {
		const google = " https://www.googletagmanager.com https://*.google-analytics.com"
		connect, script, image = connect+google, script+" https://www.googletagmanager.com", image+google
	}
	return "default-src 'self'; script-src " + script + "; style-src 'self'; img-src " + image +
		"; font-src 'self'; connect-src " + connect +
		"; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
}

// diagramPolicy sandboxes the frame in which the app draws diagrams. Their source is written by a model, so the frame
// has an opaque origin, even if opened directly. It may load only its script and the library passed by the app.
const diagramPolicy = "sandbox allow-scripts; default-src 'none'; script-src 'self' blob:; style-src " +
	"'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

func (a *app) serve(w http.ResponseWriter, r *http.Request) error {
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	if emoji := skill.EmojiAt("/" + name); emoji != "" {
		return serveEmoji(w, emoji)
	}
	info, err := fs.Stat(a.files, name)
	if name == "" || err != nil || info.IsDir() {
		if slices.ContainsFunc(apiPrefixes, func(prefix string) bool { return strings.HasPrefix(name+"/", prefix) }) {
			return noRoute()
		}
		name = "index.html"
	}
	body, err := fs.ReadFile(a.files, name)
	if err != nil {
		return err
	}
	h, cache := w.Header(), "no-cache"
	if strings.HasPrefix(name, "assets/") {
		cache = "public, max-age=31536000, immutable" // File names contain a content hash.
	}
	switch name {
	case "index.html":
		h.Set("Content-Security-Policy", a.policy)
	case "diagram.html":
		h.Set("Content-Security-Policy", diagramPolicy)
		h.Set("X-Frame-Options", "SAMEORIGIN")
	}
	media := mediaType(name)
	h.Add("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		if small := a.gzip(name, media, body); small != nil {
			h.Set("Content-Encoding", "gzip")
			body = small
		}
	}
	return writeBytes(w, media, cache, body) // Ranges are not supported, because the files are small.
}

// serveEmoji serves an emoji as an icon.
func serveEmoji(w http.ResponseWriter, emoji string) error {
	body := `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">` +
		`<text x="16" y="17" font-size="24" text-anchor="middle" dominant-baseline="central">` + emoji + `</text></svg>`
	return writeBytes(w, "image/svg+xml", "public, max-age=31536000, immutable", []byte(body))
}

// mediaType returns the type of a file of the app.
func mediaType(name string) string {
	if path.Ext(name) == ".webmanifest" {
		return "application/manifest+json" // Usually unknown to the operating system.
	}
	if media := mime.TypeByExtension(path.Ext(name)); media != "" {
		return media
	}
	return "application/octet-stream"
}

// gzip returns the compressed file, or nil if compression does not help.
func (a *app) gzip(name, media string, body []byte) []byte {
	if !strings.HasPrefix(media, "text/") && !strings.Contains(media, "javascript") &&
		!strings.Contains(media, "json") &&
		!strings.Contains(media, "svg") {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if small, done := a.zipped[name]; done {
		return small
	}
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	_, _ = zip.Write(body) // Writing to a buffer cannot fail.
	_ = zip.Close()
	small := b.Bytes()
	if len(small) >= len(body) {
		small = nil
	}
	a.zipped[name] = small
	return small
}
