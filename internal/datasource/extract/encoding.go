package extract

import (
	"bytes"
	"context"
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/transform"
)

// charset is an encoding that text may come in.
type charset int

const (
	unknown charset = iota
	utf8Text
	utf16LE
	utf16BE
	iso2022JP
	shiftJIS // As Windows writes it: CP932, with the extensions of NEC and IBM.
	eucJP
)

// stride is how many bytes are processed between two checks of the context.
const stride = 1 << 20

// decode returns the content as clean text, see clean. The charset is that of a byte order mark, else the declared one
// if the content agrees, else the one that fits the content best. Content that is no text is *Unreadable.
func decode(ctx context.Context, content []byte, declared string) (string, error) {
	cs, body := fromMark(content)
	if cs == unknown {
		cs = fromName(declared)
		if cs == unknown || !agrees(cs, body) {
			cs = detect(body)
		}
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	var text string
	var err error
	switch cs {
	case utf8Text:
		text = strings.ToValidUTF8(string(body), string(utf8.RuneError))
	case utf16LE:
		text, err = decodeUTF16(ctx, body, binary.LittleEndian)
	case utf16BE:
		text, err = decodeUTF16(ctx, body, binary.BigEndian)
	case iso2022JP:
		text, err = decodeWith(ctx, body, japanese.ISO2022JP)
	case shiftJIS:
		text, err = decodeWith(ctx, body, japanese.ShiftJIS)
	case eucJP:
		text, err = decodeWith(ctx, body, japanese.EUCJP)
	default:
		return "", &Unreadable{Corrupt, reasonBinary}
	}
	if err != nil {
		return "", err
	}
	return clean(ctx, text)
}

// fromMark returns the charset that a byte order mark names, and the content behind the mark.
func fromMark(b []byte) (charset, []byte) {
	switch {
	case bytes.HasPrefix(b, []byte{0xEF, 0xBB, 0xBF}):
		return utf8Text, b[3:]
	case bytes.HasPrefix(b, []byte{0xFF, 0xFE}):
		return utf16LE, b[2:]
	case bytes.HasPrefix(b, []byte{0xFE, 0xFF}):
		return utf16BE, b[2:]
	}
	return unknown, b
}

// fromName returns the charset of a label as HTML pages use it.
func fromName(label string) charset {
	switch strings.ToLower(label) {
	case "utf-8", "utf8":
		return utf8Text
	case "shift_jis", "shift-jis", "sjis", "x-sjis", "ms_kanji", "windows-31j", "ms932", "cp932", "csshiftjis":
		return shiftJIS
	case "euc-jp", "x-euc-jp", "eucjp", "cseucpkdfmtjapanese":
		return eucJP
	case "iso-2022-jp", "csiso2022jp":
		return iso2022JP
	}
	return unknown
}

// agrees reports whether the content can be in a charset that it claims: labels are often copied from other pages.
func agrees(cs charset, b []byte) bool {
	var r reading
	switch cs {
	case utf8Text:
		r = readUTF8(b)
	case shiftJIS:
		r = readShiftJIS(b)
	case eucJP:
		r = readEUCJP(b)
	case iso2022JP:
		return hasJISEscape(b)
	}
	return r.errors*20 <= r.chars
}

// detect returns the charset that fits the content best. It never returns unknown but for content with many NULs that
// is no UTF-16.
func detect(b []byte) charset {
	asUTF8 := readUTF8(b)
	if nuls := bytes.Count(b, []byte{0}); nuls > 0 {
		switch {
		case asUTF8.errors == 0 && nuls*50 < len(b):
			return utf8Text
		case likelyUTF16(b) != unknown:
			return likelyUTF16(b)
		case nuls*50 >= len(b):
			return unknown
		}
	}
	if hasJISEscape(b) {
		return iso2022JP
	}
	// A few broken bytes in long UTF-8, as a cut or a joined file has them, must not turn it into another charset.
	if asUTF8.errors*20 <= asUTF8.chars {
		return utf8Text
	}
	if readEUCJP(b).cost < readShiftJIS(b).cost {
		return eucJP
	}
	return shiftJIS
}

// hasJISEscape reports whether seven-bit content switches to Japanese the way ISO-2022-JP does.
func hasJISEscape(b []byte) bool {
	for _, esc := range []string{"\x1b$B", "\x1b$@", "\x1b$(D", "\x1b(I"} {
		if bytes.Contains(b, []byte(esc)) {
			return bytes.IndexFunc(b, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
		}
	}
	return false
}

// likelyUTF16 returns the byte order in which content without a mark is plausible text, or unknown. What tells is the
// share of ASCII and kana, which the wrong order turns into rare signs; the start of the content is enough.
func likelyUTF16(b []byte) charset {
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
	return unknown
}

// reading scores content as text in a charset.
type reading struct {
	chars  int // Characters beyond ASCII.
	errors int // Bytes that are no character.
	cost   int // How unlikely it is: rare characters cost more than usual ones, errors most.
}

func (r *reading) add(cost int) {
	r.chars++
	r.cost += cost
}

func (r *reading) fail() {
	r.errors++
	r.cost += costError
}

// Costs of characters. Kana are what Japanese text cannot do without; half-width kana are what EUC-JP looks like in
// Shift_JIS, at two for one character.
const (
	costKana     = 0
	costUsual    = 1 // Full-width signs and letters, and the kanji of JIS level 1.
	costHalfKana = 2
	costRare     = 6 // Kanji of level 2, extensions.
	costError    = 40
)

func readUTF8(b []byte) (r reading) {
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

func readShiftJIS(b []byte) (r reading) {
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
			r.fail() // The next byte may stand for itself.
			continue
		}
		i++
		switch {
		case c == 0x82 && t >= 0x9F && t <= 0xF1, c == 0x83 && t <= 0x96:
			r.add(costKana)
		case c <= 0x82, c >= 0x88 && c <= 0x98:
			r.add(costUsual)
		case c == 0x85, c == 0x86, c == 0xEB, c == 0xEC, c == 0xEF:
			r.fail() // Rows that hold nothing.
		default:
			r.add(costRare)
		}
	}
	return r
}

func readEUCJP(b []byte) (r reading) {
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
				r.fail() // Rows that hold nothing.
			default:
				r.add(costRare)
			}
		}
	}
	return r
}

