package extract

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Passage is a piece of a page. It is the unit of search, display and citation.
type Passage struct {
	Ordinal    int    // Index in the whole file, from 0.
	Page       int    // Page number, from 1.
	Start, End int    // Byte range in the text of the page.
	Locator    string // Locator for readers, see Mark; "" if unknown.
	Text       string
}

// Lengths of a passage, in characters.
const (
	maxPassage = 400
	// minSection is the minimum length of a passage that ends before a heading although the heading would fit.
	minSection = 40
	// minParagraph is the minimum length of a passage that ends before a paragraph although the paragraph would fit.
	// Shorter paragraphs are joined.
	minParagraph = 300
	// maxAhead is the distance in which Split searches for the end of a paragraph that does not fit, to split it
	// evenly.
	maxAhead = 4 * maxPassage
	// maxHeadingLine is the largest length of a line that counts as a heading and stays with the following text.
	maxHeadingLine = 60
)

// Split splits pages into passages of at most 400 characters: before headings, otherwise between paragraphs, otherwise
// into even parts between sentences, lines or words, and otherwise at any character boundary. A heading stays with the
// following text. Each character except white space is in exactly one passage, in order. Passages start and end without
// white space and share the memory of the pages. If no page has marks, Split detects headings in the text. The running
// time is linear.
func Split(pages []Page) []Passage {
	pages = withMarks(pages)
	var passages []Passage
	locator := ""
	for _, page := range pages {
		marks := page.Marks
		for start := 0; ; {
			start += leadingSpace(page.Text[start:])
			if start == len(page.Text) {
				break
			}
			end := start + passageEnd(page.Text[start:], headingsIn(marks, start))
			text := strings.TrimRightFunc(page.Text[start:end], unicode.IsSpace)
			p := Passage{Ordinal: len(passages), Page: page.Number, Start: start, End: start + len(text), Text: text}
			within := 0 // Number of marks before its end.
			for within < len(marks) && marks[within].Offset < p.End {
				within++
			}
			p.Locator = locate(locator, marks[:within], start)
			passages = append(passages, p)
			if within > 0 {
				locator = marks[within-1].Locator
			}
			marks, start = marks[within:], end
		}
		if len(marks) > 0 {
			locator = marks[len(marks)-1].Locator
		}
	}
	return passages
}

func leadingSpace(text string) int {
	return len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
}

// headingsIn returns a function that reports whether a mark at an offset after start is a heading. The function must be
// called with ascending offsets.
func headingsIn(marks []Mark, start int) func(offset int) bool {
	return func(offset int) bool {
		for len(marks) > 0 && marks[0].Offset < start+offset {
			marks = marks[1:]
		}
		return len(marks) > 0 && marks[0].Offset == start+offset && marks[0].Heading
	}
}

// gap is a possible split position, by increasing preference.
type gap int

const (
	noGap     gap = iota
	word          // White space, or a line break inside a sentence, or the end of a heading.
	sentence      // After a sentence, or between lines.
	paragraph     // An empty line.
	section       // Before a heading.
	gaps
)

// cut is a possible split position, in bytes and characters from the start.
type cut struct{ offset, runes int }

// passageEnd returns the end of the next passage of text, which starts with a non-space. heading reports whether a
// heading starts at an offset; passageEnd calls it with ascending offsets.
func passageEnd(text string, heading func(offset int) bool) int {
	var places [gaps][]cut // Of each gap within the longest passage.
	s := newScanner(text, heading)
	runes, hard := 0, 0
	end := 0 // End of the paragraph that does not fit, in characters.
	for i, r := range text {
		if runes == maxPassage {
			hard = i
		}
		g := s.next(i, r)
		if g == section && runes >= minSection || g == paragraph && runes >= minParagraph {
			if runes <= maxPassage {
				return i
			}
			end = runes
			break
		}
		if g != noGap && runes <= maxPassage {
			places[g] = append(places[g], cut{i, runes})
		}
		if runes++; runes > maxAhead {
			break
		}
	}
	if runes <= maxPassage {
		return len(text)
	}
	end = cmp.Or(end, runes)
	// Prefer a short paragraph alone to a passage with part of the next paragraph.
	for g := section; g >= paragraph; g-- {
		if list := places[g]; len(list) > 0 && list[len(list)-1].runes >= minSection {
			return list[len(list)-1].offset
		}
	}
	parts := (end + maxPassage - 1) / maxPassage
	for g := sentence; g > noGap; g-- {
		if list := places[g]; len(list) > 0 {
			return evenly(list, (end+parts-1)/parts)
		}
	}
	return wholeCharacter(text, hard)
}

