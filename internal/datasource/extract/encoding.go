package extract

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/japanese"
	xunicode "golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

var (
	utf16LE = xunicode.UTF16(xunicode.LittleEndian, xunicode.IgnoreBOM)
	utf16BE = xunicode.UTF16(xunicode.BigEndian, xunicode.IgnoreBOM)
)

// stride is the number of bytes processed between two checks of the context.
const stride = 1 << 20

// decode returns the content as clean text (see clean). It takes the charset from a byte order mark, otherwise from
// declared if the content is valid in it, otherwise from detect. For content that is not text, the error is an
// *fault.UnreadableError.
func decode(ctx context.Context, content []byte, declared string) (string, error) {
	charset, body := fromMark(content)
	if charset == nil {
		charset = fromName(declared)
		if charset == nil || !agrees(charset, body) {
			charset = detect(body)
		}
	}
	if charset == nil {
		return "", &fault.UnreadableError{Code: fault.FileCorrupt, Reason: reasonBinary}
	}
	text, err := decodeWith(ctx, body, charset)
	if err != nil {
		return "", err
	}
	return clean(ctx, text)
}

// fromMark returns the encoding of a byte order mark and the content after the mark.
func fromMark(b []byte) (encoding.Encoding, []byte) {
	switch {
	case bytes.HasPrefix(b, []byte{0xEF, 0xBB, 0xBF}):
		return xunicode.UTF8, b[3:]
	case bytes.HasPrefix(b, []byte{0xFF, 0xFE}):
		return utf16LE, b[2:]
	case bytes.HasPrefix(b, []byte{0xFE, 0xFF}):
		return utf16BE, b[2:]
	}
	return nil, b
}

// fromName returns the charset of an HTML encoding label.
func fromName(label string) encoding.Encoding {
	switch strings.ToLower(label) {
	case "utf-8", "utf8":
		return xunicode.UTF8
	case "shift_jis", "shift-jis", "sjis", "x-sjis", "ms_kanji", "windows-31j", "ms932", "cp932", "csshiftjis":
		return japanese.ShiftJIS
	case "euc-jp", "x-euc-jp", "eucjp", "cseucpkdfmtjapanese":
		return japanese.EUCJP
	case "iso-2022-jp", "csiso2022jp":
		return japanese.ISO2022JP
	}
	charset, err := htmlindex.Get(label)
	if err != nil {
		return nil
	}
	switch charset {
	case utf16LE, utf16BE, encoding.Replacement, charmap.XUserDefined: // A page whose label can be read has none of them.
		return nil
	}
	return charset
}

// agrees reports whether the content is valid in a declared charset. Declarations can be wrong, for example when they
// were copied from another page.
func agrees(charset encoding.Encoding, b []byte) bool {
	var r charsetScore
	switch charset {
	case xunicode.UTF8:
		r = readUTF8(b)
	case japanese.ShiftJIS:
		r = readShiftJIS(b)
	case japanese.EUCJP:
		r = readEUCJP(b)
	case japanese.ISO2022JP:
		return hasJISEscape(b)
	default:
		return agreesForeign(charset, b)
	}
	return r.errors*20 <= r.chars
}

// agreesForeign reports whether the content is valid in a declared charset of another language. Editors and servers
// declare some of them by default for Japanese content, which has many kana in its own charset.
func agreesForeign(charset encoding.Encoding, b []byte) bool {
	if readUTF8(b).errors == 0 {
		return false
	}
	for _, r := range []charsetScore{readShiftJIS(b), readEUCJP(b)} {
		if r.errors*20 <= r.chars && r.kana*5 >= r.chars {
			return false
		}
	}
	const sample = 64 << 10
	text, err := charset.NewDecoder().Bytes(b[:min(len(b), sample)])
	broken := bytes.Count(text, []byte(string(utf8.RuneError)))
	return err == nil && broken*20 <= utf8.RuneCount(text)
}

// detect returns the most likely charset. It returns nil only for content with many NUL bytes that is not UTF-16.
func detect(b []byte) encoding.Encoding {
	asUTF8 := readUTF8(b)
	if nuls := bytes.Count(b, []byte{0}); nuls > 0 {
		switch {
		case asUTF8.errors == 0 && nuls*50 < len(b):
			return xunicode.UTF8
		case likelyUTF16(b) != nil:
			return likelyUTF16(b)
		case nuls*50 >= len(b):
			return nil
		}
	}
	if hasJISEscape(b) {
		return japanese.ISO2022JP
	}
	// Accept a few broken bytes in a long UTF-8 text, as in truncated or concatenated files.
	if asUTF8.errors*20 <= asUTF8.chars {
		return xunicode.UTF8
	}
	if readEUCJP(b).cost < readShiftJIS(b).cost {
		return japanese.EUCJP
	}
	return japanese.ShiftJIS
}

