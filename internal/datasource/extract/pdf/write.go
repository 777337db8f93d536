package pdf

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// writer makes text of lines.
type writer struct {
	out     strings.Builder
	glyphs  []glyph
	offsets []int
	lines   []Heading // All lines.
}

func newWriter() *writer { return new(writer) }

// paragraph is what is known of the lines that stand before a line.
type paragraph struct {
	left, right float64 // Of all lines of the block.
	last        []segment
}

// write writes segments in the order of reading, as paragraphs.
func (w *writer) write(segments []segment) {
	type textLine struct {
		segments []segment
		block    bool
	}
	var lines []textLine
	order(segments, func(line []segment, block bool) { lines = append(lines, textLine{line, block}) })
	for i := 0; i < len(lines); {
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
			w.line(line.segments, p)
			p.last = line.segments
		}
		i = end
	}
}

// line writes a line: as the end of the last one if a sentence goes on.
func (w *writer) line(line []segment, p paragraph) {
	switch {
	case w.out.Len() == 0:
	case p.last != nil && p.goesOn(line):
		w.join(line[0].glyphs[0])
	default:
		w.out.WriteByte('\n')
	}
	begin := w.out.Len()
	for i, s := range line {
		if i > 0 {
			w.out.WriteByte(' ')
		}
		for k, g := range s.glyphs {
			if k > 0 && spaced(s.glyphs[k-1], g) {
				w.out.WriteByte(' ')
			}
			w.glyph(g)
		}
	}
	w.lines = append(w.lines, Heading{Offset: begin, Length: w.out.Len() - begin, Size: medianSize(line)})
}

func (w *writer) glyph(g glyph) {
	w.glyphs = append(w.glyphs, g)
	w.offsets = append(w.offsets, w.out.Len())
	// The forms of radicals stand for the characters themselves, which people search for.
	if g.r >= 0x2E80 && g.r <= 0x2FDF || g.r >= 0xFB00 && g.r <= 0xFB06 {
		w.out.WriteString(norm.NFKC.String(string(g.r)))
		return
	}
	w.out.WriteRune(g.r)
}

// join has a line go on where the last one ended.
func (w *writer) join(next glyph) {
	last := w.glyphs[len(w.glyphs)-1]
	switch {
	case last.r == '-' && unicode.IsLower(next.r) && len(w.glyphs) > 1 && unicode.IsLetter(w.glyphs[len(w.glyphs)-2].r):
		// A word that was broken at the end of the line.
		text := w.out.String()
		w.out.Reset()
		w.out.WriteString(text[:w.offsets[len(w.offsets)-1]])
		w.glyphs, w.offsets = w.glyphs[:len(w.glyphs)-1], w.offsets[:len(w.offsets)-1]
	case !isWide(last.r) && !isWide(next.r):
		w.out.WriteByte(' ')
	}
}

// opening is what a line begins with that is no continuation.
var opening = regexp.MustCompile(
	`^(\p{So}|[・➢■□◆◇●○◎▲△▼▽★☆※→⇒①-⑳•–—]|第[0-9０-９一二三四五六七八九十百]+[編部章節款条項]|` +
		`[（(]?[0-9０-９a-zA-Zａ-ｚアイウエオ一二三四五六七八九十]{1,3}[)）．.、])`,
)

// goesOn reports whether the sentence of the last line goes on in a line.
func (p paragraph) goesOn(line []segment) bool {
	if len(p.last) > 1 || len(line) > 1 {
		return false
	}
	above, below := p.last[0], line[0]
	size := math.Max(above.size, below.size)
	if math.Abs(above.size-below.size) > 0.15*size || gapBetween(p.last, line) > 1.2*size || p.right-p.left < 12*size {
		return false
	}
	last := above.glyphs[len(above.glyphs)-1].r
	slack := 2.0 // Japanese lines are full, but for what may not begin the next one.
	if !isWide(last) {
		slack = 0.25 * (p.right - p.left) / size
	}
	if p.right-above.box.x1 > slack*size {
		return false
	}
	// The first line of a paragraph is indented; so are all but the first one behind a number or a bullet.
	if below.box.x0-above.box.x0 > 0.7*size && !opens(above) {
		return false
	}
	return !opens(below)
}

// opens reports whether a line begins with a number or a bullet.
func opens(s segment) bool {
	var start strings.Builder
	for _, g := range s.glyphs[:min(len(s.glyphs), 8)] {
		start.WriteRune(g.r)
	}
	return opening.MatchString(start.String())
}

// spaced reports whether white space stands between two characters of a line.
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

// Lengths of headings, in bytes, and how much larger than the text they are.
const (
	maxHeading  = 120
	headingSize = 1.15
)

// page returns what was written.
func (w *writer) page() *Page {
	p := &Page{Text: w.out.String(), glyphs: w.glyphs, offsets: w.offsets}
	if len(w.glyphs) == 0 {
		return p
	}
	sizes := make([]float64, len(w.glyphs))
	for i, g := range w.glyphs {
		sizes[i] = g.size
	}
	slices.Sort(sizes)
	body := sizes[len(sizes)/2]
	for _, line := range w.lines {
		if line.Size /= body; line.Size >= headingSize && line.Length <= maxHeading && line.Length > 3 {
			p.Headings = append(p.Headings, line)
		}
	}
	return p
}
