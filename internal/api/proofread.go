package api

import (
	"cmp"
	"context"
	"path"
	"strings"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/japan"
	"github.com/tsumugi-ai/tsumugi/internal/proofread"
	"github.com/tsumugi-ai/tsumugi/internal/redline"
)

func (s *Server) decideChanges(c *call, req ProofreadDecisions) (any, error) {
	if req.Accepted == nil { // A missing list would delete the stored one.
		c.need("accepted", "")
	}
	if req.Refused == nil {
		c.need("refused", "")
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	return nil, s.Chat.Decide(c.ctx(), c.actor.Owner(), c.pathID, proofread.Decisions(req))
}

func (s *Server) downloadDocx(c *call) error {
	tracked := true
	switch c.query("changes") {
	case "", "tracked":
	case "applied":
		tracked = false
	default:
		return fault.InvalidField("changes", "tracked か applied を指定してください。")
	}
	m, err := s.Chat.FindProofreading(c.ctx(), c.actor.Owner(), c.pathID)
	if err != nil {
		return err
	}
	file, from, err := s.word(c.ctx(), c.actor, m, tracked)
	if err != nil {
		return err
	}
	attach(c.w, wordName(m, from))
	h := c.w.Header()
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Tsumugi-Docx", from)
	return writeBytes(c.w, "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "no-store", file)
}

// word returns a proofreading as a Word document, and the source of the document. If the original file was deleted or
// changed, the document is created from the text.
func (s *Server) word(ctx context.Context, actor identity.Actor, m chat.Message, tracked bool) (file []byte,
	from string, _ error,
) {
	var by *redline.Author
	if tracked {
		by = &redline.Author{Name: "Tsumugi（紡）", Time: m.CompletedAt.In(japan.Zone)}
	}
	edit := m.Proofread.Edit(value(m.Decisions), by)
	if f := m.Proofread.File; f != nil && f.DOCX {
		file, err := s.Sources.Redline(ctx, actor.Owner(), f.DataSourceID, edit)
		if code := fault.CodeOf(err); code != fault.NotFound && code != fault.Conflict {
			return file, fromOriginal, err
		}
	}
	file, err := redline.New(m.Proofread.Text)
	if err != nil {
		return nil, "", err
	}
	file, err = redline.Write(file, edit)
	return file, fromText, err
}

// The sources of a document.
const (
	fromOriginal = "original"
	fromText     = "text"
)

// wordName returns the file name of a proofreading's document. Word opens a document with macros only under its own
// extension.
func wordName(m chat.Message, from string) string {
	name, extension := m.ThreadTitle.Text, ".docx"
	if f := m.Proofread.File; f != nil {
		name = strings.TrimSuffix(f.Filename, path.Ext(f.Filename))
		if from == fromOriginal {
			extension = strings.ToLower(path.Ext(f.Filename))
		}
	}
	name = strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`/\:*?"<>|`, r) {
			return -1
		}
		return r
	}, name)
	name = cmp.Or(name, "文章")
	return name + "（校正）" + extension
}

func toDecisions(d proofread.Decisions) ProofreadDecisions { return ProofreadDecisions(d) }
