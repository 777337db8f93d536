package ooxml

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
)

// declaration matches an XML declaration with or without an encoding.
var declaration = regexp.MustCompile(`^<\?xml\s(?:[^>?]*?\bencoding\s*=\s*["']([^"'>]*)["'])?[^>]*\?>`)

// maxDeclaration is the largest size of an XML declaration to examine, in bytes.
const maxDeclaration = 1 << 10

// utf8Source returns the content of a part in UTF-8, without byte order mark. It converts UTF-16 and the encodings of
// Japanese programs; then it also removes the XML declaration.
func utf8Source(part io.Reader) (io.Reader, error) {
	r := bufio.NewReaderSize(part, 64<<10)
	head, err := r.Peek(maxDeclaration)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var from encoding.Encoding
	switch {
	case bytes.HasPrefix(head, []byte{0xFE, 0xFF}), bytes.HasPrefix(head, []byte{0, '<'}):
		from = unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	case bytes.HasPrefix(head, []byte{0xFF, 0xFE}), bytes.HasPrefix(head, []byte{'<', 0}):
		from = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	default:
		if mark := []byte{0xEF, 0xBB, 0xBF}; bytes.HasPrefix(head, mark) {
			_, _ = r.Discard(len(mark)) // Peek has buffered it.
			head = head[len(mark):]
		}
		if from, err = declared(head); from == nil {
			return r, err
		}
	}
	r = bufio.NewReader(from.NewDecoder().Reader(r))
	if head, err = r.Peek(maxDeclaration); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	_, err = r.Discard(len(declaration.Find(head)))
	return r, err
}

// declared returns the declared encoding of XML, nil for UTF-8.
func declared(head []byte) (encoding.Encoding, error) {
	found := declaration.FindSubmatch(head)
	if found == nil {
		return nil, nil
	}
	switch label := strings.ToLower(string(found[1])); label {
	case "", "utf-8", "utf8", "us-ascii":
		return nil, nil
	case "shift_jis", "shift-jis", "sjis", "x-sjis", "ms_kanji", "windows-31j", "ms932", "cp932", "csshiftjis":
		return japanese.ShiftJIS, nil
	case "euc-jp", "x-euc-jp", "eucjp", "cseucpkdfmtjapanese":
		return japanese.EUCJP, nil
	default:
		return nil, fmt.Errorf("unknown encoding %q", label)
	}
}
