package redline

import "slices"

// editor applies changes to a document.
type editor struct {
	doc *document
	by  *Author // Nil to apply changes without tracking.
	*numbers
	busy    map[*piece]bool
	cuts    map[*run][]cut
	edits   []edit
	remarks []remark
	silent  bool     // The part cannot contain comments.
	aside   []string // Comments for the end of the body instead.
}

// numbers allocates the ids of a file.
type numbers struct {
	taken map[string]bool
	last  int
}

// edit is a range of the part to rewrite: a run, or the end of a paragraph if run is nil.
type edit struct {
	span
	run     *run
	close   string // The name of a self-closing element that needs an end tag.
	changes []*placement
}

// placement is a change with its position and form in a document.
type placement struct {
	before, after string
	note          string // The comment.
	tracked       bool   // If false, the change is only a comment.
	like          *run   // The run whose properties the new text copies.
	id            string // The id of the comment.
}

// cut is the part of a change that affects one piece: a range of the piece's text.
type cut struct {
	*placement
	child    int
	from, to int
	opens    bool // The change starts here.
	inserts  bool // The new text follows this range.
	closes   bool // The change ends here.
}

// remark is a comment to write.
type remark struct{ id, text string }

func newEditor(d *document, by *Author, n *numbers) *editor {
	return &editor{doc: d, by: by, numbers: n, busy: make(map[*piece]bool), cuts: make(map[*run][]cut)}
}

// place locates a change and schedules its edits. Call it with changes in ascending order.
func (e *editor) place(c Change) {
	start, end := c.Start, c.Start+len(c.Before)
	change := &placement{before: c.Before, after: c.After, note: c.Comment, tracked: c.After != c.Before}
	pieces := e.within(start, end)
	if len(pieces) > 0 && !slices.ContainsFunc(pieces, func(p *piece) bool { return !p.field }) {
		return // Word generates this text again.
	}
	if slices.ContainsFunc(pieces, func(p *piece) bool { return p.run == nil }) {
		change.tracked = false
		pieces = slices.DeleteFunc(slices.Clone(pieces), func(p *piece) bool { return p.run == nil })
	}
	if len(pieces) > 0 {
		e.cover(change, pieces, start, end)
		return
	}
	at, offset := e.anchor(start)
	if at == nil {
		e.atEnd(change, start)
		return
	}
	e.cover(change, []*piece{at}, at.start+offset, at.start+offset)
}

// within returns the pieces in a range of the text.
func (e *editor) within(start, end int) []*piece {
	if start == end {
		return nil
	}
	from, _ := slices.BinarySearchFunc(e.doc.pieces, start, func(p *piece, at int) int { return p.end() - at - 1 })
	to := from
	for to < len(e.doc.pieces) && e.doc.pieces[to].start < end {
		to++
	}
	return e.doc.pieces[from:to]
}

// anchor returns the piece for an insertion at a position, preferably the one before it, and the offset in the piece.
func (e *editor) anchor(at int) (*piece, int) {
	for _, p := range slices.Concat(e.within(max(at-1, 0), at), e.within(at, at+1)) {
		if p.run != nil {
			return p, at - p.start
		}
	}
	return nil, 0
}

// cover applies a change to the given pieces in a range of the text.
func (e *editor) cover(change *placement, pieces []*piece, start, end int) {
	first, last := pieces[0], pieces[len(pieces)-1]
	change.like = first.run
	if change.tracked {
		e.widen(change, pieces, start, end)
	}
	if !e.comments(change) && !change.tracked {
		return
	}
	together := first.run.parent.tag == last.run.parent.tag
	for _, p := range pieces {
		from, to := p.share(start, end)
		e.cuts[p.run] = append(e.cuts[p.run], cut{
			placement: change, child: p.child, from: from, to: to,
			opens: p == first, closes: p == last,
			inserts: change.tracked && (p == last && together || p == first && !together),
		})
		e.edits = append(e.edits, edit{span: p.run.span, run: p.run})
	}
}

// share returns the range of a piece that a change affects. A piece that cannot be split is affected completely, unless
// the change only touches its start or end.
func (p *piece) share(start, end int) (from, to int) {
	from, to = max(start, p.start)-p.start, min(end, p.end())-p.start
	if p.run.children[p.child].kind == whole && (from < to || from > 0 && from < len(p.text)) {
		return 0, len(p.text)
	}
	return from, to
}

// widen extends the new text of a change by the remaining text of pieces that cannot be split.
func (e *editor) widen(change *placement, pieces []*piece, start, end int) {
	before, after := "", ""
	for _, p := range pieces {
		from, to := p.share(start, end)
		if p.run.children[p.child].kind != whole || from == to {
			continue
		}
		if e.busy[p] {
			change.tracked = false
			return
		}
		e.busy[p] = true
		before += p.text[from:max(from, start-p.start)]
		after += p.text[min(to, end-p.start):to]
	}
	change.after = before + change.after + after
}

// atEnd places a change at the end of its paragraph, because the paragraph has no changeable text at the position.
func (e *editor) atEnd(change *placement, at int) {
	i, _ := slices.BinarySearchFunc(e.doc.paragraphs, at, func(p *paragraph, at int) int { return p.end - at })
	if i == len(e.doc.paragraphs) {
		return
	}
	p := e.doc.paragraphs[i]
	if at < p.end {
		change.tracked = false
	}
	if !e.comments(change) && !change.tracked {
		return
	}
	place := edit{span: span{p.closing.from, p.closing.from}}
	if p.closing.from == p.closing.to { // <w:p/>
		place = edit{span: span{p.tag.to - len("/>"), p.tag.to}, close: p.name}
	}
	place.changes = []*placement{change}
	if last := len(e.edits) - 1; last >= 0 && e.edits[last].span == place.span && e.edits[last].run == nil {
		e.edits[last].changes = append(e.edits[last].changes, change)
		return
	}
	e.edits = append(e.edits, place)
}

// comments reports whether a change gets a comment. If the change cannot be tracked, comments adds the proposed change
// to the comment.
func (e *editor) comments(c *placement) bool {
	if e.by == nil {
		return false
	}
	change := Change{Before: c.before, After: c.after, Comment: c.note}
	if e.silent {
		if c.note != "" || !c.tracked {
			e.aside = append(e.aside, change.note())
		}
		c.note = ""
		return false
	}
	if !c.tracked && c.after != c.before {
		c.note = change.note()
	}
	return c.note != ""
}
