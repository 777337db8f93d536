package pdf

import (
	"cmp"
	"math"
	"regexp"
	"slices"
)

// order calls line for each line of segments in reading order and reports whether a new block begins. Rules split the
// page first into tiers and columns; gaps split the rest.
func order(segments []segment, loose rules, line func(line []segment, block bool)) {
	if parts := ruled(segments, loose); len(parts) > 1 {
		loose.depth++
		for _, part := range parts {
			order(part, loose, line)
		}
		return
	}
	slices.SortStableFunc(segments, func(a, b segment) int { return cmp.Compare(a.box.y0+a.box.y1, b.box.y0+b.box.y1) })
	if columns := split(segments); len(columns) > 1 && !slices.ContainsFunc(columns, notProse) {
		for _, column := range columns {
			order(column, loose, line)
		}
		return
	}
	for _, group := range groups(bands(segments)) {
		columns := split(flat(group))
		switch {
		case len(columns) < 2:
			emit(group, line)
		case isTable(group, columns):
			for _, row := range rows(group) {
				if cells := split(flat(row)); len(row) > 1 && len(cells) > 1 && !inSequence(row) {
					for _, cell := range cells {
						emit(bands(cell), line)
					}
				} else {
					emit(row, line)
				}
			}
		default:
			for _, column := range columns {
				order(column, loose, line)
			}
		}
	}
}

// ruled splits segments at rules that extend along nearly all of them and cross none.
func ruled(segments []segment, loose rules) [][]segment {
	if len(segments) < 2 || loose.depth > maxDepth || len(loose.across)+len(loose.along) == 0 {
		return nil
	}
	extent := segments[0].box
	boxes := make([]box, len(segments))
	for i, s := range segments {
		extent, boxes[i] = extent.with(s.box), s.box
	}
	if parts := cut(segments, boxes, loose.across, extent); len(parts) > 1 {
		return parts
	}
	return cut(segments, turned(boxes), turned(slices.Clone(loose.along)),
		box{extent.y0, extent.x0, extent.y1, extent.x1})
}

// cut splits segments with the given boxes at rules across.
func cut(segments []segment, boxes, lines []box, extent box) [][]segment {
	const most = 0.85 // As a fraction of the extent.
	var places []float64
	for _, l := range lines {
		if math.Min(l.y1, extent.y1)-math.Max(l.y0, extent.y0) >= most*(extent.y1-extent.y0) &&
			l.x0 > extent.x0 && l.x0 < extent.x1 {
			places = append(places, l.x0)
		}
	}
	slices.Sort(places)
	crossed := make([]int, len(places)+1) // Changes of the number of segments that cross a position.
	for _, b := range boxes {
		from, _ := slices.BinarySearch(places, b.x0+1)
		to, _ := slices.BinarySearch(places, b.x1-1)
		if from < to {
			crossed[from]++
			crossed[to]--
		}
	}
	var kept []float64
	depth := 0
	for i, x := range places {
		if depth += crossed[i]; depth == 0 {
			kept = append(kept, x)
		}
	}
	parts := make([][]segment, len(kept)+1)
	for i, b := range boxes {
		n, _ := slices.BinarySearch(kept, (b.x0+b.x1)/2)
		parts[n] = append(parts[n], segments[i])
	}
	return slices.DeleteFunc(parts, func(part []segment) bool { return len(part) == 0 })
}

func emit(group [][]segment, line func([]segment, bool)) {
	for i, band := range group {
		slices.SortStableFunc(band, func(a, b segment) int { return cmp.Compare(a.box.x0, b.box.x0) })
		line(band, i == 0)
	}
}

// bands groups segments by line.
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

