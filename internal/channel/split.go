package channel

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// piece is the part of an answer in one message: the bytes from from to to, between the lines that reopen and close a
// fence or table across the cut.
type piece struct {
	from, to   int
	head, tail string
}

// markdown returns the message's Markdown.
func (p piece) markdown(text string) string { return p.head + text[p.from:p.to] + p.tail }

// split cuts Markdown into pieces of at most limit characters. It cuts at the end of a block in the last eighth of a
// piece, else at the end of a line, else within a line. If it cuts a fence, it closes the fence and opens it again. If
// it cuts a table, it repeats the table's head.
//
// Unless complete is true, the text may grow. The pieces of a text are then a prefix of the pieces of the longer text,
// so that messages can be appended to. For this reason the last piece of an incomplete text ends before the range of
// possible cuts, or in it at the end of a block.
func split(text string, limit int, complete bool) []piece {
	var pieces []piece
	s := splitter{text: text, limit: limit, soft: limit - limit/8}
	for s.from < len(text) {
		p, full := s.next()
		if !full && !complete {
			p = piece{from: s.from, to: s.shown, head: s.head}
		}
		pieces = append(pieces, p)
		if !full {
			break
		}
		s.from, s.head = p.to, s.cut.head
	}
	return pieces
}

// splitter cuts the next piece of a text.
type splitter struct {
	text        string
	limit, soft int    // In characters.
	from        int    // Offset of the piece.
	head        string // Text repeated before the piece.

	count int    // Characters of the piece so far.
	block block  // The block at the current position.
	best  place  // The last end of a block, after soft characters.
	line  place  // The last end of a line, after soft characters.
	cut   place  // The chosen end of the piece.
	shown int    // The end of an incomplete piece.
	prior string // The previous line, if it may be the head of a table.
}

// place is a possible cut.
type place struct {
	at         int
	tail, head string
	found      bool
}

// block is an open code fence or table.
type block struct {
	fence string // The marker of an open fence, "" outside of one.
	open  string // The line that opens it.
	table string // The first two lines of a table, "" outside of one.
}

// next returns the next piece, and whether it is full.
func (s *splitter) next() (piece, bool) {
	s.count, s.best, s.line, s.shown, s.prior = utf8.RuneCountInString(s.head), place{}, place{}, s.from, ""
	if s.head == "" {
		s.block = block{}
	}
	at := s.from
	for at < len(s.text) {
		end := len(s.text)
		if i := strings.IndexByte(s.text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		line := s.text[at:end]
		if s.count+utf8.RuneCountInString(line)+s.reserve() > s.limit {
			s.show(at, line)
			s.cut = s.choose(at, line)
			return piece{from: s.from, to: s.cut.at, head: s.head, tail: s.cut.tail}, true
		}
		s.show(at, line)
		s.count += utf8.RuneCountInString(line)
		if line[len(line)-1] == '\n' {
			s.enter(line)
			s.mark(end, line)
		}
		at = end
	}
	return piece{from: s.from, to: len(s.text), head: s.head}, false
}

// reserve returns the number of characters needed to close the current block.
func (s *splitter) reserve() int {
	if s.block.fence == "" {
		return 0
	}
	return len(s.block.fence) + 1
}

// show moves the end of an incomplete piece into a line, up to soft characters.
func (s *splitter) show(at int, line string) {
	room := s.soft - s.count
	if room <= 0 {
		return
	}
	for i := range line {
		if room == 0 {
			s.shown = at + i
			return
		}
		room--
	}
	s.shown = at + len(line)
}

// mark records the end of a line as a place to cut.
func (s *splitter) mark(end int, line string) {
	if s.count < s.soft {
		return
	}
	p := place{at: end, found: true}
	switch {
	case s.block.fence != "":
		p.tail, p.head = s.block.fence, s.block.open
	case s.block.table != "":
		p.head = s.block.table
	case strings.TrimSpace(line) == "":
		s.best, s.shown = p, end
	case s.prior != "":
		return // The next line may make it the head of a table.
	}
	s.line = p
}

// choose returns the end of a piece that has no room for line.
func (s *splitter) choose(at int, line string) place {
	switch {
	case s.best.found:
		return s.best
	case s.line.found:
		return s.line
	}
	p := place{at: at, found: true}
	room := s.limit - s.count - s.reserve()
	for i, r := range line {
		if room == 0 {
			if p.at == at || s.count+utf8.RuneCountInString(s.text[at:p.at]) < s.soft {
				p.at = at + i
			}
			break
		}
		room--
		if strings.ContainsRune("。．.！!？?、,， \t", r) && room > 0 {
			p.at = at + i + utf8.RuneLen(r)
		}
	}
	if s.block.fence != "" {
		p.tail, p.head = "\n"+s.block.fence, s.block.open
	}
	return p
}

var (
	fenceLine = regexp.MustCompile("^[ \t]*(`{3,}|~{3,})([^\n]*)\n?$")
	tableLine = regexp.MustCompile(`^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)+\|?\s*$`)
)

// enter updates the current block by the next line.
func (s *splitter) enter(line string) {
	prior := s.prior
	s.prior = ""
	marker := fenceLine.FindStringSubmatch(line)
	switch b := &s.block; {
	case b.fence != "":
		if marker != nil && marker[1][0] == b.fence[0] && len(marker[1]) >= len(b.fence) &&
			strings.TrimSpace(marker[2]) == "" {
			*b = block{}
		}
	case marker != nil && (marker[1][0] == '~' || !strings.Contains(marker[2], "`")):
		*b = block{fence: marker[1], open: s.short(line, marker[1]+"\n")}
	case b.table != "":
		if !strings.Contains(line, "|") {
			*b = block{}
		}
	case prior != "" && tableLine.MatchString(line):
		b.table = s.short(prior+line, "")
	case strings.Contains(line, "|"):
		s.prior = line
	}
}

// short returns the lines that reopen a block, or instead if the lines are too long.
func (s *splitter) short(lines, instead string) string {
	if utf8.RuneCountInString(lines) > s.limit/4 {
		return instead
	}
	return lines
}
