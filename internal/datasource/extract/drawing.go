package extract

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// generated matches picture descriptions that Office generates automatically.
var generated = regexp.MustCompile(`自動的に生成された説明|によって生成されたコンテンツ|` +
	`AI-generated content|Description automatically generated`)

// pageNumber matches text that is only a page number.
var pageNumber = regexp.MustCompile(
	`(?i)^[\s　\-－―–—/／0-9０-９]*(?:page|ページ|頁|p\.?)?[\s　\-－―–—/／0-9０-９]*(?:of|ページ|頁)?[\s　\-－―–—/／0-9０-９]*$`,
)

// alternativeText returns the description that a person wrote for a picture, "" if there is none.
func alternativeText(e element) string {
	text := strings.Join(strings.Fields(e.attr("descr")), " ")
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
func chartText(pkg *opc, name string) (string, error) {
	var c chart
	err := pkg.parse(name, c.read)
	if errors.Is(err, errNoPart) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return c.text(), nil
}

func (c *chart) read(x *parser) error {
	named := 0 // Number of cx:chart series with names; they follow the data.
	var visit func(element) error
	visit = func(e element) error {
		switch e.Name.Space + ":" + e.Name.Local {
		case "a:t":
			text, err := x.text()
			c.title = append(c.title, strings.TrimSpace(text))
			return err
		case "c:ser":
			if len(c.series) == maxChartSeries {
				return x.skip()
			}
			return c.readSeries(x, c.addSeries())
		case "cx:data":
			if len(c.series) == maxChartSeries {
				return x.skip()
			}
			return c.readData(x, c.addSeries())
		case "cx:series":
			named++
			return c.values(x, func(_ int, v string) {
				if named <= len(c.series) && c.series[named-1].name == "" {
					c.series[named-1].name = strings.TrimSpace(v)
				}
			})
		case "cx:v":
			text, err := x.text()
			c.title = append(c.title, strings.TrimSpace(text))
			return err
		case "mc:Fallback":
			return x.skip()
		}
		return x.each(visit)
	}
	return x.each(visit)
}

func (c *chart) addSeries() *chartSeries {
	c.series = append(c.series, chartSeries{categories: make(map[int]string), values: make(map[int]string)})
	return &c.series[len(c.series)-1]
}

// readData reads the data of a chart type introduced in Office 2016.
func (c *chart) readData(x *parser, s *chartSeries) error {
	return x.each(func(e element) error {
		switch kind := e.attr("type"); {
		case e.is("strDim") && kind == "cat":
			return c.dimension(
				x, func(i int, v string) { s.categories[i] = strings.TrimSpace(v + " " + s.categories[i]) },
			)
		case e.is("numDim"):
			return c.dimension(x, func(i int, v string) { s.values[i] = shortNumber(v) })
		}
		return x.skip()
	})
}

// dimension calls set for each point of a dimension, starting with the innermost level.
func (c *chart) dimension(x *parser, set func(int, string)) error {
	var visit func(element) error
	visit = func(e element) error {
		if !e.is("pt") {
			return x.each(visit)
		}
		index, err := strconv.Atoi(e.attr("idx"))
		text, failed := x.text()
		if c.points++; err == nil && c.points <= maxChartPoints && index >= 0 && index < maxChartPoints {
			set(index, oneLine(text))
		}
		return failed
	}
	return x.each(visit)
}

func (c *chart) readSeries(x *parser, s *chartSeries) error {
	return x.each(func(e element) error {
		switch e.Name.Local {
		case "tx":
			return c.values(x, func(_ int, v string) { s.name = strings.TrimSpace(s.name + " " + v) })
		case "cat", "xVal":
			return c.values(x, func(i int, v string) { s.categories[i] = strings.TrimSpace(s.categories[i] + " " + v) })
		case "val", "yVal":
			return c.values(x, func(i int, v string) { s.values[i] = shortNumber(v) })
		}
		return x.skip()
	})
}

// values calls set with the index and text of each value inside the current element.
func (c *chart) values(x *parser, set func(int, string)) error {
	index := 0
	var visit func(element) error
	visit = func(e element) error {
		switch e.Name.Local {
		case "pt":
			index, _ = strconv.Atoi(e.attr("idx"))
		case "v":
			text, err := x.text()
			if c.points++; c.points <= maxChartPoints && index >= 0 && index < maxChartPoints {
				set(index, oneLine(text))
			}
			return err
		case "f", "formatCode":
			return x.skip()
		}
		return x.each(visit)
	}
	return x.each(visit)
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

// shortNumber formats a number without rounding errors beyond 15 digits.
func shortNumber(v string) string {
	if f, err := strconv.ParseFloat(v, 64); err == nil {
		return generalNumber(f)
	}
	return v
}

// diagramText returns the texts of a diagram (SmartArt) as a list.
func diagramText(pkg *opc, name string) (string, error) {
	var items []string
	err := pkg.parse(name, func(x *parser) error {
		var visit func(element) error
		text := ""
		visit = func(e element) error {
			switch e.Name.Space + ":" + e.Name.Local {
			case "dgm:pt":
				if t := e.attr("type"); t != "" && t != "node" && t != "asst" {
					return x.skip()
				}
			case "a:p":
				text = ""
				err := x.each(visit)
				if text = strings.Join(strings.Fields(text), " "); text != "" {
					items = append(items, "- "+text)
				}
				return err
			case "a:br":
				text += " "
			case "a:t":
				own, err := x.text()
				text += own
				return err
			}
			return x.each(visit)
		}
		return x.each(visit)
	})
	if errors.Is(err, errNoPart) {
		return "", nil
	}
	return strings.Join(items, "\n"), err
}
