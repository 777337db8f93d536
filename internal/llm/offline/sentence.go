package offline

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// sentence is one sentence, bullet or heading of a text.
type sentence struct {
	text      string // Without bullets and heading marks.
	heading   string // The heading above it.
	paragraph int    // Counts from 0.
	kind      unitKind
}

type unitKind int

const (
	kindProse unitKind = iota
	kindBullet
	kindHeading
	kindTable // A table row or another line of columns.
)

const (
	maxSentence = 400 // In characters. A longer sentence has no punctuation and is cut at a comma or space.
	maxQuote    = 200 // In characters, between a pair of brackets that keep a sentence together.
	maxHeading  = 40  // In characters.
)

// splitSentences splits a text from documents, mails or the clipboard: Japanese or English, with hard line breaks,
// bullets, headings and Markdown. Code blocks are dropped.
func splitSentences(text string) []sentence {
	var out []sentence
	heading := ""
	for _, u := range splitUnits(text) {
		if u.kind == kindHeading {
			heading = u.text
		}
		under := heading
		if u.kind == kindHeading {
			under = ""
		}
		parts := []string{u.text}
		if u.kind != kindTable && u.kind != kindHeading {
			parts = splitUnit(u.text)
		}
		for _, part := range parts {
			out = append(out, sentence{text: part, heading: under, paragraph: u.paragraph, kind: u.kind})
		}
	}
	return out
}

// splitUnit splits a text without line breaks into sentences.
func splitUnit(text string) []string {
	runes := []rune(text)
	inside := quoted(runes)
	var out []string
	start := 0
	for i := 0; i < len(runes); i++ {
		end, ends := sentenceEnd(runes, inside, i)
		if !ends {
			if i-start < maxSentence {
				i = max(i, end-1)
				continue
			}
			end = cutLong(runes, start, i)
		}
		if s := strings.TrimSpace(string(runes[start:end])); s != "" {
			out = append(out, s)
		}
		start, i = end, end-1
	}
	if s := strings.TrimSpace(string(runes[start:])); s != "" {
		out = append(out, s)
	}
	return out
}

// sentenceEnd reports whether the marks at i end a sentence, and the index after them and any closing brackets.
// Without a mark, end is 0.
func sentenceEnd(runes []rune, inside []bool, i int) (end int, ends bool) {
	if !isMark(runes[i]) {
		return 0, false
	}
	mark := runes[i]
	for end = i + 1; end < len(runes) && (isMark(runes[end]) || isClosing(runes[end])); end++ {
		if runes[end] == '。' {
			mark = '。' // The strongest mark decides.
		}
	}
	switch {
	case inside[i]:
		// Only the end of the quotation itself can end a sentence: 「はい。」彼は答えた。
		return end, !inside[end-1] && !continues(runes[end:])
	case mark == '。' || mark == '｡':
		return end, true
	case mark == '！' || mark == '？':
		return end, !continues(runes[end:])
	case mark == '．':
		return end, !between(runes, i, unicode.IsDigit)
	default:
		return end, endsLatin(runes, i, end)
	}
}

// continues reports whether the text after a quotation or a question mark continues the sentence: 「はい。」と答えた,
// なぜ？という疑問.
func continues(rest []rune) bool {
	if len(rest) == 0 {
		return false
	}
	next := rune(0)
	if len(rest) > 1 {
		next = rest[1]
	}
	switch rest[0] {
	case '、', '，', 'を', 'へ', '」', '』':
		return true
	case 'と':
		return strings.ContainsRune("いのし言思聞尋問感考書答呼述は も、", next)
	case 'っ':
		return next == 'て'
	case 'な':
		return next == 'ど' || next == 'の'
	case 'は', 'が', 'の', 'に', 'で', 'も':
		// After a particle the next word follows; はい、がんばる、もちろん begin a new sentence.
		return next == '、' || unicode.In(next, unicode.Han, unicode.Katakana) || isASCIIAlnum(next)
	}
	return false
}

