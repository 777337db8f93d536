package offline_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/answer"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/offline"
	"github.com/tsumugi-ai/tsumugi/internal/proofread"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// go test ./internal/llm/offline -update writes the current answers of the engine. Review them before committing.
var update = flag.Bool("update", false, "write the golden files")

func sample(t testing.TB, name string) string {
	t.Helper()
	data := must.Get(os.ReadFile(filepath.Join("testdata", name+".txt")))(t)
	return string(data)
}

// system returns a system message that ends with the given instructions.
func system(instructions ...string) llm.Message {
	return llm.Message{
		Role: llm.RoleSystem, Content: "あなたは、日本の企業で働く人を手伝うアシスタントである。\n" + strings.Join(instructions, "\n"),
	}
}

func user(content string) llm.Message { return llm.Message{Role: llm.RoleUser, Content: content} }

func sources(t testing.TB) string {
	t.Helper()
	return "<source index=\"1\" filename=\"就業規則.pdf\" page=\"3\">\n" + sample(t, "rules") + "</source>\n" +
		"<source index=\"2\" filename=\"在宅勤務制度の報告.docx\" page=\"1\">\n" + sample(t, "report") + "</source>\n\n"
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	form := func(head, text string) llm.Message { return user(head + "\n<text>\n" + text + "\n</text>\n") }
	documents, proof := system(answer.Instructions), system(proofread.Instructions)
	for name, messages := range map[string][]llm.Message{
		"summary_report":    {system(), user("次の文章を要約してください。\n\n" + sample(t, "report"))},
		"summary_mail":      {system(), user(sample(t, "mail") + "\n以上を要約してください。")},
		"summary_english":   {system(), user("Summarize this.\n\n" + sample(t, "english"))},
		"summary_three":     {system(), user("三点にまとめてください。\n" + sample(t, "report"))},
		"summary_200":       {system(), user("次の文章を200字程度に要約してください：\n" + sample(t, "report"))},
		"summary_text":      {system(), user(sample(t, "report"))},
		"summary_documents": {documents, user(sources(t) + "この資料の要点を、五つの箇条書きにまとめて")},
		"summary_page": {
			system("- [1] のような引用番号を付けない。"), user(sources(t) + "このページを要約してください。"),
		},
		"summary_notes": {system(answer.SummaryInstructions), user("<notes filename=\"就業規則.pdf\">\n" +
			"- 年次有給休暇は、勤続6か月で10日を付与する。 [3]\n- 申請は、取得日の3営業日前までに上長へ行う。 [4] [7]\n" +
			"- 遅刻が &lt;3回&gt; を超えた月は、賞与の査定に反映する。 [9]\n- 退職は、30日前までに届け出る。 [12]\n</notes>\n\n" +
			"営業部の人に伝わるように")},
		"summary_repeated": {
			system(), user("次の文章を要約してください。\n\n" + strings.Repeat(sample(t, "meeting")+"\n\n経緯の説明が続いている。\n\n", 8)),
		},
		"notes":         {system(), user(sources(t))},
		"notes_nothing": {system(), user("<source index=\"1\" filename=\"空.txt\">\n\n</source>\n")},
		"summary_follow_up": {
			system(), user(sample(t, "report")), {Role: llm.RoleAssistant, Content: "要旨です。"}, user("もっと短くしてください"),
		},
		"summary_nothing": {system(), user("要約してください。")},
		"summary_short": {
			system(), user("次の文章を要約してください。\n会議は来週の月曜日に延期します。場所は変わらず本社の第2会議室で、開始の時刻も14時のままですのでご注意ください。"),
		},
		"qa_deadline":      {documents, user(sources(t) + "有給休暇はいつまでに申請すればよいですか")},
		"qa_list":          {documents, user(sources(t) + "慶弔休暇は何日もらえますか")},
		"qa_amount":        {documents, user(sources(t) + "在宅勤務の通信費はいくらですか")},
		"qa_topic":         {documents, user(sources(t) + "在宅勤務の課題は何ですか")},
		"qa_rate":          {documents, user(sources(t) + "アンケートの回答率は？")},
		"qa_unknown":       {documents, user(sources(t) + "社員食堂の営業時間を教えてください")},
		"qa_pasted_before": {system(), user("退職者は何名でしたか\n\n" + sample(t, "report"))},
		"qa_pasted_after":  {system(), user(sample(t, "report") + "\n\nアンケートの回答率は？")},
		"qa_pasted_earlier": {
			system(), user(sample(t, "report")), {Role: llm.RoleAssistant, Content: "…"}, user("在宅勤務の課題は何ですか"),
		},
		"qa_follow_up": {
			documents, user("在宅勤務の申請について教えてください"),
			{Role: llm.RoleAssistant, Content: "…"},
			user(sources(t) + "それはいつまでですか"),
		},
		"qa_page": {
			system("- [1] のような引用番号を付けない。"), user(sources(t) + "このページを要約してください。"),
			{Role: llm.RoleAssistant, Content: "…"},
			user("通信費はいくらですか"),
		},
		"proofreading":        {proof, form("校正の範囲: 読みやすさと敬語も整える", sample(t, "draft"))},
		"proofreading_errors": {proof, form("校正の範囲: 誤字脱字と文法だけ", sample(t, "draft"))},
		"proofreading_clean":  {proof, form("校正の範囲: 誤字脱字と文法だけ", sample(t, "report"))},
		"chat":                {system(), user("東京の人口を教えてください")},
		"translation":         {system(), user("次の文章を英語に翻訳してください。\n\n" + sample(t, "report"))},
		"query": {
			system(answer.QueryInstructions(time.Now())),
			user(answer.QueryPrompt("それはいつからですか", []string{"今年の最低賃金はいくらですか"})),
		},
		"title": {system(), user("<question>\nお疲れ様です。出張旅費の精算方法を教えてください。\n</question>")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := offline.Answer(messages...) + "\n"
			path := filepath.Join("testdata", "golden", name+".md")
			if *update {
				must.Succeed(t, os.WriteFile(path, []byte(got), 0o600))
				return
			}
			want := must.Get(os.ReadFile(path))(t)
			if got != string(want) {
				t.Errorf("the answer has changed; if it is better, run with -update. Got:\n%s", got)
			}
			if again := offline.Answer(messages...) + "\n"; again != got {
				t.Error("the same question got another answer")
			}
		})
	}
}

