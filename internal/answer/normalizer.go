package answer

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxPending is the largest number of characters of a possible citation that CitationNormalizer holds back.
const maxPending = 12

// CitationNormalizer normalizes the citations of an answer while it is streamed. It replaces [1], 【2】, ［３］, [1, 2],
// [1-3] and [出典1] with [1], [2], [3], [1][2], [1][2][3] and [1], and drops numbers that no passage has. It leaves code
// unchanged, and all other text in brackets: links, footnotes, check boxes.
//
// The output does not depend on how the text is split into pieces. A CitationNormalizer holds back at most 12
// characters.
type CitationNormalizer struct {
	known map[int]bool // The citation numbers of the passages.

	pending []rune // An opening bracket and the characters after it, while they may be a citation.
	last    rune   // The character before pending.
	open    bool   // The text written so far ends with a possible beginning of a citation.
	fence   fence
	ticks   ticks
}

// NewCitationNormalizer returns a CitationNormalizer that accepts citations of the passages.
func NewCitationNormalizer(passages []Passage) *CitationNormalizer {
	g := &CitationNormalizer{known: make(map[int]bool, len(passages)), last: '\n'}
	g.fence.start()
	for _, p := range passages {
		g.known[p.Index] = true
	}
	return g
}

// Write adds the next piece of the answer, which must be valid UTF-8, and returns the text that can be shown.
func (g *CitationNormalizer) Write(piece string) string {
	var out strings.Builder
	for _, r := range piece {
		g.next(&out, r)
	}
	return out.String()
}

// Close returns the text that is still held back. Do not use the CitationNormalizer after Close.
func (g *CitationNormalizer) Close() string {
	var out strings.Builder
	g.release(&out, 0)
	return out.String()
}

// next processes one character.
func (g *CitationNormalizer) next(out *strings.Builder, r rune) {
	if len(g.pending) > 0 {
		switch {
		case g.complete():
			g.release(out, r) // r decides between a link and a citation.
		case closes(r) || mayCite(r) && len(g.pending) < maxPending:
			g.pending = append(g.pending, r)
			return
		default:
			g.pass(out, g.pending...)
		}
	}
	if opens(r) && g.last != '\\' && g.last != '!' && !g.inCode() {
		g.pending = append(g.pending[:0], r)
		return
	}
	g.pass(out, r)
}

// release writes the held characters: as normalized citations, or unchanged if they are not a citation or next makes
// them a link.
func (g *CitationNormalizer) release(out *strings.Builder, next rune) {
	if len(g.pending) == 0 {
		return
	}
	numbers, ok := g.numbers()
	if !ok || next == '(' || next == ':' && g.last == '\n' {
		g.pass(out, g.pending...)
		return
	}
	g.pending = g.pending[:0]
	dropped := true
	for _, n := range numbers {
		if g.known[n] {
			g.pass(out, []rune("["+strconv.Itoa(n)+"]")...)
			dropped = false
		}
	}
	if dropped && g.open { // Without [8], the rest of [9[8]] would be a citation.
		g.pass(out, '—')
	}
}

// pass writes characters and updates the state of code blocks and code spans.
func (g *CitationNormalizer) pass(out *strings.Builder, text ...rune) {
	for _, r := range text {
		out.WriteRune(r)
		before := g.fence.inside()
		g.fence.next(r)
		switch {
		case g.fence.inside():
			g.ticks = ticks{}
		case before && r != '\n': // A second run of backticks on the line makes it a code span instead of a fence.
			g.ticks = ticks{open: g.fence.count, run: 1}
		default:
			g.ticks.next(r, g.last)
		}
		g.open = opens(r) || g.open && mayCite(r)
		g.last = r
	}
	g.pending = g.pending[:0]
}

// inCode reports whether the next character is in code.
func (g *CitationNormalizer) inCode() bool { return g.fence.inside() || g.ticks.inside() }

// complete reports whether the held characters end with a closing bracket.
func (g *CitationNormalizer) complete() bool { return closes(g.pending[len(g.pending)-1]) }

func opens(r rune) bool { return r == '[' || r == '【' || r == '［' }

func closes(r rune) bool { return r == ']' || r == '】' || r == '］' }

// mayCite reports whether a citation can contain the character.
func mayCite(r rune) bool {
	return digit(r) >= 0 || strings.ContainsRune(" ,、，・-–~〜～†:：", r) || strings.ContainsRune("出典資料文献番号参照注source", r)
}

