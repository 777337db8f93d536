package offline_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/llm/offline"
)

func TestSplitSentences(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"plain":               {"会議は終了しました。次回は来週です。", []string{"会議は終了しました。", "次回は来週です。"}},
		"marks":               {"本当ですか？はい！了解です。", []string{"本当ですか？", "はい！", "了解です。"}},
		"runs of marks":       {"そんな！？信じられない……。でも本当だ。。。", []string{"そんな！？", "信じられない……。", "でも本当だ。。。"}},
		"quote inside":        {"部長は「承認する。ただし条件がある。」と述べた。次の議題に移る。", []string{"部長は「承認する。ただし条件がある。」と述べた。", "次の議題に移る。"}},
		"quote is a sentence": {"「もう終わりました。」佐藤さんが答えた。", []string{"「もう終わりました。」", "佐藤さんが答えた。"}},
		"brackets": {
			"資料（別紙1を参照。）を提出する。期限は金曜（祝日の場合は前日。）。",
			[]string{"資料（別紙1を参照。）を提出する。", "期限は金曜（祝日の場合は前日。）。"},
		},
		"bracket ends":     {"担当は総務部です（変更の場合があります。）開始は9時です。", []string{"担当は総務部です（変更の場合があります。）", "開始は9時です。"}},
		"lost bracket":     {"「開いたままです。次の文です。その次です。", []string{"「開いたままです。", "次の文です。", "その次です。"}},
		"question goes on": {"なぜ？という声が多い。Yahoo！の記事です。", []string{"なぜ？という声が多い。", "Yahoo！の記事です。"}},
		"decimals":         {"成長率は3.5％で、前年の２．１％を上回った。以上。", []string{"成長率は3.5％で、前年の２．１％を上回った。", "以上。"}},
		"full-width stop":  {"結果を示す．次に考察する．", []string{"結果を示す．", "次に考察する．"}},
		"half-width marks": {"確認しました!次へ進みます.いいですか?", []string{"確認しました!", "次へ進みます.", "いいですか?"}},
		"address": {
			"詳細は https://example.com/a.b?c=d をご覧ください。ver. 2.0 です。",
			[]string{"詳細は https://example.com/a.b?c=d をご覧ください。", "ver. 2.0 です。"},
		},
		"English": {
			"Dr. Smith met Mr. Tanaka at 3 p.m. in the U.S. office. They agreed on 3.5 percent. \"Good.\" He left!",
			[]string{
				"Dr. Smith met Mr. Tanaka at 3 p.m. in the U.S. office.", "They agreed on 3.5 percent.", "\"Good.\"",
				"He left!",
			},
		},
		"English, e.g.": {
			"Use tools, e.g. Excel, to check it. See Fig. 3 for details.",
			[]string{"Use tools, e.g. Excel, to check it.", "See Fig. 3 for details."},
		},
		"wrapped lines": {
			"本年度の売上高は、主力製品の販売が国内外で好調に推移したことから、\n前年度に比べて大きく増加した。一方、原材料の価格が上がったため、利益\nは微増にとどまった。",
			[]string{"本年度の売上高は、主力製品の販売が国内外で好調に推移したことから、前年度に比べて大きく増加した。", "一方、原材料の価格が上がったため、利益は微増にとどまった。"},
		},
		"wrapped English": {
			"The committee reviewed the annual budget and decided to post-\npone the decision until the next regular " +
				"meeting in April.\nNobody objected.",
			[]string{
				"The committee reviewed the annual budget and decided to post-pone the decision until the next " +
					"regular meeting in April.",
				"Nobody objected.",
			},
		},
		"mail": {
			"山川商事 佐藤様\n\nいつもお世話になっております。\n株式会社みどりの田中です。\n\n先日ご依頼いただきましたお見積書につきまして、\n下記のとおりお送りいたします。",
			[]string{"山川商事 佐藤様", "いつもお世話になっております。", "株式会社みどりの田中です。", "先日ご依頼いただきましたお見積書につきまして、下記のとおりお送りいたします。"},
		},
		"entries": {
			"日時：4月10日 14時〜15時\n場所：第2会議室\n出席者：山田、佐藤、鈴木",
			[]string{"日時：4月10日 14時〜15時", "場所：第2会議室", "出席者：山田、佐藤、鈴木"},
		},
		"bullets": {
			"・予算を確認する\n・日程を決める。場所も決める。\n- 案内を送る\n1. 受付\n(2) 片付け\n③ 報告",
			[]string{"予算を確認する", "日程を決める。", "場所も決める。", "案内を送る", "受付", "片付け", "報告"},
		},
		"no bullet":     {"-5度まで下がった。3.14は円周率。2024年の話。", []string{"-5度まで下がった。", "3.14は円周率。", "2024年の話。"}},
		"indents":       {"　第一段落の文です\n　第二段落の文です", []string{"第一段落の文です", "第二段落の文です"}},
		"code is out":   {"次のとおりです。\n```go\nfmt.Println(\"x。y\")\n```\n以上です。", []string{"次のとおりです。", "以上です。"}},
		"rules are out": {"前です。\n----------\n後です。\n＝＝＝＝＝", []string{"前です。", "後です。"}},
		"quoted mail":   {"> 先日はありがとうございました。\n> 次回もお願いします。", []string{"先日はありがとうございました。", "次回もお願いします。"}},
		"line ends":     {"一つ目。\r\n二つ目。\r三つ目。\u2028四つ目。", []string{"一つ目。", "二つ目。", "三つ目。", "四つ目。"}},
		"empty":         {" \n\n　\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := offline.SplitSentences(test.text); !slices.Equal(got, test.want) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(test.want, "\n  "))
			}
		})
	}
}

