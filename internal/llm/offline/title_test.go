package offline_test

import (
	"testing"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/llm/offline"
)

func TestTitle(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]string{
		"有給休暇の申請方法を教えてください。":                                                     "有給休暇の申請方法を教えてください",
		"お疲れ様です。経費精算の締め日はいつですか？":                                                 "経費精算の締め日はいつですか？",
		"こんにちは。出張旅費規程について詳しく教えていただけますか。":                                         "出張旅費規程について詳しく教えていただ…",
		"次の文章を英語に翻訳してください。\n\n当社の就業規則は来月改定されます。":                                 "次の文章を英語に翻訳してください",
		"**宛先** 山田様  \n**種類** お礼\n\n**用件**\n\nお世話になっております。会場の下見をお願いします。日程は来週です。": "会場の下見をお願いします",
		"**種類** 日報  \n**提出先** 上司":                                                "日報",
		"ありがとう": "ありがとう",
		"":      "新しいチャット",
		"？？？":   "新しいチャット",
		"hello, how do I write a formal letter in English?": "hello, how do I wri…",
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
