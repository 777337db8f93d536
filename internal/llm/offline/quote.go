package offline

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/answer"
)

// Minimum coverage of an answer and of a related sentence.
const (
	coverageAnswer  = 0.55
	coverageRelated = 0.33
	maxRelated      = 3
	maxQuotedItems  = 10
)

// quote returns the sentences most relevant to the question, or NoAnswer or NoWebAnswer with advice.
func (p prompt) quote(question string, earlier []string, sources []answer.Passage) string {
	noun, nothing := "文書", answer.NoAnswer
	if len(sources) > 0 && sources[0].Site != "" {
		noun, nothing = "ページ", answer.NoWebAnswer
	}
	sentences := readSentences(sources)
	coverage := cover(answer.Query(question, earlier), sources, sentences)
	ranked := make([]int, len(sentences))
	for i := range ranked {
		ranked[i] = i
	}
	slices.SortStableFunc(ranked, func(a, b int) int { return cmp.Compare(coverage[b], coverage[a]) })
	if len(ranked) == 0 || coverage[ranked[0]] < coverageRelated {
		return nothing + "\n\n" + noun + "の中で使われている言葉に言い換えて、もう一度お試しください。\n\n" +
			"AIモデルが未設定のため、質問と同じ言葉を含む箇所だけを探しています。"
	}
	best := ranked[0]
	var b strings.Builder
	if coverage[best] >= coverageAnswer {
		b.WriteString("ご質問に最も近い記述は次のとおりです。\n\n")
	} else {
		b.WriteString("ご質問にそのまま答える記述は見当たりませんでした。関係がありそうな記述を引用します。\n\n")
	}
	end := p.writeQuote(&b, sources, sentences, best)
	related := slices.DeleteFunc(ranked[1:], func(i int) bool {
		return coverage[i] < max(coverageRelated, coverage[best]/2) || i >= best && i < end
	})
	if len(related) > 0 {
		b.WriteString("\n**ほかに関係する記述**\n\n")
	}
	for _, i := range related[:min(len(related), maxRelated)] {
		fmt.Fprintf(&b, "- %s%s\n", escape(sentences[i].text), p.cite(sources[sentences[i].source]))
	}
	b.WriteString("\n---\n\nAIモデルが未設定のため、" + noun +
		"から関係の深い箇所をそのまま引用しています。前後の文脈は出典でご確認ください。")
	return b.String()
}

// writeQuote writes a sentence with its heading, and returns the index after the quoted text. It includes a following
// sentence that depends on it, and a list introduced by it.
func (p prompt) writeQuote(b *strings.Builder, sources []answer.Passage, sentences []sentence, at int) (end int) {
	best, end := sentences[at], at+1
	follows := func(kind kind) bool {
		return end < len(sentences) && sentences[end].source == best.source && sentences[end].heading == best.heading &&
			sentences[end].kind == kind
	}
	if best.heading != "" && !strings.Contains(best.text, best.heading) {
		fmt.Fprintf(b, "> **%s**\n>\n", escape(best.heading))
	}
	text := strings.TrimPrefix(best.text, conjunction.FindString(best.text))
	if follows(kindProse) && leaning.MatchString(sentences[end].text) {
		text += sentences[end].text
		end++
	}
	fmt.Fprintf(b, "> %s%s\n", escape(text), p.cite(sources[best.source]))
	if best.kind == kindProse && introduction.MatchString(best.text) && follows(kindBullet) {
		b.WriteString(">\n")
		for n := 0; n < maxQuotedItems && follows(kindBullet); n++ {
			fmt.Fprintf(b, "> - %s\n", escape(sentences[end].text))
			end++
		}
	}
	return end
}

// introduction matches a sentence that introduces a list.
var introduction = regexp.MustCompile(`次の|以下の|下記の|次に掲げる|：|とおり`)

// cover returns for each sentence the fraction of the query's weight that it contains. Rare terms weigh most; those in
// the heading, the file name and the previous sentence count in part.
func cover(query string, sources []answer.Passage, sentences []sentence) []float64 {
	texts, coverage := make([]terms, len(sentences)), make([]float64, len(sentences))
	for i, s := range sentences {
		texts[i] = termsOf(s.text)
	}
	asked, rarity, total := termsOf(asking.ReplaceAllString(query, "\n")), rarities(texts), 0.0
	for i := range asked {
		asked[i].weight *= rarity(asked[i].text)
		total += asked[i].weight
	}
	for i, s := range sentences {
		above := termsOf(s.heading + "\n" + sources[s.source].Locator + "\n" + sources[s.source].Filename)
		for _, t := range asked {
			switch {
			case texts[i].has(t.text):
				coverage[i] += t.weight / total
			case above.has(t.text):
				coverage[i] += 0.7 * t.weight / total
			case i > 0 && sentences[i-1].source == s.source && texts[i-1].has(t.text):
				coverage[i] += 0.4 * t.weight / total
			}
		}
		if asksNumber.MatchString(query) && strings.ContainsAny(s.text, "0123456789０１２３４５６７８９") {
			coverage[i] *= 1.15
		}
	}
	return coverage
}

// asking matches the interrogative phrases of a question.
var asking = regexp.MustCompile(`教えて|知りたい|説明して|(?:いただけ|もらえ|あり)?ますか|で(?:しょう|した)か|ましたか|ですか|について|に関して|とは|` +
	`ど(?:の|うすれば|うやって)|いくら|いつ(?:まで)?|どこ|だれ|誰|なぜ|何(?:[日人名時円年回]|か月)?|この(?:文書|資料)|書かれて|(?:くだ|下)さい|お願いします|場合`)

var (
	citationLike = regexp.MustCompile(`[【［]([0-9０-９]+)[】］]`)
	asksNumber   = regexp.MustCompile(`率|割合|いくら|金額|費用|料金|価格|いつ|期[限日間]|日程|何[円人名件回%日時月年週かヶ]`)
)

// escape escapes external text like answer.Escape, and also numbers in brackets, which resemble citations.
func escape(text string) string {
	return answer.Escape(citationLike.ReplaceAllString(text, "〔$1〕"))
}
