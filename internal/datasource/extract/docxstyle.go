package extract

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/ooxml"
)

// style is a style of paragraphs or characters.
type style struct {
	ooxml.WordStyle

	level int // Heading level from 1; 0 if the style excludes headings; -1 if it does not define a level.
	num   numRef
}

// numRef is a reference to a numbering, in a paragraph or a style.
type numRef struct {
	id    string
	level int
	style string // The style that contains the reference, "" for a direct reference.
}

func (n *numRef) read(x *ooxml.Walker) error {
	return x.All(func(e ooxml.Element) {
		switch e.Local {
		case "numId":
			n.id = e.Attr("val")
		case "ilvl":
			if level, err := strconv.Atoi(e.Attr("val")); err == nil {
				n.level = min(max(level, 0), 8)
			}
		}
	})
}

// outlineLevel converts an outline level to a heading level. Outline level 9 is body text.
func outlineLevel(n int) int {
	if n < 0 || n > 8 {
		return 0
	}
	return n + 1
}

// headingName matches the names of heading styles in English and Japanese versions of Office.
var headingName = regexp.MustCompile(`(?i)^(?:heading|見出し)[\s　]*([1-9１-９])$`)

// headingLevel returns the heading level for the name of a style, -1 if the style is not a heading style.
func headingLevel(name string) int {
	switch strings.ToLower(name) {
	case "title", "表題":
		return 1
	}
	found := headingName.FindStringSubmatch(name)
	if found == nil {
		return -1
	}
	digit := []rune(found[1])[0]
	if digit >= '１' {
		return int(digit-'１') + 1
	}
	return int(digit-'1') + 1
}

// readStyles reads the styles of a document by id. The default paragraph style also has the id "".
func readStyles(pkg *ooxml.Package, name string) (styleSheet, error) {
	all := styleSheet{}
	return all, pkg.WalkOptional(name, func(x *ooxml.Walker) error {
		return x.Each(func(e ooxml.Element) error {
			kind := e.Attr("type")
			if e.Local != "style" || kind != "paragraph" && kind != "character" && kind != "" {
				return x.Skip()
			}
			s := style{level: -1}
			id, isDefault := e.Attr("styleId"), kind != "character" && e.Attr("default") != "" && e.On("default")
			named := -1
			err := x.Each(func(e ooxml.Element) error {
				switch e.Local {
				case "name":
					named = headingLevel(e.Attr("val"))
				case "pPr":
					return s.properties(x)
				}
				return s.Read(x, e)
			})
			if s.level < 0 {
				s.level = named
			}
			s.num.style = id
			all[id] = s
			if isDefault {
				all[""] = s
			}
			return err
		})
	})
}

func (s *style) properties(x *ooxml.Walker) error {
	return x.Each(func(e ooxml.Element) error {
		switch e.Local {
		case "outlineLvl":
			if n, err := strconv.Atoi(e.Attr("val")); err == nil {
				s.level = outlineLevel(n)
			}
		case "numPr":
			return s.num.read(x)
		}
		return x.Skip()
	})
}

// styleSheet contains the styles of a document.
type styleSheet map[string]style

// hides reports whether the styles of a paragraph and of its characters hide a text.
func (all styleSheet) hides(paragraph, characters string) bool {
	return ooxml.HidesText(func(id string) (ooxml.WordStyle, bool) {
		s, ok := all[id]
		return s.WordStyle, ok
	}, paragraph, characters)
}

// of returns the heading level and the numbering of a paragraph. Values missing in the paragraph come from its styles.
func (all styleSheet) of(p *docxParagraph) (level int, num numRef) {
	level, num = p.level, p.num
	id := p.style
	for range ooxml.MaxBases {
		s, ok := all[id]
		if !ok {
			break
		}
		if level < 0 {
			level = s.level
		}
		if num.id == "" && s.num.id != "" {
			num = s.num
		}
		if id = s.BasedOn; id == "" {
			break
		}
	}
	return max(level, 0), num
}

// listLevel is a level of a numbered list.
type listLevel struct {
	start  int
	format string
	text   string // With %1 to %9 as placeholders for the numbers of the levels.
	legal  bool   // Always use decimal numbers.
	style  string // The style that is linked to this level.
}

// numbering counts the paragraphs of numbered lists while they are read.
type numbering struct {
	lists  map[string]*[9]listLevel // By the id of the abstract numbering.
	nums   map[string]string        // From numbering to abstract numbering.
	starts map[string][9]int        // Start overrides by numbering id and level; -1 for no override.
	counts map[string]*[9]int       // By the id of the abstract numbering.
}

