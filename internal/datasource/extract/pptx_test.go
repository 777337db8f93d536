package extract_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

const slideSpaces = `xmlns:cx="http://schemas.microsoft.com/office/drawing/2014/chartex"
 xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"
 xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main" ` + wordSpaces

const chartExXML = `<cx:chartSpace xmlns:cx="http://schemas.microsoft.com/office/drawing/2014/chartex"
 xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">
<cx:chartData><cx:data id="0"><cx:strDim type="cat"><cx:f>A2:B3</cx:f><cx:lvl ptCount="2"><cx:pt idx="0">4月</cx:pt>
<cx:pt idx="1">5月</cx:pt></cx:lvl>
<cx:lvl ptCount="2"><cx:pt idx="0">上期</cx:pt><cx:pt idx="1">上期</cx:pt></cx:lvl></cx:strDim>
<cx:numDim type="val"><cx:f>C2:C3</cx:f><cx:lvl ptCount="2" formatCode="General"><cx:pt idx="0">120</cx:pt>
<cx:pt idx="1">-30</cx:pt></cx:lvl></cx:numDim></cx:data></cx:chartData>
<cx:chart><cx:title><cx:tx><cx:rich><a:p><a:r><a:t>増減</a:t></a:r></a:p></cx:rich></cx:tx></cx:title>
<cx:plotArea><cx:plotAreaRegion><cx:series layoutId="waterfall"><cx:tx><cx:txData><cx:f>C1</cx:f>
<cx:v>利益</cx:v></cx:txData></cx:tx><cx:dataId val="0"/></cx:series></cx:plotAreaRegion></cx:plotArea></cx:chart>
</cx:chartSpace>`

func textShape(placeholder, paragraphs string) string {
	return `<p:sp><p:nvSpPr><p:cNvPr id="2" name="a"/><p:cNvSpPr/><p:nvPr>` + placeholder +
		"</p:nvPr></p:nvSpPr><p:spPr/>" +
		"<p:txBody><a:bodyPr/><a:lstStyle/>" + paragraphs + "</p:txBody></p:sp>"
}

func line(properties, text string) string {
	return "<a:p><a:pPr " + properties + "</a:pPr><a:r><a:rPr/><a:t>" + text + "</a:t></a:r><a:endParaRPr/></a:p>"
}

func slideXML(attributes, shapes string) string {
	return "<p:sld " + slideSpaces + " " + attributes + `><p:cSld><p:spTree><p:nvGrpSpPr/><p:grpSpPr/>` + shapes +
		"</p:spTree></p:cSld></p:sld>"
}

// presentation returns a presentation of slides. The names of their parts are in reverse order.
func presentation(t testing.TB, slides []string, parts ...string) []byte {
	t.Helper()
	list, rels := "", []string{"m", "slideMaster", "slideMasters/m.xml"}
	for i := range slides {
		list += fmt.Sprintf(`<p:sldId id="%d" r:id="r%d"/>`, 256+i, i)
		rels = append(rels, fmt.Sprintf("r%d", i), "slide", fmt.Sprintf("slides/slide%d.xml", len(slides)-i))
	}
	all := []string{
		"_rels/.rels", relations("a", "officeDocument", "ppt/presentation.xml"), "ppt/_rels/presentation.xml.rels",
		relations(rels...),
		"ppt/presentation.xml", "<p:presentation " + slideSpaces +
			`><p:sldMasterIdLst><p:sldMasterId r:id="m"/></p:sldMasterIdLst><p:sldIdLst>` + list +
			"</p:sldIdLst></p:presentation>",
	}
	for i, slide := range slides {
		all = append(all, fmt.Sprintf("ppt/slides/slide%d.xml", len(slides)-i), slide)
	}
	return archive(t, append(all, parts...)...)
}

