package extract

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/ooxml"
)

// generated matches picture descriptions that Office generates automatically.
var generated = regexp.MustCompile(`自動的に生成された説明|によって生成されたコンテンツ|` +
	`AI-generated content|Description automatically generated`)

// pageNumber matches text that is only a page number.
var pageNumber = regexp.MustCompile(
	`(?i)^[\s　\-－―–—/／0-9０-９]*(?:page|ページ|頁|p\.?)?[\s　\-－―–—/／0-9０-９]*(?:of|ページ|頁)?[\s　\-－―–—/／0-9０-９]*$`,
)

// alternativeText returns the description that a person wrote for a picture, "" if there is none.
func alternativeText(e ooxml.Element) string {
	text := strings.Join(strings.Fields(e.Attr("descr")), " ")
	if text == "" || generated.MatchString(text) {
		return ""
	}
	return "（図：" + text + "）"
}

// isSymbol reports whether r is a code in a symbol font instead of a character.
func isSymbol(r rune) bool { return r >= 0xF020 && r <= 0xF0FF }

// wingdings maps the codes of the font Wingdings that are common in lists and forms.
var wingdings = map[rune]string{
	0x6C: "●", 0x6E: "■", 0x6F: "□", 0x71: "❑", 0x72: "❒", 0x75: "◆", 0x76: "❖", 0x77: "◆", 0xA1: "○", 0xA7: "▪",
	0xA8: "□",
	0xAB: "★", 0xD8: "➢", 0xDF: "←", 0xE0: "→", 0xE1: "↑", 0xE2: "↓", 0xE8: "➔", 0xF0: "⇨", 0xFB: "✗", 0xFC: "✓",
	0xFD: "☒", 0xFE: "☑",
	0x28: "☎", 0x29: "✆", 0x2A: "✉", 0x46: "☞", 0x4A: "☺", 0x80: "⓪", 0x81: "①", 0x82: "②", 0x83: "③", 0x84: "④",
	0x85: "⑤",
	0x86: "⑥", 0x87: "⑦", 0x88: "⑧", 0x89: "⑨", 0x8A: "⑩", 0x9F: "•",
}

// greek are the characters of the font Symbol from code 0x61.
const greek = "αβχδεφγηιϕκλμνοπθρστυϖωξψζ"

// symbol returns the character for a code of a font, "" for a pictogram without a matching character.
func symbol(r rune, font string) string {
	switch {
	case !isSymbol(r):
		if font != "" && r < 0x100 && strings.HasPrefix(font, "Wingdings") {
			return wingdings[r]
		}
		return string(r)
	case font == "Symbol" && r >= 0xF061 && r <= 0xF07A:
		return string([]rune(greek)[r-0xF061])
	case font == "Symbol":
		return map[rune]string{
			0xF0B7: "•", 0xF0B1: "±", 0xF0B4: "×", 0xF0B8: "÷", 0xF0A3: "≦", 0xF0B3: "≧",
			0xF0B0: "°", 0xF0AE: "→",
		}[r]
	}
	return wingdings[r-0xF000]
}

// chart is the data of a chart, from the values that Office caches in the chart part.
type chart struct {
	title  []string
	series []chartSeries
	points int
}

type chartSeries struct {
	name       string
	categories map[int]string
	values     map[int]string
}

const (
	maxChartPoints = 20_000
	maxChartSeries = 100
)

// chartText returns a chart as a table below its title, "" if the part does not exist or is not a chart.
func chartText(pkg *ooxml.Package, name string) (string, error) {
	var c chart
	if err := pkg.WalkOptional(name, c.read); err != nil {
		return "", err
	}
	return c.text(), nil
}

func (c *chart) read(x *ooxml.Walker) error {
	named := 0 // Number of cx:chart series with names; they follow the data.
	return x.Each(func(e ooxml.Element) error {
		switch e.Tag() {
		case "a:t", "cx:v":
			text, err := textOf(x)
			c.title = append(c.title, strings.TrimSpace(text))
			return err
		case "c:ser":
			if len(c.series) == maxChartSeries {
				return x.Skip()
			}
			return c.readSeries(x, c.addSeries())
		case "cx:data":
			if len(c.series) == maxChartSeries {
				return x.Skip()
			}
			return c.readData(x, c.addSeries())
		case "cx:series":
			named++
			return c.values(x, func(_ int, v string) {
				if named <= len(c.series) && c.series[named-1].name == "" {
					c.series[named-1].name = strings.TrimSpace(v)
				}
			})
		case "mc:Fallback":
			return x.Skip()
		}
		return nil
	})
}

