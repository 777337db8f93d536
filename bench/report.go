package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// report holds the results of a run.
type report struct {
	Machine  machine  `json:"machine"`
	Began    string   `json:"began"`
	Rounds   int      `json:"rounds"`
	Quick    bool     `json:"quick"` // The run was too short for its results to be quoted.
	Sections []*table `json:"sections"`
	Goals    []goal   `json:"goals"`
}

// machine describes the machine.
type machine struct {
	CPU      string            `json:"cpu"`
	Cores    int               `json:"cores"`
	System   string            `json:"system"`
	Versions map[string]string `json:"versions"`
	Load     string            `json:"load_average"` // At the start of the run, over 1, 5 and 15 minutes.
}

// table is one section: quantities (rows) by system (columns).
type table struct {
	Title   string   `json:"title"`
	Method  string   `json:"method"`
	Columns []string `json:"columns"`
	Base    string   `json:"base,omitempty"` // Base column of the ratios; "" for no ratios.
	Rows    []*row   `json:"rows"`
}

// row is one quantity.
type row struct {
	Name   string            `json:"name"`
	Digits int               `json:"-"`
	Values map[string]values `json:"values"` // By column.
}

// values are a column's values of a quantity, one per round.
type values []float64

// MarshalJSON encodes infinities and NaN, as of a quantity per answer without answers, as null.
func (v values) MarshalJSON() ([]byte, error) {
	list := make([]*float64, len(v))
	for i := range v {
		if !math.IsInf(v[i], 0) && !math.IsNaN(v[i]) {
			list[i] = &v[i]
		}
	}
	return json.Marshal(list)
}

// goal is a limit that a result must meet.
type goal struct {
	What string `json:"what"`
	Goal string `json:"goal"`
	Is   string `json:"is"`

	Verdict string `json:"verdict"`
}

// Verdicts on a goal.
const (
	met          = "met"
	withinSpread = "met within the spread" // The medians miss the goal, but some runs meet it.
	missed       = "**missed**"
)

func newTable(title, method, base string, columns ...string) *table {
	return &table{Title: title, Method: method, Columns: columns, Base: base}
}

// add records a round's value of a quantity.
func (t *table) add(name, column string, digits int, value float64) {
	r := t.row(name)
	if r == nil {
		r = &row{Name: name, Digits: digits, Values: make(map[string]values)}
		t.Rows = append(t.Rows, r)
	}
	r.Values[column] = append(r.Values[column], value)
}