// evenly returns the first position that makes the part long enough, otherwise the last position.
func evenly(list []cut, enough int) int {
	for _, p := range list {
		if p.runes >= enough {
			return p.offset
		}
	}
	return list[len(list)-1].offset
}

// scanner determines the gap before each character of a text.
type scanner struct {
	text      string
	heading   func(offset int) bool
	last      rune // The last character that is not white space.
	end       rune // The character that ended a sentence before r, ignoring closing brackets; 0 for none.
	spaces    bool // White space follows last.
	newlines  int  // Number of line ends after last.
	inHeading bool // The current line, or the last line that is not empty, is a heading.
}

func newScanner(text string, heading func(offset int) bool) *scanner {
	_, alone := headingLine(text)
	return &scanner{text: text, heading: heading, inHeading: alone || heading(0)}
}

// next processes the character at offset i and returns the gap before it, noGap for white space.
func (s *scanner) next(i int, r rune) gap {
	if unicode.IsSpace(r) {
		s.spaces = true
		if r == '\n' {
			s.newlines++
		}
		return noGap
	}
	g := noGap
	if s.last != 0 && !extends(r) {
		g = s.gapBefore(i, r)
	}
	switch {
	case isSentenceEnd(r):
		s.end = r
	case isCloser(r) && (s.end != 0 || r != '」' && r != '』'):
		// A closing bracket belongs to the sentence before it.
	case r == '」', r == '』':
		s.end = r
	case !extends(r):
		s.end = 0
	}
	s.last, s.spaces, s.newlines = r, false, 0
	return g
}

func (s *scanner) gapBefore(i int, r rune) gap {
	wasHeading, startsHeading := s.inHeading, false
	if s.newlines > 0 {
		startsHeading, s.inHeading = headingLine(s.text[i:])
	}
	if s.heading(i) {
		startsHeading, s.inHeading = true, true
	}
	switch {
	case wasHeading:
		if s.spaces {
			return word
		}
		return noGap
	case startsHeading:
		return section
	case s.newlines > 1:
		return paragraph
	case s.newlines == 1 && (!isJapanese(s.last) || !isJapanese(r)):
		return sentence
	case s.spaces || !isCloser(r) && !isSentenceEnd(r):
		if endsSentence(s.end, r, s.spaces) {
			return sentence
		}
	}
	if s.spaces {
		return word
	}
	return noGap
}

func isSentenceEnd(r rune) bool {
	switch r {
	case '。', '！', '？', '｡', '．', '!', '?', '.':
		return true
	}
	return false
}

func isCloser(r rune) bool {
	switch r {
	case '」', '』', '）', '】', '］', '〕', '〉', '》', '”', '’', ')', ']', '"', '\'':
		return true
	}
	return false
}

// endsSentence reports whether a sentence ends between end and r. Periods also occur in numbers, question marks in
// URLs, and quotations inside sentences.
func endsSentence(end, r rune, spaces bool) bool {
	switch end {
	case 0:
		return false
	case '.':
		return spaces
	case '!', '?':
		return spaces || r >= utf8.RuneSelf
	case '．':
		return !unicode.IsDigit(r)
	case '」', '』':
		return spaces || r == '「' || r == '『'
	}
	return true
}

// isJapanese reports whether r belongs to a script that allows line breaks inside words.
func isJapanese(r rune) bool {
	return r >= 0x3040 && r <= 0x30FF || r >= 0x4E00 && r <= 0x9FFF || r == '、' || r == '々'
}

// extends reports whether r extends the character before it: combining and half-width sound marks, variation selectors,
// joiners, skin tones.
func extends(r rune) bool {
	if r < 0x300 || r > 0x309A && r <= 0x9FFF {
		return false // The most common characters, without table lookups.
	}
	return unicode.Is(unicode.M, r) || r == joiner || r == 'ﾞ' || r == 'ﾟ' || r >= 0x1F3FB && r <= 0x1F3FF
}

const joiner = '\u200D'

// wholeCharacter returns the last character boundary at or before i. It splits a combined character that is longer than
// any real one.
func wholeCharacter(text string, i int) int {
	const longest = 32
	at := i
	for range longest {
		r, _ := utf8.DecodeRuneInString(text[at:])
		before, size := utf8.DecodeLastRuneInString(text[:at])
		if at == 0 {
			break
		}
		if !extends(r) && before != joiner {
			return at
		}
		at -= size
	}
	return i
}
