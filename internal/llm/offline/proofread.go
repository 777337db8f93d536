package offline

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// scope selects the kinds of rules.
type scope int

const (
	scopeErrors  scope = iota // Spelling and grammar.
	scopeReading              // Also wordiness.
	scopeHonour               // Also polite forms.
)

// scopeOf reads the scope from the form's entries. The default is everything.
func scopeOf(entries []entry) scope {
	for _, e := range entries {
		switch {
		case strings.Contains(e.value, "誤字脱字と文法だけ"):
			return scopeErrors
		case strings.Contains(e.value, "敬語も整える"):
			return scopeHonour
		case strings.Contains(e.value, "読みやすさも整える"):
			return scopeReading
		}
	}
	return scopeHonour
}

// rule is a mistake recognizable by its form, with the correction.
type rule struct {
	pattern *regexp.Regexp
	replace string // A template of regexp.Expand; empty for a rule that only asks the writer.
	reason  string
	scope   scope
	ask     bool                            // Correct in some contexts, so the writer decides.
	guard   func(before, after string) bool // Returns false to reject a match; may be nil.
}

// edit is a match of a rule in a text.
type edit struct {
	start, end int
	old, new   string
	reason     string
	scope      scope
	ask        bool
}

// proofreader corrects mistakes that need no understanding of the text. It misses a mistake rather than introduce one.
type proofreader struct {
	rules  []rule
	keep   *regexp.Regexp // Addresses and code, which are not prose.
	quotes *regexp.Regexp // Quotations are not corrected, only reported.
}

func newProofreader() proofreader {
	return proofreader{
		rules:  slices.Concat(spellingRules(), grammarRules(), wordinessRules(), honourRules()),
		keep:   regexp.MustCompile("(?s)```.*?```|`[^`\n]*`|https?://[!-~]+|[!-~]+@[!-~]+"),
		quotes: regexp.MustCompile(`「[^「」]*」|『[^『』]*』`),
	}
}

// check returns the corrections of a text and the questions for its writer, in the order of the text.
func (p proofreader) check(text string, s scope) (edits []edit) {
	kept := p.keep.FindAllStringIndex(text, -1)
	quoted := p.quotes.FindAllStringIndex(text, -1)
	all := variants(text)
	for _, r := range p.rules {
		if r.scope > s {
			continue
		}
		all = append(all, r.find(text)...)
	}
	// Of overlapping edits the first one is used; of two with the same start the longer one.
	slices.SortStableFunc(all, func(a, b edit) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return b.end - a.end
	})
	end := 0
	for _, e := range all {
		if e.start < end || covered(kept, e.start, e.end) || e.old == e.new {
			continue
		}
		end = e.end
		e.ask = e.ask || covered(quoted, e.start, e.end)
		edits = append(edits, e)
	}
	return edits
}

func (r rule) find(text string) []edit {
	var out []edit
	for _, at := range r.pattern.FindAllStringSubmatchIndex(text, -1) {
		if r.guard != nil && !r.guard(text[:at[0]], text[at[1]:]) {
			continue
		}
		replacement := string(r.pattern.ExpandString(nil, r.replace, text, at))
		out = append(out, edit{
			start: at[0], end: at[1], old: text[at[0]:at[1]], new: replacement, reason: r.reason, scope: r.scope,
			ask: r.ask || r.replace == "",
		})
	}
	return out
}

func covered(spans [][]int, start, end int) bool {
	for _, span := range spans {
		if start < span[1] && end > span[0] {
			return true
		}
	}
	return false
}

const maxProof = 300_000 // In bytes, five times the form's limit.

// ProofreadNote explains the limits of the engine's proofreading.
const ProofreadNote = "AIモデルが未設定のため、決まった規則に当てはまる箇所だけを確かめました。" +
	"文脈による誤りや漢字の変換の誤りは、見つけられないことがあります。"

// correction is an edit in the format of package proofread.
type correction struct {
	Context  string `json:"context"`
	Before   string `json:"before"`
	After    string `json:"after"`
	Kind     string `json:"kind"`
	Reason   string `json:"reason"`
	Question bool   `json:"question"`
}

// answer returns the corrections of a text as JSON, in the format required by package proofread.
func (p proofreader) answer(text string, s scope) string {
	list := []correction{}
	if len(text) <= maxProof {
		for _, e := range p.check(text, s) {
			list = append(list, correction{
				Context: withContext(text, e), Before: e.old, After: cmp.Or(e.new, e.old), Kind: e.kind(), Reason: e.reason,
				Question: e.ask,
			})
		}
	}
	data, err := json.Marshal(map[string][]correction{"changes": list})
	if err != nil {
		panic("offline: " + err.Error()) // Unreachable: strings can always be encoded.
	}
	return string(data)
}

// withContext returns an edit's original with the adjacent text of its line.
func withContext(text string, e edit) string {
	const characters = 12
	left := []rune(text[strings.LastIndexByte(text[:e.start], '\n')+1 : e.start])
	right, _, _ := strings.Cut(text[e.end:], "\n")
	after := []rune(right)
	return string(left[max(0, len(left)-characters):]) + e.old + string(after[:min(characters, len(after))])
}

// kind returns the kind of an edit in the format of package proofread.
func (e edit) kind() string {
	switch e.reason {
	case reasonWidth, reasonHalfKana, reasonVariant:
		return "variation"
	}
	switch e.scope {
	case scopeReading:
		return "wordy"
	case scopeHonour:
		return "honorific"
	default:
		return "typo"
	}
}

// lastRune and firstRune return the context of a match.
func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}
