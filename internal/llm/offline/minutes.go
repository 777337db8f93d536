package offline

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// minutes holds the classified sentences of a meeting record.
type minutes struct {
	decisions []string
	actions   []string
	issues    []string
	next      []string
}

// extractMinutes classifies sentences by the vocabulary of minutes. A sentence belongs to the first section that fits;
// others are dropped.
func extractMinutes(text string) minutes {
	var m minutes
	seen := make(map[string]bool)
	heading := ""
	for _, u := range splitUnits(text) {
		if u.kind == kindHeading {
			heading = u.text
			continue
		}
		parts := []string{u.text} // A bullet is not split: it holds a task and its deadline.
		if u.kind != kindBullet || utf8.RuneCountInString(u.text) > maxItem {
			parts = splitUnit(u.text)
		}
		for _, part := range parts {
			if line := tidy(part); !seen[line] && !isPleasantry(line) {
				seen[line] = true
				m.add(line, heading, u.kind)
			}
		}
	}
	return m
}

const maxItem = 150 // In characters.

func (m *minutes) add(line, heading string, kind unitKind) {
	switch {
	case isNext(line):
		m.next = append(m.next, line)
	case isDecision(line), containsAny(heading, "決定事項"):
		m.decisions = append(m.decisions, line)
	case isAction(line), kind == kindBullet && containsAny(heading, "宿題", "ToDo", "TODO", "アクション", "対応事項"):
		m.actions = append(m.actions, line)
	case isIssue(line), containsAny(heading, "課題", "懸念", "持ち越し"):
		m.issues = append(m.issues, line)
	}
}

func isNext(text string) bool {
	return containsAny(text, "次回は", "次回会議", "次回の会議", "次回の打ち合わせ", "次回の打合せ", "次回開催", "次回は、", "次回:", "次回：")
}

// isDecision distinguishes decisions from discussions.
func isDecision(text string) bool {
	if containsAny(text, "決まっていない", "決まらな", "決定していない", "未決", "決定を見送", "決めてい", "決めたい", "決める必要", "決定する必要", "決まって") ||
		endsWithQuestion(text) {
		return false
	}
	return containsAny(text, "決定した", "決定しました", "決定する。", "に決定", "で決定", "が決定", "を決定", "決まった", "決まりました", "に決まり", "合意した",
		"合意しました", "で合意",
		"了承された", "了承されました", "承認された", "承認されました", "を承認", "可決", "することとした", "することとなった", "することになった", "することになりました", "することとする",
		"することにした", "とすることで", "決定事項", "方針とした", "方針とする", "見送ることと", "採用することと", "採用とする")
}

// isAction recognizes sentences that assign a task.
func isAction(text string) bool {
	if endsWithQuestion(text) {
		return false
	}
	return containsAny(text, "までに", "期限", "締切", "締め切り", "担当は", "担当：", "担当:", "担当者", "が担当", "宿題", "お願いします", "してください",
		"対応する", "作成する。",
		"共有する。", "確認する。", "手配する", "調整する。", "連絡する。", "準備する。", "送付する", "提出する", "が行う。", "ToDo", "TODO")
}

func isIssue(text string) bool {
	return containsAny(text, "課題", "懸念", "リスク", "問題", "遅れ", "不足", "未定", "保留", "持ち越し", "継続して検討", "引き続き検討", "再検討",
		"決まっていない", "決まらな", "未決",
		"検討が必要", "検討する必要", "要検討")
}

func endsWithQuestion(text string) bool {
	text = strings.TrimRight(text, "」』）) ")
	return strings.HasSuffix(text, "か。") || strings.HasSuffix(text, "？") || strings.HasSuffix(text, "?")
}

func containsAny(text string, parts ...string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

func (m minutes) empty() bool {
	return len(m.decisions)+len(m.actions)+len(m.issues)+len(m.next) == 0
}

// markdown formats the minutes with the form's entries about the meeting.
func (m minutes) markdown(about []entry) string {
	var b strings.Builder
	b.WriteString("# 議事録の下書き\n\n")
	written := false
	for _, e := range about {
		if containsAny(e.label, "会議の名前", "日時", "場所", "出席者") {
			fmt.Fprintf(&b, "- **%s:** %s\n", escape(e.label), escape(e.value))
			written = true
		}
	}
	if written {
		b.WriteString("\n")
	}
	for _, section := range []struct {
		title string
		items []string
	}{
		{"決定事項とみられる文", m.decisions},
		{"対応・期限とみられる文", m.actions},
		{"課題・保留とみられる文", m.issues},
		{"次回について", m.next},
	} {
		if len(section.items) == 0 && section.title == "次回について" {
			continue
		}
		fmt.Fprintf(&b, "## %s\n\n", section.title)
		if len(section.items) == 0 {
			b.WriteString("該当する文は見つかりませんでした。\n")
		}
		writeList(&b, section.items)
		b.WriteString("\n")
	}
	b.WriteString("---\n\nAIモデルが未設定のため、「決定」「までに」などの言葉を手がかりに、記録から文を抜き出して分けたものです。" +
		"抜けや取り違えがないか、元の記録とあわせてご確認ください。")
	return b.String()
}
