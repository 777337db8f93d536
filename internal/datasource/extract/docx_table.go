package extract

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/ooxml"
)

// docxTable is the state of reading a table.
type docxTable struct {
	rows [][]tableCell
}

func (d *docx) readTable() error {
	outer := d.table
	d.table = new(docxTable)
	d.flush()
	err := d.x.Each(d.element)
	text := ""
	if err == nil {
		text = markdownTable(d.table.rows)
	}
	d.table = outer
	if text == "" {
		return err
	}
	if d.par != nil { // Tables inside paragraphs are invalid; no known program writes them.
		d.hang(text)
		return err
	}
	d.story.layout = true
	d.story.write(text, false)
	return err
}

func (d *docx) row() error {
	if d.table == nil {
		return d.x.Each(d.element)
	}
	t := d.table
	t.rows = append(t.rows, nil)
	deleted := false
	err := d.x.Each(func(e ooxml.Element) error {
		if e.Tag() != "w:trPr" {
			return d.element(e)
		}
		return d.x.All(func(e ooxml.Element) {
			switch n, err := strconv.Atoi(e.Attr("val")); {
			case e.Local == "del":
				deleted = true
			case e.Local == "gridBefore" && err == nil && n > 0:
				t.rows[len(t.rows)-1] = append(t.rows[len(t.rows)-1], tableCell{span: min(n, maxTableSpan)})
			}
		})
	})
	if deleted {
		t.rows = t.rows[:len(t.rows)-1]
	}
	return err
}

func (d *docx) readCell() error {
	t := d.table
	if t == nil || len(t.rows) == 0 {
		return d.x.Each(d.element)
	}
	if d.cells++; d.cells > maxTableCells {
		return ooxml.ErrTooLarge
	}
	cell := tableCell{span: 1}
	own, err := d.inStory(func() error {
		return d.x.Each(func(e ooxml.Element) error {
			if e.Tag() == "w:tcPr" {
				return d.cellProperties(&cell)
			}
			return d.element(e)
		})
	})
	cell.blocks = own.out.String()
	cell.text = oneLine(cell.blocks)
	cell.layout = own.layout || strings.Count(cell.blocks, "\n\n") > 6 || utf8.RuneCountInString(cell.text) > 1000
	t.rows[len(t.rows)-1] = append(t.rows[len(t.rows)-1], cell)
	return err
}

func (d *docx) cellProperties(cell *tableCell) error {
	return d.x.All(func(e ooxml.Element) {
		switch e.Local {
		case "gridSpan":
			if n, err := strconv.Atoi(e.Attr("val")); err == nil {
				cell.span = min(max(n, 1), maxTableSpan)
			}
		case "vMerge":
			cell.merged = e.Attr("val") != "restart"
		}
	})
}