func TestPPTX(t *testing.T) {
	t.Parallel()
	table := `<p:graphicFrame><a:graphic><a:graphicData><a:tbl><a:tblPr/><a:tblGrid/><a:tr><a:tc><a:txBody>` + line(">",
		"地方") + `</a:txBody></a:tc><a:tc><a:txBody>` + line(">", "県") +
		`</a:txBody></a:tc></a:tr><a:tr><a:tc rowSpan="2"><a:txBody>` + line(">",
		"関東") + `</a:txBody></a:tc><a:tc><a:txBody>` + line(">", "東京") + line(">",
		"都") + `</a:txBody></a:tc></a:tr>` +
		`<a:tr><a:tc vMerge="1"><a:txBody><a:p/></a:txBody></a:tc><a:tc><a:txBody>` + line(">",
		"千葉") + `</a:txBody></a:tc></a:tr>` +
		`<a:tr><a:tc gridSpan="2"><a:txBody>` + line(">", "全国") +
		`</a:txBody></a:tc><a:tc hMerge="1"><a:txBody><a:p/></a:txBody></a:tc></a:tr></a:tbl></a:graphicData>` +
		`</a:graphic></p:graphicFrame>`
	tests := []struct{ name, shapes, want string }{
		{
			"title first", textShape("", line(">", "文")) + textShape(`<p:ph type="ctrTitle"/>`, line(">", "事業\n計画")),
			"# 事業 計画\n\n文",
		},
		{
			"body", textShape(`<p:ph idx="1"/>`, line(">", "一")+line(`lvl="1">`, "二")+line("><a:buNone/>", "三")),
			"- 一\n  - 二\n三",
		},
		{"text box", textShape("", line(">", "一")+line(`><a:buChar char="•"/>`, "二")), "一\n- 二"},
		{
			"numbers", textShape("", line(`><a:buAutoNum type="arabicPeriod"/>`,
				"一")+line(`lvl="1"><a:buAutoNum type="alphaLcParenR"/>`, "二")+
				line(`><a:buAutoNum type="arabicPeriod"/>`, "三")+
				line(`lvl="1"><a:buAutoNum type="circleNumDbPlain" startAt="3"/>`, "四")), "1. 一\n  a) 二\n2. 三\n  ③ 四",
		},
		{
			"numbers that start again", textShape("", line(`><a:buAutoNum type="arabicPeriod"/>`, "一")+
				line(`><a:buAutoNum type="arabicPeriod"/>`, "二")+line(">", "区切り")+
				line(`><a:buAutoNum type="arabicPeriod"/>`, "三")+line(`lvl="1">`, "補足")+
				line(`><a:buAutoNum type="arabicPeriod"/>`, "四")+line(`><a:buAutoNum type="arabicParenR"/>`, "五")+
				line(`><a:buAutoNum type="arabicParenR" startAt="7"/>`, "六")+
				line(`><a:buAutoNum type="arabicParenR" startAt="7"/>`, "七")),
			"1. 一\n2. 二\n区切り\n1. 三\n補足\n2. 四\n1) 五\n7) 六\n8) 七",
		},
		{
			"runs and breaks",
			textShape(
				"",
				"<a:p><a:r><a:t>本日は</a:t></a:r><a:br/><a:r><a:t>晴天</a:t></a:r><a:fld type=\"slidenum\"><a:t>3</a:t>"+
					"</a:fld><a:fld type=\"datetime1\"><a:t>4月</a:t></a:fld></a:p>",
			),
			"本日は 晴天4月",
		},
		{
			"superscripts and subscripts",
			textShape("", `<a:p><a:r><a:t>100m</a:t></a:r><a:r><a:rPr baseline="30000"/><a:t>2</a:t></a:r>`+
				`<a:r><a:rPr/><a:t>のCO</a:t></a:r><a:r><a:rPr baseline="-25000"/><a:t>2</a:t></a:r>`+
				`<a:r><a:rPr baseline="0"/><a:t>A4</a:t></a:r></a:p>`),
			"100m²のCO₂A4",
		},
		{"numbers of slides and dates", textShape(`<p:ph type="sldNum"/>`,
			line(">", "3")) + textShape(`<p:ph type="dt"/>`, line(">", "4/1")) + textShape("", line(">", "文")), "文"},
		{"groups", "<p:grpSp><p:nvGrpSpPr><p:cNvPr id=\"1\"/></p:nvGrpSpPr><p:grpSp>" + textShape("",
			line(">", "奥")) + "</p:grpSp>" + textShape("", line(">", "手前")) + "</p:grpSp>", "奥\n\n手前"},
		{"hidden", `<p:sp><p:nvSpPr><p:cNvPr id="1" hidden="1"/></p:nvSpPr><p:txBody>` + line(">",
			"秘") + "</p:txBody></p:sp>" + textShape("", line(">", "文")), "文"},
		{"table", table, "| 地方 | 県 |\n|---|---|\n| 関東 | 東京 都 |\n| 関東 | 千葉 |\n| 全国 |  |"},
		{"picture", `<p:pic><p:nvPicPr><p:cNvPr id="1" descr="組織図"/></p:nvPicPr></p:pic>`, "（図：組織図）"},
		{
			"chart and diagram", `<p:graphicFrame><a:graphic><a:graphicData><c:chart r:id="c"/></a:graphicData>` +
				`</a:graphic></p:graphicFrame><p:graphicFrame><a:graphic><a:graphicData><dgm:relIds r:dm="d"/>` +
				`</a:graphicData></a:graphic></p:graphicFrame>`,
			"売上\n\n| 項目 | 東京 |\n|---|---|\n| 4月 | 0.3 |\n| 5月 | 1200 |\n\n- 企画\n- 開発",
		},
		{"choice or fallback", "<mc:AlternateContent><mc:Choice Requires=\"a14\">" + textShape("",
			"<a:p><a14:m><m:oMath><m:r><m:t>x</m:t></m:r></m:oMath></a14:m></a:p>") + "</mc:Choice><mc:Fallback>" +
			textShape("", line(">", "式の画像")) + "</mc:Fallback></mc:AlternateContent>", "x"},
		{
			"chart of a newer kind",
			`<mc:AlternateContent><mc:Choice Requires="cx1"><p:graphicFrame><a:graphic><a:graphicData>` +
				`<cx:chart r:id="x"/></a:graphicData></a:graphic></p:graphicFrame></mc:Choice><mc:Fallback>` +
				textShape("", line(">", "このグラフは、お使いのバージョンでは利用できません。")) + "</mc:Fallback></mc:AlternateContent>",
			"増減\n\n| 項目 | 利益 |\n|---|---|\n| 上期 4月 | 120 |\n| 上期 5月 | -30 |",
		},
		{
			"slicer", `<mc:AlternateContent><mc:Choice Requires="sle15"><p:graphicFrame/></mc:Choice><mc:Fallback>` +
				textShape("", line(">", "この図形は、スライサーを表しています。")) + "</mc:Fallback></mc:AlternateContent>" +
				textShape("", line(">", "文")), "文",
		},
		{
			"fallback in a paragraph",
			textShape(
				"",
				"<a:p><mc:AlternateContent><mc:Choice Requires=\"q\"/><mc:Fallback><a:r><a:t>式</a:t></a:r>"+
					"</mc:Fallback></mc:AlternateContent></a:p>",
			),
			"式",
		},
	}
	for _, test := range tests {
		file := presentation(t, []string{slideXML("", test.shapes)}, "ppt/slides/_rels/slide1.xml.rels",
			relations("c", "chart", "../charts/chart1.xml", "x", "chartEx", "../charts/chartEx1.xml", "d",
				"diagramData", "/ppt/diagrams/data1.xml"),
			"ppt/charts/chart1.xml", chartXML, "ppt/charts/chartEx1.xml", chartExXML,
			"ppt/diagrams/data1.xml", diagramXML)
		if got := pageOf(t, "a.pptx", file); got != test.want {
			t.Errorf("%s: read as %q, want %q", test.name, got, test.want)
		}
	}
}