// readNumbering reads the numbered lists of a document.
func readNumbering(pkg *ooxml.Package, name string) (*numbering, error) {
	n := &numbering{
		lists: make(map[string]*[9]listLevel), nums: make(map[string]string), starts: make(map[string][9]int),
		counts: make(map[string]*[9]int),
	}
	return n, pkg.WalkOptional(name, func(x *ooxml.Walker) error {
		return x.Each(func(e ooxml.Element) error {
			switch e.Local {
			case "abstractNum":
				return n.readList(x, e.Attr("abstractNumId"))
			case "num":
				return n.readNum(x, e.Attr("numId"))
			}
			return x.Skip()
		})
	})
}

func (n *numbering) readList(x *ooxml.Walker, id string) error {
	levels := new([9]listLevel)
	n.lists[id] = levels
	return x.Each(func(e ooxml.Element) error {
		i, err := strconv.Atoi(e.Attr("ilvl"))
		if e.Local != "lvl" || err != nil || i < 0 || i > 8 {
			return x.Skip()
		}
		return levels[i].read(x)
	})
}

func (l *listLevel) read(x *ooxml.Walker) error {
	l.format = "decimal"
	return x.All(func(e ooxml.Element) {
		value := e.Attr("val")
		switch e.Local {
		case "start":
			l.start, _ = strconv.Atoi(value)
		case "numFmt":
			if value != "" {
				l.format = value
			}
		case "lvlText":
			l.text = value
		case "isLgl":
			l.legal = e.On("val")
		case "pStyle":
			l.style = value
		}
	})
}

func (n *numbering) readNum(x *ooxml.Walker, id string) error {
	starts := [9]int{-1, -1, -1, -1, -1, -1, -1, -1, -1}
	level := -1
	err := x.All(func(e ooxml.Element) {
		switch e.Local {
		case "abstractNumId":
			n.nums[id] = e.Attr("val")
		case "lvlOverride":
			if i, err := strconv.Atoi(e.Attr("ilvl")); err == nil && i >= 0 && i < 9 {
				level = i
			}
		case "startOverride":
			if start, err := strconv.Atoi(e.Attr("val")); err == nil && level >= 0 {
				starts[level] = start
			}
		}
	})
	n.starts[id] = starts
	return err
}

// label counts a paragraph and returns the label before its text. bullet reports whether the label is a sign without a
// number.
func (n *numbering) label(ref numRef) (label string, bullet bool) {
	list := n.lists[n.nums[ref.id]]
	if list == nil {
		return "", false
	}
	level := ref.level
	for i := range list {
		if ref.style != "" && list[i].style == ref.style {
			level = i
		}
	}
	counts := n.counts[n.nums[ref.id]]
	if counts == nil {
		counts = new([9]int)
		n.counts[n.nums[ref.id]] = counts
		for i := range counts {
			counts[i] = list[i].start - 1
		}
	}
	if starts, anew := n.starts[ref.id]; anew {
		for i, start := range starts {
			if start >= 0 {
				counts[i] = start - 1
			}
		}
		delete(n.starts, ref.id)
	}
	counts[level]++
	for i := level + 1; i < 9; i++ {
		counts[i] = list[i].start - 1
	}
	l := list[level]
	switch l.format {
	case "bullet":
		return "", true
	case "none":
		return strings.TrimSpace(percent.ReplaceAllString(l.text, "")), false
	}
	return strings.TrimSpace(percent.ReplaceAllStringFunc(l.text, func(s string) string {
		i := int(s[1] - '1')
		format := list[i].format
		if l.legal {
			format = "decimal"
		}
		return formatNumber(max(counts[i], min(list[i].start, 1)), format)
	})), false
}

var percent = regexp.MustCompile("%[1-9]")

