package redline

import "strings"

// document is a part of a file: its text, and where in the part each piece of that stands.
type document struct {
	source     []byte
	text       string
	paragraphs []*paragraph // In the order of the text.
	pieces     []*piece     // With text, in its order.
	ids        map[string]bool
	namespace  string // Of the part's elements.
	bound      bool   // The prefix w means it everywhere.
	fallbacks  []span // That were read instead of what they stand for.
}

// paragraph is a line of the text, or several with breaks between.
type paragraph struct {
	start, end int    // In the text.
	name       string // With its prefix.
	tag        span
	closing    span // The end tag; empty if the start tag closes.
	pieces     []*piece
	boxes      []*paragraph // Of text boxes that hang on it.
	open       bool         // Its end is deleted: it goes on in the next.
}

// piece is text that stands in one place of the part: a child of a run, or, without a run, something that cannot be
// changed.
type piece struct {
	start int // In the text.
	text  string
	run   *run
	child int
	field bool // It is the result of a field.
}

// maxInstruction bounds what is read of the instruction of a field, in bytes.
const maxInstruction = 200

func (p *piece) end() int { return p.start + len(p.text) }

// run is a stretch of text with the same properties.
type run struct {
	span
	tag        span
	closing    span
	properties span // Empty if there are none.
	change     span // A tracked change of the properties, within them,
	former     span // and what they were before, within that.
	changed    revision
	parent     container
	children   []child
}

// container is an element around runs.
type container struct {
	tag    span
	name   string // With its prefix.
	insert bool   // It marks what is in it as inserted, or moved here.
	revision
}

// revision says who made a tracked change, and when.
type revision struct{ author, date string }

type child struct {
	span
	kind childKind
	text string
}

type childKind int

const (
	object  childKind = iota // Has no text, and stays.
	letters                  // w:t: may be split.
	whole                    // Is deleted as a whole: a tab, a break, text with ruby.
)

// reader finds the text of a part.
type reader struct {
	*scanner
	doc *document

	list   *[]*paragraph // To which paragraphs are added.
	par    *paragraph    // Nil between paragraphs.
	fields []field       // The enclosing ones.
	twins  map[int]bool  // Alternate content of which the fallback is read.
	parent container
	fixed  int // Depth of what cannot be changed.
}

// field is a field whose end has not been read.
type field struct {
	code        bool // What is read is its instruction.
	instruction string
}

// Results of fields: as text is, as text that Word fills again, or as what is made of other text.
const (
	freeResult = iota
	fixedResult
	derivedResult
)

// result says how the result of a field is read.
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

// result says how text within the enclosing fields is read.
func (r *reader) result() (kind int) {
	for _, f := range r.fields {
		if f.code {
			return derivedResult
		}
		kind = max(kind, f.result())
	}
	return kind
}

// scan reads a part, of alternate content the first choice, or the fallback where twins says so.
func scan(part []byte, twins map[int]bool) (*document, error) {
	s, err := newScanner(part)
	if err != nil {
		return nil, err
	}
	d := &document{source: s.source}
	r := &reader{scanner: s, doc: d, list: &d.paragraphs, twins: twins}
	err = s.root(func(e element) error {
		d.namespace = e.Name.Space
		return s.each(r.element)
	})
	if err != nil {
		return nil, err
	}
	if d.namespace != spaceW && d.namespace != spaceStrict {
		return nil, ErrCorrupt
	}
	d.ids, d.bound = s.ids, s.binder && len(s.uses) == 1 && s.uses[d.namespace]
	d.layOut()
	return d, nil
}

// layOut joins the text and gives pieces their places in it.
func (d *document) layOut() {
	var text strings.Builder
	joined := true
	for _, p := range d.paragraphs {
		if !joined {
			d.pieces = append(d.pieces, &piece{start: text.Len(), text: "\n"})
			text.WriteByte('\n')
		}
		joined = p.open
		p.start = text.Len()
		for _, one := range p.pieces {
			one.start = text.Len()
			text.WriteString(one.text)
		}
		d.pieces = append(d.pieces, p.pieces...)
		p.end = text.Len()
	}
	d.text = text.String()
}

