package redline

import (
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/ooxml"
)

// document is a parsed part of a file: its text, and the position of each piece of text in the part.
type document struct {
	source     []byte
	styles     styleSheet
	text       string
	paragraphs []*paragraph // In the order of the text.
	pieces     []*piece     // Pieces with text, in the order of the text.
	ids        map[string]bool
	namespace  string // The WordprocessingML namespace of the part.
	bound      bool   // The prefix w is bound to namespace everywhere.
	fallbacks  []span // Fallbacks that were read instead of the first choice.
}

// paragraph is one line of the text, or several lines separated by breaks.
type paragraph struct {
	end     int    // Its end in the text.
	name    string // Element name with prefix.
	style   string // The id of its style, "" for the default.
	tag     span
	closing span // The end tag; empty if the start tag is self-closing.
	pieces  []*piece
	boxes   []*paragraph // Paragraphs of text boxes anchored in this paragraph.
	open    bool         // Its paragraph mark is deleted: the next paragraph continues it.
}

// piece is text at one position of the part. If run is set, it is a child of the run. Otherwise it cannot be changed.
type piece struct {
	start int // Offset in the text.
	text  string
	run   *run
	child int
	field bool // Part of the result of a field.
}

// maxInstruction is the largest number of bytes of a field instruction to store.
const maxInstruction = 200

func (p *piece) end() int { return p.start + len(p.text) }

// run is a w:r element: text with the same properties.
type run struct {
	span
	tag        span
	closing    span
	properties span // Empty if the run has none.
	change     span // A tracked change of the properties, inside properties.
	former     span // The former properties, inside change.
	changed    revision
	parent     container
	children   []child
}

// container is an element that contains runs.
type container struct {
	tag    span
	name   string // Element name with prefix.
	insert bool   // It marks its content as inserted or moved here.
	revision
}

// revision is the author and the date of a tracked change.
type revision struct{ author, date string }

type child struct {
	span
	kind childKind
	text string
}

type childKind int

const (
	object  childKind = iota // Has no text and is never changed.
	letters                  // w:t, which can be split.
	whole                    // Can only be deleted as a whole: a tab, a break, text with ruby.
)

// reader extracts the text of a part.
type reader struct {
	*scanner
	doc *document

	list   *[]*paragraph // The list to append paragraphs to.
	par    *paragraph    // Nil between paragraphs.
	fields []field       // The enclosing fields.
	twins  map[int]bool  // Offsets of AlternateContent elements whose fallback to read.
	parent container
	fixed  int // Number of enclosing elements whose text cannot be changed.
}

// field is an unfinished field.
type field struct {
	code        bool // The reader is in the instruction of the field.
	instruction string
}

// How to treat the result of a field: like other text, as text that Word generates again, or as text derived from other
// text.
const (
	freeResult = iota
	fixedResult
	derivedResult
)

// result returns how to treat the result of the field.
func (f field) result() int {
	word, _, _ := strings.Cut(strings.TrimSpace(f.instruction), " ")
	switch strings.ToUpper(word) {
	case "HYPERLINK", "FORMTEXT", "MACROBUTTON", "":
		return freeResult
	case "TOC", "TOA", "INDEX", "BIBLIOGRAPHY":
		return derivedResult
	}
	return fixedResult
}

// result returns how to treat text inside the enclosing fields.
func (r *reader) result() (kind int) {
	for _, f := range r.fields {
		if f.code {
			return derivedResult
		}
		kind = max(kind, f.result())
	}
	return kind
}

// scan parses a part. For AlternateContent it reads the first choice, or the fallback if twins has its offset.
func scan(pkg *ooxml.Package, part []byte, styles styleSheet, twins map[int]bool) (*document, error) {
	d := &document{source: part, styles: styles}
	s, err := walk(pkg, part, func(s *scanner) error {
		if s.Root.Prefix != "w" {
			return ooxml.ErrCorrupt
		}
		d.namespace = s.Root.Namespace
		r := &reader{scanner: s, doc: d, list: &d.paragraphs, twins: twins}
		return s.Each(r.element)
	})
	if err != nil {
		return nil, err
	}
	d.ids, d.bound = s.ids, s.binder && len(s.uses) == 1 && s.uses[d.namespace]
	d.layOut()
	return d, nil
}

