package raster

import (
	"bytes"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Errors for pictures of any format.
var (
	ErrTooLarge = &fault.UnreadableError{Code: fault.FileTooLarge, Reason: "画像が大きすぎるため、読み取れませんでした。" +
		"5,000万画素以下に縮小してから、もう一度追加してください。"}
	ErrBroken = &fault.UnreadableError{Code: fault.FileCorrupt, Reason: "画像が壊れているか、特殊な作りのため、読み取れませんでした。" +
		"別のアプリで開き、JPEGかPNGで保存し直してから、もう一度追加してください。"}
)

// Errors for pictures of one format.
var (
	errWebP = &fault.UnreadableError{Code: fault.FileCorrupt, Reason: "このWebP画像は、動く画像か特殊な作りのため、読み取れませんでした。" +
		"JPEGかPNGで保存し直してから、もう一度追加してください。"}
	errHEIC = unsupported("HEIC形式の画像は使えません。iPhoneでは、「設定」＞「カメラ」＞「フォーマット」で「互換性優先」を選んで撮影するか、" +
		"写真をJPEGで書き出してから追加してください。")
	errAVIF    = unsupported("AVIF形式の画像は使えません。JPEGかPNGで保存し直してから追加してください。")
	errGIF     = unsupported("GIF形式の画像は使えません。必要な場面をJPEGかPNGで保存し直してから追加してください。")
	errTIFF    = unsupported("TIFF形式の画像は使えません。JPEGかPNGで保存し直してから追加してください。")
	errBMP     = unsupported("BMP形式の画像は使えません。JPEGかPNGで保存し直してから追加してください。")
	errSVG     = unsupported("SVG形式の画像は使えません。PNGで書き出してから追加してください。")
	errPDF     = unsupported("PDFは画像として追加できません。「ファイル」の画面で追加してください。")
	errUnknown = unsupported("対応していない形式です。使える画像は、JPEG、PNG、WebPです。")
)

func unsupported(reason string) *fault.UnreadableError {
	return &fault.UnreadableError{Code: fault.FileUnsupported, Reason: reason}
}

// formOf detects the format of a picture from its first bytes, regardless of its name.
func formOf(content []byte) (form, error) {
	starts := func(with string) bool { return strings.HasPrefix(string(content[:min(len(content), 16)]), with) }
	switch {
	case starts("\xFF\xD8\xFF"):
		return jpegForm, nil
	case starts("\x89PNG\r\n\x1A\n"):
		return pngForm, nil
	case starts("RIFF") && len(content) >= 12 && string(content[8:12]) == "WEBP":
		return webpForm, nil
	case len(content) >= 12 && string(content[4:8]) == "ftyp":
		return form{}, errOfBrand(content)
	case starts("GIF8"):
		return form{}, errGIF
	case starts("II*\x00"), starts("MM\x00*"):
		return form{}, errTIFF
	case starts("BM"):
		return form{}, errBMP
	case starts("%PDF"):
		return form{}, errPDF
	case bytes.Contains(content[:min(len(content), 512)], []byte("<svg")):
		return form{}, errSVG
	}
	return form{}, errUnknown
}

// maxBrands is the largest number of brands of a file to read.
const maxBrands = 32

// errOfBrand returns the error for a file in the ISO base media format (ISO/IEC 14496-12, section 4.3), by its major
// brand and its compatible brands.
func errOfBrand(content []byte) error {
	for at := 8; at+4 <= len(content) && at < 8+4*maxBrands; at += 4 {
		switch string(content[at : at+4]) {
		case "avif", "avis":
			return errAVIF
		case "heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs":
			return errHEIC
		}
	}
	switch string(content[8:12]) {
	case "mif1", "msf1": // Probably a picture of a phone.
		return errHEIC
	}
	return errUnknown
}