// element reads an element outside of runs. One that is not known is what it contains.
func (r *reader) element(e element) error {
	switch name := e.word(); {
	case name == "p":
		return r.paragraph(e)
	case name == "r":
		return r.run(e)
	case name == "sdt":
		return r.control()
	case (name == "footnote" || name == "endnote") && e.attr("type") != "" && e.attr("type") != "normal":
		return r.skip() // The line above notes.
	case name == "fldSimple":
		r.fields = append(r.fields, field{instruction: e.attr("instr")})
		err := r.contents(e)
		r.fields = r.fields[:len(r.fields)-1]
		return err
	case name == "del", name == "moveFrom", strings.HasSuffix(name, "Pr"):
		return r.skip()
	case e.Name.Space == spaceMC && e.Name.Local == "AlternateContent":
		return r.alternate(e, r.element)
	case e.Name.Local == "oMath":
		return r.formula()
	default:
		return r.contents(e)
	}
}

// contents reads an element around runs.
func (r *reader) contents(e element) error {
	name, outer := e.word(), r.parent
	r.parent = container{
		tag: e.span, name: e.prefix(r.source) + e.Name.Local, insert: name == "ins" || name == "moveTo",
		revision: revision{e.attr("author"), e.attr("date")},
	}
	err := r.each(r.element)
	r.parent = outer
	return err
}

// alternate reads the first choice; the others, and the fallback, say the same for other programs.
func (r *reader) alternate(e element, read func(element) error) error {
	chosen, twin := false, r.twins[e.from]
	return r.each(func(e element) error {
		if chosen || twin && e.Name.Local != "Fallback" {
			return r.skip()
		}
		chosen = true
		err := r.each(read)
		if twin {
			r.doc.fallbacks = append(r.doc.fallbacks, span{e.from, r.at})
		}
		return err
	})
}

func (r *reader) paragraph(e element) error {
	p, outer, parent := &paragraph{name: e.prefix(r.source) + "p", tag: e.span}, r.par, r.parent
	r.par, r.parent = p, container{tag: e.span}
	err := r.each(func(e element) error {
		if e.word() != "pPr" {
			return r.element(e)
		}
		return r.each(func(e element) error {
			if e.word() != "rPr" {
				return r.skip()
			}
			return r.each(func(e element) error {
				p.open = p.open || e.word() == "del"
				return r.skip()
			})
		})
	})
	p.closing = span{r.ending, r.at}
	p.open = p.open && len(p.boxes) == 0
	r.par, r.parent = outer, parent
	if outer != nil { // No program writes one within another, but for boxes.
		outer.boxes = append(append(outer.boxes, p), p.boxes...)
		return err
	}
	*r.list = append(append(*r.list, p), p.boxes...)
	return err
}

