package extract

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/ooxml"
)

// maxSlides is the largest number of slides to read: one more than MaxPages, so that the file is refused for its pages.
const maxSlides = 5001

// pptx reads the slides of a presentation (ECMA-376 part 1, chapter 19).
type pptx struct {
	pkg     *ooxml.Package
	footers map[string]bool // Footers of the slides so far.
	made    int             // Bytes of text so far.
}

// slide is the state of reading a slide, its notes, or the drawing of a sheet.
type slide struct {
	*pptx
	x      *ooxml.Walker
	rels   ooxml.Relationships
	notes  bool // The part contains notes. Only the person's text is read.
	hidden bool
	title  string
	blocks []string
	lists  [9]slideList // The numbered lists of a shape, by level.
	cells  int          // Number of cells in all tables.
}

// slideList is a sequence of numbered paragraphs of a level. Another kind of numbers or another start begins a new list,
// and so does a paragraph of the same or a higher level without a number.
type slideList struct {
	kind, start string
	count       int
}

// shape contains the properties of a shape that precede its text.
type shape struct {
	placeholder string // Placeholder type, "" if the shape is not a placeholder.
	hidden      bool
}

// pptxPages returns the slides of a presentation in presentation order, each with its notes.
func pptxPages(pkg *ooxml.Package, main string) ([]Page, error) {
	p := &pptx{pkg: pkg, footers: make(map[string]bool)}
	rels, err := pkg.Relationships(main)
	if err != nil {
		return nil, err
	}
	var names []string
	err = pkg.Walk(main, func(x *ooxml.Walker) error {
		return x.All(func(e ooxml.Element) {
			if rel := rels.ByID(e.Attr("r:id")); e.Local == "sldId" && rel.Kind == "slide" {
				names = append(names, rel.Target)
			}
		})
	})
	if err != nil {
		return nil, err
	}
	pages := make([]Page, 0, min(len(names), maxSlides))
	for i, name := range names[:min(len(names), maxSlides)] {
		page, err := p.page(i+1, name)
		if err != nil {
			return nil, err
		}
		pages = append(pages, page)
	}
	return pages, nil
}

// page returns a slide and its notes.
func (p *pptx) page(number int, name string) (Page, error) {
	s, err := p.slide(name, false)
	if err != nil {
		return Page{}, err
	}
	locator := fmt.Sprintf("スライド %d", number)
	if s.hidden {
		locator += "（非表示）"
	}
	where := locator
	if s.title != "" {
		where += " > " + plainTitle(s.title)
		s.blocks = append([]string{"# " + s.title}, s.blocks...)
	}
	page := Page{
		Number: number, Text: strings.Join(s.blocks, "\n\n"),
		Marks: []Mark{{Locator: where, Heading: s.title != ""}},
	}
	notes := s.rels.Target("notesSlide")
	if !p.pkg.Has(notes) {
		return page, nil
	}
	n, err := p.slide(notes, true)
	if err != nil || len(n.blocks) == 0 {
		return page, err
	}
	if page.Text != "" {
		page.Text += "\n\n"
	}
	page.Marks = append(page.Marks, Mark{Offset: len(page.Text), Locator: locator + " > ノート"})
	page.Text += "ノート：" + strings.Join(n.blocks, "\n\n")
	if page.Marks[1].Offset == 0 {
		page.Marks = page.Marks[1:]
	}
	return page, nil
}

func (p *pptx) slide(name string, notes bool) (*slide, error) {
	rels, err := p.pkg.Relationships(name)
	if err != nil {
		return nil, err
	}
	s := &slide{pptx: p, rels: rels, notes: notes}
	return s, p.pkg.Walk(name, func(x *ooxml.Walker) error {
		s.x = x
		s.hidden = x.Root.Attr("show") != "" && !x.Root.On("show")
		return x.Each(func(e ooxml.Element) error {
			if e.Local == "cSld" {
				return x.Each(s.element)
			}
			return x.Skip()
		})
	})
}

// amount returns the bytes of text so far.
func (s *slide) amount() int { return s.made }

