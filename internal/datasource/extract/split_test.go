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

// unbroken returns text of n characters without a split position.
func unbroken(n int) string { return strings.Repeat("あ", n) }

func textsOf(text string) []string {
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
			"before headings", "# 一\n\n" + sentences(100) + "\n\n# 二\n\n" + sentences(100) + "\n# 三\n" + sentences(300),
			[]string{"# 一\n\n" + sentences(100), "# 二\n\n" + sentences(100), "# 三\n" + sentences(300)},
		},
		{
			"a short section is joined with the next one", "# 一\n\n二\n\n# 三\n\n" + sentences(100),
			[]string{"# 一\n\n二\n\n# 三\n\n" + sentences(100)},
		},
		{
			"a heading stays with the following text", sentences(380) + "\n\n第2章　総則\n\n" + sentences(300),
			[]string{sentences(380), "第2章　総則\n\n" + sentences(300)},
		},
		{
			"not between two headings", sentences(370) + "\n\n# 大\n\n## 小\n\n" + sentences(300),
			[]string{sentences(370), "# 大\n\n## 小\n\n" + sentences(300)},
		},
		{
			"articles", "第９条（休暇） 休暇は次のとおりとする。" + sentences(300) + "\n第10条（給与） 給与は別に定める。" + sentences(200),
			[]string{"第９条（休暇） 休暇は次のとおりとする。" + sentences(300), "第10条（給与） 給与は別に定める。" + sentences(200)},
		},
		{
			"paragraph rather than a later sentence", sentences(200) + "\n\n" + sentences(300),
			[]string{sentences(200), sentences(300)},
		},
		{
			"paragraphs are joined", sentences(200) + "\n\n" + sentences(150) + "\n\n" + sentences(150),
			[]string{sentences(200) + "\n\n" + sentences(150), sentences(150)},
		},
		{"even parts", sentences(820), []string{sentences(280), sentences(270), sentences(270)}},
		{"no scrap at the end", sentences(410), []string{sentences(210), sentences(200)}},
		{
			"the end of a quotation goes with it", unbroken(300) + "「はい。」" + unbroken(300),
			[]string{unbroken(300) + "「はい。」", unbroken(300)},
		},
		{
			"a quotation within a sentence", unbroken(200) + "。" + unbroken(100) + "「はい」と" + unbroken(100),
			[]string{unbroken(200) + "。", unbroken(100) + "「はい」と" + unbroken(100)},
		},
		{
			"a point within a number", unbroken(200) + "! " + unbroken(100) + "3.14?a=1" + unbroken(100),
			[]string{unbroken(200) + "!", unbroken(100) + "3.14?a=1" + unbroken(100)},
		},
		{
			"a wrapped line", unbroken(150) + "。" + unbroken(100) + "\n" + unbroken(180),
			[]string{unbroken(150) + "。", unbroken(100) + "\n" + unbroken(180)},
		},
		{
			"lines of a list", strings.Repeat("- "+unbroken(97)+"\n", 6),
			[]string{
				strings.TrimSpace(strings.Repeat("- "+unbroken(97)+"\n", 3)),
				strings.TrimSpace(strings.Repeat("- "+unbroken(97)+"\n", 3)),
			},
		},
		{
			"words", strings.Repeat("abcd ", 100),
			[]string{strings.TrimSpace(strings.Repeat("abcd ", 50)), strings.TrimSpace(strings.Repeat("abcd ", 50))},
		},
		{"anywhere", unbroken(1000), []string{unbroken(400), unbroken(400), unbroken(200)}},
	}
	for _, test := range tests {
		if got := textsOf(test.text); !slices.Equal(got, test.want) {
			t.Errorf("%s: %d passages %q\nwant %d %q", test.name, len(got), shortened(got), len(test.want),
				shortened(test.want))
		}
	}
}

// shortened abbreviates passages for error messages.
func shortened(passages []string) []string {
	var out []string
	for _, c := range passages {
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
			for i, chunk := range textsOf(strings.Repeat("い", shift) + strings.Repeat(char, 1500)) {
				if i > 0 && !strings.HasPrefix(chunk, char) {
					t.Errorf("%q: a chunk begins with %q", char, chunk[:12])
				}
			}
		}
	}
}

