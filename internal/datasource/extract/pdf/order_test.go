package pdf_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/pdf/pdftest"
)

// shiftedColumns draws two columns between lines over the whole width. The lines of the second one are higher by some
// points.
func shiftedColumns(by float64) func(p *pdftest.Page) {
	return func(p *pdftest.Page) {
		p.Text(50, 740, 12, "この段落はページの幅いっぱいに書かれている。次に二つの段が続く。")
		for i := range left {
			p.Text(50, 700-18*float64(i), 12, left[i])
			p.Text(310, 700+by-18*float64(i), 12, right[i])
		}
		p.Text(50, 590, 12, "段の下の短い行。")
	}
}

var shiftedText = "この段落はページの幅いっぱいに書かれている。次に二つの段が続く。\n" + strings.Join(left, "") + "\n" +
	strings.Join(right, "") + "\n段の下の短い行。"

func TestTextIsInReadingOrder(t *testing.T) {
	t.Parallel()
	e := start(t, true)
	for name, test := range map[string]struct {
		draw func(p *pdftest.Page)
		want string
	}{
		"a paragraph over lines": {
			func(p *pdftest.Page) {
				for i, line := range left {
					p.Text(50, 700-18*float64(i), 12, line)
				}
			},
			strings.Join(left, ""),
		},
		"two columns under a title": {
			func(p *pdftest.Page) {
				p.Text(180, 780, 20, "二つの段に共通の見出し")
				for i := range left { // Draw line by line, as some programs do.
					p.Text(50, 700-18*float64(i), 12, left[i])
					p.Text(310, 700-18*float64(i), 12, right[i])
				}
			},
			"二つの段に共通の見出し\n" + strings.Join(left, "") + "\n" + strings.Join(right, ""),
		},
		"columns whose lines are slightly higher than those of the first one": {shiftedColumns(9), shiftedText},
		"columns whose lines are much higher than those of the first one":     {shiftedColumns(13), shiftedText},
		"columns of which the first one begins with a title": {
			func(p *pdftest.Page) {
				p.Text(60, 740, 20, "二つの段に共通の見出しがページの幅に書いてある")
				p.Text(50, 685, 12, "はじめに")
				for i := range 12 {
					p.Text(50, 658-14*float64(i), 12, strings.Repeat("左", 15))
					p.Text(310, 700-14*float64(i), 12, strings.Repeat("右", 15))
				}
			},
			"二つの段に共通の見出しがページの幅に書いてある\nはじめに\n" + strings.Repeat("左", 12*15) + "\n" + strings.Repeat("右", 12*15),
		},
		"short lines on both sides, one below the other": {
			func(p *pdftest.Page) {
				p.Text(400, 700, 12, "令和六年十月一日")
				p.Text(50, 682, 12, "総務部長殿")
				p.Text(400, 664, 12, "営業部長")
				p.Text(50, 646, 12, "次のとおり申請する。")
			},
			"令和六年十月一日\n総務部長殿\n営業部長\n次のとおり申請する。",
		},
		"spaces in names, and between the characters of a word": {
			func(p *pdftest.Page) {
				for i, line := range []string{"山田 太郎は委員長", "氏 名", "佐藤 花子", "森 太郎"} {
					p.Spaced(50, 700-30*float64(i), 10, line)
				}
				p.Raw("BT /H 10 Tf 50 580 Td [<7D4C55B6> -300 <4F1A8B70>] TJ ET")
				p.Text(50, 550, 10, "鈴木")
				p.Text(70, 550, 10, " ")
				p.Text(73, 550, 10, "一郎")
				p.Text(50, 520, 10, "経営")
				p.Text(73, 520, 10, "会議")
			},
			"山田 太郎は委員長\n氏名\n佐藤 花子\n森 太郎\n経営会議\n鈴木 一郎\n経営会議",
		},
		"an addressee and a sender on both sides, under a title": {
			func(p *pdftest.Page) {
				p.Text(260, 760, 20, "御見積書")
				for i, line := range []string{"株式会社青空商事御中", "件名：通信設備の更新", "納期：二週間"} {
					p.Text(50, 720-16*float64(i), 10, line)
				}
				for i, line := range []string{"発行日：令和八年十月", "山川製作所株式会社", "大阪府大阪市北区梅田二丁目", "担当：鈴木一郎"} {
					p.Text(350, 720-16*float64(i), 10, line)
				}
				p.Text(50, 630, 10, "合計金額は次のとおり。")
			},
			"御見積書\n株式会社青空商事御中\n件名：通信設備の更新\n納期：二週間\n" +
				"発行日：令和八年十月\n山川製作所株式会社\n大阪府大阪市北区梅田二丁目\n担当：鈴木一郎\n合計金額は次のとおり。",
		},
		"a title between blocks on both sides": {
			func(p *pdftest.Page) {
				p.Text(50, 720, 10, "株式会社青空商事の購買部御中")
				p.Text(50, 694, 10, "田中一郎様")
				for i, line := range []string{"山川製作所株式会社", "大阪府大阪市北区梅田二丁目", "担当：鈴木一郎"} {
					p.Text(350, 722-13*float64(i), 9, line)
				}
				p.Text(250, 640, 20, "納品書")
				p.Text(50, 600, 10, "下記のとおり納品しました。")
			},
			"株式会社青空商事の購買部御中\n田中一郎様\n山川製作所株式会社\n大阪府大阪市北区梅田二丁目\n担当：鈴木一郎\n納品書\n下記のとおり納品しました。",
		},
		"lines that have room for the next word": {
			func(p *pdftest.Page) {
				p.Text(50, 700, 10, "大阪府大阪市北区梅田の七番地の") // The text continues.
				p.Text(50, 686, 10, "建物の三階の会議室")
				p.Text(50, 660, 10, "大阪府大阪市北区梅田")
				p.Latin(150, 660, 10, "2-2")
				p.Latin(50, 646, 10, "TEL")
				p.Text(70, 646, 10, "：０６")
			},
			"大阪府大阪市北区梅田の七番地の建物の三階の会議室\n大阪府大阪市北区梅田2-2\nTEL：０６",
		},
		"a label beside the middle of its value": {
			func(p *pdftest.Page) {
				p.Text(50, 700, 10, "次のとおり申請します。")
				for i, line := range []string{"本社三階の会議室", "支社一階の受付", "倉庫の事務室"} {
					p.Text(150, 670-14*float64(i), 10, line)
				}
				p.Text(50, 656, 10, "設置の場所")
				p.Text(50, 612, 10, "総務部で受け付けます。")
			},
			"次のとおり申請します。\n設置の場所\n本社三階の会議室\n支社一階の受付\n倉庫の事務室\n総務部で受け付けます。",
		},
		"vertical lines with numbers across": {
			func(p *pdftest.Page) {
				p.Vertical(420, 600, 12, "当社は来る")
				p.Latin(414, 530, 11, "11")
				p.Vertical(420, 526, 12, "月")
				p.Latin(414, 504, 11, "30")
				p.Vertical(420, 500, 12, "日に創立")
				p.Latin(416, 442, 11, "5")
				p.Vertical(420, 438, 12, "周年を迎えま")
				p.Vertical(400, 600, 12, "す。会社は七名で始まった。")
			},
			"当社は来る11月30日に創立5周年を迎えます。会社は七名で始まった。",
		},
		"vertical lines with a small number": {
			func(p *pdftest.Page) {
				p.Vertical(400, 600, 12, "縦書きの文は上から下へ")
				p.Vertical(404, 468, 9, "１２")
				p.Vertical(400, 450, 12, "進む。")
			},
			"縦書きの文は上から下へ１２進む。",
		},
		"vertical lines, drawn from the left": {
			func(p *pdftest.Page) {
				p.Vertical(400, 600, 12, "なったこともある。")
				p.Vertical(420, 600, 12, "右から左へと進む。次の行に")
				p.Vertical(440, 600, 12, "縦書きの文は上から下へ、行は")
			},
			"縦書きの文は上から下へ、行は右から左へと進む。次の行になったこともある。",
		},
		"ruby": {
			func(p *pdftest.Page) {
				p.Text(50, 700, 20, "紫陽花が咲く。")
				p.Text(54, 720, 13, "あじさい") // 65%, the largest size that is usual.
				p.Vertical(400, 600, 20, "田舎に住む。")
				p.Vertical(415, 600, 10, "いなか")
			},
			"紫陽花が咲く。\n田舎に住む。\nルビ：紫陽花（あじさい）、田舎（いなか）",
		},
		"repeated ruby": {
			func(p *pdftest.Page) {
				p.Text(50, 700, 20, "紫陽花が咲く。")
				p.Text(60, 720, 10, "あじさい")
				p.Text(50, 620, 20, "田舎の紫陽花。")
				p.Text(55, 640, 10, "いなか")
				p.Text(120, 640, 10, "あじさい")
			},
			"紫陽花が咲く。\n田舎の紫陽花。\nルビ：紫陽花（あじさい）、田舎（いなか）、あじさい",
		},
		"the value of a form field": {
			func(p *pdftest.Page) {
				p.Text(50, 700, 12, "氏名を記入する欄")
				p.Note(func(note *pdftest.Page) { note.Text(50, 660, 12, "山田太郎") })
			},
			"氏名を記入する欄\n山田太郎",
		},
		"a table by rows": {
			func(p *pdftest.Page) {
				for i, row := range [][2]string{{"氏名", "山田太郎"}, {"所属", "総務部"}, {"内線", "一二三四"}} {
					p.Text(50, 700-24*float64(i), 12, row[0])
					p.Text(150, 700-24*float64(i), 12, row[1])
				}
			},
			"氏名 山田太郎\n所属 総務部\n内線 一二三四",
		},
		"a table with narrow rows below a wider space": {
			func(p *pdftest.Page) {
				for i, y := range []float64{740, 700, 685, 670, 655} {
					x := 20 * min(1, float64(i)) // The header is aligned to the left, the values to the right.
					p.Text(50+x, y, 10, []string{"年度", "平成元年", "平成二年", "平成三年", "平成四年"}[i])
					p.Text(120+x*1.5, y, 10, []string{"件数", "十二件", "十三件", "十四件", "十五件"}[i])
					p.Text(190+x, y, 10, []string{"増減", "増", "減", "増", "減"}[i])
				}
			},
			"年度 件数 増減\n平成元年 十二件 増\n平成二年 十三件 減\n平成三年 十四件 増\n平成四年 十五件 減",
		},
		"words and a hyphen": {
			func(p *pdftest.Page) {
				p.Latin(50, 700, 12, "The committee accepted the recommen-")
				p.Latin(50, 684, 12, "dation that was made by the members.")
			},
			"The committee accepted the recommendation that was made by the members.",
		},
		"an address over lines": {
			func(p *pdftest.Page) {
				p.Latin(50, 700, 12, "See the report at https://www.example.com/fi-")
				p.Latin(50, 684, 12, "les/report.html for details of this year.")
			},
			"See the report at https://www.example.com/fi-les/report.html for details of this year.",
		},
		"notes with hanging marks": {
			func(p *pdftest.Page) {
				p.Text(50, 700, 12, "＊１本文の注は左の端から始まる")
				p.Text(74, 684, 12, "次の行は字下げしてある。")
				p.Text(50, 668, 12, "＊２次の注である。")
			},
			"＊１本文の注は左の端から始まる次の行は字下げしてある。\n＊２次の注である。",
		},
		"labels with values": {
			func(p *pdftest.Page) {
				p.Text(50, 700, 12, "請求番号：令和八年第千三十一号")
				p.Text(50, 684, 12, "請求日：令和八年十月三十一日")
				p.Text(50, 668, 12, "登録番号：一二三四五六七八九〇")
			},
			"請求番号：令和八年第千三十一号\n請求日：令和八年十月三十一日\n登録番号：一二三四五六七八九〇",
		},
		"a numbered paragraph with a hanging number": {
			func(p *pdftest.Page) {
				p.Text(50, 700, 12, "２")
				p.Text(73, 700, 12, "始業の時刻は次のとおりとする")
				p.Text(62, 684, 12, "ことがある。")
			},
			"２ 始業の時刻は次のとおりとすることがある。",
		},
		"a centered title above a line at the left": {
			func(p *pdftest.Page) {
				p.Text(256, 760, 21, "就業規則")
				p.Text(256, 720, 12, "第１章")
				p.Text(50, 700, 10.5, "（目的）")
				p.Text(50, 675, 10.5, "第１条　この規則は、会社の従業員の就業に関する事項を定めるものであり、全員に適用する。")
			},
			"就業規則\n第１章\n（目的）\n第１条 この規則は、会社の従業員の就業に関する事項を定めるものであり、全員に適用する。",
		},
		"labels with a space between their characters": {
			func(p *pdftest.Page) {
				p.Text(200, 760, 18, "議事録")
				for i, row := range [][3]string{
					{"日", "時", "十一月十日午後二時から"},
					{"場", "所", "本社の第二会議室"},
					{"出席者", "", "佐藤部長、鈴木課長、"},
					{"", "", "田中部長"},
					{"記", "録", "伊藤"},
				} {
					y := 725 - 15*float64(i)
					p.Text(50, y, 10.5, row[0])
					p.Text(71, y, 10.5, row[1])
					p.Text(136, y, 10.5, row[2])
				}
			},
			"議事録\n日 時 十一月十日午後二時から\n場 所 本社の第二会議室\n出席者 佐藤部長、鈴木課長、\n田中部長\n記 録 伊藤",
		},
		"beyond the basic plane": {func(p *pdftest.Page) { p.Text(50, 700, 12, "𠮷野家と髙島屋") }, "𠮷野家と髙島屋"},
		"Latin between Japanese": {
			func(p *pdftest.Page) {
				p.Text(50, 700, 12, "この")
				p.Latin(77, 700, 12, "PDF")
				p.Text(106, 700, 12, "を読む。")
			},
			"このPDFを読む。",
		},
		"exponents, units, formulas and marks of notes": {
			func(p *pdftest.Page) {
				for i, line := range [][3]string{
					{"10", "3", " kg"},
					{"10", "-3", " mol"},
					{"100 m", "2", " rooms"},
					{"1,234", `1\)`, " thousand"},
					{"Sales", "*1", " 500"},
					{"12", "*1", " 500"},
					{"1", "st", " quarter"},
					{"", "1", "2024 figures"},
				} {
					p.Raw("BT /L 12 Tf 50 " + strconv.Itoa(700-30*i) + " Td (" + line[0] + ") Tj /L 7 Tf 4 Ts (" + line[1] +
						") Tj /L 12 Tf 0 Ts (" + line[2] + ") Tj ET")
				}
				p.Raw("BT /L 12 Tf 50 400 Td (CO) Tj /L 7.5 Tf -2 Ts (2) Tj /L 12 Tf 0 Ts ( and SO) Tj " +
					"/L 7.5 Tf -2 Ts (4) Tj 4 Ts (2-) Tj /L 12 Tf 0 Ts ( gas) Tj ET")
			},
			"10³ kg\n10⁻³ mol\n100 m² rooms\n1,234 ¹⁾ thousand\nSales*¹ 500\n12 *¹ 500\n1st quarter\n¹ 2024 figures\n" +
				"CO₂ and SO₄²⁻ gas",
		},
		"marks of notes in Japanese text": {
			func(p *pdftest.Page) {
				p.Text(50, 700, 12, "面積は100")
				p.Text(122, 700, 12, "m")
				p.Text(134, 704, 7, "2")
				p.Text(141, 700, 12, "である")
				p.Text(177, 704, 7, "注1")
				p.Text(191, 700, 12, "。")
			},
			"面積は100m²である注1。",
		},
		"other small or raised text": {
			func(p *pdftest.Page) {
				p.Text(50, 780, 24, "第3章")
				p.Text(126, 780, 14, "2024年度") // On the same line.
				p.Latin(50, 720, 36, "1")
				p.Latin(72, 736, 12, "2 small lines beside")
				p.Latin(72, 720, 12, "3 a big number")
			},
			"第3章2024年度\n12 small lines beside3 a big number",
		},
		"shadows": {
			func(p *pdftest.Page) {
				p.Text(51, 699, 20, "重ねて描いた題")
				p.Text(50, 700, 20, "重ねて描いた題")
			},
			"重ねて描いた題",
		},
	} {
		pages, err := read(t, e, pdftest.Draw(page(test.draw)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := pages[0].Text; got != test.want {
			t.Errorf("%s:\n%q\nwant\n%q", name, got, test.want)
		}
	}
}
