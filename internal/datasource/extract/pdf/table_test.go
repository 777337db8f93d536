package pdf_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/pdf/pdftest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// grid draws the borders of cells at the given positions.
func grid(p *pdftest.Page, xs, ys []float64) {
	for _, y := range ys {
		p.Raw(fmt.Sprintf("%g %g m %g %g l S", xs[0], y, xs[len(xs)-1], y))
	}
	for _, x := range xs {
		p.Raw(fmt.Sprintf("%g %g m %g %g l S", x, ys[0], x, ys[len(ys)-1]))
	}
}

// bars draws the borders of cells as thin filled rectangles, as browsers print them.
func bars(p *pdftest.Page, xs, ys []float64) {
	for _, y := range ys {
		p.Raw(fmt.Sprintf("%g %g %g 0.75 re f", xs[0], y, xs[len(xs)-1]-xs[0]))
	}
	bottom := ys[len(ys)-1]
	for _, x := range xs {
		p.Raw(fmt.Sprintf("%g %g 0.75 %g re f", x, bottom, ys[0]-bottom))
	}
}

// facilities draws a narrow table as spreadsheets print it. Cells are adjacent, a long cell has two lines, and the
// height of a row equals the height of its characters.
func facilities(p *pdftest.Page) {
	grid(p, []float64{50, 112, 142, 172, 280}, []float64{716, 690, 676, 662, 634})
	for i, lines := range [][]string{{"車い", "す可"}, {"駐車", "場"}} {
		for k, line := range lines {
			p.Text(115+30*float64(i), 705-11*float64(k), 10, line)
		}
	}
	p.Text(52, 699, 10, "施設名")
	p.Text(174, 699, 10, "備考")
	for i, y := range []float64{679, 665, 644} {
		p.Text(52, y, 10, []string{"中央の図書館", "西の公民館", "総合文化会館"}[i])
		p.Text(122, y, 10, []string{"○", "×", "○"}[i])
		if i != 1 {
			p.Text(152, y, 10, []string{"×", "", "△"}[i])
		}
	}
	p.Text(174, 651, 10, "大型車で来る人は前の日")
	p.Text(174, 638, 10, "までに連絡してください")
}

func TestRuledTablesAreReadByRows(t *testing.T) {
	t.Parallel()
	e := start(t, true)
	for name, test := range map[string]struct {
		draw func(p *pdftest.Page)
		want string
	}{
		"cells, marks and empty cells": {facilities, "" +
			"| 施設名 | 車いす可 | 駐車場 | 備考 |\n|---|---|---|---|\n| 中央の図書館 | ○ | × |  |\n" +
			"| 西の公民館 | × |  |  |\n| 総合文化会館 | ○ | △ | 大型車で来る人は前の日までに連絡してください |"},
		"a cell over two rows, and a title": {
			func(p *pdftest.Page) {
				p.Raw("50 720 m 250 720 l S 50 700 m 250 700 l S 50 680 m 250 680 l S 120 660 m 250 660 l S")
				p.Raw("50 640 m 250 640 l S 50 720 m 50 640 l S 250 720 m 250 640 l S")
				p.Raw("120 700 m 120 640 l S 190 700 m 190 640 l S")
				p.Text(55, 705, 10, "年度ごとの予算")
				for i, row := range [][3]string{{"部門", "予算", "判定"}, {"開発部", "百万円", "○"}, {"", "二百万円", "×"}} {
					for k, text := range row {
						if text != "" {
							p.Text(55+70*float64(k), 685-20*float64(i), 10, text)
						}
					}
				}
			},
			"年度ごとの予算\n| 部門 | 予算 | 判定 |\n|---|---|---|\n| 開発部 | 百万円 | ○ |\n| 開発部 | 二百万円 | × |",
		},
		"borders that are filled rectangles": {
			func(p *pdftest.Page) {
				bars(p, []float64{50, 112, 142, 200}, []float64{716, 690, 662})
				for i, lines := range [][]string{{"施設名"}, {"車い", "す可"}, {"備考"}} {
					for k, line := range lines {
						p.Text([]float64{52, 115, 145}[i], 705-11*float64(k), 10, line)
					}
				}
				for i, lines := range [][]string{{"中央の図書", "館"}, {"○"}, {"前の日まで", "に連絡する"}} {
					for k, line := range lines {
						p.Text([]float64{52, 122, 145}[i], 679-11*float64(k), 10, line)
					}
				}
			},
			"| 施設名 | 車いす可 | 備考 |\n|---|---|---|\n| 中央の図書館 | ○ | 前の日までに連絡する |",
		},
		"cells as narrow as a character": {
			func(p *pdftest.Page) {
				grid(p, []float64{50, 130, 149, 168, 187, 206, 225}, []float64{716, 662, 646, 630, 614})
				p.Text(52, 705, 10, "施設名")
				for k, name := range []string{"中央の図書館", "西の公民館", "総合文化会館"} {
					p.Text(52, 650-16*float64(k), 10, name)
				}
				for i, header := range []string{"車椅子可", "駐車場有", "授乳室有", "点字表示", "休日開館"} {
					x := 134 + 19*float64(i)
					for k, r := range []rune(header) {
						p.Text(x, 704-12*float64(k), 10, string(r))
					}
					for k, mark := range []string{"○", "×", "△"} {
						p.Text(x, 650-16*float64(k), 10, mark)
					}
				}
			},
			"| 施設名 | 車椅子可 | 駐車場有 | 授乳室有 | 点字表示 | 休日開館 |\n|---|---|---|---|---|---|\n" +
				"| 中央の図書館 | ○ | ○ | ○ | ○ | ○ |\n| 西の公民館 | × | × | × | × | × |\n" +
				"| 総合文化会館 | △ | △ | △ | △ | △ |",
		},
		"lines behind text": {
			func(p *pdftest.Page) {
				grid(p, []float64{60, 75, 135, 195}, []float64{715, 695})
				p.Text(50, 700, 10, "目盛りの線が通る文")
			},
			"目盛りの線が通る文",
		},
	} {
		pages, err := read(t, e, pdftest.Draw(page(test.draw)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := pages[0].Text; got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, test.want)
		}
	}
}