// series are the symbols of number formats, in order. Numbers beyond the last symbol are written as decimal numbers.
var series = map[string][]rune{
	"aiueo":                        []rune("ｱｲｳｴｵｶｷｸｹｺｻｼｽｾｿﾀﾁﾂﾃﾄﾅﾆﾇﾈﾉﾊﾋﾌﾍﾎﾏﾐﾑﾒﾓﾔﾕﾖﾗﾘﾙﾚﾛﾜｦﾝ"),
	"aiueoFullWidth":               []rune("アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン"),
	"iroha":                        []rune("ｲﾛﾊﾆﾎﾍﾄﾁﾘﾇﾙｦﾜｶﾖﾀﾚｿﾂﾈﾅﾗﾑｳヰﾉｵｸﾔﾏｹﾌｺｴﾃｱｻｷﾕﾒﾐｼヱﾋﾓｾｽﾝ"),
	"irohaFullWidth":               []rune("イロハニホヘトチリヌルヲワカヨタレソツネナラムウヰノオクヤマケフコエテアサキユメミシヱヒモセスン"),
	"decimalEnclosedCircle":        []rune("①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳㉑㉒㉓㉔㉕㉖㉗㉘㉙㉚㉛㉜㉝㉞㉟㊱㊲㊳㊴㊵㊶㊷㊸㊹㊺㊻㊼㊽㊾㊿"),
	"decimalEnclosedCircleChinese": []rune("①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"),
	"decimalEnclosedFullstop":      []rune("⒈⒉⒊⒋⒌⒍⒎⒏⒐⒑⒒⒓⒔⒕⒖⒗⒘⒙⒚⒛"),
	"decimalEnclosedParen":         []rune("⑴⑵⑶⑷⑸⑹⑺⑻⑼⑽⑾⑿⒀⒁⒂⒃⒄⒅⒆⒇"),
	"ideographEnclosedCircle":      []rune("㊀㊁㊂㊃㊄㊅㊆㊇㊈㊉"),
	"ideographTraditional":         []rune("甲乙丙丁戊己庚辛壬癸"),
	"ideographZodiac":              []rune("子丑寅卯辰巳午未申酉戌亥"),
}

// formatNumber formats a number in a list number format (ECMA-376 part 1, 17.18.59).
func formatNumber(n int, format string) string {
	if n < 0 || n > 1_000_000 {
		return strconv.Itoa(n)
	}
	if signs := series[format]; n > 0 && n <= len(signs) {
		return string(signs[n-1])
	}
	decimal := strconv.Itoa(n)
	switch format {
	case "decimalZero":
		if n < 10 {
			return "0" + decimal
		}
	case "decimalFullWidth", "decimalFullWidth2":
		return mapDigits(decimal, []rune("０１２３４５６７８９"))
	case "ideographDigital", "japaneseDigitalTenThousand", "koreanDigital", "taiwaneseDigital":
		return mapDigits(decimal, []rune("〇一二三四五六七八九"))
	case "japaneseCounting", "chineseCounting", "chineseCountingThousand", "taiwaneseCounting",
		"taiwaneseCountingThousand":
		return kanjiNumber(n, []rune("〇一二三四五六七八九"), []string{"", "十", "百", "千"}, "万", false)
	case "japaneseLegal", "chineseLegalSimplified", "ideographLegalTraditional":
		return kanjiNumber(n, []rune("零壱弐参四伍六七八九"), []string{"", "拾", "百", "阡"}, "萬", true)
	case "upperRoman":
		return roman(n)
	case "lowerRoman":
		return strings.ToLower(roman(n))
	case "upperLetter", "lowerLetter":
		if n > 0 && n <= 26*20 {
			s := strings.Repeat(string(rune('A'+(n-1)%26)), (n-1)/26+1)
			if format == "lowerLetter" {
				s = strings.ToLower(s)
			}
			return s
		}
	}
	return decimal
}

func mapDigits(decimal string, digits []rune) string {
	return strings.Map(func(r rune) rune { return digits[r-'0'] }, decimal)
}

// kanjiNumber formats a number up to a million in kanji. With ones, it writes 一 before the signs of tens too.
func kanjiNumber(n int, digits []rune, tens []string, myriad string, ones bool) string {
	if n == 0 {
		return string(digits[0])
	}
	if n >= 10_000 {
		rest := ""
		if n%10_000 > 0 {
			rest = kanjiNumber(n%10_000, digits, tens, myriad, ones)
		}
		return kanjiNumber(n/10_000, digits, tens, myriad, ones) + myriad + rest
	}
	out := ""
	for i := 0; n > 0; i, n = i+1, n/10 {
		switch digit := n % 10; {
		case digit == 0:
		case digit == 1 && i > 0 && !ones:
			out = tens[i] + out
		default:
			out = string(digits[digit]) + tens[i] + out
		}
	}
	return out
}

func roman(n int) string {
	if n == 0 || n >= 4000 {
		return strconv.Itoa(n)
	}
	values := []int{1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1}
	signs := []string{"M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"}
	var out strings.Builder
	for i, value := range values {
		for ; n >= value; n -= value {
			out.WriteString(signs[i])
		}
	}
	return out.String()
}