func wholePresentation(t testing.TB) []byte {
	footer := textShape(`<p:ph type="ftr"/>`, line(">", "社外秘"))
	return presentation(t, []string{
		slideXML("", textShape(`<p:ph type="title"/>`, line(">", "導入計画"))+textShape(`<p:ph idx="1"/>`,
			line(">", "4月に開始"))+footer),
		slideXML("", `<p:pic><p:nvPicPr><p:cNvPr id="1"/></p:nvPicPr></p:pic>`),
		slideXML(`show="0"`, textShape("", line(">", "予備"))+footer),
	}, "ppt/slides/_rels/slide3.xml.rels", relations("n", "notesSlide", "../notesSlides/notesSlide1.xml"),
		"ppt/notesSlides/notesSlide1.xml", "<p:notes "+slideSpaces+"><p:cSld><p:spTree>"+
			textShape(`<p:ph type="sldImg"/>`, "")+textShape(`<p:ph type="body" idx="1"/>`,
			line(">", "費用も話す")+line(">", "質問を受ける"))+
			textShape(`<p:ph type="sldNum"/>`, line(">", "1"))+textShape(`<p:ph type="hdr"/>`,
			line(">", "表題"))+"</p:spTree></p:cSld></p:notes>",
		"ppt/comments/comment1.xml", "<p:cmLst "+slideSpaces+"><p:cm><p:text>所見</p:text></p:cm></p:cmLst>")
}

