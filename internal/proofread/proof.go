package proofread

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

const (
	maxPiece      = 2_000 // Characters of Before and of After.
	maxReason     = 200   // Characters of Reason.
	maxTotal      = 2_000 // Changes of one text.
	maxPlaces     = 100   // Positions tried for one change.
	minLoneLength = 3     // Minimum characters of Before to choose among several positions without a context.
)

// span is a range of a text, in bytes.
type span struct{ start, end int }

func (s span) overlaps(other span) bool { return s.start < other.end && other.start < s.end }

// Proof is the state of proofreading one text. It is not safe for concurrent use.
type Proof struct {
	text       string
	parts      []Part
	folded     []foldedText // By part; empty until find needs it.
	ends       []int        // By part: the end of the checked range, in bytes of the text.
	places     []int        // By part: the end of its last change, in bytes of the text.
	placements []placement  // Ordered by position in the text.
	published  []Change     // Ordered by publication.
	dropped    int
}

// placement is a change with its range in bytes.
type placement struct {
	span

	quoted span // The range that the model quoted.
	change Change
}

// meets reports whether two changes conflict: they overlap, or they touch and their quotations overlap. In the second
// case, both may correct the same error: in はは, either character can be removed.
func (c placement) meets(other placement) bool {
	touching := c.start <= other.end && other.start <= c.end
	return c.overlaps(other.span) || touching && c.quoted.overlaps(other.quoted)
}

// New returns a Proof for a text, which must be valid UTF-8 with "\n" as line end.
func New(text string) *Proof {
	p := &Proof{text: text, parts: cut(text)}
	p.folded, p.ends = make([]foldedText, len(p.parts)), make([]int, len(p.parts))
	p.places = make([]int, len(p.parts))
	for i, part := range p.parts {
		p.ends[i], p.places[i] = part.start, part.start
		if part.IsBlank() {
			p.ends[i] = part.end
		}
	}
	return p
}

// Parts returns the parts of the text in order. Their concatenation is the text.
func (p *Proof) Parts() []Part { return p.parts }

// Changes returns the changes in order of publication.
func (p *Proof) Changes() []Change { return p.published }

