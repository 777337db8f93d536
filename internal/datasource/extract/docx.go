package extract

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/tsumugi-ai/tsumugi/internal/ooxml"
)

// docx reads a WordprocessingML document (ECMA-376 part 1, chapter 17) as it appears in print. It omits hidden and
// deleted text, comments and field codes.
type docx struct {
	pkg     *ooxml.Package
	x       *ooxml.Walker
	rels    ooxml.Relationships // Relationships of the current part.
	styles  styleSheet
	numbers *numbering
	notes   map[string]string // The texts of footnotes and endnotes, by kind and id.
	margins []string          // Names of the header and footer parts, in order.

	story  *story
	par    *docxParagraph // The current paragraph; nil between paragraphs.
	table  *docxTable     // The current table; nil outside of tables.
	fields []docxField    // The enclosing fields.
	hidden bool
	script script
	noted  int    // Number of note references so far.
	cells  int    // Number of cells in all tables.
	made   int    // Bytes of text so far.
	joined string // Text of an open paragraph; the next paragraph continues it.
}

// story is a sequence of paragraphs: the document body, a cell or a text box.
type story struct {
	out      strings.Builder
	listItem bool // The last block is a list item.
	layout   bool // The story contains more than lines of text.
}

// write appends a block of text after an empty line, or a list item directly after the previous list item.
func (s *story) write(text string, listItem bool) {
	switch {
	case s.out.Len() == 0:
	case listItem && s.listItem:
		s.out.WriteByte('\n')
	default:
		s.out.WriteString("\n\n")
	}
	s.out.WriteString(text)
	s.listItem = listItem
}

// docxParagraph is the state of reading a paragraph.
type docxParagraph struct {
	text  strings.Builder
	style string
	level int // Heading level from 1; 0 if it is not a heading; -1 if its style decides.
	num   numRef
	after []string // Blocks anchored in the paragraph: text boxes, notes, charts.
	open  bool     // Its paragraph mark is deleted or was moved; the next paragraph continues it.
}

// docxText returns the text of a document as Markdown.
func docxText(pkg *ooxml.Package, main string) (string, error) {
	d := &docx{pkg: pkg, notes: make(map[string]string), story: new(story)}
	var err error
	if d.rels, err = pkg.Relationships(main); err != nil {
		return "", err
	}
	if d.styles, err = readStyles(pkg, d.rels.Target("styles")); err != nil {
		return "", err
	}
	if d.numbers, err = readNumbering(pkg, d.rels.Target("numbering")); err != nil {
		return "", err
	}
	for _, kind := range []string{"footnote", "endnote"} {
		if err := d.readNotes(kind, d.rels.Target(kind+"s")); err != nil {
			return "", err
		}
	}
	if err := d.part(main, d.element); err != nil {
		return "", err
	}
	d.flush()
	body := d.story
	seen := make(map[string]bool)
	for _, name := range d.margins {
		if err := d.margin(name, body, seen); err != nil {
			return "", err
		}
	}
	return body.out.String(), nil
}

// part calls read for the elements of a part.
func (d *docx) part(name string, read func(ooxml.Element) error) error {
	rels, err := d.pkg.Relationships(name)
	if err != nil {
		return err
	}
	return d.pkg.Walk(name, func(x *ooxml.Walker) error {
		outer, outerRels := d.x, d.rels
		defer func() { d.x, d.rels = outer, outerRels }()
		d.x, d.rels, d.fields = x, rels, nil
		return x.Each(read)
	})
}

// inStory calls read with a new story and returns that story.
func (d *docx) inStory(read func() error) (*story, error) {
	type state struct {
		story  *story
		par    *docxParagraph
		table  *docxTable
		fields []docxField
		joined string
	}
	outer := state{d.story, d.par, d.table, d.fields, d.joined}
	own := new(story)
	d.story, d.par, d.table, d.fields, d.joined = own, nil, nil, nil, ""
	err := read()
	d.flush()
	d.story, d.par, d.table, d.fields, d.joined = outer.story, outer.par, outer.table, outer.fields, outer.joined
	return own, err
}

// flush writes the text of an open paragraph that no paragraph continues.
func (d *docx) flush() {
	if d.joined != "" {
		d.story.write(d.joined, false)
		d.joined = ""
	}
}

// readNotes reads footnotes or endnotes if the part exists.
func (d *docx) readNotes(kind, name string) error {
	if !d.pkg.Has(name) {
		return nil
	}
	return d.part(name, func(e ooxml.Element) error {
		if t := e.Attr("type"); e.Local != kind || t != "" && t != "normal" {
			return d.x.Skip()
		}
		note, err := d.inStory(func() error { return d.x.Each(d.element) })
		d.notes[kind+e.Attr("id")] = strings.Join(strings.Fields(note.out.String()), " ")
		return err
	})
}

