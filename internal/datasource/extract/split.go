package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Chunk is a piece of a page that is searched, shown and cited as one.
type Chunk struct {
	Ordinal int // From 0 over the whole file.
	Page    int // The number of its page.
	Text    string
}

// Lengths of a chunk, in characters.
const (
	maxChunk    = 1200
	targetChunk = 800
	// minPart is from where on a chunk is long enough to end before a paragraph or sentence that does not fit in.
	minPart = targetChunk / 2
	// minSection is the same before a heading: a short section of its own is better than two sections mixed.
	minSection = targetChunk / 4
	// maxHeadingLine is how long a line may be to count as a heading that stays with what follows.
	maxHeadingLine = 60
)

// Split cuts pages into chunks of about 800 and at most 1,200 characters: before headings if it can, else between
// paragraphs, sentences, lines and words, else anywhere but inside of what is seen as one character. A heading stays with
// what follows. Every character that is no white space comes in exactly one chunk, in order; chunks begin and end
// without white space and share the memory of the pages. The time is linear.
func Split(pages []Page) []Chunk {
	var chunks []Chunk
	for _, page := range pages {
		rest := strings.TrimLeftFunc(page.Text, unicode.IsSpace)
		for rest != "" {
			end := chunkEnd(rest)
			chunks = append(chunks, Chunk{
				Ordinal: len(chunks),
				Page:    page.Number,
				Text:    strings.TrimRightFunc(rest[:end], unicode.IsSpace),
			})
			rest = strings.TrimLeftFunc(rest[end:], unicode.IsSpace)
		}
	}
	return chunks
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

// window is what is known of the places to cut in the text ahead. All are byte offsets, 0 if there is none.
type window struct {
	early [gaps]int // The last one before a chunk is long enough.
	good  [gaps]int // The last one up to the target.
	late  int       // The first one behind the target that is better than word.
	hard  int       // Where the target is reached.
	all   int       // The length of the text, if the whole fits in a chunk.
	runes int       // The number of characters seen, at most maxChunk.
}

// chunkEnd returns where the next chunk of a text ends that begins with a non-space. It looks at most maxChunk characters
// ahead.
func chunkEnd(text string) int {
	w := look(text)
	if w.all > 0 && (w.runes <= targetChunk || w.runes <= targetChunk+minSection && w.good[section] == 0) {
		return w.all
	}
	for _, g := range []gap{section, paragraph, sentence} {
		if w.good[g] > 0 {
			return w.good[g]
		}
	}
	switch {
	case w.late > 0:
		return w.late
	case w.good[word] > 0:
		return w.good[word]
	}
	for g := section; g > word; g-- {
		if w.early[g] > 0 {
			return w.early[g]
		}
	}
	if w.all > 0 {
		return w.all
	}
	return wholeCharacter(text, w.hard)
}

// look notes the places to cut up to the longest chunk.
func look(text string) (w window) {
	s := newScanner(text)
	for i, r := range text {
		if w.runes == maxChunk {
			return w
		}
		if w.runes == targetChunk {
			w.hard = i
		}
		if g := s.next(i, r); g != noGap {
			enough := minPart
			if g == section {
				enough = minSection
			}
			switch {
			case w.runes < enough:
				w.early[g] = i
			case w.runes <= targetChunk:
				w.good[g] = i
			case g > word && w.late == 0:
				w.late = i
			}
		}
		w.runes++
	}
	w.all = len(text)
	return w
}

// scanner walks through a text and tells the gap before each character.
type scanner struct {
	text      string
	last      rune // The last character that was no white space.
	end       rune // What ended a sentence just before, closing brackets aside; 0 if nothing did.
	spaces    bool // White space since last.
	newlines  int  // Line ends since last.
	inHeading bool // The line, or the last line that was not empty, is a heading.
}

func newScanner(text string) *scanner {
	_, alone := headingLine(text)
	return &scanner{text: text, inHeading: alone}
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

// endsSentence reports whether the sentence that end may end is over before r. Points stand in numbers, question marks in
// addresses, and quotations in sentences.
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

// headingLine looks at the line that text begins with. starts says that a section begins with it: a heading of Markdown, or
// what heads sections in Japanese papers (第1章, 第3条, ■, ◆, 【概要】). alone says that the line is nothing but a heading.
func headingLine(text string) (starts, alone bool) {
	level := 0
	for level < len(text) && level <= 6 && text[level] == '#' {
		level++
	}
	switch {
	case level > 0:
		starts = level <= 6 && level < len(text) && (text[level] == ' ' || text[level] == '\t')
	case strings.HasPrefix(text, "■"), strings.HasPrefix(text, "◆"), strings.HasPrefix(text, "【"):
		starts = true
	case strings.HasPrefix(text, "第"):
		starts = isArticle(text[len("第"):])
	}
	if !starts {
		return false, false
	}
	n := 0
	last := rune(0)
	for _, r := range text {
		if r == '\n' {
			break
		}
		if n++; n > maxHeadingLine {
			return true, false
		}
		last = r
	}
	return true, last != '。'
}

// isArticle reports whether text goes on like 第3条 behind 第.
func isArticle(text string) bool {
	digits := 0
	for _, r := range text {
		switch {
		case r >= '0' && r <= '9', r >= '０' && r <= '９', strings.ContainsRune("一二三四五六七八九十百", r):
			if digits++; digits > 4 {
				return false
			}
		default:
			return digits > 0 && strings.ContainsRune("編部章節款条", r)
		}
	}
	return false
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
