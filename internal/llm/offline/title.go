package offline

import (
	"cmp"
	"regexp"
	"strings"
	"unicode"
)

const (
	maxTitle     = 20 // In characters.
	defaultTitle = "新しいチャット"
)

// makeTitle returns the first sentence of a question without greetings, cut to maxTitle characters.
func makeTitle(question string) string {
	question = strings.NewReplacer("**", "", "`", "").Replace(formMatter(question))
	for _, s := range splitSentences(question) {
		if text := stripGreeting(s.text); text != "" && !isPleasantry(text) && hasLetters(text) {
			return cmp.Or(shorten(strings.Trim(text, " 　、。，．,.・:：;；-—*#>\"'`")), defaultTitle)
		}
	}
	return defaultTitle
}

// formLabel matches a line of a filled-in form in a thread: a label, with its value unless a text follows.
var formLabel = regexp.MustCompile(`^\*\*[^*]{1,60}\*\*(?:[ \t]+(.+))?$`)

// formMatter returns the subject of a filled-in form: its first text, or its first value if it has no text. It returns
// any other question unchanged.
func formMatter(question string) string {
	var text, value string
	inText := false
	for line := range strings.Lines(question) {
		line = strings.TrimSpace(line)
		label := formLabel.FindStringSubmatch(line)
		switch {
		case label != nil && text != "":
			return text // The next field.
		case label != nil:
			inText = label[1] == ""
			value = cmp.Or(value, label[1])
		case inText:
			text = strings.TrimLeft(text+"\n"+line, "\n")
		case line != "":
			return question
		}
	}
	return cmp.Or(text, value, question)
}

// asks reports whether a sentence is a question or a request.
func asks(text string) bool {
	text = strings.TrimRight(text, "。！？!? ")
	for _, ending := range []string{
		"か", "ください", "下さい", "教えて", "して", "作って", "書いて", "考えて", "ほしい", "欲しい", "たい", "お願いします",
		"直して", "とは", "挙げて", "探して", "調べて",
	} {
		if strings.HasSuffix(text, ending) {
			return true
		}
	}
	return false
}

// stripGreeting removes greetings and openings from the beginning of a sentence.
func stripGreeting(text string) string {
	for changed := true; changed; {
		changed = false
		text = strings.TrimLeft(text, " 　、。，,！!・")
		for _, greeting := range []string{
			"お疲れ様です", "お疲れさまです", "おつかれさまです", "お世話になっております", "お世話になります", "こんにちは", "こんばんは", "おはようございます",
			"はじめまして", "初めまして", "突然すみませんが", "すみませんが", "すみません", "恐れ入りますが", "恐縮ですが", "申し訳ありませんが",
			"お忙しいところ", "ところで", "ちなみに", "さて", "では", "それでは", "えっと", "あの、", "質問です", "質問ですが", "質問があります", "相談です",
			"相談ですが", "教えてください。", "お願いがあります", "お手数ですが", "よかったら", "よければ", "可能であれば", "できれば",
		} {
			if rest, ok := strings.CutPrefix(text, greeting); ok && !startsInflection(rest) {
				text, changed = rest, true
			}
		}
	}
	return text
}

// startsInflection recognizes 「では」 in 「ではなく」 and the like.
func startsInflection(rest string) bool {
	return strings.HasPrefix(rest, "な") || strings.HasPrefix(rest, "あり") || strings.HasPrefix(rest, "の")
}

// shorten cuts a text to maxTitle characters, but never inside a grapheme of several code points.
func shorten(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) <= maxTitle {
		return string(runes)
	}
	end := maxTitle - 1
	for end > 0 && (isExtender(runes[end]) || runes[end-1] == '\u200d' || splitsFlag(runes, end)) {
		end--
	}
	return strings.TrimRightFunc(string(runes[:end]), unicode.IsSpace) + "…"
}

// splitsFlag reports whether a cut before at would separate the two letters of a flag.
func splitsFlag(runes []rune, at int) bool {
	n := 0
	for i := at - 1; i >= 0 && runes[i] >= 0x1F1E6 && runes[i] <= 0x1F1FF; i-- {
		n++
	}
	return n%2 == 1 && runes[at] >= 0x1F1E6 && runes[at] <= 0x1F1FF
}