// TestLargeTexts: a whole book is summarized within seconds, and hostile texts take no longer.
func TestLargeTexts(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"book":      strings.Repeat(sample(t, "report"), 12),
		"one word":  strings.Repeat("会議。", 8_000),
		"no spaces": strings.Repeat("在宅勤務制度", 4_000),
		"numbers":   strings.Repeat("1234567890\n", 2_000),
		"tags":      strings.Repeat("<source index=\"1\">", 2_000),
		"brackets":  strings.Repeat("「（『", 4_000),
	} {
		for task, messages := range map[string][]llm.Message{
			"summary":      {system(), user("要約してください。\n\n" + text)},
			"notes":        {system(), user(answer.Sources([]answer.Passage{{Index: 1, Text: text}}))},
			"quote":        {system(), user(answer.Sources([]answer.Passage{{Index: 1, Text: text}}) + "在宅勤務の課題は何ですか")},
			"proofreading": {system(proofread.Instructions), user("<text>\n" + text + "\n</text>")},
			"title":        {system(), user("<question>\n" + text + "\n</question>")},
		} {
			start := time.Now()
			if offline.Answer(messages...) == "" {
				t.Errorf("%s: no answer", name)
			}
			if took := time.Since(start); took > 2*time.Minute {
				t.Errorf("%s: %s took %v", name, task, took)
			}
		}
	}
}