func TestHeadings(t *testing.T) {
	t.Parallel()
	text := `# 在宅勤務規程

## 第1章 総則
第1条（目的）
この規程は、在宅勤務の取扱いを定めることを目的とする。

【申請の手順】
■連絡先
総務部に連絡してください。
1.2 対象者
正社員とする。`
	want := []string{"在宅勤務規程", "第1章 総則", "第1条（目的）", "申請の手順", "連絡先", "1.2 対象者"}
	if got := offline.Headings(text); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestLongTextWithoutMarks(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("品名と数量、", 400)
	for _, s := range offline.SplitSentences(text) {
		if n := utf8.RuneCountInString(s); n > 401 {
			t.Errorf("a sentence of %d characters", n)
		}
	}
}

// FuzzSplitSentences: no character of prose is lost or added in any text.
func FuzzSplitSentences(f *testing.F) {
	for _, seed := range []string{
		"会議は終了しました。次回は来週です。", "「はい。」と（言う。）", "# 見出し\n・項目\n1. 項目\n> 引用\n```\nコード\n```", "((((（（（「「「『",
		"e.g. U.S. 3.5. \"Yes.\" No!",
		"👩‍💻です。\u200d\ufe0f", "a\xff\xfeb。", "|a|b|\n\t\t\n", "第1条\n1.2 x\n（1）", "。。。！？!?...", "：\n:\n日時：\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		letters := func(s string) int {
			n := 0
			for _, r := range s {
				if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) {
					n++
				}
			}
			return n
		}
		sum := 0
		for _, s := range offline.SplitSentences(text) {
			if s == "" || !utf8.ValidString(s) || strings.ContainsAny(s, "\n\r") {
				t.Fatalf("sentence %q", s)
			}
			sum += letters(s)
		}
		if all := letters(text); sum > all || sum < all && !strings.ContainsAny(text, "`~アイウエオカキクケコ") {
			t.Errorf("%d letters of %d", sum, all)
		}
	})
}

// TestSplitHostileTexts: texts designed to be slow are split fast.
func TestSplitHostileTexts(t *testing.T) {
	t.Parallel()
	const size = 1 << 17
	for _, piece := range []string{
		".", "。", "\n", "・\n", "「", "「。", "」", "a.", "（。\n", "日時：", "1.", "－", "👩‍", "　",
		"!a", ">", "`", "\t\t\tx\n", "第", "あ",
	} {
		text := strings.Repeat(piece, size/len(piece))
		start := time.Now()
		offline.SplitSentences(text)
		if took := time.Since(start); took > 2*time.Minute {
			t.Errorf("%q took %v", piece, took)
		}
	}
}