// element reads an element of a slide. The content of an unknown element follows.
func (s *slide) element(e ooxml.Element) error {
	switch e.Tag() {
	case "p:sp", "p:pic", "p:graphicFrame", "p:cxnSp", "xdr:sp", "xdr:pic", "xdr:graphicFrame", "xdr:cxnSp":
		return s.shape()
	case "mc:AlternateContent":
		return alternate(s.x, s.amount, s.element)
	case "p:bg", "p:extLst", "a:extLst", "p:oleObj":
		return s.x.Skip()
	}
	return nil
}

// shape reads the text, table, chart, diagram or description of a shape.
func (s *slide) shape() error {
	var own shape
	var read func(ooxml.Element) error
	read = func(e ooxml.Element) error {
		switch e.Tag() {
		case "p:cNvPr", "xdr:cNvPr":
			own.hidden = isSet(e, "hidden")
			if text := alternativeText(e); !own.hidden && !s.notes {
				s.add(text)
			}
		case "p:ph":
			if own.placeholder = e.Attr("type"); own.placeholder == "" {
				own.placeholder = "obj"
			}
		case "p:txBody", "xdr:txBody":
			return s.body(own)
		case "a:tbl":
			if own.hidden {
				return s.x.Skip()
			}
			return s.readTable()
		case "c:chart", "cx:chart":
			return s.addPart(own, chartText, s.rels.ByID(e.Attr("r:id")).Target)
		case "dgm:relIds":
			return s.addPart(own, diagramText, s.rels.ByID(e.Attr("r:dm")).Target)
		case "mc:AlternateContent":
			return alternate(s.x, s.amount, read)
		case "p:oleObj", "p:extLst", "a:extLst":
			return s.x.Skip()
		}
		return nil
	}
	return s.x.Each(read)
}

func (s *slide) addPart(own shape, read func(*ooxml.Package, string) (string, error), name string) error {
	text, err := read(s.pkg, name)
	if err == nil && !own.hidden {
		s.add(text)
	}
	if err != nil {
		return err
	}
	return s.x.Skip()
}

func (s *slide) add(text string) {
	if text != "" {
		s.made += len(text)
		s.blocks = append(s.blocks, text)
	}
}

// body reads the text of a shape. It omits slide numbers and dates, and repeated footers.
func (s *slide) body(own shape) error {
	lines, err := s.paragraphs(own.placeholder == "obj" || own.placeholder == "body")
	if err != nil || len(lines) == 0 || own.hidden {
		return err
	}
	text := strings.Join(lines, "\n")
	switch own.placeholder {
	case "sldNum", "dt", "sldImg":
		return nil
	case "ftr", "hdr":
		if s.notes || s.footers[text] {
			return nil
		}
		s.footers[text] = true
	case "title", "ctrTitle":
		if s.title == "" && !s.notes {
			s.title = strings.Join(strings.Fields(text), " ")
			s.made += len(s.title)
			return nil
		}
	}
	if s.made += len(text); s.made > maxOfficeText {
		return ooxml.ErrTooLarge
	}
	s.add(text)
	return nil
}

// paragraphs reads the paragraphs inside the current element, each as one line. In a list, paragraphs are items by
// default. Otherwise they are items only if their properties define a bullet or number.
func (s *slide) paragraphs(list bool) ([]string, error) {
	var lines []string
	s.lists = [9]slideList{}
	err := s.x.Each(func(e ooxml.Element) error {
		if e.Tag() != "a:p" {
			return nil
		}
		line, err := s.paragraph(list && !s.notes)
		if line != "" {
			lines = append(lines, line)
		}
		return err
	})
	return lines, err
}