// TestCellsAreFoundOnThePage locates a cited mark although the header was repeated before it.
func TestCellsAreFoundOnThePage(t *testing.T) {
	t.Parallel()
	pages := must.Get(read(t, start(t, true), pdftest.Draw(page(facilities))))(t)
	p := pages[0]
	from := strings.Index(p.Text, "○ | △")
	if rects := rectsOf(p, from, from+len("○")); len(rects) != 1 || rects[0].Y < 180./842 || rects[0].Y > 200./842 {
		t.Errorf("the mark of the last row is at %+v", rects)
	}
}

func TestLongTablesRepeatTheirHeader(t *testing.T) {
	t.Parallel()
	pages := must.Get(read(t, start(t, true), pdftest.Draw(page(func(p *pdftest.Page) {
		ys := []float64{800}
		for i := range 41 {
			ys = append(ys, 785-15*float64(i))
		}
		grid(p, []float64{50, 150, 300}, ys)
		p.Text(55, 788, 10, "項目")
		p.Text(155, 788, 10, "担当する部署")
		for i := range 40 {
			p.Text(55, 773-15*float64(i), 10, "共通の項目")
			p.Text(155, 773-15*float64(i), 10, "総務部人事課の全員")
		}
	}))))(t)
	headers := strings.Count(pages[0].Text, "| 項目 | 担当する部署 |\n|---|---|\n")
	if rows := strings.Count(pages[0].Text, "| 共通の項目 | 総務部人事課の全員 |"); rows != 40 || headers < 2 {
		t.Errorf("%d rows under %d headers", rows, headers)
	}
}

// TestRowsOfAContinuedTableAreNotRepeated: a table that began on the page before has no headings on this one.
func TestRowsOfAContinuedTableAreNotRepeated(t *testing.T) {
	t.Parallel()
	pages := must.Get(read(t, start(t, true), pdftest.Draw(page(func(p *pdftest.Page) {
		ys := []float64{800}
		for i := range 40 {
			ys = append(ys, 785-15*float64(i))
			p.Text(55, 788-15*float64(i), 10, "契約書の原本")
			p.Text(155, 788-15*float64(i), 10, fmt.Sprintf("%d年間の保存", i+10))
		}
		grid(p, []float64{50, 150, 300}, ys)
	}))))(t)
	if n := strings.Count(pages[0].Text, "契約書の原本"); n != 40 {
		t.Errorf("%d rows:\n%s", n, pages[0].Text)
	}
}

