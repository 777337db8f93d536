package offline

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/tsumugi-ai/tsumugi/internal/proofread"
)

// ProofreadNote explains the limits of the engine's proofreading.
const ProofreadNote = "AIモデルが未設定のため、決まった規則に当てはまる箇所だけを確かめました。" +
	"文脈による誤りや漢字の変換の誤りは、見つけられないことがあります。"

// rules has a rule on each line: kind, reason, pattern, correction (a template of regexp.Expand), and optionally a
// pattern that must occur in the text. With the correction "?" the writer decides. NFKC is the match in that form.
//
//go:embed rules.tsv
var rules string

// rule is a mistake recognizable by its form, with the correction.
type rule struct {
	kind    proofread.Kind
	reason  string
	pattern *regexp.Regexp
	correct string
	with    *regexp.Regexp // The rule applies only to texts that match it; nil for all.
}

// edit is a match of a rule in a text.
type edit struct {
	rule
	start, end int
	new        string
	question   bool
}

// proofreader corrects mistakes that need no understanding of the text. It misses a mistake rather than introduce one.
type proofreader struct {
	rules  []rule
	kept   *regexp.Regexp // Addresses and code, which are not prose.
	quoted *regexp.Regexp // Quotations are not corrected, only reported.
}

func newProofreader() proofreader {
	p := proofreader{
		kept:   regexp.MustCompile("(?s)```.*?```|`[^`\n]*`|https?://[!-~]+|[!-~]+@[!-~]+"),
		quoted: regexp.MustCompile(`「[^「」]*」|『[^『』]*』`),
	}
	for line := range strings.Lines(rules) {
		field := strings.Split(strings.TrimSpace(line), "\t")
		r := rule{proofread.Kind(field[0]), field[1], regexp.MustCompile(field[2]), field[3], nil}
		if len(field) > 4 {
			r.with = regexp.MustCompile(field[4])
		}
		p.rules = append(p.rules, r)
	}
	return p
}

// check returns the corrections of a text and the questions for its writer, in the order of the text. settings are the
// entries of the form.
func (p proofreader) check(text, settings string) (edits []edit) {
	var all []edit
	for _, r := range p.rules {
		ignored := r.kind == proofread.Honorific && strings.Contains(settings, "読みやすさも整える") ||
			r.kind != proofread.Typo && r.kind != proofread.Variation && strings.Contains(settings, "誤字脱字と文法だけ")
		if !ignored && (r.with == nil || r.with.MatchString(text)) {
			all = append(all, r.find(text)...)
		}
	}
	// Of overlapping edits the first one is used; of two with the same start the longer one.
	slices.SortStableFunc(all, func(a, b edit) int { return cmp.Or(a.start-b.start, b.end-a.end) })
	kept, quoted, end := p.kept.FindAllStringIndex(text, -1), p.quoted.FindAllStringIndex(text, -1), 0
	for _, e := range all {
		if e.start >= end && !e.overlaps(kept) {
			end = e.end
			e.question = e.question || e.overlaps(quoted)
			edits = append(edits, e)
		}
	}
	return edits
}

func (r rule) find(text string) (found []edit) {
	for _, at := range r.pattern.FindAllStringSubmatchIndex(text, -1) {
		e := edit{rule: r, start: at[0], end: at[1], new: text[at[0]:at[1]]}
		switch r.correct {
		case "?":
			e.question = true
		case "NFKC":
			e.new = norm.NFKC.String(e.new)
		default:
			e.new = string(r.pattern.ExpandString(nil, r.correct, text, at))
		}
		found = append(found, e)
	}
	return found
}

func (e edit) overlaps(spans [][]int) bool {
	return slices.ContainsFunc(spans, func(span []int) bool { return e.start < span[1] && e.end > span[0] })
}

const maxProof = 300_000 // In bytes, five times the form's limit.

// answer returns the corrections of a text as JSON, in the format of package proofread.
func (p proofreader) answer(text, settings string) string {
	list := []proofread.Proposal{}
	if len(text) <= maxProof {
		for _, e := range p.check(text, settings) {
			list = append(list, proofread.Proposal{
				Context: e.context(text), Before: text[e.start:e.end], After: e.new, Kind: e.kind, Reason: e.reason,
				Question: e.question,
			})
		}
	}
	data, err := json.Marshal(map[string][]proofread.Proposal{"changes": list})
	if err != nil {
		panic("offline: " + err.Error()) // Unreachable: strings can always be encoded.
	}
	return string(data)
}

// context returns an edit's original with the adjacent text of its line.
func (e edit) context(text string) string {
	const characters = 12
	line, _, _ := strings.Cut(text[e.end:], "\n")
	left, right := []rune(text[strings.LastIndexByte(text[:e.start], '\n')+1:e.start]), []rune(line)
	left, right = left[max(0, len(left)-characters):], right[:min(characters, len(right))]
	return string(left) + text[e.start:e.end] + string(right)
}
