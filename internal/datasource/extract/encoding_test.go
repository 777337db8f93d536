package extract_test

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	xunicode "golang.org/x/text/encoding/unicode"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

const (
	prose = "吾々は来週の会議で、四月からの勤務表を決めます。\n場所は東京・大阪のどちらかです。"
	kana  = "おはようございます。ありがとう。"
	names = "氏名,部署\n佐藤太郎,営業部\n鈴木花子,総務部\n"
	short = "会議"
	mixed = "Windows 11 の設定を変えるには、[設定] > [システム] を開きます。ver 2.0\n"
)

func encoded(t *testing.T, e encoding.Encoding, s string) []byte {
	t.Helper()
	out := must.Get(e.NewEncoder().Bytes([]byte(s)))(t)
	return out
}

func TestEncodingsAreDetected(t *testing.T) {
	t.Parallel()
	zeros := strings.Repeat("0あ0い0う0え0お", 30) + "\n" // In UTF-16, this text is also plausible in the wrong byte order.
	encodings := map[string]encoding.Encoding{
		"UTF-8":                encoding.Nop,
		"UTF-8 with mark":      xunicode.UTF8BOM,
		"UTF-16LE with mark":   xunicode.UTF16(xunicode.LittleEndian, xunicode.UseBOM),
		"UTF-16BE with mark":   xunicode.UTF16(xunicode.BigEndian, xunicode.UseBOM),
		"Shift_JIS":            japanese.ShiftJIS,
		"EUC-JP":               japanese.EUCJP,
		"ISO-2022-JP":          japanese.ISO2022JP,
		"UTF-16LE":             xunicode.UTF16(xunicode.LittleEndian, xunicode.IgnoreBOM),
		"UTF-16BE":             xunicode.UTF16(xunicode.BigEndian, xunicode.IgnoreBOM),
		"UTF-16LE with astral": xunicode.UTF16(xunicode.LittleEndian, xunicode.IgnoreBOM),
	}
	for name, e := range encodings {
		for _, text := range []string{prose, kana, names, short, mixed, zeros, strings.Repeat(prose, 200)} {
			if strings.HasPrefix(name, "UTF-16") && !strings.Contains(text, "\n") && !strings.HasSuffix(name, "mark") {
				text += "\r\n" // UTF-16 cannot be detected without any NUL byte.
			}
			if strings.HasSuffix(name, "astral") {
				text += "𠮷野家😀\n"
			}
			want := strings.ReplaceAll(text, "\r\n", "\n")
			if got := pageOf(t, "a.txt", encoded(t, e, text)); got != want {
				t.Errorf("%s: %.60q read as %.60q", name, text, got)
			}
		}
	}
}

// TestLongFiles decodes a file in several pieces. Their boundaries are inside characters and between escape sequences.
func TestLongFiles(t *testing.T) {
	t.Parallel()
	want := "a" + strings.Repeat("あ", 700_000)
	for name, e := range map[string]encoding.Encoding{
		"Shift_JIS":   japanese.ShiftJIS,
		"ISO-2022-JP": japanese.ISO2022JP,
		"UTF-16":      xunicode.UTF16(xunicode.BigEndian, xunicode.UseBOM),
		"UTF-8":       encoding.Nop,
	} {
		if got := pageOf(t, "a.txt", encoded(t, e, want)); got != want {
			t.Errorf("%s: %d bytes read as %d", name, len(want), len(got))
		}
	}
}

// TestCP932 verifies characters that only Windows defines, and its variants of some signs.
func TestCP932(t *testing.T) {
	t.Parallel()
	in := "\x87\x40\x87\x54\x87\x8a \xfb\xfc\x8b\xb4 \xfa\xb1 \xed\x40 10\x81\x6020 \x81\x5c\x81\x61\x81\x7c " +
		"\xb6\xc5 C:\\a~"
	want := "①Ⅰ㈱ 髙橋 﨑 纊 10～20 ―∥－ ｶﾅ C:\\a~"
	if got := pageOf(t, "a.txt", []byte(in)); got != want {
		t.Errorf("read as %q, want %q", got, want)
	}
}

