package extract_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

const sheetSpaces = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"
 xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"`

const xlsxStyles = "<styleSheet " + sheetSpaces +
	`><numFmts><numFmt numFmtId="176" formatCode="[$-411]ggge&quot;年&quot;m&quot;月&quot;d&quot;日&quot;"/>
<numFmt numFmtId="177" formatCode="@&quot;様&quot;"/></numFmts>
<cellStyleXfs><xf numFmtId="9"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="5"/>
<xf numFmtId="176"/><xf numFmtId="177"/><xf numFmtId="3"/></cellXfs></styleSheet>`

const xlsxStrings = "<sst " + sheetSpaces +
	`><si><t>豊田</t><rPh sb="0" eb="2"><t>トヨタ</t></rPh><phoneticPr fontId="1"/></si>
<si><r><t>営業</t></r><r><rPr><b/></rPr><t xml:space="preserve"> 一課</t></r></si><si><t>改_x000D_
行_x3042_</t></si></sst>`

// cells returns a row. Each value is a text, =number, =number@style or raw XML.
func cells(row int, values ...string) string {
	out := fmt.Sprintf(`<row r="%d">`, row)
	for i, v := range values {
		ref := fmt.Sprintf("%c%d", 'A'+i, row)
		number, isNumber := strings.CutPrefix(v, "=")
		value, style, _ := strings.Cut(number, "@")
		switch {
		case v == "":
		case isNumber:
			out += fmt.Sprintf(`<c r=%q s=%q><v>%s</v></c>`, ref, style, value)
		default:
			out += fmt.Sprintf(`<c r=%q t="inlineStr"><is><t>%s</t></is></c>`, ref, v)
		}
	}
	return out + "</row>"
}

func sheetXML(rows, rest string) string {
	return "<worksheet " + sheetSpaces + "><sheetData>" + rows + "</sheetData>" + rest + "</worksheet>"
}

// workbook returns a workbook. Each sheet has a name, attributes and XML.
func workbook(t testing.TB, properties string, sheets [][3]string, parts ...string) []byte {
	t.Helper()
	list, rels := "", []string{"s", "styles", "styles.xml", "t", "sharedStrings", "/xl/sharedStrings.xml"}
	var all []string
	for i, s := range sheets {
		list += fmt.Sprintf(`<sheet name=%q sheetId="%d" r:id="r%d" %s/>`, s[0], i+1, i, s[1])
		rels = append(rels, fmt.Sprintf("r%d", i), "worksheet", fmt.Sprintf("worksheets/sheet%d.xml", i+1))
		all = append(all, fmt.Sprintf("xl/worksheets/sheet%d.xml", i+1), s[2])
	}
	return archive(t, append(append(all, parts...),
		"_rels/.rels", relations("a", "officeDocument", "xl/workbook.xml"), "xl/_rels/workbook.xml.rels",
		relations(rels...),
		"xl/workbook.xml", "<workbook "+sheetSpaces+">"+properties+"<sheets>"+list+"</sheets></workbook>",
		"xl/styles.xml", xlsxStyles, "xl/sharedStrings.xml", xlsxStrings)...)
}

