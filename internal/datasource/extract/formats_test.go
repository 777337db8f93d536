package extract_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// pageOf returns the text of a file with one page.
func pageOf(t *testing.T, name string, content []byte) string {
	t.Helper()
	pages, err := formatOf(t, name).Pages(t.Context(), content)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(pages) != 1 || pages[0].Number != 1 {
		t.Fatalf("pages %+v, want page 1 alone", pages)
	}
	return pages[0].Text
}

// unreadable returns the error of a file that cannot be read.
func unreadable(t *testing.T, name string, content []byte) *fault.UnreadableError {
	t.Helper()
	pages, err := formatOf(t, name).Pages(t.Context(), content)
	var unreadable *fault.UnreadableError
	if !errors.As(err, &unreadable) {
		t.Fatalf("%d pages and error %v, want an *Unreadable", len(pages), err)
	}
	return unreadable
}

func formatOf(t testing.TB, name string) extract.Format {
	t.Helper()
	f, ok := extract.FormatOf(name)
	if !ok {
		t.Fatalf("no format for %s", name)
	}
	return f
}

func TestFormatOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"議事録.txt": "text/plain", "a.TEXT": "text/plain", "a.md": "text/markdown", "a.Markdown": "text/markdown",
		"a.b.CSV": "text/csv", "a.tsv": "text/tab-separated-values", "a.html": "text/html", "a.HTM": "text/html",
		"a.exe": "", "txt": "", "": "", "a.txt.zip": "",
	} {
		f, ok := extract.FormatOf(name)
		if f.MediaType != want || ok != (want != "") {
			t.Errorf("FormatOf(%q) = %q, %v, want %q", name, f.MediaType, ok, want)
		}
	}
}

func TestTextIsCleaned(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"一\r\n二\r三\n四":                            "一\n二\n三\n四",
		"\uFEFF一":                                 "一",
		"表\t一\f二\v三":                              "表\t一\n二\n三",
		"㈱ＡＢＣ ｶﾅ が":                               "㈱ＡＢＣ ｶﾅ が", // Unchanged: the text is not normalized.
		strings.Repeat("一", 100) + "\x00\x1b\x7f": strings.Repeat("一", 100),
	} {
		if got := pageOf(t, "a.txt", []byte(in)); got != want {
			t.Errorf("%q read as %q, want %q", in, got, want)
		}
	}
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, content string
		code          fault.FileCode
		want          string
	}{
		{"a.txt", "", fault.FileNoText, "文字が入っていません"},
		{"a.txt", " \r\n　\t", fault.FileNoText, "文字が入っていません"},
		{"a.txt", "\xEF\xBB\xBF", fault.FileNoText, "文字が入っていません"},
		{"a.csv", "\n\n", fault.FileNoText, "文字が入っていません"},
		{"a.html", " ", fault.FileNoText, "文字が入っていません"},
		{"a.html", "<title>題</title><script>var a = 1</script><p> </p>", fault.FileNoText, "本文に文字が見つかりません"},
		{"a.txt", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x01\x00\x00\x00\x01\x00", fault.FileCorrupt, "読み取れませんでした"},
		{"a.md", strings.Repeat("PK\x03\x04\x14\x08\x08\xfe\xff", 50), fault.FileCorrupt, "読み取れませんでした"},
		{"a.txt", strings.Repeat("\xff\xfd\x80abc", 50), fault.FileCorrupt, "読み取れませんでした"},
		{"a.html", strings.Repeat("<p>", 500_001), fault.FileTooLarge, "構造が複雑"},
	}
	for _, test := range tests {
		got := unreadable(t, test.name, []byte(test.content))
		if got.Code != test.code || !strings.Contains(got.Reason, test.want) ||
			!strings.HasSuffix(got.Reason, "アップロードしてください。") {
			t.Errorf("%.20q: %+v, want %s and a helpful reason with %q", test.content, got, test.code,
				test.want)
		}
	}
}

// endingContext is canceled after a number of calls of Err.
type endingContext struct {
	context.Context
	left int
}

func (c *endingContext) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestPagesStopsWithItsContext(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("本日は晴天なり。\n", 100_000)
	for name, content := range map[string]string{
		"a.txt":  long,
		"a.csv":  strings.Repeat("品名,数量\n", 3000),
		"a.html": "<p>一</p><ul><li>二<li>三</ul><table><tr><td>四<td>五</table>",
	} {
		looks := 0
		for ; ; looks++ {
			pages, err := formatOf(t, name).Pages(&endingContext{t.Context(), looks}, []byte(content))
			if err == nil {
				break
			}
			if !errors.Is(err, context.Canceled) || pages != nil {
				t.Fatalf("%s, ended at look %d: %d pages and %v", name, looks, len(pages), err)
			}
		}
		if looks < 3 {
			t.Errorf("%s: the context is looked at %d times", name, looks)
		}
	}
}

func FuzzPages(f *testing.F) {
	names := []string{"a.txt", "a.md", "a.csv", "a.tsv", "a.html"}
	for kind := range names {
		for _, seed := range []string{
			"", "本日は晴天なり。", "品名,数量\n\"みかん\"\"\",3\n", "a\tb\n1\t2", "\xff\xfe\x42\x30", "\x1b$B$3$l\x1b(B",
			"\x82\xb1\x82\xea", "\xa4\xb3\xa4\xec",
			"<title>題</title><table><tr><td colspan=9 rowspan=3>一<table><td>二</table><ul><li>" +
				"<a href=https://example.com>三</a>",
			"&#6;a&#13;", "<svg><p>a<ruby>漢<rt>かん</ruby></td><pre>\n a</pre><nav>b",
		} {
			f.Add(uint8(kind), []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, content []byte) {
		pages, err := formatOf(t, names[int(kind)%len(names)]).Pages(t.Context(), content)
		var unreadable *fault.UnreadableError
		if err != nil {
			if !errors.As(err, &unreadable) || unreadable.Reason == "" || unreadable.Code == "" {
				t.Fatalf("error %v is not for a person", err)
			}
			return
		}
		if len(pages) == 0 {
			t.Fatal("neither pages nor an error")
		}
		for _, page := range pages {
			if !utf8.ValidString(page.Text) {
				t.Fatalf("%q is not UTF-8", page.Text)
			}
			if strings.ContainsFunc(page.Text, func(r rune) bool { return r < 0x20 && r != '\n' && r != '\t' }) {
				t.Fatalf("%q has control characters", page.Text)
			}
			if !strings.ContainsFunc(page.Text, func(r rune) bool { return !unicode.IsSpace(r) }) {
				t.Fatalf("%q has no text", page.Text)
			}
			// Decoding can expand one byte to three, and a table or page can expand one character to four.
			if len(page.Text) > 4*3*len(content)+64<<10 {
				t.Fatalf("%d bytes grew to %d", len(content), len(page.Text))
			}
		}
	})
}
