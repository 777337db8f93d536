package llm

import "bytes"

// pattern recognizes chunks that differ from the one before only in their text, as most chunks of a stream do. That is
// faster than parsing them. The zero value matches nothing.
type pattern struct {
	before, after []byte // The last parsed chunk, before and after the literal of its text. Empty if it had another form.
}

// learn makes p match the chunks that differ from data, which was decoded to c, only in their text.
func (p *pattern) learn(data []byte, c *chunk) {
	p.before = p.before[:0]
	if len(c.text) != 1 || len(c.reasoning)+len(c.calls) > 0 || c.finish != "" || c.usage != nil || c.err != nil {
		return
	}
	if after, ok := bytes.CutPrefix(data[c.position:], []byte(c.text[0])); ok {
		p.before = append(p.before, data[:c.position]...)
		p.after = append(p.after[:0], after...)
	}
}

// match returns the literal of the text of data, if p recognizes data. Then data is valid JSON, because the parsed chunk
// was.
func (p *pattern) match(data []byte) (literal []byte, ok bool) {
	n := len(data) - len(p.after)
	if len(p.before) == 0 || n < len(p.before) || !bytes.HasPrefix(data, p.before) || !bytes.HasSuffix(data, p.after) {
		return nil, false
	}
	literal = data[len(p.before):n]
	return literal, isPlainLiteral(literal)
}

// isPlainLiteral reports whether b is a JSON string literal without escape sequences, and not empty.
func isPlainLiteral(b []byte) bool {
	if len(b) < 3 || b[0] != '"' || b[len(b)-1] != '"' {
		return false
	}
	for _, c := range b[1 : len(b)-1] {
		if c < ' ' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