// layOut joins the text of the paragraphs and sets the offsets of pieces.
func (d *document) layOut() {
	var text strings.Builder
	joined := true
	for _, p := range d.paragraphs {
		if !joined {
			d.pieces = append(d.pieces, &piece{start: text.Len(), text: "\n"})
			text.WriteByte('\n')
		}
		joined = p.open
		for _, one := range p.pieces {
			one.start = text.Len()
			text.WriteString(one.text)
		}
		d.pieces = append(d.pieces, p.pieces...)
		p.end = text.Len()
	}
	d.text = text.String()
}

// element reads an element outside of runs. It reads the content of unknown elements.
func (r *reader) element(e ooxml.Element) error {
	switch name := e.Tag(); {
	case name == "w:p":
		return r.paragraph(e)
	case name == "w:r":
		return r.run(e)
	case name == "w:sdt":
		return r.control()
	case (name == "w:footnote" || name == "w:endnote") && e.Attr("type") != "" && e.Attr("type") != "normal":
		return r.Skip() // The separator line above notes.
	case name == "w:fldSimple":
		r.fields = append(r.fields, field{instruction: e.Attr("instr")})
		err := r.contents(e)
		r.fields = r.fields[:len(r.fields)-1]
		return err
	case name == "w:del", name == "w:moveFrom", e.Prefix == "w" && strings.HasSuffix(e.Local, "Pr"):
		return r.Skip()
	case name == "mc:AlternateContent":
		return r.alternate(e, r.element)
	case e.Local == "oMath":
		return r.formula()
	default:
		return r.contents(e)
	}
}

// contents reads the content of an element outside of runs.
func (r *reader) contents(e ooxml.Element) error {
	name, outer := e.Tag(), r.parent
	r.parent = container{
		tag: tag(e), name: e.Name(r.source), insert: name == "w:ins" || name == "w:moveTo",
		revision: revision{e.Attr("author"), e.Attr("date")},
	}
	err := r.Each(r.element)
	r.parent = outer
	return err
}

// alternate reads the first choice, or the fallback if twins requests it. The other branches have the same content for
// other programs.
func (r *reader) alternate(e ooxml.Element, read func(ooxml.Element) error) error {
	chosen, twin := false, r.twins[e.From]
	return r.Each(func(e ooxml.Element) error {
		if chosen || twin && e.Local != "Fallback" {
			return r.Skip()
		}
		chosen = true
		err := r.Each(read)
		if twin {
			r.doc.fallbacks = append(r.doc.fallbacks, r.whole(e))
		}
		return err
	})
}

func (r *reader) paragraph(e ooxml.Element) error {
	p, outer, parent := &paragraph{name: e.Name(r.source), tag: tag(e)}, r.par, r.parent
	r.par, r.parent = p, container{tag: tag(e)}
	err := r.Each(func(e ooxml.Element) error {
		if e.Tag() != "w:pPr" {
			return r.element(e)
		}
		return r.Each(func(e ooxml.Element) error {
			switch e.Tag() {
			case "w:pStyle":
				p.style = e.Attr("val")
				return r.Skip()
			case "w:rPr":
			default:
				return r.Skip()
			}
			return r.Each(func(e ooxml.Element) error {
				p.open = p.open || e.Tag() == "w:del"
				return r.Skip()
			})
		})
	})
	p.closing = r.closing()
	p.open = p.open && len(p.boxes) == 0
	r.par, r.parent = outer, parent
	if outer != nil { // Only text boxes nest paragraphs.
		outer.boxes = append(append(outer.boxes, p), p.boxes...)
		return err
	}
	*r.list = append(append(*r.list, p), p.boxes...)
	return err
}

// run reads a run. It ignores hidden text and field codes.
func (r *reader) run(e ooxml.Element) error {
	if r.par == nil {
		return r.Skip()
	}
	own := &run{tag: tag(e), parent: r.parent}
	var texts []int
	fixed := make(map[int]bool)
	hidden := r.doc.styles.hides(r.par.style, "")
	err := r.Each(func(e ooxml.Element) error {
		if e.Tag() == "w:rPr" {
			return r.properties(e, own, &hidden)
		}
		c, err := r.child(e)
		c.span = r.whole(e)
		if c.text != "" && r.result() != derivedResult {
			texts = append(texts, len(own.children))
			fixed[len(own.children)] = r.result() == fixedResult
		}
		own.children = append(own.children, c)
		return err
	})
	own.closing, own.span = r.closing(), r.whole(e)
	if hidden {
		return err
	}
	for _, i := range texts {
		one := &piece{text: own.children[i].text, run: own, child: i, field: fixed[i]}
		if r.fixed > 0 || one.field {
			one.run = nil
		}
		r.par.pieces = append(r.par.pieces, one)
	}
	return err
}

