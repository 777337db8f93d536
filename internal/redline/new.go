package redline

import (
	_ "embed"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/ooxml"
)

//go:embed styles.xml
var styles []byte

// New returns an A4 document in a Japanese font with one paragraph for each line of text. It serves as the base for
// Write.
func New(text string) ([]byte, error) {
	var body strings.Builder
	body.WriteString(ooxml.Declaration + `<w:document xmlns:w="` + spaceW + `"><w:body>`)
	e := &editor{doc: &document{bound: true}}
	for line := range strings.Lines(clean(text) + "\n") {
		if line = strings.TrimSuffix(line, "\n"); line == "" {
			body.WriteString("<w:p/>")
			continue
		}
		body.WriteString("<w:p><w:r>" + e.content(line) + "</w:r></w:p>")
	}
	body.WriteString(`<w:sectPr><w:pgSz w:w="11906" w:h="16838"/><w:pgMar w:top="1985" w:right="1701" w:bottom="1701" ` +
		`w:left="1701" w:header="851" w:footer="992" w:gutter="0"/><w:cols w:space="425"/>` +
		`<w:docGrid w:type="lines" w:linePitch="360"/></w:sectPr></w:body></w:document>`)
	pkg := ooxml.New()
	const name = "word/document.xml"
	err := pkg.Add("", ooxml.Part{
		Name: name, Type: relations + "officeDocument", ContentType: typeWord + "document.main+xml",
		Content: []byte(body.String()),
	})
	if err != nil {
		return nil, err
	}
	err = pkg.Add(name, ooxml.Part{
		Name: "styles.xml", Type: relations + "styles", ContentType: typeWord + "styles+xml", Content: styles,
	})
	if err != nil {
		return nil, err
	}
	return pkg.Bytes()
}
