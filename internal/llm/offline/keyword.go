package offline

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// keywords returns the recurring compound nouns of a text: runs of kanji, katakana and Latin letters, ranked by length
// and frequency. It omits parts of another compound that is as frequent.
func keywords(sentences []sentence, limit int) []string {
	counts := make(map[string]int)
	seen := make(map[string]int) // Order of first occurrence.
	for _, s := range sentences {
		for _, word := range compounds(s.text) {
			if _, ok := seen[word]; !ok {
				seen[word] = len(seen)
			}
			counts[word]++
		}
	}
	type scored struct {
		word  string
		score float64
	}
	var all []scored
	for word, n := range counts {
		length := float64(utf8.RuneCountInString(word))
		if n < 2 && len(sentences) > 3 && len(counts) > 2*limit && length < 5 {
			continue
		}
		score := float64(n) * math.Log2(1+min(length, 8))
		if length < 3 {
			score *= 0.6 // Two characters usually name an action or something general.
		}
		all = append(all, scored{word, score})
	}
	slices.SortFunc(all, func(a, b scored) int {
		if a.score != b.score {
			if a.score > b.score {
				return -1
			}
			return 1
		}
		return seen[a.word] - seen[b.word]
	})
	var out []string
	for _, candidate := range all {
		overlaps := slices.ContainsFunc(out, func(word string) bool {
			return strings.Contains(word, candidate.word) || strings.Contains(candidate.word, word)
		})
		if !overlaps {
			out = append(out, candidate.word)
		}
		if len(out) == limit {
			break
		}
	}
	return out
}

// compounds returns the compound nouns of a text, in order, with repetitions.
func compounds(text string) []string {
	var out []string
	runes := []rune(norm.NFKC.String(text))
	for i := 0; i < len(runes); {
		if !inCompound(runes[i]) {
			i++
			continue
		}
		end := i + 1
		for end < len(runes) && (inCompound(runes[end]) || joinsLatin(runes, end) || runes[end] == '・' &&
			between(runes, end, isKatakana)) {
			end++
		}
		if word := trimCompound(string(runes[i:end])); word != "" {
			out = append(out, word)
		}
		i = end
	}
	return out
}

func inCompound(r rune) bool {
	switch scriptOf(r) {
	case scriptKanji, scriptKatakana, scriptLatin:
		return true
	default:
		return false
	}
}

func isKatakana(r rune) bool { return scriptOf(r) == scriptKatakana }

// trimCompound removes numbers and fillers from a compound and returns "" if nothing significant is left.
func trimCompound(word string) string {
	for _, prefix := range []string{"当該", "各", "同", "本", "全", "約", "計"} {
		if rest, ok := strings.CutPrefix(word, prefix); ok && utf8.RuneCountInString(rest) >= 2 && prefix != "本" &&
			prefix != "全" {
			word = rest
			break
		}
	}
	for _, suffix := range []string{"等", "中", "後", "前", "時", "以上", "以下", "以内", "様", "殿"} {
		if rest, ok := strings.CutSuffix(word, suffix); ok && utf8.RuneCountInString(rest) >= 2 {
			word = rest
			break
		}
	}
	length := utf8.RuneCountInString(word)
	latin := strings.IndexFunc(word, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
	switch {
	case length < 2 || length > 14, latin && (length < 2 || isEnglishFiller(strings.ToLower(word))):
		return ""
	case latin && strings.ToLower(word) == word && length < 5: // Short English words are seldom keywords.
		return ""
	case startsWithDigit(word), isVagueNoun(word):
		return ""
	}
	// Digits with 月, 年, 日, 人 and the like are dates and amounts.
	if strings.ContainsFunc(word, unicode.IsDigit) && strings.ContainsAny(word, "年月日時分円人件名個回") {
		return ""
	}
	return word
}

func isVagueNoun(word string) bool {
	switch word {
	case "場合", "以下", "以上", "今回", "今後", "当社", "弊社", "貴社", "御社", "自社", "状況", "内容", "方法", "結果", "関係", "必要",
		"可能", "対象", "一方", "現在", "本日", "昨日", "明日", "今日", "今年", "昨年", "来年", "今月", "先月", "来月", "今週", "先週", "来週",
		"午前", "午後", "平日", "全体", "一部", "部分", "以外", "以降", "以前", "同様", "同時", "理由", "目的", "問題", "意見", "自分",
		"皆様", "各位", "お客様", "担当者", "記載", "確認", "実施", "対応", "利用", "使用", "予定", "検討", "報告", "連絡", "開始", "終了",
		"参照", "下記", "上記", "別紙", "次回", "前回", "前年", "前年同期", "前月", "以内", "程度", "それぞれ", "ため", "こと", "もの", "とき",
		"人", "年", "月", "日", "時", "点", "件", "名", "円":
		return true
	}
	return false
}