// groups returns runs of consecutive lines whose gaps are aligned, or that have no gaps. If the lines of columns are at
// different heights, a line has a gap only together with its neighbors.
func groups(bands [][]segment) [][][]segment {
	var found [][][]segment
	var own []segment
	parted, shifted := false, false
	for i, band := range bands {
		together := append(slices.Clone(own), band...)
		gap := len(split(together)) > 1 && (!shifted || !below(own, band))
		begins := i > 0 && !parted && isShifted(bands[i-1], band)
		ends := parted && len(band) == 1 && below(own, band) && areBlocks(split(own)) ||
			i > 0 && !parted && len(band) > 1 && median(bands[i-1]) >= titleSize*median(band)
		if len(found) > 0 && !begins && !ends && (gap || !parted && len(split(band)) < 2) {
			found[len(found)-1] = append(found[len(found)-1], band)
			own, parted = together, gap
			continue
		}
		group := [][]segment{band}
		take := func() { // Takes the last line from the group before.
			last := len(found) - 1
			group = slices.Insert(group, 0, found[last][len(found[last])-1])
			if found[last] = found[last][:len(found[last])-1]; len(found[last]) == 0 {
				found = found[:last]
			}
		}
		if shifted = begins; begins {
			take()
		}
		columns := split(flat(group))
		for len(found) > 0 && !parted && len(columns) > 1 && higher(columns, found[len(found)-1]) {
			take()
			columns, shifted = split(flat(group)), true
		}
		found = append(found, group)
		own, parted = flat(group), len(columns) > 1
	}
	// Whether a line belongs to the columns below it is only certain when these are complete.
	for i := 1; i < len(found); i++ {
		above := found[i-1]
		if n := valueLines(above, found[i]); n > 0 {
			found[i-1], found[i] = above[:len(above)-n], slices.Concat(above[len(above)-n:], found[i])
		}
		for above := found[i-1]; len(above) > 1 && len(split(flat(above))) == 1; above = found[i-1] {
			if columns := split(flat(found[i])); len(columns) < 2 || !higher(columns, above) {
				break
			}
			last := len(above) - 1
			found[i-1], found[i] = above[:last], slices.Insert(found[i], 0, above[last])
		}
	}
	return found
}

// higher reports whether the last of the lines belongs to one of the columns after a wide first one. Such a column
// begins higher than the first one.
func higher(columns, lines [][]segment) bool {
	line, first := lines[len(lines)-1], extentOf(columns[0])
	size := median(columns[0])
	return first.x1-first.x0 > narrow*size && first.x1 < line[0].box.x0 && !below(line, flat(columns)) &&
		median(line) < titleSize*size &&
		len(split(flat(append(columns, line)))) == len(columns)
}

// isShifted reports whether two lines are parts of columns whose lines are at different heights.
func isShifted(line, next []segment) bool {
	return gapBetween(line, next) < -0.05*median(next) && len(split(line)) == 1 && len(split(next)) == 1 &&
		len(split(slices.Concat(line, next))) > 1
}

// below reports whether the space between segments and those below them is wider than usual between lines.
func below(above, segments []segment) bool {
	return gapBetween(above, segments) > median(segments)
}

func flat(group [][]segment) []segment { return slices.Concat(group...) }

// split divides segments at gaps common to all of them that are wide relative to the font size.
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

func extentOf(segments []segment) box {
	extent := segments[0].box
	for _, s := range segments {
		extent = extent.with(s.box)
	}
	return extent
}

func median(segments []segment) float64 {
	sizes := make([]float64, len(segments))
	for i, s := range segments {
		sizes[i] = s.size
	}
	slices.Sort(sizes)
	return sizes[len(sizes)/2]
}

// narrow is the greatest width of a column that is not running text, in font sizes.
const narrow = 8

// notProse reports whether a column is not running text. Running text fills its column and has many lines.
func notProse(column []segment) bool {
	lines := bands(column)
	extent := extentOf(column)
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
	return len(lines) < 3 || full*2 < len(lines) || extent.x1-extent.x0 <= narrow*median(column)
}

// isTable reports whether the lines of adjacent columns form rows.
func isTable(group [][]segment, columns [][]segment) bool {
	other := 0
	for _, column := range columns {
		other += toInt(notProse(column))
	}
	if other == 0 || areBlocks(columns) {
		return false
	}
	several := 0
	for _, band := range group {
		if len(band) > 1 {
			several++
		}
	}
	return several*2 >= len(group) || other == len(columns)
}

