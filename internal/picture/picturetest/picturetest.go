// Package picturetest reads pictures within the test process.
package picturetest

import (
	"context"
	"io"

	"github.com/tsumugi-ai/tsumugi/internal/picture/raster"
)

// Read reads a picture like picture.Reader, without a child process.
func Read(_ context.Context, file io.Reader) (raster.Picture, error) {
	content, err := io.ReadAll(file)
	if err != nil {
		return raster.Picture{}, err
	}
	return raster.Read(content)
}
