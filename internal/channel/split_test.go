package channel_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
)

func FuzzR88_Split(f *testing.F) {
	row := "| 項目 | 金額 |\n"
	for _, text := range []string{
		"", "短い。", strings.Repeat("文。", 200), strings.Repeat("あ", 500), strings.Repeat("一行\n", 100),
		"前\n\n```go\n" + strings.Repeat("x := 1 // 代入\n", 60) + "```\n\n後",
		"| 項 | 金 |\n|---|---|\n" + strings.Repeat(row, 80) + "\n後",
		"~~~\n```\n" + strings.Repeat("y\n", 200), "```" + strings.Repeat("長", 400) + "\nz",
		strings.Repeat("- 項目\n", 70) + "\n## 見出し\n\n" + strings.Repeat("本文です。", 50),
	} {
		f.Add(text, uint16(97), uint16(60))
	}
	f.Fuzz(func(t *testing.T, text string, cut, size uint16) {
		if !utf8.ValidString(text) {
			return
		}
		limit := 40 + int(size)%400
		whole := channel.Split(text, limit, true)
		checkSplit(t, text, limit, whole)
		at := int(cut) % (len(text) + 1)
		for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
			at--
		}
		checkPrefix(t, channel.Split(text[:at], limit, false), whole)
	})
}

// checkSplit checks that the pieces contain the text, fit the limit and close each fence that they open.
func checkSplit(t *testing.T, text string, limit int, pieces []channel.Piece) {
	t.Helper()
	var all strings.Builder
	for _, p := range pieces {
		all.WriteString(p.Body)
		if n := utf8.RuneCountInString(p.Markdown); n > limit {
			t.Fatalf("a piece has %d characters, more than %d: %q", n, limit, p.Markdown)
		}
		if p.Body == "" {
			t.Fatal("a piece is empty")
		}
	}
	if all.String() != text {
		t.Fatalf("%q became %q", text, all.String())
	}
}

// checkPrefix checks that the pieces of an unfinished text can be extended to the pieces of the whole text.
func checkPrefix(t *testing.T, begun, whole []channel.Piece) {
	t.Helper()
	if len(begun) > len(whole) {
		t.Fatalf("%d pieces became %d", len(begun), len(whole))
	}
	for i, p := range begun {
		if !strings.HasPrefix(whole[i].Markdown, p.Markdown) {
			t.Fatalf("piece %d: %q is not how %q begins", i, p.Markdown, whole[i].Markdown)
		}
	}
}

func TestR88_SplitGrowsByAppending(t *testing.T) {
	t.Parallel()
	text := longAnswer(60_000)
	whole := channel.Split(text, 3000, true)
	checkSplit(t, text, 3000, whole)
	for at := 0; at < len(text); at += 1 + rand.N(2000) {
		for !utf8.RuneStart(text[at]) {
			at--
		}
		checkPrefix(t, channel.Split(text[:at], 3000, false), whole)
	}
	fences := 0
	for _, p := range whole {
		if strings.Count(p.Markdown, "```")%2 != 0 {
			t.Errorf("a fence is left open in %q", p.Markdown)
		}
		fences += strings.Count(p.Markdown, "```")
		if body := strings.TrimSpace(p.Body); strings.HasPrefix(body, "| 行") &&
			!strings.HasPrefix(p.Markdown, "| 項目 | 値 |\n|---|---|\n") {
			t.Errorf("a table goes on without its head: %q", p.Markdown[:60])
		}
	}
	if fences <= 2*strings.Count(text, "```go") {
		t.Error("no fence was cut")
	}
}

// longAnswer returns Markdown of at least the given number of characters, with fences and tables longer than a message.
func longAnswer(characters int) string {
	var b strings.Builder
	for n := 0; utf8.RuneCountInString(b.String()) < characters; n++ {
		b.WriteString("## 見出し\n\n段落です。二つ目の文です。\n\n```go\n")
		b.WriteString(strings.Repeat("fmt.Println(\"値\") // 出力\n", 200))
		b.WriteString("```\n\n| 項目 | 値 |\n|---|---|\n")
		b.WriteString(strings.Repeat("| 行 | あいうえお |\n", 300))
		b.WriteString("\n" + strings.Repeat("長い段落。", 900) + "\n\n")
	}
	return b.String()
}