// digit returns the value of a digit, ASCII or full width, or -1.
func digit(r rune) int {
	switch {
	case '0' <= r && r <= '9':
		return int(r - '0')
	case '０' <= r && r <= '９':
		return int(r - '０')
	}
	return -1
}

// labels are the words that models write before the number of a source.
var labels = []string{"出典番号", "資料番号", "出典", "資料", "文献", "参照", "source", "番号"}

// numbers returns the numbers in the held characters. ok is false if they are not a citation.
func (g *CitationNormalizer) numbers() (numbers []int, ok bool) {
	text := string(g.pending)
	_, width := utf8.DecodeRuneInString(text)
	_, end := utf8.DecodeLastRuneInString(text)
	if !g.complete() {
		return nil, false
	}
	text = strings.TrimSpace(text[width : len(text)-end])
	text, _, _ = strings.Cut(text, "†") // 【4†source】
	for _, label := range labels {
		if rest, found := strings.CutPrefix(text, label); found {
			text = strings.TrimLeft(rest, " :：")
			break
		}
	}
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" ,、，・", r) }) {
		from, to, isRange := cutRange(part)
		first, ok := number(from)
		last := first
		if ok && isRange {
			last, ok = number(to)
		}
		if !ok || last < first || last-first > 20 {
			return nil, false
		}
		for n := first; n <= last; n++ {
			numbers = append(numbers, n)
		}
	}
	return numbers, len(numbers) > 0
}

func cutRange(text string) (from, to string, ok bool) {
	i := strings.IndexAny(text, "-–~〜～")
	if i < 0 {
		return text, "", false
	}
	_, width := utf8.DecodeRuneInString(text[i:])
	return text[:i], text[i+width:], true
}

// number returns the value of one to three digits. Longer numbers, such as years, are not citations.
func number(text string) (int, bool) {
	n, count := 0, 0
	for _, r := range text {
		d := digit(r)
		if d < 0 {
			return 0, false
		}
		n, count = n*10+d, count+1
	}
	return n, count >= 1 && count <= 3
}

// fence tracks fenced code blocks, line by line.
type fence struct {
	mark   rune // The character of the open fence; 0 outside a block.
	length int  // The length of the open fence.

	// State of the current line:
	indent bool // The line so far has only characters that may precede a fence.
	run    rune // The character of the first run, if it may be a fence.
	count  int  // The length of the first run.
	tail   bool // A character other than space follows the run.
	tick   bool // A backtick follows the run.
}

func (f *fence) start() { f.indent, f.run, f.count, f.tail, f.tick = true, 0, 0, false, false }

// inside reports whether the next character is in a fenced block, or on the line that opens or closes one.
func (f *fence) inside() bool { return f.mark != 0 || f.count >= 3 && !f.tick }

func (f *fence) next(r rune) {
	switch {
	case r == '\n':
		f.endLine()
		f.start()
	case f.indent && (r == '`' || r == '~'):
		f.indent, f.run, f.count = false, r, 1
	case f.indent:
		f.indent = r == ' ' || r == '\t' || r == '>'
	case f.run != 0 && !f.tail && r == f.run:
		f.count++
	case f.run != 0:
		f.tail = f.tail || r != ' ' && r != '\t' && r != '\r'
		f.tick = f.tick || r == '`' && f.run == '`'
	}
}

func (f *fence) endLine() {
	switch {
	case f.count < 3:
	case f.mark == 0 && !f.tick:
		f.mark, f.length = f.run, f.count
	case f.run == f.mark && f.count >= f.length && !f.tail:
		f.mark = 0
	}
}

// ticks tracks code spans. A run of backticks opens a span and the next run of the same length closes it. The end of
// the paragraph closes a span without a closing run.
type ticks struct {
	open int // The length of the run that opened the span; 0 outside a span.
	run  int // The length of the current run.
}

func (t *ticks) next(r, last rune) {
	if r == '`' {
		t.run++
		return
	}
	t.open, t.run = t.settled(), 0
	if r == '\n' && last == '\n' {
		t.open = 0
	}
}

// settled returns the value of open if the current run ends here.
func (t *ticks) settled() int {
	switch {
	case t.run == 0:
		return t.open
	case t.open == 0:
		return t.run
	case t.open == t.run:
		return 0
	}
	return t.open
}

// inside reports whether the next character is in a code span, unless it is a backtick.
func (t *ticks) inside() bool { return t.settled() > 0 }
