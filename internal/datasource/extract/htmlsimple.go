package extract

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Limits of a page. The time and memory of the parser and the converter grow with the number of elements, the nesting,
// and repeated attributes. The simplifier therefore reduces these first.
const (
	maxTags    = 500_000  // Elements, and lines of preformatted text in lists. A page with more is refused.
	maxToken   = 16 << 20 // Bytes of one tag or text, such as an image in an attribute. A page with more is refused.
	maxDepth   = 64       // Nested blocks. Deeper blocks are merged into the enclosing block.
	maxIndent  = 8        // Nested lists and quotations, which repeat their indent on every line.
	maxAddress = 300      // Bytes of a URL. A link with a longer URL becomes text.
	maxSpan    = 50       // Rows or columns of one cell.
	maxTitle   = 300      // Bytes of the title.
)

// simpler maps each readable element to its simplified element. The simplifier drops all other elements but keeps their
// contents. This removes everything that slows the parser down: formatting, forms, scripts, foreign content.
var simpler = map[string]string{
	"p": "p", "div": "div", "section": "div", "article": "div", "main": "div", "header": "div", "footer": "div",
	"aside": "div", "address": "div", "figure": "div", "figcaption": "div", "details": "div", "summary": "div",
	"form": "div", "fieldset": "div", "legend": "div", "center": "div", "hgroup": "div", "dir": "ul", "menu": "ul",
	"h1": "h1", "h2": "h2", "h3": "h3", "h4": "h4", "h5": "h5", "h6": "h6",
	"ul": "ul", "ol": "ol", "li": "li", "dl": "div", "dt": "div", "dd": "div",
	"table": "table", "caption": "caption", "thead": "thead", "tbody": "tbody", "tfoot": "tfoot", "tr": "tr",
	"th": "th",
	"td": "td", "blockquote": "blockquote", "pre": "pre", "nav": "nav", "br": "br", "hr": "hr", "a": "a",
}

// optional are the elements whose end tag is optional. They do not count as depth, because they cannot nest directly.
var optional = map[string]bool{
	"p": true, "li": true, "thead": true, "tbody": true, "tfoot": true, "tr": true, "th": true, "td": true,
}

// tableParts are the elements that the parser ignores outside of a table.
var tableParts = map[string]bool{
	"caption": true, "thead": true, "tbody": true, "tfoot": true, "tr": true, "th": true, "td": true,
}

// indents are the elements that indent all of their lines.
var indents = map[string]bool{"ul": true, "ol": true, "blockquote": true}

// unread are the elements whose text is invisible. All except the last three contain raw text.
var unread = map[string]bool{
	"script": true, "style": true, "iframe": true, "noembed": true, "noframes": true, "noscript": true,
	"template": true, "svg": true, "math": true,
}

// simplifier writes a page with only the elements of simpler.
type simplifier struct {
	z       *html.Tokenizer
	out     strings.Builder
	title   strings.Builder
	tags    int
	open    map[string]int // Open blocks in out.
	depth   int            // Total number of open blocks.
	indent  int            // Number of open blocks in indents.
	skipped map[string]int // Open blocks of the page that are too deep for out.
	hidden  string         // The element of unread that is being skipped, or "".
	hides   int            // Its nesting depth.
	script  script         // Of the next text.
	reading bool           // Inside the reading of a ruby element.
	raw     string         // The element whose raw text comes next, or "".
	link    bool           // A link is open in out.
	unsure  bool           // The parser may ignore the last tag in out.
}

// simplify returns the title of a page, and the page as HTML within the limits and without invisible parts.
func simplify(ctx context.Context, page string) (simple, title string, err error) {
	s := &simplifier{
		z:       html.NewTokenizer(&reader{ctx: ctx, rest: page}),
		open:    make(map[string]int),
		skipped: make(map[string]int),
	}
	s.z.SetMaxBuf(maxToken)
	s.out.Grow(len(page) / 2)
	for {
		switch s.z.Next() {
		case html.ErrorToken:
			if err := ctx.Err(); err != nil {
				return "", "", err
			}
			if !errors.Is(s.z.Err(), io.EOF) {
				return "", "", &fault.UnreadableError{Code: fault.FileTooLarge, Reason: reasonHTMLTooBig}
			}
			title = strings.Join(strings.Fields(html.UnescapeString(s.title.String())), " ")
			return s.out.String(), strings.ToValidUTF8(title[:min(len(title), maxTitle)], ""), nil
		case html.TextToken:
			s.text(s.z.Raw())
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := s.z.TagName()
			s.start(string(name), more)
		case html.EndTagToken:
			name, _ := s.z.TagName()
			s.end(string(name))
		}
		if s.tags > maxTags {
			return "", "", &fault.UnreadableError{Code: fault.FileTooLarge, Reason: reasonHTMLTooBig}
		}
	}
}

