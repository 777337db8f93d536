package offline

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/answer"
)

// sentence is one sentence, bullet, table row or heading of a text.
type sentence struct {
	text    string // Without bullets and heading marks.
	heading string // The heading above it.
	kind    kind
	source  int // Index of its source in the prompt.
}

type kind int

const (
	kindProse kind = iota
	kindBullet
	kindHeading
	kindTable
)

const (
	maxSentence = 400 // In characters. A longer sentence has no punctuation and is split.
	maxQuote    = 200 // In characters, between a pair of brackets that keep a sentence together.
	maxHeading  = 40  // In characters.
	minWrapped  = 45  // In bytes. Lines of prose are not wrapped at less.
)

var (
	lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n\n", "\f", "\n\n",
		"\u200b", "", "\ufeff", "")
	bullet = regexp.MustCompile(`^(?:[・•◦‣●○◆◇■□▪▫▶►▷✓✔☑※→⇒]|[-*+–—－][ 　\t]|[①-⑳]|[(（]?[0-9０-９]{1,3}[)）]|` +
		`[0-9０-９]{1,3}(?:\.[ \t]|．)|[(（]?[アイウエオカキクケコa-hA-H][)）])[ 　\t]*`)
	heading = regexp.MustCompile(`^(?:#{1,6}[ 　\t]+(.+?)[# ]*|【([^】]+)】|[■◆▼★◎□◇▽☆][ 　]*(.*[^。．.！!？?：:、，す])|` +
		`((?:第[0-9０-９一二三四五六七八九十百]+[章節条編部項]|[0-9]+\.[0-9][0-9.]*[ 　]).*[^。．.！!？?：:、，す]))$`)
	sentenceLike = regexp.MustCompile(`[0-9０-９：:]|(?:[。｡．.！!？?、」）]|です|ます|ました|ません|[だ下]さい)$`)
	abbreviation = regexp.MustCompile(`(?i)\b(?:[a-z]|mrs?|ms|dr|prof|st|no|vol|fig|vs|ver|inc|co|ltd|[a-z]\.[a-z])$`)
)

// readSentences returns the sentences and table rows of sources, each once, because chunks of a document overlap.
func readSentences(sources []answer.Passage) (all []sentence) {
	seen := make(map[string]bool)
	for i, source := range sources {
		for _, s := range splitSentences(source.Text) {
			key := strings.Join(strings.Fields(s.text), "")
			if s.source = i; s.kind != kindHeading && hasLetters(key) && !seen[key] {
				seen[key] = true
				all = append(all, s)
			}
		}
	}
	return all
}

// splitter reads a text line by line. A line break is intended, or without meaning in a text with hard line breaks.
type splitter struct {
	out     []sentence
	unit    string // The text since the last intended line break, on one line.
	kind    kind   // Of unit.
	heading string
	width   int // Bytes of the longest line of the paragraph.
	last    int // Bytes of the last line of unit.
	fenced  bool
}

// splitSentences splits a text from documents, mails or the clipboard: Japanese or English, with hard line breaks,
// bullets, headings and Markdown. Code blocks are dropped.
func splitSentences(text string) []sentence {
	lines := strings.Split(lineEnds.Replace(strings.ToValidUTF8(text, "\uFFFD")), "\n")
	var s splitter
	for i, line := range lines {
		first := i == 0 || isBreak(lines[i-1])
		if first {
			s.width = 0
			for j := i; j < len(lines) && !isBreak(lines[j]); j++ {
				s.width = max(s.width, len(strings.TrimSpace(lines[j])))
			}
		}
		s.line(line, first && i+1 < len(lines) && isBreak(lines[i+1]))
	}
	s.flush()
	return s.out
}

// line reads one line. alone means that the adjacent lines are empty.
func (s *splitter) line(raw string, alone bool) {
	line := strings.TrimSpace(strings.TrimLeft(raw, "> "))
	title, short := heading.FindStringSubmatch(line), utf8.RuneCountInString(line) <= maxHeading
	switch {
	case strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~"):
		s.flush()
		s.fenced = !s.fenced
	case s.fenced:
	case isBreak(line):
		s.flush()
	case strings.HasPrefix(line, "|") || strings.Count(line, "\t") >= 2:
		cells := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune("| \t", r) })
		s.begin(strings.Join(cells, " "), kindTable)
	case title != nil && short:
		s.begin(strings.Join(title[1:], ""), kindHeading)
	case bullet.MatchString(line):
		s.begin(line[len(bullet.FindString(line)):], kindBullet)
	case alone && short && !sentenceLike.MatchString(line):
		s.begin(line, kindHeading)
	case s.continues(raw):
		if last := lastRune(s.unit); last < 0x2E80 && last != '-' && firstRune(line) < 0x2E80 {
			s.unit += " " // Between the words of a language with spaces.
		}
		s.unit += line
	default:
		s.begin(line, kindProse)
	}
	s.last = len(line)
}

