package pdf

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// withoutRuby separates ruby (small kana above kanji) from the lines.
func withoutRuby(lines []segment, t turn, r rules) (base, ruby []segment) {
	r = rules{across: turned(slices.Clone(r.along))}
	slices.SortFunc(r.across, func(a, b box) int { return cmp.Compare(a.x0, b.x0) })
	for _, small := range lines {
		kana := 0
		for _, g := range small.glyphs {
			if isKana(g.r) {
				kana++
			}
		}
		reading := kana*5 >= len(small.glyphs)*4
		most := 0.35
		if reading {
			most = 0.6
		}
		above := body(small.box, small.size)
		explains := func(line segment) bool {
			below := body(line.box, line.size)
			return small.size < rubySize*line.size && math.Abs(above.y1-below.y0) < most*line.size &&
				above.x0 > below.x0-line.size && above.x1 < below.x1+line.size && over(line, above) &&
				!r.part(turned([]box{above})[0], turned([]box{below})[0], 0)
		}
		if i := slices.IndexFunc(lines, explains); i >= 0 && (reading || t == downwards) {
			small.below = under(lines[i], small.box)
			ruby = append(ruby, small)
			continue
		}
		base = append(base, small)
	}
	return base, ruby
}

// under returns the base text of ruby.
func under(line segment, b box) string {
	var word strings.Builder
	for _, g := range line.glyphs {
		if at := g.turn.frame(g.box); at.x0 < b.x1-0.2*g.size && at.x1 > b.x0+0.2*g.size &&
			(unicode.Is(unicode.Han, g.r) || !isWide(g.r)) {
			word.WriteRune(g.r)
		}
	}
	return word.String()
}

// over reports whether a box is above a kanji of a line, or above any longer word.
func over(line segment, b box) bool {
	for _, g := range line.glyphs {
		at := g.turn.frame(g.box)
		if isWide(g.r) && !isKana(g.r) && at.x0 < b.x1 && at.x1 > b.x0 {
			return true
		}
	}
	return false
}
