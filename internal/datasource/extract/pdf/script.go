package pdf

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

// Limits for superscripts and subscripts, as multiples of the font size of the adjacent text.
const (
	scriptMin  = 0.45 // Minimum font size. Text after a drop cap is smaller.
	scriptMax  = 0.87 // Maximum font size.
	scriptUp   = 0.18 // Minimum distance of the baselines for a superscript.
	scriptDown = 0.08 // Minimum distance of the baselines for a subscript.
	scriptFar  = 0.75 // Maximum distance of the baselines.
	scriptGap  = 0.4  // Maximum space between a script and the adjacent text.
	maxScript  = 8    // Characters.
)

// characters writes the characters of a segment, and superscripts and subscripts with their Unicode forms.
func (w *writer) characters(glyphs []glyph) {
	base := -1 // The last character that is not in a script.
	for k := 0; k < len(glyphs); {
		if k > 0 && (spaced(glyphs[k-1], glyphs[k]) || separates(glyphs, k)) {
			w.out.WriteByte(' ')
		}
		n, raised := script(glyphs, k, base)
		if n > 0 {
			w.script(glyphs[k:k+n], raised)
			k += n
			continue
		}
		if base < k-1 {
			w.out.WriteString(runes.AfterScript(w.tail(16), string(glyphs[k].r)))
		}
		w.glyph(glyphs[k], glyphs[k].r)
		base = k
		k++
	}
}

// script writes the characters of a superscript or subscript.
func (w *writer) script(glyphs []glyph, raised bool) {
	var own strings.Builder
	for _, g := range glyphs {
		own.WriteRune(g.r)
	}
	text := runes.Script(w.tail(16), own.String(), raised)
	if utf8.RuneCountInString(text) > len(glyphs) {
		w.out.WriteByte(' ')
		text = text[1:]
	}
	for _, r := range text {
		w.glyph(glyphs[0], r)
		glyphs = glyphs[1:]
	}
}

// tail returns the last n bytes of the text.
func (w *writer) tail(n int) string {
	text := w.out.String()
	return text[max(0, len(text)-n):]
}

// script returns the number of characters of the superscript or subscript that begins at the character k of a segment,
// or 0. Its characters are smaller than the adjacent text, and have a higher or lower baseline. base is the last
// character that is not in a script, or -1 at the beginning of the segment.
func script(glyphs []glyph, k, base int) (n int, raised bool) {
	first, end := glyphs[k], k+1
	for end < len(glyphs) && end-k <= maxScript && math.Abs(glyphs[end].size-first.size) < 0.05*first.size &&
		math.Abs(glyphs[end].base-first.base) < 0.05*first.size {
		end++
	}
	// After a space, it belongs to the following text.
	if base < 0 || first.box.x0-glyphs[k-1].box.x1 > scriptGap*glyphs[base].size {
		base = end
	}
	if base == len(glyphs) || first.turn != rightwards || glyphs[base].turn != rightwards || end-k > maxScript {
		return 0, false
	}
	beside := glyphs[base]
	up, ratio := (beside.base-first.base)/beside.size, first.size/beside.size
	gap := 0.0
	if base == end {
		gap = (beside.box.x0 - glyphs[end-1].box.x1) / beside.size
	}
	if ratio < scriptMin || ratio > scriptMax || up < scriptUp && up > -scriptDown || math.Abs(up) > scriptFar ||
		gap > scriptGap || base < k && first.box.x0 < beside.box.x1-scriptGap*first.size {
		return 0, false
	}
	return end - k, up > 0
}
