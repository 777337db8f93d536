package pdf

import (
	"cmp"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
)

// Measures of headings.
const (
	maxHeading   = 120 // Bytes.
	headingSize  = 1.15
	numberedSize = 1.05 // Ratio for a numbered line.
	heavySize    = 0.98 // Ratio for a bold line.
	titleSize    = 1.3  // Ratio from which a heading may have two lines.
	minProse     = 40   // Characters of sentences needed to measure the body size.
	maxAlike     = 2    // Consecutive headings of one size; more are body text.
)

// numbered matches the beginnings of numbered headings.
var numbered = regexp.MustCompile(`^(第[0-9０-９一二三四五六七八九十百]+[編部章節款条項]|` +
	`[0-9０-９]{1,2}([.．-][0-9０-９]{1,2}){0,3}[.．、]?[\s　]|` +
	`[（(][0-9０-９一二三四五六七八九十アイウエオ]{1,3}[)）]|[ⅠⅡⅢⅣⅤⅥⅦⅧⅨⅩ①-⑳■◆【])`)

// sentence matches text that is a sentence and so no heading.
var sentence = regexp.MustCompile(`[。、，,；;]$|。.`)

// block contains the lines of a paragraph.
type block struct {
	textLine
	lines int
	text  string
}

// blocks groups lines into paragraphs.
func blocks(text string, lines []textLine) []block {
	var found []block
	for _, line := range lines {
		if n := len(found); line.joined && n > 0 {
			last := &found[n-1]
			last.Length = line.Offset + line.Length - last.Offset
			last.lines++
			last.glyphs += line.glyphs
			last.heavy += line.heavy
			continue
		}
		found = append(found, block{textLine: line, lines: 1})
	}
	for i, b := range found {
		found[i].text = strings.TrimSpace(text[b.Offset : b.Offset+b.Length])
	}
	return found
}

// headings returns the lines that are headings by size, weight or number. Sentences, paragraphs and lines among others
// of their size are body text.
func headings(text string, lines []textLine) (found []Heading) {
	all := blocks(text, lines)
	body, heavy := bodyOf(all)
	candidate := make([]bool, len(all))
	for i, b := range all {
		candidate[i] = b.stands(body, heavy)
	}
	for i := 0; i < len(all); {
		end := i + 1
		for end < len(all) && candidate[i] && candidate[end] && math.Abs(all[i].Size-all[end].Size) < 0.05*body {
			end++
		}
		for k := i; k < end; k++ {
			if candidate[k] && (end-i <= maxAlike || numbered.MatchString(all[k].text)) {
				h := all[k].Heading
				h.Size /= body
				found = append(found, h)
			}
		}
		i = end
	}
	return found
}

// stands reports whether a paragraph is prominent compared with the body text.
func (b block) stands(body float64, heavyBody bool) bool {
	if !b.inMain || b.Length > maxHeading || b.Length <= 3 || sentence.MatchString(b.text) {
		return false
	}
	size := b.Size / body
	if b.lines > 2 || b.lines == 2 && size < titleSize {
		return false
	}
	return size >= headingSize || size >= numberedSize && numbered.MatchString(b.text) ||
		size >= heavySize && !heavyBody && b.heavy*10 >= b.glyphs*9
}

// bodyOf returns the font size of the body text and whether it is bold: the largest size used for sentences, because
// tables and notes may have more characters. Without sentences it is the most frequent size.
func bodyOf(all []block) (size float64, heavy bool) {
	counts, weights := make(map[float64]int), make(map[float64]int)
	rest := make(map[float64]int)
	for _, b := range all {
		size := math.Round(b.Size*4) / 4
		rest[size] += b.glyphs
		if b.inMain && sentence.MatchString(b.text) {
			counts[size] += b.glyphs
			weights[size] += b.heavy
		}
	}
	for s, n := range counts {
		if n >= minProse && s > size {
			size = s
		}
	}
	if size > 0 {
		return size, weights[size]*2 > counts[size]
	}
	sizes := slices.SortedFunc(maps.Keys(rest), func(a, b float64) int {
		return cmp.Or(cmp.Compare(rest[b], rest[a]), cmp.Compare(a, b))
	})
	if len(sizes) > 0 && sizes[0] > 0 {
		return sizes[0], true
	}
	return 1, true
}
