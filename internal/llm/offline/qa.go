package offline

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/answer"
)

// source is a passage of a document in the prompt.
type source struct {
	index    string // Its citation number.
	filename string
	page     string
	site     string // For a page of the web.
	text     string
}

// label formats the location of a passage for the reader.
func (s source) label() string {
	switch {
	case s.filename != "" && s.page != "":
		return fmt.Sprintf("%s %sページ", s.filename, s.page)
	default:
		return s.filename
	}
}

// cite formats a citation of the source. It returns "" for a page of the web, which has no citation number.
func (s source) cite() string {
	if s.index == "" {
		return ""
	}
	return " [" + s.index + "]"
}

// passage is a sentence of a source, with its relevance to the question.
type passage struct {
	sentence
	source   int     // Index of its source in the prompt.
	position int     // Index among all sentences.
	coverage float64 // Fraction of the question's weight that it contains.
	score    float64
}

// Minimum coverage, including the heading, of an answer and of a related sentence.
const (
	coverageAnswer  = 0.55
	coverageRelated = 0.33
	maxRelated      = 3
)

// answerFrom quotes the sentences most relevant to a question, or reports that there are none. earlier are the previous
// questions, newest first.
func answerFrom(question string, earlier []string, sources []source) string {
	query := questionTerms(answer.Query(question, earlier))
	passages := readPassages(sources)
	scorePassages(query, questionKind(question), sources, passages)
	ranked := slices.Clone(passages)
	slices.SortStableFunc(ranked, func(a, b passage) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return a.position - b.position
	})
	ranked = withoutRepetitions(ranked)
	if len(query) == 0 || len(ranked) == 0 || ranked[0].coverage < coverageRelated {
		return nothingFound(sources)
	}
	var b strings.Builder
	best := ranked[0]
	if best.coverage >= coverageAnswer {
		b.WriteString("ご質問に最も近い記述は次のとおりです。\n\n")
	} else {
		b.WriteString("ご質問にそのまま答える記述は見当たりませんでした。関係がありそうな記述を引用します。\n\n")
	}
	end := writeQuote(&b, sources, passages, best)
	var related []passage
	for _, p := range ranked[1:] {
		if p.coverage >= coverageRelated && p.score >= best.score*0.5 && len(related) < maxRelated &&
			(p.position < best.position || p.position >= end) {
			related = append(related, p)
		}
	}
	if len(related) > 0 {
		b.WriteString("\n**ほかに関係する記述**\n\n")
		for _, p := range related {
			fmt.Fprintf(&b, "- %s%s\n", escape(p.text), sources[p.source].cite())
		}
	}
	fmt.Fprintf(&b, "\n---\n\nAIモデルが未設定のため、%sから関係の深い箇所をそのまま引用しています。前後の文脈は出典でご確認ください。",
		nounFor(sources))
	return b.String()
}

// writeQuote writes a passage with its heading and location, and returns the position after the quoted text. It
// includes a following sentence that depends on the passage, and a list introduced by the passage.
func writeQuote(b *strings.Builder, sources []source, passages []passage, p passage) int {
	from := sources[p.source]
	if p.heading != "" && !strings.Contains(p.text, p.heading) {
		fmt.Fprintf(b, "> **%s**\n>\n", escape(p.heading))
	}
	text, end := tidy(p.text), p.position+1
	belongs := func(kind unitKind) bool {
		return end < len(passages) && passages[end].source == p.source && passages[end].heading == p.heading &&
			passages[end].kind == kind
	}
	if belongs(kindProse) && passages[end].paragraph == p.paragraph && leansBack(passages[end].text) {
		if !isMark(lastRune(text)) {
			text += "。"
		}
		text += passages[end].text
		end++
	}
	fmt.Fprintf(b, "> %s%s\n", escape(text), from.cite())
	if p.kind == kindProse && containsAny(p.text, "次の", "以下の", "下記の", "次に掲げる", "：", "とおり") && belongs(kindBullet) {
		b.WriteString(">\n")
		for range maxQuotedItems {
			if !belongs(kindBullet) {
				break
			}
			fmt.Fprintf(b, "> - %s\n", escape(passages[end].text))
			end++
		}
	}
	if label := from.label(); label != "" && from.cite() == "" { // The app lists sources with a citation number.
		fmt.Fprintf(b, "\n出典: %s\n", escape(label))
	}
	return end
}

