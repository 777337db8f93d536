package api

import (
	"net/http"

	"github.com/tsumugi-ai/tsumugi/internal/crx"
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
		return writeBytes(w, media, "no-cache", file)
	}
}

func (s *Server) getExtension(*call) (any, error) {
	if s.Browser == nil {
		return nil, noRoute()
	}
	return Extension{
		ID: s.Browser.ID, Version: s.Browser.Version,
		ServerURL: s.Browser.ServerURL, UpdateURL: s.Browser.ServerURL + crx.UpdatesPath,
	}, nil
}
