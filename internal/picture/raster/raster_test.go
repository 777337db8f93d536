package raster_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/picture/raster"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

var (
	red   = color.NRGBA{200, 0, 0, 255}
	white = color.NRGBA{255, 255, 255, 255}
)

// corner returns a white image whose upper left quarter is red.
func corner(width, height int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			img.SetNRGBA(x, y, white)
			if x < width/2 && y < height/2 {
				img.SetNRGBA(x, y, red)
			}
		}
	}
	return img
}

// noise returns an image that no format compresses well.
func noise(width, height int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	state := uint32(1)
	for i := range img.Pix {
		state = state*1664525 + 1013904223
		img.Pix[i] = byte(state>>24) | byte(i%4/3*255)
	}
	return img
}

func encodePNG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	must.Succeed(t, png.Encode(&out, img))
	return out.Bytes()
}

func encodeJPEG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	must.Succeed(t, jpeg.Encode(&out, img, nil))
	return out.Bytes()
}

// place is the location in the EXIF data of these tests.
const place = "35 deg 40 min N, Nihonbashi"

// exif returns a TIFF header and a directory with an orientation and a pointer to a GPS directory with the text place.
func exif(order binary.AppendByteOrder, orientation uint16) []byte {
	mark := "II*\x00"
	if order == binary.AppendByteOrder(binary.BigEndian) {
		mark = "MM\x00*"
	}
	entry := func(b []byte, tag, kind uint16, count, value uint32) []byte {
		b = order.AppendUint16(order.AppendUint16(b, tag), kind)
		return order.AppendUint32(order.AppendUint32(b, count), value)
	}
	b := order.AppendUint32([]byte(mark), 8)
	b = order.AppendUint16(b, 2)
	b = order.AppendUint16(order.AppendUint16(b, 0x0112), 3)
	b = order.AppendUint16(order.AppendUint16(order.AppendUint32(b, 1), orientation), 0)
	b = entry(b, 0x8825, 4, 1, 38)
	b = order.AppendUint32(b, 0)
	b = order.AppendUint16(b, 1)
	b = entry(b, 0x001B, 7, uint32(len(place)), 56)
	b = order.AppendUint32(b, 0)
	return append(b, place...)
}

// photograph returns a JPEG with EXIF.
func photograph(t testing.TB, img image.Image, exif []byte) []byte {
	t.Helper()
	plain := encodeJPEG(t, img)
	segment := append([]byte("Exif\x00\x00"), exif...)
	head := binary.BigEndian.AppendUint16([]byte{0xFF, 0xD8, 0xFF, 0xE1}, uint16(len(segment)+2)) //nolint:gosec // Short.
	return append(append(head, segment...), plain[2:]...)
}

// withEXIF adds a chunk with EXIF to a WebP file.
func withEXIF(content, exif []byte) []byte {
	content = append(bytes.Clone(content), "EXIF"...)
	content = binary.LittleEndian.AppendUint32(content, uint32(len(exif))) //nolint:gosec // Short.
	content = append(content, exif...)
	binary.LittleEndian.PutUint32(content[4:], uint32(len(content)-8)) //nolint:gosec // Short.
	return content
}

func read(t testing.TB, content []byte) (raster.Picture, image.Image) {
	t.Helper()
	p := must.Get(raster.Read(content))(t)
	full, form, err := image.Decode(bytes.NewReader(p.Full))
	if err != nil || "image/"+form != p.MediaType || full.Bounds().Dx() != p.Width || full.Bounds().Dy() != p.Height {
		t.Fatalf("%s of %v, %v: %+v", form, full.Bounds(), err, p.MediaType)
	}
	small, form, err := image.Decode(bytes.NewReader(p.Thumbnail))
	if err != nil || "image/"+form != p.MediaType || max(small.Bounds().Dx(), small.Bounds().Dy()) > 400 {
		t.Fatalf("thumbnail: %s of %v, %v", form, small.Bounds(), err)
	}
	return p, full
}

