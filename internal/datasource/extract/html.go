package extract

import (
	"context"
	"io"
	"regexp"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// declaration matches the declaration of a charset, in a meta element or in the XML declaration.
var declaration = regexp.MustCompile(`(?i)(?:<meta[^>]*charset|^<\?xml[^>]*encoding)\s*=\s*["']?\s*([^\s"'/>;?]+)`)

// declaredCharset returns the charset declared in the first 1,024 bytes of a page, or "".
func declaredCharset(content []byte) string {
	if found := declaration.FindSubmatch(content[:min(len(content), 1024)]); found != nil {
		return string(found[1])
	}
	return ""
}

// WithCharset returns an HTML page with a declaration of the charset that its HTTP header names. It returns the page
// unchanged if the page declares one itself, or if the charset is unknown.
func WithCharset(page []byte, label string) []byte {
	if marked, _ := fromMark(page); marked != nil || declaredCharset(page) != "" || fromName(label) == nil {
		return page
	}
	return append([]byte(`<meta charset="`+label+`">`), page...)
}

// htmlText returns the readable text of a page as Markdown.
func htmlText(ctx context.Context, page string) (string, error) {
	simple, title, err := simplify(ctx, page)
	if err != nil {
		return "", err
	}
	root, err := html.Parse(&reader{ctx: ctx, rest: simple})
	if err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		// The parser rejects the nesting despite the simplification.
		return "", &fault.UnreadableError{Code: fault.FileTooLarge, Reason: reasonHTMLTooBig}
	}
	if !onlyNav(root) { // Keep the navigation if the page has no other text or never closes it.
		removeNavigation(root)
	}
	hasHeading := find(root, "h1") != nil
	prepareTables(root, len(page))
	if err := ctx.Err(); err != nil {
		return "", err
	}
	text, err := markdown(ctx, root)
	if err != nil {
		return "", err
	}
	text = strings.Map(withoutControl, text) // Character references can contain control characters that clean removed.
	if blank(text) {
		return "", &fault.UnreadableError{Code: fault.FileNoText, Reason: reasonHTMLEmpty}
	}
	if !hasHeading && title != "" {
		text = "# " + strings.Map(withoutControl, title) + "\n\n" + text
	}
	if len(text) > maxText(len(page)) {
		return "", &fault.UnreadableError{Code: fault.FileTooLarge, Reason: reasonHTMLTooBig}
	}
	if divided := divideTables(text); len(divided) <= maxText(len(page)) {
		text = divided
	}
	return text, nil
}

// markdown converts a simplified page to Markdown.
func markdown(ctx context.Context, root *html.Node) (string, error) {
	conv := converter.NewConverter(
		converter.WithEscapeMode(converter.EscapeModeDisabled), // The text is searched and cited, not rendered.
		converter.WithPlugins(
			base.NewBasePlugin(),
			commonmark.NewCommonmarkPlugin(
				commonmark.WithListEndComment(false),
				commonmark.WithLinkEmptyContentBehavior(commonmark.LinkBehaviorSkip),
			),
			table.NewTablePlugin(
				table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal),
				table.WithNewlineBehavior(table.NewlineBehaviorPreserve),
				table.WithSkipEmptyRows(true),
				table.WithHeaderPromotion(true),
			),
		),
	)
	conv.Register.TextTransformer(func(_ converter.Context, text string) string {
		return unescaper.Replace(text)
	}, converter.PriorityLate)
	// The converter ignores the context, so this renderer checks it.
	conv.Register.Renderer(func(_ converter.Context, _ converter.Writer, _ *html.Node) converter.RenderStatus {
		if ctx.Err() != nil {
			return converter.RenderSuccess
		}
		return converter.RenderTryNext
	}, converter.PriorityEarly)
	out, err := conv.ConvertNode(root, converter.WithContext(ctx))
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", err
	}
	return breaksInCells.Replace(string(out)), nil
}

// unescaper reverts the escaping of the base plugin, which cannot be disabled.
var unescaper = strings.NewReplacer("&lt;", "<", "&gt;", ">")

// breaksInCells replaces the line breaks that the table plugin leaves in cells.
var breaksInCells = strings.NewReplacer("  <br />", " ", "<br />", " ")

// reader reads a string until the context ends.
type reader struct {
	ctx  context.Context
	rest string
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if r.rest == "" {
		return 0, io.EOF
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// walk calls visit for the nodes below n in order. If visit returns false, walk skips the node's children.
func walk(n *html.Node, visit func(*html.Node) bool) {
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		if visit(child) {
			walk(child, visit)
		}
		child = next
	}
}

// find returns the first element of a name below n, or nil.
func find(n *html.Node, name string) *html.Node {
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		if child.Type == html.ElementNode && child.Data == name {
			return child
		}
		if found := find(child, name); found != nil {
			return found
		}
	}
	return nil
}

// onlyNav reports whether the page has no text outside of its navigation.
func onlyNav(root *html.Node) bool {
	bare := true
	walk(root, func(n *html.Node) bool {
		if n.Type == html.TextNode && !blank(n.Data) {
			bare = false
		}
		return bare && n.Data != "nav"
	})
	return bare
}

// removeNavigation removes all nav elements.
func removeNavigation(root *html.Node) {
	walk(root, func(n *html.Node) bool {
		if n.Type == html.ElementNode && n.Data == "nav" {
			n.Parent.RemoveChild(n)
			return false
		}
		return true
	})
}