func (t *table) row(name string) *row {
	for _, r := range t.Rows {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// median returns the median of a quantity over the rounds, NaN if it was not measured.
func (t *table) median(name, column string) float64 { return t.quantile(name, column, 0.5) }

// quantile returns a quantile of a quantity over the rounds, NaN if it was not measured.
func (t *table) quantile(name, column string, q float64) float64 {
	if r := t.row(name); r != nil {
		return quantile(r.Values[column], q)
	}
	return math.NaN()
}

// subtract subtracts the base column's median from the values of the other columns.
func (t *table) subtract(base string) {
	for _, r := range t.Rows {
		less := quantile(r.Values[base], 0.5)
		for column, values := range r.Values {
			for i := range values {
				if column != base && !math.IsNaN(less) {
					values[i] -= less
				}
			}
		}
	}
}

// measured counts the columns with a measured value of a quantity.
func (t *table) measured(name string, columns []string) int {
	n := 0
	for _, column := range columns {
		if len(t.row(name).Values[column]) > 0 {
			n++
		}
	}
	return n
}

// worst returns the maximum of a quantity over the rounds, for quantities that must be 0 in each round.
func (t *table) worst(name, column string) float64 {
	if r := t.row(name); r != nil && len(r.Values[column]) > 0 {
		return slices.Max(r.Values[column])
	}
	return math.NaN()
}

// quantile returns the smallest value that a share q of the values does not exceed, or NaN if values is empty. For an
// even number of values, the median is therefore the lower one of the two middle values.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	i := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[max(0, min(i, len(sorted)-1))]
}

// write prints the table as Markdown.
func (t *table) write(w io.Writer) {
	_, _ = fmt.Fprintf(w, "\n### %s\n\n%s\n\n| |", t.Title, wrapped(t.Method))
	for _, c := range t.Columns {
		_, _ = fmt.Fprintf(w, " %s |", c)
	}
	_, _ = fmt.Fprint(w, "\n|---|"+strings.Repeat("--:|", len(t.Columns))+"\n")
	for _, r := range t.Rows {
		_, _ = fmt.Fprintf(w, "| %s |", r.Name)
		for _, c := range t.Columns {
			_, _ = fmt.Fprintf(w, " %s |", t.cell(r, c))
		}
		_, _ = fmt.Fprintln(w)
	}
}

// cell formats a median with its ratio to the base column's.
func (t *table) cell(r *row, column string) string {
	value := quantile(r.Values[column], 0.5)
	if math.IsNaN(value) {
		return "–"
	}
	text := number(value, r.Digits)
	if base := quantile(r.Values[t.Base], 0.5); t.Base != "" && base > 0 {
		text += " (" + ratio(value/base) + ")"
	}
	return text
}

// ratio formats a ratio with three significant digits.
func ratio(x float64) string {
	switch {
	case x >= 9.95:
		return number(x, 0) + "×"
	case x >= 0.995:
		return number(x, 1) + "×"
	case x >= 0.0995:
		return number(x, 2) + "×"
	}
	return number(x, 3) + "×"
}

// number formats a number with commas between thousands.
func number(x float64, digits int) string {
	text := strconv.FormatFloat(x, 'f', digits, 64)
	whole, fraction, _ := strings.Cut(text, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	return sign + whole + fraction
}

// atMost adds a goal that is met if value is at most limit, unless it was not measured.
func (r *report) atMost(what string, value, limit float64, digits int, unit string) {
	r.addGoal(what, "≤ "+number(limit, digits)+unit, number(value, digits)+unit, limit-value, limit-value)
}

// atMostMedian adds a goal that is met if the median of a quantity is at most limit, unless it was not measured. It is
// met within the spread if the lower quartile is.
func (r *report) atMostMedian(what string, t *table, row, column string, limit float64, digits int, unit string) {
	value := t.median(row, column)
	r.addGoal(what, "≤ "+number(limit, digits)+unit, number(value, digits)+unit, limit-value,
		limit-t.quantile(row, column, 0.25))
}

// atLeast adds a goal that is met if value is at least limit, unless it was not measured.
func (r *report) atLeast(what string, value, limit float64, digits int, unit string) {
	r.addGoal(what, "≥ "+number(limit, digits)+unit, number(value, digits)+unit, value-limit, value-limit)
}

// atMostTimes adds a goal that is met if a quantity of a column is at most limit times that of another column,
// unless it was not measured. It is met within the spread if that holds for the lower quartile and the upper one.
func (r *report) atMostTimes(what string, t *table, row, column, base string, limit float64, digits int) {
	value := t.median(row, column) / t.median(row, base)
	least := t.quantile(row, column, 0.25) / t.quantile(row, base, 0.75)
	r.addGoal(what+", × "+base, "≤ "+number(limit, digits)+"×", number(value, digits)+"×", limit-value, limit-least)
}

// addGoal adds a goal. It is met if reserve is not negative, and met within the spread if best is not negative.
func (r *report) addGoal(what, limit, is string, reserve, best float64) {
	verdict := missed
	switch {
	case math.IsNaN(reserve):
		return
	case reserve >= 0:
		verdict = met
	case best >= 0:
		verdict = withinSpread
	}
	r.Goals = append(r.Goals, goal{What: what, Goal: limit, Is: is, Verdict: verdict})
}

func (r *report) write(w io.Writer) {
	r.writeHead(w)
	for _, t := range r.Sections {
		t.write(w)
	}
	r.writeGoals(w)
}

// wrapped breaks a paragraph into lines of at most 120 characters.
func wrapped(text string) string {
	var lines strings.Builder
	width := 0
	for word := range strings.FieldsSeq(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case width == 0:
		case width+1+n > 120:
			lines.WriteByte('\n')
			width = 0
		default:
			lines.WriteByte(' ')
			width++
		}
		lines.WriteString(word)
		width += n
	}
	return lines.String()
}

// writeHead prints the time of the run and the machine.
func (r *report) writeHead(w io.Writer) {
	m := r.Machine
	names := make([]string, 0, len(m.Versions))
	for name, version := range m.Versions {
		names = append(names, name+" "+version)
	}
	slices.Sort(names)
	_, _ = fmt.Fprintln(w, wrapped(fmt.Sprintf(
		"%s, %d rounds, medians. %s, %d cores, %s; load average at the start %s. %s.",
		r.Began, r.Rounds, m.CPU, m.Cores, m.System, m.Load, strings.Join(names, ", "))))
	if r.Quick {
		_, _ = fmt.Fprint(w, "\n**A quick run, to see that it works: these figures are not to be quoted.**\n")
	}
}

// writeGoals prints the goals with their verdicts.
func (r *report) writeGoals(w io.Writer) {
	_, _ = fmt.Fprint(w, "\n### Goals\n\n| what | goal | is | |\n|---|--:|--:|---|\n")
	for _, g := range r.Goals {
		_, _ = fmt.Fprintf(w, "| %s | %s | %s | %s |\n", g.What, g.Goal, g.Is, g.Verdict)
	}
}

func (r *report) save(name string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o600)
}

// thisMachine returns a description of this machine. Unknown fields are empty.
func thisMachine() machine {
	m := machine{Cores: runtime.NumCPU(), Versions: map[string]string{"Go": strings.TrimPrefix(runtime.Version(),
		"go")}}
	cpu, _ := os.ReadFile("/proc/cpuinfo")
	if match := regexp.MustCompile(`model name\s*:\s*(.*)`).FindSubmatch(cpu); match != nil {
		m.CPU = string(match[1])
	}
	load, _ := os.ReadFile("/proc/loadavg")
	m.Load = strings.Join(strings.Fields(string(load))[:min(3, len(strings.Fields(string(load))))], " ")
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	m.System = "Linux " + strings.TrimSpace(string(release))
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if slices.Contains(peerModules(), dep.Path) {
				m.Versions[strings.TrimSuffix(strings.TrimPrefix(dep.Path, "github.com/"),
					"/v2")] = strings.TrimPrefix(dep.Version, "v")
			}
		}
	}
	return m
}

// peerModules are the libraries whose versions are reported.
func peerModules() []string {
	return []string{
		"github.com/r3labs/sse/v2", "github.com/tmaxmax/go-sse", "github.com/sashabaranov/go-openai",
		"github.com/nats-io/nats-server/v2",
	}
}

// now returns the current time in the format of the report.
func now() string { return time.Now().UTC().Format("2006-01-02 15:04 UTC") }