// like reports whether two colours are nearly the same.
func like(a, b color.Color) bool {
	ar, ag, ab, aa := a.RGBA()
	br, bg, bb, ba := b.RGBA()
	for _, d := range []int{int(ar) - int(br), int(ag) - int(bg), int(ab) - int(bb), int(aa) - int(ba)} {
		if d > 0x1800 || d < -0x1800 {
			return false
		}
	}
	return true
}

func testdata(t testing.TB, name string) []byte {
	t.Helper()
	content := must.Get(os.ReadFile("testdata/" + name))(t)
	return content
}

func TestPicturesAreScaledDown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content       []byte
		media         string
		width, height int
	}{
		"small":             {encodePNG(t, corner(40, 30)), raster.PNG, 40, 30},
		"one pixel":         {encodePNG(t, corner(1, 1)), raster.PNG, 1, 1},
		"a screenshot":      {encodePNG(t, corner(3840, 2160)), raster.PNG, 2048, 1152},
		"a photograph":      {encodeJPEG(t, corner(3000, 4000)), raster.JPEG, 1536, 2048},
		"several halves":    {encodeJPEG(t, corner(9000, 90)), raster.JPEG, 2048, 20},
		"a line":            {encodePNG(t, corner(20_000, 1)), raster.PNG, 2048, 1},
		"PNG of a camera":   {encodePNG(t, noise(1600, 1200)), raster.JPEG, 1600, 1200},
		"WebP":              {testdata(t, "opaque.webp"), raster.JPEG, 60, 40},
		"transparent WebP":  {testdata(t, "transparent.webp"), raster.PNG, 60, 40},
		"WebP on its side":  {withEXIF(testdata(t, "opaque.webp"), exif(binary.LittleEndian, 6)), raster.JPEG, 40, 60},
		"JPEG on its side":  {photograph(t, corner(60, 40), exif(binary.BigEndian, 8)), raster.JPEG, 40, 60},
		"PNG on its side":   {withChunk(encodePNG(t, corner(60, 40)), "eXIf", exif(binary.BigEndian, 6)), raster.PNG, 40, 60},
		"an EXIF cut off":   {withChunk(encodePNG(t, corner(60, 40)), "eXIf", exif(binary.BigEndian, 6)[:20]), raster.PNG, 60, 40},
		"a broken EXIF":     {photograph(t, corner(60, 40), []byte("II*\x00\xFF\xFF\xFF\xFF")), raster.JPEG, 60, 40},
		"large on its side": {photograph(t, corner(4000, 3000), exif(binary.BigEndian, 6)), raster.JPEG, 1536, 2048},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := read(t, c.content)
			if p.MediaType != c.media || p.Width != c.width || p.Height != c.height {
				t.Errorf("%s of %d × %d, want %s of %d × %d", p.MediaType, p.Width, p.Height, c.media, c.width, c.height)
			}
		})
	}
}

// TestR98_NothingButPixelsIsKept verifies that the stored picture has no EXIF data, in particular no location.
func TestR98_NothingButPixelsIsKept(t *testing.T) {
	t.Parallel()
	for name, content := range map[string][]byte{
		"JPEG": photograph(t, corner(60, 40), exif(binary.LittleEndian, 1)),
		"WebP": withEXIF(testdata(t, "opaque.webp"), exif(binary.LittleEndian, 1)),
		"PNG":  withChunk(encodePNG(t, corner(60, 40)), "eXIf", exif(binary.LittleEndian, 1)),
	} {
		if !bytes.Contains(content, []byte(place)) {
			t.Fatalf("the %s of this test has no location", name)
		}
		p, _ := read(t, content)
		for form, kept := range map[string][]byte{"full": p.Full, "thumbnail": p.Thumbnail} {
			if bytes.Contains(kept, []byte("Exif")) || bytes.Contains(kept, []byte("Nihonbashi")) {
				t.Errorf("%s, %s: its EXIF was stored", name, form)
			}
		}
	}
}

