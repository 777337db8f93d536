package extract

import (
	"strings"
	"unicode"

	"github.com/tsumugi-ai/tsumugi/internal/ooxml"
)

// docxField is the state of reading a field: its code, followed by its result, which is the visible text.
type docxField struct {
	inCode bool
	code   string
	box    string // The symbol of a check box.
}

// maxFieldCode is the largest part of a field code to store, in bytes.
const maxFieldCode = 2 << 10

// field processes a w:fldChar element. For a field without a result, it may derive the text from the code.
func (d *docx) field(kind string) {
	last := len(d.fields) - 1
	switch {
	case kind == "begin" && last < ooxml.MaxDepth:
		d.fields = append(d.fields, docxField{inCode: true})
	case kind == "separate" && last >= 0:
		d.fields[last].inCode = false
	case kind == "end" && last >= 0:
		f := d.fields[last]
		d.fields = d.fields[:last]
		switch code := strings.TrimSpace(f.code); {
		case f.box != "":
			d.emit(f.box)
		case f.inCode && len(code) > 2 && strings.EqualFold(code[:2], "EQ") && strings.ContainsAny(code[2:3], ` \`):
			d.emit(strings.Join(strings.Fields(equation(code[2:])), " "))
		}
	}
}

func (d *docx) fieldCode() error {
	text, err := textOf(d.x)
	if last := len(d.fields) - 1; last >= 0 && d.fields[last].inCode &&
		len(d.fields[last].code)+len(text) <= maxFieldCode {
		d.fields[last].code += text
	}
	return err
}

// checkBox reads a form check box: its current state, or its default if it was never changed.
func (d *docx) checkBox() error {
	first, now, changed := false, false, false
	err := d.x.All(func(e ooxml.Element) {
		switch e.Local {
		case "default":
			first = e.On("val")
		case "checked":
			changed, now = true, e.On("val")
		}
	})
	if last := len(d.fields) - 1; last >= 0 {
		d.fields[last].box = "☐"
		if now || first && !changed {
			d.fields[last].box = "☑"
		}
	}
	return err
}

// equation returns the text that an EQ field displays. Word used EQ fields for ruby and still uses them for enclosed
// characters. Of overlaid characters, equation returns the last, which is the base character.
func equation(code string) string {
	p := equationParser{code: []rune(code)}
	return p.text(0)
}

type equationParser struct {
	code []rune
	at   int
}

// text returns the displayed text up to the comma or bracket at the end of an argument.
func (p *equationParser) text(depth int) string {
	var out strings.Builder
	for p.at < len(p.code) {
		r := p.code[p.at]
		if depth > 0 && (r == ',' || r == ';' || r == ')') {
			break
		}
		p.at++
		switch {
		case r != '\\' || p.at == len(p.code):
			out.WriteRune(r)
		case !unicode.IsLetter(p.code[p.at]) && p.code[p.at] != '*': // An escaped comma or bracket.
			out.WriteRune(p.code[p.at])
			p.at++
		default:
			out.WriteString(p.instruction(depth))
		}
	}
	return out.String()
}

// instruction returns the displayed text of the instruction after a backslash. It skips the options before the
// arguments.
func (p *equationParser) instruction(depth int) string {
	name := p.code[p.at]
	if name == '*' {
		p.skipFormat()
		return ""
	}
	for p.at < len(p.code) && p.code[p.at] != '(' {
		p.at++
	}
	const deepest = 50
	if p.at == len(p.code) || depth == deepest {
		p.at = len(p.code)
		return ""
	}
	var arguments []string
	for p.at < len(p.code) && p.code[p.at] != ')' {
		p.at++
		arguments = append(arguments, p.text(depth+1))
	}
	p.at++
	switch {
	case len(arguments) == 0:
		return ""
	case unicode.ToLower(name) == 'f':
		return strings.Join(arguments, "/")
	case unicode.ToLower(name) == 'r':
		return "√" + arguments[len(arguments)-1]
	case unicode.ToLower(name) == 'o':
		return arguments[len(arguments)-1]
	}
	return strings.Join(arguments, ",")
}

// skipFormat skips a switch such as \* jc2 or \* "Font:ＭＳ 明朝".
func (p *equationParser) skipFormat() {
	p.at++
	for p.at < len(p.code) && p.code[p.at] == ' ' {
		p.at++
	}
	end := func(r rune) bool { return r == ' ' || r == '\\' }
	if p.at < len(p.code) && p.code[p.at] == '"' {
		p.at++
		end = func(r rune) bool { return r == '"' }
	}
	for p.at < len(p.code) && !end(p.code[p.at]) {
		p.at++
	}
	if p.at < len(p.code) && p.code[p.at] == '"' {
		p.at++
	}
}
