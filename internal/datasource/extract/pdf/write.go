package pdf

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// writer writes the lines of a page as text.
type writer struct {
	out     strings.Builder
	glyphs  []glyph
	offsets []int
	lines   []textLine
	ended   bool // A table precedes the next line.

	before    func() tableEnd // Returns the table at the end of the previous page.
	tables    int             // Number of tables so far.
	lastTable tableEnd

	main  turn
	loose rules // Rules that separate text in the main direction.
	ruby  []segment
}

// textLine is a line of the text outside of tables.
type textLine struct {
	Heading
	glyphs int
	heavy  int  // Number of bold characters.
	inMain bool // It runs in the main direction.
	joined bool // It continues the previous line.
}

func newWriter(before func() tableEnd) *writer { return &writer{before: before} }

// paragraph describes the lines before a line.
type paragraph struct {
	left, right float64 // Extent of all lines of the block.
	last        []segment
}

// write writes segments of a direction in reading order, as paragraphs.
func (w *writer) write(segments []segment, t turn) {
	type orderedLine struct {
		segments []segment
		block    bool
	}
	var lines []orderedLine
	loose := w.loose
	if t != w.main {
		loose = rules{}
	}
	order(segments, loose, func(line []segment, block bool) {
		own, begun := line[:0:0], block
		for _, s := range line {
			if s.inside == nil {
				own = append(own, s)
				continue
			}
			if len(own) > 0 {
				lines = append(lines, orderedLine{own, begun})
			}
			lines = append(lines, orderedLine{[]segment{s}, true})
			own, begun = nil, true
		}
		if len(own) > 0 {
			after := len(lines) > 0 && lines[len(lines)-1].segments[0].inside != nil
			lines = append(lines, orderedLine{own, begun || after})
		}
	})
	for i := 0; i < len(lines); {
		if inside := lines[i].segments[0].inside; inside != nil {
			w.table(inside)
			i++
			continue
		}
		end := i + 1
		for end < len(lines) && !lines[end].block {
			end++
		}
		p := paragraph{left: math.Inf(1), right: math.Inf(-1)}
		for _, line := range lines[i:end] {
			p.left, p.right = math.Min(p.left, line.segments[0].box.x0),
				math.Max(p.right, line.segments[len(line.segments)-1].box.x1)
		}
		for _, line := range lines[i:end] {
			w.line(line.segments, p, t)
			p.last = line.segments
		}
		i = end
	}
}

// newLine starts a line. After a table, it inserts an empty line.
func (w *writer) newLine() {
	if w.ended {
		w.out.WriteByte('\n')
	}
	if w.out.Len() > 0 {
		w.out.WriteByte('\n')
	}
	w.ended = false
}

// line writes a line. It appends the line to the previous one if the sentence continues.
func (w *writer) line(line []segment, p paragraph, t turn) {
	joined := p.last != nil && p.continues(line)
	if joined {
		w.join(line[0].glyphs[0], false)
	} else {
		w.newLine()
	}
	begin := w.out.Len()
	w.segments(line)
	own := textLine{
		Heading: Heading{Offset: begin, Length: w.out.Len() - begin, Size: medianSize(line)},
		inMain:  t == w.main, joined: joined,
	}
	for _, s := range line {
		own.glyphs += len(s.glyphs)
		for _, g := range s.glyphs {
			own.heavy += toInt(g.heavy)
		}
	}
	w.lines = append(w.lines, own)
}

// segments writes the segments of a line.
func (w *writer) segments(line []segment) {
	var last segment
	for i, s := range line {
		if i > 0 && s.box.x0-last.box.x1 > mixedGap*math.Min(s.size, last.size)/2 {
			w.out.WriteByte(' ')
		}
		last = s
		w.characters(s.glyphs)
	}
}

// readings writes the ruby of a page after its text, because it would interrupt the words in the text itself. Ruby
// contains the readings of names, so the first occurrence of a reading follows its base text.
func (w *writer) readings() {
	seen := make(map[string]bool)
	for i, s := range w.ruby {
		if i == 0 {
			w.newLine()
			w.out.WriteString("ルビ：")
		} else {
			w.out.WriteString("、")
		}
		key := s.below
		for _, g := range s.glyphs {
			key += string(g.r)
		}
		first := s.below != "" && !seen[key]
		if seen[key] = true; first {
			w.out.WriteString(s.below + "（")
		}
		w.segments([]segment{s})
		if first {
			w.out.WriteString("）")
		}
	}
}

// glyph writes a glyph as the character r.
func (w *writer) glyph(g glyph, r rune) {
	w.glyphs = append(w.glyphs, g)
	w.offsets = append(w.offsets, w.out.Len())
	// Replace radicals and ligatures with the characters that people search for.
	if r >= 0x2E80 && r <= 0x2FDF || r >= 0xFB00 && r <= 0xFB06 {
		w.out.WriteString(norm.NFKC.String(string(r)))
		return
	}
	w.out.WriteRune(r)
}

