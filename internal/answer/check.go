package answer

import (
	"regexp"
	"slices"
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
	Cites   []Cite
	Support Support
	Missing []string // The numbers, dates and articles that no cited passage has, as the sentence writes them.
}

// Cite is a citation in a text.
type Cite struct {
	Index      int // The number of the passage.
	Occurrence int // Counts the same citation in the whole text, including code, from 0.
}

// Verdict is the result of a check for one passage.
type Verdict struct {
	Support Support // Weak if one of its citations is.
	Weak    []int   // The occurrences of its citations that are weak, in their order.
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
	occurrences := occurrences(text)
	var claims []Claim
	for _, s := range sentences(text) {
		claim := Claim{Text: strings.TrimSpace(citationForm.ReplaceAllString(s.text, "")), Support: Strong}
		var cited strings.Builder
		for _, match := range citationForm.FindAllStringSubmatchIndex(s.text, -1) {
			n, _ := strconv.Atoi(s.text[match[2]:match[3]])
			claim.Cites = append(claim.Cites, Cite{Index: n, Occurrence: occurrences[s.at[match[0]]]})
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

// occurrences returns the citations in a text by their offsets. The values count equal citations, from 0.
func occurrences(text string) map[int]int {
	byOffset, count := make(map[int]int), make(map[string]int)
	for _, match := range citationForm.FindAllStringIndex(text, -1) {
		citation := text[match[0]:match[1]]
		byOffset[match[0]] = count[citation]
		count[citation]++
	}
	return byOffset
}

// Supports returns the verdict on each cited passage.
func Supports(claims []Claim) map[int]Verdict {
	verdicts := make(map[int]Verdict)
	for _, claim := range claims {
		for _, cite := range claim.Cites {
			v := verdicts[cite.Index]
			if claim.Support == Weak {
				v.Weak = append(v.Weak, cite.Occurrence)
			}
			if v.Support != Weak {
				v.Support = claim.Support
			}
			verdicts[cite.Index] = v
		}
	}
	return verdicts
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

// sentence is a sentence without its code. at has, for each of its bytes, the offset of its character in the whole
// text.
type sentence struct {
	text string
	at   []int
}

// sentences cuts a Markdown text into sentences, without code, as a Guard knows it. Citations after the mark that ends
// a sentence belong to it; a row of a table is one sentence.
func sentences(text string) []sentence {
	var out []sentence
	var f fence
	var code ticks
	f.start()
	last, start := '\n', 0
	for line := range strings.Lines(text) {
		before := f.mark
		var said strings.Builder
		var at []int
		for i, r := range line {
			f.next(r)
			code.next(r, last)
			if last = r; r != '`' && !code.inside() {
				said.WriteRune(r)
				at = append(at, slices.Repeat([]int{start + i}, said.Len()-len(at))...)
			}
		}
		start += len(line)
		if before != 0 || f.mark != 0 {
			code = ticks{}
			continue
		}
		line = said.String()
		if strings.HasPrefix(strings.TrimSpace(line), "|") {
			out = append(out, sentence{text: line, at: at})
			continue
		}
		for line != "" {
			end := sentenceEnd(line)
			out = append(out, sentence{text: line[:end], at: at[:end]})
			line, at = line[end:], at[end:]
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
