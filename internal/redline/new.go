package redline

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"strings"
)

//go:embed styles.xml
var styles []byte

// New returns an A4 document in a Japanese font with one paragraph for each line of text. It serves as the base for
// Write.
func New(text string) ([]byte, error) {
	var body strings.Builder
	body.WriteString(xmlHead + `<w:document xmlns:w="` + spaceW + `"><w:body>`)
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
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, part := range []struct {
		name    string
		content []byte
	}{
		{contentTypes, []byte(xmlHead + `<Types xmlns="` + spaceTypes + `">` +
			`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
			`<Default Extension="xml" ContentType="application/xml"/>` +
			`<Override PartName="/word/document.xml" ContentType="` + typeDocument + `document.main+xml"/>` +
			`<Override PartName="/word/styles.xml" ContentType="` + typeDocument + `styles+xml"/></Types>`)},
		{"_rels/.rels", relsPart(`officeDocument" Target="word/document.xml`)},
		{"word/_rels/document.xml.rels", relsPart(`styles" Target="styles.xml`)},
		{"word/document.xml", []byte(body.String())},
		{"word/styles.xml", styles},
	} {
		if err := add(w, &zip.FileHeader{Name: part.name, Method: zip.Deflate}, part.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

const typeDocument = "application/vnd.openxmlformats-officedocument.wordprocessingml."

func relsPart(only string) []byte {
	return []byte(xmlHead + `<Relationships xmlns="` + spaceRels + `"><Relationship Id="rId1" Type="` + relations +
		only + `"/></Relationships>`)
}