// continues reports whether a line continues the unit.
func (s *splitter) continues(raw string) bool {
	last := lastRune(s.unit)
	switch {
	case s.unit == "" || s.kind >= kindHeading || strings.HasPrefix(raw, "　"):
		return false // An indent begins a paragraph.
	case strings.ContainsRune("、，,（「『(・", last):
		return true
	}
	return !strings.ContainsRune("：:", last) && !isMark(lastRune(strings.TrimRightFunc(s.unit, isClosing))) &&
		s.width >= minWrapped && s.last*10 >= s.width*7
}

func (s *splitter) begin(text string, kind kind) {
	s.flush()
	s.unit, s.kind = text, kind
}

func (s *splitter) flush() {
	if s.kind == kindHeading && s.unit != "" {
		s.heading = s.unit
	}
	for _, text := range cutSentences(s.unit) {
		s.out = append(s.out, sentence{text: text, heading: s.heading, kind: s.kind})
	}
	s.unit = ""
}

// isBreak reports whether a line is empty, or a rule: ---, ＝＝＝, ━━━.
func isBreak(line string) bool {
	return strings.Trim(line, " \t　-=*_~＝－―─━═＊＿…+.·") == ""
}

// cutSentences splits a text without line breaks into sentences.
func cutSentences(text string) (out []string) {
	opening, closing := []rune("「『（("), []rune("」』）)")
	runes, start := []rune(text), 0
	for i := 0; i < len(runes); i++ {
		if n := slices.Index(opening, runes[i]); n >= 0 { // A sentence does not end inside brackets.
			i += max(0, slices.Index(runes[i:min(len(runes), i+maxQuote)], closing[n]))
		}
		length := i - start + 1
		if length >= maxSentence && !isExtender(runeAt(runes, i+1)) ||
			length >= maxSentence/2 && strings.ContainsRune("、，, 　;；|", runes[i]) || endsSentence(runes, i) {
			out = append(out, strings.TrimSpace(string(runes[start:i+1])))
			start = i + 1
		}
	}
	out = append(out, strings.TrimSpace(string(runes[start:])))
	return slices.DeleteFunc(out, func(one string) bool { return one == "" })
}

// endsSentence reports whether a sentence ends after the character at i.
func endsSentence(runes []rune, i int) bool {
	r, before, next := runes[i], runeAt(runes, i-1), runeAt(runes, i+1)
	switch {
	case isMark(next) || isClosing(next):
		return false // The last mark or bracket decides.
	case isClosing(r): // Text continues in 「はい。」と答えた.
		return isMark(before) && !strings.ContainsRune("とのをへにはがでもっ、，", next)
	case strings.ContainsRune("！？!?", r): // Text continues in なぜ？という疑問.
		return (next >= 0x2E80 || weightOf(next) == 0) && !strings.ContainsRune("とのをへ、，", next)
	case r == '．':
		return !unicode.IsDigit(next)
	case r != '.':
		return isMark(r)
	case next != 0 && !unicode.IsSpace(next):
		return next >= 0x2E80 && before >= 0x2E80
	}
	rest := strings.TrimLeftFunc(string(runes[i+1:min(len(runes), i+9)]), unicode.IsSpace)
	return !unicode.IsLower(firstRune(rest)) && !abbreviation.MatchString(string(runes[max(0, i-8):i]))
}

// runeAt returns the character at i, or 0 outside of the text.
func runeAt(runes []rune, i int) rune {
	if i < 0 || i >= len(runes) {
		return 0
	}
	return runes[i]
}

func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

func isClosing(r rune) bool { return strings.ContainsRune("」』）)】〕］]》〉”’\"'", r) }

// isMark reports whether r belongs to final punctuation: ！？, 。。, ...
func isMark(r rune) bool { return strings.ContainsRune("。｡！？!?．.", r) }

// isExtender reports whether r extends the character before it: accents, variation selectors, emoji joined by U+200D.
func isExtender(r rune) bool {
	return unicode.Is(unicode.M, r) || r == '\u200d' || (r >= 0x1F3FB && r <= 0x1F3FF)
}