// AddProposal adds a change that a model proposes for a part, if it fits the text. It returns false if the change does
// not fit or is a duplicate. Duplicates do not count as dropped.
func (p *Proof) AddProposal(part int, proposal Proposal) (Change, bool) {
	if len(p.published) == maxTotal || !proposal.sane() {
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

// AddDropped adds to the number of dropped changes, for changes that the Reader could not parse.
func (p *Proof) AddDropped(n int) { p.dropped += n }

// MarkChecked marks a part as checked: completely, or up to its last change.
func (p *Proof) MarkChecked(part int, whole bool) {
	p.ends[part] = p.places[part]
	if whole {
		p.ends[part] = p.parts[part].end
	}
}

// Result returns the current result.
func (p *Proof) Result() Result {
	r := Result{Text: p.text, Changes: make([]Change, len(p.placements)), Dropped: p.dropped}
	for i, t := range p.placements {
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

// sane reports whether a proposal is valid and within the limits.
func (q Proposal) sane() bool {
	control := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
	return q.Before != "" && utf8.RuneCountInString(q.Before) <= maxPiece &&
		utf8.RuneCountInString(q.After) <= maxPiece && !strings.ContainsFunc(q.After, control) &&
		utf8.ValidString(q.Before) && utf8.ValidString(q.After)
}

// candidates returns the positions at which a proposal may apply, the most likely first. It prefers positions inside
// the quoted context, and positions after the previous change, because models process a text in order.
func (p *Proof) candidates(part int, q Proposal) []span {
	all := p.find(part, q.Before)
	if whole := slices.DeleteFunc(slices.Clone(all), p.inWord); len(whole) > 0 {
		all = whole // Do not match サーバ inside サーバー.
	}
	if len(all) < 2 {
		return all
	}
	contexts := p.find(part, q.Context)
	contexts = contexts[:min(len(contexts), maxPlaces)]
	near := slices.DeleteFunc(slices.Clone(all), func(at span) bool {
		return !slices.ContainsFunc(contexts, func(c span) bool { return c.start <= at.start && at.end <= c.end })
	})
	if len(near) == 0 { // The context may end inside the match.
		near = slices.DeleteFunc(slices.Clone(all), func(at span) bool {
			return !slices.ContainsFunc(contexts, at.overlaps)
		})
	}
	if len(near) > 0 {
		all = near
	} else if utf8.RuneCountInString(q.Before) < minLoneLength {
		return nil // The position would be a guess.
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

// inWord reports whether either end of a span is inside a word that must not be split.
func (p *Proof) inWord(at span) bool { return within(p.text, at.start) || within(p.text, at.end) }

// find returns the positions of a quotation in a part: exact matches, or if there are none, matches after fold.
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

// shorten reduces a change to the characters that differ, without splitting a number or a word in katakana or Latin
// letters. It returns false if nothing changes or the change crosses a line end.
func (p *Proof) shorten(part Part, at span, after string, q Proposal) (placement, bool) {
	before := p.text[at.start:at.end]
	question := q.Question || q.Kind == Fact
	if before == after {
		trimmed := strings.TrimSpace(before)
		if !question || trimmed == "" || strings.Contains(trimmed, "\n") {
			return placement{}, false
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
			return placement{}, false
		}
	}
	before = p.text[at.start:at.end]
	if strings.ContainsAny(before+after, "\n\u2028\u2029") || p.splits(at) {
		return placement{}, false
	}
	return p.place(at, after, q, question), true
}

// anchor converts an insertion into a replacement of the character before it, or at the beginning of a line, of the
// character after it.
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

// splits reports whether either end of a span is inside one visible character.
func (p *Proof) splits(at span) bool {
	return slices.ContainsFunc([]int{at.start, at.end}, func(i int) bool {
		left, _ := utf8.DecodeLastRuneInString(p.text[:i])
		right, _ := utf8.DecodeRuneInString(p.text[i:])
		return i > 0 && i < len(p.text) && joined(left, right)
	})
}

// around returns the replacement for a span with up to 30 characters of its line on either side.
func (p *Proof) around(at span, replacement string) string {
	const beside = 30
	left, right := lastCharacters(p.text[:at.start], beside), runes.First(p.text[at.end:], beside)
	left = left[strings.LastIndexByte(left, '\n')+1:]
	right, _, _ = strings.Cut(right, "\n")
	return left + replacement + right
}

func (p *Proof) place(at span, after string, q Proposal, question bool) placement {
	return placement{span: at, change: Change{
		Before: p.text[at.start:at.end], After: after, Kind: q.Kind, Question: question,
		Reason: runes.First(oneLine(q.Reason), maxReason),
	}}
}

// oneLine returns a text without line ends, control characters and invalid UTF-8.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, text)
}

// has reports whether the same change was already taken.
func (p *Proof) has(c placement) bool {
	return slices.ContainsFunc(p.placements, func(t placement) bool {
		return t.span == c.span && t.change.After == c.change.After
	})
}

func (p *Proof) free(c placement) bool { return !slices.ContainsFunc(p.placements, c.meets) }

// add stores a change of a part and assigns its id and its offsets.
func (p *Proof) add(part int, c placement) Change {
	c.change.Question = c.change.Question ||
		risky(p.around(c.span, c.change.Before), p.around(c.span, c.change.After))
	c.change.ID = len(p.published) + 1
	c.change.Start = p.parts[part].offset + units(p.text[p.parts[part].start:c.start])
	c.change.End = c.change.Start + units(c.change.Before)
	i, _ := slices.BinarySearchFunc(p.placements, c, func(a, b placement) int { return cmp.Compare(a.start, b.start) })
	p.placements = slices.Insert(p.placements, i, c)
	p.published = append(p.published, c.change)
	p.places[part] = max(p.places[part], c.end)
	return c.change
}

// commonStart returns the length in bytes of the common prefix that a change can omit.
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

// commonEnd returns the length in bytes of the common suffix that a change can omit.
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

// at returns a byte of a text, or a space beyond its end.
func at(text string, i int) byte {
	if i < len(text) {
		return text[i]
	}
	return ' '
}

// within reports whether a position of a text is inside a word that must not be split.
func within(text string, i int) bool {
	if i == 0 || i == len(text) {
		return false
	}
	left, _ := utf8.DecodeLastRuneInString(text[:i])
	right, _ := utf8.DecodeRuneInString(text[i:])
	return joined(left, right) || script(left) != 0 && script(left) == script(right)
}

// script returns the class of characters that form an unsplittable word, 0 for characters that can be separated.
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
