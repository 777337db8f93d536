package channel

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// piece is one message's part of an answer: its bytes from one offset to another, between the lines that open again,
// and close, the fence or table that is cut.
type piece struct {
	from, to   int
	head, tail string
}

// markdown returns what the message says.
func (p piece) markdown(text string) string { return p.head + text[p.from:p.to] + p.tail }

// split cuts Markdown into pieces of at most limit characters: where blocks end, if there is such a place in the last
// eighth, else where a line ends, else in a line. A fence that is cut is closed and opened again, and the head of a
// table is repeated.
//
// The text may go on unless it is complete. What the pieces of a text hold is a prefix of what those of its
// continuation hold, so that messages can be appended to: beyond the last possible place of an early cut, the last
// piece ends where a block ends.
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
	limit, soft int    // Characters.
	from        int    // Where the piece begins,
	head        string // and what stands before it.

	count int    // Characters of the piece so far.
	block block  // What the current position is in.
	best  place  // The last end of a block, after soft characters.
	line  place  // The same of a line.
	cut   place  // Where the piece ends.
	shown int    // Where an incomplete piece ends.
	prior string // The line before, if it may be the head of a table.
}

// place is where a text may be cut.
type place struct {
	at         int
	tail, head string
	found      bool
}

// block is what may not be cut without opening it again.
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

// reserve returns how many characters closing the current block takes.
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
		return // What follows may make it the head of a table.
	}
	s.line = p
}

// choose returns where a piece ends that has no room for a line.
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

// enter follows a line into, within or out of a block.
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

// short returns the lines that open a block again, or something shorter if they are too long for that.
func (s *splitter) short(lines, instead string) string {
	if utf8.RuneCountInString(lines) > s.limit/4 {
		return instead
	}
	return lines
}