// TestLongTablesRepeatHeadingsOfTwoRows: each part of a table fits in a passage, and those after the first one start
// with the headings of both rows.
func TestLongTablesRepeatHeadingsOfTwoRows(t *testing.T) {
	t.Parallel()
	pages, err := read(t, start(t, true), pdftest.Draw(page(func(p *pdftest.Page) {
		p.Text(55, 812, 10, "部門別の予算と実績（単位：千円）")
		// In the first two rows, the cells of the first column are merged. In the first row, so are the second and
		// third cell, and the fourth and fifth one.
		for i := range 24 {
			x, y := 50, 800-15*i
			if i == 1 {
				x = 150
			}
			p.Raw(fmt.Sprintf("%d %d m 530 %d l S", x, y, y))
		}
		for i, x := range []int{50, 150, 240, 330, 430, 530} {
			top := 800
			if i == 2 || i == 4 {
				top = 785
			}
			p.Raw(fmt.Sprintf("%d %d m %d 455 l S", x, top, x))
		}
		p.Text(55, 788, 10, "部門")
		p.Text(155, 788, 10, "上期")
		p.Text(335, 788, 10, "下期")
		for i, text := range []string{"予算", "実績", "予算", "実績"} {
			p.Text([]float64{155, 245, 335, 435}[i], 773, 10, text)
		}
		for i := range 21 {
			p.Text(55, 758-15*float64(i), 10, "営業第一部の各課")
			for k, x := range []float64{155, 245, 335, 435} {
				p.Text(x, 758-15*float64(i), 10, fmt.Sprint(123456+i*10+k))
			}
		}
	})))
	must.Succeed(t, err)
	parts := strings.Split(pages[0].Text, "\n\n")
	for i, part := range parts {
		start := "| 部門 | 上期 予算 | 上期 実績 | 下期 予算 | 下期 実績 |\n|---|---|---|---|---|\n| 営業第一部の各課 |"
		if i == 0 {
			start = "部門別の予算と実績（単位：千円）\n| 部門 | 上期 | | 下期 | |\n|---|---|---|---|---|\n" +
				"| 部門 | 予算 | 実績 | 予算 | 実績 |\n| 営業第一部の各課 |"
		}
		if n := utf8.RuneCountInString(part); len(parts) < 3 || n > 400 || !strings.HasPrefix(part, start) {
			t.Errorf("part %d of %d has %d characters:\n%s", i+1, len(parts), n, part)
		}
	}
}

// facilityPage draws a part of a table of facilities, with a running title and a page number.
func facilityPage(number int, rows [][3]string) *pdftest.Page {
	p := new(pdftest.Page)
	p.Text(50, 800, 9, "市の施設の利用状況")
	ys := []float64{760}
	for i, row := range rows {
		y := 760 - 20*float64(i)
		ys = append(ys, y-20)
		for k, text := range row {
			p.Text(54+100*float64(k), y-15, 10, text)
		}
	}
	grid(p, []float64{50, 150, 250, 350}, ys)
	p.Text(290, 30, 9, fmt.Sprint(number))
	return p
}

