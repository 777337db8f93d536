package extract

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/ooxml"
)

// Limits of a workbook.
const (
	maxSheets       = 5001 // See maxSlides.
	maxSheetColumns = 16_384
	maxSheetRows    = 1_048_576
)

// xlsx reads the sheets of a workbook (ECMA-376 part 1, chapter 18).
type xlsx struct {
	pkg     *ooxml.Package
	is1904  bool
	strings []string
	formats []*numberFormat // By style index of a cell; nil for General.
	made    int             // Bytes of text so far.
}

// xlsxRow is a row with values.
type xlsxRow struct {
	number int // From 1.
	cells  []xlsxCell
}

// xlsxCell is a cell with a value.
type xlsxCell struct {
	column int // From 0.
	text   string
	number bool // The value is a number or a date.
}

// area is a rectangle of cells. Its ends are inclusive.
type area struct{ top, left, bottom, right int }

// xlsxPages returns the visible sheets of a workbook.
func xlsxPages(pkg *ooxml.Package, main string) ([]Page, error) {
	w := &xlsx{pkg: pkg}
	rels, err := pkg.Relationships(main)
	if err != nil {
		return nil, err
	}
	type sheetRef struct{ name, part string }
	var sheets []sheetRef
	err = pkg.Walk(main, func(x *ooxml.Walker) error {
		return x.All(func(e ooxml.Element) {
			switch e.Local {
			case "workbookPr":
				w.is1904 = isSet(e, "date1904")
			case "sheet":
				rel := rels.ByID(e.Attr("r:id"))
				shown := e.Attr("state") == "" || e.Attr("state") == "visible"
				if shown && (rel.Kind == "worksheet" || rel.Kind == "chartsheet") && len(sheets) < maxSheets {
					sheets = append(sheets, sheetRef{e.Attr("name"), rel.Target})
				}
			}
		})
	})
	if err == nil {
		err = w.readStrings(rels.Target("sharedStrings"))
	}
	if err == nil {
		err = w.readFormats(rels.Target("styles"))
	}
	if err != nil {
		return nil, err
	}
	pages := make([]Page, 0, len(sheets))
	for i, s := range sheets {
		page, err := w.page(plainTitle(s.name), s.part)
		if err != nil {
			return nil, err
		}
		page.Number = i + 1
		pages = append(pages, page)
	}
	return pages, nil
}

// readStrings reads the shared strings.
func (w *xlsx) readStrings(name string) error {
	return w.pkg.WalkOptional(name, func(x *ooxml.Walker) error {
		return x.Each(func(e ooxml.Element) error {
			if e.Local != "si" {
				return x.Skip()
			}
			text, err := richText(x)
			w.strings = append(w.strings, text)
			return err
		})
	})
}

// richText returns the text of a rich text string without phonetic runs.
func richText(x *ooxml.Walker) (string, error) {
	text, position := "", onLine
	err := x.Each(func(e ooxml.Element) error {
		switch e.Local {
		case "r":
			position = onLine
		case "vertAlign":
			position = scripts[e.Attr("val")]
		case "t":
			run, err := textOf(x)
			text += position.of(text, unescaped(run))
			return err
		case "rPh", "phoneticPr":
			return x.Skip()
		}
		return nil
	})
	return text, err
}

// escaped matches the escape sequence of a character that XML does not allow.
var escaped = regexp.MustCompile(`_x[0-9A-Fa-f]{4}_`)

func unescaped(text string) string {
	if !strings.Contains(text, "_x") {
		return text
	}
	return escaped.ReplaceAllStringFunc(text, func(s string) string {
		code, _ := strconv.ParseUint(s[2:6], 16, 16)
		if r := rune(code); withoutControl(r) == r && utf8.ValidRune(r) {
			return string(r)
		}
		return ""
	})
}

