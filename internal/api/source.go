package api

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// uploadTimeout bounds a whole upload while its bytes arrive: 50 MiB at 0.7 Mbit/s.
const uploadTimeout = 10 * time.Minute

func (s *Server) listDataSources(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var c checks
	offset, limit := c.page(r)
	query := c.text("q", r.URL.Query()["q"], datasource.MaxQuery)
	if err := c.err(); err != nil {
		return err
	}
	sources, err := s.Sources.List(r.Context(), actor.Owner(), query, offset, limit)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, DataSourceList{Items: convert(sources, toListed)})
}

func toListed(l datasource.ListItem) DataSource {
	source := toDataSource(l.Source)
	if m := l.Match; m != nil {
		source.Match = &DataSourceMatch{
			ChunkEmbeddingID: m.ID, Page: m.Page, Locator: m.Locator,
			Snippet: m.Text, Ranges: convert(m.Ranges, func(r [2]int) []int { return r[:] }),
		}
	}
	return source
}

func (s *Server) getDataSource(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "data_source_id")
	if err != nil {
		return err
	}
	source, err := s.Sources.Find(r.Context(), actor.Owner(), id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, toDataSource(source))
}

func (s *Server) listPassages(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "data_source_id")
	if err != nil {
		return err
	}
	var c checks
	offset, limit := c.page(r)
	page := c.number("page", r.URL.Query()["page"], 1, maxOffset, 1)
	if err := c.err(); err != nil {
		return err
	}
	passages, err := s.Sources.Passages(r.Context(), actor.Owner(), id, page, offset, limit)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, PassageList{Items: convert(passages, toPassage)})
}

func toPassage(p datasource.Passage) Passage {
	return Passage{
		ID: p.ID, Page: p.Page, Ordinal: p.Ordinal, Start: p.Start, End: p.End, Locator: p.Locator, Text: p.Text,
	}
}

// uploadDataSource streams the file to the domain.
func (s *Server) uploadDataSource(w http.ResponseWriter, r *http.Request, actor identity.Actor) (err error) {
	part, done, err := receiveFile(w, r, uploadTimeout)
	defer func() { done(err) }()
	if err != nil {
		return err
	}
	source, created, err := s.Sources.Upload(r.Context(), actor.Owner(), actor.Session, part.FileName(),
		content{part})
	if err != nil {
		return err
	}
	moveWriteDeadline(w)
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return writeJSON(w, status, toDataSource(source))
}

// receiveFile returns the file of a multipart body, which must arrive within limit. The caller must call done with the
// error of the call. For a refused file, done reads the body to its end, because a browser that is still sending would
// not read the refusal.
func receiveFile(w http.ResponseWriter, r *http.Request, limit time.Duration) (part *multipart.Part,
	done func(error), err error,
) {
	r.Body = &patientBody{ReadCloser: r.Body, rc: http.NewResponseController(w), end: time.Now().Add(limit)}
	done = func(err error) {
		if err != nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, datasource.MaxSize)) // The rest is dropped.
			moveWriteDeadline(w)
		}
	}
	form, err := r.MultipartReader()
	if err != nil {
		return nil, done, fault.Wrap(err, fault.UnsupportedType, "Content-Type には multipart/form-data を指定してください。")
	}
	part, err = form.NextPart()
	if errors.Is(err, io.EOF) || err == nil && part.FormName() != "file" {
		return nil, done, fault.InvalidField("file", "必須の項目です。")
	}
	if err != nil {
		return nil, done, cutOff(err)
	}
	return part, done, nil
}

// cutOff is the error of an incomplete upload.
func cutOff(err error) error {
	return fault.Wrap(err, fault.Invalid, "ファイルを最後まで受け取れませんでした。もう一度アップロードしてください。")
}

// content is a file while it is being received.
type content struct{ part io.Reader }

// Read implements io.Reader.
func (c content) Read(p []byte) (int, error) {
	n, err := c.part.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = cutOff(err)
	}
	return n, err
}

// patientBody is a body without a time limit as long as bytes arrive.
type patientBody struct {
	io.ReadCloser
	rc  *http.ResponseController
	end time.Time
}

// Read implements io.Reader.
func (b *patientBody) Read(p []byte) (int, error) {
	deadline := time.Now().Add(bodyTimeout)
	if deadline.After(b.end) {
		deadline = b.end
	}
	_ = b.rc.SetReadDeadline(deadline) // A connection without deadlines cannot block.
	return b.ReadCloser.Read(p)
}