// addressee matches the end of a line with the name of an addressee.
var addressee = regexp.MustCompile(`(御中|様|殿|各位)$`)

// areBlocks reports whether two columns are separate blocks, such as the addressee and the sender of a letter, and not
// labels and values: one names an addressee, or most lines of both contain a label.
func areBlocks(columns [][]segment) bool {
	if len(columns) != 2 {
		return false
	}
	addressed, labeled := false, 0
	for _, column := range columns {
		lines, labels := bands(column), 0
		extent := extentOf(column)
		if len(lines) < 2 || extent.x1-extent.x0 <= narrow*median(column) {
			return false
		}
		for _, line := range lines {
			addressed = addressed || addressee.MatchString(line[len(line)-1].text())
			labels += toInt(label.MatchString(line[0].text()))
		}
		labeled += toInt(labels*2 >= len(lines))
	}
	return addressed || labeled == 2
}

// rows splits the lines of a table into rows at the wider spaces between lines.
func rows(group [][]segment) [][][]segment {
	if columns := split(flat(group)); isCentered(columns) {
		return [][][]segment{group}
	}
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
	var split [][][]segment
	for _, row := range found {
		if !severalRows(row) {
			split = append(split, row)
			continue
		}
		for _, line := range row {
			split = append(split, [][]segment{line})
		}
	}
	return split
}

// isCentered reports whether the first column is a label that is vertically centered on several lines of the second one.
func isCentered(columns [][]segment) bool {
	if len(columns) != 2 || len(columns[0]) != 1 || len(bands(columns[1])) < 2 {
		return false
	}
	label, value := columns[0][0], extentOf(columns[1])
	return math.Abs(label.box.y0+label.box.y1-value.y0-value.y1) < label.size && value.y0 < label.box.y0-label.size/2
}

// valueLines returns how many of the last lines above a group belong to a value that continues in the group. The label of
// the value is in the first line of the group and vertically centered on the value. The space above the value is wider
// than the spaces between its lines.
func valueLines(above, group [][]segment) int {
	slack := 0.3 * median(group[0])
	pitch := gapBetween(above[len(above)-1], group[0]) + slack
	n := 1 // Number of lines of the group that belong to the value.
	for n < len(group) && gapBetween(group[n-1], group[n]) < pitch {
		n++
	}
	first := len(above) - n + 1
	if n < 2 || first < 1 || gapBetween(above[first-1], above[first]) < pitch ||
		!isCentered(split(flat(slices.Concat(above[first:], group[:n])))) {
		return 0
	}
	return n - 1
}

// inSequence reports whether the lines follow each other from top to bottom without overlapping vertically, as a centered
// title and a line below it do.
func inSequence(lines [][]segment) bool {
	for i, line := range lines {
		if len(line) > 1 || i > 0 && gapBetween(lines[i-1], line) < 0 {
			return false
		}
	}
	return true
}

// severalRows reports whether lines without wider spaces between them are separate rows: most lines fill most columns,
// unlike the last lines of a row with wrapped cells.
func severalRows(lines [][]segment) bool {
	var starts []float64 // Of the columns.
	for _, column := range split(flat(lines)) {
		first := slices.MinFunc(column, func(a, b segment) int { return cmp.Compare(a.box.x0, b.box.x0) })
		starts = append(starts, first.box.x0)
	}
	most, full := 0, 0
	filled := make([]int, len(lines)) // Number of columns with text. A label such as 日　時 is in one column.
	for i, line := range lines {
		var columns []int
		for _, s := range line {
			column, found := slices.BinarySearch(starts, s.box.x0)
			columns = append(columns, column-toInt(!found))
		}
		slices.Sort(columns)
		filled[i] = len(slices.Compact(columns))
		most = max(most, filled[i])
	}
	for _, n := range filled {
		full += toInt(n*4 >= most*3)
	}
	return most > 1 && len(lines) > 2 && full*4 >= len(lines)*3
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
