package answer

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// Support says how far a passage holds what is said of it.
type Support string

// Strong: the passages hold each number, date and article of the sentence, and share words with it. Weak: they do not.
const (
	Strong Support = "strong"
	Weak   Support = "weak"
)

// Claim is a sentence of an answer that cites passages.
type Claim struct {
	Text    string
	Cites   []int
	Support Support
	Missing []string // The numbers, dates and articles that no cited passage has, as the sentence writes them.
}

// least is how much of a sentence's words must be in the passages that it cites, and from how many pairs of characters
// on this says anything.
const (
	least      = 0.12
	fewestPair = 6
)

var citationForm = regexp.MustCompile(`\[([0-9]{1,3})\]`)

// Check compares each cited sentence of an answer, which a Guard has passed, with the passages that it cites. A
// citation belongs to the sentence before it.
func Check(text string, passages []Passage) []Claim {
	texts := make(map[int]string, len(passages))
	for _, p := range passages {
		texts[p.Index] += fold(p.Filename+"\n"+p.Date+"\n"+p.Locator+"\n"+p.Text) + "\n"
	}
	var claims []Claim
	for _, sentence := range sentences(text) {
		claim := Claim{Text: strings.TrimSpace(citationForm.ReplaceAllString(sentence, "")), Support: Strong}
		var cited strings.Builder
		for _, match := range citationForm.FindAllStringSubmatch(sentence, -1) {
			n, _ := strconv.Atoi(match[1])
			claim.Cites = append(claim.Cites, n)
			cited.WriteString(texts[n])
		}
		if len(claim.Cites) == 0 {
			continue
		}
		claim.compare(cited.String())
		claims = append(claims, claim)
	}
	return claims
}

// Supports returns how far each cited passage holds what is said of it: weak if one of its sentences is.
func Supports(claims []Claim) map[int]Support {
	supports := make(map[int]Support)
	for _, claim := range claims {
		for _, n := range claim.Cites {
			if supports[n] != Weak {
				supports[n] = claim.Support
			}
		}
	}
	return supports
}

// compare looks for what the claim states in the folded text of the passages that it cites.
func (c *Claim) compare(passage string) {
	held := make(map[string]bool)
	for _, f := range facts(passage, false) {
		for _, key := range f.keys {
			held[key] = true
		}
	}
	said := fold(listMark.ReplaceAllString(c.Text, ""))
	for _, f := range facts(said, true) {
		found := false
		for _, key := range f.keys {
			found = found || held[key]
		}
		if !found {
			c.Missing = append(c.Missing, f.text)
		}
	}
	if len(c.Missing) > 0 || strange(said, passage) {
		c.Support = Weak
	}
}

// listMark is what stands before an item of a list, or the text of a heading.
var listMark = regexp.MustCompile(`^\s*(?:#+\s*|[-*+]\s+)?(?:\*\*)?(?:[(（]?[0-9]{1,2}[)）.．、]\s*|[①-⑳]\s*)?`)

// strange reports whether a sentence shares next to no words with the passage. Sentences in another language than the
// passage share none and are not judged by this.
func strange(said, passage string) bool {
	pairs, found := 0, 0
	var last rune
	for _, r := range said {
		if meaningful(last) && meaningful(r) {
			pairs++
			if strings.Contains(passage, string([]rune{last, r})) {
				found++
			}
		}
		last = r
	}
	return pairs >= fewestPair && float64(found) < least*float64(pairs) && strings.ContainsFunc(passage, meaningful)
}

// meaningful reports whether a character carries meaning by itself: kanji and katakana.
func meaningful(r rune) bool { return unicode.In(r, unicode.Han, unicode.Katakana) || r == 'ー' }

// sentences cuts a Markdown text into sentences, without code, as a Guard knows it. Citations after the mark that ends
// a sentence belong to it; a row of a table is one sentence.
func sentences(text string) []string {
	var out []string
	var f fence
	var code ticks
	f.start()
	last := '\n'
	for line := range strings.Lines(text) {
		before := f.mark
		var said strings.Builder
		for _, r := range line {
			f.next(r)
			code.next(r, last)
			if last = r; r != '`' && !code.inside() {
				said.WriteRune(r)
			}
		}
		if before != 0 || f.mark != 0 {
			code = ticks{}
			continue
		}
		line = said.String()
		if strings.HasPrefix(strings.TrimSpace(line), "|") {
			out = append(out, line)
			continue
		}
		for line != "" {
			end := sentenceEnd(line)
			out = append(out, line[:end])
			line = line[end:]
		}
	}
	return out
}

var sentenceBy = regexp.MustCompile(`(?:[。！？!?]|\.(?:\s|$))[」』）)"*_]*(?:\s*\[[0-9]{1,3}\])*`)

func sentenceEnd(line string) int {
	if at := sentenceBy.FindStringIndex(line); at != nil {
		return at[1]
	}
	return len(line)
}
