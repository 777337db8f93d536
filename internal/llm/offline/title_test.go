package offline_test

import (
	"testing"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/llm/offline"
)

func TestTitle(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]string{
		"有給休暇の申請方法を教えてください。":                                                            "有給休暇の申請方法",
		"お疲れ様です。経費精算の締め日はいつですか？":                                                        "経費精算の締め日",
		"こんにちは。出張旅費規程について詳しく教えていただけますか。":                                                "出張旅費規程",
		"お世話になっております。新入社員研修の日程表を作成してください。":                                              "新入社員研修の日程表の作成",
		"取引先との会食でのお店選びの基準を教えて":                                                          "取引先との会食でのお店選びの基準",
		"午前中の会議が多くて作業が進みません。時間の使い方を一緒に考えて":                                              "時間の使い方",
		"来週の部内勉強会のテーマを、新人にも役立つものから三つ挙げて":                                                "来週の部内勉強会のテーマ",
		"オンライン会議を30分で終えるための進め方をまとめて":                                                    "オンライン会議",
		"この契約書の解約の条件と通知の期限を教えて":                                                         "契約書の解約の条件と通知の期限",
		"就業規則で、慶弔休暇は何日もらえますか":                                                           "就業規則で、慶弔休暇",
		"KPIとKGIの違いを、営業部の例で教えて":                                                         "KPIとKGIの違い",
		"「減価償却」を新入社員にもわかるように説明して":                                                       "「減価償却」の説明",
		"新商品の名前を3つ考えてください":                                                              "新商品の名前",
		"A列の日付が今月で、C列が「済」の行のD列を合計したい":                                                   "A列の日付が今月で、C列が「済」の行",
		"会議のお礼メールを丁寧に書いてください。":                                                          "会議のお礼メールの作成",
		"次の文章を英語に翻訳してください。\n\n当社の就業規則は来月改定されます。":                                        "就業規則の英訳",
		"次の文章を要約してください。\n\n在宅勤務制度の利用が広がっている。在宅勤務制度の課題は勤怠の把握である。":                        "在宅勤務制度の要約",
		"**宛先** 山田様  \n**種類** お礼\n\n**用件**\n\nお世話になっております。新製品発表会の会場の下見をお願いします。日程は来週です。": "新製品発表会の会場の下見",
		"**会議の名前** 営業定例  \n**詳しさ** 標準\n\n**メモ・文字起こし**\n\n来期の予算配分を見直した。":                 "来期の予算配分を見直した",
		"**種類** 日報  \n**提出先** 上司":                                                       "日報",
		"**太字**で始まる文章の直し方を教えて":                                                          "太字で始まる文章の直し方",
		"ありがとう": "ありがとう",
		"":      "新しいチャット",
		"？？？":   "新しいチャット",
		"教えて":   "新しいチャット",
		"hello, how do I write a formal letter in English?": "hello, how do I",
		"議事録のテンプレートを作って":                                    "議事録のテンプレートの作成",
		"プロジェクト管理ツールの導入にあたって検討すべき観点を整理してください":               "プロジェクト管理ツールの導入",
	} {
		got := offline.Title(question)
		if got != want {
			t.Errorf("%q: %q, want %q", question, got, want)
		}
		if utf8.RuneCountInString(got) > 20 {
			t.Errorf("%q is too long", got)
		}
	}
}

// TestTitleKeepsGraphemes: a title never ends inside a grapheme of several code points.
func TestTitleKeepsGraphemes(t *testing.T) {
	t.Parallel()
	family := "👨‍👩‍👧‍👦"
	for n := range 20 {
		question := "あいうえおかきくけこさしすせそたちつてと"[:n*3] + family + "🇯🇵🇯🇵が\u3099ぱ\u309A家族"
		got := offline.Title(question)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > 20 {
			t.Errorf("%q", got)
		}
		last, _ := utf8.DecodeLastRuneInString(got)
		if last == '\u200d' || last >= 0x1F468 && last <= 0x1F469 {
			t.Errorf("%d: %q is cut inside a character", n, got)
		}
	}
}