// properties reads the properties of a run. They decide whether it is hidden, otherwise its style and that of the
// paragraph.
func (r *reader) properties(e ooxml.Element, own *run, hidden *bool) error {
	direct := false
	err := r.Each(func(e ooxml.Element) error {
		switch e.Tag() {
		case "w:vanish":
			direct, *hidden = true, e.On("val")
		case "w:rStyle":
			if !direct {
				*hidden = r.doc.styles.hides(r.par.style, e.Attr("val"))
			}
		}
		err := r.Skip()
		if e.Tag() == "w:rPrChange" {
			own.change, own.former = r.whole(e), span{e.To, r.closing().from}
			own.changed = revision{e.Attr("author"), e.Attr("date")}
		}
		return err
	})
	own.properties = r.whole(e)
	return err
}

// child reads a child of a run.
func (r *reader) child(e ooxml.Element) (child, error) {
	switch e.Tag() {
	case "w:t":
		text, err := r.Text()
		text = lineBreaks.Replace(text)
		if e.Attr("space") != "preserve" {
			text = strings.Trim(text, " \t")
		}
		return child{kind: letters, text: text}, err
	case "w:tab", "w:ptab":
		return child{kind: whole, text: "\t"}, r.Skip()
	case "w:br", "w:cr":
		return child{kind: whole, text: "\n"}, r.Skip()
	case "w:noBreakHyphen":
		return child{kind: whole, text: "\u2011"}, r.Skip()
	case "w:ruby":
		text, err := r.ruby()
		return child{kind: whole, text: text}, err
	case "w:instrText":
		text, err := r.Text()
		if last := len(r.fields) - 1; last >= 0 && len(r.fields[last].instruction) < maxInstruction {
			r.fields[last].instruction += text
		}
		return child{}, err
	case "w:fldChar":
		last := len(r.fields) - 1
		switch kind := e.Attr("fldCharType"); {
		case kind == "begin" && last < ooxml.MaxDepth:
			r.fields = append(r.fields, field{code: true})
		case kind == "separate" && last >= 0:
			r.fields[last].code = false
		case kind == "end" && last >= 0:
			r.fields = r.fields[:last]
		}
	}
	return child{}, r.inObject(e)
}

// inObject reads the text boxes in a child of a run.
func (r *reader) inObject(e ooxml.Element) error {
	switch {
	case e.Tag() == "mc:AlternateContent":
		return r.alternate(e, r.inObject)
	case e.Tag() == "w:txbxContent":
		fields := r.fields
		r.fields = nil
		err := r.Each(r.element)
		r.fields = fields
		return err
	}
	return r.Each(r.inObject)
}

// ruby returns the base text of a ruby element.
func (r *reader) ruby() (string, error) {
	var base strings.Builder
	err := r.Each(func(e ooxml.Element) error {
		switch e.Tag() {
		case "w:rt", "w:del", "w:moveFrom":
			return r.Skip()
		case "w:t":
			text, err := r.Text()
			base.WriteString(lineBreaks.Replace(text))
			return err
		}
		return nil
	})
	return base.String(), err
}

// lineBreaks replaces line breaks in character data, which Word displays as spaces.
var lineBreaks = strings.NewReplacer("\n", " ", "\r", " ")

// formula adds a formula as unchangeable text.
func (r *reader) formula() error {
	var text strings.Builder
	err := r.Each(func(e ooxml.Element) error {
		if e.Local != "t" {
			return nil
		}
		one, err := r.Text()
		text.WriteString(strings.Join(strings.Fields(one), " "))
		return err
	})
	if r.par != nil && text.Len() > 0 {
		r.par.pieces = append(r.par.pieces, &piece{text: text.String()})
	}
	return err
}

// control reads a content control. It ignores placeholder text. Content with a data binding is unchangeable, because
// Word would overwrite it.
func (r *reader) control() error {
	asks, bound := false, false
	return r.Each(func(e ooxml.Element) error {
		switch e.Tag() {
		case "w:sdtPr":
			return r.All(func(e ooxml.Element) {
				asks = asks || e.Tag() == "w:showingPlcHdr" && e.On("val")
				bound = bound || e.Local == "dataBinding"
			})
		case "w:sdtContent":
			if asks {
				return r.Skip()
			}
			if bound {
				r.fixed++
				defer func() { r.fixed-- }()
			}
			outer := r.parent
			r.parent = container{tag: tag(e)}
			defer func() { r.parent = outer }()
			return r.Each(r.element)
		}
		return r.Skip()
	})
}
