package pdf

import (
	"math"
	"slices"
)

// findVertical finds the lines of upright characters that run downwards. A character is of a vertical line if more of
// those that it was drawn with stand below each other than beside. A column of marks is none: each stands in the line
// of other characters. r are the rules in the frame of vertical lines.
func findVertical(glyphs []glyph, r rules) {
	chain := newChains(glyphs, r)
	down, right := chain.lengths(downwards), chain.lengths(rightwards)
	var beside []float64 // The middles of horizontal lines.
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
	marks := make([]int, len(glyphs)) // Of the chain behind each: how many stand in a line.
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
}

// chains are characters in line with each other. Ruby may stand between two that are.
type chains struct {
	next   []int
	how    []turn
	behind []bool // The character is the next of another one downwards.
}

func newChains(glyphs []glyph, r rules) chains {
	const ahead = 16
	c := chains{make([]int, len(glyphs)), make([]turn, len(glyphs)), make([]bool, len(glyphs))}
	for i := range glyphs {
		c.how[i] = askew
		for k := i + 1; k < min(len(glyphs), i+ahead) && c.how[i] == askew; k++ {
			c.next[i], c.how[i] = k, linked(glyphs[i], glyphs[k])
			if c.how[i] == downwards && r.part(downwards.frame(glyphs[i].box), downwards.frame(glyphs[k].box), 0) {
				c.how[i] = askew
			}
		}
		if c.how[i] == downwards {
			c.behind[c.next[i]] = true
		}
	}
	return c
}

// first reports whether a vertical chain begins with a character.
func (c chains) first(i int) bool { return !c.behind[i] }

// lengths returns how many characters each is in line with in a direction.
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
