package pdf

import (
	"cmp"
	"math"
	"slices"
)

// Measures of the layout, in sizes of a font.
const (
	wordGap   = 0.22 // From here on a gap between Latin characters is a space,
	mixedGap  = 0.6  // between Japanese and Latin ones,
	wideGap   = 0.8  // and between Japanese ones.
	lineGap   = 1.0  // Wider gaps part a line.
	columnGap = 1.0  // Gaps over many lines that are wider part columns.
	stepMin   = 0.6  // Characters below each other are of a vertical line from here
	stepMax   = 1.45 // to here.
	minWord   = 2    // Other characters of a word that shows where a horizontal line stands.
	rubySize  = 0.65 // Ruby is smaller than this, measured by what it explains.
)

// segment is a piece of a line without wide gaps. Its box is in the frame of its direction, in which every line runs
// rightwards and the next one stands below.
type segment struct {
	box    box
	size   float64
	glyphs []glyph
	below  string // Of ruby: the word that it explains.
	inside *table // What stands there instead of characters.
}

// frame turns a box so that lines of a direction run rightwards.
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

// layOut puts the characters of a page in the order in which a person reads them. lines are its ruled lines.
func layOut(glyphs []glyph, lines []box) *Page {
	findVertical(glyphs, newRules(lines, downwards))
	var parts [askew + 1][]segment
	var boxes [askew + 1]box
	var counts [askew + 1]int
	w := newWriter()
	for t := range parts {
		var ruby []segment
		parts[t], ruby = segments(glyphs, turn(t), newRules(lines, turn(t)))
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
	fold(&parts, w.main, grids)
	// What runs in other directions are headers and footers, and labels: above the rest, or behind it.
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

// segments returns the pieces of lines that run in a direction, and the ruby among them.
func segments(glyphs []glyph, t turn, r rules) (lines, ruby []segment) {
	var runs []segment
	open := false
	for _, g := range glyphs {
		if g.turn != t {
			open = false
			continue
		}
		b := t.frame(g.box)
		if n := len(runs); open && goesOn(runs[n-1], b, g.size) && !r.part(runs[n-1].box, b, g.size) {
			runs[n-1].add(g, b)
			continue
		}
		runs = append(runs, segment{box: b, size: g.size, glyphs: []glyph{g}})
		open = true
	}
	return withoutRuby(joined(runs, r), t, r)
}

// body returns the box of a line without the space that its font keeps above and below.
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

// goesOn reports whether a character belongs to the end of a segment.
func goesOn(s segment, b box, size float64) bool {
	em := math.Max(s.size, size)
	gap := b.x0 - s.box.x1
	return gap < lineGap*em && gap > -0.6*em && b.x0 >= s.box.x0 && beside(s.box, b)
}

// beside reports whether two boxes stand in the same line.
func beside(a, b box) bool {
	overlap := math.Min(a.y1, b.y1) - math.Max(a.y0, b.y0)
	return overlap > 0.5*math.Min(a.y1-a.y0, b.y1-b.y0)
}

// joined joins runs that stand in the same line.
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

// drawnTwice reports whether a run was drawn before at nearly the same place: shadows, and bold print without a bold
// font.
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
