package pdf

import (
	"bytes"
	"image"
	"image/png"
)

// Limits of a picture, in pixels.
const (
	MinWidth  = 200
	MaxWidth  = 2000
	maxHeight = 6000
)

// Arguments of PDFium functions.
const (
	formatBGRx      = 3
	withAnnotations = 1
	white           = 0xFFFFFFFF
)

// Picture returns a page as a PNG with a width from MinWidth to MaxWidth; i counts from 0. It crops a page that is
// higher than maxHeight.
func (d *Document) Picture(i, width int) ([]byte, error) {
	e := d.e
	page, err := d.load(i)
	if err != nil {
		return nil, err
	}
	defer d.closePage(page)
	show, err := d.shown(page)
	if err != nil {
		return nil, err
	}
	full := max(1, int(float64(width)*show.height/show.width+0.5))
	height := min(full, maxHeight)
	w, h := uint64(width), uint64(height) //nolint:gosec // Positive.
	bitmap, err := e.call("FPDFBitmap_CreateEx", w, h, formatBGRx, 0, 0)
	if err != nil {
		return nil, err
	}
	if bitmap == 0 {
		return nil, ErrCorrupt
	}
	defer func() { _, _ = e.call("FPDFBitmap_Destroy", bitmap) }()
	if _, err = e.call("FPDFBitmap_FillRect", bitmap, 0, 0, w, h, white); err != nil {
		return nil, err
	}
	//nolint:gosec // Positive.
	if _, err = e.call("FPDF_RenderPageBitmap", bitmap, page, 0, 0, w, uint64(full), 0, withAnnotations); err != nil {
		return nil, err
	}
	buffer, err := e.call("FPDFBitmap_GetBuffer", bitmap)
	if err != nil {
		return nil, err
	}
	//nolint:gosec // Addresses have 32 bits.
	pixels, ok := e.module.Memory().Read(uint32(buffer), uint32(4*width*height))
	if !ok {
		return nil, ErrCorrupt
	}
	picture := image.NewRGBA(image.Rect(0, 0, width, height))
	for k := 0; k < len(pixels); k += 4 {
		picture.Pix[k], picture.Pix[k+1], picture.Pix[k+2], picture.Pix[k+3] = pixels[k+2], pixels[k+1], pixels[k], 0xFF
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	err = encoder.Encode(&out, picture)
	return out.Bytes(), err
}
