package offline_test

import (
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/offline"
	"github.com/tsumugi-ai/tsumugi/internal/proofread"
)

// proofreadAll returns the combined result of the engine's answers to all parts of a text.
func proofreadAll(t *testing.T, text string) proofread.Result {
	t.Helper()
	p := proofread.New(text)
	for i, part := range p.Parts() {
		var r proofread.Reader
		said := offline.Answer(
			llm.Message{Role: llm.RoleSystem, Content: proofread.Instructions},
			llm.Message{
				Role:    llm.RoleUser,
				Content: part.Prompt("校正の範囲: 読みやすさと敬語も整える", p.Changes(), func(s string) string { return s }),
			})
		for _, q := range r.Write(said) {
			p.AddProposal(i, q)
		}
		if !r.WellFormed() {
			t.Fatalf("the engine answers %s", said)
		}
		p.MarkChecked(i, true)
	}
	return p.Result()
}

// TestProofreadIsPrecise: business texts without mistakes are unchanged.
func TestProofreadIsPrecise(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"平素より格別のご高配を賜り、厚く御礼申し上げます。",
		"このたび弊社は、2026年4月1日付で本社を移転することとなりましたので、ご案内申し上げます。",
		"ご不明な点がございましたら、下記の担当者までお問い合わせください。",
		"第3四半期の売上高は前年同期比12.5%増の1,234百万円となりました。",
		"本契約の有効期間は、締結日から1年間とし、期間満了の3か月前までに申し出がないときは、さらに1年間更新する。",
		"お忙しいところ恐れ入りますが、10月15日（木）までにご返信いただけますと幸いです。",
		"会議の資料は共有フォルダーに保存してありますので、事前にご確認ください。",
		"新しい勤怠管理システムの操作方法は、添付の手引きをご覧ください。",
		"来週の出張については、上長の承認を得たうえで、経費精算の手続きを進めてください。",
		"皆様のご協力により、予定より2週間早く工事を終えることができました。心より感謝いたします。",
	} {
		if r := proofreadAll(t, text); len(r.Changes) > 0 || r.Dropped > 0 {
			t.Errorf("%s: %+v", text, r)
		}
	}
}

// TestProofreadHasKinds: every change matches the text and has a kind.
func TestProofreadHasKinds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]proofread.Change{
		"明日は来れない。":        {Before: "来", After: "来ら", Kind: proofread.Typo},
		"ﾌｧｲﾙを開く":         {Before: "ﾌｧｲﾙ", After: "ファイル", Kind: proofread.Variation},
		"社長がおっしゃられました。":   {Kind: proofread.Honorific},
		"まず最初に確認する。":      {Before: "まず", Kind: proofread.Wordy},
		"了解しました。":         {Before: "了解しました", After: "了解しました", Kind: proofread.Honorific, Question: true},
		"彼は「食べれる」と言った。":   {Kind: proofread.Typo, Question: true},
		"参加者は約10名程度でした。":  {Kind: proofread.Wordy},
		"2024年４月の会議に参加した": {Before: "４", After: "4", Kind: proofread.Variation},
	} {
		r := proofreadAll(t, text)
		if len(r.Changes) != 1 || r.Dropped > 0 {
			t.Errorf("%s: %+v", text, r)
			continue
		}
		got := r.Changes[0]
		if got.Kind != want.Kind || got.Question != want.Question || got.Reason == "" ||
			want.Before != "" && (got.Before != want.Before || got.After != want.After) {
			t.Errorf("%s: %+v", text, got)
		}
	}
	for _, name := range []string{"draft", "mail", "report", "meeting"} {
		text := sample(t, name)
		want, _ := offline.Proofread(text)
		if r := proofreadAll(t, text); r.Apply() != want || r.Dropped > 0 {
			t.Errorf("%s: %d changes, %d dropped: %s", name, len(r.Changes), r.Dropped, r.Apply())
		}
	}
}
