package redline

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/ooxml"
)

// bytes returns the part with the changes applied.
func (e *editor) bytes() []byte {
	slices.SortStableFunc(e.edits, func(a, b edit) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	var out bytes.Buffer
	e.copy(&out, span{0, len(e.doc.source)})
	return out.Bytes()
}

// copy writes a range of the part and applies the edits inside it. Edits can be nested, because a run can contain a
// text box.
func (e *editor) copy(out *bytes.Buffer, s span) {
	at := s.from
	i, _ := slices.BinarySearchFunc(e.edits, s.from, func(one edit, from int) int { return one.from - from })
	for ; i < len(e.edits) && e.edits[i].from < s.to; i++ {
		one := e.edits[i]
		if one.from < at {
			continue
		}
		out.Write(e.doc.source[at:one.from])
		at = one.to
		switch {
		case one.run != nil:
			e.writeRun(out, one.run)
		default:
			e.writeEnd(out, one)
		}
	}
	out.Write(e.doc.source[at:s.to])
}

// writeEnd writes changes at the end of a paragraph.
func (e *editor) writeEnd(out *bytes.Buffer, one edit) {
	if one.close != "" {
		out.WriteByte('>')
	}
	w := &runWriter{editor: e, out: out, run: &run{}}
	for _, change := range one.changes {
		w.open(change)
		if change.tracked {
			w.insert(change)
		}
		w.end(change)
	}
	if one.close != "" {
		out.WriteString("</" + one.close + ">")
	}
}

func (e *editor) writeRun(out *bytes.Buffer, r *run) {
	w := &runWriter{editor: e, out: out, run: r}
	cuts := e.cuts[r]
	for i, c := range r.children {
		n := 0
		for n < len(cuts) && cuts[n].child == i {
			n++
		}
		switch {
		case n == 0:
			w.keep()
			e.copy(out, c.span)
		case c.kind == whole:
			w.whole(c, cuts[:n])
		default:
			w.letters(c, cuts[:n])
		}
		cuts = cuts[n:]
	}
	w.close()
}

// runWriter rewrites a run as several runs.
type runWriter struct {
	*editor
	out   *bytes.Buffer
	run   *run
	state state
	again bool // The properties have already been written once.
}

type state int

const (
	between  state = iota
	kept           // In an unchanged run.
	deletion       // In a deleted run.
)

// letters writes a w:t child that is changed in the ranges of cuts.
func (w *runWriter) letters(c child, cuts []cut) {
	at := 0
	for _, one := range cuts {
		w.text(c.text[at:one.from])
		if one.opens {
			w.open(one.placement)
		}
		if one.tracked {
			w.delete(one, w.element("delText", preserve)+ooxml.Escape(c.text[one.from:one.to])+"</w:delText>")
		} else {
			w.text(c.text[one.from:one.to])
		}
		w.after(one)
		at = one.to
	}
	w.text(c.text[at:])
}

const preserve = ` xml:space="preserve"`

func (w *runWriter) text(text string) {
	if text == "" {
		return
	}
	w.keep()
	w.out.WriteString(w.element("t", preserve) + ooxml.Escape(text) + "</w:t>")
}

// whole writes an unsplittable child that is changed completely or at its ends.
func (w *runWriter) whole(c child, cuts []cut) {
	written := false
	for _, one := range cuts {
		if !written && one.from == one.to && one.to == len(c.text) {
			w.keep()
			w.copy(w.out, c.span)
			written = true
		}
		if one.opens {
			w.open(one.placement)
		}
		if !written && one.from < one.to {
			if written = true; one.tracked {
				w.delete(one, string(deletedText(w.doc.source[c.from:c.to])))
			} else {
				w.keep()
				w.copy(w.out, c.span)
			}
		}
		w.after(one)
	}
	if !written {
		w.keep()
		w.copy(w.out, c.span)
	}
}

// after writes the insertion and the end of the change that follow a cut.
func (w *runWriter) after(one cut) {
	if one.inserts {
		w.insert(one.placement)
	}
	if one.closes {
		w.end(one.placement)
	}
}

// keep switches to an unchanged run.
func (w *runWriter) keep() {
	if w.state == kept {
		return
	}
	w.close()
	w.out.Write(w.doc.source[w.run.tag.from:w.run.tag.to])
	w.properties()
	w.state = kept
}

// delete writes content as deleted.
func (w *runWriter) delete(one cut, content string) {
	if w.by == nil || one.from == one.to {
		return
	}
	if w.state != deletion {
		w.close()
		w.out.WriteString(w.revision("del"))
		w.out.Write(w.doc.source[w.run.tag.from:w.run.tag.to])
		w.properties()
		w.state = deletion
	}
	w.out.WriteString(content)
}

func (w *runWriter) close() {
	if w.state != between {
		w.out.Write(w.doc.source[w.run.closing.from:w.run.closing.to])
	}
	if w.state == deletion {
		w.out.WriteString("</w:del>")
	}
	w.state = between
}

// properties writes the run properties. If they have a tracked change, each additional run needs a copy of it with a
// new id.
func (w *runWriter) properties() {
	source, p, change := w.doc.source, w.run.properties, w.run.change
	if !w.again || change.to == 0 {
		w.again = true
		w.out.Write(source[p.from:p.to])
		return
	}
	w.out.Write(source[p.from:change.from])
	w.out.WriteString(w.element("rPrChange", w.attributes(w.run.changed)))
	w.out.Write(source[w.run.former.from:w.run.former.to])
	w.out.WriteString("</w:rPrChange>")
	w.out.Write(source[change.to:p.to])
}

// insert writes the new text of a change.
func (w *runWriter) insert(change *placement) {
	if change.after == "" {
		return
	}
	w.close()
	around := w.run.parent
	around.insert = around.insert && w.by != nil
	if around.insert { // An insertion nested in another author's would be attributed to that author.
		w.out.WriteString("</" + around.name + ">")
	}
	if w.by != nil {
		w.out.WriteString(w.revision("ins"))
	}
	w.out.WriteString(w.element("r", ""))
	if like := change.like; like != nil {
		w.out.Write(w.doc.source[like.properties.from:max(like.properties.from, like.change.from)])
		w.out.Write(w.doc.source[max(like.properties.from, like.change.to):like.properties.to])
	}
	w.out.WriteString(w.content(change.after))
	w.out.WriteString("</w:r>")
	if w.by != nil {
		w.out.WriteString("</w:ins>")
	}
	if around.insert {
		w.out.WriteString("<" + around.name + w.declaration() + w.attributes(around.revision) + ">")
	}
}

// content returns text as the children of a run.
func (e *editor) content(text string) string {
	var out strings.Builder
	for len(text) > 0 {
		n := strings.IndexAny(text, "\t\n")
		if n < 0 {
			n = len(text)
		}
		if n > 0 {
			out.WriteString(e.element("t", preserve) + ooxml.Escape(text[:n]) + "</w:t>")
		}
		if n < len(text) {
			name := "tab"
			if text[n] == '\n' {
				name = "br"
			}
			out.WriteString(strings.TrimSuffix(e.element(name, ""), ">") + "/>")
			n++
		}
		text = text[n:]
	}
	return out.String()
}

// open starts a change, and its comment if it has one.
func (w *runWriter) open(change *placement) {
	w.close()
	if w.by == nil || change.note == "" {
		return
	}
	change.id = w.freeID()
	w.remarks = append(w.remarks, remark{change.id, change.note})
	w.out.WriteString(w.empty("commentRangeStart", change.id))
}

func (w *runWriter) end(change *placement) {
	w.close()
	if change.id != "" {
		w.out.WriteString(w.empty("commentRangeEnd", change.id) + w.element("r", "") +
			w.empty("commentReference", change.id) + "</w:r>")
	}
}

func (e *editor) empty(name, id string) string {
	return strings.TrimSuffix(e.element(name, ` w:id="`+id+`"`), ">") + "/>"
}

// element returns a start tag.
func (e *editor) element(name, attributes string) string {
	return "<w:" + name + e.declaration() + attributes + ">"
}

// declaration binds the prefix w if the document does not bind it everywhere.
func (e *editor) declaration() string {
	if e.doc.bound {
		return ""
	}
	return ` xmlns:w="` + e.doc.namespace + `"`
}

// revision returns the start tag of a tracked change by the editor's author.
func (e *editor) revision(name string) string { return e.element(name, e.attributes(e.by.revision())) }

// attributes returns the attributes of a tracked change, with a new id.
func (e *editor) attributes(by revision) string {
	out := ` w:id="` + e.freeID() + `" w:author="` + ooxml.Escape(by.author) + `"`
	if by.date != "" {
		out += ` w:date="` + ooxml.Escape(by.date) + `"`
	}
	return out
}

func (a *Author) revision() revision { return revision{a.Name, a.Time.Format("2006-01-02T15:04:05Z")} }

// freeID returns an unused id.
func (n *numbers) freeID() string {
	for {
		n.last++
		if id := strconv.Itoa(n.last); !n.taken[id] {
			return id
		}
	}
}

var textTag = regexp.MustCompile(`(</?(?:[^\s<>/:]+:)?)t([\s/>])`)

// deletedText converts the text elements of a run's child to w:delText.
func deletedText(source []byte) []byte { return textTag.ReplaceAll(source, []byte("${1}delText${2}")) }
