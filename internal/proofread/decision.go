package proofread

import (
	"slices"
	"unicode/utf16"

	"github.com/tsumugi-ai/tsumugi/internal/redline"
)

// Decisions are the owner's decisions about the changes of a proofreading: change ids in ascending order. A change in
// neither list is undecided.
type Decisions struct {
	Accepted []int
	Refused  []int
}

// NormalizeDecisions returns d in ascending order and without duplicates. ok is false if an id does not belong to a
// change of the result, or is both accepted and refused.
func (r Result) NormalizeDecisions(d Decisions) (_ Decisions, ok bool) {
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

// sorted returns a sorted copy of ids without duplicates. It never returns nil.
func sorted(ids []int) []int {
	ids = append([]int{}, ids...)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Edit returns the edit to write into a Word document that contains the text. It omits refused changes. With an author,
// it proposes accepted and undecided changes with their reasons; undecided questions become comments only. Without an
// author, it applies accepted changes, and undecided changes that are not questions.
func (r Result) Edit(d Decisions, by *redline.Author) redline.Edit {
	edit := redline.Edit{By: by}
	places := offsets{text: r.Text}
	for _, c := range r.Changes {
		_, accepted := slices.BinarySearch(d.Accepted, c.ID)
		_, refused := slices.BinarySearch(d.Refused, c.ID)
		if refused || by == nil && c.Question && !accepted {
			continue
		}
		change := redline.Change{Start: places.bytes(c.Start), Before: c.Before, After: c.After, Comment: c.Kind.label()}
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

// offsets converts increasing positions in a text from UTF-16 code units to bytes.
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