func TestXLSXCells(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, cell, want string }{
		{"shared", `<c t="s"><v>0</v></c>`, "豊田"},
		{"in runs", `<c t="s"><v>1</v></c>`, "営業 一課"},
		{"escaped", `<c t="s"><v>2</v></c>`, "改 行あ"},
		{"no such string", `<c t="s"><v>99</v></c><c><v>1</v></c>`, "1"},
		{"inline", `<c t="inlineStr"><is><r><t>一</t></r><rPh><t>イチ</t></rPh></is></c>`, "一"},
		{
			"superscripts", `<c t="inlineStr"><is><r><t>100m</t></r><r><rPr><vertAlign val="superscript"/></rPr><t>2</t></r>` +
				`<r><t>のCO</t></r><r><rPr><b/><vertAlign val="subscript"/></rPr><t>2</t></r></is></c>`, "100m²のCO₂",
		},
		{"formula", `<c><f>SUM(B1:B2)</f><v>1234.5</v></c>`, "1234.5"},
		{"formula of a text", `<c t="str"><f>A1&amp;"x"</f><v>結果</v></c>`, "結果"},
		{"formula without a result", `<c><f>_xlfn.SUM(B1:B2)</f></c>`, "=SUM(B1:B2)"},
		{"formula of an empty text", `<c t="str"><f>""</f><v></v></c><c><v>1</v></c>`, "1"},
		{"formula that another one has", `<c><f t="shared" si="0"/></c><c><v>1</v></c>`, "1"},
		{"truth", `<c t="b"><v>1</v></c>`, "TRUE"},
		{"error", `<c t="e"><v>#N/A</v></c>`, "#N/A"},
		{"date", `<c s="1"><v>45383</v></c>`, "2024/4/1"},
		{"date of ISO 8601", `<c s="1" t="d"><v>2024-04-01T00:00:00</v></c>`, "2024/4/1"},
		{"era", `<c s="3"><v>45383</v></c>`, "令和6年4月1日"},
		{"yen", `<c s="2"><v>-1200</v></c>`, "¥-1,200"},
		{"text in a format", `<c s="4" t="s"><v>0</v></c>`, "豊田様"},
		{"noise", `<c><v>0.30000000000000004</v></c>`, "0.3"},
		{"no such style", `<c s="99"><v>5</v></c>`, "5"},
	}
	for _, test := range tests {
		file := workbook(t, "", [][3]string{{"表", "", sheetXML("<row>"+test.cell+"</row>", "")}})
		if got := strings.TrimPrefix(pageOf(t, "a.xlsx", file), "# 表\n\n"); got != test.want {
			t.Errorf("%s: read as %q, want %q", test.name, got, test.want)
		}
	}
	file := workbook(t, `<workbookPr date1904="1"/>`, [][3]string{{"表", "", sheetXML(cells(1, "=43921@1"), "")}})
	if got := pageOf(t, "a.xlsm", file); got != "# 表\n\n2024/4/1" {
		t.Errorf("in the calendar of 1904: %q", got)
	}
}