// TestHalfWidthKana decodes bank data with only half-width kana, which is also valid EUC-JP.
func TestHalfWidthKana(t *testing.T) {
	t.Parallel()
	want := "21ｶ)ﾂﾑｷﾞｼﾖｳｼﾞ 0310ﾐﾂﾋﾞｼ 1234567ﾔﾏﾀﾞ ﾀﾛｳ\n"
	if got := pageOf(t, "a.txt", encoded(t, japanese.ShiftJIS, want)); got != want {
		t.Errorf("read as %q, want %q", got, want)
	}
}

func TestBrokenBytes(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, content, want string }{
		{"UTF-8 cut within a character", strings.Repeat("本日は晴天なり。", 20) + "\xe6\x9c", "晴天なり。\uFFFD"},
		{"UTF-8 with a stray NUL", "本日は晴天なり。本日は\x00晴天なり。" + strings.Repeat("晴", 20), "本日は晴天なり。本日は晴天なり。"},
		{"ASCII with a stray NUL, as UTF-16 in kana", strings.Repeat("a0", 100) + "\x00", "a0a0"},
		{"Shift_JIS with a broken byte", strings.Repeat("\x82\xb1\x82\xea", 30) + "\xff", "これこれ"},
		{"UTF-16 with an odd end", "\xff\xfe\x53\x30\x8c\x30\x00", "これ"},
		{"UTF-16 with half a pair", "\xff\xfe" + strings.Repeat("\x53\x30", 30) + "\x42\xd8\x8c\x30", "\uFFFDれ"},
	}
	for _, test := range tests {
		if got := pageOf(t, "a.txt", []byte(test.content)); !strings.Contains(got, test.want) {
			t.Errorf("%s: read as %q, want %q in it", test.name, got, test.want)
		}
	}
}

func TestHTMLDeclaresItsEncoding(t *testing.T) {
	t.Parallel()
	// Two kanji that are valid in both encodings, so that only the declaration decides.
	const word = "\xb2\xf1\xb5\xc4"
	tests := []struct{ head, want string }{
		{`<meta charset="euc-jp">`, "会議"},
		{`<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=EUC-JP">`, "会議"},
		{`<?xml version="1.0" encoding="EUC-JP"?>`, "会議"},
		{`<meta charset=utf-8>`, "会議"}, // An impossible declaration.
		{`<meta name=description content=x><meta charset = 'x-euc-jp'>`, "会議"},
	}
	for _, test := range tests {
		if got := pageOf(t, "a.html", []byte(test.head+"<p>"+word+"</p>")); got != test.want {
			t.Errorf("%s: read as %q, want %q", test.head, got, test.want)
		}
	}
	foreign := []struct{ charset, content, want string }{
		{"windows-1252", "It\x92s a caf\xe9 \x93menu\x94", "It’s a café “menu”"},
		{"ISO-8859-1", "M\xfcnchen \x96 Stra\xdfe", "München – Straße"},
		{"gb2312", "\xbb\xe1\xd2\xe9\xd7\xca\xc1\xcf", "会议资料"},
		{"big5", "\xb7\x7c\xc4\xb3", "會議"},
		{"euc-kr", "\xc8\xb8\xc0\xc7", "회의"},
		{"windows-1252", "会議の資料", "会議の資料"},                                  // UTF-8.
		{"iso-8859-1", "\x82\xb1\x82\xea\x82\xcd\x89\xef\x8b\x63", "これは会議"}, // Shift_JIS.
		{"iso-8859-1", "\xa4\xb3\xa4\xec\xa4\xcf\xb2\xf1\xb5\xc4", "これは会議"}, // EUC-JP.
		{"no-such-charset", "\x82\xb1\x82\xea", "これ"},
		{"utf-16", "会議", "会議"},
	}
	for _, test := range foreign {
		page := "<meta charset=" + test.charset + "><p>" + test.content
		if got := pageOf(t, "a.html", []byte(page)); got != test.want {
			t.Errorf("labelled %s: read as %q, want %q", test.charset, got, test.want)
		}
	}
	const kana = "\xb6\xc5\xb6\xc5" // ｶﾅｶﾅ; in EUC-JP, the bytes are also valid kanji.
	if got := pageOf(t, "a.html", []byte(`<meta charset="Shift_JIS"><p>`+kana)); got != "ｶﾅｶﾅ" {
		t.Errorf("labelled Shift_JIS, read as %q", got)
	}
	if got := pageOf(t, "a.html", []byte("\xef\xbb\xbf<meta charset=Shift_JIS><p>会議")); got != "会議" {
		t.Errorf("the mark comes before the label, read as %q", got)
	}
}
