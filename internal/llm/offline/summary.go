package offline

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/tsumugi-ai/tsumugi/internal/answer"
)

// wish is the size of a summary.
type wish struct {
	points int // Maximum number of sentences; 0 if it depends on the length of the text.
	chars  int // Maximum number of characters; 0 for none.
}

const (
	maxPoints = 8  // Sentences of a summary without a wish.
	maxWish   = 30 // Sentences of a summary.
	maxNotes  = 12 // Sentences in the notes of a part of a document.
)

var amount = regexp.MustCompile(`([0-9]+|[一二三四五六七八九十])(文字|字|つ|点|項目|個|行|の箇条書き)`)

// readWish parses the requested size: 五つの箇条書き, 3点で, 200字以内, 短く.
func readWish(request string) wish {
	found := amount.FindStringSubmatch(norm.NFKC.String(request))
	switch {
	case found != nil:
	case strings.Contains(request, "短く"), strings.Contains(request, "簡潔"), strings.Contains(request, "分で読"):
		return wish{points: 3}
	default:
		return wish{}
	}
	n, _ := strconv.Atoi(found[1])
	n = cmp.Or(n, strings.Index("一二三四五六七八九十", found[1])/3+1)
	if strings.HasSuffix(found[2], "字") {
		return wish{points: maxWish, chars: n}
	}
	return wish{points: min(n, maxWish) + 1} // The first sentence precedes the points.
}

// summarize returns the summary of sources, in Markdown.
func (p prompt) summarize(sources []answer.Passage, w wish) string {
	sentences := candidates(sources)
	if len(sentences) <= 2 {
		return "文章が短く、抜き出してまとめられる量がありませんでした。もう少し長い文章でお試しください。\n\n---\n\n" +
			"AIモデルが未設定のため、原文から重要な文を抜き出す要約だけをご利用いただけます。"
	}
	w.points = cmp.Or(w.points, min(1+int(math.Round(1.1*math.Sqrt(float64(len(sentences))))), maxPoints))
	picked := pick(sentences, w)
	return p.list("**要旨：** ", sentences, picked[:1], sources) + "\n" + p.list("- ", sentences, picked[1:], sources) +
		"\n---\n\nAIモデルが未設定のため、原文から重要な文を抜き出してまとめました。言い換えや補足はしていません。"
}

// notes returns the central sentences of a part of a document as a list. A model receives this task before it
// summarizes a document larger than its context.
func (p prompt) notes() string {
	sentences := candidates(p.sources)
	picked := pick(sentences, wish{points: min(max(len(sentences)/6, 3), maxNotes)})
	return cmp.Or(p.list("- ", sentences, picked, p.sources), "なし")
}

// list returns the picked sentences in the order of the text, each on a line after mark, with the citation of its
// source and without an opening conjunction.
func (p prompt) list(mark string, sentences []sentence, picked []int, sources []answer.Passage) (lines string) {
	for _, i := range slices.Sorted(slices.Values(picked)) {
		s := sentences[i]
		text := strings.TrimPrefix(s.text, conjunction.FindString(s.text))
		lines += mark + escape(text) + p.cite(sources[s.source]) + "\n"
	}
	return lines
}

// candidates returns the sentences that may appear in a summary.
func candidates(sources []answer.Passage) []sentence {
	return slices.DeleteFunc(readSentences(sources), func(s sentence) bool {
		return s.kind == kindTable || utf8.RuneCountInString(s.text) < 6
	})
}

// pick returns the indexes of the most central sentences, best first: those with the terms of many others. The terms of
// a picked sentence count less for the next one (SumBasic, Nenkova and Vanderwende, 2005).
func pick(sentences []sentence, w wish) (picked []int) {
	const repeated = 0.3 // Factor for the terms of picked sentences.
	texts := make([]terms, len(sentences))
	for i, s := range sentences {
		texts[i] = termsOf(s.text)
	}
	rarity, center, priors := rarities(texts), make(map[string]float64), make([]float64, len(sentences))
	for i, list := range texts {
		priors[i] = priorOf(sentences[i], i == 0)
		length := 0.0
		for j := range list {
			list[j].weight *= rarity(list[j].text)
			length += list[j].weight * list[j].weight
		}
		for j := range list {
			list[j].weight /= math.Sqrt(length)
			center[list[j].text] += list[j].weight
		}
	}
	chars := 0
	for len(picked) < w.points {
		best, highest := -1, -1.0
		for i, list := range texts {
			if slices.Contains(picked, i) || w.chars > 0 && len(picked) > 0 &&
				chars+utf8.RuneCountInString(sentences[i].text) > w.chars {
				continue
			}
			score := 0.0
			for _, t := range list {
				score += t.weight * center[t.text]
			}
			if score *= priors[i]; score > highest {
				best, highest = i, score
			}
		}
		if best < 0 {
			break
		}
		picked = append(picked, best)
		chars += utf8.RuneCountInString(sentences[best].text)
		for _, t := range texts[best] {
			center[t.text] *= repeated
		}
	}
	return picked
}

var (
	conjunction = regexp.MustCompile(`^(?:また|なお|さらに|そして|加えて|そこで|ちなみに|さて|まず|つまり)、`)
	leaning     = regexp.MustCompile(`^(?:これ|それ|その|この|また|しかし|ただし|なお|さらに|そして|一方|だが|そこで|例えば|たとえば|加えて|同|` +
		`However|But |This |It |These |They )`)
	pleasantry = regexp.MustCompile(`お世話に|お疲れ(?:様|さま)|^(?:こんにちは|こんばんは|失礼します)。?$|(?:よろ|宜)しくお願い|拝啓|敬具|` +
		`ご清栄|時下ますます|平素|御礼|ありがとうござい|ご査収|取り急ぎ|ご不明な?点|お気軽に|何卒|[Rr]egards|Sincerely|Thank you|^.{0,28}(?:と申します|でございます|様|御中|各位|殿)。?$`)
	interrogative = regexp.MustCompile(`(?:[？?]|か。?|とは|教えて(?:ください|下さい)?。?)$`)
	deadline      = regexp.MustCompile(`までに|締め?切り?|期限は|期日は|ご(?:回答|返信|対応|提出)ください`)
)

// priorOf returns the relevance of a sentence by its form. Reports and news state the main point first.
func priorOf(s sentence, first bool) float64 {
	score := 1.0
	if first {
		score = 1.35
	}
	switch length := utf8.RuneCountInString(s.text); {
	case pleasantry.MatchString(s.text):
		return 0.02
	case s.kind == kindProse && !isMark(lastRune(s.text)): // A label or an address.
		return score * 0.3
	case length < 15 || length > 160 || leaning.MatchString(s.text) || interrogative.MatchString(s.text):
		return score * 0.6
	case deadline.MatchString(s.text):
		return score * 1.15
	}
	return score
}