// join continues a line after the previous one. apart means that the next character belongs to another sentence.
func (w *writer) join(next glyph, apart bool) {
	last := w.glyphs[len(w.glyphs)-1]
	switch {
	case !apart && openAddress.MatchString(w.tail(200)):
	case last.r == '-' && unicode.IsLower(next.r) && len(w.glyphs) > 1 && unicode.IsLetter(w.glyphs[len(w.glyphs)-2].r):
		// Remove the hyphen of a word that was split at the end of the line.
		text := w.out.String()
		w.out.Reset()
		w.out.WriteString(text[:w.offsets[len(w.offsets)-1]])
		w.glyphs, w.offsets = w.glyphs[:len(w.glyphs)-1], w.offsets[:len(w.offsets)-1]
	case apart, !isWide(last.r) && !isWide(next.r):
		w.out.WriteByte(' ')
	}
}

// openAddress matches an address on the web that a line break divides.
var openAddress = regexp.MustCompile(`https?://[!-~]*[/\-_=&?%#]$`)

// opening matches the beginning of a line that does not continue the previous one.
var opening = regexp.MustCompile(
	`^(\p{So}|[・➢■□◆◇●○◎▲△▼▽★☆※＊*→⇒①-⑳•–—]|第[0-9０-９一二三四五六七八九十百]+[編部章節款条項]|` +
		`[（(]?[0-9０-９a-zA-Zａ-ｚアイウエオ一二三四五六七八九十]{1,3}[)）．.、]|[0-9０-９アイウエオ一二三四五六七八九十]{1,3} |` +
		`[\p{Han}\p{Katakana}ー]{2,8}：|[A-Za-z-]{2,8}：)`, // A label, as in 請求日：10月31日.
)

var label = regexp.MustCompile(`^[\p{Han}\p{Katakana}ーA-Za-z-]{2,8}[：:]`)

// continues reports whether a line continues the sentence of the previous line.
func (p paragraph) continues(line []segment) bool {
	if len(p.last) > 1 || len(line) > 1 {
		return false
	}
	above, below := p.last[0], line[0]
	size := math.Max(above.size, below.size)
	if math.Abs(above.size-below.size) > 0.15*size || gapBetween(p.last, line) > 1.2*size || p.right-p.left < 12*size {
		return false
	}
	last := above.glyphs[len(above.glyphs)-1].r
	slack := 2.0 // Japanese lines are full, except for characters that must not begin the next line.
	if !isWide(last) {
		slack = math.Max(slack, 1+wordLength(below)/size)
	}
	// The first line of a paragraph is indented. After a number or a bullet, all other lines are.
	indent := below.box.x0 - above.box.x0
	if indent > 0.7*size {
		if !opens(above) {
			return false
		}
		slack = math.Min(slack, maxSlack)
	}
	if p.right-above.box.x1 > slack*size || indent < -maxIndent*size && isWide(below.glyphs[0].r) {
		return false
	}
	return !opens(below)
}

// wordLength returns the length of the Latin word or number that begins a segment.
func wordLength(s segment) float64 {
	n := 0
	for n < len(s.glyphs) && !isWide(s.glyphs[n].r) && (n == 0 || !spaced(s.glyphs[n-1], s.glyphs[n])) {
		n++
	}
	if n == 0 {
		return 0
	}
	turn := s.glyphs[0].turn
	return turn.frame(s.glyphs[n-1].box).x1 - turn.frame(s.glyphs[0].box).x0
}

// opens reports whether a line begins with a number or a bullet.
func opens(s segment) bool {
	var start strings.Builder
	for i, g := range s.glyphs[:min(len(s.glyphs), 9)] {
		if i > 0 && isWide(g.r) && spaced(s.glyphs[i-1], g) {
			start.WriteByte(' ')
		}
		start.WriteRune(g.r)
	}
	return opening.MatchString(start.String())
}

// spaced reports whether there is white space between two characters of a line.
func spaced(a, b glyph) bool {
	size := math.Max(a.size, b.size)
	gap := (b.turn.frame(b.box).x0 - a.turn.frame(a.box).x1) / size
	switch wide := []bool{isWide(a.r), isWide(b.r)}; {
	case wide[0] && wide[1]:
		return gap > wideGap
	case wide[0] || wide[1]:
		return gap > mixedGap
	}
	return gap > wordGap || b.space && gap > 0.08
}

// separates reports whether a space character separates Japanese words before the character k, as in 山田 太郎. Spaces
// between single characters only adjust their distance, as in 氏 名.
func separates(glyphs []glyph, k int) bool {
	a, b := glyphs[k-1], glyphs[k]
	if !b.typed || !isWide(a.r) || !isWide(b.r) || b.turn.frame(b.box).x0-a.turn.frame(a.box).x1 < typedGap*b.size {
		return false
	}
	return k > 1 && !a.typed && isWide(glyphs[k-2].r) || k+1 < len(glyphs) && !glyphs[k+1].typed && isWide(glyphs[k+1].r)
}

func medianSize(line []segment) float64 {
	var sizes []float64
	for _, s := range line {
		for _, g := range s.glyphs {
			sizes = append(sizes, g.size)
		}
	}
	slices.Sort(sizes)
	return sizes[len(sizes)/2]
}

// page returns the written page.
func (w *writer) page() *Page {
	p := &Page{Text: w.out.String(), glyphs: w.glyphs, offsets: w.offsets}
	p.Headings = headings(p.Text, w.lines)
	if utf8.RuneCountInString(p.Text[w.lastTable.offset:]) <= maxMargin {
		p.end = w.lastTable
	}
	return p
}