func TestPassagesHavePositions(t *testing.T) {
	t.Parallel()
	pages := []extract.Page{{Number: 3, Text: " " + sentences(800)}, {Number: 4, Text: " "}, {Number: 5, Text: "終"}}
	got := extract.Split(pages)
	want := []extract.Passage{
		{Ordinal: 0, Page: 3, Start: 1, End: 1201, Text: sentences(400)},
		{Ordinal: 1, Page: 3, Start: 1201, End: 2401, Text: sentences(400)},
		{Ordinal: 2, Page: 5, Start: 0, End: 3, Text: "終"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d passages %+v", len(got), got)
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
	f.Add("", "", uint16(1), uint16(0))
	f.Add("# 一\n\n本文。", "第3条 「はい。」\r\n\r\n ■ 概要", uint16(200), uint16(7))
	f.Add("か\u3099", "👩\u200D💻 \xff", uint16(1000), uint16(1))
	f.Add("\u0301", "#\u0300 \n", uint16(5000), uint16(99))
	f.Fuzz(func(t *testing.T, a, b string, times, mark uint16) {
		a, b = strings.ToValidUTF8(a, "�"), strings.ToValidUTF8(b, "�")
		text := strings.Repeat(a, min(int(times), 1+100_000/(len(a)+1))) + b
		pages := []extract.Page{{Number: 1, Text: text}, {Number: 2, Text: b + a}}
		if at := int(mark); at > 0 && at < len(text) {
			pages[0].Marks = []extract.Mark{
				{Locator: "Sheet1!B1:C1"},
				{Offset: at, Locator: "Sheet1!B2:C2", Heading: at%2 == 0},
			}
		}
		got := make([]strings.Builder, len(pages)+1)
		end := 0
		for i, p := range extract.Split(pages) {
			n := utf8.RuneCountInString(p.Text)
			if p.Ordinal != i || p.Page < 1 || p.Page > 2 || n == 0 || n > 400 || strings.TrimSpace(p.Text) != p.Text {
				t.Fatalf("passage %d: ordinal %d, page %d, %d characters, %q", i, p.Ordinal, p.Page, n, p.Text)
			}
			if got[p.Page].Len() == 0 {
				end = 0
			}
			if p.Start < end || pages[p.Page-1].Text[p.Start:p.End] != p.Text {
				t.Fatalf("passage %d is not at %d to %d", i, p.Start, p.End)
			}
			end = p.End
			if !utf8.ValidString(p.Text) || !utf8.ValidString(p.Locator) {
				t.Fatalf("passage %d: %q is cut within a character", i, p.Text)
			}
			got[p.Page].WriteString(squeezed(p.Text))
		}
		for _, page := range pages {
			if got[page.Number].String() != squeezed(page.Text) {
				t.Fatalf("the passages of page %d are %q, want %q", page.Number, got[page.Number].String(),
					squeezed(page.Text))
			}
		}
	})
}

func TestLocators(t *testing.T) {
	t.Parallel()
	law := "規程\n\n第1章 総則\n\n第1条（目的） 目的を定める。" + sentences(100) + "\n第2条 範囲を定める。" + sentences(100) +
		"\n第2章 休暇\n" + sentences(100)
	for name, test := range map[string]struct {
		pages []extract.Page
		want  []string
	}{
		"none": {[]extract.Page{{Number: 1, Text: "本文"}}, []string{""}},
		"Markdown": {
			[]extract.Page{{
				Number: 1, Text: "# 大\n\n" + sentences(100) + "\n\n## 小\n" + sentences(500) + "\n# 次\n" + sentences(50),
			}},
			[]string{"大", "大 > 小", "大 > 小", "次"},
		},
		"a law": {[]extract.Page{{Number: 1, Text: law}}, []string{"第1章 総則", "第1章 総則 > 第2条", "第2章 休暇"}},
		"headings go on over pages": {
			[]extract.Page{
				{Number: 1, Text: "一", Marks: []extract.Mark{{Locator: "第1章", Heading: true}}},
				{Number: 2, Text: "二"},
				{Number: 3, Text: "三", Marks: []extract.Mark{{Locator: "第2章"}}},
			}, []string{"第1章", "第1章", "第2章"},
		},
		"cells": {
			[]extract.Page{{Number: 1, Text: "a\nb\nc", Marks: []extract.Mark{
				{Locator: "売上!B12:F12"}, {Offset: 2, Locator: "売上!AA13"}, {Offset: 4, Locator: "売上!A9:F9"},
			}}}, []string{"売上!A9:AA13"},
		},
		"cells below the name of their sheet": {
			[]extract.Page{{Number: 1, Text: "# 売上\nb\nc", Marks: []extract.Mark{
				{Locator: "売上", Heading: true}, {Offset: 9, Locator: "売上!A1:E1"}, {Offset: 11, Locator: "売上!A2:E2"},
			}}}, []string{"売上!A1:E2"},
		},
		"two sheets": {
			[]extract.Page{{Number: 1, Text: "a\nb", Marks: []extract.Mark{
				{Locator: "一!A1"},
				{Offset: 2, Locator: "二!A1"},
			}}}, []string{"一!A1"},
		},
	} {
		var got []string
		for _, p := range extract.Split(test.pages) {
			got = append(got, p.Locator)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	for locator, want := range map[string]string{"第1章 > 第2条": "第1章 > 第2条", "スライド 3": "", "売上!B12:F20": "売上", "": ""} {
		if got := extract.Headings(locator); got != want {
			t.Errorf("the headings of %q are %q", locator, got)
		}
	}
}
