package llmtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode/utf8"
)

// Markdown returns an answer of exactly chars characters, deterministic for a seed. It has everything that a screen
// must render: headings, emphasis next to Japanese brackets, lists, tables, code, formulas, quotes and links.
func Markdown(chars int, seed uint64) string {
	text := generate(seed, func(text string) bool { return utf8.RuneCountInString(text) >= chars })
	end := 0
	for range chars {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	return text[:end]
}

// MarkdownBytes is Markdown of exactly bytes bytes, padded with full stops.
func MarkdownBytes(bytes int, seed uint64) string {
	text := generate(seed, func(text string) bool { return len(text) >= bytes })
	end := bytes
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + strings.Repeat(".", bytes-end)
}

func generate(seed uint64, enough func(string) bool) string {
	g := generator{random: rand.New(rand.NewPCG(seed, 0x7473756d756769))} //nolint:gosec // Repeatable on purpose.
	g.paragraph()
	for section := 1; !enough(g.out.String()); section++ {
		g.section(section)
	}
	return g.out.String()
}

type generator struct {
	random *rand.Rand
	out    strings.Builder
}

func (g *generator) pick(from ...string) string { return from[g.random.IntN(len(from))] }

func (g *generator) topic() string {
	return g.pick("会議室の予約", "経費の精算", "在宅勤務の申請", "新入社員の研修", "備品の購入", "契約書の確認", "来客の案内",
		"勤怠の締め処理", "社内報の編集", "防災訓練の準備")
}

func (g *generator) sentence() string {
	topic := g.topic()
	return fmt.Sprintf(g.pick(
		"**「%s」**については、担当の部署に前日までに連絡すると手続きが滞りません。",
		"%sは、月末に集中しやすいため、早めに着手することをおすすめします。",
		"まず%sの目的を確かめ、関係する人の予定をそろえます。",
		"%sの記録は、あとから探しやすいように**日付と件名**を付けて残します。",
		"判断に迷うときは、%sの手引きを確認してください。",
		"%sにかかる時間は、平均で約15分、長い場合でも30分ほどです。",
	), topic)
}

func (g *generator) paragraph() {
	for range 2 + g.random.IntN(3) {
		g.out.WriteString(g.sentence())
	}
	g.out.WriteString("\n\n")
}

func (g *generator) section(number int) {
	fmt.Fprintf(&g.out, "## %d. %s\n\n", number, g.topic())
	g.paragraph()
	blocks := []func(){g.bullets, g.steps, g.table, g.code, g.formula, g.quote}
	blocks[(number-1)%len(blocks)]()
	g.paragraph()
}

func (g *generator) bullets() {
	for range 3 {
		fmt.Fprintf(&g.out, "- **%s**: %s\n", g.topic(), g.sentence())
		fmt.Fprintf(&g.out, "  - 補足: `%s` を参照\n", g.pick("就業規則.pdf", "手引き_第3版.docx", "FAQ"))
	}
	g.out.WriteString("\n")
}

func (g *generator) steps() {
	for i := range 4 {
		fmt.Fprintf(&g.out, "%d. %s\n", i+1, g.sentence())
	}
	g.out.WriteString("\n")
}

func (g *generator) table() {
	g.out.WriteString("| 項目 | 担当 | 期限 | 件数 |\n| :--- | :--- | :---: | ---: |\n")
	for i := range 4 {
		fmt.Fprintf(&g.out, "| %s | %s | %d月%d日 | %d |\n", g.topic(), g.pick("総務部", "経理部", "人事部", "情報システム部"),
			1+g.random.IntN(12), 1+g.random.IntN(28), (i+1)*g.random.IntN(40))
	}
	g.out.WriteString("\n")
}

func (g *generator) code() {
	g.out.WriteString("```go\n// 期限を過ぎた申請を数える。\nfunc overdue(requests []Request, now time.Time) int {\n\tcount := 0\n" +
		"\tfor _, r := range requests {\n\t\tif r.Deadline.Before(now) && !r.Done " +
		"{\n\t\t\tcount++\n\t\t}\n\t}\n\treturn count\n}\n```\n\n")
}

func (g *generator) formula() {
	fmt.Fprintf(&g.out, "処理率 $r$ は、処理した件数 $n$ と受け付けた件数 $N$ から求めます。\n\n"+
		"$$\nr = \\frac{n}{N} \\times 100 = %d\\,\\%%\n$$\n\n", 50+g.random.IntN(50))
}

func (g *generator) quote() {
	fmt.Fprintf(&g.out, "> %s\n>\n> 出典: [社内の手引き](https://example.com/guide/%d)\n\n", g.sentence(), g.random.IntN(100))
}