// margin appends the blocks of a header or footer that no other header or footer contains. It omits page numbers.
func (d *docx) margin(name string, body *story, seen map[string]bool) error {
	own, err := d.inStory(func() error { return d.part(name, d.element) })
	if err != nil {
		return err
	}
	for _, block := range strings.Split(own.out.String(), "\n\n") {
		if !seen[block] && pageNumber.FindString(block) == "" && strings.ContainsFunc(block, unicode.IsLetter) {
			seen[block] = true
			body.write(block, false)
		}
	}
	return nil
}

// element reads any element. For an unknown element, it reads the content.
func (d *docx) element(e ooxml.Element) error {
	switch e.Tag() {
	case "w:p":
		return d.paragraph()
	case "w:r":
		return d.run()
	case "w:t", "m:t", "a:t":
		return d.characters()
	case "w:tbl":
		return d.readTable()
	case "w:tr":
		return d.row()
	case "w:tc":
		return d.readCell()
	case "w:sdt":
		return d.control()
	case "mc:AlternateContent":
		return alternate(d.x, func() int { return d.made }, d.element)
	case "w:txbxContent":
		return d.textBox()
	case "w:sectPr":
		return d.section()
	case "w:fldSimple":
		return d.x.Each(d.element)
	case "w:instrText":
		return d.fieldCode()
	case "w:checkBox":
		return d.checkBox()
	case "w:sdtPr", "w:rPr", "w:pPr", "w:tblPr", "w:tblGrid", "w:del", "w:moveFrom", "w:delText", "w:delInstrText",
		"w:rt", "w:pPrChange", "w:rubyPr", "w:fldData", "w:footnoteRef", "w:endnoteRef",
		"w:annotationRef":
		return d.x.Skip()
	}
	if err := d.mark(e); err != nil {
		return err
	}
	return d.x.Each(d.element)
}

// mark reads an element that represents text through its name and attributes.
func (d *docx) mark(e ooxml.Element) error {
	switch e.Tag() {
	case "w:tab", "w:ptab":
		d.emit("\t")
	case "w:br", "w:cr":
		d.emit("\n")
	case "w:noBreakHyphen":
		d.emit("-")
	case "w:sym":
		if code, err := strconv.ParseUint(e.Attr("char"), 16, 16); err == nil {
			d.emit(symbol(rune(code), e.Attr("font")))
		}
	case "w:fldChar":
		d.field(e.Attr("fldCharType"))
	case "w:footnoteReference":
		d.note("footnote", e)
	case "w:endnoteReference":
		d.note("endnote", e)
	case "wp:docPr":
		d.hang(alternativeText(e))
	case "v:textpath":
		d.emit(e.Attr("string"))
	case "m:den":
		d.emit("/")
	case "m:sup":
		d.emit("^")
	case "m:sub":
		d.emit("_")
	case "m:rad":
		d.emit("√")
	case "c:chart", "cx:chart":
		text, err := chartText(d.pkg, d.rels.ByID(e.Attr("r:id")).Target)
		d.hang(text)
		return err
	case "dgm:relIds":
		text, err := diagramText(d.pkg, d.rels.ByID(e.Attr("r:dm")).Target)
		d.hang(text)
		return err
	}
	return nil
}

// emit appends text to the paragraph unless the text is hidden.
func (d *docx) emit(text string) {
	if d.par == nil || d.hidden || text == "" {
		return
	}
	for _, f := range d.fields {
		if f.inCode {
			return
		}
	}
	d.made += len(text)
	d.par.text.WriteString(text)
}

// hang adds a block after the current paragraph.
func (d *docx) hang(text string) {
	if text == "" || d.hidden {
		return
	}
	d.made += len(text)
	if d.par == nil {
		d.story.write(text, false)
		return
	}
	d.par.after = append(d.par.after, text)
}

func (d *docx) characters() error {
	text, err := textOf(d.x)
	if strings.ContainsFunc(text, isSymbol) {
		var out strings.Builder
		for _, r := range text {
			out.WriteString(symbol(r, ""))
		}
		text = out.String()
	}
	if d.script != onLine && d.par != nil {
		text = d.script.of(d.par.text.String(), text)
	}
	d.emit(strings.Map(func(r rune) rune {
		if r == '\n' {
			return ' '
		}
		return r
	}, text))
	return err
}

