package api

import (
	"net/http"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/webpage"
)

// passingTimeout bounds the upload of a file that is not stored.
const passingTimeout = time.Minute

// readPageFile returns the text of a PDF file that a person views in the browser. The file is not stored.
func (s *Server) readPageFile(w http.ResponseWriter, r *http.Request, _ identity.Actor) (err error) {
	part, done, err := receiveFile(w, r, passingTimeout)
	defer func() { done(err) }()
	if err != nil {
		return err
	}
	pages, err := s.Sources.ReadTransient(r.Context(), content{part})
	if err != nil {
		return err
	}
	text, left := webpage.Truncate(strings.Join(convert(pages, func(p extract.Page) string { return p.Text }), "\n\n"))
	moveWriteDeadline(w)
	return writeJSON(w, http.StatusOK, PageText{Text: text, TruncatedCharacters: left, PageCount: len(pages)})
}
