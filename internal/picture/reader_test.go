package picture_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/picture"
	"github.com/tsumugi-ai/tsumugi/internal/picture/raster"
	"github.com/tsumugi-ai/tsumugi/internal/sandbox"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestPicturesAreReadInAChild(t *testing.T) {
	t.Parallel()
	var content bytes.Buffer
	must.Succeed(t, jpeg.Encode(&content, image.NewGray(image.Rect(0, 0, 3000, 1500)), nil))
	p, err := picture.NewReader(sandbox.New(sandbox.Config{})).Read(t.Context(), &content)
	if err != nil || p.Width != 2048 || p.Height != 1024 || p.MediaType != raster.JPEG {
		t.Errorf("%s of %d × %d, %v", p.MediaType, p.Width, p.Height, err)
	}
}

// TestR98_HarmfulPictureIsReportedAsUnreadable uses pictures that cause excessive memory, excessive time, and a crash.
func TestR98_HarmfulPictureIsReportedAsUnreadable(t *testing.T) {
	t.Parallel()
	var large bytes.Buffer
	must.Succeed(t, png.Encode(&large, image.NewNRGBA(image.Rect(0, 0, 6000, 4000))))
	for how, c := range map[string]struct {
		content []byte
		memory  int64
		want    *fault.UnreadableError
	}{
		"large":    {large.Bytes(), 64 << 20, raster.ErrTooLarge},
		"spin":     {[]byte("misbehave spin"), 300 << 20, raster.ErrTooLarge},
		"eat":      {[]byte("misbehave eat"), 300 << 20, raster.ErrTooLarge},
		"panic":    {[]byte("misbehave panic"), 300 << 20, raster.ErrBroken},
		"flood":    {[]byte("misbehave flood"), 300 << 20, raster.ErrBroken},
		"hang up":  {[]byte("misbehave hang up"), 300 << 20, raster.ErrBroken},
		"half PNG": {large.Bytes()[:large.Len()/2], 300 << 20, raster.ErrBroken},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			cfg := sandbox.Config{Memory: c.memory}
			if how == "spin" { // The others end without this limit, regardless of the machine's speed.
				cfg.Whole = 3 * time.Second
			}
			reader := picture.NewReader(sandbox.New(cfg))
			_, err := reader.Read(t.Context(), bytes.NewReader(c.content))
			wrong, ok := errors.AsType[*fault.UnreadableError](err)
			if !ok || wrong.Reason != c.want.Reason || strings.Contains(wrong.Reason, "ファイル") {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

// TestBusyMachineIsNotReportedAsUnreadablePicture verifies that killing a child without CPU time is not reported as a
// defect of the picture.
func TestBusyMachineIsNotReportedAsUnreadablePicture(t *testing.T) {
	t.Parallel()
	reader := picture.NewReader(sandbox.New(sandbox.Config{Whole: 200 * time.Millisecond}))
	_, err := reader.Read(t.Context(), strings.NewReader("misbehave sleep"))
	if wrong, ok := errors.AsType[*fault.UnreadableError](err); ok || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, reason %v; want a deadline", err, wrong)
	}
}