// TestRotatesPicturesUpright verifies the position of the red quarter for each orientation.
func TestRotatesPicturesUpright(t *testing.T) {
	t.Parallel()
	for orientation, want := range map[uint16]image.Point{
		0: {0, 0}, 1: {0, 0}, 2: {1, 0}, 3: {1, 1}, 4: {0, 1}, 5: {0, 0}, 6: {1, 0}, 7: {1, 1}, 8: {0, 1}, 9: {0, 0},
	} {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			p, full := read(t, photograph(t, corner(64, 32), exif(order, orientation)))
			for x := range 2 {
				for y := range 2 {
					at := full.At(p.Width/4+x*p.Width/2, p.Height/4+y*p.Height/2)
					if isRed := (image.Point{x, y}) == want; isRed != like(at, red) || isRed == like(at, white) {
						t.Errorf("orientation %d: %v at %d, %d", orientation, at, x, y)
					}
				}
			}
		}
	}
}

func TestTransparencyIsKept(t *testing.T) {
	t.Parallel()
	p, full := read(t, testdata(t, "transparent.webp"))
	if p.MediaType != raster.PNG || !like(full.At(50, 5), color.Transparent) || !like(full.At(5, 5), red) {
		t.Errorf("%s: %v and %v", p.MediaType, full.At(50, 5), full.At(5, 5))
	}
	faint := noise(1600, 1200) // Too large for PNG: JPEG mixes its colours with white.
	for i := 3; i < 100*faint.Stride; i += 4 {
		faint.Pix[i] = 0
	}
	if p, full := read(t, encodePNG(t, faint)); p.MediaType != raster.JPEG || !like(full.At(9, 9), color.White) {
		t.Errorf("%s with %v where the picture is transparent", p.MediaType, full.At(9, 9))
	}
}

// chunk returns a chunk of a PNG file.
func chunk(kind string, data []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(data))) //nolint:gosec // Short.
	b = append(append(b, kind...), data...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
}

// withChunk adds a chunk to a PNG file, after its header.
func withChunk(content []byte, kind string, data []byte) []byte {
	const head = 8 + 25 // The signature and IHDR.
	return slices.Concat(content[:head], chunk(kind, data), content[head:])
}

// bomb returns a PNG of a few hundred bytes whose header claims a huge size.
func bomb(width, height uint32) []byte {
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height)
	b := append([]byte("\x89PNG\r\n\x1A\n"), chunk("IHDR", append(head, 8, 6, 0, 0, 0))...)
	return append(append(b, chunk("IDAT", make([]byte, 100))...), chunk("IEND", nil)...)
}

// TestR98_LargePicturesAreRefusedBeforeTheyAreDecoded uses small files with large pictures.
func TestR98_LargePicturesAreRefusedBeforeTheyAreDecoded(t *testing.T) {
	t.Parallel()
	tall := withEXIF(testdata(t, "opaque.webp"), nil)
	copy(tall[24:], "\xFF\xFF\xFF\xFF\xFF\x00") // The header claims 16,777,216 × 65,536 pixels.
	for name, content := range map[string][]byte{
		"PNG": bomb(30_000, 30_000), "wide": bomb(30_001, 1), "overflowing": bomb(1<<31-1, 1<<31-1), "WebP": tall,
	} {
		began := time.Now()
		_, err := raster.Read(content)
		wrong, ok := errors.AsType[*fault.UnreadableError](err)
		if !ok || wrong.Code != fault.FileTooLarge && name != "overflowing" && name != "WebP" {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("%s: that took %v", name, took)
		}
	}
}

