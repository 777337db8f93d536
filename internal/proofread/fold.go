package proofread

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// folded is a text without what models lose when they quote: width, compatibility forms, spaces, and which of several
// dashes and quotation marks it is. It knows where each piece of it stands.
type folded struct {
	text   string
	pieces []foldedPiece
}

// foldedPiece is a character, with the marks that belong to it.
type foldedPiece struct {
	at         int // Of its beginning in the folded text.
	start, end int // In the text itself.
}

func fold(text string) folded {
	var f folded
	var b strings.Builder
	var it norm.Iter
	it.InitString(norm.NFKC, text)
	for !it.Done() {
		start := it.Pos()
		piece := strings.Map(similar, string(it.Next()))
		if piece == "" {
			continue
		}
		f.pieces = append(f.pieces, foldedPiece{b.Len(), start, it.Pos()})
		b.WriteString(piece)
	}
	f.text = b.String()
	return f
}

// similar returns the character that stands for all that are taken for each other, -1 for a space.
func similar(r rune) rune {
	switch r {
	case '〜', '∼':
		return '~'
	case '−', '‐', '‑', '–', '—', '―':
		return '-'
	case '“', '”', '″':
		return '"'
	case '‘', '’', '′':
		return '\''
	}
	if unicode.IsSpace(r) {
		return -1
	}
	return r
}

// find returns where in the text itself another folded text stands, in order.
func (f folded) find(needle string) (spans []span) {
	if needle == "" {
		return nil
	}
	for from := 0; ; {
		at := strings.Index(f.text[from:], needle)
		if at < 0 {
			return spans
		}
		at += from
		first, ok := f.pieceAt(at)
		last, whole := f.pieceAt(at + len(needle))
		if ok && whole {
			spans = append(spans, span{f.pieces[first].start, f.pieces[last-1].end})
		}
		_, size := utf8.DecodeRuneInString(f.text[at:])
		from = at + size
	}
}

// pieceAt returns which piece begins at a place of the folded text, or their number for its end.
func (f folded) pieceAt(at int) (index int, ok bool) {
	i := sort.Search(len(f.pieces), func(i int) bool { return f.pieces[i].at >= at })
	if i == len(f.pieces) {
		return i, at == len(f.text)
	}
	return i, f.pieces[i].at == at
}

// piece returns a piece of the folded text.
func (f folded) piece(i int) string {
	if i+1 < len(f.pieces) {
		return f.text[f.pieces[i].at:f.pieces[i+1].at]
	}
	return f.text[f.pieces[i].at:]
}

// asIn returns text with the spelling of original where the two differ in nothing but what folding ignores: a change
// that was quoted inexactly changes no more than it says. Only their common beginning and end are compared.
func asIn(original, text string) string {
	a, b := fold(original), fold(text)
	n, first, last := min(len(a.pieces), len(b.pieces)), 0, 0
	for first < n && a.piece(first) == b.piece(first) {
		first++
	}
	for last < n-first && a.piece(len(a.pieces)-1-last) == b.piece(len(b.pieces)-1-last) {
		last++
	}
	if first == len(a.pieces) && first == len(b.pieces) {
		return original
	}
	head, tail := 0, len(original)
	from, to := 0, len(text)
	if first > 0 {
		head, from = a.pieces[first-1].end, b.pieces[first-1].end
	}
	if last > 0 {
		tail, to = a.pieces[len(a.pieces)-last].start, b.pieces[len(b.pieces)-last].start
	}
	return original[:head] + text[from:max(from, to)] + original[max(head, tail):]
}