// text processes text of the page, including its character references.
func (s *simplifier) text(raw []byte) {
	switch {
	case s.hidden != "", s.reading:
		return
	case s.raw == "title":
		if s.title.Len() == 0 {
			s.title.Write(raw[:min(len(raw), 8*maxTitle)])
		}
		return
	}
	if s.unsure {
		if len(bytes.TrimSpace(raw)) == 0 {
			return // White space between blocks.
		}
		// The parser concatenates texts that no element separates and copies them each time.
		s.tag("wbr", "")
	}
	if s.script != onLine && len(raw) < maxTitle {
		raw = []byte(html.EscapeString(s.script.of(s.out.String(), html.UnescapeString(string(raw)))))
	}
	pre := s.open["pre"] > 0 && s.indent > 0
	from := 0
	for i, c := range raw {
		switch {
		case c == '\n' && pre:
			s.tags++
		case c == '<': // Escape it, so that it cannot become a tag with the following text.
			s.out.Write(raw[from:i])
			s.out.WriteString("&lt;")
			from = i + 1
		}
	}
	s.out.Write(raw[from:])
}

func (s *simplifier) start(name string, more bool) {
	switch name {
	case "textarea", "title", "xmp", "plaintext":
		s.raw = name
	}
	as := simpler[name]
	if s.hidden != "" {
		switch {
		case s.hidden == name:
			s.hides++
			return
		case as == "" || as == "a" || s.hidden == "template":
			return
		}
		s.hidden = "" // As in browsers, a block ends an unclosed picture.
	}
	switch {
	case unread[name]:
		s.hidden, s.hides = name, 1
	case name == "rt", name == "rp":
		s.reading = true
	case name == "rb", name == "ruby", as != "" && as != "a":
		s.reading = false
	}
	switch {
	case scripts[name] != onLine:
		s.script = scripts[name]
	case as == "a":
		s.openLink(more)
	case as != "":
		s.openBlock(as, more)
	case name == "img":
		s.image(more)
	case name == "option", name == "button", name == "label", name == "input":
		s.out.WriteByte(' ')
	}
}

func (s *simplifier) openBlock(name string, more bool) {
	s.script = onLine
	s.closeLink() // Otherwise a link around several blocks would be repeated in each of them.
	s.tags++
	switch {
	case name == "br", name == "hr":
		s.tag(name, "")
		return
	case !optional[name] && (s.depth >= maxDepth || indents[name] && s.indent >= maxIndent):
		s.skipped[name]++
		s.tag("br", "")
		return
	case name == "th", name == "td":
		s.tag(name, s.spans(more))
		return
	case optional[name]:
		s.tag(name, "")
		return
	}
	s.open[name]++
	s.depth++
	if indents[name] {
		s.indent++
	}
	s.tag(name, "")
}

func (s *simplifier) end(name string) {
	if s.raw == name {
		s.raw = ""
	}
	if s.hidden != "" {
		if s.hidden == name {
			if s.hides--; s.hides == 0 {
				s.hidden = ""
			}
		}
		return
	}
	as := simpler[name]
	if as != "a" && (as != "" || scripts[name] != onLine) {
		s.script = onLine
	}
	switch {
	case name == "rt", name == "rp", name == "ruby":
		s.reading = false
	case as == "a":
		s.closeLink()
	case as == "" || as == "br" || as == "hr":
	case optional[as]:
		s.closeLink()
		s.tags++ // The parser inserts an empty paragraph for the end tag of a paragraph that is not open.
		s.tag("/"+as, "")
	case s.skipped[as] > 0:
		s.skipped[as]--
		s.tags++
		s.tag("br", "")
	case s.open[as] > 0:
		s.closeLink()
		s.open[as]--
		s.depth--
		if indents[as] {
			s.indent--
		}
		s.tag("/"+as, "")
	}
}

func (s *simplifier) tag(name, attributes string) {
	s.unsure = name[0] == '/' && name != "/a" || tableParts[name]
	s.out.WriteByte('<')
	s.out.WriteString(name)
	s.out.WriteString(attributes)
	s.out.WriteByte('>')
}

// openLink writes a link if its URL is absolute.
func (s *simplifier) openLink(more bool) {
	s.closeLink()
	href := s.attribute("href", more)
	lower := strings.ToLower(href[:min(len(href), len("https://"))])
	if len(href) > maxAddress || s.open["pre"] > 0 ||
		!strings.HasPrefix(lower, "https://") && !strings.HasPrefix(lower, "http://") &&
			!strings.HasPrefix(lower, "mailto:") {
		return
	}
	s.tags++
	s.link = true
	s.tag("a", ` href="`+html.EscapeString(href)+`"`)
}

func (s *simplifier) closeLink() {
	if s.link {
		s.link = false
		s.tag("/a", "")
	}
}

// image writes the alternative text of an image.
func (s *simplifier) image(more bool) {
	if s.hidden != "" || s.reading {
		return
	}
	if alt := s.attribute("alt", more); alt != "" {
		s.out.WriteString(html.EscapeString(alt))
	}
}

// spans returns the colspan and rowspan attributes of a cell.
func (s *simplifier) spans(more bool) string {
	out := ""
	for more {
		var key, value []byte
		key, value, more = s.z.TagAttr()
		if k := string(key); k == "colspan" || k == "rowspan" {
			if n, err := strconv.Atoi(strings.TrimSpace(string(value))); err == nil && n > 1 {
				out += " " + k + "=" + strconv.Itoa(min(n, maxSpan))
			}
		}
	}
	return out
}

// attribute returns the value of the first attribute of a name, or "".
func (s *simplifier) attribute(name string, more bool) string {
	for more {
		var key, value []byte
		key, value, more = s.z.TagAttr()
		if string(key) == name {
			return string(value)
		}
	}
	return ""
}
