package redline_test

import (
	"archive/zip"
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/ooxml"
	"github.com/tsumugi-ai/tsumugi/internal/redline"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

var author = redline.Author{Name: "紡", Time: time.Date(2026, 11, 23, 18, 30, 0, 0, time.UTC)}

// mark returns a file with tracked changes.
func mark(file []byte, changes ...redline.Change) ([]byte, error) {
	return redline.Write(file, redline.Edit{Changes: changes, By: &author})
}

// r returns a run.
func r(text string) string { return "<w:r><w:t>" + text + "</w:t></w:r>" }

const head = `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" ` +
	`xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" ` +
	`xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"><w:body>`

// pack returns a document with a body.
func pack(t testing.TB, body string) []byte {
	t.Helper()
	return packParts(t, map[string]string{"word/document.xml": head + body + `</w:body></w:document>`})
}

// packParts returns a document with parts that replace or extend those of New.
func packParts(t testing.TB, parts map[string]string) []byte {
	t.Helper()
	file := must.Get(redline.New(""))(t)
	return withParts(t, file, parts)
}

// withParts returns a file with other or additional parts.
func withParts(t testing.TB, file []byte, parts map[string]string) []byte {
	t.Helper()
	pkg, err := ooxml.Open(t.Context(), file)
	must.Succeed(t, err)
	for name, text := range parts {
		pkg.Replace(name, []byte(text))
	}
	if file, err = pkg.Bytes(); err != nil {
		t.Fatal(err)
	}
	return file
}

func archive(t testing.TB, file []byte) *zip.Reader {
	t.Helper()
	r := must.Get(zip.NewReader(bytes.NewReader(file), int64(len(file))))(t)
	return r
}

func names(t testing.TB, file []byte) (all []string) {
	t.Helper()
	for _, f := range archive(t, file).File {
		all = append(all, f.Name)
	}
	return all
}

// content returns the content of a part, "" if the part does not exist.
func content(t testing.TB, file []byte, name string) string {
	t.Helper()
	for _, f := range archive(t, file).File {
		if f.Name != name {
			continue
		}
		r := must.Get(f.Open())(t)
		b := must.Get(io.ReadAll(r))(t)
		return string(b)
	}
	return ""
}

func body(t testing.TB, file []byte) string {
	t.Helper()
	inner := strings.TrimPrefix(content(t, file, "word/document.xml"), head)
	return strings.TrimSuffix(inner, "</w:body></w:document>")
}

func text(t testing.TB, file []byte) string {
	t.Helper()
	got := must.Get(redline.Text(file))(t)
	return got
}

// replace returns the change of the nth occurrence of before in a text, from 0.
func replace(t testing.TB, text, before, after, comment string, nth int) redline.Change {
	t.Helper()
	at := 0
	for range nth + 1 {
		i := strings.Index(text[at:], before)
		if i < 0 {
			t.Fatalf("no %q in %q", before, text)
		}
		at += i + len(before)
	}
	return redline.Change{Start: at - len(before), Before: before, After: after, Comment: comment}
}

// applied returns a text with changes applied.
func applied(text string, changes []redline.Change) string {
	var out strings.Builder
	at := 0
	for _, c := range changes {
		out.WriteString(text[at:c.Start] + c.After)
		at = c.Start + len(c.Before)
	}
	return out.String() + text[at:]
}

var (
	inserted = regexp.MustCompile(`(?s)<w:ins( xmlns:w="[^"]*")? w:id="\d+" w:author="紡"[^>]*>.*?</w:ins>`)
	deleted  = regexp.MustCompile(`(?s)<w:del( xmlns:w="[^"]*")? w:id="\d+" w:author="紡"[^>]*>(.*?)</w:del>`)
)

// rejected returns a file with the author's tracked changes rejected.
func rejected(t testing.TB, file []byte) []byte {
	t.Helper()
	parts := make(map[string]string)
	for _, name := range names(t, file) {
		parts[name] = content(t, file, name)
	}
	for name, part := range parts {
		part = inserted.ReplaceAllString(part, "")
		parts[name] = deleted.ReplaceAllStringFunc(part, func(s string) string {
			return strings.ReplaceAll(deleted.FindStringSubmatch(s)[2], "delText", "t")
		})
	}
	return packParts(t, parts)
}

// texts are bodies of documents and their expected texts.
var texts = map[string]struct{ body, want string }{
	"paragraphs": {`<w:p>` + r("一") + `</w:p><w:p/><w:p>` + r("二") + `</w:p>`, "一\n\n二"},
	"runs":       {`<w:p>` + r("東") + `<w:proofErr w:type="x"/>` + r("京") + `</w:p>`, "東京"},
	"spaces": {
		`<w:p><w:r><w:t` + pre + `>a </w:t><w:t> b </w:t><w:t` + pre + `> c&#10;d</w:t></w:r></w:p>`,
		"a b c d",
	},
	"entities": {`<w:p><w:r><w:t>&lt;A&amp;B&gt;&#x7D21;<![CDATA[<c>]]></w:t></w:r></w:p>`, "<A&B>紡<c>"},
	"tabs and breaks": {
		`<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/><w:softHyphen/><w:t>d</w:t>` +
			`</w:r></w:p>`,
		"a\tb\nc\u2011d",
	},
	"ruby": {`<w:p>` + r("私は") + `<w:r><w:ruby><w:rt>` + r("つむぎ") + `</w:rt><w:rubyBase>` +
		r("紡") + `</w:rubyBase></w:ruby></w:r>` + r("です") + `</w:p>`, "私は紡です"},
	"tracked": {`<w:p>` + r("a") + `<w:del w:id="1"><w:r><w:delText>b</w:delText></w:r></w:del>` +
		`<w:ins w:id="2">` + r("c") + `</w:ins><w:moveFrom w:id="3">` + r("d") + `</w:moveFrom>` +
		`<w:moveTo w:id="4">` + r("e") + `</w:moveTo></w:p>`, "ace"},
	"deleted end": {`<w:p><w:pPr><w:rPr><w:del w:id="1"/></w:rPr></w:pPr>` + r("前") + `</w:p>` +
		`<w:p>` + r("後") + `</w:p>`, "前後"},
	"hidden": {`<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>a</w:t></w:r>` +
		`<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>b</w:t></w:r></w:p>`, "b"},
	"field": {
		`<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>REF x</w:instrText></w:r>` +
			r("code") + `<w:r><w:fldChar w:fldCharType="separate"/></w:r>` + r("結果") +
			`<w:r><w:fldChar w:fldCharType="end"/></w:r><w:fldSimple w:instr="DATE">` + r("今日") + `</w:fldSimple></w:p>`,
		"結果今日",
	},
	"containers": {
		`<w:p><w:hyperlink w:anchor="x">` + r("a") + `</w:hyperlink><w:smartTag>` + r("b") +
			`</w:smartTag><w:sdt><w:sdtPr/><w:sdtContent>` + r("c") + `</w:sdtContent></w:sdt>` +
			`<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>` + r("入力してください") + `</w:sdtContent></w:sdt></w:p>`,
		"abc",
	},
	"table": {`<w:tbl><w:tblPr/><w:tr><w:tc><w:tcPr/><w:p>` + r("a") + `</w:p></w:tc><w:tc><w:p>` + r("b") +
		`</w:p></w:tc></w:tr></w:tbl><w:p>` + r("c") + `</w:p>`, "a\nb\nc"},
	"text box": {`<w:p>` + r("a") + `<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><w:txbxContent>` +
		`<w:p>` + r("箱") + `</w:p></w:txbxContent></w:drawing></mc:Choice><mc:Fallback><w:pict><w:txbxContent><w:p>` +
		r("箱") + `</w:p></w:txbxContent></w:pict></mc:Fallback></mc:AlternateContent></w:r>` + r("b") + `</w:p>` +
		`<w:p>` + r("c") + `</w:p>`, "ab\n箱\nc"},
	"formula": {`<w:p>` + r("式") + `<m:oMath><m:r><m:t>x=1</m:t></m:r></m:oMath>` + r("を") + `</w:p>`, "式x=1を"},
}

func TestText(t *testing.T) {
	t.Parallel()
	for name, test := range texts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := text(t, pack(t, test.body)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestTextThatAStyleHidesIsOmitted(t *testing.T) {
	t.Parallel()
	style := func(kind, id, content string) string {
		return `<w:style w:type="` + kind + `" w:styleId="` + id + `">` + content + `</w:style>`
	}
	const vanish = `<w:rPr><w:vanish/></w:rPr>`
	styles := `<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">` +
		style("paragraph", "p", vanish) + style("paragraph", "q", `<w:basedOn w:val="p"/>`) +
		style("paragraph", "shown", `<w:basedOn w:val="p"/><w:rPr><w:vanish w:val="0"/></w:rPr>`) +
		style("character", "c", vanish) + style("character", "cycle", `<w:basedOn w:val="cycle"/>`) + `</w:styles>`
	in := func(style, runs string) string {
		return `<w:p><w:pPr><w:pStyle w:val="` + style + `"/></w:pPr>` + runs + `</w:p>`
	}
	as := func(properties, text string) string {
		return `<w:r><w:rPr>` + properties + `</w:rPr><w:t>` + text + `</w:t></w:r>`
	}
	file := packParts(t, map[string]string{"word/styles.xml": styles, "word/document.xml": head +
		in("p", r("a")) + in("q", r("b")+as(`<w:vanish w:val="0"/>`, "一")) + in("shown", r("二")) +
		in("unknown", as(`<w:rStyle w:val="c"/>`, "c")+as(`<w:rStyle w:val="cycle"/>`, "三")) +
		in("p", as(`<w:rStyle w:val="c"/>`, "四")+as(`<w:rStyle w:val="c"/><w:vanish/>`, "d")) +
		`</w:body></w:document>`})
	if got := text(t, file); got != "\n一\n二\n三\n四" {
		t.Errorf("got %q", got)
	}
	marked := must.Get(mark(file, replace(t, text(t, file), "二", "弐", "", 0)))(t)
	if got := text(t, marked); got != "\n一\n弐\n三\n四" {
		t.Errorf("changed: %q", got)
	}
}

const (
	by  = ` w:author="紡" w:date="2026-11-23T18:30:00Z"`
	pre = ` xml:space="preserve"`
)

// TestRedline compares the written XML byte for byte.
func TestRedline(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ body, before, after, comment, want string }{
		"within a run": {
			`<w:p><w:r w:rsidR="1"><w:rPr><w:b/></w:rPr><w:t>弊社をご利用頂く</w:t></w:r></w:p>`, "頂", "いただ", "",
			`<w:p><w:r w:rsidR="1"><w:rPr><w:b/></w:rPr><w:t` + pre + `>弊社をご利用</w:t></w:r>` +
				`<w:del w:id="1"` + by + `><w:r w:rsidR="1"><w:rPr><w:b/></w:rPr><w:delText` + pre + `>頂</w:delText></w:r>` +
				`</w:del>` +
				`<w:ins w:id="2"` + by + `><w:r><w:rPr><w:b/></w:rPr><w:t` + pre + `>いただ</w:t></w:r></w:ins>` +
				`<w:r w:rsidR="1"><w:rPr><w:b/></w:rPr><w:t` + pre + `>く</w:t></w:r></w:p>`,
		},
		"over runs, with a comment": {
			`<w:p><w:r><w:rPr><w:b/></w:rPr><w:t>東</w:t></w:r><w:bookmarkEnd w:id="7"/>` + r("京") + `</w:p>`,
			"東京", "大阪", "支社の名前です。",
			`<w:p><w:commentRangeStart w:id="1"/><w:del w:id="2"` + by + `><w:r><w:rPr><w:b/></w:rPr><w:delText` + pre +
				`>東</w:delText></w:r></w:del><w:bookmarkEnd w:id="7"/><w:del w:id="3"` + by + `><w:r><w:delText` + pre +
				`>京</w:delText></w:r></w:del><w:ins w:id="4"` + by + `><w:r><w:rPr><w:b/></w:rPr><w:t` + pre +
				`>大阪</w:t></w:r></w:ins><w:commentRangeEnd w:id="1"/><w:r><w:commentReference w:id="1"/></w:r></w:p>`,
		},
		"insertion": {
			`<w:p>` + r("ab") + `</w:p>`, "", "x\ty", "",
			`<w:p><w:ins w:id="1"` + by + `><w:r><w:t` + pre + `>x</w:t><w:tab/><w:t` + pre + `>y</w:t></w:r></w:ins>` +
				`<w:r><w:t` + pre + `>ab</w:t></w:r></w:p>`,
		},
		"a footnote stays": {
			`<w:p><w:r><w:t>誤</w:t><w:footnoteReference w:id="2"/><w:t>字</w:t></w:r></w:p>`, "誤字", "", "",
			`<w:p><w:del w:id="1"` + by + `><w:r><w:delText` + pre + `>誤</w:delText></w:r></w:del>` +
				`<w:r><w:footnoteReference w:id="2"/></w:r>` +
				`<w:del w:id="3"` + by + `><w:r><w:delText` + pre + `>字</w:delText></w:r></w:del></w:p>`,
		},
		"within another's insertion": {
			`<w:p><w:ins w:id="5" w:author="A&amp;B" w:date="D">` + r("追加") + `</w:ins></w:p>`, "加", "記", "",
			`<w:p><w:ins w:id="5" w:author="A&amp;B" w:date="D"><w:r><w:t` + pre + `>追</w:t></w:r>` +
				`<w:del w:id="1"` + by + `><w:r><w:delText` + pre + `>加</w:delText></w:r></w:del></w:ins>` +
				`<w:ins w:id="2"` + by + `><w:r><w:t` + pre + `>記</w:t></w:r></w:ins>` +
				`<w:ins w:id="3" w:author="A&amp;B" w:date="D"></w:ins></w:p>`,
		},
		"changed properties": {
			`<w:p><w:r><w:rPr><w:b/><w:rPrChange w:id="5" w:author="A" w:date="D"><w:rPr><w:i/></w:rPr></w:rPrChange>` +
				`</w:rPr>` +
				`<w:t>ab</w:t></w:r></w:p>`, "b", "c", "",
			`<w:p><w:r><w:rPr><w:b/><w:rPrChange w:id="5" w:author="A" w:date="D"><w:rPr><w:i/></w:rPr></w:rPrChange>` +
				`</w:rPr>` +
				`<w:t` + pre + `>a</w:t></w:r><w:del w:id="1"` + by + `><w:r><w:rPr><w:b/>` +
				`<w:rPrChange w:id="2" w:author="A" w:date="D"><w:rPr><w:i/></w:rPr></w:rPrChange></w:rPr>` +
				`<w:delText` + pre + `>b</w:delText></w:r></w:del>` +
				`<w:ins w:id="3"` + by + `><w:r><w:rPr><w:b/></w:rPr>` +
				`<w:t` + pre + `>c</w:t></w:r></w:ins></w:p>`,
		},
		"a part of text with ruby": {
			`<w:p><w:r><w:ruby><w:rt>` + r("とうきょう") + `</w:rt><w:rubyBase>` + r("東京") + `</w:rubyBase></w:ruby>` +
				`</w:r></w:p>`,
			"京", "都", "",
			`<w:p><w:del w:id="1"` + by + `><w:r><w:ruby><w:rt><w:r><w:delText>とうきょう</w:delText></w:r></w:rt>` +
				`<w:rubyBase>` +
				`<w:r><w:delText>東京</w:delText></w:r></w:rubyBase></w:ruby></w:r></w:del>` +
				`<w:ins w:id="2"` + by + `><w:r><w:t` + pre + `>東都</w:t></w:r></w:ins></w:p>`,
		},
		"across paragraphs, only a comment": {
			`<w:p>` + r("a") + `</w:p><w:p>` + r("b") + `</w:p>`, "a\nb", "ab", "",
			`<w:p><w:commentRangeStart w:id="1"/><w:r><w:t` + pre + `>a</w:t></w:r></w:p>` +
				`<w:p><w:r><w:t` + pre + `>b</w:t></w:r>` +
				`<w:commentRangeEnd w:id="1"/><w:r><w:commentReference w:id="1"/></w:r></w:p>`,
		},
		"in an empty paragraph": {
			`<w:p />`, "", "追記", "",
			`<w:p ><w:ins w:id="1"` + by + `><w:r><w:t` + pre + `>追記</w:t></w:r></w:ins></w:p>`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := pack(t, test.body)
			original := text(t, file)
			change := replace(t, original, test.before, test.after, test.comment, 0)
			got := must.Get(mark(file, change))(t)
			if body := body(t, got); body != test.want {
				t.Errorf("got  %s\nwant %s", body, test.want)
			}
			if back := text(t, rejected(t, got)); back != original {
				t.Errorf("rejected: %q, want %q", back, original)
			}
		})
	}
}
