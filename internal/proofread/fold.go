package proofread

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// foldedText is a normalized text, without the differences that models often introduce when they quote: width,
// compatibility forms, spaces, and variants of dashes and quotation marks. It maps each piece to its position in the
// original text.
type foldedText struct {
	text   string
	pieces []foldedPiece
}

// foldedPiece is a character with its combining marks.
type foldedPiece struct {
	at         int // Start in the folded text, in bytes.
	start, end int // Range in the original text, in bytes.
}

func fold(text string) foldedText {
	var f foldedText
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

// similar returns the representative of a group of similar characters, or -1 for a space.
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

// find returns the ranges of the original text that match needle, a folded text, in order.
func (f foldedText) find(needle string) (spans []span) {
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

// pieceAt returns the index of the piece that starts at a byte of the folded text. At the end of the text, it returns
// the number of pieces.
func (f foldedText) pieceAt(at int) (index int, ok bool) {
	i := sort.Search(len(f.pieces), func(i int) bool { return f.pieces[i].at >= at })
	if i == len(f.pieces) {
		return i, at == len(f.text)
	}
	return i, f.pieces[i].at == at
}

// piece returns the folded text of a piece.
func (f foldedText) piece(i int) string {
	if i+1 < len(f.pieces) {
		return f.text[f.pieces[i].at:f.pieces[i+1].at]
	}
	return f.text[f.pieces[i].at:]
}

// asIn returns text with the spelling of original wherever the two are equal after folding, so that an inexact
// quotation causes no further changes. It compares only the common beginning and the common end.
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
