package picture

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // The formats of stored pictures.
	_ "image/png"
	"io"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/picture/raster"
	"github.com/tsumugi-ai/tsumugi/internal/sandbox"
)

const taskPicture = "picture" // Convert a picture into its stored form.

// Tasks returns the tasks of a Reader, for sandbox.Main.
func Tasks() map[string]sandbox.Task {
	return map[string]sandbox.Task{taskPicture: {Run: func(_ context.Context, c *sandbox.Child) error {
		content, err := c.Content(raster.MaxSize)
		if err != nil {
			return err
		}
		picture, err := raster.Read(content)
		if err != nil {
			return c.End(err)
		}
		encoded, err := json.Marshal(picture)
		if err != nil {
			return err
		}
		return c.Answer(encoded, nil)
	}}}
}

// Reader reads each untrusted picture in a separate child process. It is safe for concurrent use.
type Reader struct{ runner *sandbox.Runner }

// NewReader returns a Reader. The sandbox's Main must have Tasks.
func NewReader(runner *sandbox.Runner) *Reader { return &Reader{runner} }

// Read returns a picture in the stored form. A *fault.UnreadableError describes a defect of the file. Any other error
// is unrelated to the file, and is one of sandbox.Runner.Run.
func (r *Reader) Read(ctx context.Context, file io.Reader) (raster.Picture, error) {
	var picture raster.Picture
	err := r.runner.Run(ctx, sandbox.Job{Task: taskPicture}, file, func(p *sandbox.Process) error {
		return p.Receive(r.runner.Whole(), func(frames *sandbox.Reader) error {
			found, err := frames.Answer()
			if err != nil {
				return err
			}
			if err := json.Unmarshal(found, &picture); err != nil {
				return fmt.Errorf("%w: %w", sandbox.ErrMalformed, err)
			}
			if !isStored(picture) {
				return fmt.Errorf("%w: a picture of type %.40q", sandbox.ErrMalformed, picture.MediaType)
			}
			return nil
		})
	})
	switch {
	case errors.Is(err, sandbox.ErrTooSlow), errors.Is(err, sandbox.ErrTooLarge):
		err = raster.ErrTooLarge
	case errors.Is(err, sandbox.ErrCrashed):
		err = raster.ErrBroken
	}
	return picture, err
}

// isStored reports whether a picture meets the requirements of raster.Picture.
func isStored(p raster.Picture) bool {
	full, fullType, err := image.DecodeConfig(bytes.NewReader(p.Full))
	thumbnail, thumbnailType, errThumbnail := image.DecodeConfig(bytes.NewReader(p.Thumbnail))
	_, subtype, _ := strings.Cut(p.MediaType, "/")
	return err == nil && errThumbnail == nil && full.Width == p.Width && full.Height == p.Height &&
		max(p.Width, p.Height) <= raster.MaxSide && max(thumbnail.Width, thumbnail.Height) <= raster.MaxThumbnail &&
		fullType == subtype && thumbnailType == subtype && (p.MediaType == raster.JPEG || p.MediaType == raster.PNG)
}