func (s *Server) downloadDataSource(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "data_source_id")
	if err != nil {
		return err
	}
	source, file, err := s.Sources.Open(r.Context(), actor.Owner(), id)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	h := w.Header()
	// Never displayed, because it may be HTML.
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": source.Filename}))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Content-Length", strconv.FormatInt(source.Size, 10))
	h.Set("Cache-Control", "no-store")
	// The client may have disconnected. It detects a truncated file by its length.
	_, _ = io.Copy(patientWriter{w}, file)
	return nil
}

// patientWriter is a response without a time limit as long as the client reads.
type patientWriter struct{ w http.ResponseWriter }

// Write implements io.Writer.
func (p patientWriter) Write(b []byte) (int, error) {
	moveWriteDeadline(p.w)
	return p.w.Write(b) //nolint:gosec // Attachments and pictures, with their types and nosniff.
}

func (s *Server) deleteDataSource(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "data_source_id")
	if err != nil {
		return err
	}
	if err := s.Sources.Delete(r.Context(), actor.Owner(), id); err != nil {
		return err
	}
	return writeNoContent(w)
}

func (s *Server) stopDataSource(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	return s.changeReading(w, r, actor, s.Sources.StopReading)
}

func (s *Server) readDataSource(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	return s.changeReading(w, r, actor, s.Sources.RetryReading)
}

// showDataSourcePage serves a page as a picture. Browsers revalidate it each time, because access may have ended.
func (s *Server) showDataSourcePage(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "data_source_id")
	if err != nil {
		return err
	}
	width := defaultWidth
	if text := r.URL.Query().Get("width"); text != "" {
		if width, err = strconv.Atoi(text); err != nil || width < minWidth || width > maxWidth {
			return fault.InvalidField("width", "200以上2000以下の整数で指定してください。")
		}
	}
	page, err := strconv.Atoi(chi.URLParam(r, "page"))
	if err != nil || page < 1 {
		return fault.Errorf(fault.NotFound, "ページが見つかりません。")
	}
	source, err := s.Sources.Find(r.Context(), actor.Owner(), id)
	if err != nil {
		return err
	}
	h := w.Header()
	tag := fmt.Sprintf(`"%x-%d-%d"`, source.SHA256[:8], page, width)
	if r.Header.Get("If-None-Match") == tag {
		h.Set("ETag", tag)
		h.Set("Cache-Control", "private, no-cache")
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	picture, err := s.Sources.RenderPage(r.Context(), actor.Owner(), id, page, width)
	if err != nil {
		return err
	}
	h.Set("ETag", tag)
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Content-Type", "image/png")
	h.Set("Content-Length", strconv.Itoa(len(picture)))
	moveWriteDeadline(w)
	_, _ = patientWriter{w}.Write(picture)
	return nil
}

// Bounds of a page picture's width, in pixels.
const (
	minWidth     = 200
	maxWidth     = 2000
	defaultWidth = 1000
)

// changeReading stops or restarts the processing of a data source.
func (s *Server) changeReading(
	w http.ResponseWriter, r *http.Request, actor identity.Actor,
	change func(context.Context, identity.Owner, uuid.UUID) (datasource.Source, error),
) error {
	id, err := pathID(r, "data_source_id")
	if err != nil {
		return err
	}
	source, err := change(r.Context(), actor.Owner(), id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, toDataSource(source))
}

func toDataSource(s datasource.Source) DataSource {
	var progress DataSourceProgress
	if s.Stage != "" && (s.Status == datasource.Running || s.Stage == datasource.StageEmbedding) {
		progress = DataSourceProgress{Stage: DataSourceProgressStage(s.Stage), Done: s.Done, Total: s.Total}
	}
	return DataSource{
		ID: s.ID, Filename: s.Filename, MediaType: s.MediaType, Size: s.Size, Sha256: hex.EncodeToString(s.SHA256),
		Status: JobStatus(s.Status), Error: s.Failure, Notice: s.Notice, PageCount: s.PageCount,
		ChunkCount: s.ChunkCount, Revision: s.Revision, Progress: progress,
		CreatedAt: s.CreatedAt.UTC(),
	}
}
