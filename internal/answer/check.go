package answer

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Support is the degree to which passages support the sentence that cites them.
type Support string

// Strong means that the cited passages contain each number, date and article number of the sentence and share words
// with it. Weak means that they do not.
const (
	Strong Support = "strong"
	Weak   Support = "weak"
)

// Claim is a sentence of an answer that cites passages.
type Claim struct {
	Text      string
	Citations []Citation
	Support   Support
	Missing   []string // The numbers, dates and article numbers of Text that no cited passage contains, as written.
}

// Citation is a citation in a text.
type Citation struct {
	Index      int // The citation number of the passage.
	Occurrence int // Counts equal citations in the whole text, including code, from 0.
}

// Verdict is the result of Check for one passage.
type Verdict struct {
	Support Support // Weak if any of its citations is weak.
	Weak    []int   // The occurrences of its weak citations, in ascending order.
}

// A sentence is weak if the cited passages contain less than the fraction least of its pairs of characters. The check
// needs at least minPairs pairs.
const (
	least    = 0.12
	minPairs = 6
)

var citationForm = regexp.MustCompile(`\[([0-9]{1,3})\]`)

// Check compares each sentence with citations to the cited passages. text must be the output of a CitationNormalizer. A
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
			claim.Citations = append(claim.Citations, Citation{Index: n, Occurrence: occurrences[s.at[match[0]]]})
			cited.WriteString(texts[n])
		}
		if len(claim.Citations) == 0 {
			continue
		}
		claim.compare(cited.String())
		claims = append(claims, claim)
	}
	return claims
}

// occurrences maps the offset of each citation in a text to the number of equal citations before it.
func occurrences(text string) map[int]int {
	byOffset, count := make(map[int]int), make(map[string]int)
	for _, match := range citationForm.FindAllStringIndex(text, -1) {
		citation := text[match[0]:match[1]]
		byOffset[match[0]] = count[citation]
		count[citation]++
	}
	return byOffset
}

// Supports returns the verdict for each cited passage.
func Supports(claims []Claim) map[int]Verdict {
	verdicts := make(map[int]Verdict)
	for _, claim := range claims {
		for _, cite := range claim.Citations {
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

// compare sets Missing and Support from the folded text of the cited passages.
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

// listMark matches the marker at the beginning of a list item or heading.
var listMark = regexp.MustCompile(`^\s*(?:#+\s*|[-*+]\s+)?(?:\*\*)?(?:[(（]?[0-9]{1,2}[)）.．、]\s*|[①-⑳]\s*)?`)

// strange reports whether a sentence shares almost no words with the passage. It returns false if the passage has no
// kanji or katakana, because sentences in another language cannot be compared.
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
	return pairs >= minPairs && float64(found) < least*float64(pairs) && strings.ContainsFunc(passage, meaningful)
}

// meaningful reports whether a character carries meaning by itself, as kanji and katakana do.
func meaningful(r rune) bool { return unicode.In(r, unicode.Han, unicode.Katakana) || r == 'ー' }

// sentence is a sentence without its code. For each byte of text, at has the offset of its character in the whole text.
type sentence struct {
	text string
	at   []int
}

// sentences splits a Markdown text into sentences and drops code, which it detects like CitationNormalizer. Citations
// after the mark that ends a sentence belong to that sentence. A table row is one sentence.
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
