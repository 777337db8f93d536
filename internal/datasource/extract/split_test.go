package extract_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
)

// sentences returns text of n characters in sentences of ten.
func sentences(n int) string { return strings.Repeat("本日は晴天なりです。", n/10) }

// unbroken returns text of n characters that has no place to cut.
func unbroken(n int) string { return strings.Repeat("あ", n) }

func chunksOf(text string) []string {
	var out []string
	for _, c := range extract.Split([]extract.Page{{Number: 1, Text: text}}) {
		out = append(out, c.Text)
	}
	return out
}

func TestSplit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []string
	}{
		{"short", " 一\n\n二 \n", []string{"一\n\n二"}},
		{"nothing", " \n　", nil},
		{
			"short sections are joined", "# 一\n\n" + sentences(200) + "\n\n# 二\n\n" + sentences(200) + "\n# 三\n" + sentences(600),
			[]string{"# 一\n\n" + sentences(200) + "\n\n# 二\n\n" + sentences(200), "# 三\n" + sentences(600)},
		},
		{
			"before a heading rather than at a later paragraph", sentences(300) + "\n\n## 二\n\n" + sentences(300) + "\n\n" + sentences(300),
			[]string{sentences(300), "## 二\n\n" + sentences(300) + "\n\n" + sentences(300)},
		},
		{
			"a heading goes with what follows", sentences(780) + "\n\n第2章　総則\n\n" + sentences(700),
			[]string{sentences(780), "第2章　総則\n\n" + sentences(700)},
		},
		{
			"not between two headings", sentences(770) + "\n\n# 大\n\n## 小\n\n" + sentences(500),
			[]string{sentences(770), "# 大\n\n## 小\n\n" + sentences(500)},
		},
		{
			"articles", "第９条（休暇） 休暇は次のとおりとする。" + sentences(600) + "\n第10条（給与） 給与は別に定める。" + sentences(500),
			[]string{"第９条（休暇） 休暇は次のとおりとする。" + sentences(600), "第10条（給与） 給与は別に定める。" + sentences(500)},
		},
		{
			"paragraph rather than a later sentence", sentences(500) + "\n\n" + sentences(600),
			[]string{sentences(500), sentences(600)},
		},
		{"sentences", sentences(1600), []string{sentences(800), sentences(800)}},
		{"no scrap at the end", sentences(900), []string{sentences(900)}},
		{
			"a sentence longer than the target", unbroken(1000) + "。" + unbroken(700),
			[]string{unbroken(1000) + "。", unbroken(700)},
		},
		{
			"the end of a quotation goes with it", unbroken(700) + "「はい。」" + unbroken(600),
			[]string{unbroken(700) + "「はい。」", unbroken(600)},
		},
		{
			"a quotation within a sentence", unbroken(600) + "。" + unbroken(100) + "「はい」と" + unbroken(500),
			[]string{unbroken(600) + "。", unbroken(100) + "「はい」と" + unbroken(500)},
		},
		{
			"a point within a number", unbroken(600) + "! " + unbroken(100) + "3.14?a=1" + unbroken(500),
			[]string{unbroken(600) + "!", unbroken(100) + "3.14?a=1" + unbroken(500)},
		},
		{
			"a wrapped line", unbroken(500) + "。" + unbroken(200) + "\n" + unbroken(550),
			[]string{unbroken(500) + "。", unbroken(200) + "\n" + unbroken(550)},
		},
		{
			"lines of a list", strings.Repeat("- "+unbroken(97)+"\n", 14),
			[]string{strings.TrimSpace(strings.Repeat("- "+unbroken(97)+"\n", 8)), strings.TrimSpace(strings.Repeat("- "+unbroken(97)+"\n", 6))},
		},
		{
			"words", strings.Repeat("abcd ", 300),
			[]string{strings.TrimSpace(strings.Repeat("abcd ", 160)), strings.TrimSpace(strings.Repeat("abcd ", 140))},
		},
		{"anywhere", unbroken(2000), []string{unbroken(800), unbroken(1200)}},
	}
	for _, test := range tests {
		if got := chunksOf(test.text); !slices.Equal(got, test.want) {
			t.Errorf("%s: %d chunks %q\nwant %d %q", test.name, len(got), shortened(got), len(test.want), shortened(test.want))
		}
	}
}

// shortened makes chunks fit on a line.
func shortened(chunks []string) []string {
	var out []string
	for _, c := range chunks {
		if r := []rune(c); len(r) > 40 {
			c = string(r[:20]) + "…" + string(r[len(r)-20:])
		}
		out = append(out, c)
	}
	return out
}

func TestSplitKeepsCharactersWhole(t *testing.T) {
	t.Parallel()
	for _, char := range []string{"か\u3099", "葛\U000E0100", "👩\u200D💻", "👍\U0001F3FD", "ｶﾞ", "e\u0301\u0302"} {
		for shift := range 3 {
			for i, chunk := range chunksOf(strings.Repeat("い", shift) + strings.Repeat(char, 1500)) {
				if i > 0 && !strings.HasPrefix(chunk, char) {
					t.Errorf("%q: a chunk begins with %q", char, chunk[:12])
				}
			}
		}
	}
}

func TestSplitNumbers(t *testing.T) {
	t.Parallel()
	got := extract.Split([]extract.Page{{Number: 3, Text: sentences(1600)}, {Number: 4, Text: " "}, {Number: 5, Text: "終"}})
	want := []extract.Chunk{
		{Ordinal: 0, Page: 3, Text: sentences(800)}, {Ordinal: 1, Page: 3, Text: sentences(800)}, {Ordinal: 2, Page: 5, Text: "終"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d chunks %+v", len(got), got)
	}
}

// squeezed is text without its white space.
func squeezed(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

func FuzzSplit(f *testing.F) {
	f.Add("", "", uint16(1))
	f.Add("# 一\n\n本文。", "第3条 「はい。」\r\n\r\n ■ 概要", uint16(200))
	f.Add("か\u3099", "👩\u200D💻 \xff", uint16(1000))
	f.Add("\u0301", "#\u0300 \n", uint16(5000))
	f.Fuzz(func(t *testing.T, a, b string, times uint16) {
		a, b = strings.ToValidUTF8(a, "�"), strings.ToValidUTF8(b, "�")
		text := strings.Repeat(a, min(int(times), 1+100_000/(len(a)+1))) + b
		pages := []extract.Page{{Number: 1, Text: text}, {Number: 2, Text: b + a}}
		chunks := extract.Split(pages)
		got := make([]strings.Builder, len(pages)+1)
		for i, c := range chunks {
			n := utf8.RuneCountInString(c.Text)
			if c.Ordinal != i || c.Page < 1 || c.Page > 2 || n == 0 || n > 1200 || strings.TrimSpace(c.Text) != c.Text {
				t.Fatalf("chunk %d: ordinal %d, page %d, %d characters, %q", i, c.Ordinal, c.Page, n, c.Text)
			}
			if i > 0 && c.Page < chunks[i-1].Page {
				t.Fatalf("chunk %d goes back to page %d", i, c.Page)
			}
			if !utf8.ValidString(c.Text) {
				t.Fatalf("chunk %d: %q is cut within a character", i, c.Text)
			}
			got[c.Page].WriteString(squeezed(c.Text))
		}
		for _, page := range pages {
			if got[page.Number].String() != squeezed(page.Text) {
				t.Fatalf("the chunks of page %d are %q, want %q", page.Number, got[page.Number].String(), squeezed(page.Text))
			}
		}
	})
}