func TestPPTXInOrderWithNotes(t *testing.T) {
	t.Parallel()
	pages := must.Get(formatOf(t, "a.pptm").Pages(t.Context(), wholePresentation(t)))(t)
	var texts, places []string
	for i, p := range pages {
		if p.Number != i+1 {
			t.Errorf("page %d has the number %d", i+1, p.Number)
		}
		texts = append(texts, p.Text)
		for _, m := range p.Marks {
			place, _, _ := strings.Cut(p.Text[m.Offset:], "\n")
			places = append(places, m.Locator+": "+place)
		}
	}
	if want := []string{"# 導入計画\n\n- 4月に開始\n\n社外秘\n\nノート：費用も話す\n質問を受ける", "", "予備"}; !slices.Equal(texts, want) {
		t.Errorf("read as %q, want %q", texts, want)
	}
	if want := []string{
		"スライド 1 > 導入計画: # 導入計画", "スライド 1 > ノート: ノート：費用も話す", "スライド 2: ",
		"スライド 3（非表示）: 予備",
	}; !slices.Equal(places, want) {
		t.Errorf("marks %q, want %q", places, want)
	}
}

func FuzzPPTX(f *testing.F) {
	f.Add("ppt/slides/slide1.xml", slideXML("", textShape("", line(`lvl="12"><a:buAutoNum startAt="-9"/>`, "一"))))
	f.Add("ppt/slides/slide3.xml",
		slideXML(
			`show="0"`, "<p:graphicFrame><a:tbl><a:tr><a:tc gridSpan=\"9\"><a:p><mc:AlternateContent><mc:Choice><a:t>a",
		))
	f.Add("ppt/presentation.xml",
		"<p:presentation "+slideSpaces+`><p:sldId r:id="r0"/><p:sldId r:id="r0"/></p:presentation>`)
	f.Add("ppt/notesSlides/notesSlide1.xml", "<p:notes "+slideSpaces+"><p:cSld>"+textShape("",
		line(">", "注"))+"</p:cSld></p:notes>")
	f.Fuzz(func(t *testing.T, part, content string) {
		if file := replacePart(t, wholePresentation(t), part, content); file != nil {
			checkPages(t, "a.pptx", file)
		}
	})
}
