// Package raster converts an untrusted picture into a form that can be stored, shown and sent to a model: upright, of
// limited size, and without metadata.
//
// It accepts the formats that Go decodes well: JPEG, PNG and WebP. Others, such as HEIC, are recognized and refused
// with advice. libvips and ImageMagick read more formats, but are C libraries with a history of vulnerabilities.
//
// It contains all code that depends on picture formats. Because a picture can be malicious, Read checks its size before
// it decodes the picture; this limits the memory for decoding. Package picture runs Read in a separate process. The
// package imports the standard library, golang.org/x/image and fault.
package raster

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"runtime/debug"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Limits of a picture. Decoding uses up to 8 bytes for each pixel, and scaling about 300 MB in addition.
const (
	MaxSize   = 20 << 20   // Of the file, in bytes.
	MaxPixels = 50_000_000 // The largest pictures of phone cameras.
	maxLength = 30_000     // Length of a side, in pixels.

	MaxSide      = 2048 // Side of the stored picture, in pixels; models use less.
	MaxThumbnail = 400
)

const (
	quality = 85 // Of JPEG.
	// maxPNG is the largest size, in bytes, of a picture that is stored as PNG, which preserves sharp edges and
	// transparency. Larger lossless pictures are usually photographs; they are stored as JPEG.
	maxPNG = 2 << 20
)

// Picture is a picture in its stored form. Full and Thumbnail have the same media type.
type Picture struct {
	MediaType     string // image/jpeg or image/png.
	Width, Height int    // Of the full form.
	Full          []byte // At most MaxSide wide and high.
	Thumbnail     []byte // At most MaxThumbnail wide and high.
}

// The media types of stored pictures.
const (
	JPEG = "image/jpeg"
	PNG  = "image/png"
)

// Read converts a picture into its stored form. A *fault.UnreadableError describes the defect of the file and how to
// correct it.
func Read(content []byte) (Picture, error) {
	form, err := formOf(content)
	if err != nil {
		return Picture{}, err
	}
	size, err := form.size(bytes.NewReader(content))
	if err != nil || size.Width < 1 || size.Height < 1 {
		return Picture{}, form.broken
	}
	if max(size.Width, size.Height) > maxLength || size.Width*size.Height > MaxPixels {
		return Picture{}, ErrTooLarge
	}
	turn := orientation(form.exif(content))
	full, err := form.pixels(bytes.NewReader(content))
	if err != nil {
		return Picture{}, form.broken
	}
	small := upright(fit(full, MaxSide), turn)
	return encode(small, fit(small, MaxThumbnail), form.lossless || !small.Opaque())
}

// form is an image format that Read supports.
type form struct {
	size     func(io.Reader) (image.Config, error)
	pixels   func(io.Reader) (image.Image, error)
	exif     func(content []byte) []byte // Returns the EXIF data from its TIFF header, nil if there is none.
	lossless bool
	broken   *fault.UnreadableError
}

var (
	jpegForm = form{jpeg.DecodeConfig, jpeg.Decode, jpegEXIF, false, ErrBroken}
	pngForm  = form{png.DecodeConfig, png.Decode, pngEXIF, true, ErrBroken}
	webpForm = form{webp.DecodeConfig, webp.Decode, webpEXIF, false, errWebP}
)

// fit returns an image scaled down so that no side is longer than longest. It first halves the image with a simple
// filter, because the first pass of the better filter over a large image would use 32 bytes for each pixel. After each
// step it frees the larger image at once, because the memory limit of the child process is too small for both.
func fit(img image.Image, longest int) *image.RGBA {
	for {
		size := img.Bounds().Size()
		side := max(size.X, size.Y)
		if side <= longest {
			to := image.NewRGBA(image.Rectangle{Max: size})
			draw.Copy(to, image.Point{}, img, img.Bounds(), draw.Src, nil)
			return to
		}
		if side <= 2*longest {
			return scale(draw.CatmullRom, img, longest)
		}
		img = scale(draw.ApproxBiLinear, img, max((side+1)/2, 2*longest))
		debug.FreeOSMemory()
	}
}

// scale returns an image whose longer side has the given length.
func scale(with draw.Scaler, img image.Image, side int) *image.RGBA {
	size := img.Bounds().Size()
	longer := max(size.X, size.Y)
	to := image.NewRGBA(image.Rect(0, 0, max(1, size.X*side/longer), max(1, size.Y*side/longer)))
	with.Scale(to, to.Bounds(), img, img.Bounds(), draw.Src, nil)
	return to
}

// encode returns both forms of a picture: as PNG if lossless is set and the full form is at most maxPNG bytes,
// otherwise as JPEG on a white background.
func encode(full, thumbnail *image.RGBA, lossless bool) (Picture, error) {
	size := full.Bounds().Size()
	picture := Picture{MediaType: PNG, Width: size.X, Height: size.Y}
	for _, p := range []struct {
		to  *[]byte
		img *image.RGBA
	}{{&picture.Full, full}, {&picture.Thumbnail, thumbnail}} {
		if !lossless {
			break
		}
		var out bytes.Buffer
		if err := png.Encode(&out, p.img); err != nil {
			return Picture{}, err
		}
		*p.to = out.Bytes()
	}
	if lossless && len(picture.Full) <= maxPNG {
		return picture, nil
	}
	picture.MediaType = JPEG
	var err error
	if picture.Full, err = encodeJPEG(full); err == nil {
		picture.Thumbnail, err = encodeJPEG(thumbnail)
	}
	return picture, err
}

func encodeJPEG(img *image.RGBA) ([]byte, error) {
	if !img.Opaque() {
		on := image.NewRGBA(img.Bounds())
		draw.Draw(on, on.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
		draw.Draw(on, on.Bounds(), img, image.Point{}, draw.Over)
		img = on
	}
	var out bytes.Buffer
	err := jpeg.Encode(&out, img, &jpeg.Options{Quality: quality})
	return out.Bytes(), err
}
