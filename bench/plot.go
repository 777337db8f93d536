package main

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// plot is a bar chart of some rows of a table, with a group of bars per row and a bar per system.
type plot struct {
	file  string // File name without .svg.
	title string
	rows  []string
	omit  []string // Columns that are not shown.
}

// plots returns the charts of a run, by the prefix of their table's title.
func plots() map[string][]plot {
	return map[string][]plot{
		"One stream": {
			{
				file: "burst-throughput", title: "One stream, 1,000 watchers: thousand events/s (more is better)",
				rows: []string{fmt.Sprintf(rowThroughput, 1000)},
			},
			{
				file: "burst-cpu", title: "One stream, 1,000 watchers: µs of CPU an event (less is better)",
				rows: []string{fmt.Sprintf(rowBurstCPU, 1000)},
			},
		},
		"Many streams": {{
			file:  "paced-p99",
			title: "Many streams, a watcher each: p99 ms from due to read (less is better)", rows: []string{
				fmt.Sprintf(rowLag, 1000, 50), fmt.Sprintf(rowLag, 1000, 200), fmt.Sprintf(rowLag, 5000, 10),
			},
		}},
		"first token: many chats": {{
			file:  "first-token",
			title: "Added to the time to the first token: p99 ms (less is better)", rows: []string{
				fmt.Sprintf(rowAfter, 99), fmt.Sprintf(rowMany, 200, 99), fmt.Sprintf(rowMany, 1000, 99),
			}, omit: []string{alone},
		}},
		"From the provider": {
			{
				file: "chat-cpu", title: "From the provider to the client: µs of CPU a token (less is better)",
				rows: []string{
					fmt.Sprintf(rowCPU, 200), fmt.Sprintf(rowCPU, 1000), rowFast,
				},
			},
			{
				file: "chat-memory", title: "From the provider to the client: KiB a stream (less is better)",
				rows: []string{rowStream},
			},
		},
		"idle connections": {{
			file: "idle", title: "KiB an idle connection (less is better)",
			rows: []string{rowIdleRSS},
		}},
	}
}

// Dimensions of a chart, in pixels.
const (
	plotWidth = 760
	barsFrom  = 200
	barsTo    = 660
	barHeight = 16
	barStep   = 21
)

const plotStyle = `<style>
text { font: 12px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600; font-size: 14px }
.group, .axis { fill: #59636e }
.ours { fill: #0b7a53 } .other { fill: #9aa4af } .grid { stroke: #d1d9e0 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc }
  .group, .axis { fill: #9198a1 }
  .ours { fill: #3fb98a } .other { fill: #656c76 } .grid { stroke: #3d444d }
}
</style>
`

// axis maps values to pixels, on a logarithmic scale if they differ by more than a power of ten.
type axis struct {
	low, high float64
	log       bool
}

func newAxis(values []float64) axis {
	low, high := slices.Min(values), slices.Max(values)
	if high > 10*low {
		return axis{math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high))), true}
	}
	return axis{0, high, false}
}

func (a axis) at(value float64) float64 {
	share := (value - a.low) / (a.high - a.low)
	if a.log {
		share = math.Log(value/a.low) / math.Log(a.high/a.low)
	}
	return barsFrom + max(2, share*(barsTo-barsFrom))
}

// draw returns the chart as SVG, or "" if no value was measured. It is readable on light and dark pages.
func (p plot) draw(t *table) string {
	var values []float64
	for _, name := range p.rows {
		for _, column := range p.columns(t) {
			// A logarithmic scale cannot show values that are zero, or negative because of measurement noise.
			if v := t.median(name, column); v > 0 {
				values = append(values, v)
			}
		}
	}
	if len(values) == 0 {
		return ""
	}
	scale := newAxis(values)
	var bars strings.Builder
	y := 50
	for _, name := range p.rows {
		if t.row(name) == nil {
			continue
		}
		if len(p.rows) > 1 {
			fmt.Fprintf(&bars, `<text class="group" x="12" y="%d">%s</text>`+"\n", y, html.EscapeString(name))
			y += 8
		}
		columns := p.columns(t)
		bars.WriteString(scale.grid(y-3, y+barStep*t.measured(name, columns)))
		for _, column := range columns {
			value := t.median(name, column)
			if math.IsNaN(value) {
				continue
			}
			class := "other"
			if strings.HasPrefix(column, ours) {
				class = "ours"
			}
			end := scale.at(max(value, scale.low))
			fmt.Fprintf(&bars,
				`<text x="%d" y="%d" text-anchor="end">%s</text>`+
					`<rect class="%s" x="%d" y="%d" width="%.0f" height="%d" rx="2"/><text x="%.0f" y="%d">%s</text>`+
					"\n", barsFrom-8, y+12, html.EscapeString(column), class, barsFrom, y,
				end-barsFrom, barHeight,
				end+6, y+12, number(value, t.row(name).Digits))
			y += barStep
		}
		y += 18
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" `+
		`role="img" aria-label="%s">`+"\n",
		plotWidth, y+14, plotWidth, y+14, html.EscapeString(p.title)) + plotStyle +
		fmt.Sprintf(`<text class="title" x="12" y="24">%s</text>`+"\n",
			html.EscapeString(p.title)) + bars.String() + scale.labels(y) + "</svg>\n"
}

func (p plot) columns(t *table) []string {
	return slices.DeleteFunc(slices.Clone(t.Columns), func(c string) bool { return slices.Contains(p.omit, c) })
}

// grid draws a line behind a group of bars for each mark of the scale.
func (a axis) grid(from, to int) string {
	var b strings.Builder
	for _, v := range a.marks() {
		fmt.Fprintf(&b, `<path class="grid" d="M%.0f %dV%d"/>`+"\n", a.mark(v), from, to)
	}
	return b.String()
}

// labels draws the labels of the scale's marks.
func (a axis) labels(y int) string {
	var b strings.Builder
	for _, v := range a.marks() {
		digits := 0
		if v < 1 && v > 0 {
			digits = int(math.Ceil(-math.Log10(v) - 0.001))
		}
		fmt.Fprintf(&b, `<text class="axis" x="%.0f" y="%d" text-anchor="middle">%s</text>`+"\n", a.mark(v), y,
			number(v, digits))
	}
	return b.String()
}

// marks returns the marked values of the scale: the powers of ten, or the ends of a linear scale.
func (a axis) marks() []float64 {
	if !a.log {
		return []float64{a.low, a.high}
	}
	var marks []float64
	for v := a.low; v <= a.high*1.001; v *= 10 {
		marks = append(marks, v)
	}
	return marks
}

func (a axis) mark(v float64) float64 {
	if v <= a.low {
		return barsFrom
	}
	return a.at(v)
}
