package pdf

import (
	"math"
	"slices"
)

// findVertical finds vertical lines of upright characters. A character belongs to one if the chain of characters drawn
// with it is longer downwards than sideways. A column of marks is not vertical text: each mark is part of a horizontal
// line. lines are the ruled lines of the page.
func findVertical(glyphs []glyph, lines []box) {
	chain := newChains(glyphs, lines)
	down, right := chain.lengths(downwards), chain.lengths(rightwards)
	var beside []float64 // Centers of horizontal lines.
	var lone []int
	horizontal, vertical := 0, 0
	for i, g := range glyphs {
		switch {
		case g.turn != rightwards:
		case down[i] > right[i]:
			vertical++
		case right[i] > 0:
			horizontal++
			if right[i] >= minWord {
				beside = append(beside, (g.box.y0+g.box.y1)/2)
			} else if isWide(g.r) {
				lone = append(lone, i)
			}
		case isWide(g.r):
			lone = append(lone, i)
		}
	}
	slices.Sort(beside)
	inLine := func(g glyph, slack float64) bool {
		y := (g.box.y0 + g.box.y1) / 2
		i, _ := slices.BinarySearch(beside, y-slack*g.size)
		return i < len(beside) && beside[i] <= y+slack*g.size
	}
	marks := make([]int, len(glyphs)) // By chain: the number of characters on horizontal lines.
	for i := len(glyphs) - 1; i >= 0; i-- {
		marks[i] = toInt(inLine(glyphs[i], 0.2))
		if chain.how[i] == downwards {
			marks[i] += marks[chain.next[i]]
		}
	}
	column := make([]bool, len(glyphs))
	for i, g := range glyphs {
		if g.turn != rightwards || down[i] <= right[i] {
			continue
		}
		if length := down[i] + 1; horizontal >= vertical && chain.first(i) {
			column[i] = marks[i]*5 >= length*4
		}
		if chain.how[i] == downwards {
			column[chain.next[i]] = column[i]
		}
		if !column[i] {
			glyphs[i].turn = downwards
		}
	}
	for _, i := range lone {
		if vertical > horizontal && !inLine(glyphs[i], 0.5) {
			glyphs[i].turn = downwards
		}
	}
	turnNumbers(glyphs)
}

// turnNumbers makes short numbers and words that are set across a vertical line (縦中横) a part of it: 11 in 11月. Their
// characters get equal parts of the height, because those of a vertical line follow each other downwards.
func turnNumbers(glyphs []glyph) {
	const longest = 4
	for i := 0; i < len(glyphs); {
		own, end := glyphs[i].box, i+1
		if glyphs[i].turn != rightwards || isWide(glyphs[i].r) {
			i = end
			continue
		}
		for end < len(glyphs) && glyphs[end].turn == rightwards && !isWide(glyphs[end].r) &&
			beside(own, glyphs[end].box) && math.Abs(glyphs[end].box.x0-own.x1) < 0.3*glyphs[i].size {
			own = own.with(glyphs[end].box)
			end++
		}
		if end-i <= longest && (i > 0 && inColumn(glyphs[i-1], own, 1) || end < len(glyphs) && inColumn(glyphs[end], own, -1)) {
			height := (own.y1 - own.y0) / float64(end-i)
			for k := range glyphs[i:end] {
				y := own.y0 + float64(k)*height
				glyphs[i+k].turn, glyphs[i+k].box = downwards, box{own.x0, y, own.x1, y + height}
			}
		}
		i = end
	}
}

// inColumn reports whether a box is directly below a character of a vertical line, or above it if way is -1.
func inColumn(g glyph, b box, way float64) bool {
	dx, dy := (b.x0+b.x1-g.box.x0-g.box.x1)/2/g.size, way*(b.y0+b.y1-g.box.y0-g.box.y1)/2/g.size
	return g.turn == downwards && isWide(g.r) && math.Abs(dx) < 0.35 && dy > stepMin && dy < 1.6 && b.x1-b.x0 < 1.3*g.size
}

// chains links characters to the next one in the same line, across ruby but not across ruled lines.
type chains struct {
	next   []int
	how    []turn
	behind []bool // The character has a predecessor above it.
}

func newChains(glyphs []glyph, lines []box) chains {
	const ahead = 16
	ruled := map[turn]rules{downwards: newRules(lines, downwards), rightwards: newRules(lines, rightwards)}
	c := chains{make([]int, len(glyphs)), make([]turn, len(glyphs)), make([]bool, len(glyphs))}
	for i := range glyphs {
		c.how[i] = askew
		for k := i + 1; k < min(len(glyphs), i+ahead) && c.how[i] == askew; k++ {
			c.next[i], c.how[i] = k, linked(glyphs[i], glyphs[k])
			if t := c.how[i]; t != askew && ruled[t].part(t.frame(glyphs[i].box), t.frame(glyphs[k].box), 0) {
				c.how[i] = askew
			}
		}
		if c.how[i] == downwards {
			c.behind[c.next[i]] = true
		}
	}
	return c
}

// first reports whether a character starts a vertical chain.
func (c chains) first(i int) bool { return !c.behind[i] }

// lengths returns the length of each character's chain in a direction.
func (c chains) lengths(t turn) []int {
	before, after := make([]int, len(c.how)), make([]int, len(c.how))
	for i := range c.how {
		if c.how[i] == t {
			before[c.next[i]] = max(before[c.next[i]], before[i]+1)
		}
	}
	for i := len(c.how) - 1; i >= 0; i-- {
		if c.how[i] == t {
			after[i] = after[c.next[i]] + 1
		}
		before[i] += after[i]
	}
	return before
}

// linked returns the direction from a character to the next one in its line, or askew if they are in different lines.
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

// isVertical reports whether a character is upright in vertical text.
func isVertical(r rune) bool { return isWide(r) || r >= 0x2010 && r <= 0x2E7F }
