package extract

import "github.com/tsumugi-ai/tsumugi/internal/runes"

// script is the position of characters relative to their line.
type script int

const (
	onLine script = iota
	raised
	lowered
)

// scripts maps the values of vertAlign in Office files and the elements of HTML.
var scripts = map[string]script{"superscript": raised, "subscript": lowered, "sup": raised, "sub": lowered}

// of returns a text in the script that follows another text.
func (s script) of(before, text string) string {
	if s == onLine {
		return text
	}
	return runes.Script(before[max(0, len(before)-16):], text, s == raised)
}