func TestXLSXTables(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, rows, merged, want string }{
		{
			"headings", cells(1, "品名", "数", "備考") + cells(2, "板", "=1200@5", "") + cells(3, "釘", "=5", "予備"), "",
			"品名 / 数 / 備考\n\n品名: 板 / 数: 1,200\n\n品名: 釘 / 数: 5 / 備考: 予備",
		},
		{
			"title", cells(1, "売上表") + cells(3, "単位：円") + cells(4, "品名", "額") + cells(5, "板", "=5"), "",
			"売上表\n\n単位：円\n\n品名 / 額\n\n品名: 板 / 額: 5",
		},
		{
			"two tables", cells(1, "品名", "額") + cells(2, "板", "=5") + cells(4, "氏名", "年齢") + cells(5, "佐藤", "=30"), "",
			"品名 / 額\n\n品名: 板 / 額: 5\n\n氏名 / 年齢\n\n氏名: 佐藤 / 年齢: 30",
		},
		{
			"an empty row in a table", cells(1, "品名", "額", "色") + cells(2, "板", "=5", "白") + cells(4, "釘", "=6", "黒"),
			"",
			"品名 / 額 / 色\n\n品名: 板 / 額: 5 / 色: 白\n\n品名: 釘 / 額: 6 / 色: 黒",
		},
		{
			"a form", cells(1, "申請日", "=45383@1") + cells(2, "氏名", "佐藤", "部署", "営業") + cells(3, "理由", "私用のため"), "",
			"申請日 / 2024/4/1\n\n氏名 / 佐藤 / 部署 / 営業\n\n理由 / 私用のため",
		},
		{"equal values side by side", cells(1, "4月", "=100", "=100", "=80"), "", "4月 / 100 / 100 / 80"},
		{"names and values", cells(1, "氏名", "佐藤") + cells(2, "部署", "営業"), "", "氏名 / 佐藤\n\n部署 / 営業"},
		{
			"merged rows", cells(1, "地方", "県", "数") + cells(2, "関東", "東京", "=1") + cells(3, "", "千葉", "=2"), "A2:A3",
			"地方 / 県 / 数\n\n地方: 関東 / 県: 東京 / 数: 1\n\n地方: 関東 / 県: 千葉 / 数: 2",
		},
		{
			"rows without numbers", "<row/>" + strings.NewReplacer(` r="2"`, "", ` r="3"`, "", ` r="4"`, "").Replace(
				cells(2, "地方", "県", "数")+cells(3, "関東", "東京", "=1")+cells(4, "", "千葉", "=2")), "A3:A4",
			"地方 / 県 / 数\n\n地方: 関東 / 県: 東京 / 数: 1\n\n地方: 関東 / 県: 千葉 / 数: 2",
		},
		{
			"headings in two rows", cells(1, "品名", "上期", "", "下期") + cells(2, "", "東京", "大阪", "東京") + cells(3, "板",
				"=1", "=2", "=3"), "A1:A2 B1:C1",
			"品名 / 上期 東京 / 上期 大阪 / 下期 東京\n\n品名: 板 / 上期 東京: 1 / 上期 大阪: 2 / 下期 東京: 3",
		},
		{
			"rows with names, without a heading for them", cells(1, "", "東京", "大阪") + cells(2, "4月", "=10", "=20") +
				cells(3, "5月", "=11", "") + cells(5, "合計", "=21", "=20"), "",
			"東京 / 大阪\n\n4月 / 東京: 10 / 大阪: 20\n\n5月 / 東京: 11\n\n合計 / 東京: 21 / 大阪: 20",
		},
		{
			"a form with merged cells", cells(1, "氏名", "佐藤 花子") + cells(2, "所属", "営業", "内線", "=12") +
				cells(3, "目的", "展示会"), "B1:D1 B3:D3",
			"氏名 / 佐藤 花子\n\n所属 / 営業 / 内線 / 12\n\n目的 / 展示会",
		},
		{"hidden rows", cells(1, "品名", "数", "色") + strings.Replace(cells(2, "板", "=1", "白"), "<row", `<row hidden="1"`,
			1), "", "品名 / 数 / 色\n\n品名: 板 / 数: 1 / 色: 白"},
	}
	for _, test := range tests {
		rest := "<mergeCells>"
		for _, ref := range strings.Fields(test.merged) {
			rest += fmt.Sprintf("<mergeCell ref=%q/>", ref)
		}
		file := workbook(t, "", [][3]string{{"表", "", sheetXML(test.rows, rest+"</mergeCells>")}})
		if got := strings.TrimPrefix(pageOf(t, "a.xlsx", file), "# 表\n\n"); got != test.want {
			t.Errorf("%s: read as\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}

func wholeWorkbook(t testing.TB) []byte {
	const anchor = `<xdr:wsDr xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing" ` +
		wordSpaces + `><xdr:twoCellAnchor>`
	return workbook(t, "", [][3]string{
		{"売上 2024", "", sheetXML(cells(2, "", "品名", "額")+cells(3, "", "板", "=5")+cells(4, "", "", "=9"),
			`<mergeCells><mergeCell ref="B3:B4"/></mergeCells><drawing r:id="d"/>`)},
		{"作業用", `state="hidden"`, sheetXML(cells(1, "秘"), "")},
		{"設定", `state="veryHidden"`, sheetXML(cells(1, "秘"), "")},
		{"空", "", sheetXML("", "")},
		{"図", "", sheetXML("", `<drawing r:id="d"/>`)},
	}, "xl/worksheets/_rels/sheet1.xml.rels", relations("d", "drawing", "../drawings/drawing1.xml"),
		"xl/worksheets/_rels/sheet5.xml.rels", relations("d", "drawing", "../drawings/drawing2.xml"),
		"xl/drawings/drawing1.xml", anchor+`<xdr:sp><xdr:nvSpPr><xdr:cNvPr id="2" name="a"/></xdr:nvSpPr><xdr:txBody>`+
			line(">", "注意書き")+"</xdr:txBody></xdr:sp></xdr:twoCellAnchor></xdr:wsDr>",
		"xl/drawings/drawing2.xml",
		anchor+`<xdr:graphicFrame><a:graphic><a:graphicData><c:chart r:id="c"/></a:graphicData></a:graphic>`+
			`</xdr:graphicFrame></xdr:twoCellAnchor></xdr:wsDr>`,
		"xl/drawings/_rels/drawing2.xml.rels", relations("c", "chart", "../charts/chart1.xml"), "xl/charts/chart1.xml",
		chartXML)
}

func TestXLSXSheetsAndPlaces(t *testing.T) {
	t.Parallel()
	pages := must.Get(formatOf(t, "a.xlsx").Pages(t.Context(), wholeWorkbook(t)))(t)
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
	if want := []string{
		"# 売上 2024\n\n品名 / 額\n\n品名: 板 / 額: 5\n\n品名: 板 / 額: 9\n\n注意書き", "",
		"# 図\n\n売上\n\n| 項目 | 東京 |\n|---|---|\n| 4月 | 0.3 |\n| 5月 | 1200 |",
	}; !slices.Equal(texts, want) {
		t.Errorf("read as %q, want %q", texts, want)
	}
	if want := []string{
		"売上 2024: # 売上 2024", "'売上 2024'!B2:C2: 品名 / 額", "'売上 2024'!B3:C3: 品名: 板 / 額: 5",
		"'売上 2024'!B4:C4: 品名: 板 / 額: 9", "売上 2024: 注意書き",
		"図: # 図", "図: 売上",
	}; !slices.Equal(places, want) {
		t.Errorf("marks %q, want %q", places, want)
	}
}

// TestR66_XLSXBombs reads sheets that would require excessive time or memory without limits.
func TestR66_XLSXBombs(t *testing.T) {
	t.Parallel()
	var merged, regions strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&merged, `<mergeCell ref="A%d:XFD1048576"/>`, i+1)
		regions.WriteString(cells(2*i+1, "品名", "額", "色"))
	}
	long := strings.Repeat("長い見出し", 12)
	for name, sheet := range map[string]string{
		"merged": sheetXML(regions.String(), "<mergeCells>"+merged.String()+"</mergeCells>"),
		"far cells": sheetXML(strings.Repeat(`<row><c r="A1"><v>1</v></c><c r="XFD1"><v>2</v></c></row>`, 20_000),
			""),
		"long headings": sheetXML(
			cells(1, long, long+"一", long+"二")+
				strings.Repeat(`<row><c><v>1</v></c><c><v>2</v></c><c><v>3</v></c></row>`, 30_000),
			"",
		),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := pageOf(t, "a.xlsx", workbook(t, "", [][3]string{{"表", "", sheet}})); len(got) > 8<<20 {
				t.Errorf("%d bytes became %d", len(sheet), len(got))
			}
		})
	}
}

