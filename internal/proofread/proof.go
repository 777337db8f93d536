package proofread

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxPiece   = 2_000 // Characters of a change.
	maxReason  = 200   // Characters.
	maxTotal   = 2_000 // Changes of a text.
	maxPlaces  = 100   // That are tried for a change.
	leastAlone = 3     // Characters that are searched for without their context, where they stand in several places.
)

// span is a piece of a text, in bytes.
type span struct{ start, end int }

func (s span) overlaps(other span) bool { return s.start < other.end && other.start < s.end }

// Proof is a text that is being proofread. Its methods belong to one goroutine.
type Proof struct {
	text    string
	parts   []Part
	folded  []folded // Of the parts; empty until it is needed.
	ends    []int    // By part: how far it is checked, in bytes of the text.
	places  []int    // By part: where its last change ends.
	taken   []placed // In the order of the text.
	made    []Change // In the order of publication.
	dropped int
}

// placed is a change with its place in bytes.
type placed struct {
	span

	quoted span // What the model has quoted for it.
	change Change
}

// meets reports whether two changes cannot be made together. Where the quotations overlap, changes that touch each
// other may be meant for the same: of はは, either character can be left out.
func (c placed) meets(other placed) bool {
	touching := c.start <= other.end && other.start <= c.end
	return c.overlaps(other.span) || touching && c.quoted.overlaps(other.quoted)
}

// New begins to proofread a text, which is valid UTF-8 with "\n" for every line end.
func New(text string) *Proof {
	p := &Proof{text: text, parts: cut(text)}
	p.folded, p.ends = make([]folded, len(p.parts)), make([]int, len(p.parts))
	p.places = make([]int, len(p.parts))
	for i, part := range p.parts {
		p.ends[i], p.places[i] = part.start, part.start
		if part.Blank() {
			p.ends[i] = part.end
		}
	}
	return p
}

// Parts returns the parts of the text, in order. Joined they are the text.
func (p *Proof) Parts() []Part { return p.parts }

// Changes returns the changes in the order of publication.
func (p *Proof) Changes() []Change { return p.made }

// Take adds a change that a model proposes for a part, if it fits. One that is there already is passed over.
func (p *Proof) Take(part int, proposal Proposal) (Change, bool) {
	if len(p.made) == maxTotal || !proposal.sane() {
		p.dropped++
		return Change{}, false
	}
	var known bool
	for _, at := range p.candidates(part, proposal) {
		after := proposal.After
		if original := p.text[at.start:at.end]; original != proposal.Before {
			after = asIn(original, after)
		}
		found, ok := p.shorten(p.parts[part], at, after, proposal)
		if !ok {
			continue
		}
		if p.has(found) {
			known = true
			continue
		}
		found.quoted = at
		if p.free(found) {
			return p.add(part, found), true
		}
	}
	if !known {
		p.dropped++
	}
	return Change{}, false
}

// Drop counts changes of a part's answer that could not be read.
func (p *Proof) Drop(n int) { p.dropped += n }

// Check notes that a part is checked: all of it, or up to its last change.
func (p *Proof) Check(part int, whole bool) {
	p.ends[part] = p.places[part]
	if whole {
		p.ends[part] = p.parts[part].end
	}
}

// Result returns what has come of it so far.
func (p *Proof) Result() Result {
	r := Result{Text: p.text, Changes: make([]Change, len(p.taken)), Dropped: p.dropped}
	for i, t := range p.taken {
		r.Changes[i] = t.change
	}
	for i, part := range p.parts {
		from := part.offset + units(p.text[part.start:p.ends[i]])
		to := part.offset + units(part.Text)
		last := len(r.Unchecked) - 1
		switch {
		case from == to || strings.TrimSpace(p.text[p.ends[i]:part.end]) == "":
		case last >= 0 && r.Unchecked[last].End == from:
			r.Unchecked[last].End = to
		default:
			r.Unchecked = append(r.Unchecked, Range{from, to})
		}
	}
	return r
}

// sane reports whether a proposal has what a change needs.
func (q Proposal) sane() bool {
	control := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
	return q.Before != "" && utf8.RuneCountInString(q.Before) <= maxPiece &&
		utf8.RuneCountInString(q.After) <= maxPiece && !strings.ContainsFunc(q.After, control) &&
		utf8.ValidString(q.Before) && utf8.ValidString(q.After)
}

