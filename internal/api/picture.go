package api

import (
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/picture"
)

// pictureTimeout bounds the upload of a picture while its bytes arrive: 20 MiB at 1.4 Mbit/s. The upload occupies a
// slot meanwhile.
const pictureTimeout = 2 * time.Minute

func (s *Server) uploadPicture(w http.ResponseWriter, r *http.Request, actor identity.Actor) (err error) {
	var c checks
	requestID := c.requestID(r, "")
	if err := c.err(); err != nil {
		return err
	}
	part, done, err := receiveFile(w, r, pictureTimeout)
	defer func() { done(err) }()
	if err != nil {
		return err
	}
	kept, created, err := s.Pictures.Upload(r.Context(), actor.Owner(), actor.Session, requestID, content{part})
	if err != nil {
		return err
	}
	moveWriteDeadline(w)
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return writeJSON(w, status, toPicture(kept))
}

// showPicture serves a picture, which is safe to display: this server has encoded it.
func (s *Server) showPicture(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "picture_id")
	if err != nil {
		return err
	}
	form := picture.Full
	switch r.URL.Query().Get("size") {
	case "", string(picture.Full):
	case string(picture.Thumbnail):
		form = picture.Thumbnail
	default:
		return fault.InvalidField("size", "thumbnail か full を指定してください。")
	}
	kept, file, err := s.Pictures.Open(r.Context(), actor.Owner(), id, form)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	size := kept.Size
	if form == picture.Thumbnail {
		size = kept.ThumbnailSize
	}
	h := w.Header()
	h.Set("Content-Type", kept.MediaType)
	h.Set("Content-Disposition", "inline")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	h.Set("Cache-Control", "private, max-age=31536000, immutable")
	h.Add("Vary", "Authorization") // Another person in the same browser must authenticate.
	_, _ = io.Copy(patientWriter{w}, file)
	return nil
}

func (s *Server) deletePicture(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "picture_id")
	if err != nil {
		return err
	}
	if err := s.Pictures.Delete(r.Context(), actor.Owner(), id); err != nil {
		return err
	}
	return writeNoContent(w)
}

func toPicture(p picture.Picture) Picture {
	return Picture{ID: p.ID, Width: p.Width, Height: p.Height, MediaType: p.MediaType, Size: p.Size}
}
