package extract_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

// par returns a Word paragraph with properties and a text.
func par(properties, text string) string {
	return "<w:p><w:pPr>" + properties + "</w:pPr>" + run(text) + "</w:p>"
}

func run(text string) string { return `<w:r><w:t xml:space="preserve">` + text + "</w:t></w:r>" }

func scriptRun(position, text string) string {
	return `<w:r><w:rPr><w:vertAlign w:val="` + position + `"/></w:rPr><w:t>` + text + "</w:t></w:r>"
}

func styled(style, text string) string { return par(`<w:pStyle w:val="`+style+`"/>`, text) }

func cell(properties string, texts ...string) string {
	out := "<w:tc><w:tcPr>" + properties + "</w:tcPr>"
	for _, text := range texts {
		out += par("", text)
	}
	return out + "</w:tc>"
}

func tableOf(rows ...string) string {
	return "<w:tbl><w:tblPr/><w:tblGrid/><w:tr>" + strings.Join(rows, "</w:tr><w:tr>") + "</w:tr></w:tbl>"
}

func numbered(id, level, text string) string {
	return par(`<w:numPr><w:ilvl w:val="`+level+`"/><w:numId w:val="`+id+`"/></w:numPr>`, text)
}

func field(code, result string) string {
	mark := func(kind string) string { return `<w:r><w:fldChar w:fldCharType="` + kind + `"/></w:r>` }
	return mark("begin") + "<w:r><w:instrText>" + code + "</w:instrText></w:r>" + mark("separate") +
		result + mark("end")
}

// codeField returns a paragraph with a field that has a code and no result.
func codeField(code string) string {
	half := strings.IndexByte(code, '\\') + 1
	return `<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText xml:space="preserve">` + code[:half] +
		"</w:instrText></w:r><w:r><w:instrText>" + code[half:] +
		`</w:instrText></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>`
}

func formBox(state string) string {
	return `<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:name w:val="a"/><w:checkBox><w:sizeAuto/>` + state +
		`</w:checkBox></w:ffData></w:fldChar></w:r><w:r><w:instrText> FORMCHECKBOX </w:instrText></w:r>` +
		`<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>`
}

