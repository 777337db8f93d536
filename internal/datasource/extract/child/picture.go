package child

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

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/picture/raster"
)

// ReadPicture returns a picture in its stored form. The errors are those of Extract.
func (e *Extractor) ReadPicture(ctx context.Context, file io.Reader) (raster.Picture, error) {
	var picture raster.Picture
	err := e.run(ctx, Job{Task: taskPicture, CPU: e.cpuSeconds()}, file, func(p *process) error {
		p.expect(e.cfg.Whole)
		found, err := newFrameReader(p.out).answer()
		p.received()
		if err != nil {
			return err
		}
		if err := json.Unmarshal(found, &picture); err != nil {
			return fmt.Errorf("%w: %w", errFrames, err)
		}
		if !isPicture(picture) {
			return fmt.Errorf("%w: a picture of type %.40q", errFrames, picture.MediaType)
		}
		return nil
	})
	switch {
	case errors.Is(err, unreadableSlow), errors.Is(err, unreadableBig):
		err = raster.ErrTooLarge
	case errors.Is(err, unreadableBroken):
		err = raster.ErrBroken
	}
	return picture, err
}

// isPicture reports whether a picture meets the requirements of raster.Picture.
func isPicture(p raster.Picture) bool {
	full, fullType, err := image.DecodeConfig(bytes.NewReader(p.Full))
	thumbnail, thumbnailType, errThumbnail := image.DecodeConfig(bytes.NewReader(p.Thumbnail))
	_, subtype, _ := strings.Cut(p.MediaType, "/")
	return err == nil && errThumbnail == nil && full.Width == p.Width && full.Height == p.Height &&
		max(p.Width, p.Height) <= raster.MaxSide && max(thumbnail.Width, thumbnail.Height) <= raster.MaxThumbnail &&
		fullType == subtype && thumbnailType == subtype && (p.MediaType == raster.JPEG || p.MediaType == raster.PNG)
}

// readPicture runs in the child.
func readPicture(content []byte, frames *frameWriter) error {
	picture, err := raster.Read(content)
	if wrong, ok := errors.AsType[*extract.UnreadableError](err); ok {
		return frames.end(wrong)
	}
	if err != nil {
		panic(err) // The picture crashed its reader.
	}
	encoded, err := json.Marshal(picture)
	if err != nil {
		return err
	}
	return frames.answer(foundFrame, encoded)
}
