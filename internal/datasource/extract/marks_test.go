package extract_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

// marksOf returns the marks of a file as "line: locator", with a leading # if the line is a heading.
func marksOf(t *testing.T, name, content string) []string {
	t.Helper()
	pages := must.Get(formatOf(t, name).Pages(t.Context(), []byte(content)))(t)
	var out []string
	for _, m := range pages[0].Marks {
		line, _, _ := strings.Cut(pages[0].Text[m.Offset:], "\n")
		if m.Heading {
			line = "#" + line
		}
		out = append(out, line+": "+m.Locator)
	}
	return out
}

func TestHeadingMarks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file, text string
		want             []string
	}{
		{
			"Markdown", "a.md", "前文\n\n# 概要 #\n\n本文\n## **期間** と [窓口](https://example.com/)\n\n#### 細目\n## 費用\n# 付録\n",
			[]string{
				"## 概要 #: 概要", "### **期間** と [窓口](https://example.com/): 概要 > 期間 と 窓口",
				"##### 細目: 概要 > 期間 と 窓口 > 細目", "### 費用: 概要 > 費用", "## 付録: 付録",
			},
		},
		{"no headings", "a.md", "#タグ\n####### 七\n#\n# ``\n``\n===\n```\n# 注釈\n```\n~~~sh\n# a\n~~~\n    \n", nil},
		{
			"underlined", "a.md", "---\ntitle: a\n---\n大\n===\n\n文\n\n小\n---\n\n---\n| a |\n|---|\n- 項\n---\n",
			[]string{"#大: 大", "#小: 大 > 小"},
		},
		{
			"rules", "a.txt", "第１章　総則\n（目的）\n第1条　この規程は、勤務を定める。\n第2条（定義）　用語は次による。\n第3条の規定により、\n第3条の2（特例）\n第二章 休暇\n" +
				"第十条 休暇\n第2章は、休暇を定める。\n",
			[]string{
				"#第１章　総則: 第１章 総則", "第1条　この規程は、勤務を定める。: 第１章 総則 > 第1条", "第2条（定義）　用語は次による。: 第１章 総則 > 第2条（定義）",
				"#第3条の2（特例）: 第１章 総則 > 第3条の2（特例）", "#第二章 休暇: 第二章 休暇", "#第十条 休暇: 第二章 休暇 > 第十条 休暇",
			},
		},
		{"HTML", "a.html", "<h1>規程</h1><p>文</p><h2>期間</h2><p>文", []string{"## 規程: 規程", "### 期間: 規程 > 期間"}},
		{"a table has none", "a.csv", "品名,数\n# 板,5\n", nil},
		{
			"a long heading", "a.md", "# " + strings.Repeat("長", 80),
			[]string{"## " + strings.Repeat("長", 80) + ": " + strings.Repeat("長", 59) + "…"},
		},
	}
	for _, test := range tests {
		if got := marksOf(t, test.file, test.text); !slices.Equal(got, test.want) {
			t.Errorf("%s: marks %q, want %q", test.name, got, test.want)
		}
	}
}

func TestHeadingMarksAreBounded(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"many": "# 大\n" + strings.Repeat("## 小\n", 100_000),
		"long": strings.Repeat("# "+strings.Repeat("長", 60)+"\n", 30_000) + "# 終\n",
		"deep": "# " + strings.Repeat("一", 60) + "\n## " + strings.Repeat("二", 60) + "\n### " + strings.Repeat("三",
			60) + "\n#### " +
			strings.Repeat("四", 60) + "\n##### " + strings.Repeat("五", 60) + "\n###### " + strings.Repeat("六",
			60) + "\n",
	} {
		pages := must.Get(formatOf(t, "a.md").Pages(t.Context(), []byte(text)))(t)
		bytes := 0
		for _, m := range pages[0].Marks {
			if bytes += len(m.Locator); len(m.Locator) > 1000 {
				t.Errorf("%s: locator %q", name, m.Locator)
			}
		}
		if len(pages[0].Marks) > 20_000 || bytes > 1<<20 {
			t.Errorf("%s: %d marks, %d bytes", name, len(pages[0].Marks), bytes)
		}
	}
}

func FuzzHeadingMarks(f *testing.F) {
	f.Add("# 一\n二\n==\n　第3条（休暇） 文\n```\n# a\n")
	f.Add("\n\n大\n---\n #  \n")
	f.Fuzz(func(t *testing.T, text string) {
		pages, err := formatOf(t, "a.md").Pages(t.Context(), []byte(text))
		if err != nil {
			return
		}
		at := -1
		for _, m := range pages[0].Marks {
			if m.Locator == "" || m.Offset <= at || m.Offset >= len(pages[0].Text) || m.Offset > 0 &&
				strings.TrimSpace(lineBefore(pages[0].Text, m.Offset)) != "" {
				t.Fatalf("mark %+v of %q", m, pages[0].Text)
			}
			at = m.Offset
		}
	})
}

// lineBefore returns the part of a line before an offset.
func lineBefore(text string, offset int) string {
	return text[strings.LastIndexByte(text[:offset], '\n')+1 : offset]
}