const maxQuotedItems = 10

func nothingFound(sources []source) string {
	var names []string
	for _, s := range sources {
		if s.filename != "" && !slices.Contains(names, s.filename) && len(names) < 5 {
			names = append(names, s.filename)
		}
	}
	var b strings.Builder
	if nounFor(sources) == calledPages {
		b.WriteString(answer.NoWebAnswer + "\n\n")
	} else {
		b.WriteString(answer.NoAnswer + "\n\n")
	}
	if len(names) > 0 {
		b.WriteString("調べた" + nounFor(sources) + ": ")
		for i, name := range names {
			if i > 0 {
				b.WriteString("、")
			}
			b.WriteString(escape(name))
		}
		b.WriteString("\n\n")
	}
	if nounFor(sources) == calledPages {
		b.WriteString("別の言葉に言い換えるか、範囲を広げて、もう一度お試しください。\n\n")
	} else {
		b.WriteString("文書の中で使われている言葉に言い換えるか、対象の文書が選ばれているかをご確認のうえ、もう一度お試しください。\n\n")
	}
	b.WriteString("AIモデルが未設定のため、質問と同じ言葉を含む箇所だけを探しています。")
	return b.String()
}

const calledPages = "ページ"

// nounFor returns the Japanese noun for the sources: pages of the web or documents.
func nounFor(sources []source) string {
	if len(sources) > 0 && sources[0].site != "" {
		return calledPages
	}
	return "文書"
}

// readPassages splits the sources into sentences. Table rows are passages too, because they often contain the
// requested figure.
func readPassages(sources []source) []passage {
	var out []passage
	for i, s := range sources {
		for _, one := range splitSentences(s.text) {
			if one.kind == kindHeading || !hasLetters(one.text) {
				continue
			}
			if one.kind == kindTable {
				one.text = strings.Join(strings.FieldsFunc(one.text,
					func(r rune) bool { return r == '|' || r == '\t' }), " ")
				one.text = strings.Join(strings.Fields(one.text), " ")
			}
			out = append(out, passage{sentence: one, source: i, position: len(out)})
		}
	}
	return out
}

// withoutRepetitions drops passages that repeat a better one verbatim, because chunks of a document overlap.
func withoutRepetitions(ranked []passage) []passage {
	seen := make(map[string]bool)
	var out []passage
	for _, p := range ranked {
		key := strings.Join(strings.Fields(normalize(p.text)), "")
		if !seen[key] {
			seen[key] = true
			out = append(out, p)
		}
	}
	return out
}

// scorePassages scores each passage by the weight of the question's terms that it contains. Rare terms weigh most;
// those in the heading, the file name and the previous sentence count in part.
func scorePassages(query []weighted, kind answerKind, sources []source, passages []passage) {
	held := make([]map[string]bool, len(passages))
	frequency := make(map[string]int)
	for i, p := range passages {
		held[i] = make(map[string]bool)
		for _, t := range terms(p.text) {
			held[i][t.term] = true
			frequency[t.term]++
		}
	}
	idf := func(term string) float64 {
		return math.Log(1 + float64(len(passages)+1)/(float64(frequency[term])+0.5))
	}
	total := 0.0
	for _, t := range query {
		total += t.weight * idf(t.term)
	}
	if total == 0 {
		return
	}
	headings, documents := make(map[string]map[string]bool), make(map[int]map[string]bool)
	for i := range passages {
		p := &passages[i]
		if headings[p.heading] == nil {
			headings[p.heading] = termSet(p.heading)
		}
		if documents[p.source] == nil {
			documents[p.source] = termSet(sources[p.source].filename)
		}
		sum := 0.0
		for _, t := range query {
			part := 0.0
			switch {
			case held[i][t.term]:
				part = 1
			case headings[p.heading][t.term]:
				part = 0.8
			case documents[p.source][t.term]:
				part = 0.6
			case i > 0 && passages[i-1].source == p.source && held[i-1][t.term]:
				part = 0.4
			}
			sum += part * t.weight * idf(t.term)
		}
		p.coverage = sum / total
		p.score = p.coverage
		if kind.fits(p.text) {
			p.score *= 1.2
		}
		switch length := utf8.RuneCountInString(p.text); {
		case length < 8:
			p.score *= 0.6
		case length > 200:
			p.score *= 0.85
		}
	}
}

