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

// charset is a text encoding.
type charset int

const (
	unknown charset = iota
	utf8Text
	utf16LE
	utf16BE
	iso2022JP
	shiftJIS // CP932, the variant of Windows with the extensions of NEC and IBM.
	eucJP
)

// stride is the number of bytes processed between two checks of the context.
const stride = 1 << 20

// decode returns the content as clean text (see clean). It takes the charset from a byte order mark, otherwise from
// declared if the content is valid in it, otherwise from detect. For content that is not text, the error is an
// *UnreadableError.
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
		return "", &UnreadableError{Code: Corrupt, Reason: reasonBinary}
	}
	if err != nil {
		return "", err
	}
	return clean(ctx, text)
}

// fromMark returns the charset of a byte order mark and the content after the mark.
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

// fromName returns the charset of an HTML encoding label.
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

// agrees reports whether the content is valid in a declared charset. Declarations can be wrong, for example when they
// were copied from another page.
func agrees(cs charset, b []byte) bool {
	var r charsetScore
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

// detect returns the most likely charset. It returns unknown only for content with many NUL bytes that is not UTF-16.
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
	// Accept a few broken bytes in a long UTF-8 text, as in truncated or concatenated files.
	if asUTF8.errors*20 <= asUTF8.chars {
		return utf8Text
	}
	if readEUCJP(b).cost < readShiftJIS(b).cost {
		return eucJP
	}
	return shiftJIS
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

// likelyUTF16 returns the byte order in which content without a mark is plausible text, or unknown. It compares the
// share of ASCII and kana at the start of the content, because the wrong byte order converts them into rare characters.
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

// charsetScore is the score of content in one charset.
type charsetScore struct {
	chars  int // Non-ASCII characters.
	errors int // Invalid bytes.
	cost   int // Total cost: rare characters cost more than common ones, and errors cost most.
}

func (r *charsetScore) add(cost int) {
	r.chars++
	r.cost += cost
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

// decodeUTF16 decodes content without byte order mark. It drops an odd byte at the end.
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

// clean normalizes line ends to \n and removes control characters except tabs. If more than a twentieth of the text is
// control or replacement characters, it returns an *UnreadableError.
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
		return "", &UnreadableError{Code: Corrupt, Reason: reasonBinary}
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
