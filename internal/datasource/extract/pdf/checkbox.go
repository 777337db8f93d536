package pdf

import (
	"math"
	"slices"
)

// Measures of drawn check boxes and radio buttons.
const (
	minCheckBox = 5.5  // Points.
	maxCheckBox = 16.0 // Points.
	maxShape    = 24.0 // Points. A mark may be larger than its box.
	maxShapes   = 5000 // Of a page.
	maxRegular  = 400  // Pages with more are drawings.
	corner      = 0.12 // Largest distance of the points of a corner from it, as a multiple of the side.
	labelGap    = 1.6  // Largest distance to a label, as a multiple of the side.
	cellWidth   = 12.0 // Largest width of a cell that contains only a check box, as a multiple of the side.
)

// shape is a small part of a path.
type shape struct {
	box
	regular bool  // A square or a circle.
	dark    bool  // Filled with another color than white.
	rules   []box // The lines of the part.
}

// newShape returns the shape with the given points. It returns false for a large one.
func newShape(points [][2]float64) (s shape, ok bool) {
	if len(points) < 2 {
		return s, false
	}
	s.box = box{points[0][0], points[0][1], points[0][0], points[0][1]}
	for _, p := range points {
		s.box = s.with(box{p[0], p[1], p[0], p[1]})
	}
	width, height := s.x1-s.x0, s.y1-s.y0
	if !(width <= maxShape && height <= maxShape) {
		return s, false
	}
	square, round := true, true
	var corners [2][2]bool
	for _, p := range points {
		x, y := (p[0]-s.x0)/width, (p[1]-s.y0)/height
		nearX, nearY := math.Min(x, 1-x) < corner, math.Min(y, 1-y) < corner
		square = square && (nearX || nearY)
		if nearX && nearY {
			corners[toInt(x > 0.5)][toInt(y > 0.5)] = true
		}
		r := 2 * math.Hypot(x-0.5, y-0.5)
		round = round && r > 0.95 && r < 1.2 // Control points of curves are outside.
	}
	full := corners == [2][2]bool{{true, true}, {true, true}}
	s.regular = math.Abs(width-height) < 0.2*width && (square && full || round && len(points) > 6)
	return s, true
}

// checkBoxes inserts the check boxes and radio buttons among the shapes of a page into its characters, as ☐ and ☑. It
// returns these, and the rules with those of the other shapes.
func checkBoxes(shapes []shape, glyphs []glyph, lines []box) ([]glyph, []box) {
	var regular []shape
	for _, s := range shapes {
		if side := s.x1 - s.x0; s.regular && side >= minCheckBox && side <= maxCheckBox {
			regular = append(regular, s)
		} else {
			lines = append(lines, s.rules...)
		}
	}
	var found []box
	for _, s := range regular {
		if len(regular) > maxRegular {
			lines = append(lines, s.rules...)
			continue
		}
		if slices.ContainsFunc(found, func(b box) bool { return b.holds(s.box) }) { // Another line of the same box.
			continue
		}
		mark := slices.ContainsFunc(shapes, func(m shape) bool {
			return (!m.regular || m.dark && m.x1-m.x0 < 0.8*(s.x1-s.x0)) && m.marks(s.box)
		})
		g := glyph{r: '☐', box: s.box, base: s.y1, size: s.y1 - s.y0}
		if mark {
			g.r = '☑'
		}
		at, labeled := g.position(glyphs)
		if s.dark && !mark || !labeled && !s.alone(lines) || s.isCell(regular, glyphs, lines) {
			lines = append(lines, s.rules...)
			continue
		}
		found = append(found, s.box)
		glyphs = slices.Insert(glyphs, at, g)
	}
	return glyphs, lines
}

// marks reports whether a shape is a mark in a box.
func (s shape) marks(b box) bool {
	x, y := (s.x0+s.x1)/2, (s.y0+s.y1)/2
	return x > b.x0 && x < b.x1 && y > b.y0 && y < b.y1 &&
		math.Max(s.x1-s.x0, s.y1-s.y0) > 0.3*(b.x1-b.x0) && s.x1-s.x0 > ruleSlack/2 && s.y1-s.y0 > ruleSlack/2
}

// isCell reports whether a square or circle is a cell or a frame: it contains a character, or is next to a rule or to
// another one.
func (s shape) isCell(regular []shape, glyphs []glyph, lines []box) bool {
	meets := func(b box) bool {
		return b.x0 < s.x1+1 && b.x1 > s.x0-1 && b.y0 < s.y1+1 && b.y1 > s.y0-1
	}
	return slices.ContainsFunc(glyphs, func(g glyph) bool { return s.holds(g.box) }) || slices.ContainsFunc(lines, meets) ||
		slices.ContainsFunc(regular, func(o shape) bool { return meets(o.box) && !s.holds(o.box) })
}

// alone reports whether a square or circle is in a narrow cell.
func (s shape) alone(lines []box) bool {
	y, most := (s.y0+s.y1)/2, cellWidth*(s.x1-s.x0)
	left, right := false, false
	for _, l := range lines {
		if l.x1-l.x0 < ruleWidth && l.y0 < y && l.y1 > y {
			left = left || l.x0 < s.x0 && l.x0 > s.x0-most
			right = right || l.x0 > s.x1 && l.x0 < s.x1+most
		}
	}
	return left && right
}

// position returns the index to insert a check box at: that of the next character in its line or, without one, the
// index after the previous character. If one of them is close enough to be the label, labeled is true, and the box gets
// the font size and baseline of the label.
func (g *glyph) position(glyphs []glyph) (at int, labeled bool) {
	at = len(glyphs)
	side, nearest := g.box.x1-g.box.x0, math.Inf(1)
	for i, o := range glyphs {
		if o.turn != rightwards || !beside(o.box, g.box) {
			continue
		}
		before, after := g.box.x0-o.box.x1, o.box.x0-g.box.x1
		switch {
		case after > -0.5*side && after < nearest:
			at, nearest = i, after
		case math.IsInf(nearest, 1) && before > -0.5*side:
			at = i + 1
		default:
			continue
		}
		if math.Min(math.Abs(before), math.Abs(after)) < labelGap*side {
			g.base, g.size, labeled = o.base, o.size, true
		}
	}
	return at, labeled
}