// candidates returns where in the text a proposal may be meant, the most likely place first: in its context, and behind
// the change before it, because models go through a text from its beginning.
func (p *Proof) candidates(part int, q Proposal) []span {
	all := p.find(part, q.Before)
	if whole := slices.DeleteFunc(slices.Clone(all), p.inWord); len(whole) > 0 {
		all = whole // サーバ is not meant within サーバー.
	}
	if len(all) < 2 {
		return all
	}
	contexts := p.find(part, q.Context)
	contexts = contexts[:min(len(contexts), maxPlaces)]
	near := slices.DeleteFunc(slices.Clone(all), func(at span) bool {
		return !slices.ContainsFunc(contexts, func(c span) bool { return c.start <= at.start && at.end <= c.end })
	})
	if len(near) == 0 { // The context may end within it.
		near = slices.DeleteFunc(slices.Clone(all), func(at span) bool {
			return !slices.ContainsFunc(contexts, at.overlaps)
		})
	}
	if len(near) > 0 {
		all = near
	} else if utf8.RuneCountInString(q.Before) < leastAlone {
		return nil // It would be a guess.
	}
	passed := func(at span) bool { return at.start < p.places[part] }
	slices.SortStableFunc(all, func(a, b span) int {
		switch {
		case passed(a) == passed(b):
			return 0
		case passed(a):
			return 1
		default:
			return -1
		}
	})
	return all[:min(len(all), maxPlaces)]
}

// inWord reports whether one of the ends of a piece lies within a word that is read as a whole.
func (p *Proof) inWord(at span) bool { return within(p.text, at.start) || within(p.text, at.end) }

// find returns where a quotation stands in a part: as it is, else as fold reads it.
func (p *Proof) find(part int, quotation string) (spans []span) {
	if strings.TrimSpace(quotation) == "" {
		return nil
	}
	text, start := p.parts[part].Text, p.parts[part].start
	for from := 0; ; {
		at := strings.Index(text[from:], quotation)
		if at < 0 {
			break
		}
		at += from
		spans = append(spans, span{start + at, start + at + len(quotation)})
		from = at + len(quotation)
	}
	if len(spans) > 0 {
		return spans
	}
	if p.folded[part].text == "" {
		p.folded[part] = fold(text)
	}
	spans = p.folded[part].find(fold(quotation).text)
	for i := range spans {
		spans[i].start, spans[i].end = spans[i].start+start, spans[i].end+start
	}
	return spans
}

// shorten returns a change that replaces no more than it must, without cutting through a word in katakana or Latin
// letters, or a number. It returns false for what changes nothing or crosses a line end.
func (p *Proof) shorten(part Part, at span, after string, q Proposal) (placed, bool) {
	before := p.text[at.start:at.end]
	question := q.Question || q.Kind == Fact
	if before == after {
		trimmed := strings.TrimSpace(before)
		if !question || trimmed == "" || strings.Contains(trimmed, "\n") {
			return placed{}, false
		}
		at.start += strings.Index(before, trimmed)
		at.end = at.start + len(trimmed)
		return p.place(at, trimmed, q, true), true
	}
	head := commonStart(before, after)
	tail := commonEnd(before[head:], after[head:])
	at.start, at.end = at.start+head, at.end-tail
	after = after[head : len(after)-tail]
	if at.start == at.end {
		var ok bool
		if at, after, ok = p.anchor(part, at.start, after); !ok {
			return placed{}, false
		}
	}
	before = p.text[at.start:at.end]
	if strings.ContainsAny(before+after, "\n\u2028\u2029") || p.splits(at) {
		return placed{}, false
	}
	return p.place(at, after, q, question), true
}

// anchor makes an insertion replace the character before it, or at the beginning of a line the one behind it.
func (p *Proof) anchor(part Part, at int, insertion string) (span, string, bool) {
	start := at
	for start > part.start {
		r, size := utf8.DecodeLastRuneInString(p.text[part.start:start])
		if r == '\n' {
			break
		}
		start -= size
		if !p.splits(span{start, at}) {
			return span{start, at}, p.text[start:at] + insertion, true
		}
	}
	end := at
	for end < part.end {
		r, size := utf8.DecodeRuneInString(p.text[end:part.end])
		if r == '\n' {
			break
		}
		end += size
		if !p.splits(span{at, end}) {
			return span{at, end}, insertion + p.text[at:end], true
		}
	}
	return span{}, "", false
}

