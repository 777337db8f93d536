package api

import (
	"net/http"
	"strconv"

	"github.com/tsumugi-ai/tsumugi/internal/crx"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// extensionFile returns the handler of a file of the browser extension. Browsers fetch it without a session.
func (s *Server) extensionFile(media string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if s.Browser == nil {
			return noRoute()
		}
		file := s.Browser.Updates
		if r.URL.Path != crx.UpdatesPath {
			files, err := s.Browser.Files()
			if err != nil {
				return err
			}
			file = files.CRX
			if r.URL.Path == crx.ZIPPath {
				file = files.ZIP
			}
		}
		if r.URL.Path == crx.ZIPPath {
			w.Header().Set("Content-Disposition", `attachment; filename="tsumugi-extension-`+s.Browser.Version+`.zip"`)
		}
		h := w.Header()
		h.Set("Content-Type", media)
		h.Set("Cache-Control", "no-cache")
		h.Set("Content-Length", strconv.Itoa(len(file)))
		if r.Method != http.MethodHead {
			_, _ = w.Write(file) // The client may have disconnected.
		}
		return nil
	}
}

func (s *Server) getExtension(w http.ResponseWriter, _ *http.Request, _ identity.Actor) error {
	if s.Browser == nil {
		return noRoute()
	}
	return writeJSON(w, http.StatusOK, Extension{
		ID: s.Browser.ID, Version: s.Browser.Version,
		ServerURL: s.Browser.ServerURL, UpdateURL: s.Browser.ServerURL + crx.UpdatesPath,
	})
}
