package raster

import (
	"encoding/binary"
	"image"
	"strings"
)

// turn is how an image is turned to stand upright: a value of EXIF's tag Orientation, 1 to 8.
type turn int

const asIs turn = 1

// maxEntries bounds the entries of an EXIF directory that are looked at.
const maxEntries = 200

// orientation reads the tag Orientation of the first directory of EXIF (CIPA DC-008, section 4.6), asIs without one.
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

// jpegEXIF returns the EXIF of a JPEG: that of its first APP1 segment which has one.
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

// webpEXIF returns the EXIF of a WebP: its chunk of this name.
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

// upright returns an image turned as its EXIF says.
func upright(img *image.RGBA, t turn) *image.RGBA {
	if t == asIs {
		return img
	}
	width, height := img.Rect.Dx(), img.Rect.Dy()
	to := image.NewRGBA(image.Rect(0, 0, width, height))
	if t > 4 { // On its side.
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

// place returns where a pixel of an image of this size comes to stand.
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
	case 6: // To be turned clockwise.
		return bottom, x
	case 7: // Mirrored along the other diagonal.
		return bottom, right
	case 8: // To be turned counter-clockwise.
		return y, right
	}
	return x, y
}