func TestXLSXPlacesOfManyRows(t *testing.T) {
	t.Parallel()
	var rows strings.Builder
	for i := range 50_000 {
		rows.WriteString(cells(i+1, "=1"))
	}
	pages := must.Get(formatOf(t, "a.xlsx").Pages(t.Context(), workbook(t, "",
		[][3]string{{"表", "", sheetXML(rows.String(), "")}})))(t)
	marks := pages[0].Marks
	if len(marks) > 20_001 || marks[1].Locator != "表!A1:A3" || marks[len(marks)-1].Locator != "表!A49999:A50000" {
		t.Errorf("%d marks, the first row's %+v, the last's %+v", len(marks), marks[1], marks[len(marks)-1])
	}
}

func FuzzXLSX(f *testing.F) {
	f.Add("xl/worksheets/sheet1.xml", sheetXML(cells(1, "一", "=2@3")+cells(1, "二"),
		`<mergeCells><mergeCell ref="A1:C9"/></mergeCells>`))
	f.Add("xl/worksheets/sheet1.xml",
		"<worksheet><row r='9'><c r='C1' t='s'><v>1</v></c><c r='A1' t='d' s='1'><v>2024-04-01</v></c></row>"+
			"<row r='2'>")
	f.Add("xl/styles.xml", xlsxStyles)
	f.Add("xl/sharedStrings.xml", xlsxStrings)
	f.Add("xl/drawings/drawing1.xml",
		"<xdr:wsDr xmlns:xdr='http://purl.oclc.org/ooxml/drawingml/spreadsheetDrawing'><xdr:sp/></xdr:wsDr>")
	f.Fuzz(func(t *testing.T, part, content string) {
		if file := replacePart(t, wholeWorkbook(t), part, content); file != nil {
			checkPages(t, "a.xlsx", file)
		}
	})
}
