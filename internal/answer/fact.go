package answer

import (
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// fact is a number, a date or an article number in a text, together with its equivalent spellings. Two facts are equal
// if they share a key.
type fact struct {
	text string   // As written, after fold.
	keys []string // Such as "20", "4月1日", "第12条".
}

var (
	// numeral matches a number in digits or kanji with its scale, such as 1億2,000万, 3.5 or 二十.
	numeral = `(?:[0-9][0-9,]*(?:\.[0-9]+)?|[〇一二三四五六七八九十百千]+)` +
		`(?:[百千万億兆]+(?:[0-9][0-9,]*(?:\.[0-9]+)?|[〇一二三四五六七八九十百千]+)?)*`

	articleForm = regexp.MustCompile(`第(` + numeral + `)(条|項|号|章|節|款|編|表|図)(?:の(` + numeral + `))?`)
	eraForm     = regexp.MustCompile(`(令和|平成|昭和|大正|明治)(元|` + numeral + `)年`)
	dayForm     = regexp.MustCompile(`(` + numeral + `)月(` + numeral + `)日`)
	slashForm   = regexp.MustCompile(`(?:([0-9]{4})[/.-])([01]?[0-9])[/.-]([0-3]?[0-9])`)
	numberForm  = regexp.MustCompile(numeral)
)

// eras maps each era to the year before its first year.
var eras = map[string]int{"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "明治": 1867}

// counted are the counter words after a small number that the writer counted, as in 次の3点. The passage need not contain
// that number.
var counted = []string{"つ", "点", "種類", "通り", "とおり", "段階", "ステップ", "パターン", "項目"}

// units are the characters after which a numeral in kanji is a number. Without a unit, 一 is usually part of a word.
const units = "条項号章節年月日時分秒週人円個回件名歳才割%点階度倍台枚冊本株"

// fold normalizes text for facts: it applies NFKC and removes spaces between the characters of a number. An exponent
// and the mark of a note are not joined to the number before or after them.
func fold(text string) string {
	text = afterScript.ReplaceAllString(beforeScript.ReplaceAllString(text, "$1^$2"), "$1^$2")
	return spaceInNumber.ReplaceAllString(norm.NFKC.String(text), "$1$2")
}

var (
	beforeScript = regexp.MustCompile(`([0-9０-９]) ?([⁰¹²³⁴-⁹₀-₉])`)
	afterScript  = regexp.MustCompile(`([⁰¹²³⁴-⁹₀-₉]) ?([0-9０-９])`)
)

var spaceInNumber = regexp.MustCompile(`([0-9月第]) +([年月日条項号円人%万億0-9])`)

// facts returns the facts in a folded text. With claim, it skips numbers that the writer may have counted and kanji
// numerals without a unit.
func facts(text string, claim bool) []fact {
	var found []fact
	take := func(form *regexp.Regexp, read func(groups []string) []string) {
		text = form.ReplaceAllStringFunc(text, func(match string) string {
			found = append(found, fact{match, read(form.FindStringSubmatch(match))})
			if claim {
				return "\n" // Do not read it again as a number.
			}
			return match
		})
	}
	take(articleForm, func(g []string) []string { return []string{"第" + plain(g[1]) + g[2] + plain(g[3])} })
	take(eraForm, func(g []string) []string {
		year := 1
		if g[2] != "元" {
			year, _ = strconv.Atoi(plain(g[2]))
		}
		return []string{strconv.Itoa(eras[g[1]] + year)}
	})
	take(slashForm, func(g []string) []string { return []string{trim(g[2]) + "月" + trim(g[3]) + "日"} })
	take(dayForm, func(g []string) []string { return []string{plain(g[1]) + "月" + plain(g[2]) + "日"} })
	if !claim { // Read the year of 2024/4/1 as a number too.
		text = slashForm.ReplaceAllString(text, "$1 $2 $3")
	}
	for _, at := range numberForm.FindAllStringIndex(text, -1) {
		match, rest := text[at[0]:at[1]], text[at[1]:]
		if claim && (isCounted(match, rest) || !hasDigit(match) && !strings.ContainsRune(units, first(rest))) {
			continue
		}
		found = append(found, fact{match, spellings(match, rest)})
	}
	return found
}

// Figures returns the values of the numbers in a text, in order: numbers in digits, and numbers in kanji before a unit.
// The value of 1,200, １２００ and 千二百円 is "1200".
func Figures(text string) []string {
	text = fold(text)
	var values []string
	for _, at := range numberForm.FindAllStringIndex(text, -1) {
		match := text[at[0]:at[1]]
		if hasDigit(match) || strings.ContainsRune(units, first(text[at[1]:])) {
			values = append(values, plain(match))
		}
	}
	return values
}

func isCounted(match, rest string) bool {
	if value, err := strconv.Atoi(plain(match)); err != nil || value > 20 {
		return false
	}
	for _, word := range counted {
		if strings.HasPrefix(rest, word) {
			return true
		}
	}
	return false
}

// spellings returns the keys of a number: its value, its digits without the scale (a table may state 単位:千円), and for
// tenths (割) the percentage.
func spellings(match, rest string) []string {
	keys := []string{plain(match)}
	if digits := strings.TrimRight(match, "百千万億兆"); digits != match && hasDigit(digits) && len(digits) > 1 {
		keys = append(keys, plain(digits))
	}
	if strings.HasPrefix(rest, "割") {
		if value, err := strconv.ParseFloat(keys[0], 64); err == nil {
			keys = append(keys, format(value*10))
		}
	}
	return keys
}

// plain returns the value of a numeral in digits without separators: 120000000 for 1億2,000万.
func plain(match string) string {
	if match == "" {
		return ""
	}
	var total, section, current float64
	var digits strings.Builder
	flush := func() {
		if digits.Len() > 0 {
			current, _ = strconv.ParseFloat(digits.String(), 64)
			digits.Reset()
		}
	}
	for _, r := range match {
		if r == ',' {
			continue
		}
		if r == '.' || '0' <= r && r <= '9' {
			digits.WriteRune(r)
			continue
		}
		if n := strings.IndexRune("〇一二三四五六七八九", r); n >= 0 {
			digits.WriteByte("0123456789"[n/len("〇")]) // 二〇二四 is 2024.
			continue
		}
		flush()
		switch scale := scales[r]; {
		case scale >= 1e4:
			total += max(section+current, 1) * scale
			section, current = 0, 0
		default:
			section += max(current, 1) * scale
			current = 0
		}
	}
	flush()
	return format(total + section + current)
}

var scales = map[rune]float64{'十': 10, '百': 100, '千': 1000, '万': 1e4, '億': 1e8, '兆': 1e12}

func format(value float64) string { return strconv.FormatFloat(value, 'f', -1, 64) }

// trim returns a number without leading zeros.
func trim(digits string) string { return strings.TrimLeft(digits, "0") }

func hasDigit(text string) bool { return strings.ContainsAny(text, "0123456789") }

func first(text string) rune {
	for _, r := range text {
		return r
	}
	return -1
}
