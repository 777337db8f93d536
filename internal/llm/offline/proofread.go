package offline

import (
	"fmt"
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

// rule is a mistake that its form reveals, with the correction.
type rule struct {
	pattern *regexp.Regexp
	replace string // A template of regexp.Expand; empty for a rule that only asks the writer.
	reason  string
	scope   scope
	ask     bool                            // Correct in some contexts: the writer decides.
	guard   func(before, after string) bool // Returns false to reject a match. May be nil.
}

// edit is a match of a rule in a text.
type edit struct {
	start, end int
	old, new   string
	reason     string
	ask        bool
}

// proofreader corrects mistakes that need no understanding. It prefers missing a mistake to introducing one.
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

// check returns the corrections of a text and the questions to its writer, each in the order of the text.
func (p proofreader) check(text string, s scope) (edits, questions []edit) {
	kept := p.keep.FindAllStringIndex(text, -1)
	quoted := p.quotes.FindAllStringIndex(text, -1)
	all := variants(text)
	for _, r := range p.rules {
		if r.scope > s {
			continue
		}
		all = append(all, r.find(text)...)
	}
	// Of edits that overlap the first holds, and of two that begin together the longer.
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
		if e.ask || covered(quoted, e.start, e.end) {
			questions = append(questions, e)
		} else {
			edits = append(edits, e)
		}
	}
	return edits, questions
}

func (r rule) find(text string) []edit {
	var out []edit
	for _, at := range r.pattern.FindAllStringSubmatchIndex(text, -1) {
		if r.guard != nil && !r.guard(text[:at[0]], text[at[1]:]) {
			continue
		}
		replacement := string(r.pattern.ExpandString(nil, r.replace, text, at))
		out = append(out, edit{
			start: at[0], end: at[1], old: text[at[0]:at[1]], new: replacement, reason: r.reason, ask: r.ask ||
				r.replace == "",
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

func apply(text string, edits []edit) string {
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.WriteString(text[at:e.start])
		b.WriteString(e.new)
		at = e.end
	}
	b.WriteString(text[at:])
	return b.String()
}

const maxProof = 300_000 // Bytes, five times what the form takes.

const proofNote = "\n---\n\nAIモデルが未設定のため、決まった規則に当てはまる箇所だけを確かめました。" +
	"文脈による誤りや漢字の変換の誤りは、見つけられないことがあります。"

// markdown answers with the corrected text and what was corrected.
func (p proofreader) markdown(text string, s scope) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	if len(text) > maxProof {
		return "文章が長すぎるため、一度に確かめられません。数回に分けてお試しください。"
	}
	edits, questions := p.check(text, s)
	var b strings.Builder
	if len(edits) == 0 {
		b.WriteString("決まった規則で確かめた範囲では、直すべき箇所は見当たりませんでした。\n")
	} else {
		b.WriteString("## 校正後の文章\n\n")
		b.WriteString(escapeLines(apply(text, edits)))
		b.WriteString("\n\n## 直した箇所\n\n| 元の表現 | 直した表現 | 理由 |\n|---|---|---|\n")
		for _, e := range merged(edits) {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", escape(e.old), escape(e.new), e.reason)
		}
	}
	if len(questions) > 0 {
		b.WriteString("\n## 確認していただきたいこと\n\n")
		for _, e := range merged(questions) {
			if e.new == "" {
				fmt.Fprintf(&b, "- 「%s」: %s\n", escape(e.old), e.reason)
			} else {
				fmt.Fprintf(&b, "- 「%s」は「%s」の誤りではないか（%s）\n", escape(e.old), escape(e.new), e.reason)
			}
		}
	}
	b.WriteString(proofNote)
	return b.String()
}

// merged joins edits that are the same, with their number.
func merged(edits []edit) []edit {
	var out []edit
	counts := make(map[string]int)
	for _, e := range edits {
		key := e.old + "\x00" + e.new
		if counts[key]++; counts[key] == 1 {
			out = append(out, e)
		}
	}
	for i, e := range out {
		if n := counts[e.old+"\x00"+e.new]; n > 1 {
			out[i].reason = fmt.Sprintf("%s（%d箇所）", e.reason, n)
		}
	}
	return out
}

// escapeLines is escape for a text of several lines, which it keeps.
func escapeLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		lines[i] = escape(strings.TrimRight(line, " \t"))
		if i+1 < len(lines) && lines[i] != "" && strings.TrimSpace(lines[i+1]) != "" {
			lines[i] += "  " // A line break in Markdown.
		}
	}
	return strings.Join(lines, "\n")
}

// lastRune and firstRune look at the context of a match.
func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}
