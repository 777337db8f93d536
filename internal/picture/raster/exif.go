package raster

import (
	"encoding/binary"
	"image"
	"strings"
)

// turn is the value of the EXIF tag Orientation, 1 to 8. It describes the rotation that makes an image upright.
type turn int

const asIs turn = 1

// maxEntries is the largest number of entries of an EXIF directory to read.
const maxEntries = 200

// orientation returns the tag Orientation of the first EXIF directory (CIPA DC-008, section 4.6), asIs if it is missing
// or invalid.
func orientation(exif []byte) turn {
	if len(exif) < 8 {
		return asIs
	}
	var order binary.ByteOrder
	switch string(exif[:4]) {
	case "II*\x00":
		order = binary.LittleEndian
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return asIs
	}
	at := int64(order.Uint32(exif[4:]))
	if at+2 > int64(len(exif)) {
		return asIs
	}
	entries := exif[at+2:]
	const size, tag, short = 12, 0x0112, 3
	for range min(int(order.Uint16(exif[at:])), maxEntries, len(entries)/size) {
		if order.Uint16(entries) == tag && order.Uint16(entries[2:]) == short {
			if value := turn(order.Uint16(entries[8:])); value >= asIs && value <= 8 {
				return value
			}
			return asIs
		}
		entries = entries[size:]
	}
	return asIs
}

// jpegEXIF returns the EXIF data of a JPEG file, from its first APP1 segment with EXIF, or nil.
func jpegEXIF(content []byte) []byte {
	const sos, app1, header = 0xDA, 0xE1, "Exif\x00\x00"
	for rest := content[2:]; len(rest) >= 4 && rest[0] == 0xFF && rest[1] != sos; {
		if rest[1] == 0xFF { // Padding.
			rest = rest[1:]
			continue
		}
		size := 2 + int(binary.BigEndian.Uint16(rest[2:]))
		if size > len(rest) || size < 4 {
			return nil
		}
		if segment := rest[4:size]; rest[1] == app1 && strings.HasPrefix(string(segment), header) {
			return segment[len(header):]
		}
		rest = rest[size:]
	}
	return nil
}

// pngEXIF returns the EXIF data of a PNG file, from its chunk eXIf (PNG, third edition, section 11.3.3.3), or nil.
func pngEXIF(content []byte) []byte {
	const signature, head, checksum = 8, 8, 4
	for rest := content[min(signature, len(content)):]; len(rest) >= head; {
		end := head + int64(binary.BigEndian.Uint32(rest))
		if end+checksum > int64(len(rest)) {
			return nil
		}
		if string(rest[4:head]) == "eXIf" {
			return rest[head:end]
		}
		rest = rest[end+checksum:]
	}
	return nil
}

// webpEXIF returns the EXIF data of a WebP file, from its chunk EXIF, or nil.
func webpEXIF(content []byte) []byte {
	const riff, head = 12, 8
	for rest := content[min(riff, len(content)):]; len(rest) >= head; {
		size := int64(binary.LittleEndian.Uint32(rest[4:]))
		if head+size > int64(len(rest)) {
			return nil
		}
		if string(rest[:4]) == "EXIF" {
			return []byte(strings.TrimPrefix(string(rest[head:head+size]), "Exif\x00\x00"))
		}
		rest = rest[min(head+size+size%2, int64(len(rest))):]
	}
	return nil
}

// upright returns an image rotated and mirrored according to t.
func upright(img *image.RGBA, t turn) *image.RGBA {
	if t == asIs {
		return img
	}
	width, height := img.Rect.Dx(), img.Rect.Dy()
	to := image.NewRGBA(image.Rect(0, 0, width, height))
	if t > 4 { // Rotated by 90 degrees.
		to = image.NewRGBA(image.Rect(0, 0, height, width))
	}
	for y := range height {
		for x := range width {
			toX, toY := t.place(x, y, width, height)
			to.SetRGBA(toX, toY, img.RGBAAt(x, y))
		}
	}
	return to
}

// place returns the position of a pixel after the rotation of an image of this size.
func (t turn) place(x, y, width, height int) (toX, toY int) {
	right, bottom := width-1-x, height-1-y
	switch t {
	case 2: // Mirrored left to right.
		return right, y
	case 3: // Upside down.
		return right, bottom
	case 4: // Mirrored top to bottom.
		return x, bottom
	case 5: // Mirrored along the diagonal.
		return y, x
	case 6: // Needs a clockwise rotation.
		return bottom, x
	case 7: // Mirrored along the other diagonal.
		return bottom, right
	case 8: // Needs a counter-clockwise rotation.
		return y, right
	}
	return x, y
}