// note writes a reference to a footnote or endnote. The text of the note follows the paragraph.
func (d *docx) note(kind string, e ooxml.Element) {
	text := d.notes[kind+e.Attr("id")]
	if text == "" || d.par == nil || d.hidden {
		return
	}
	if e.Attr("customMarkFollows") != "" && e.On("customMarkFollows") {
		d.hang("注：" + text)
		return
	}
	d.noted++
	d.emit("（注" + strconv.Itoa(d.noted) + "）")
	d.hang("注" + strconv.Itoa(d.noted) + "：" + text)
}

// run reads a run. Its own properties decide whether it is hidden, otherwise the styles of the paragraph and the run.
func (d *docx) run() error {
	outer, outerScript, style := d.hidden, d.script, ""
	defer func() { d.hidden, d.script = outer, outerScript }()
	if d.par != nil {
		style = d.par.style
	}
	d.hidden = outer || d.styles.hides(style, "")
	return d.x.Each(func(e ooxml.Element) error {
		if e.Tag() != "w:rPr" {
			return d.element(e)
		}
		characters, direct, hidden := "", false, false
		err := d.x.All(func(e ooxml.Element) {
			switch e.Local {
			case "rStyle":
				characters = e.Attr("val")
			case "vanish":
				direct, hidden = true, e.On("val")
			case "vertAlign":
				d.script = scripts[e.Attr("val")]
			}
		})
		if !direct {
			hidden = d.styles.hides(style, characters)
		}
		d.hidden = outer || hidden
		return err
	})
}

func (d *docx) paragraph() error {
	outer := d.par
	d.par = &docxParagraph{level: -1}
	d.par.text.WriteString(d.joined)
	d.joined = ""
	err := d.x.Each(func(e ooxml.Element) error {
		if e.Tag() == "w:pPr" {
			return d.properties(d.par)
		}
		return d.element(e)
	})
	if err == nil {
		err = d.finish(d.par)
	}
	d.par = outer
	return err
}

func (d *docx) properties(p *docxParagraph) error {
	return d.x.Each(func(e ooxml.Element) error {
		switch e.Local {
		case "pStyle":
			p.style = e.Attr("val")
		case "outlineLvl":
			if n, err := strconv.Atoi(e.Attr("val")); err == nil {
				p.level = outlineLevel(n)
			}
		case "numPr":
			return p.num.read(d.x)
		case "sectPr":
			return d.section()
		case "rPr":
			return d.x.All(func(e ooxml.Element) { p.open = p.open || e.Local == "del" || e.Local == "moveFrom" })
		}
		return d.x.Skip()
	})
}

// finish writes a paragraph and the blocks anchored in it.
func (d *docx) finish(p *docxParagraph) error {
	if d.made > maxOfficeText || d.story.out.Len() > maxOfficeText {
		return ooxml.ErrTooLarge
	}
	if p.open && len(p.after) == 0 {
		d.joined = p.text.String()
		return nil
	}
	level, num := d.styles.of(p)
	label, bullet := d.numbers.label(num)
	text := strings.TrimSpace(p.text.String())
	switch {
	case text == "":
	case level > 0:
		text = strings.Repeat("#", min(level, 6)) + " " + strings.Join(strings.Fields(label+" "+text), " ")
		d.story.layout = true
		d.story.write(text, false)
	case label != "" || bullet:
		if bullet {
			label = "-"
		}
		indent := strings.Repeat("  ", num.level)
		d.story.write(indent+label+" "+strings.ReplaceAll(text, "\n", "\n"+indent+"  "), true)
	default:
		d.story.write(text, false)
	}
	for _, block := range p.after {
		d.story.write(block, false)
	}
	return nil
}

// control reads a content control and omits placeholder text.
func (d *docx) control() error {
	asks := false
	return d.x.Each(func(e ooxml.Element) error {
		switch {
		case e.Local == "sdtPr":
			return d.x.All(func(e ooxml.Element) { asks = asks || e.Local == "showingPlcHdr" && e.On("val") })
		case e.Local == "sdtContent" && asks && d.par != nil:
			return d.x.Skip()
		case e.Local == "sdtContent":
			return d.x.Each(d.element)
		}
		return d.x.Skip()
	})
}

// textBox reads a text box. Its paragraphs follow the paragraph in which it is anchored.
func (d *docx) textBox() error {
	box, err := d.inStory(func() error { return d.x.Each(d.element) })
	if err != nil {
		return err
	}
	d.hang(box.out.String())
	d.story.layout = d.story.layout || box.layout
	return nil
}

// section records the headers and footers of a section.
func (d *docx) section() error {
	return d.x.All(func(e ooxml.Element) {
		name := d.rels.ByID(e.Attr("r:id")).Target
		if name != "" && (e.Local == "headerReference" || e.Local == "footerReference") &&
			!slices.Contains(d.margins, name) {
			d.margins = append(d.margins, name)
		}
	})
}