// readFormats reads the number format of each cell style.
func (w *xlsx) readFormats(name string) error {
	codes := make(map[int]string)
	parsed := make(map[int]*numberFormat)
	format := func(id int) *numberFormat {
		code, ok := codes[id]
		if !ok {
			code = builtinFormats[id]
		}
		if code == "" || strings.EqualFold(code, "General") {
			return nil
		}
		if parsed[id] == nil {
			parsed[id] = parseNumberFormat(code)
		}
		return parsed[id]
	}
	return w.pkg.WalkOptional(name, func(x *ooxml.Walker) error {
		return x.Each(func(e ooxml.Element) error {
			switch e.Local {
			case "numFmts":
				return x.All(func(e ooxml.Element) {
					if id, err := strconv.Atoi(e.Attr("numFmtId")); err == nil {
						codes[id] = e.Attr("formatCode")
					}
				})
			case "cellXfs":
				return x.Each(func(e ooxml.Element) error {
					id, _ := strconv.Atoi(e.Attr("numFmtId"))
					w.formats = append(w.formats, format(id))
					return x.Skip()
				})
			}
			return x.Skip()
		})
	})
}

// page returns a sheet with its name as title: its rows, followed by the text in its drawing.
func (w *xlsx) page(name, part string) (Page, error) {
	rows, merged, drawing, err := w.sheet(part)
	if err != nil {
		return Page{}, err
	}
	out := &sheetWriter{name: name, rows: fill(rows, merged), merged: make(map[int][]area)}
	for _, a := range merged {
		out.merged[a.top+1] = append(out.merged[a.top+1], a)
	}
	out.write()
	drawn, err := w.drawn(drawing)
	if err != nil {
		return Page{}, err
	}
	marks := append([]Mark{{Locator: name, Heading: true}}, out.marks()...)
	for _, block := range drawn {
		marks = append(marks, Mark{Offset: out.next(), Locator: name})
		out.table.line([]string{block}, "")
	}
	body := out.table.out.String()
	if w.made += len(body); w.made > maxOfficeText {
		return Page{}, ooxml.ErrTooLarge
	}
	if body == "" {
		return Page{}, nil
	}
	title := "# " + name + "\n\n"
	for i := range marks[1:] {
		marks[i+1].Offset += len(title)
	}
	return Page{Text: title + body, Marks: marks}, nil
}

// sheet returns the rows of a sheet, its merged cells, and the name of its drawing part.
func (w *xlsx) sheet(part string) (rows []xlsxRow, merged []area, drawing string, err error) {
	rels, err := w.pkg.Relationships(part)
	if err != nil {
		return nil, nil, "", err
	}
	number := 0 // Of the last row, which may be empty.
	err = w.pkg.Walk(part, func(x *ooxml.Walker) error {
		return x.Each(func(e ooxml.Element) error {
			switch e.Local {
			case "row":
				number++
				if n, err := strconv.Atoi(e.Attr("r")); err == nil && n > 0 && n <= maxSheetRows {
					number = n
				}
				row, err := w.row(x, number)
				if len(row.cells) > 0 {
					rows = append(rows, row)
				}
				return err
			case "mergeCell":
				if a, ok := parseArea(e.Attr("ref")); ok && len(merged) < maxMerged {
					merged = append(merged, a)
				}
			case "drawing":
				drawing = rels.ByID(e.Attr("r:id")).Target
			case "extLst", "conditionalFormatting", "dataValidations", "Fallback":
				return x.Skip()
			}
			return nil
		})
	})
	byNumber := func(a, b xlsxRow) int { return a.number - b.number }
	if !slices.IsSortedFunc(rows, byNumber) {
		slices.SortStableFunc(rows, byNumber)
	}
	return rows, merged, drawing, err
}

func (w *xlsx) row(x *ooxml.Walker, number int) (xlsxRow, error) {
	row := xlsxRow{number: number}
	column := -1
	err := x.Each(func(e ooxml.Element) error {
		if e.Local != "c" {
			return x.Skip()
		}
		column++
		if at, _, ok := parseCell(e.Attr("r")); ok {
			column = at
		}
		c, err := w.cell(x, e)
		if c.column = column; c.text != "" && column < maxSheetColumns {
			row.cells = append(row.cells, c)
		}
		return err
	})
	byColumn := func(a, b xlsxCell) int { return a.column - b.column }
	if !slices.IsSortedFunc(row.cells, byColumn) {
		slices.SortStableFunc(row.cells, byColumn)
	}
	row.cells = slices.CompactFunc(row.cells, func(a, b xlsxCell) bool { return a.column == b.column })
	return row, err
}

