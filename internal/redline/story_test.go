package redline_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/redline"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

const (
	officeRels = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
	wordType   = "application/vnd.openxmlformats-officedocument.wordprocessingml."
	wordSpace  = ` xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"`
)

// withStories returns a document with a header, a footer, footnotes and endnotes.
func withStories(t testing.TB) []byte {
	t.Helper()
	parts := map[string]string{
		"word/document.xml": head + `<w:p>` + r("本文") +
			`<w:r><w:footnoteReference w:id="2"/></w:r></w:p></w:body></w:document>`,
		"word/header1.xml": `<w:hdr` + wordSpace + `><w:p>` + r("ヘッダの誤り") + `</w:p></w:hdr>`,
		"word/footer1.xml": `<w:ftr` + wordSpace + `><w:p>` + r("フッタの誤り") + field("PAGE", "1") +
			`</w:p></w:ftr>`,
		"word/footnotes.xml": `<w:footnotes` + wordSpace + `><w:footnote w:type="separator" w:id="0"><w:p>` + r("線") +
			`</w:p></w:footnote><w:footnote w:id="2"><w:p>` + r("脚注の誤り") + `</w:p></w:footnote></w:footnotes>`,
		"word/endnotes.xml": `<w:endnotes` + wordSpace + `><w:endnote w:id="2"><w:p>` + r("文末脚注の誤り") +
			`</w:p></w:endnote></w:endnotes>`,
	}
	var rels, types strings.Builder
	for i, kind := range []string{"header", "footer", "footnotes", "endnotes"} {
		name := kind + map[bool]string{true: "1"}[i < 2] + ".xml"
		rels.WriteString(`<Relationship Id="s` + kind + `" Type="` + officeRels + kind + `" Target="` + name + `"/>`)
		types.WriteString(`<Override PartName="/word/` + name + `" ContentType="` + wordType + kind + `+xml"/>`)
	}
	file := packParts(t, parts)
	parts["word/_rels/document.xml.rels"] = strings.Replace(content(t, file, "word/_rels/document.xml.rels"),
		"</Relationships>", rels.String()+"</Relationships>", 1)
	parts["[Content_Types].xml"] = strings.Replace(content(t, file, "[Content_Types].xml"), "</Types>",
		types.String()+"</Types>", 1)
	return packParts(t, parts)
}

// field returns a field with its result.
func field(instruction, result string) string {
	return `<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>` + instruction + `</w:instrText></w:r>` +
		`<w:r><w:fldChar w:fldCharType="separate"/></w:r>` + r(result) + `<w:r><w:fldChar w:fldCharType="end"/></w:r>`
}

func TestNotesHeadersAndFootersAreProofread(t *testing.T) {
	t.Parallel()
	file := withStories(t)
	original := text(t, file)
	if want := "本文\nヘッダの誤り\nフッタの誤り1\n脚注の誤り\n文末脚注の誤り"; original != want {
		t.Fatalf("text %q, want %q", original, want)
	}
	var changes []redline.Change
	for i := range 4 {
		changes = append(changes, replace(t, original, "誤り", "訂正", "理由です。", i))
	}
	marked := must.Get(mark(file, changes...))(t)
	if got, want := text(t, marked), applied(original, changes); got != want {
		t.Errorf("marked %q, want %q", got, want)
	}
	for _, part := range []string{"header1", "footer1", "footnotes", "endnotes"} {
		got := content(t, marked, "word/"+part+".xml")
		if !strings.Contains(got, "<w:delText"+pre+">誤り") || strings.Contains(got, "comment") {
			t.Errorf("%s is %s", part, got)
		}
	}
	if n := strings.Count(content(t, marked, "word/comments.xml"), "「誤り」→「訂正」"); n != 4 {
		t.Errorf("%d comments at the end of the body", n)
	}
	path := filepath.Join(t.TempDir(), "stories.docx")
	must.Succeed(t, os.WriteFile(path, marked, 0o600))
	independent(t, []string{path})
	if accepted := readText(t, path+".accepted"); accepted != applied(original, changes) {
		t.Errorf("another library accepts %q", accepted)
	}
	if rejected := readText(t, path+".rejected"); rejected != original {
		t.Errorf("another library rejects %q", rejected)
	}
}

func TestFieldResultsAreNotChanged(t *testing.T) {
	t.Parallel()
	file := pack(t, `<w:p>`+field(`TOC \o "1-3"`, "目次の誤り")+`</w:p><w:p>`+field(`REF _a \h`, "見出しの誤り")+
		`<w:fldSimple w:instr=" PAGEREF b ">`+r("頁")+`</w:fldSimple>`+r("本文の誤り")+
		field(`HYPERLINK "https://example.jp"`, "案内の誤り")+`</w:p>`)
	original := text(t, file)
	if want := "\n見出しの誤り頁本文の誤り案内の誤り"; original != want {
		t.Fatalf("text %q, want %q", original, want)
	}
	var changes []redline.Change
	for i := range 3 {
		changes = append(changes, replace(t, original, "誤り", "訂正", "", i))
	}
	for name, by := range map[string]*redline.Author{"tracked": &author, "applied": nil} {
		got := must.Get(redline.Write(file, redline.Edit{Changes: changes, By: by}))(t)
		if got := text(t, got); got != "\n見出しの誤り頁本文の訂正案内の訂正" {
			t.Errorf("%s: %q", name, got)
		}
		if content(t, got, "word/comments.xml") != "" {
			t.Errorf("%s: the result of a field has a comment", name)
		}
	}
}

func TestFallbacksAreChangedWithTheirChoices(t *testing.T) {
	t.Parallel()
	box := func(choice, fallback string) string {
		return `<w:p>` + r("前") + `<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><w:txbxContent><w:p>` +
			r(choice) + `</w:p></w:txbxContent></w:drawing></mc:Choice><mc:Fallback><w:pict><w:txbxContent><w:p>` +
			r(fallback) + `</w:p></w:txbxContent></w:pict></mc:Fallback></mc:AlternateContent></w:r></w:p>`
	}
	same, other := box("箱の誤り", "箱の誤り"), box("別の誤り", "図の誤り")
	file := pack(t, same+other)
	original := text(t, file)
	changes := []redline.Change{replace(t, original, "誤り", "訂正", "理由", 0), replace(t, original, "誤り", "訂正", "", 1)}
	clean := must.Get(redline.Write(file, redline.Edit{Changes: changes}))(t)
	got := strings.ReplaceAll(strings.ReplaceAll(body(t, clean), pre, ""), "</w:t></w:r><w:r><w:t>", "")
	if want := box("箱の訂正", "箱の訂正") + box("別の訂正", "図の誤り"); got != want {
		t.Errorf("applied\n%s\nwant\n%s", got, want)
	}
	marked := must.Get(mark(file, changes...))(t)
	if n := strings.Count(body(t, marked), "<w:ins "); n != 3 {
		t.Errorf("%d insertions, want 3", n)
	}
	if n := strings.Count(body(t, marked), "commentReference"); n != 1 {
		t.Errorf("%d comments, want 1", n)
	}
	ids := make(map[string]bool)
	for _, change := range strings.Split(body(t, marked), ` w:id="`)[1:] {
		id, _, _ := strings.Cut(change, `"`)
		ids[id] = true
	}
	// Three ids belong to one comment.
	if n := strings.Count(body(t, marked), ` w:id="`); len(ids) != n-2 {
		t.Errorf("%d ids in %d places", len(ids), n)
	}
	if back := text(t, rejected(t, marked)); back != original {
		t.Errorf("rejected %q", back)
	}
}
