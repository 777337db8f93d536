package pdf

import (
	"cmp"
	"math"
	"slices"
)

// Measures of the layout, in multiples of the font size.
const (
	wordGap   = 0.22 // Minimum gap between Latin characters that is a space,
	mixedGap  = 0.6  // between a Japanese and a Latin character,
	wideGap   = 0.8  // and between Japanese characters,
	typedGap  = 0.15 // unless the file contains a space character.
	lineGap   = 1.0  // Wider gaps split a line.
	columnGap = 1.0  // Wider gaps over many lines separate columns.
	stepMin   = 0.6  // Characters below each other form a vertical line from this distance
	stepMax   = 1.45 // to this distance.
	minWord   = 2    // Other characters in a word that indicates a horizontal line.
	maxIndent = 4.0  // Largest indent of the first line of a paragraph.
	maxSlack  = 5.0  // Largest space at the end of a numbered line that continues.
	rubySize  = 0.72 // Largest size of ruby relative to its base text.
)

// segment is a piece of a line without wide gaps. Its box is in the frame of its direction, in which lines run to the
// right and follow each other downwards.
type segment struct {
	box    box
	size   float64
	glyphs []glyph
	below  string // For ruby: its base text.
	inside *table // A table that replaces the characters.
}

// text returns the characters of a segment without spaces.
func (s segment) text() string {
	text := make([]rune, len(s.glyphs))
	for i, g := range s.glyphs {
		text[i] = g.r
	}
	return string(text)
}

// frame rotates a box so that lines of direction t run to the right.
func (t turn) frame(b box) box {
	switch t {
	case downwards:
		return box{b.y0, -b.x1, b.y1, -b.x0}
	case leftwards:
		return box{-b.x1, -b.y1, -b.x0, -b.y0}
	case upwards:
		return box{-b.y1, b.x0, -b.y0, b.x1}
	}
	return b
}

// layOut puts the characters of a page into reading order. lines are the ruled lines of the page, and before returns the
// table at the end of the previous page.
func layOut(glyphs []glyph, lines []box, before func() tableEnd) *Page {
	findVertical(glyphs, lines)
	var parts [askew + 1][]segment
	var boxes [askew + 1]box
	var counts [askew + 1]int
	w := newWriter(before)
	for t := range parts {
		var ruby []segment
		parts[t], ruby = segments(glyphs, turn(t), newRules(lines, turn(t)))
		slices.SortStableFunc(ruby, func(a, b segment) int {
			return cmp.Or(cmp.Compare(math.Round(a.box.y1), math.Round(b.box.y1)), cmp.Compare(a.box.x0, b.box.x0))
		})
		w.ruby = append(w.ruby, ruby...)
		for _, s := range parts[t] {
			counts[t] += len(s.glyphs)
			for _, g := range s.glyphs {
				if boxes[t] == (box{}) {
					boxes[t] = g.box
				}
				boxes[t] = boxes[t].with(g.box)
			}
		}
	}
	w.main = turn(slices.Index(counts[:], slices.Max(counts[:])))
	grids, loose := newRules(lines, w.main).grids()
	w.loose = loose
	fold(&parts, w.main, grids, before)
	// Text in other directions is usually in headers, footers and labels. Write it before or after the main text.
	for _, above := range []bool{true, false} {
		for t := range parts {
			if turn(t) == w.main {
				continue
			}
			var some []segment
			for _, s := range parts[t] {
				if (s.glyphs[0].box.y1 <= boxes[w.main].y0+s.size) == above {
					some = append(some, s)
				}
			}
			w.write(some, turn(t))
		}
		if above {
			w.write(parts[w.main], w.main)
		}
	}
	w.readings()
	return w.page()
}

// segments returns the segments of lines in a direction, and separately their ruby.
func segments(glyphs []glyph, t turn, r rules) (lines, ruby []segment) {
	var runs []segment
	open := false
	for _, g := range glyphs {
		if g.turn != t {
			open = false
			continue
		}
		b := t.frame(g.box)
		if n := len(runs); open && continues(runs[n-1], b, g.size) && !r.part(runs[n-1].box, b, g.size) {
			runs[n-1].add(g, b)
			continue
		}
		runs = append(runs, segment{box: b, size: g.size, glyphs: []glyph{g}})
		open = true
	}
	return withoutRuby(joined(runs, r), t, r)
}

// body returns the box of a line without the spacing of its font above and below.
func body(b box, size float64) box {
	if spare := (b.y1 - b.y0 - size) / 2; spare > 0 {
		b.y0, b.y1 = b.y0+spare, b.y1-spare
	}
	return b
}

func (s *segment) add(g glyph, b box) {
	s.box = s.box.with(b)
	s.size = math.Max(s.size, g.size)
	s.glyphs = append(s.glyphs, g)
}

// continues reports whether a character continues a segment.
func continues(s segment, b box, size float64) bool {
	em := math.Max(s.size, size)
	gap := b.x0 - s.box.x1
	return gap < lineGap*em && gap > -0.6*em && b.x0 >= s.box.x0 && beside(s.box, b)
}

// beside reports whether two boxes are in the same line.
func beside(a, b box) bool {
	overlap := math.Min(a.y1, b.y1) - math.Max(a.y0, b.y0)
	return overlap > 0.5*math.Min(a.y1-a.y0, b.y1-b.y0)
}

// joined merges runs in the same line.
func joined(runs []segment, r rules) []segment {
	slices.SortStableFunc(runs, func(a, b segment) int { return cmp.Compare(a.box.x0, b.box.x0) })
	var lines []segment
	for _, run := range runs {
		best := -1
		for i, line := range lines {
			em := math.Max(line.size, run.size)
			gap := run.box.x0 - line.box.x1
			if beside(line.box, run.box) && gap < lineGap*em && gap > -0.6*em &&
				(best < 0 || line.box.x1 > lines[best].box.x1) && !r.part(line.box, run.box, em) {
				best = i
			}
		}
		switch {
		case best >= 0:
			for _, g := range run.glyphs {
				lines[best].add(g, run.box)
			}
		case !drawnTwice(lines, run):
			lines = append(lines, run)
		}
	}
	return lines
}

// drawnTwice reports whether the same run was already drawn at almost the same position, as for shadows and simulated
// bold print.
func drawnTwice(lines []segment, run segment) bool {
	for _, line := range lines {
		if len(line.glyphs) == len(run.glyphs) && math.Abs(line.box.x0-run.box.x0) < 0.3*run.size &&
			math.Abs(line.box.y0-run.box.y0) < 0.3*run.size &&
			slices.EqualFunc(line.glyphs, run.glyphs, func(a, b glyph) bool { return a.r == b.r }) {
			return true
		}
	}
	return false
}
