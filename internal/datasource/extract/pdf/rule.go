package pdf

import (
	"cmp"
	"math"
	"slices"
)

// Limits of the ruled lines of a page.
const (
	maxSegments  = 60_000 // Of paths, over the page.
	maxPathParts = 4_000  // A path with more parts is an illustration.
	maxRules     = 2_000  // Of each direction.
	ruleWidth    = 2.5    // Points. A wider filled rectangle is a colored background.
	minRule      = 5.0    // Points. A shorter line is a mark.
	ruleSlack    = 2.0    // Points. Tolerance for lines that meet.
	paleColor    = 240    // Least red, green and blue of a white color.
)

// matrix maps the coordinates of an object to those of the page.
type matrix struct{ a, b, c, d, e, f float64 }

var identity = matrix{a: 1, d: 1}

func (m matrix) point(x, y float64) (float64, float64) {
	return m.a*x + m.c*y + m.e, m.b*x + m.d*y + m.f
}

// within returns the matrix of an object nested in another one.
func (m matrix) within(o matrix) matrix {
	e, f := o.point(m.e, m.f)
	return matrix{
		o.a*m.a + o.c*m.b, o.b*m.a + o.d*m.b, o.a*m.c + o.c*m.d, o.b*m.c + o.d*m.d, e, f,
	}
}

// matrixOf returns the matrix of a path or a form.
func (d *Document) matrixOf(object uint64) (matrix, error) {
	ok, err := d.e.call("FPDFPageObj_GetMatrix", object, d.e.at(0))
	if err != nil || ok == 0 {
		return identity, err
	}
	return matrix{
		d.e.float32(0), d.e.float32(4), d.e.float32(8), d.e.float32(12), d.e.float32(16), d.e.float32(20),
	}, nil
}

// Kinds of the segments of a path.
const (
	lineTo = 0
	moveTo = 2
)

// path collects the horizontal and vertical lines of a path.
func (d *Document) path(object uint64, outer matrix, found *drawn) error {
	n, err := d.e.call("FPDFPath_CountSegments", object)
	if err != nil {
		return err
	}
	parts := int(int32(n)) //nolint:gosec // PDFium returns a signed count.
	if parts < 2 || parts > maxPathParts || parts > found.segments {
		return nil
	}
	found.segments -= parts
	if _, err = d.e.call("FPDFPath_GetDrawMode", object, d.e.at(0), d.e.at(4)); err != nil {
		return err
	}
	filled, stroked := d.e.int32(0) != 0, d.e.int32(4) != 0
	dark := false
	if filled {
		if _, err = d.e.call("FPDFPageObj_GetFillColor", object, d.e.at(0), d.e.at(4), d.e.at(8), d.e.at(12)); err != nil {
			return err
		}
		dark = min(d.e.int32(0), d.e.int32(4), d.e.int32(8)) < paleColor
	}
	own, err := d.matrixOf(object)
	if err != nil {
		return err
	}
	own = own.within(outer)
	var points [][2]float64
	straight := true
	flush := func() {
		begin := len(found.rules)
		if stroked {
			found.lines(points)
		} else if filled && straight {
			found.bar(points)
		}
		if s, ok := newShape(points); ok && len(found.shapes) < maxShapes {
			s.dark = dark
			s.rules = slices.Clone(found.rules[begin:])
			found.shapes, found.rules = append(found.shapes, s), found.rules[:begin]
		}
		points, straight = points[:0], true
	}
	for i := range uint64(parts) {
		segment, err := d.e.call("FPDFPath_GetPathSegment", object, i)
		if err != nil {
			return err
		}
		kind, err := d.e.call("FPDFPathSegment_GetType", segment)
		if err != nil {
			return err
		}
		if _, err = d.e.call("FPDFPathSegment_GetPoint", segment, d.e.at(0), d.e.at(4)); err != nil {
			return err
		}
		if kind == moveTo {
			flush()
		}
		straight = straight && (kind == moveTo || kind == lineTo)
		x, y := own.point(d.e.float32(0), d.e.float32(4))
		points = append(points, [2]float64{x, y})
		closed, err := d.e.call("FPDFPathSegment_GetClose", segment)
		if err != nil {
			return err
		}
		// PDFium repeats the first point of a rectangle.
		if closed != 0 && len(points) > 2 && points[len(points)-1] != points[0] {
			points = append(points, points[0])
		}
	}
	flush()
	return nil
}