// hasJISEscape reports whether seven-bit content contains the escape sequences of ISO-2022-JP.
func hasJISEscape(b []byte) bool {
	for _, esc := range []string{"\x1b$B", "\x1b$@", "\x1b$(D", "\x1b(I"} {
		if bytes.Contains(b, []byte(esc)) {
			return bytes.IndexFunc(b, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
		}
	}
	return false
}

// likelyUTF16 guesses the byte order of UTF-16 text without a byte order mark. It returns nil for other content. The
// wrong byte order converts ASCII and kana into rare characters, so it counts these at the start of the content.
func likelyUTF16(b []byte) encoding.Encoding {
	sample := b[:min(len(b), 256<<10)&^1]
	score := func(order binary.ByteOrder) (usual int, ok bool) {
		odd := 0
		for i := 0; i < len(sample); i += 2 {
			switch r := rune(order.Uint16(sample[i:])); {
			case r >= 0x20 && r < 0x7F, r == '\t', r == '\n', r == '\r', r >= 0x3000 && r <= 0x30FF:
				usual++
			case utf16.IsSurrogate(r), unicode.IsGraphic(r), r == 0x1A:
			default:
				odd++
			}
		}
		return usual, usual*20 > len(sample)/2 && odd*50 <= len(sample)/2
	}
	little, okLE := score(binary.LittleEndian)
	big, okBE := score(binary.BigEndian)
	switch {
	case okLE && (!okBE || little >= big):
		return utf16LE
	case okBE:
		return utf16BE
	}
	return nil
}

// charsetScore is the score of content in one charset.
type charsetScore struct {
	chars  int // Non-ASCII characters.
	kana   int // Full-width kana among them. Not counted for UTF-8.
	errors int // Invalid bytes.
	cost   int // Total cost: rare characters cost more than common ones, and errors cost most.
}

func (r *charsetScore) add(cost int) {
	r.chars++
	r.cost += cost
	if cost == costKana {
		r.kana++
	}
}

func (r *charsetScore) fail() {
	r.errors++
	r.cost += costError
}

// Costs of characters. Kana cost nothing because every Japanese text contains them. EUC-JP interpreted as Shift_JIS
// results in half-width kana, two for each character.
const (
	costKana     = 0
	costUsual    = 1 // Full-width signs and letters, and kanji of JIS level 1.
	costHalfKana = 2
	costRare     = 6 // Kanji of level 2, extensions.
	costError    = 40
)

func readUTF8(b []byte) (r charsetScore) {
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			i++
			continue
		}
		c, size := utf8.DecodeRune(b[i:])
		if c == utf8.RuneError && size == 1 {
			r.fail()
		} else {
			r.add(costUsual)
		}
		i += size
	}
	return r
}

func readShiftJIS(b []byte) (r charsetScore) {
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch {
		case c < 0x80:
			continue
		case c >= 0xA1 && c <= 0xDF:
			r.add(costHalfKana)
			continue
		case c == 0x80, c == 0xA0, c >= 0xFD, i+1 == len(b):
			r.fail()
			continue
		}
		t := b[i+1]
		if t < 0x40 || t == 0x7F || t > 0xFC {
			r.fail() // The next byte may be a character itself.
			continue
		}
		i++
		switch {
		case c == 0x82 && t >= 0x9F && t <= 0xF1, c == 0x83 && t <= 0x96:
			r.add(costKana)
		case c <= 0x82, c >= 0x88 && c <= 0x98:
			r.add(costUsual)
		case c == 0x85, c == 0x86, c == 0xEB, c == 0xEC, c == 0xEF:
			r.fail() // Unassigned rows.
		default:
			r.add(costRare)
		}
	}
	return r
}

func readEUCJP(b []byte) (r charsetScore) {
	high := func(i int) bool { return i < len(b) && b[i] >= 0xA1 && b[i] <= 0xFE }
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch {
		case c < 0x80:
		case c == 0x8E && high(i+1) && b[i+1] <= 0xDF:
			i++
			r.add(costHalfKana)
		case c == 0x8F && high(i+1) && high(i+2):
			i += 2
			r.add(costRare)
		case !high(i) || !high(i+1):
			r.fail()
		default:
			i++
			switch {
			case c == 0xA4, c == 0xA5:
				r.add(costKana)
			case c == 0xA1, c == 0xA3, c >= 0xB0 && c <= 0xCF:
				r.add(costUsual)
			case c >= 0xA9 && c <= 0xAC, c == 0xAE, c == 0xAF:
				r.fail() // Unassigned rows.
			default:
				r.add(costRare)
			}
		}
	}
	return r
}

// decodeWith decodes in pieces, so that the context can stop it. It replaces undefined characters with U+FFFD.
func decodeWith(ctx context.Context, b []byte, charset encoding.Encoding) (string, error) {
	switch charset {
	case xunicode.UTF8:
		return strings.ToValidUTF8(string(b), string(utf8.RuneError)), ctx.Err()
	case utf16LE, utf16BE:
		b = b[:len(b)&^1] // Half a character at the end of a truncated file.
	}
	var out strings.Builder
	out.Grow(len(b) + len(b)/2)
	w := transform.NewWriter(&out, charset.NewDecoder())
	for piece := range slices.Chunk(b, stride) {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if _, err := w.Write(piece); err != nil {
			return "", err
		}
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return out.String(), nil
}

// clean normalizes line ends to \n and removes control characters except tabs. If more than a twentieth of the text is
// control or replacement characters, it returns an *fault.UnreadableError.
func clean(ctx context.Context, text string) (string, error) {
	var out strings.Builder
	out.Grow(len(text))
	runes, broken, from := 0, 0, 0
	text = strings.TrimPrefix(text, "\uFEFF")
	next := stride
	for i, r := range text {
		if i >= next {
			next = i + stride
			if err := ctx.Err(); err != nil {
				return "", err
			}
		}
		runes++
		if r == utf8.RuneError {
			broken++
		}
		if withoutControl(r) == r {
			continue
		}
		out.WriteString(text[from:i])
		from = i + 1
		switch {
		case r == '\r' && strings.HasPrefix(text[i+1:], "\n"):
		case r == '\r', r == '\f', r == '\v':
			out.WriteByte('\n')
		default:
			broken++
		}
	}
	if broken*20 > runes {
		return "", &fault.UnreadableError{Code: fault.FileCorrupt, Reason: reasonBinary}
	}
	out.WriteString(text[from:])
	return out.String(), nil
}

// withoutControl returns r, or -1 for a control character other than tab and line feed.
func withoutControl(r rune) rune {
	if r < 0x20 && r != '\n' && r != '\t' || r == 0x7F {
		return -1
	}
	return r
}