// decodeWith decodes piece by piece, so that it can be stopped. What has no character becomes U+FFFD.
func decodeWith(ctx context.Context, b []byte, e encoding.Encoding) (string, error) {
	var out strings.Builder
	out.Grow(len(b) + len(b)/2)
	w := transform.NewWriter(&out, e.NewDecoder())
	for len(b) > 0 {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n := min(stride, len(b))
		if _, err := w.Write(b[:n]); err != nil {
			return "", err
		}
		b = b[n:]
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return out.String(), nil
}

// decodeUTF16 decodes content whose mark is off. An odd byte at the end is dropped.
func decodeUTF16(ctx context.Context, b []byte, order binary.ByteOrder) (string, error) {
	var out strings.Builder
	out.Grow(len(b) + len(b)/2)
	for i := 0; i+1 < len(b); i += 2 {
		if i%stride == 0 && ctx.Err() != nil {
			return "", ctx.Err()
		}
		r := rune(order.Uint16(b[i:]))
		if utf16.IsSurrogate(r) {
			low := rune(0)
			if i+3 < len(b) {
				low = rune(order.Uint16(b[i+2:]))
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				i += 2
			}
		}
		out.WriteRune(r)
	}
	return out.String(), nil
}

// clean ends lines with \n and takes control characters out, but for tabs. Text of which more than a twentieth is
// control or replacement characters is none: *Unreadable.
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
		return "", &Unreadable{Corrupt, reasonBinary}
	}
	out.WriteString(text[from:])
	return out.String(), nil
}

// withoutControl returns r, or -1 for a control character that text may not have.
func withoutControl(r rune) rune {
	if r < 0x20 && r != '\n' && r != '\t' || r == 0x7F {
		return -1
	}
	return r
}
