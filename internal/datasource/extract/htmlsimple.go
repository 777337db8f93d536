package extract

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// Bounds of a page. The parser and the converter take time and memory by elements, nesting and repeated attributes, so
// these are cut before they see the page.
const (
	maxTags    = 500_000  // Elements, and lines of preformatted text in lists. More are refused.
	maxToken   = 16 << 20 // Bytes of one tag or text, for example an image in an attribute. More are refused.
	maxDepth   = 64       // Nested blocks. Deeper ones are taken as part of the block around them.
	maxIndent  = 8        // Nested lists and quotations, which repeat their indent on every line.
	maxAddress = 300      // Bytes of a link's address. Links with longer ones are text.
	maxSpan    = 50       // Rows or columns of one cell.
	maxTitle   = 300      // Bytes of the title.
)

// simpler maps the elements that matter for reading to what they are read as. All others are left out and their
// contents kept, which leaves nothing of what makes a parser slow: formatting, forms, scripts, foreign content.
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

// optional are the elements whose end a page may leave out. They do not nest by themselves, so they do not count as
// depth.
var optional = map[string]bool{
	"p": true, "li": true, "thead": true, "tbody": true, "tfoot": true, "tr": true, "th": true, "td": true,
}

// tableParts are the elements that the parser passes over outside of a table.
var tableParts = map[string]bool{
	"caption": true, "thead": true, "tbody": true, "tfoot": true, "tr": true, "th": true, "td": true,
}

// indents are the elements that repeat an indent on all of their lines.
var indents = map[string]bool{"ul": true, "ol": true, "blockquote": true}

// unread are the elements whose text nobody reads. All but the last three hold raw text.
var unread = map[string]bool{
	"script": true, "style": true, "iframe": true, "noembed": true, "noframes": true, "noscript": true,
	"template": true, "svg": true, "math": true,
}

// simplifier writes a page anew with the elements of simpler only.
type simplifier struct {
	z       *html.Tokenizer
	out     strings.Builder
	title   strings.Builder
	tags    int
	open    map[string]int // Blocks that are open in out.
	depth   int            // Their sum.
	indent  int            // The sum of those in indents.
	skipped map[string]int // Blocks that are open in the page but too deep for out.
	hidden  string         // The element of unread that is being left out, or "".
	hides   int            // How often it is nested.
	reading bool           // In the reading of a ruby.
	raw     string         // The element whose raw text comes next, or "".
	link    bool           // A link is open in out.
	unsure  bool           // The last tag in out may be one that the parser passes over.
}

// simplify returns the page as HTML without what nobody reads, bounded, and its title.
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
				return "", "", &Unreadable{TooLarge, reasonHTMLTooBig}
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
			return "", "", &Unreadable{TooLarge, reasonHTMLTooBig}
		}
	}
}

// text takes text as it stands in the page, with its character references.
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
		// The parser joins texts between which it sees no element, each time in a new string.
		s.tag("wbr", "")
	}
	pre := s.open["pre"] > 0 && s.indent > 0
	from := 0
	for i, c := range raw {
		switch {
		case c == '\n' && pre:
			s.tags++
		case c == '<': // Must not become a tag with what follows.
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
		s.hidden = "" // A block ends a picture that was not closed, as it does in browsers.
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
	s.closeLink() // A link that goes over blocks would be repeated in each of them.
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
	switch {
	case name == "rt", name == "rp", name == "ruby":
		s.reading = false
	case as == "a":
		s.closeLink()
	case as == "" || as == "br" || as == "hr":
	case optional[as]:
		s.closeLink()
		s.tags++ // The end of a paragraph that is not open is an empty one.
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

// openLink keeps the address of a link that leads somewhere from outside of its site.
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

// image writes what an image stands for, if the page says so.
func (s *simplifier) image(more bool) {
	if s.hidden != "" || s.reading {
		return
	}
	if alt := s.attribute("alt", more); alt != "" {
		s.out.WriteString(html.EscapeString(alt))
	}
}

// spans keeps how far a cell reaches.
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