func TestErrorsContainAdvice(t *testing.T) {
	t.Parallel()
	var moving bytes.Buffer
	must.Succeed(t, gif.Encode(&moving, corner(4, 4), nil))
	whole := encodeJPEG(t, corner(400, 400))
	for name, c := range map[string]struct {
		content []byte
		code    fault.FileCode
		says    string
	}{
		"HEIC":         {[]byte("\x00\x00\x00\x24ftypheic\x00\x00\x00\x00mif1heic"), fault.FileUnsupported, "互換性優先"},
		"HEIC by mif1": {[]byte("\x00\x00\x00\x18ftypmif1\x00\x00\x00\x00mif1heix"), fault.FileUnsupported, "互換性優先"},
		"AVIF":         {[]byte("\x00\x00\x00\x1cftypmif1\x00\x00\x00\x00avif"), fault.FileUnsupported, "AVIF"},
		"a film": {
			[]byte("\x00\x00\x00\x1cftypisom\x00\x00\x02\x00isom"), fault.FileUnsupported, "JPEG、PNG、WebP",
		},
		"GIF":            {moving.Bytes(), fault.FileUnsupported, "GIF"},
		"TIFF":           {[]byte("II*\x00\x08\x00\x00\x00"), fault.FileUnsupported, "TIFF"},
		"BMP":            {[]byte("BM\x00\x00"), fault.FileUnsupported, "BMP"},
		"SVG":            {[]byte("<?xml version='1.0'?><svg xmlns=''>"), fault.FileUnsupported, "SVG"},
		"PDF":            {[]byte("%PDF-1.7"), fault.FileUnsupported, "「ファイル」の画面"},
		"text":           {[]byte("こんにちは"), fault.FileUnsupported, "JPEG、PNG、WebP"},
		"nothing":        {nil, fault.FileUnsupported, "JPEG、PNG、WebP"},
		"half a JPEG":    {whole[:len(whole)/2], fault.FileCorrupt, "保存し直して"},
		"a JPEG's start": {whole[:3], fault.FileCorrupt, "保存し直して"},
		"a WebP's start": {testdata(t, "opaque.webp")[:40], fault.FileCorrupt, "動く画像"},
	} {
		_, err := raster.Read(c.content)
		wrong, ok := errors.AsType[*fault.UnreadableError](err)
		if !ok || wrong.Code != c.code || !strings.Contains(wrong.Reason, c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzR98_Pictures verifies that Read returns either a picture within the limits or an error with a reason, for any
// bytes.
func FuzzR98_Pictures(f *testing.F) {
	for _, seed := range [][]byte{
		encodePNG(f, corner(9, 5)), encodeJPEG(f, corner(9, 5)), testdata(f, "opaque.webp"),
		testdata(f, "transparent.webp"), photograph(f, corner(9, 5), exif(binary.LittleEndian, 6)),
		withEXIF(testdata(f, "opaque.webp"), exif(binary.BigEndian, 3)),
		withChunk(encodePNG(f, corner(9, 5)), "eXIf", exif(binary.LittleEndian, 8)), bomb(30_000, 30_000),
		[]byte("\x00\x00\x00\x24ftypheic\x00\x00\x00\x00mif1heic"), []byte("RIFF\x00\x00\x00\x00WEBP"),
		{0xFF, 0xD8, 0xFF, 0xE1, 0, 2},
		{0xFF, 0xD8, 0xFF, 0xFF, 0xE1, 0, 0},
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		size, _, err := image.DecodeConfig(bytes.NewReader(content))
		if err == nil && size.Width*size.Height > 1<<22 && size.Width*size.Height <= raster.MaxPixels {
			return // Decoding it would take too long.
		}
		p, err := raster.Read(content)
		if err != nil {
			if wrong, ok := errors.AsType[*fault.UnreadableError](err); !ok || wrong.Reason == "" {
				t.Fatalf("%v is not a *fault.UnreadableError", err)
			}
			return
		}
		for bound, form := range map[int][]byte{raster.MaxSide: p.Full, raster.MaxThumbnail: p.Thumbnail} {
			kept, _, err := image.DecodeConfig(bytes.NewReader(form))
			if err != nil || max(kept.Width, kept.Height) > bound {
				t.Fatalf("%d × %d, %v", kept.Width, kept.Height, err)
			}
		}
	})
}
