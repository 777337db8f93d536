// Package raster turns a picture from outside into one that is fit to be kept, shown and sent to a model: upright, of
// bounded size, and without anything but its pixels.
//
// It owns what is known of picture formats. Pictures may be made to harm: their size is checked before they are
// decoded, and what decoding takes is bounded by that; package extract/child runs it in a process of its own. It
// imports the standard library, golang.org/x/image, and of extract the form of a refusal.
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

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
)

// Limits of a picture. Decoding one takes up to 8 bytes a pixel, and scaling it about 300 MB beside that.
const (
	MaxSize   = 20 << 20   // Of the file, in bytes.
	MaxPixels = 50_000_000 // What the cameras of phones take at most.
	MaxLength = 30_000     // Of a side.

	MaxSide      = 2048 // Of the picture that is kept: more than models look at.
	MaxThumbnail = 400
)

const (
	quality = 85 // Of JPEG.
	// maxPNG is the size up to which a picture that came without loss is kept so: what is drawn or written stays sharp,
	// and what is transparent transparent. Larger ones are photographs.
	maxPNG = 2 << 20
)

// Picture is a picture as it is kept. Both forms are of the same media type.
type Picture struct {
	MediaType     string // image/jpeg or image/png.
	Width, Height int    // Of the full form.
	Full          []byte // At most MaxSide wide and high.
	Thumbnail     []byte // At most MaxThumbnail wide and high.
}

// The media types of pictures that are kept.
const (
	JPEG = "image/jpeg"
	PNG  = "image/png"
)

// Read returns a picture as it is kept. An *extract.Unreadable says what is wrong with the file, and what to do.
func Read(content []byte) (Picture, error) {
	form, err := formOf(content)
	if err != nil {
		return Picture{}, err
	}
	size, err := form.size(bytes.NewReader(content))
	if err != nil || size.Width < 1 || size.Height < 1 {
		return Picture{}, form.broken
	}
	if max(size.Width, size.Height) > MaxLength || size.Width*size.Height > MaxPixels {
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

// form is a format that can be read.
type form struct {
	size     func(io.Reader) (image.Config, error)
	pixels   func(io.Reader) (image.Image, error)
	exif     func(content []byte) []byte // Its TIFF header and what follows, nil for none.
	lossless bool
	broken   *extract.Unreadable
}

var (
	jpegForm = form{jpeg.DecodeConfig, jpeg.Decode, jpegEXIF, false, ErrBroken}
	pngForm  = form{png.DecodeConfig, png.Decode, noEXIF, true, ErrBroken}
	webpForm = form{webp.DecodeConfig, webp.Decode, webpEXIF, false, errWebP}
)

func noEXIF([]byte) []byte { return nil }

// fit returns an image scaled down until no side is longer than longest. Halves come first, each of the mean of four
// pixels: the better filter alone would take 32 bytes for each pixel of its first pass over a large image. After each
// half the larger image is freed at once, because the limit of the child would not allow both that pass and the image.
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

// scale returns an image whose longer side has a length.
func scale(with draw.Scaler, img image.Image, side int) *image.RGBA {
	size := img.Bounds().Size()
	longer := max(size.X, size.Y)
	to := image.NewRGBA(image.Rect(0, 0, max(1, size.X*side/longer), max(1, size.Y*side/longer)))
	with.Scale(to, to.Bounds(), img, img.Bounds(), draw.Src, nil)
	return to
}

// encode returns both forms of a picture: as PNG if that is asked for and not too large, else as JPEG on white.
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
