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
	rubySize  = 0.65 // Ruby is smaller than this, measured by what it explains.
)

// segment is a piece of a line without wide gaps. Its box is in the frame of its direction, in which every line runs
// rightwards and the next one stands below.
type segment struct {
	box    box
	size   float64
	glyphs []glyph
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

// layOut puts the characters of a page in the order in which a person reads them.
func layOut(glyphs []glyph) *Page {
	findVertical(glyphs)
	var parts [askew + 1][]segment
	var boxes [askew + 1]box
	var counts [askew + 1]int
	for t := range parts {
		parts[t] = segments(glyphs, turn(t))
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
	main := turn(slices.Index(counts[:], slices.Max(counts[:])))
	w := newWriter()
	// What runs in other directions are headers and footers, and labels: above the rest, or behind it.
	for _, above := range []bool{true, false} {
		for t := range parts {
			if turn(t) == main {
				continue
			}
			var some []segment
			for _, s := range parts[t] {
				if (s.glyphs[0].box.y1 <= boxes[main].y0+s.size) == above {
					some = append(some, s)
				}
			}
			w.write(some)
		}
		if above {
			w.write(parts[main])
		}
	}
	return w.page()
}

// findVertical finds the lines of upright characters that run downwards. A character is of a vertical line if more of
// those that it was drawn with stand below each other than beside.
func findVertical(glyphs []glyph) {
	down, right := chains(glyphs)
	var lone []int
	var counts [2]int
	for i := range glyphs {
		if glyphs[i].turn != rightwards {
			continue
		}
		switch {
		case down[i] > right[i]:
			glyphs[i].turn = downwards
			counts[1]++
		case right[i] > 0:
			counts[0]++
		case isWide(glyphs[i].r):
			lone = append(lone, i)
		}
	}
	if counts[1] > counts[0] {
		for _, i := range lone {
			glyphs[i].turn = downwards
		}
	}
}

// chains returns how many characters each is in line with, downwards and rightwards. Ruby may stand between two that
// are.
func chains(glyphs []glyph) (down, right []int) {
	const ahead = 16
	next := make([]int, len(glyphs))
	how := make([]turn, len(glyphs))
	for i := range glyphs {
		how[i] = askew
		for k := i + 1; k < min(len(glyphs), i+ahead) && how[i] == askew; k++ {
			next[i], how[i] = k, linked(glyphs[i], glyphs[k])
		}
	}
	length := func(t turn) []int {
		before, after := make([]int, len(glyphs)), make([]int, len(glyphs))
		for i := range glyphs {
			if how[i] == t {
				before[next[i]] = max(before[next[i]], before[i]+1)
			}
		}
		for i := len(glyphs) - 1; i >= 0; i-- {
			if how[i] == t {
				after[i] = after[next[i]] + 1
			}
			before[i] += after[i]
		}
		return before
	}
	return length(downwards), length(rightwards)
}

// linked says in which direction a line goes on from one character to the next; askew says that it does not.
func linked(a, b glyph) turn {
	if a.turn != rightwards || b.turn != rightwards || math.Min(a.size, b.size) < 0.7*math.Max(a.size, b.size) {
		return askew
	}
	size := math.Max(a.size, b.size)
	dx, dy := (b.box.x0+b.box.x1-a.box.x0-a.box.x1)/2/size, (b.box.y0+b.box.y1-a.box.y0-a.box.y1)/2/size
	switch {
	case math.Abs(dy) < 0.5 && dx > 0 && dx < 2.5:
		return rightwards
	case math.Abs(dx) < 0.45 && dy > stepMin && dy < stepMax && isVertical(a.r) && isVertical(b.r):
		return downwards
	}
	return askew
}

// isVertical reports whether a character stands upright in vertical lines.
func isVertical(r rune) bool { return isWide(r) || r >= 0x2010 && r <= 0x2E7F }

// segments returns the pieces of lines that run in a direction.
func segments(glyphs []glyph, t turn) []segment {
	var runs []segment
	open := false
	for _, g := range glyphs {
		if g.turn != t {
			open = false
			continue
		}
		b := t.frame(g.box)
		if n := len(runs); open && goesOn(runs[n-1], b, g.size) {
			runs[n-1].add(g, b)
			continue
		}
		runs = append(runs, segment{box: b, size: g.size, glyphs: []glyph{g}})
		open = true
	}
	return withoutRuby(joined(runs), t)
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
func joined(runs []segment) []segment {
	slices.SortStableFunc(runs, func(a, b segment) int { return cmp.Compare(a.box.x0, b.box.x0) })
	var lines []segment
	for _, run := range runs {
		best := -1
		for i, line := range lines {
			em := math.Max(line.size, run.size)
			gap := run.box.x0 - line.box.x1
			if beside(line.box, run.box) && gap < lineGap*em && gap > -0.6*em &&
				(best < 0 || line.box.x1 > lines[best].box.x1) {
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

// withoutRuby takes out the small kana over Chinese characters: they say the same once more, between the words.
func withoutRuby(lines []segment, t turn) []segment {
	base := slices.Clone(lines)
	return slices.DeleteFunc(lines, func(ruby segment) bool {
		kana := 0
		for _, g := range ruby.glyphs {
			if isKana(g.r) {
				kana++
			}
		}
		if kana*5 < len(ruby.glyphs)*4 && t != downwards {
			return false
		}
		return slices.ContainsFunc(base, func(line segment) bool {
			return ruby.size < rubySize*line.size && math.Abs(ruby.box.y1-line.box.y0) < 0.35*line.size &&
				ruby.box.x0 > line.box.x0-line.size && ruby.box.x1 < line.box.x1+line.size && over(line, ruby.box)
		})
	})
}

// over reports whether a box stands over a Chinese character of a line, or any word that is longer than it.
func over(line segment, b box) bool {
	for _, g := range line.glyphs {
		at := g.turn.frame(g.box)
		if isWide(g.r) && !isKana(g.r) && at.x0 < b.x1 && at.x1 > b.x0 {
			return true
		}
	}
	return false
}

// order calls line for each line of segments, in the order of reading, with whether a new block begins.
func order(segments []segment, line func(line []segment, block bool)) {
	slices.SortStableFunc(segments, func(a, b segment) int { return cmp.Compare(a.box.y0+a.box.y1, b.box.y0+b.box.y1) })
	for _, group := range groups(bands(segments)) {
		columns := split(flat(group))
		switch {
		case len(columns) < 2:
			emit(group, line)
		case isTable(group, columns):
			for _, row := range rows(group) {
				if cells := split(flat(row)); len(row) > 1 && len(cells) > 1 {
					for _, cell := range cells {
						emit(bands(cell), line)
					}
				} else {
					emit(row, line)
				}
			}
		default:
			for _, column := range columns {
				order(column, line)
			}
		}
	}
}

func emit(group [][]segment, line func([]segment, bool)) {
	for i, band := range group {
		slices.SortStableFunc(band, func(a, b segment) int { return cmp.Compare(a.box.x0, b.box.x0) })
		line(band, i == 0)
	}
}

// bands returns the segments by line.
func bands(segments []segment) [][]segment {
	var found [][]segment
	var extent box
	for _, s := range segments {
		if n := len(found); n > 0 && beside(extent, s.box) {
			found[n-1] = append(found[n-1], s)
			extent.y0, extent.y1 = math.Min(extent.y0, s.box.y0), math.Max(extent.y1, s.box.y1)
			continue
		}
		found = append(found, []segment{s})
		extent = s.box
	}
	return found
}

// groups returns runs of lines that all have their gaps at the same places, or have none.
func groups(bands [][]segment) [][][]segment {
	var found [][][]segment
	var own []segment
	parted := false
	for _, band := range bands {
		together := append(slices.Clone(own), band...)
		gap := len(split(together)) > 1
		if n := len(found); n > 0 && (gap || !parted && len(split(band)) < 2) {
			found[n-1] = append(found[n-1], band)
			own, parted = together, gap
			continue
		}
		found = append(found, [][]segment{band})
		own, parted = slices.Clone(band), len(split(band)) > 1
	}
	return found
}

func flat(group [][]segment) []segment { return slices.Concat(group...) }

// split parts segments at the gaps that go through all of them and are wide, in sizes of their font.
func split(segments []segment) [][]segment {
	if len(segments) < 2 {
		return [][]segment{segments}
	}
	sorted := slices.Clone(segments)
	slices.SortStableFunc(sorted, func(a, b segment) int { return cmp.Compare(a.box.x0, b.box.x0) })
	columns := [][]segment{{sorted[0]}}
	end := sorted[0].box.x1
	for _, s := range sorted[1:] {
		last := &columns[len(columns)-1]
		if s.box.x0-end >= columnGap*math.Min(s.size, median(*last)) {
			columns = append(columns, []segment{s})
		} else {
			*last = append(*last, s)
		}
		end = math.Max(end, s.box.x1)
	}
	for _, column := range columns {
		slices.SortStableFunc(column, func(a, b segment) int {
			return cmp.Compare(a.box.y0+a.box.y1,
				b.box.y0+b.box.y1)
		})
	}
	return columns
}

func median(segments []segment) float64 {
	sizes := make([]float64, len(segments))
	for i, s := range segments {
		sizes[i] = s.size
	}
	slices.Sort(sizes)
	return sizes[len(sizes)/2]
}

// isTable reports whether columns belong together line by line. Prose fills its columns, and has many lines.
func isTable(group [][]segment, columns [][]segment) bool {
	prose := 0
	for _, column := range columns {
		lines := bands(column)
		extent := column[0].box
		for _, s := range column {
			extent = extent.with(s.box)
		}
		full := 0
		for _, line := range lines {
			end := line[0].box.x1
			for _, s := range line {
				end = math.Max(end, s.box.x1)
			}
			if end > extent.x1-0.2*(extent.x1-extent.x0) {
				full++
			}
		}
		if len(lines) >= 3 && full*2 >= len(lines) && extent.x1-extent.x0 > 8*median(column) {
			prose++
		}
	}
	if prose == len(columns) {
		return false
	}
	several := 0
	for _, band := range group {
		if len(band) > 1 {
			several++
		}
	}
	return several*2 >= len(group) || prose == 0
}

// rows returns the rows of a table: its lines parted where the space between them is wider than elsewhere.
func rows(group [][]segment) [][][]segment {
	gaps := make([]float64, 0, len(group))
	for i := 1; i < len(group); i++ {
		gaps = append(gaps, gapBetween(group[i-1], group[i]))
	}
	if len(gaps) == 0 {
		return [][][]segment{group}
	}
	sorted := slices.Sorted(slices.Values(gaps))
	least, size := sorted[0], median(flat(group))
	found := [][][]segment{{group[0]}}
	for i, gap := range gaps {
		if uniform := sorted[len(sorted)-1]-least < 0.3*size; uniform || gap > least+0.3*size {
			found = append(found, nil)
		}
		found[len(found)-1] = append(found[len(found)-1], group[i+1])
	}
	return found
}

// gapBetween returns the space between two lines.
func gapBetween(above, below []segment) float64 {
	end, begin := math.Inf(-1), math.Inf(1)
	for _, s := range above {
		end = math.Max(end, s.box.y1)
	}
	for _, s := range below {
		begin = math.Min(begin, s.box.y0)
	}
	return begin - end
}