func TestDOCX(t *testing.T) {
	t.Parallel()
	box := "<w:txbxContent>" + par("", "箱の中") + "</w:txbxContent>"
	tests := []struct{ name, body, want string }{
		{"paragraphs", par("", "　一"), "一"},
		{
			"runs", "<w:p>" + run("本日は") + `<w:r><w:rPr><w:b/></w:rPr><w:t>晴天</w:t></w:r>` + run("なり。") + "</w:p>",
			"本日は晴天なり。",
		},
		{
			"spaces",
			"<w:p>" + run("a ") + run("b") + "<w:r><w:t>\n c</w:t><w:tab/><w:t>d</w:t><w:br/><w:t>e</w:t></w:r></w:p>",
			"a b  c\td\ne",
		},
		{
			"signs", `<w:p><w:r><w:t>03</w:t><w:noBreakHyphen/><w:t>12</w:t><w:softHyphen/><w:t>34</w:t></w:r></w:p>`,
			"03-1234",
		},
		{
			"symbols",
			`<w:p><w:r><w:sym w:font="Wingdings" w:char="F0FE"/><w:sym w:font="Symbol" w:char="F061"/>` +
				`<w:sym w:font="MS Gothic" w:char="2610"/>` +
				"<w:t>\uF0FC可</w:t></w:r></w:p>", "☑α☐✓可",
		},
		{
			"ruby",
			"<w:p><w:r><w:ruby><w:rubyPr/><w:rt>" + run("すこぶ") + "</w:rt><w:rubyBase>" + run("頗") +
				"</w:rubyBase></w:ruby></w:r>" + run("る") + "</w:p>",
			"頗る",
		},
		{
			"hidden",
			"<w:p>" + run("一") + `<w:r><w:rPr><w:vanish/></w:rPr><w:t>秘</w:t></w:r><w:r><w:rPr><w:vanish w:val="0"/>` +
				`</w:rPr><w:t>二</w:t></w:r></w:p>`,
			"一二",
		},
		{
			"tracked changes", "<w:p>" + run("期限は") + "<w:del><w:r><w:delText>3月</w:delText></w:r></w:del><w:ins>" +
				run("4月") + "</w:ins>" +
				"<w:moveFrom>" + run("移動前") + "</w:moveFrom><w:moveTo>" + run("末") + "</w:moveTo></w:p>", "期限は4月末",
		},
		{
			"superscripts and subscripts",
			"<w:p>" + run("100m") + scriptRun("superscript", "2") + run("で10") + scriptRun("superscript", "-") +
				scriptRun("superscript", "3") + run("、CO") + scriptRun("subscript", "2") + run("は1,234") +
				scriptRun("superscript", "1)") + run("、A") + scriptRun("baseline", "4") + "</w:p>",
			"100m²で10⁻³、CO₂は1,234 ¹⁾、A4",
		},
		{"a deleted end of a paragraph", par("<w:rPr><w:del/></w:rPr>", "前半") + par("", "後半"), "前半後半"},
		{"a deleted end of the last paragraph", par("", "一") + par("<w:rPr><w:del/></w:rPr>", "二"), "一\n\n二"},
		{
			"a deleted end before a table",
			par("<w:rPr><w:del/></w:rPr>", "前") + tableOf(cell("", "一")+cell("", "二")) + par("", "後"),
			"前\n\n| 一 | 二 |\n|---|---|\n\n後",
		},
		{
			"a paragraph moved elsewhere",
			"<w:p><w:pPr><w:rPr><w:moveFrom/></w:rPr></w:pPr><w:moveFrom>" + run("移動") + "</w:moveFrom></w:p>" +
				par("", "本文") + "<w:p><w:pPr><w:rPr><w:moveTo/></w:rPr></w:pPr><w:moveTo>" + run("移動") + "</w:moveTo></w:p>",
			"本文\n\n移動",
		},
		{"fields", "<w:p>" + run("第") + field(" PAGE ", run("3")) + field(" IF "+"</w:instrText></w:r>"+field("REF a",
			run("秘"))+"<w:r><w:instrText>", run("頁")) + "</w:p>", "第3頁"},
		{
			"field over paragraphs", "<w:p>" +
				`<w:r><w:fldChar w:fldCharType="begin"/><w:instrText>TOC</w:instrText>` +
				`<w:fldChar w:fldCharType="separate"/></w:r>` + run("目次") + "</w:p>" +
				"<w:p>" + run("一") + `<w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>` + par("", "二"), "目次\n\n一\n\n二",
		},
		{
			"ruby as Word wrote it",
			codeField(` EQ \* jc2 \* "Font:ＭＳ 明朝" \* hps10 \o\ad(\s\up 9(すずき),鈴木)`) +
				codeField(`eq \o(\s\up 9(いち,に\)),一)`),
			"鈴木\n\n一",
		},
		{"a character in a circle", codeField(` EQ \o\ac(○,印) `), "印"},
		{"fractions and roots", codeField(`EQ \f(1,\r(3,x))+\x(箱)`), "1/√x+箱"},
		{
			"codes that are cut off",
			codeField(`EQ \o(`) + codeField(`EQ \`) + codeField(`EQUAL \o(a,b)`) + par("", "文"), "\\\n\n文",
		},
		{
			"check boxes of forms", "<w:p>" + formBox("") + run("賛成 ") +
				formBox(`<w:default w:val="1"/>`) + run("反対 ") +
				formBox(`<w:default w:val="1"/><w:checked w:val="0"/>`) + run("保留 ") + formBox("<w:checked/>") +
				run("棄権") + "</w:p>",
			"☐賛成 ☑反対 ☐保留 ☑棄権",
		},
		{"simple field", `<w:p><w:fldSimple w:instr="DATE">` + run("令和6年") + "</w:fldSimple></w:p>", "令和6年"},
		{
			"links and tags",
			`<w:p><w:hyperlink r:id="a"><w:smartTag>` + run("東京") + "</w:smartTag></w:hyperlink><w:customXml>" +
				run("都") + "</w:customXml></w:p>",
			"東京都",
		},
		{"content controls", "<w:sdt><w:sdtPr><w:alias w:val=\"名\"/></w:sdtPr><w:sdtContent>" + par("",
			"会社") + "</w:sdtContent></w:sdt><w:p><w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>" +
			run("クリックして入力") + "</w:sdtContent></w:sdt>" + run("御中") + "</w:p>", "会社\n\n御中"},
		{"text box, once", "<w:p>" + run("本文") +
			"<w:r><mc:AlternateContent><mc:Choice Requires=\"wps\"><w:drawing><wps:txbx>" + box +
			"</wps:txbx></w:drawing></mc:Choice>" +
			"<mc:Fallback><w:pict><v:textbox>" + box +
			"</v:textbox></w:pict></mc:Fallback></mc:AlternateContent></w:r>" + run("の続き") + "</w:p>", "本文の続き\n\n箱の中"},
		{
			"fallback of an empty choice",
			"<w:p><w:r><mc:AlternateContent><mc:Choice Requires=\"x\"><w:drawing/></mc:Choice><mc:Fallback>" +
				"<w:pict><v:textbox>" + box + "</v:textbox></w:pict></mc:Fallback></mc:AlternateContent></w:r></w:p>",
			"箱の中",
		},
		{
			"old text box and word art",
			`<w:p><w:r><w:pict><v:shape><v:textpath string="社外秘"/><v:textbox>` + box +
				"</v:textbox></v:shape></w:pict></w:r></w:p>",
			"社外秘\n\n箱の中",
		},
		{
			"picture",
			`<w:p><w:r><w:drawing><wp:docPr id="1" descr="組織&#10;図"/></w:drawing><w:drawing>` +
				`<wp:docPr descr="人の写真 自動的に生成された説明"/></w:drawing></w:r></w:p>`,
			"（図：組織 図）",
		},
		{
			"formula", "<w:p><m:oMath>" +
				"<m:r><m:t>E=mc</m:t></m:r><m:sSup><m:e/><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup>" +
				"<m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>b</m:t></m:r></m:den></m:f>" +
				"</m:oMath></w:p>",
			"E=mc^2a/b",
		},
		{
			"page breaks",
			"<w:p>" + run("一") + `<w:r><w:br w:type="page"/><w:lastRenderedPageBreak/></w:r>` + run("二") + "</w:p>",
			"一\n二",
		},
		{
			"table", tableOf(cell("", "氏名")+cell("", "部署"), cell("", "佐藤")+cell("", "営業", "一課")),
			"| 氏名 | 部署 |\n|---|---|\n| 佐藤 | 営業 一課 |",
		},
		{
			"merged cells", tableOf(cell("", "地方")+cell("", "県")+cell("", "数"),
				cell(`<w:vMerge w:val="restart"/>`, "関東")+cell("", "東京")+cell("", "1|2"),
				cell("<w:vMerge/>", "")+cell("", "千葉")+cell("", "3"),
				cell(`<w:gridSpan w:val="2"/>`, "全国")+cell("", "5")),
			"| 地方 | 県 | 数 |\n|---|---|---|\n| 関東 | 東京 | 1｜2 |\n| 関東 | 千葉 | 3 |\n| 全国 |  | 5 |",
		},
		{
			"a deleted row", tableOf("<w:trPr><w:del/></w:trPr>"+cell("", "旧")+cell("", "版"),
				cell("", "新")+cell("", "版")),
			"| 新 | 版 |\n|---|---|",
		},
		{"box", tableOf(cell("", "注意", "持ち出し禁止")), "注意\n\n持ち出し禁止"},
		{
			"table in a table", tableOf(
				cell("", "左") + "<w:tc>" + tableOf(cell("", "一")+cell("", "二")) + "<w:p/></w:tc>",
			),
			"左\n\n| 一 | 二 |\n|---|---|",
		},
		{"rows in content controls", "<w:tbl><w:sdt><w:sdtContent><w:tr>" + cell("",
			"一") + "<w:sdt><w:sdtContent>" + cell("", "二") +
			"</w:sdtContent></w:sdt></w:tr></w:sdtContent></w:sdt></w:tbl>", "| 一 | 二 |\n|---|---|"},
		{
			"Strict", "<s:p xmlns:s=\"http://purl.oclc.org/ooxml/wordprocessingml/main\"><s:r><s:t>厳密</s:t>" +
				"</s:r></s:p>",
			"厳密",
		},
	}
	for _, test := range tests {
		if got := pageOf(t, "a.docx", document(t, test.body)); got != test.want {
			t.Errorf("%s: read as %q, want %q", test.name, got, test.want)
		}
	}
}

func TestDOCXLongTableRepeatsItsHeader(t *testing.T) {
	t.Parallel()
	rows := []string{cell("", "品名") + cell("", "説明")}
	for range 30 {
		rows = append(rows, cell("", "みかん")+cell("", strings.Repeat("甘い", 20)))
	}
	blocks := strings.Split(pageOf(t, "a.docx", document(t, tableOf(rows...))), "\n\n")
	if len(blocks) < 3 {
		t.Fatalf("%d blocks", len(blocks))
	}
	for _, block := range blocks {
		if !strings.HasPrefix(block, "| 品名 | 説明 |\n|---|---|\n| みかん |") || utf8.RuneCountInString(block) > 400 {
			t.Errorf("block %q", block)
		}
	}
}

// TestDOCXLongTableRepeatsHeadingsOfTwoRows: the parts after the first one start with the headings of both rows.
func TestDOCXLongTableRepeatsHeadingsOfTwoRows(t *testing.T) {
	t.Parallel()
	rows := []string{
		cell(`<w:vMerge w:val="restart"/>`, "部門") + cell(`<w:gridSpan w:val="2"/>`, "上期") + cell(`<w:gridSpan w:val="2"/>`, "下期"),
		cell("<w:vMerge/>", "") + cell("", "予算") + cell("", "実績") + cell("", "予算") + cell("", "実績"),
	}
	for range 30 {
		rows = append(rows, cell("", "営業第一部")+strings.Repeat(cell("", "123,456"), 4))
	}
	blocks := strings.Split(pageOf(t, "a.docx", document(t, tableOf(rows...))), "\n\n")
	for i, block := range blocks {
		start := "| 部門 | 上期 予算 | 上期 実績 | 下期 予算 | 下期 実績 |\n|---|---|---|---|---|\n| 営業第一部 |"
		if i == 0 {
			start = "| 部門 | 上期 |  | 下期 |  |\n|---|---|---|---|---|\n| 部門 | 予算 | 実績 | 予算 | 実績 |\n| 営業第一部 |"
		}
		if n := utf8.RuneCountInString(block); len(blocks) < 3 || n > 400 || !strings.HasPrefix(block, start) {
			t.Errorf("block %d of %d has %d characters: %q", i+1, len(blocks), n, block)
		}
	}
}

const wordStyles = "<w:styles " + wordSpaces + `>
<w:style w:type="paragraph" w:default="1" w:styleId="a"><w:name w:val="Normal"/></w:style>
<w:style w:type="paragraph" w:styleId="1"><w:name w:val="heading 1"/><w:basedOn w:val="a"/>
<w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="22"><w:name w:val="見出し ２"/><w:basedOn w:val="22"/></w:style>
<w:style w:type="paragraph" w:styleId="own"><w:name w:val="章題"/><w:basedOn w:val="1"/></w:style>
<w:style w:type="paragraph" w:styleId="plain"><w:name w:val="本文"/><w:basedOn w:val="1"/>
<w:pPr><w:outlineLvl w:val="9"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="t"><w:name w:val="Title"/></w:style>
<w:style w:type="paragraph" w:styleId="jo"><w:name w:val="条"/>
<w:pPr><w:numPr><w:numId w:val="3"/></w:numPr></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="z"><w:name w:val="HTML Top of Form"/><w:basedOn w:val="a"/>
<w:rPr><w:vanish/></w:rPr></w:style>
<w:style w:type="paragraph" w:styleId="zz"><w:name w:val="z2"/><w:basedOn w:val="z"/></w:style>
<w:style w:type="character" w:styleId="h"><w:name w:val="隠し"/><w:rPr><w:vanish/></w:rPr></w:style>
<w:style w:type="character" w:styleId="hh"><w:name w:val="隠し2"/><w:basedOn w:val="h"/></w:style>
<w:style w:type="character" w:styleId="hs"><w:name w:val="表示"/><w:basedOn w:val="h"/>
<w:rPr><w:vanish w:val="0"/></w:rPr></w:style>
</w:styles>`

const wordNumbers = "<w:numbering " + wordSpaces + `>
<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimalFullWidth"/>
<w:lvlText w:val="%1．"/></w:lvl>
<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="aiueoFullWidth"/>
<w:lvlText w:val="%1-%2"/></w:lvl></w:abstractNum>
<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/>
<w:lvlText w:val="&#xF0B7;"/></w:lvl></w:abstractNum>
<w:abstractNum w:abstractNumId="2"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="japaneseCounting"/>
<w:lvlText w:val="第%1章"/></w:lvl>
<w:lvl w:ilvl="1"><w:start w:val="9"/><w:numFmt w:val="decimal"/><w:lvlText w:val="第%2条"/>
<w:pStyle w:val="jo"/></w:lvl></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>
<w:num w:numId="3"><w:abstractNumId w:val="2"/></w:num>
<w:num w:numId="4"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride>
</w:num>
</w:numbering>`

// TestDOCXHiddenByStyle reads text that the style of a paragraph or of characters hides. Word writes such paragraphs
// around the forms of a pasted web page.
func TestDOCXHiddenByStyle(t *testing.T) {
	t.Parallel()
	as := func(properties, text string) string {
		return "<w:r><w:rPr>" + properties + `</w:rPr><w:t xml:space="preserve">` + text + "</w:t></w:r>"
	}
	body := styled("z", "フォームの始まり") + styled("zz", "フォームの終わり") + "<w:p>" + run("一") + as(`<w:rStyle w:val="h"/>`, "秘") +
		as(`<w:rStyle w:val="hh"/>`, "密") + as(`<w:rStyle w:val="hs"/>`, "二") +
		as(`<w:rStyle w:val="h"/><w:vanish w:val="0"/>`, "三") + "</w:p>" +
		`<w:p><w:pPr><w:pStyle w:val="z"/></w:pPr>` + as(`<w:vanish w:val="0"/>`, "四") + "</w:p>"
	if got, want := pageOf(t, "a.docx", wholeDocument(t, body)), "一二三\n\n四\n\n社外秘\n\n総務部"; got != want {
		t.Errorf("read as %q, want %q", got, want)
	}
}

func wholeDocument(t testing.TB, body string) []byte {
	return document(t,
		body+`<w:sectPr><w:headerReference w:type="default" r:id="h1"/>`+
			`<w:footerReference w:type="default" r:id="f1"/><w:headerReference w:type="first" r:id="h2"/></w:sectPr>`,
		"word/_rels/document.xml.rels", relations("s", "styles", "styles.xml", "n", "numbering", "/word/numbering.xml",
			"fn", "footnotes", "footnotes.xml",
			"en", "endnotes", "endnotes.xml", "h1", "header", "header1.xml", "h2", "header", "header2.xml", "f1",
			"footer", "footer1.xml",
			"c1", "chart", "charts/chart1.xml", "d1", "diagramData", "diagrams/data1.xml", "x", "comments",
			"comments.xml"),
		"word/styles.xml", wordStyles, "word/numbering.xml", wordNumbers,
		"word/footnotes.xml", "<w:footnotes "+wordSpaces+`><w:footnote w:type="separator" w:id="-1">`+par("",
			"線")+`</w:footnote><w:footnote w:id="1"><w:p><w:r><w:footnoteRef/></w:r>`+run(" 脚注の文")+
			"</w:p></w:footnote></w:footnotes>",
		"word/endnotes.xml", "<w:endnotes "+wordSpaces+`><w:endnote w:id="1">`+par("",
			"文末の注")+"</w:endnote></w:endnotes>",
		"word/header1.xml", "<w:hdr "+wordSpaces+">"+par("", "社外秘")+"</w:hdr>", "word/header2.xml",
		"<w:hdr "+wordSpaces+">"+par("", "社外秘")+"</w:hdr>",
		"word/footer1.xml", "<w:ftr "+wordSpaces+"><w:p>"+run("- ")+field("PAGE", run("1"))+run(" -")+"</w:p>"+par("",
			"総務部")+"</w:ftr>",
		"word/comments.xml", "<w:comments "+wordSpaces+">"+par("", "所見")+"</w:comments>",
		"word/charts/chart1.xml", chartXML, "word/diagrams/data1.xml", diagramXML)
}

const (
	chartXML = `<c:chartSpace ` + wordSpaces +
		`><c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>売上</a:t></a:r></a:p></c:rich></c:tx></c:title>
<c:plotArea><c:barChart>
<c:ser><c:tx><c:strRef><c:f>Sheet1!$B$1</c:f><c:strCache><c:pt idx="0"><c:v>東京</c:v></c:pt></c:strCache></c:strRef>
</c:tx>
<c:cat><c:strRef><c:strCache><c:ptCount val="2"/><c:pt idx="0"><c:v>4月</c:v></c:pt>
<c:pt idx="1"><c:v>5月</c:v></c:pt></c:strCache></c:strRef></c:cat>
<c:val><c:numRef><c:numCache><c:formatCode>General</c:formatCode><c:pt idx="0"><c:v>0.30000000000000004</c:v></c:pt>
<c:pt idx="1"><c:v>1200</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser>
</c:barChart></c:plotArea></c:chart></c:chartSpace>`
	diagramXML = `<dgm:dataModel ` + wordSpaces +
		`><dgm:ptLst><dgm:pt type="doc"/><dgm:pt><dgm:t><a:p><a:r><a:t>企</a:t></a:r>
<a:r><a:t>画</a:t></a:r></a:p></dgm:t></dgm:pt>
<dgm:pt type="pres"><dgm:t><a:p><a:r><a:t>見本</a:t></a:r></a:p></dgm:t></dgm:pt>
<dgm:pt type="node"><dgm:t><a:p><a:r><a:t>開発</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst></dgm:dataModel>`
)

func TestDOCXWithAllItsParts(t *testing.T) {
	t.Parallel()
	got := must.Get(formatOf(t, "a.docm").Pages(t.Context(), wholeDocument(t, styled("t", "就業規則")+
		par(`<w:pStyle w:val="1"/><w:numPr><w:numId w:val="3"/></w:numPr>`, "総則")+styled("jo", "目的")+styled("plain",
		"本文。")+styled("jo", "定義")+
		styled("22", "補足")+"<w:p>"+run("賃金")+`<w:r><w:footnoteReference w:id="1"/></w:r>`+run("は月給。")+
		`<w:r><w:endnoteReference w:id="1"/></w:r></w:p>`+
		numbered("1", "0", "甲")+
		`<w:p><w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr><w:rPr><w:moveFrom/></w:rPr></w:pPr>`+
		"<w:moveFrom>"+run("移動")+"</w:moveFrom></w:p>"+numbered("1", "1", "乙")+numbered("1", "1", "丙")+numbered("1", "0", "丁")+numbered("2",
		"0", "点")+numbered("4", "0", "新")+numbered("0", "0", "無")+
		styled("own", "図")+`<w:p><w:r><w:drawing><c:chart r:id="c1"/></w:drawing><w:drawing><dgm:relIds r:dm="d1"/>`+
		`</w:drawing></w:r></w:p>`)))(t)
	want := `# 就業規則

# 第一章 総則

第9条 目的

本文。

第10条 定義

## 補足

賃金（注1）は月給。（注2）

注1：脚注の文

注2：文末の注

１． 甲
  １-ア 乙
  １-イ 丙
２． 丁
- 点
１． 新

無

# 図

売上

| 項目 | 東京 |
|---|---|
| 4月 | 0.3 |
| 5月 | 1200 |

- 企画
- 開発

社外秘

総務部`
	if got[0].Text != want {
		t.Errorf("read as\n%s\nwant\n%s", got[0].Text, want)
	}
	var paths []string
	for _, m := range got[0].Marks {
		paths = append(paths, m.Locator)
	}
	if want := []string{
		"就業規則", "第一章 総則", "第一章 総則 > 第9条 目的", "第一章 総則 > 第10条 定義", "第一章 総則 > 補足",
		"図",
	}; !slices.Equal(paths, want) {
		t.Errorf("marks %q, want %q", paths, want)
	}
}
