package proofread

import (
	"slices"
	"unicode/utf16"

	"github.com/tsumugi-ai/tsumugi/internal/redline"
)

// Decisions are what the owner of a proofreading has decided about its changes, by their ids, in order. A change in
// neither list is open.
type Decisions struct {
	Accepted []int
	Refused  []int
}

// Fit returns decisions in order, each id once. ok is false if one is about no change of the result, or about one in
// two ways.
func (r Result) Fit(d Decisions) (_ Decisions, ok bool) {
	known := make(map[int]bool, len(r.Changes))
	for _, c := range r.Changes {
		known[c.ID] = true
	}
	fitting := Decisions{sorted(d.Accepted), sorted(d.Refused)}
	for _, id := range slices.Concat(fitting.Accepted, fitting.Refused) {
		if !known[id] {
			return Decisions{}, false
		}
		known[id] = false
	}
	return fitting, true
}

// sorted returns ids in order, each once. It is never nil.
func sorted(ids []int) []int {
	ids = append([]int{}, ids...)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Edit returns what a Word document with the text is to show of the changes. Refused ones are left out. With an author,
// accepted and open ones are proposed with their reasons, and open questions are comments alone. Without one, accepted
// changes are applied, and open ones that are no questions.
func (r Result) Edit(d Decisions, by *redline.Author) redline.Edit {
	edit := redline.Edit{By: by}
	places := offsets{text: r.Text}
	for _, c := range r.Changes {
		_, accepted := slices.BinarySearch(d.Accepted, c.ID)
		_, refused := slices.BinarySearch(d.Refused, c.ID)
		if refused || by == nil && c.Question && !accepted {
			continue
		}
		change := redline.Change{Start: places.bytes(c.Start), Before: c.Before, After: c.After, Comment: c.Kind.Label()}
		if c.Reason != "" {
			change.Comment += "：" + c.Reason
		}
		if c.Question && !accepted {
			change.After = c.Before
			if c.After != c.Before {
				change.Comment += "\n「" + c.Before + "」→「" + c.After + "」"
			}
		}
		edit.Changes = append(edit.Changes, change)
	}
	return edit
}

// offsets turns places in a text, in order, from UTF-16 code units into bytes.
type offsets struct {
	text        string
	units, done int
}

func (o *offsets) bytes(units int) int {
	for at, r := range o.text[o.done:] {
		if o.units >= units {
			o.done += at
			return o.done
		}
		o.units += utf16.RuneLen(r)
	}
	o.done = len(o.text)
	return o.done
}