// run reads a run. Hidden text, and the codes of fields, are none.
func (r *reader) run(e element) error {
	if r.par == nil {
		return r.skip()
	}
	own := &run{tag: e.span, parent: r.parent}
	var texts []int
	fixed := make(map[int]bool)
	hidden := false
	err := r.each(func(e element) error {
		if e.word() == "rPr" {
			return r.properties(e, own, &hidden)
		}
		c, err := r.child(e)
		c.span = span{e.from, r.at}
		if c.text != "" && r.result() != derivedResult {
			texts = append(texts, len(own.children))
			fixed[len(own.children)] = r.result() == fixedResult
		}
		own.children = append(own.children, c)
		return err
	})
	own.closing, own.span = span{r.ending, r.at}, span{e.from, r.at}
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

func (r *reader) properties(e element, own *run, hidden *bool) error {
	err := r.each(func(e element) error {
		*hidden = *hidden || e.word() == "vanish" && e.on()
		err := r.skip()
		if e.word() == "rPrChange" {
			own.change, own.former = span{e.from, r.at}, span{e.to, r.ending}
			own.changed = revision{e.attr("author"), e.attr("date")}
		}
		return err
	})
	own.properties = span{e.from, r.at}
	return err
}

// child reads a child of a run.
func (r *reader) child(e element) (child, error) {
	switch e.word() {
	case "t":
		text, err := r.text()
		text = strings.Map(func(c rune) rune {
			if c == '\n' || c == '\r' {
				return ' '
			}
			return c
		}, text)
		if e.attr("space") != "preserve" {
			text = strings.Trim(text, " \t")
		}
		return child{kind: letters, text: text}, err
	case "tab", "ptab":
		return child{kind: whole, text: "\t"}, r.skip()
	case "br", "cr":
		return child{kind: whole, text: "\n"}, r.skip()
	case "noBreakHyphen":
		return child{kind: whole, text: "\u2011"}, r.skip()
	case "ruby":
		text, err := r.ruby()
		return child{kind: whole, text: text}, err
	case "instrText":
		text, err := r.text()
		if last := len(r.fields) - 1; last >= 0 && len(r.fields[last].instruction) < maxInstruction {
			r.fields[last].instruction += text
		}
		return child{}, err
	case "fldChar":
		last := len(r.fields) - 1
		switch kind := e.attr("fldCharType"); {
		case kind == "begin" && last < maxDepth:
			r.fields = append(r.fields, field{code: true})
		case kind == "separate" && last >= 0:
			r.fields[last].code = false
		case kind == "end" && last >= 0:
			r.fields = r.fields[:last]
		}
	}
	return child{}, r.inObject(e)
}

// inObject looks for text boxes in what stands in a run.
func (r *reader) inObject(e element) error {
	switch {
	case e.Name.Space == spaceMC && e.Name.Local == "AlternateContent":
		return r.alternate(e, r.inObject)
	case e.word() == "txbxContent":
		fields := r.fields
		r.fields = nil
		err := r.each(r.element)
		r.fields = fields
		return err
	}
	return r.each(r.inObject)
}

// ruby returns the text below ruby.
func (r *reader) ruby() (string, error) {
	var base strings.Builder
	var visit func(element) error
	visit = func(e element) error {
		switch e.word() {
		case "rt", "del", "moveFrom":
			return r.skip()
		case "t":
			text, err := r.text()
			base.WriteString(strings.Map(func(c rune) rune {
				if c == '\n' || c == '\r' {
					return ' '
				}
				return c
			}, text))
			return err
		}
		return r.each(visit)
	}
	err := r.each(visit)
	return base.String(), err
}

// formula adds a formula as text that cannot be changed.
func (r *reader) formula() error {
	var text strings.Builder
	var visit func(element) error
	visit = func(e element) error {
		if e.Name.Local != "t" {
			return r.each(visit)
		}
		one, err := r.text()
		text.WriteString(strings.Join(strings.Fields(one), " "))
		return err
	}
	err := r.each(visit)
	if r.par != nil && text.Len() > 0 {
		r.par.pieces = append(r.par.pieces, &piece{text: text.String()})
	}
	return err
}

// control reads a content control. The words that ask for content are none, and what is filled from other data cannot
// be changed: Word would fill it again.
func (r *reader) control() error {
	asks, bound := false, false
	return r.each(func(e element) error {
		switch e.word() {
		case "sdtPr":
			return r.all(func(e element) {
				asks = asks || e.word() == "showingPlcHdr" && e.on()
				bound = bound || e.Name.Local == "dataBinding"
			})
		case "sdtContent":
			if asks {
				return r.skip()
			}
			if bound {
				r.fixed++
				defer func() { r.fixed-- }()
			}
			outer := r.parent
			r.parent = container{tag: e.span}
			defer func() { r.parent = outer }()
			return r.each(r.element)
		}
		return r.skip()
	})
}
