package proofread_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/proofread"
	"github.com/tsumugi-ai/tsumugi/internal/redline"
)

var decidable = proofread.Result{
	Text: "👪の会議に行ます。\n売上は120名です。𠮷田。",
	Changes: []proofread.Change{
		{ID: 2, Start: 6, End: 7, Before: "行", After: "行き", Kind: proofread.Typo, Reason: "送り仮名です。"},
		{ID: 1, Start: 14, End: 17, Before: "120", After: "102", Kind: proofread.Typo, Reason: "計", Question: true},
		{ID: 3, Start: 18, End: 20, Before: "です", After: "です", Kind: proofread.Fact, Question: true},
		{ID: 4, Start: 21, End: 23, Before: "𠮷", After: "吉", Kind: proofread.Variation},
	},
}

func TestDecisionsFit(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		d    proofread.Decisions
		want proofread.Decisions
		ok   bool
	}{
		"none":     {proofread.Decisions{}, proofread.Decisions{Accepted: []int{}, Refused: []int{}}, true},
		"in order": {proofread.Decisions{Accepted: []int{3, 1, 3}, Refused: []int{2}}, proofread.Decisions{[]int{1, 3}, []int{2}}, true},
		"unknown":  {proofread.Decisions{Accepted: []int{5}}, proofread.Decisions{}, false},
		"zero":     {proofread.Decisions{Refused: []int{0}}, proofread.Decisions{}, false},
		"both":     {proofread.Decisions{Accepted: []int{1}, Refused: []int{1}}, proofread.Decisions{}, false},
	} {
		if got, ok := decidable.NormalizeDecisions(test.d); ok != test.ok || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %v %v", name, got, ok)
		}
	}
}

func TestEdit(t *testing.T) {
	t.Parallel()
	at := func(part string) int { return strings.Index(decidable.Text, part) }
	typo := redline.Change{Start: at("行"), Before: "行", After: "行き", Comment: "誤字：送り仮名です。"}
	open := redline.Change{Start: at("120"), Before: "120", After: "120", Comment: "誤字：計\n「120」→「102」"}
	answered := redline.Change{Start: at("120"), Before: "120", After: "102", Comment: "誤字：計"}
	fact := redline.Change{Start: at("です"), Before: "です", After: "です", Comment: "事実の確認"}
	variation := redline.Change{Start: at("𠮷"), Before: "𠮷", After: "吉", Comment: "表記ゆれ"}
	by := &redline.Author{Name: "紡"}
	for name, test := range map[string]struct {
		decided proofread.Decisions
		by      *redline.Author
		want    []redline.Change
	}{
		"all open, tracked": {proofread.Decisions{}, by, []redline.Change{typo, open, fact, variation}},
		"all open, applied": {proofread.Decisions{}, nil, []redline.Change{typo, variation}},
		"decided, tracked": {
			proofread.Decisions{Accepted: []int{1, 3}, Refused: []int{2}}, by, []redline.Change{answered, fact, variation},
		},
		"decided, applied": {
			proofread.Decisions{Accepted: []int{1, 3}, Refused: []int{2}}, nil, []redline.Change{answered, fact, variation},
		},
		"all refused": {proofread.Decisions{Refused: []int{1, 2, 3, 4}}, by, nil},
	} {
		if got := decidable.Edit(test.decided, test.by); !reflect.DeepEqual(got.Changes, test.want) || got.By != test.by {
			t.Errorf("%s: %+v", name, got.Changes)
		}
	}
}