func termSet(text string) map[string]bool {
	set := make(map[string]bool)
	for _, t := range terms(text) {
		set[t.term] = true
	}
	return set
}

// questionTerms returns the terms of a question, without interrogative words. It limits the weight of a long compound
// with many character pairs, and raises the weight of the end of a question (課題 in 在宅勤務の課題は何ですか).
func questionTerms(question string) []weighted {
	const focus = 1.5
	matter := stripAsking(question)
	words := compounds(matter)
	lengths := make(map[string]int)
	last := make(map[string]bool)
	for i, word := range words {
		for _, t := range terms(word) {
			lengths[t.term] = max(lengths[t.term], utf8.RuneCountInString(word))
			last[t.term] = last[t.term] || i == len(words)-1
		}
	}
	all := terms(matter)
	out := all[:0]
	for _, t := range all {
		if t.weight < weightNumber/2 && !strings.ContainsFunc(t.term,
			func(r rune) bool { return scriptOf(r) != scriptHiragana }) {
			continue // A grammatical particle.
		}
		if n := lengths[t.term]; n > 2 {
			t.weight /= math.Sqrt(float64(n - 1))
		}
		if last[t.term] {
			t.weight *= focus
		}
		out = append(out, t)
	}
	return out
}

// stripAsking removes the interrogative phrases of a question.
func stripAsking(question string) string {
	for _, phrase := range []string{
		"教えてください", "教えて下さい", "教えていただけますか", "教えてもらえますか", "教えて", "知りたいです", "知りたい", "説明してください", "説明して",
		"でしょうか", "ですか", "ますか", "ありますか", "について", "に関して", "とは何", "どのように", "どのような", "どうすれば", "どうやって",
		"いくら", "いつまで", "いつ", "どこ", "だれ", "誰", "なぜ", "何日", "何人", "何時", "何円", "何年", "何か月", "何回", "何", "この文書", "この資料",
		"この書類", "文書の中", "資料の中", "文書に", "資料に", "書かれて",
		"ください", "下さい", "お願いします", "場合",
	} {
		question = strings.ReplaceAll(question, phrase, "\n")
	}
	return question
}

// answerKind is the kind of answer required by a question.
type answerKind int

const (
	asksAnything answerKind = iota
	asksTime
	asksAmount
	asksPerson
	asksPlace
	asksReason
)

func questionKind(question string) answerKind {
	for _, cue := range []struct {
		words string
		kind  answerKind
	}{
		{"率は 割合は いくら 金額 費用 何円 料金 価格 単価 上限額 何人 何名 何件 何回 割合 何% 何パーセント", asksAmount},
		{"いつ 何日 何時 期限 期日 締切 締め切り 日程 何月 何年 何か月 何ヶ月 何週間 期間", asksTime},
		{"誰 だれ どなた 担当者 責任者 どの部署", asksPerson},
		{"どこ 場所 会場 所在地 住所", asksPlace},
		{"なぜ どうして 理由 原因", asksReason},
	} {
		for word := range strings.FieldsSeq(cue.words) {
			if strings.Contains(question, word) {
				return cue.kind
			}
		}
	}
	return asksAnything
}

// fits reports whether a sentence has the form of this kind of answer.
func (k answerKind) fits(text string) bool {
	text = normalize(text)
	number := strings.ContainsAny(text, "0123456789一二三四五六七八九十")
	var units string
	switch k {
	case asksTime:
		units = "年 月 日 時 週 分 曜"
		if containsAny(text, "まで", "前日", "翌日", "当日", "正午", "月末", "期限", "以内") {
			return true
		}
	case asksAmount:
		units = "円 % 割 名 人 件 回 万 億 個 台 倍 ドル"
	case asksPerson:
		units, number = "さん 様 氏 部長 課長 係長 社長 主任 担当 部が 課が 部に 課に 部長に 室が 室に", true
	case asksPlace:
		units, number = "室 階 ビル 会場 本社 支店 支社 センター 市 区 町 県 都 にて", true
	case asksReason:
		units, number = "ため から ので 原因 理由 背景 により", true
	default:
		return false
	}
	if !number {
		return false
	}
	for unit := range strings.FieldsSeq(units) {
		if strings.Contains(text, unit) {
			return true
		}
	}
	return false
}