// splits reports whether one of the ends of a piece lies within what is read as one character.
func (p *Proof) splits(at span) bool {
	return slices.ContainsFunc([]int{at.start, at.end}, func(i int) bool {
		left, _ := utf8.DecodeLastRuneInString(p.text[:i])
		right, _ := utf8.DecodeRuneInString(p.text[i:])
		return i > 0 && i < len(p.text) && joined(left, right)
	})
}

// around returns a replacement for a piece of the text with what stands beside it in its line.
func (p *Proof) around(at span, replacement string) string {
	const beside = 30
	left, right := lastCharacters(p.text[:at.start], beside), firstCharacters(p.text[at.end:], beside)
	left = left[strings.LastIndexByte(left, '\n')+1:]
	right, _, _ = strings.Cut(right, "\n")
	return left + replacement + right
}

func (p *Proof) place(at span, after string, q Proposal, question bool) placed {
	return placed{span: at, change: Change{
		Before: p.text[at.start:at.end], After: after, Kind: q.Kind, Question: question,
		Reason: firstCharacters(oneLine(q.Reason), maxReason),
	}}
}

// oneLine returns a text without line ends, and without characters that cannot be seen or stored.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, text)
}

// has reports whether the same change is there already.
func (p *Proof) has(c placed) bool {
	return slices.ContainsFunc(p.taken, func(t placed) bool {
		return t.span == c.span && t.change.After == c.change.After
	})
}

func (p *Proof) free(c placed) bool { return !slices.ContainsFunc(p.taken, c.meets) }

// add adds a change to a part.
func (p *Proof) add(part int, c placed) Change {
	c.change.Question = c.change.Question ||
		risky(p.around(c.span, c.change.Before), p.around(c.span, c.change.After))
	c.change.ID = len(p.made) + 1
	c.change.Start = p.parts[part].offset + units(p.text[p.parts[part].start:c.start])
	c.change.End = c.change.Start + units(c.change.Before)
	i, _ := slices.BinarySearchFunc(p.taken, c, func(a, b placed) int { return cmp.Compare(a.start, b.start) })
	p.taken = slices.Insert(p.taken, i, c)
	p.made = append(p.made, c.change)
	p.places[part] = max(p.places[part], c.end)
	return c.change
}

// commonStart returns how much of the beginning of two texts is the same and can be left out.
func commonStart(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && (!utf8.RuneStart(at(a, n)) || !utf8.RuneStart(at(b, n)) || within(a, n) || within(b, n)) {
		n--
	}
	return n
}

// commonEnd returns how much of the end of two texts is the same and can be left out.
func commonEnd(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	for n > 0 && (!utf8.RuneStart(at(a, len(a)-n)) || !utf8.RuneStart(at(b, len(b)-n)) ||
		within(a, len(a)-n) || within(b, len(b)-n)) {
		n--
	}
	return n
}

// at returns a byte of a text, or of a character that might follow it.
func at(text string, i int) byte {
	if i < len(text) {
		return text[i]
	}
	return ' '
}

// within reports whether a place of a text lies within a word that is read as a whole.
func within(text string, i int) bool {
	if i == 0 || i == len(text) {
		return false
	}
	left, _ := utf8.DecodeLastRuneInString(text[:i])
	right, _ := utf8.DecodeRuneInString(text[i:])
	return joined(left, right) || script(left) != 0 && script(left) == script(right)
}

// script returns the kind of word that a character is part of, 0 for what can be cut anywhere.
func script(r rune) int {
	switch {
	case r >= '0' && r <= '9', r >= '０' && r <= '９', r == ',', r == '.', r == '，', r == '．':
		return 1
	case unicode.Is(unicode.Latin, r):
		return 2
	case unicode.Is(unicode.Katakana, r), r == 'ー', r == 'ｰ':
		return 3
	}
	return 0
}
