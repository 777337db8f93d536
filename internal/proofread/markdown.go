package proofread

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/answer"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

// Heading is the heading before the first Line.
const Heading = "## 修正案の一覧\n\n"

// NothingFound is the reply for a text without changes.
const NothingFound = "修正が必要な箇所はありませんでした。\n"

// Line returns a change as a list item. Both versions are shown with a few characters of context.
func (p *Proof) Line(c Change) string {
	left, right := p.beside(c)
	return fmt.Sprintf("- 「%s」→「%s」（%s）%s\n", answer.Escape(left+c.Before+right), answer.Escape(left+c.After+right),
		c.Kind.label(), answer.Escape(c.Reason))
}

// beside returns up to six characters of the sentence on either side of a short change.
func (p *Proof) beside(c Change) (left, right string) {
	const enough, most = 8, 6
	i, found := slices.BinarySearchFunc(p.placements, c.Start, func(t placement, start int) int {
		return t.change.Start - start
	})
	if !found {
		return "", ""
	}
	at := p.placements[i].span
	missing := enough - utf8.RuneCountInString(c.Before)
	if missing <= 0 {
		return "", ""
	}
	stops := func(r rune) bool { return strings.ContainsRune("\n。、！？「」『』（）()", r) }
	left = lastCharacters(p.text[:at.start], min(missing, most))
	if cut := strings.LastIndexFunc(left, stops); cut >= 0 {
		_, size := utf8.DecodeRuneInString(left[cut:])
		left = left[cut+size:]
	}
	right = runes.First(p.text[at.end:], min(missing, most))
	if cut := strings.IndexFunc(right, stops); cut >= 0 {
		right = right[:cut]
	}
	return left, right
}

// Closing returns the text after the lines: the corrected text, the questions, the number of dropped changes and the
// unchecked ranges. If all are empty, it returns NothingFound.
func (p *Proof) Closing() string {
	r := p.Result()
	var b strings.Builder
	questions := slices.DeleteFunc(slices.Clone(r.Changes), func(c Change) bool { return !c.Question })
	switch {
	case len(questions) < len(r.Changes):
		b.WriteString("\n## 校正後の文章\n\n" + answer.EscapeLines(r.Apply()) + "\n")
	case len(questions) == 0 && len(r.Unchecked) == 0:
		b.WriteString(NothingFound)
	}
	if len(questions) > 0 {
		b.WriteString("\n## 確認していただきたいこと\n\n")
	}
	for _, c := range questions {
		left, right := p.beside(c)
		quoted := answer.Escape(left + c.Before + right)
		if c.After == c.Before {
			fmt.Fprintf(&b, "- 「%s」（%s）%s\n", quoted, c.Kind.label(), answer.Escape(c.Reason))
		} else {
			fmt.Fprintf(&b, "- 「%s」は「%s」ではありませんか（%s）%s\n", quoted, answer.Escape(left+c.After+right), c.Kind.label(),
				answer.Escape(c.Reason))
		}
	}
	if r.Dropped > 0 {
		fmt.Fprintf(&b, "\n%d件は、本文と照合できないか、ほかの修正案と重なるため除外しました。\n", r.Dropped)
	}
	if len(r.Unchecked) > 0 {
		b.WriteString("\n次の箇所は確かめられませんでした。もう一度お試しください。\n\n")
		encoded := utf16.Encode([]rune(r.Text))
		for _, u := range r.Unchecked {
			part := utf16.Decode(encoded[u.Start:u.End])
			start, _, _ := strings.Cut(strings.TrimSpace(string(part)), "\n")
			fmt.Fprintf(&b, "- 「%s…」から%d文字\n", answer.Escape(runes.First(start, 20)), len(part))
		}
	}
	return strings.TrimPrefix(b.String(), "\n")
}

// Apply returns the text with all changes except questions.
func (r Result) Apply() string {
	text := utf16.Encode([]rune(r.Text))
	var b strings.Builder
	at := 0
	for _, c := range r.Changes {
		if c.Question {
			continue
		}
		b.WriteString(string(utf16.Decode(text[at:c.Start])))
		b.WriteString(c.After)
		at = c.End
	}
	b.WriteString(string(utf16.Decode(text[at:])))
	return b.String()
}