func (s *slide) paragraph(list bool) (string, error) {
	var out strings.Builder
	level, item, number, position := 0, list, "", onLine
	var read func(ooxml.Element) error
	read = func(e ooxml.Element) error {
		switch e.Tag() {
		case "a:pPr":
			if n, err := strconv.Atoi(e.Attr("lvl")); err == nil {
				level = min(max(n, 0), 8)
			}
			return s.x.All(func(e ooxml.Element) {
				switch e.Local {
				case "buNone":
					item = false
				case "buChar", "buBlip":
					item = true
				case "buAutoNum":
					item, number = true, s.number(level, e)
				}
			})
		case "a:t", "m:t":
			text, err := textOf(s.x)
			out.WriteString(position.of(out.String(), text))
			return err
		case "a:r":
			position = onLine
		case "a:br":
			out.WriteByte(' ')
		case "a:fld":
			if e.Attr("type") == "slidenum" {
				return s.x.Skip()
			}
		case "m:den":
			out.WriteByte('/')
		case "m:sup":
			out.WriteByte('^')
		case "m:sub":
			out.WriteByte('_')
		case "mc:AlternateContent":
			return alternate(s.x, out.Len, read)
		case "a:rPr":
			if n, _ := strconv.Atoi(e.Attr("baseline")); n > 0 {
				position = raised
			} else if n < 0 {
				position = lowered
			}
			return s.x.Skip()
		case "a:endParaRPr":
			return s.x.Skip()
		}
		return nil
	}
	err := s.x.Each(read)
	text := strings.Join(strings.Fields(out.String()), " ")
	if text == "" {
		return "", err
	}
	clear(s.lists[level+1:])
	switch {
	case number != "":
		s.lists[level].count++
		return strings.Repeat("  ", level) + number + " " + text, err
	case item:
		text = strings.Repeat("  ", level) + "- " + text
	}
	s.lists[level] = slideList{}
	return text, err
}

// numbers maps prefixes of automatic numbering types to list number formats.
var numbers = []struct{ prefix, format string }{
	{"romanUc", "upperRoman"},
	{"romanLc", "lowerRoman"},
	{"alphaUc", "upperLetter"},
	{"alphaLc", "lowerLetter"},
	{"arabicDb", "decimalFullWidth"},
	{"circle", "decimalEnclosedCircle"},
	{"ea1", "japaneseCounting"},
}

// number returns the number of the next paragraph of a level.
func (s *slide) number(level int, e ooxml.Element) string {
	kind, format := e.Attr("type"), "decimal"
	list := &s.lists[level]
	if list.kind != kind || list.start != e.Attr("startAt") {
		*list = slideList{kind: kind, start: e.Attr("startAt")}
	}
	start, err := strconv.Atoi(list.start)
	if err != nil {
		start = 1
	}
	for _, n := range numbers {
		if strings.HasPrefix(kind, n.prefix) {
			format = n.format
		}
	}
	number := formatNumber(start+list.count, format)
	switch {
	case strings.HasSuffix(kind, "Period"):
		return number + "."
	case strings.HasSuffix(kind, "ParenR"):
		return number + ")"
	case strings.HasSuffix(kind, "ParenBoth"):
		return "(" + number + ")"
	}
	return number
}

func (s *slide) readTable() error {
	var rows [][]tableCell
	err := s.x.Each(func(e ooxml.Element) error {
		if e.Local != "tr" {
			return s.x.Skip()
		}
		rows = append(rows, nil)
		return s.x.Each(func(e ooxml.Element) error {
			if e.Local != "tc" {
				return s.x.Skip()
			}
			c, err := s.readCell(e)
			if !isSet(e, "hMerge") { // A merged cell is part of the span of the previous cell.
				rows[len(rows)-1] = append(rows[len(rows)-1], c)
			}
			return err
		})
	})
	if err != nil {
		return err
	}
	s.add(markdownTable(rows))
	return nil
}

// isSet reports whether an attribute exists and is on.
func isSet(e ooxml.Element, name string) bool { return e.Attr(name) != "" && e.On(name) }

func (s *slide) readCell(e ooxml.Element) (tableCell, error) {
	if s.cells++; s.cells > maxTableCells {
		return tableCell{}, ooxml.ErrTooLarge
	}
	c := tableCell{span: 1, merged: isSet(e, "vMerge")}
	if n, err := strconv.Atoi(e.Attr("gridSpan")); err == nil {
		c.span = min(max(n, 1), maxTableSpan)
	}
	lines, err := s.paragraphs(false)
	c.blocks = strings.Join(lines, "\n")
	c.text = oneLine(c.blocks)
	return c, err
}
