package api

import (
	"context"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/japan"
	"github.com/tsumugi-ai/tsumugi/internal/proofread"
	"github.com/tsumugi-ai/tsumugi/internal/redline"
)

func (s *Server) decideChanges(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "message_id")
	if err != nil {
		return err
	}
	var req ProofreadDecisions
	if err := decode(w, r, &req); err != nil {
		return err
	}
	var c checks // A missing list would delete the stored one.
	if req.Accepted == nil {
		c.fail("accepted", "必須の項目です。")
	}
	if req.Refused == nil {
		c.fail("refused", "必須の項目です。")
	}
	if err := c.err(); err != nil {
		return err
	}
	if err := s.Chat.Decide(r.Context(), actor.Owner(), id, proofread.Decisions(req)); err != nil {
		return err
	}
	return writeNoContent(w)
}

func (s *Server) downloadDocx(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "message_id")
	if err != nil {
		return err
	}
	tracked := true
	switch r.URL.Query().Get("changes") {
	case "", "tracked":
	case "applied":
		tracked = false
	default:
		return fault.InvalidField("changes", "tracked か applied を指定してください。")
	}
	m, err := s.Chat.FindProofreading(r.Context(), actor.Owner(), id)
	if err != nil {
		return err
	}
	file, from, err := s.word(r.Context(), actor, m, tracked)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/vnd.openxmlformats-officedocument.wordprocessingml.document")
	h.Set("Content-Disposition",
		mime.FormatMediaType("attachment", map[string]string{"filename": wordName(m, from)}))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Content-Length", strconv.Itoa(len(file)))
	h.Set("Cache-Control", "no-store")
	h.Set("Tsumugi-Docx", from)
	_, _ = patientWriter{w}.Write(file) // The client may have disconnected. It detects a truncated file by its length.
	return nil
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
	var decided proofread.Decisions
	if m.Decisions != nil {
		decided = *m.Decisions
	}
	edit := m.Proofread.Edit(decided, by)
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
	if name == "" {
		name = "文章"
	}
	return name + "（校正）" + extension
}

func toDecisions(d proofread.Decisions) ProofreadDecisions {
	return ProofreadDecisions{Accepted: d.Accepted, Refused: d.Refused}
}
