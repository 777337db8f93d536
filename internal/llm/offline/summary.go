package offline

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// wish is the form requested by an instruction. Zero fields depend on the length of the text.
type wish struct {
	points int // Number of points.
	chars  int // Maximum number of characters, as prose.
	brief  bool
	full   bool
}

// summary is an extract of a text.
type summary struct {
	lead     string
	points   []string
	requests []string // Further sentences with a deadline or a request.
	keywords []string
	sources  []source // Cited sources; none for a text without sources.
}

// summarize extracts the central sentences of a text, without repetitions.
func summarize(ctx context.Context, text string, w wish) summary {
	all := splitSentences(text)
	sentences := candidates(all)
	if len(sentences) == 0 {
		return summary{}
	}
	texts := make([]string, len(sentences))
	prior := make([]float64, len(sentences))
	for i, s := range sentences {
		texts[i] = s.text
		if s.heading != "" {
			texts[i] += " " + s.heading
		}
		prior[i] = priorOf(sentences, i)
	}
	rank, matrix, kept := rankSentences(ctx, texts, prior)
	for i, at := range kept {
		rank[i] *= prior[at]
	}
	want := w.points
	if want == 0 {
		want = pointsFor(len(sentences), w)
	}
	chars, count := 0, 0
	picked := diversify(rank, matrix, func(i int) bool {
		length := utf8.RuneCountInString(sentences[kept[i]].text)
		if w.chars > 0 {
			if chars+length > w.chars {
				return false
			}
			chars += length
			return true
		}
		if count > want { // The lead, in addition to the points.
			return false
		}
		count++
		return true
	})
	s := compose(sentences, kept, picked, w)
	s.keywords = keywords(all, 5)
	return s
}

// compose arranges the picked sentences in the order of the text.
func compose(sentences []sentence, kept, picked []int, w wish) summary {
	var s summary
	if len(picked) == 0 {
		return s
	}
	lead := picked[0]
	for _, i := range picked[:min(3, len(picked))] {
		if isLead(sentences[kept[i]]) {
			lead = i
			break
		}
	}
	chosen := make(map[int]bool, len(picked))
	slices.Sort(picked)
	for _, i := range picked {
		at := kept[i]
		chosen[at] = true
		if i == lead && w.chars == 0 {
			s.lead = tidy(sentences[at].text)
			continue
		}
		s.points = append(s.points, tidy(sentences[at].text))
	}
	for i, candidate := range sentences {
		if !chosen[i] && len(s.requests) < 3 && w.chars == 0 && w.points == 0 && isRequest(candidate.text) {
			s.requests = append(s.requests, tidy(candidate.text))
		}
	}
	return s
}

// isLead reports whether a sentence is suitable as the first sentence of a summary: neither too short nor too long, and
// independent of the previous sentence.
func isLead(s sentence) bool {
	length := utf8.RuneCountInString(s.text)
	return s.kind == kindProse && length >= 15 && length <= 100 && !leansBack(s.text)
}

// pointsFor returns the number of points for a text of n sentences.
func pointsFor(n int, w wish) int {
	points := int(math.Round(1.1 * math.Sqrt(float64(n))))
	switch {
	case w.brief:
		points = min(points, 2)
	case w.full:
		points *= 2
	}
	limit := 7
	if w.full {
		limit = 12
	}
	return min(max(points, 1), limit, max(1, n-1))
}