// endsLatin reports whether . ! or ? in ASCII ends a sentence: they also occur in numbers, names, abbreviations and
// addresses.
func endsLatin(runes []rune, i, end int) bool {
	if end < len(runes) && !unicode.IsSpace(runes[end]) {
		return isJapanese(runes[end]) && (runes[i] != '.' || i > 0 && isJapanese(runes[i-1])) && !continues(runes[end:])
	}
	if runes[i] != '.' {
		return true
	}
	next := end
	for next < len(runes) && unicode.IsSpace(runes[next]) {
		next++
	}
	if next < len(runes) && unicode.IsLower(runes[next]) && end == i+1 {
		return false
	}
	word := i
	for word > 0 && i-word < 12 && (isASCIIAlnum(runes[word-1]) || runes[word-1] == '.') {
		word--
	}
	return next == len(runes) || !isAbbreviation(string(runes[word:i]))
}

// isAbbreviation reports whether a full stop after a word does not end a sentence.
func isAbbreviation(word string) bool {
	switch strings.ToLower(word) {
	case "mr", "mrs", "ms", "dr", "prof", "sr", "jr", "st", "no", "nos", "vol", "fig", "figs", "eq", "ref", "pp", "p",
		"ch",
		"sec", "vs", "cf", "e.g", "i.e", "approx", "est", "dept", "inc", "ltd", "corp", "co", "jan", "feb", "mar",
		"apr", "jun",
		"jul", "aug", "ver", "sep", "sept", "oct", "nov", "dec", "a.m", "p.m", "tel", "ext":
		return true
	}
	// An initial, or a list number: J. Smith, 3. Results, U.S.
	if len(word) <= 2 && word != "" && !strings.ContainsAny(word, "abcdefghijklmnopqrstuvwxyz") {
		return true
	}
	return len(word) == 3 && word[1] == '.' && word != strings.ToLower(word)
}

// cutLong returns the offset at which to cut a sentence that started at start and has not ended by i.
func cutLong(runes []rune, start, i int) int {
	for at := i; at > start+maxSentence/2; at-- {
		switch runes[at-1] {
		case '、', '，', ',', ' ', '　', ';', '；', '|', '\t':
			return at
		}
	}
	for i > start+1 && isExtender(runes[i]) {
		i--
	}
	return i
}

// quoted reports for each character whether it is inside a pair of brackets, excluding the closing one. A bracket
// without a nearby partner is ordinary punctuation.
func quoted(runes []rune) []bool {
	inside := make([]bool, len(runes))
	type open struct {
		closing rune
		at      int
	}
	var stack []open
	for i, r := range runes {
		if closing := closingOf(r); closing != 0 {
			stack = append(stack, open{closing, i})
			continue
		}
		for n := len(stack) - 1; n >= 0; n-- {
			if stack[n].closing != r {
				continue
			}
			if i-stack[n].at <= maxQuote {
				for j := stack[n].at; j < i; j++ {
					inside[j] = true
				}
			}
			stack = stack[:n]
			break
		}
		if len(stack) > 16 { // Deeper nesting is an attack: the cost is quadratic.
			stack = stack[:0]
		}
	}
	return inside
}

func closingOf(r rune) rune {
	switch r {
	case '「':
		return '」'
	case '『':
		return '』'
	case '（':
		return '）'
	case '(':
		return ')'
	case '【':
		return '】'
	case '〔':
		return '〕'
	case '［':
		return '］'
	case '《':
		return '》'
	case '〈':
		return '〉'
	case '“':
		return '”'
	}
	return 0
}

func isClosing(r rune) bool {
	return strings.ContainsRune("」』）)】〕］]》〉”’\"'", r)
}

// isMark reports whether r belongs to final punctuation: ！？, 。。, ...
func isMark(r rune) bool { return strings.ContainsRune("。｡！？!?．.", r) }

func isASCIIAlnum(r rune) bool {
	return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// isJapanese reports whether r is a Japanese letter.
func isJapanese(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r == 'ー' || r == '々'
}

// isExtender reports whether r extends the character before it: accents, variation selectors, emoji joined by U+200D.
func isExtender(r rune) bool {
	return unicode.Is(unicode.M, r) || r == '\u200d' || (r >= 0x1F3FB && r <= 0x1F3FF) || (r >= 0xE0020 && r <= 0xE007F)
}

// between reports whether the characters on both sides of i satisfy f.
func between(runes []rune, i int, f func(rune) bool) bool {
	return i > 0 && i+1 < len(runes) && f(runes[i-1]) && f(runes[i+1])
}
