package api

import (
	"context"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/picture"
)

// pictureTimeout bounds the upload of a picture while its bytes arrive: 20 MiB at 1.4 Mbit/s. The upload occupies a
// slot meanwhile.
const pictureTimeout = 2 * time.Minute

func (s *Server) uploadPicture(c *call) (_ any, err error) {
	requestID := c.requestID("")
	if err := c.err(); err != nil {
		return nil, err
	}
	part, done, err := receiveFile(c.w, c.r, pictureTimeout)
	defer func() { done(err) }()
	if err != nil {
		return nil, err
	}
	kept, isNew, err := s.Pictures.Upload(c.ctx(), c.actor.Owner(), c.actor.Session, requestID, content{part})
	if err != nil {
		return nil, err
	}
	moveWriteDeadline(c.w)
	return createdIf(isNew, toPicture(kept)), nil
}

// showPicture serves a picture, which is safe to display: this server has encoded it.
func (s *Server) showPicture(c *call) error {
	form := picture.Full
	switch c.query("size") {
	case "", string(picture.Full):
	case string(picture.Thumbnail):
		form = picture.Thumbnail
	default:
		return fault.InvalidField("size", "thumbnail か full を指定してください。")
	}
	w, end := s.Transfers.begin(c, func(ctx context.Context) error {
		_, err := s.Pictures.FindReadable(ctx, c.actor.Owner(), c.pathID)
		return err
	})
	defer end()
	kept, file, err := s.Pictures.Open(c.ctx(), c.actor.Owner(), c.pathID, form)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	size := kept.Size
	if form == picture.Thumbnail {
		size = kept.ThumbnailSize
	}
	h := w.Header()
	h.Set("Content-Disposition", "inline")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	cache := "private, max-age=31536000, immutable"
	if kept.Shared { // Access to the thread may end.
		cache = "no-store"
	}
	h.Add("Vary", "Authorization") // Another person in the same browser must authenticate.
	return writeFile(w, kept.MediaType, cache, size, file)
}

func (s *Server) deletePicture(c *call) (any, error) {
	return nil, s.Pictures.Delete(c.ctx(), c.actor.Owner(), c.pathID)
}

func toPicture(p picture.Picture) Picture {
	return Picture{ID: p.ID, Width: p.Width, Height: p.Height, MediaType: p.MediaType, Size: p.Size}
}