// candidates returns the sentences that may appear in a summary. It includes headings and tables only if there is no
// other text.
func candidates(all []sentence) []sentence {
	var out []sentence
	for _, s := range all {
		if s.kind != kindHeading && s.kind != kindTable && utf8.RuneCountInString(s.text) >= 6 && hasLetters(s.text) {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return all
	}
	return out
}

func hasLetters(text string) bool {
	for _, r := range text {
		if scriptOf(r) != scriptNone {
			return true
		}
	}
	return false
}

// priorOf returns the prior relevance of a sentence, independent of the others.
func priorOf(sentences []sentence, i int) float64 {
	s := sentences[i]
	score := 1.0
	first := i == 0 || sentences[i-1].paragraph != s.paragraph
	switch {
	case i == 0:
		score *= 1.35 // Reports and news state the main point first.
	case first:
		score *= 1.15
	case i == len(sentences)-1:
		score *= 1.05
	}
	length := utf8.RuneCountInString(s.text)
	switch {
	case length < 12:
		score *= 0.4
	case length < 20:
		score *= 0.8
	case length > 160:
		score *= 0.7
	}
	if isPleasantry(s.text) {
		return score * 0.02
	}
	if leansBack(s.text) {
		score *= 0.85
	}
	if strings.HasSuffix(s.text, "？") || strings.HasSuffix(s.text, "?") || strings.HasSuffix(s.text, "か。") {
		score *= 0.6
	}
	for _, cue := range []string{
		"結論", "重要", "決定", "決まっ", "決議", "要するに", "つまり", "以上のこと", "このため", "したがって", "目的", "方針", "課題",
		"原因", "最大", "初めて", "増加", "減少", "必要がある", "見込", "達し", "上回", "下回", "conclusion", "therefore", "we found",
	} {
		if strings.Contains(s.text, cue) {
			score *= 1.12
			break
		}
	}
	return score
}

// leansBack reports whether a sentence depends on the previous one.
func leansBack(text string) bool {
	for _, opening := range []string{
		"これ", "それ", "その", "この", "あれ", "また", "しかし", "ただし", "なお", "さらに", "そして", "一方", "だが", "ところが",
		"そこで", "例えば", "たとえば", "加えて", "同", "他方", "ちなみに", "なぜなら", "However", "But ", "This ", "It ", "These ", "They ",
	} {
		if strings.HasPrefix(text, opening) {
			return true
		}
	}
	return false
}

// isPleasantry recognizes the formulaic sentences of Japanese letters.
func isPleasantry(text string) bool {
	for _, phrase := range []string{
		"お世話になっております", "お世話になります", "お疲れ様です", "お疲れさまです", "よろしくお願い", "宜しくお願い", "拝啓", "敬具", "前略", "草々",
		"ご清栄", "ご健勝", "ご隆盛", "時下ますます", "平素は", "平素より", "ご高配", "厚く御礼", "ありがとうございます", "ありがとうございました", "ご査収",
		"取り急ぎ", "ご不明な点", "ご不明点", "お気軽に", "何卒", "ご一読", "Best regards", "Kind regards", "Sincerely", "Thank you",
	} {
		if strings.Contains(text, phrase) {
			return true
		}
	}
	text = strings.TrimRight(text, "。")
	// The writer and the addressee of a letter.
	for _, ending := range []string{"と申します", "でございます", "様", "御中", "各位", "殿"} {
		if strings.HasSuffix(text, ending) && utf8.RuneCountInString(text) <= 30 {
			return true
		}
	}
	return false
}

// isRequest reports whether a sentence asks for an action or names a deadline.
func isRequest(text string) bool {
	if isPleasantry(text) && !strings.Contains(text, "までに") {
		return false
	}
	for _, cue := range []string{"までに", "締め切り", "締切", "期限は", "期日は", "提出して", "ご提出", "ご回答ください", "ご返信ください", "ご対応ください"} {
		if strings.Contains(text, cue) {
			return true
		}
	}
	return false
}

// tidy removes a conjunction at the beginning of a sentence, because it refers to the previous sentence.
func tidy(text string) string {
	for _, opening := range []string{"また、", "なお、", "さらに、", "そして、", "加えて、", "そこで、", "ちなみに、", "さて、", "まず、", "つまり、"} {
		if rest, ok := strings.CutPrefix(text, opening); ok {
			return rest
		}
	}
	return text
}

// markdown formats the summary as an answer.
func (s summary) markdown(w wish) string {
	var b strings.Builder
	if w.chars > 0 {
		for i, point := range s.points {
			if i > 0 && needsSpace(s.points[i-1], point) {
				b.WriteByte(' ')
			}
			b.WriteString(escape(point))
			if last := lastRune(point); !isMark(last) && !isClosing(last) {
				b.WriteString("。")
			}
			b.WriteString(citationOf(point, s.sources))
		}
		b.WriteString("\n")
	} else {
		if s.lead != "" {
			fmt.Fprintf(&b, "**要旨:** %s%s\n\n", escape(s.lead), citationOf(s.lead, s.sources))
		}
		writeList(&b, s.points, s.sources...)
		if len(s.requests) > 0 {
			b.WriteString("\n**期限や依頼に関する文**\n\n")
			writeList(&b, s.requests, s.sources...)
		}
	}
	if len(s.keywords) > 0 {
		escaped := make([]string, len(s.keywords))
		for i, k := range s.keywords {
			escaped[i] = escape(k)
		}
		fmt.Fprintf(&b, "\n**キーワード:** %s\n", strings.Join(escaped, "、"))
	}
	b.WriteString("\n---\n\n" + extractionNote)
	return b.String()
}

const extractionNote = "AIモデルが未設定のため、原文から重要な文を抜き出してまとめました。言い換えや補足はしていません。"

// writeList writes items extracted from sources.
func writeList(b *strings.Builder, items []string, from ...source) {
	for _, item := range items {
		fmt.Fprintf(b, "- %s%s\n", escape(item), citationOf(item, from))
	}
}