// cell returns the displayed value of a cell. For a formula, this is the stored result.
func (w *xlsx) cell(x *ooxml.Walker, e ooxml.Element) (xlsxCell, error) {
	value, inline, formula, found := "", "", "", false
	err := x.Each(func(e ooxml.Element) (err error) {
		switch e.Local {
		case "v":
			found = true
			value, err = textOf(x)
		case "f":
			formula, err = textOf(x)
		case "is":
			inline, err = richText(x)
		default:
			err = x.Skip()
		}
		return err
	})
	var format *numberFormat
	if i, err := strconv.Atoi(e.Attr("s")); err == nil && i >= 0 && i < len(w.formats) {
		format = w.formats[i]
	}
	c := w.value(e.Attr("t"), strings.TrimSpace(value), value, inline, format)
	if !found && inline == "" {
		c = unevaluated(formula)
	}
	c.text = strings.Join(strings.Fields(c.text), " ")
	return c, err
}

// unevaluated returns a cell that shows a formula without stored result. Libraries that generate workbooks often leave
// the calculation to Excel.
func unevaluated(formula string) xlsxCell {
	const longest = 100
	formula = strings.NewReplacer("_xlfn.", "", "_xlws.", "").Replace(strings.TrimSpace(formula))
	if formula == "" {
		return xlsxCell{}
	}
	if runes := []rune(formula); len(runes) > longest {
		formula = string(runes[:longest]) + "…"
	}
	return xlsxCell{text: "=" + formula, number: true}
}

func (w *xlsx) value(kind, value, raw, inline string, format *numberFormat) xlsxCell {
	text := ""
	switch kind {
	case "s":
		if i, err := strconv.Atoi(value); err == nil && i >= 0 && i < len(w.strings) {
			text = w.strings[i]
		}
	case "inlineStr":
		text = inline
	case "str":
		text = unescaped(raw)
	case "b":
		return xlsxCell{text: map[string]string{"0": "FALSE", "1": "TRUE"}[value]}
	case "e":
		return xlsxCell{text: value}
	case "d":
		return xlsxCell{text: isoDate(value, format), number: true}
	default:
		v, err := strconv.ParseFloat(value, 64)
		switch {
		case err != nil:
			text = value
		case format == nil:
			return xlsxCell{text: generalNumber(v), number: true}
		default:
			return xlsxCell{text: format.number(v, w.is1904), number: true}
		}
	}
	if format != nil && text != "" {
		text = format.text(text)
	}
	return xlsxCell{text: text}
}

// isoDate formats an ISO 8601 date with the number format of the cell.
func isoDate(value string, format *numberFormat) string {
	for _, layout := range []string{"2006-01-02T15:04:05.999Z07:00", "2006-01-02T15:04:05.999", "2006-01-02"} {
		if t, err := time.Parse(layout, value); err == nil && format != nil {
			days := t.Sub(time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)).Hours() / 24
			return format.number(days, false)
		}
	}
	return value
}

// drawn returns the texts, charts and diagrams in the drawing of a sheet.
func (w *xlsx) drawn(part string) ([]string, error) {
	if !w.pkg.Has(part) {
		return nil, nil
	}
	rels, err := w.pkg.Relationships(part)
	if err != nil {
		return nil, err
	}
	s := &slide{pptx: &pptx{pkg: w.pkg, footers: make(map[string]bool)}, rels: rels}
	err = w.pkg.Walk(part, func(x *ooxml.Walker) error {
		s.x = x
		return x.Each(s.element)
	})
	return s.blocks, err
}

// parseCell returns the column and row of a reference such as $B$12, both from 0.
func parseCell(ref string) (column, row int, ok bool) {
	ref = strings.ReplaceAll(ref, "$", "")
	i := 0
	for i < len(ref) && i < 4 && ref[i] >= 'A' && ref[i] <= 'Z' {
		column = column*26 + int(ref[i]-'A') + 1
		i++
	}
	row, err := strconv.Atoi(ref[i:])
	if i == 0 || column > maxSheetColumns || err != nil || row < 1 || row > maxSheetRows {
		return 0, 0, false
	}
	return column - 1, row - 1, true
}

func parseArea(ref string) (a area, ok bool) {
	from, to, _ := strings.Cut(ref, ":")
	left, top, ok := parseCell(from)
	right, bottom, ok2 := parseCell(to)
	return area{top, left, bottom, right}, ok && ok2 && top <= bottom && left <= right
}

// columnName returns the letters of a column, from 0.
func columnName(column int) string {
	name := ""
	for column++; column > 0; column = (column - 1) / 26 {
		name = string(rune('A'+(column-1)%26)) + name
	}
	return name
}
