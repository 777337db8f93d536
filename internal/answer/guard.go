package answer

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxHeld is how many characters of a possible citation are held back at most.
const maxHeld = 12

// Guard normalizes the citations of an answer while it is streamed. [1], 【2】, ［３］, [1, 2], [1-3] and [出典1] become [1],
// [2], [3], [1][2], [1][2][3] and [1]; numbers of no passage are dropped. Text in code is left as it is, as is anything
// else in brackets: links, footnotes, check boxes.
//
// What it returns does not depend on how the text is cut into pieces. It holds back 12 characters at most.
type Guard struct {
	known map[int]bool // The numbers of passages.

	held  []rune // An opening bracket and what follows, while it may be a citation.
	last  rune   // The character before.
	open  bool   // What has passed ends with what may begin a citation.
	fence fence
	ticks ticks
}

// NewGuard returns a Guard that lets the numbers of the passages pass.
func NewGuard(passages []Passage) *Guard {
	g := &Guard{known: make(map[int]bool, len(passages)), last: '\n'}
	g.fence.start()
	for _, p := range passages {
		g.known[p.Index] = true
	}
	return g
}

// Write takes the next piece of the answer, which is valid UTF-8, and returns what may be shown.
func (g *Guard) Write(piece string) string {
	var out strings.Builder
	for _, r := range piece {
		g.next(&out, r)
	}
	return out.String()
}

// Close returns what is still held back. The Guard must not be used after it.
func (g *Guard) Close() string {
	var out strings.Builder
	g.release(&out, 0)
	return out.String()
}

// next takes a character.
func (g *Guard) next(out *strings.Builder, r rune) {
	if len(g.held) > 0 {
		switch {
		case g.complete():
			g.release(out, r) // r tells a link from a citation.
		case closes(r) || mayCite(r) && len(g.held) < maxHeld:
			g.held = append(g.held, r)
			return
		default:
			g.pass(out, g.held...)
		}
	}
	if opens(r) && g.last != '\\' && g.last != '!' && !g.inCode() {
		g.held = append(g.held[:0], r)
		return
	}
	g.pass(out, r)
}

// release writes what is held: as citations, if it is one and what follows makes it no link.
func (g *Guard) release(out *strings.Builder, next rune) {
	if len(g.held) == 0 {
		return
	}
	numbers, ok := g.numbers()
	if !ok || next == '(' || next == ':' && g.last == '\n' {
		g.pass(out, g.held...)
		return
	}
	g.held = g.held[:0]
	dropped := true
	for _, n := range numbers {
		if g.known[n] {
			g.pass(out, []rune("["+strconv.Itoa(n)+"]")...)
			dropped = false
		}
	}
	if dropped && g.open { // Or what is left of [9[8]] would be a citation.
		g.pass(out, '—')
	}
}

// pass writes characters and follows what code they begin or end.
func (g *Guard) pass(out *strings.Builder, text ...rune) {
	for _, r := range text {
		out.WriteRune(r)
		before := g.fence.inside()
		g.fence.next(r)
		switch {
		case g.fence.inside():
			g.ticks = ticks{}
		case before && r != '\n': // A second run of backticks on the line: it is a code span and no fence.
			g.ticks = ticks{open: g.fence.count, run: 1}
		default:
			g.ticks.next(r, g.last)
		}
		g.open = opens(r) || g.open && mayCite(r)
		g.last = r
	}
	g.held = g.held[:0]
}

// inCode reports whether the next character stands in code.
func (g *Guard) inCode() bool { return g.fence.inside() || g.ticks.inside() }

// complete reports whether what is held has its closing bracket.
func (g *Guard) complete() bool { return closes(g.held[len(g.held)-1]) }

func opens(r rune) bool { return r == '[' || r == '【' || r == '［' }

func closes(r rune) bool { return r == ']' || r == '】' || r == '］' }

// mayCite reports whether a character may stand in a citation.
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

// labels are what models write before the number of a source.
var labels = []string{"出典番号", "資料番号", "出典", "資料", "文献", "参照", "source", "番号"}

// numbers returns the numbers of what is held, if it is a citation.
func (g *Guard) numbers() (numbers []int, ok bool) {
	text := string(g.held)
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

// number returns the value of one to three digits. More are a year, or something else that is no citation.
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

// fence follows fenced code blocks, line by line.
type fence struct {
	mark   rune // What the open fence is made of; 0 outside.
	length int  // Of the open fence.

	// Of the line so far:
	indent bool // Nothing but what may stand before a fence.
	run    rune // The character of its first run, if that may be a fence,
	count  int  // and its length.
	tail   bool // Something other than space follows the run.
	tick   bool // A backtick is in what follows.
}

func (f *fence) start() { f.indent, f.run, f.count, f.tail, f.tick = true, 0, 0, false, false }

// inside reports whether the next character stands in a fenced block, or on the line that opens or closes one.
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

// ticks follows code spans: a run of backticks opens one, the next run of the same length closes it, and the end of a
// paragraph ends what was never closed.
type ticks struct {
	open int // The length of the run that opened the span; 0 outside.
	run  int // The length of the run so far.
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

// settled returns what is open if the run so far is all there is of it.
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

// inside reports whether the next character, if it is no backtick, stands in a code span.
func (t *ticks) inside() bool { return t.settled() > 0 }
