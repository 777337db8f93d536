package extract

import (
	"slices"
	"strconv"

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
		if !g.fits(true) || g.repeated > repeat {
			g.dropSpans()
		} else {
			repeat -= g.repeated
		}
		if !g.fits(false) {
			asBlocks(n)
		}
		return false
	})
}

// grid describes a table without nested tables.
type grid struct {
	rows     [][]*cell
	cells    int
	repeated int  // Bytes of text that spans repeat.
	nested   bool // The table contains an element that a Markdown cell cannot contain.
}

type cell struct {
	node       *html.Node
	cols, rows int // Its spans.
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
			g.rows = append(g.rows, nil)
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
			c.write()
			g.repeated += (c.rows*c.cols - 1) * textBytes(c.node)
		}
	}
	return g
}

// add adds a cell to the last row. It ignores the spans of a cell with a long text.
func (g *grid) add(n *html.Node) {
	c := &cell{node: n, cols: 1, rows: 1}
	if len(n.Attr) > 0 && textBytes(n) < maxSpanBytes {
		for _, a := range n.Attr {
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

// write updates the span attributes of the cell.
func (c *cell) write() {
	c.node.Attr = c.node.Attr[:0]
	if c.cols > 1 {
		c.node.Attr = append(c.node.Attr, html.Attribute{Key: "colspan", Val: strconv.Itoa(c.cols)})
	}
	if c.rows > 1 {
		c.node.Attr = append(c.node.Attr, html.Attribute{Key: "rowspan", Val: strconv.Itoa(c.rows)})
	}
}

func (g *grid) dropSpans() {
	for _, row := range g.rows {
		for _, c := range row {
			c.cols, c.rows = 1, 1
			c.write()
		}
	}
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