func TestHeadingsOfATableAreRepeatedOnItsNextPages(t *testing.T) {
	t.Parallel()
	e := start(t, true)
	const headings = "| 施設名 | 開館した年 | 利用者数 |\n|---|---|---|\n"
	pages := []*pdftest.Page{
		facilityPage(1, [][3]string{{"施設名", "開館した年", "利用者数"}, {"図書館", "1998年", "12,300人"}, {"公民館", "2001年", "4,560人"}}),
		facilityPage(2, [][3]string{{"体育館", "2010年", "7,890人"}, {"美術館", "2015年", "3,210人"}}),
		facilityPage(3, [][3]string{{"博物館", "2020年", "5,430人"}, {"資料館", "2022年", "1,110人"}}),
		facilityPage(4, [][3]string{{"路線名", "開業した年", "乗客数"}, {"東線", "1950年", "9,990人"}, {"西線", "1961年", "8,880人"}}),
	}
	file := pdftest.Draw(pages)
	got, err := read(t, e, file)
	must.Succeed(t, err)
	for i, want := range []string{
		headings + "| 図書館 | 1998年 | 12,300人 |\n| 公民館 |", headings + "| 体育館 | 2010年 | 7,890人 |\n| 美術館 |",
		headings + "| 博物館 | 2020年 | 5,430人 |\n| 資料館 |", "| 路線名 | 開業した年 | 乗客数 |\n|---|---|---|\n| 東線 |",
	} {
		if !strings.Contains(got[i].Text, "市の施設の利用状況\n"+want) {
			t.Errorf("page %d:\n%s", i+1, got[i].Text)
		}
		document, err := e.Open(file)
		must.Succeed(t, err)
		alone, err := document.Page(i)
		must.Succeed(t, err)
		document.Close()
		if alone.Text != got[i].Text {
			t.Errorf("page %d alone:\n%s", i+1, alone.Text)
		}
	}
	wide := facilityPage(2, [][3]string{{"体育館", "2010年", "7,890人"}, {"美術館", "2015年", "3,210人"}})
	wide.Raw("400 760 m 400 720 l S 350 760 m 400 760 l S 350 720 m 400 720 l S")
	wide.Text(360, 745, 10, "改修済")
	got, err = read(t, e, pdftest.Draw([]*pdftest.Page{pages[0], wide}))
	must.Succeed(t, err)
	if strings.Contains(got[1].Text, "施設名") {
		t.Errorf("other columns:\n%s", got[1].Text)
	}
}

func TestDrawnCheckBoxesAreRead(t *testing.T) {
	t.Parallel()
	pages, err := read(t, start(t, true), pdftest.Draw(page(func(p *pdftest.Page) {
		for i, label := range []string{"年次休暇", "特別休暇", "欠勤"} { // Without and with marks.
			p.Raw(fmt.Sprintf("%d 698 10 10 re S", 102+100*i))
			p.Text(114+100*float64(i), 700, 10, label)
		}
		p.Text(50, 700, 10, "種別：")
		p.Raw("204 703 m 206 700 l 210 708 l S 303 699 m 311 707 l 303 707 m 311 699 l S")
		for i, row := range [][]string{{"確認項目", "はい", "いいえ"}, {"引き継ぎを済ませた"}, {"上長に相談した"}} {
			for k, text := range row {
				p.Text([]float64{55, 185, 245}[k], 645-20*float64(i), 10, text)
			}
		}
		grid(p, []float64{50, 180, 240, 300}, []float64{660, 640, 620, 600})
		p.Raw("1 1 1 rg 190 625 9 9 re B 250 625 9 9 re B 190 605 9 9 re B 250 605 9 9 re B 0 g")
		p.Raw("192 629 m 194 626 l 198 634 l S 252 607 5 5 re f")
		for i := range 3 { // Boxes for the characters of a number.
			p.Raw(fmt.Sprintf("%d 560 14 14 re S", 100+14*i))
			p.Text(100+14*float64(i)+2, 562, 10, string(rune('１'+i)))
		}
		p.Raw("1 0 0 rg 50 530 8 8 re B 0 g") // In a legend.
		p.Text(62, 530, 10, "売上")
		for i, label := range []string{"男", "女"} {
			x, y := 100+40*i, 505
			p.Raw(fmt.Sprintf("%d %d m %[1]d %[3]d %[4]d %[5]d %[6]d %[5]d c %[7]d %[5]d %[8]d %[3]d %[8]d %[2]d c "+
				"%[8]d %[9]d %[7]d %[10]d %[6]d %[10]d c %[4]d %[10]d %[1]d %[9]d %[1]d %[2]d c S",
				x-50, y, y+3, x-48, y+5, x-45, x-42, x-40, y-3, y-5))
			p.Text(float64(x)-36, 500, 10, label)
		}
		p.Raw("92 502 5 5 re f")
	})))
	must.Succeed(t, err)
	want := "種別： ☐年次休暇 ☑特別休暇 ☑欠勤\n| 確認項目 | はい | いいえ |\n|---|---|---|\n" +
		"| 引き継ぎを済ませた | ☑ | ☐ |\n| 上長に相談した | ☐ | ☑ |\n\n１ ２ ３\n売上\n☐男 ☑女"
	if pages[0].Text != want {
		t.Errorf("%s\nwant\n%s", pages[0].Text, want)
	}
}

