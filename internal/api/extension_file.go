package api

import (
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/webpage"
)

// passingTimeout bounds the upload of a file that is not stored.
const passingTimeout = time.Minute

// readPageFile returns the text of a PDF file that a person views in the browser. The file is not stored.
func (s *Server) readPageFile(c *call) (_ any, err error) {
	part, done, err := receiveFile(c.w, c.r, passingTimeout)
	defer func() { done(err) }()
	if err != nil {
		return nil, err
	}
	pages, err := s.Sources.ReadTransient(c.ctx(), content{part})
	if err != nil {
		return nil, err
	}
	text, left := webpage.Truncate(strings.Join(convert(pages, func(p extract.Page) string { return p.Text }), "\n\n"))
	moveWriteDeadline(c.w)
	return PageText{Text: text, TruncatedCharacters: left, PageCount: len(pages)}, nil
}
