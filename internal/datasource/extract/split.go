package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Passage is a piece of a page that is searched, shown and cited as one.
type Passage struct {
	Ordinal    int    // From 0 over the whole file.
	Page       int    // The number of its page.
	Start, End int    // Where it stands in the page's text, in bytes.
	Locator    string // Where that is for a reader, as Mark has it; "" if nothing is known.
	Text       string
}

// Lengths of a passage, in characters.
const (
	maxPassage = 400
	// minSection is how long a passage must be to end before a heading that would fit in.
	minSection = 40
	// minParagraph is the same before a paragraph: shorter ones are joined.
	minParagraph = 300
	// maxAhead is how far Split looks for the end of a paragraph that does not fit in, so as to cut it into even parts.
	maxAhead = 4 * maxPassage
	// maxHeadingLine is how long a line may be to count as a heading that stays with what follows.
	maxHeadingLine = 60
)

// Split cuts pages into passages of at most 400 characters: before headings, else between paragraphs, else into even
// parts between sentences, lines or words, else anywhere but inside of what is seen as one character. A heading stays
// with what follows. Every character that is no white space comes in exactly one passage, in order; passages begin and
// end without white space and share the memory of the pages. Pages without any marks get those of the headings that
// Split finds. The time is linear.
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
			within := 0 // How many marks stand before its end.
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

// headingsIn returns the offsets from a start on, in order, at which marks have a heading.
func headingsIn(marks []Mark, start int) func(offset int) bool {
	return func(offset int) bool {
		for len(marks) > 0 && marks[0].Offset < start+offset {
			marks = marks[1:]
		}
		return len(marks) > 0 && marks[0].Offset == start+offset && marks[0].Heading
	}
}

// gap is a place where text may be cut, by how well.
type gap int

const (
	noGap     gap = iota
	word          // White space, or a line that goes on in the next, or a heading and what follows.
	sentence      // Behind a sentence, or between lines.
	paragraph     // An empty line.
	section       // Before a heading.
	gaps
)

// cut is where text may be cut: bytes and characters from its start.
type cut struct{ offset, runes int }

// passageEnd returns where the next passage of a text ends that begins with a non-space. heading tells of rising
// offsets whether a heading begins there.
func passageEnd(text string, heading func(offset int) bool) int {
	var places [gaps][]cut // Of each gap within the longest passage.
	s := newScanner(text, heading)
	runes, hard := 0, 0
	end := 0 // Where the paragraph ends that does not fit in, in characters.
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
	if end == 0 {
		end = runes
	}
	// A short paragraph stands alone, rather than with a part of what follows.
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

// evenly returns the first place that makes a part long enough, else the last one.
func evenly(list []cut, enough int) int {
	for _, p := range list {
		if p.runes >= enough {
			return p.offset
		}
	}
	return list[len(list)-1].offset
}

// scanner walks through a text and tells the gap before each character.
type scanner struct {
	text      string
	heading   func(offset int) bool
	last      rune // The last character that was no white space.
	end       rune // What ended a sentence just before, closing brackets aside; 0 if nothing did.
	spaces    bool // White space since last.
	newlines  int  // Line ends since last.
	inHeading bool // The line, or the last line that was not empty, is a heading.
}

func newScanner(text string, heading func(offset int) bool) *scanner {
	_, alone := headingLine(text)
	return &scanner{text: text, heading: heading, inHeading: alone || heading(0)}
}

// next takes the character at offset i and returns the gap before it. White space has none.
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
		// A closing bracket belongs to the sentence that ended in it.
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

// endsSentence reports whether the sentence that end may end is over before r. Points stand in numbers, question marks
// in addresses, and quotations in sentences.
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

// isJapanese reports whether r is a letter of a script whose lines are broken within words.
func isJapanese(r rune) bool {
	return r >= 0x3040 && r <= 0x30FF || r >= 0x4E00 && r <= 0x9FFF || r == '、' || r == '々'
}

// extends reports whether r is seen as one character with what stands before it: combining and half-width sound marks,
// variation selectors, joiners, skin tones.
func extends(r rune) bool {
	if r < 0x300 || r > 0x309A && r <= 0x9FFF {
		return false // Most text, without a search in the tables.
	}
	return unicode.Is(unicode.M, r) || r == joiner || r == 'ﾞ' || r == 'ﾟ' || r >= 0x1F3FB && r <= 0x1F3FF
}

const joiner = '\u200D'

// wholeCharacter returns the last place up to i where no character is cut. One that is longer than any real one is cut.
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