func (c *chart) addSeries() *chartSeries {
	c.series = append(c.series, chartSeries{categories: make(map[int]string), values: make(map[int]string)})
	return &c.series[len(c.series)-1]
}

// readData reads the data of a chart type introduced in Office 2016.
func (c *chart) readData(x *ooxml.Walker, s *chartSeries) error {
	return x.Each(func(e ooxml.Element) error {
		switch kind := e.Attr("type"); {
		case e.Local == "strDim" && kind == "cat":
			return c.dimension(
				x, func(i int, v string) { s.categories[i] = strings.TrimSpace(v + " " + s.categories[i]) },
			)
		case e.Local == "numDim":
			return c.dimension(x, func(i int, v string) { s.values[i] = shortNumber(v) })
		}
		return x.Skip()
	})
}

// dimension calls set for each point of a dimension, starting with the innermost level.
func (c *chart) dimension(x *ooxml.Walker, set func(int, string)) error {
	return x.Each(func(e ooxml.Element) error {
		if e.Local != "pt" {
			return nil
		}
		index, err := strconv.Atoi(e.Attr("idx"))
		text, failed := textOf(x)
		if c.points++; err == nil && c.points <= maxChartPoints && index >= 0 && index < maxChartPoints {
			set(index, oneLine(text))
		}
		return failed
	})
}

func (c *chart) readSeries(x *ooxml.Walker, s *chartSeries) error {
	return x.Each(func(e ooxml.Element) error {
		switch e.Local {
		case "tx":
			return c.values(x, func(_ int, v string) { s.name = strings.TrimSpace(s.name + " " + v) })
		case "cat", "xVal":
			return c.values(x, func(i int, v string) { s.categories[i] = strings.TrimSpace(s.categories[i] + " " + v) })
		case "val", "yVal":
			return c.values(x, func(i int, v string) { s.values[i] = shortNumber(v) })
		}
		return x.Skip()
	})
}

// values calls set with the index and text of each value inside the current element.
func (c *chart) values(x *ooxml.Walker, set func(int, string)) error {
	index := 0
	return x.Each(func(e ooxml.Element) error {
		switch e.Local {
		case "pt":
			index, _ = strconv.Atoi(e.Attr("idx"))
		case "v":
			text, err := textOf(x)
			if c.points++; c.points <= maxChartPoints && index >= 0 && index < maxChartPoints {
				set(index, oneLine(text))
			}
			return err
		case "f", "formatCode":
			return x.Skip()
		}
		return nil
	})
}

func (c *chart) text() string {
	last := -1
	for _, s := range c.series {
		for i := range s.values {
			last = max(last, i)
		}
	}
	title := strings.Join(strings.Fields(strings.Join(c.title, " ")), " ")
	if last < 0 || (last+1)*len(c.series) > 4*maxChartPoints {
		return title
	}
	head := []tableCell{{text: "項目", span: 1}}
	for _, s := range c.series {
		head = append(head, tableCell{text: s.name, span: 1})
	}
	rows := [][]tableCell{head}
	for i := range last + 1 {
		row := []tableCell{{text: c.series[0].categories[i], span: 1}}
		for _, s := range c.series {
			row = append(row, tableCell{text: s.values[i], span: 1})
		}
		rows = append(rows, row)
	}
	return strings.TrimSpace(title + "\n\n" + markdownTable(rows))
}

// drawnText returns the text of a paragraph without formatting.
func drawnText(x *ooxml.Walker) (string, error) {
	text := ""
	err := x.Each(func(e ooxml.Element) error {
		switch e.Tag() {
		case "a:br":
			text += " "
		case "a:t":
			own, err := textOf(x)
			text += own
			return err
		}
		return nil
	})
	return strings.Join(strings.Fields(text), " "), err
}

// shortNumber formats a number without rounding errors beyond 15 digits.
func shortNumber(v string) string {
	if f, err := strconv.ParseFloat(v, 64); err == nil {
		return generalNumber(f)
	}
	return v
}

// diagramText returns the texts of a diagram (SmartArt) as a list.
func diagramText(pkg *ooxml.Package, name string) (string, error) {
	var items []string
	err := pkg.WalkOptional(name, func(x *ooxml.Walker) error {
		return x.Each(func(e ooxml.Element) error {
			switch e.Tag() {
			case "dgm:pt":
				if t := e.Attr("type"); t != "" && t != "node" && t != "asst" {
					return x.Skip()
				}
			case "a:p":
				text, err := drawnText(x)
				if text != "" {
					items = append(items, "- "+text)
				}
				return err
			}
			return nil
		})
	})
	return strings.Join(items, "\n"), err
}