// TestMergedCellsContinueOnTheNextPage: the other part of the cell is empty there, with and without repeated headings.
func TestMergedCellsContinueOnTheNextPage(t *testing.T) {
	t.Parallel()
	heading := [4]string{"部署", "品名", "数量", "備考"}
	// part draws rows. Those without the name of a department belong to the merged cell above.
	part := func(rows ...[4]string) *pdftest.Page {
		p := new(pdftest.Page)
		bottom := 760 - 20*float64(len(rows))
		for i, row := range rows {
			y := 760 - 20*float64(i)
			for k, text := range row {
				if text != "" {
					p.Text(54+100*float64(k), y-15, 10, text)
				}
			}
			left := 50
			if row[0] == "" && i > 0 && rows[i-1] != heading {
				left = 150
			}
			p.Raw(fmt.Sprintf("%d %g m 450 %g l S", left, y, y))
		}
		p.Raw(fmt.Sprintf("50 %g m 450 %g l S", bottom, bottom))
		for _, x := range []int{50, 150, 250, 350, 450} {
			p.Raw(fmt.Sprintf("%d 760 m %d %g l S", x, x, bottom))
		}
		return p
	}
	const headings = "| 部署 | 品名 | 数量 | 備考 |\n|---|---|---|---|\n"
	pages, err := read(t, start(t, true), pdftest.Draw([]*pdftest.Page{
		part(heading, [4]string{"総務部", "机", "3個", "新品"}, [4]string{"", "椅子", "5個", ""}),
		part([4]string{"", "棚", "2個", ""}, [4]string{"", "時計", "8個", ""}),
		part(heading, [4]string{"", "電話", "1個", ""}, [4]string{"営業部", "鏡", "4個", ""}, [4]string{"", "台車", "6個", ""}),
	}))
	must.Succeed(t, err)
	for i, want := range []string{
		headings + "| 総務部 | 机 | 3個 | 新品 |\n| 総務部 | 椅子 | 5個 |  |",
		headings + "| 総務部 | 棚 | 2個 |  |\n| 総務部 | 時計 | 8個 |  |",
		headings + "| 総務部 | 電話 | 1個 |  |\n| 営業部 | 鏡 | 4個 |  |\n| 営業部 | 台車 | 6個 |  |",
	} {
		if pages[i].Text != want {
			t.Errorf("page %d:\n%s", i+1, pages[i].Text)
		}
	}
}

// tier draws vertical lines from right to left. Most are short, as in lists.
func tier(p *pdftest.Page, y float64, mark string, pitch float64) (text string) {
	for i := range 20 {
		line := mark + "の段の行はこのように上から下へと書かれて"
		if i%3 != 0 {
			line = mark + "の短い行。"
		}
		p.Vertical(520-pitch*float64(i), y, 10, line)
		text += line
	}
	return text
}

func TestTiersOfVerticalPagesAreReadInOrder(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]string{
		"a ruled line": "50 447 m 540 447 l S", "a frame": "50 690 490 -243 re S 50 447 490 -243 re S",
	} {
		var want string
		pages := must.Get(read(t, start(t, true), pdftest.Draw(page(func(p *pdftest.Page) {
			p.Raw(rule)
			want = tier(p, 660, "上", 18) + tier(p, 440, "下", 21)
		}))))(t)
		if got := strings.ReplaceAll(pages[0].Text, "\n", ""); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestBodyTextIsNotAHeading(t *testing.T) {
	t.Parallel()
	pages, err := read(t, start(t, true), pdftest.Draw(page(func(p *pdftest.Page) {
		p.Text(50, 780, 16, "第1節　課題と取組")
		p.Text(50, 756, 11.5, "1　現状")
		for i, line := range left {
			p.Text(50, 730-18*float64(i), 10.5, line)
		}
		p.Text(50, 650, 10.5, "この段落は一行だけである。")
		p.Text(400, 600, 10.5, "行の終わりが揃わないために")
		p.Text(400, 570, 10.5, "続きと分からない行")
		for i := range 40 { // Small text in a table and notes covers most of the page.
			p.Text(50, 540-10*float64(i), 7, "小さな文字で印刷された表の行がページの大半を占めている")
		}
	})))
	must.Succeed(t, err)
	var found []string
	for _, h := range pages[0].Headings {
		found = append(found, pages[0].Text[h.Offset:h.Offset+h.Length])
	}
	if !slices.Equal(found, []string{"第1節 課題と取組", "1 現状"}) {
		t.Errorf("headings %q", found)
	}
}
