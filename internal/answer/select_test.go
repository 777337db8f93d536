package answer_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/answer"
)

func found(document, ordinal int, score float64) answer.SourcePassage {
	return answer.SourcePassage{
		Passage: answer.Passage{Text: strings.Repeat("文", 100)}, Document: document, Ordinal: ordinal, Score: score,
	}
}

// length is the cost of a passage in characters.
func length(p answer.Passage) int { return utf8.RuneCountInString(p.Text) }

func TestSelect(t *testing.T) {
	t.Parallel()
	hits := []answer.SourcePassage{found(1, 5, 10), found(1, 2, 9), found(0, 7, 6.5), found(2, 0, 1), found(1, 6, 0.5)}
	beside := func(f answer.SourcePassage) []answer.SourcePassage {
		return []answer.SourcePassage{found(f.Document, f.Ordinal-1, 0), found(f.Document, f.Ordinal+1, 0)}
	}
	for budget, want := range map[int]string{
		0:   "",
		150: "1/5",
		250: "0/7 1/5",     // One passage of each relevant document precedes a second one.
		350: "0/7 1/4 1/5", // Then the neighbours of the best passage.
		450: "0/7 1/4 1/5 1/6",
		550: "0/7 1/2 1/4 1/5 1/6",
	} {
		var got []string
		for i, f := range answer.Select(hits, budget, length, beside) {
			got = append(got, fmt.Sprintf("%d/%d", f.Document, f.Ordinal))
			if f.Index != i+1 {
				t.Errorf("budget %d: passage %d has the number %d", budget, i, f.Index)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("budget %d: chose %q, want %q", budget, got, want)
		}
	}
	if got := answer.Select(nil, 1000, length, beside); len(got) != 0 {
		t.Errorf("chose %v of nothing", got)
	}
}

func TestQueryOfAFollowUp(t *testing.T) {
	t.Parallel()
	earlier := []string{"育児休業は誰が取得できますか", "就業規則の概要"}
	for question, want := range map[string]string{
		"それはいつまで？":      "育児休業は誰が取得できますか\nそれはいつまで？",
		"それは？":          "育児休業は誰が取得できますか\nそれは？",
		"いつまでに申請しますか":   "育児休業は誰が取得できますか\nいつまでに申請しますか\nいつまでに申請しますか\nいつまでに申請しますか",
		"申請期限は？":        "育児休業は誰が取得できますか\n申請期限は？\n申請期限は？\n申請期限は？",
		"吾輩はどこで生まれましたか": "育児休業は誰が取得できますか\n吾輩はどこで生まれましたか\n吾輩はどこで生まれましたか\n吾輩はどこで生まれましたか",
		"通勤手当の上限金額と支給条件を教えてください": "通勤手当の上限金額と支給条件を教えてください",
	} {
		if got := answer.Query(question, earlier); got != want {
			t.Errorf("%q is searched as %q, want %q", question, got, want)
		}
	}
	const chain = "年次有給休暇の取得条件と日数\nその上限は？\nそれはいつまで？"
	if got := answer.Query("それはいつまで？", []string{"その上限は？", "年次有給休暇の取得条件と日数", "別の質問"}); got != chain {
		t.Errorf("searched as %q, want %q", got, chain)
	}
	if got := answer.Query("それは？", nil); got != "それは？" {
		t.Errorf("searched as %q", got)
	}
}

func TestCovered(t *testing.T) {
	t.Parallel()
	p := answer.Passage{Filename: "就業規則.pdf", Locator: "第4章 休暇", Text: "年次有給休暇の申請は3営業日前までに行う。"}
	for question, least := range map[string]float64{"年次有給休暇の申請はいつまでですか": 0.9, "休暇について": 1} {
		if got := answer.Coverage(question, p); got < least {
			t.Errorf("%q is covered by %v, want %v at least", question, got, least)
		}
	}
	if got := answer.Coverage("社員食堂の営業時間を教えてください", p); got > 0.3 {
		t.Errorf("another matter is covered by %v", got)
	}
}
