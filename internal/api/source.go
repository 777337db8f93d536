package api

import (
	"bytes"
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
)

// uploadTimeout bounds a whole upload while its bytes arrive: 50 MiB at 0.7 Mbit/s.
const uploadTimeout = 10 * time.Minute

func (s *Server) listDataSources(c *call) (any, error) {
	offset, limit := c.page()
	query := c.text("q", datasource.MaxQuery)
	if err := c.err(); err != nil {
		return nil, err
	}
	sources, err := s.Sources.List(c.ctx(), c.actor.Owner(), query, offset, limit)
	return DataSourceList{Items: convert(sources, toListed)}, err
}

func toListed(l datasource.ListItem) DataSource {
	source := toDataSource(l.Source)
	if l.Match != nil {
		match := toMatch(*l.Match)
		source.Match = &match
	}
	return source
}

func toMatch(m datasource.Match) DataSourceMatch {
	return DataSourceMatch{
		ChunkEmbeddingID: m.ID, Page: m.Page, Locator: m.Locator,
		Snippet: m.Text, Ranges: convert(m.Ranges, func(r [2]int) []int { return r[:] }),
	}
}

func (s *Server) getDataSource(c *call) (any, error) {
	source, err := s.Sources.Find(c.ctx(), c.actor.Owner(), c.pathID)
	return toDataSource(source), err
}

func (s *Server) listPassages(c *call) (any, error) {
	offset, limit := c.page()
	page := c.number("page", 1, maxOffset, 1)
	if err := c.err(); err != nil {
		return nil, err
	}
	passages, err := s.Sources.Passages(c.ctx(), c.actor.Owner(), c.pathID, page, offset, limit)
	return PassageList{Items: convert(passages, toPassage)}, err
}

func toPassage(p datasource.Passage) Passage {
	return Passage{
		ID: p.ID, Page: p.Page, Ordinal: p.Ordinal, Start: p.Start, End: p.End, Locator: p.Locator, Text: p.Text,
	}
}

// uploadDataSource streams the file to the domain.
func (s *Server) uploadDataSource(c *call) (_ any, err error) {
	part, done, err := receiveFile(c.w, c.r, uploadTimeout)
	defer func() { done(err) }()
	projectID := c.optionalQueryID("project_id")
	if wrong := c.err(); wrong != nil {
		err = wrong
	}
	if err != nil {
		return nil, err
	}
	source, isNew, err := s.upload(c, projectID, part)
	if err != nil {
		return nil, err
	}
	moveWriteDeadline(c.w)
	return createdIf(isNew, toDataSource(source)), nil
}

// upload stores an uploaded file of the actor or, unless projectID is nil, of a project.
func (s *Server) upload(c *call, projectID *uuid.UUID, part *multipart.Part) (datasource.Source, bool, error) {
	if projectID == nil {
		return s.Sources.Upload(c.ctx(), c.actor.Owner(), c.actor.Session, part.FileName(), content{part})
	}
	// Again when the file is stored. This check is before the transfer.
	p, err := s.Projects.Find(c.ctx(), c.actor, *projectID)
	if err == nil {
		err = p.CheckAdd()
	}
	if err != nil {
		return datasource.Source{}, false, err
	}
	source, isNew, err := s.Sources.UploadToProject(c.ctx(), c.actor, *projectID, part.FileName(), content{part})
	if err == nil {
		s.Projects.SourceAdded(*projectID)
	}
	return source, isNew, err
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

// beginTransfer returns the response for a file or a page of the data source in the path.
func (s *Server) beginTransfer(c *call) (w http.ResponseWriter, end func()) {
	return s.Transfers.begin(c, func(ctx context.Context) error {
		_, err := s.Sources.Find(ctx, c.actor.Owner(), c.pathID)
		return err
	})
}

func (s *Server) downloadDataSource(c *call) error {
	w, end := s.beginTransfer(c)
	defer end()
	source, file, err := s.Sources.Open(c.ctx(), c.actor.Owner(), c.pathID)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	attach(w, source.Filename)
	w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'")
	// Never displayed, because it may be HTML.
	return writeFile(w, "application/octet-stream", "no-store", source.Size, file)
}

// attach makes a browser save the response as a file.
func attach(w http.ResponseWriter, filename string) {
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": filename}))
}

// writeFile writes a file. The client may have disconnected. It detects a truncated file by its length.
func writeFile(w http.ResponseWriter, media, cache string, size int64, file io.Reader) error {
	h := w.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	h.Set("Cache-Control", cache)
	_, _ = io.Copy(patientWriter{w}, file)
	return nil
}

// writeBytes is writeFile for a file in memory.
func writeBytes(w http.ResponseWriter, media, cache string, file []byte) error {
	return writeFile(w, media, cache, int64(len(file)), bytes.NewReader(file))
}

// patientWriter is a response without a time limit as long as the client reads.
type patientWriter struct{ http.ResponseWriter }

// Write implements io.Writer.
func (p patientWriter) Write(b []byte) (int, error) {
	moveWriteDeadline(p.ResponseWriter)
	return p.ResponseWriter.Write(b) //nolint:gosec // Attachments, pictures and JSON, with their types and nosniff.
}

// Unwrap returns the underlying writer for http.ResponseController.
func (p patientWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (s *Server) deleteDataSource(c *call) (any, error) {
	return nil, s.Sources.Delete(c.ctx(), c.actor.Owner(), c.pathID)
}

func (s *Server) stopDataSource(c *call) (any, error) {
	source, err := s.Sources.StopReading(c.ctx(), c.actor.Owner(), c.pathID)
	return toDataSource(source), err
}

func (s *Server) readDataSource(c *call) (any, error) {
	source, err := s.Sources.RetryReading(c.ctx(), c.actor.Owner(), c.pathID)
	return toDataSource(source), err
}

// showDataSourcePage serves a page as a picture. Browsers revalidate it each time, because access may have ended.
func (s *Server) showDataSourcePage(c *call) error {
	width, err := defaultWidth, error(nil)
	if text := c.query("width"); text != "" {
		if width, err = strconv.Atoi(text); err != nil || width < minWidth || width > maxWidth {
			return fault.InvalidField("width", "200以上2000以下の整数で指定してください。")
		}
	}
	page, err := strconv.Atoi(chi.URLParam(c.r, "page"))
	if err != nil || page < 1 {
		return fault.Errorf(fault.NotFound, "ページが見つかりません。")
	}
	w, end := s.beginTransfer(c)
	defer end()
	source, err := s.Sources.Find(c.ctx(), c.actor.Owner(), c.pathID)
	if err != nil {
		return err
	}
	const cache = "private, no-cache"
	h := c.w.Header()
	tag := fmt.Sprintf(`"%x-%d-%d"`, source.SHA256[:8], page, width)
	if c.r.Header.Get("If-None-Match") == tag {
		h.Set("ETag", tag)
		h.Set("Cache-Control", cache)
		c.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	picture, err := s.Sources.RenderPage(c.ctx(), c.actor.Owner(), c.pathID, page, width)
	if err != nil {
		return err
	}
	h.Set("ETag", tag)
	return writeBytes(w, "image/png", cache, picture)
}

// Bounds of a page picture's width, in pixels.
const (
	minWidth     = 200
	maxWidth     = 2000
	defaultWidth = 1000
)

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
