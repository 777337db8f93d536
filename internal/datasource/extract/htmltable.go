package extract

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Limits of a table. Markdown needs a rectangle, and the text of a cell that spans others is repeated in each of them,
// so that each row is understandable by itself. Both can make a small file large.
const (
	maxColumns   = 1000
	spareCells   = 1000 // Cells allowed in addition to four times the cells of the page.
	maxSpanBytes = 200  // A longer text is not repeated.
)

// prepareTables prepares tables for the converter. It converts tables that Markdown cannot represent, such as layout
// tables, to blocks. Otherwise the converter would concatenate the texts of their cells. size is the size of the page.
func prepareTables(root *html.Node, size int) {
	repeat := size // Remaining bytes for repeated texts.
	walk(root, func(n *html.Node) bool {
		if n.Type != html.ElementNode || n.Data != "table" {
			return true
		}
		g := measure(n)
		if g.cells == 0 || g.nested {
			asBlocks(n)
			return true // The walk visits nested tables next.
		}
		switch {
		case g.fits(true) && g.repeated <= repeat:
			repeat -= g.repeated
			g.expand()
		case !g.fits(false):
			asBlocks(n)
		}
		return false
	})
}

// grid describes a table without nested tables.
type grid struct {
	rows     [][]*cell
	nodes    []*html.Node // Of the rows.
	cells    int
	repeated int  // Bytes of text that spans repeat.
	nested   bool // The table contains an element that a Markdown cell cannot contain.
}

type cell struct {
	node       *html.Node
	cols, rows int // Its spans.
	row        int // Its first row.
}

// measure describes a table. It stops at the first element that a cell cannot contain.
func measure(t *html.Node) *grid {
	g := new(grid)
	walk(t, func(n *html.Node) bool {
		if g.nested || n.Type != html.ElementNode {
			return false
		}
		switch n.Data {
		case "table", "ul", "ol", "blockquote", "pre", "hr", "h1", "h2", "h3", "h4", "h5", "h6":
			g.nested = true
		case "tr":
			g.rows, g.nodes = append(g.rows, nil), append(g.nodes, n)
		case "td", "th":
			if len(g.rows) == 0 {
				return true
			}
			g.cells++
			g.add(n)
		}
		return true
	})
	for y, row := range g.rows {
		for _, c := range row {
			c.rows = min(c.rows, len(g.rows)-y)
			g.repeated += (c.rows*c.cols - 1) * textBytes(c.node)
		}
	}
	return g
}

// add adds a cell to the last row. It ignores the spans of a cell with a long text.
func (g *grid) add(n *html.Node) {
	c := &cell{node: n, cols: 1, rows: 1, row: len(g.rows) - 1}
	attributes := n.Attr
	n.Attr = nil // The converter must not see spans.
	if len(attributes) > 0 && textBytes(n) < maxSpanBytes {
		for _, a := range attributes {
			v, _ := strconv.Atoi(a.Val)
			switch a.Key {
			case "colspan":
				c.cols = max(v, 1)
			case "rowspan":
				c.rows = max(v, 1)
			}
		}
	}
	last := len(g.rows) - 1
	g.rows[last] = append(g.rows[last], c)
}

// expand replaces each cell that spans others by a cell in each place, and rows of headings by a single row.
func (g *grid) expand() {
	places := g.places()
	var top [][]tableCell
	for y, line := range places[:topRows(len(places))] {
		top = append(top, nil)
		for _, c := range line {
			top[y] = append(top[y], tableCell{text: c.text(), span: c.cols, merged: c.row < y})
		}
	}
	headings, depth := columnHeadings(top)
	for y, line := range places {
		row := g.nodes[y]
		for _, c := range g.rows[y] {
			c.node.Parent.RemoveChild(c.node)
		}
		switch {
		case depth > 1 && y == 0:
			for _, text := range headings {
				row.AppendChild(newCell(text))
			}
		case depth > 1 && y < depth: // The row is empty.
		default:
			for x, c := range line {
				if c.row == y && (x == 0 || line[x-1] != c) {
					row.AppendChild(c.node)
				} else {
					row.AppendChild(newCell(c.text()))
				}
			}
		}
	}
}

// places returns the cells of each row by column. Columns without a cell have an empty one.
func (g *grid) places() [][]*cell {
	places := make([][]*cell, len(g.rows))
	for y, row := range g.rows {
		x := 0
		for _, c := range row {
			for x < len(places[y]) && places[y][x] != nil {
				x++
			}
			for dy := range c.rows {
				line := &places[y+dy]
				*line = append(*line, make([]*cell, max(0, x+c.cols-len(*line)))...)
				for dx := range c.cols {
					if (*line)[x+dx] == nil {
						(*line)[x+dx] = c
					}
				}
			}
			x += c.cols
		}
		for x, c := range places[y] {
			if c == nil {
				places[y][x] = &cell{node: newCell(""), row: y}
			}
		}
	}
	return places
}

func newCell(text string) *html.Node {
	n := &html.Node{Type: html.ElementNode, Data: "td", DataAtom: atom.Td}
	n.AppendChild(&html.Node{Type: html.TextNode, Data: text})
	return n
}

// text returns the text of the cell as one line.
func (c *cell) text() string {
	var out strings.Builder
	walk(c.node, func(n *html.Node) bool {
		if n.Type == html.TextNode {
			out.WriteString(n.Data)
		} else if n.Data != "a" {
			out.WriteByte(' ')
		}
		return true
	})
	return oneLine(out.String())
}

// fits reports whether the rectangle, with or without spans, is at most slightly larger than the cells of the page.
func (g *grid) fits(spans bool) bool {
	width := make([]int, len(g.rows))
	total := 0
	for y, row := range g.rows {
		width[y] += len(row)
		total += len(row)
		if !spans {
			continue
		}
		for _, c := range row {
			total += c.cols*c.rows - 1
			for dy := range c.rows {
				width[y+dy] += c.cols
			}
		}
		if total > 4*g.cells+spareCells {
			return false
		}
	}
	if len(width) == 0 {
		return false
	}
	columns := slices.Max(width)
	return columns <= maxColumns && columns*len(g.rows) <= 4*total+spareCells
}

// textBytes returns the length of the text below n, or maxSpanBytes if the text is longer.
func textBytes(n *html.Node) int {
	sum := 0
	walk(n, func(n *html.Node) bool {
		if n.Type == html.TextNode {
			sum += len(n.Data)
		}
		return sum < maxSpanBytes
	})
	return min(sum, maxSpanBytes)
}

// asBlocks converts a table to blocks. It does not change nested tables.
func asBlocks(t *html.Node) {
	block := func(n *html.Node) { n.Data, n.DataAtom, n.Attr = "div", atom.Div, nil }
	block(t)
	walk(t, func(n *html.Node) bool {
		switch n.Data {
		case "table":
			return false
		case "caption", "thead", "tbody", "tfoot", "tr", "th", "td":
			block(n)
		}
		return true
	})
}