// lines collects the horizontal and vertical segments of a stroked path.
func (f *drawn) lines(points [][2]float64) {
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		if math.Abs(a[0]-b[0]) < 0.5 || math.Abs(a[1]-b[1]) < 0.5 {
			f.rules = append(f.rules, box{a[0], a[1], b[0], b[1]})
		}
	}
}

// bar collects a filled rectangle that is as thin as a line.
func (f *drawn) bar(points [][2]float64) {
	if len(points) < 4 || len(points) > 5 {
		return
	}
	b := box{points[0][0], points[0][1], points[0][0], points[0][1]}
	for _, p := range points[1:] {
		b = b.with(box{p[0], p[1], p[0], p[1]})
	}
	if width, height := b.x1-b.x0, b.y1-b.y0; math.Min(width, height) <= ruleWidth {
		f.rules = append(f.rules, b)
	}
}

// rules are the ruled lines of a page in the frame of a direction.
type rules struct {
	along  []box // In the direction of the lines of text: y0 equals y1.
	across []box // x0 equals x1.
	depth  int   // Number of splits of the page so far.
}

// newRules merges line segments: programs draw the edges of each cell separately.
func newRules(lines []box, t turn) (r rules) {
	for _, b := range lines {
		if b = t.frame(b); math.IsNaN(b.x0 + b.x1 + b.y0 + b.y1) {
			continue
		}
		if x, y := (b.x0+b.x1)/2, (b.y0+b.y1)/2; b.x1-b.x0 >= b.y1-b.y0 {
			r.along = append(r.along, box{b.x0, y, b.x1, y})
		} else {
			r.across = append(r.across, box{y0: b.y0, x0: x, y1: b.y1, x1: x})
		}
	}
	r.along = turned(joinedRules(turned(r.along)))
	r.across = joinedRules(r.across)
	return r
}

// turned returns the rules with swapped axes.
func turned(lines []box) []box {
	for i, b := range lines {
		lines[i] = box{b.y0, b.x0, b.y1, b.x1}
	}
	return lines
}

// joinedRules merges collinear rules across the text and returns the longest ones.
func joinedRules(lines []box) []box {
	slices.SortFunc(lines, func(a, b box) int { return cmp.Compare(a.x0, b.x0) })
	var found []box
	for len(lines) > 0 {
		n := 1
		for n < len(lines) && lines[n].x0-lines[0].x0 < 1 {
			n++
		}
		same := lines[:n]
		lines = lines[n:]
		slices.SortFunc(same, func(a, b box) int { return cmp.Compare(a.y0, b.y0) })
		last := same[0]
		for _, b := range same[1:] {
			if b.y0 <= last.y1+ruleSlack {
				last.y1 = math.Max(last.y1, b.y1)
				continue
			}
			found = append(found, last)
			last = b
		}
		found = append(found, last)
	}
	found = slices.DeleteFunc(found, func(b box) bool { return b.y1-b.y0 < minRule })
	if len(found) > maxRules {
		slices.SortFunc(found, func(a, b box) int { return cmp.Compare(b.y1-b.y0, a.y1-a.y0) })
		found = found[:maxRules]
		slices.SortFunc(found, func(a, b box) int { return cmp.Compare(a.x0, b.x0) })
	}
	return found
}

// cellGap is the minimum space between characters of different cells, as a multiple of the font size. A rule with less
// space around it runs behind text and does not separate cells.
const cellGap = 0.1

// part reports whether a rule across the text separates two runs of a line.
func (r rules) part(before, after box, size float64) bool {
	if after.x0-before.x1 < cellGap*size {
		return false
	}
	const slack = 1.0
	y := (after.y0 + after.y1) / 2
	i, _ := slices.BinarySearchFunc(r.across, before.x1-slack,
		func(b box, x float64) int { return cmp.Compare(b.x0, x) })
	for ; i < len(r.across) && r.across[i].x0 <= after.x0+slack; i++ {
		if r.across[i].y0 <= y && r.across[i].y1 >= y {
			return true
		}
	}
	return false
}
