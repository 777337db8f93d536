package extract_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

func TestListNumbers(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"decimal": "12", "decimalZero": "12", "upperRoman": "XII", "lowerLetter": "l", "aiueo": "ｼ", "iroha": "ｦ",
		"decimalEnclosedCircle": "⑫",
		"japaneseCounting":      "十二", "ideographDigital": "一二", "japaneseLegal": "壱拾弐", "ideographZodiac": "亥",
		"ideographTraditional": "12",
	} {
		numbers := "<w:numbering " + wordSpaces +
			`><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="12"/><w:numFmt w:val="` + format +
			`"/><w:lvlText w:val="(%1)"/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/>` +
			`</w:num></w:numbering>`
		got := pageOf(t, "a.docx", document(t, numbered("1", "0", "項"),
			"word/_rels/document.xml.rels", relations("n", "numbering", "numbering.xml"), "word/numbering.xml",
			numbers))
		if got != "("+want+") 項" {
			t.Errorf("%s: %q, want %s", format, got, want)
		}
	}
}

func FuzzDOCX(f *testing.F) {
	f.Add("word/document.xml", "<w:document "+wordSpaces+"><w:body>"+tableOf(cell("<w:vMerge/>",
		"一"))+"</w:body></w:document>")
	f.Add("word/document.xml", "<w:document "+wordSpaces+"><w:body>"+numbered("3", "1",
		"a")+"<w:p><w:tc><w:tr>"+field("a", run("b"))+"<w:txbxContent><w:tbl>")
	f.Add("word/numbering.xml", wordNumbers)
	f.Add("word/styles.xml", wordStyles)
	f.Add("word/charts/chart1.xml", chartXML)
	f.Add("word/diagrams/data1.xml", diagramXML)
	f.Add("_rels/.rels", relations("a", "officeDocument", "../../a"))
	f.Add("word/document.xml",
		"<w:document "+wordSpaces+"><w:body>"+codeField(`EQ \* jc2 \* "F" \o\ad(\s\up 9(か),\f(漢,字\)))`)+
			"<w:p>"+formBox("<w:checked/>")+"</w:p></w:body></w:document>")
	f.Fuzz(func(t *testing.T, part, content string) {
		body := styled("jo", "一") + numbered("1", "0", "二") +
			`<w:p><w:r><w:footnoteReference w:id="1"/><w:drawing><c:chart r:id="c1"/><dgm:relIds r:dm="d1"/>` +
			`</w:drawing></w:r></w:p>`
		if file := replacePart(t, wholeDocument(t, body), part, content); file != nil {
			checkPages(t, "a.docx", file)
		}
	})
}

// checkPages fails the test unless a file is read as pages or refused with a reason.
func checkPages(t *testing.T, name string, content []byte) {
	t.Helper()
	pages, err := formatOf(t, name).Pages(t.Context(), content)
	if err != nil {
		if unreadable, ok := errors.AsType[*fault.UnreadableError](err); !ok || unreadable.Reason == "" ||
			unreadable.Code == "" {
			t.Fatalf("error %v is not for a person", err)
		}
		return
	}
	for i, page := range pages {
		if page.Number != i+1 || !utf8.ValidString(page.Text) {
			t.Fatalf("page %d: number %d, %q", i, page.Number, page.Text)
		}
		if strings.ContainsFunc(page.Text, func(r rune) bool { return r < 0x20 && r != '\n' && r != '\t' }) {
			t.Fatalf("%q has control characters", page.Text)
		}
		at := -1
		for _, m := range page.Marks {
			if m.Offset <= at || m.Offset > len(page.Text) || m.Locator == "" || m.Heading &&
				!utf8.RuneStart((page.Text + " ")[m.Offset]) {
				t.Fatalf("marks %+v of %q", page.Marks, page.Text)
			}
			at = m.Offset
		}
	}
}
