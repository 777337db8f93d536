package offline

import (
	"cmp"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxTitle     = 20 // In characters.
	defaultTitle = "新しいチャット"
)

// makeTitle derives a title of at most maxTitle characters from the first question of a conversation: its subject,
// without greetings and request phrases.
func makeTitle(question string) string {
	question = strings.NewReplacer("**", "", "`", "").Replace(formMatter(question))
	asking, opening, rest := titleSentences(question)
	core := titleCore(asking)
	if isVagueTitle(core) && opening != asking {
		if other := titleCore(opening); !isVagueTitle(other) {
			core = other
		}
	}
	if isVagueTitle(core) {
		// "次の文章を要約してください": the subject is in the following text.
		if topic := topicOf(rest); topic != "" {
			core = joinTopic(topic, core)
		}
	}
	core = shorten(trimTitle(core), maxTitle)
	if core == "" {
		return defaultTitle
	}
	return core
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

// trimTitle removes symbols from both ends, and brackets around the whole title.
func trimTitle(core string) string {
	core = strings.Trim(core, " 　、。，．,.・:：;；-—*#>\"'`")
	if inner, ok := strings.CutPrefix(core, "「"); ok && strings.HasSuffix(inner, "」") &&
		strings.Count(inner, "「") == 0 {
		core = strings.TrimSuffix(inner, "」")
	}
	return core
}

// titleSentences returns the request sentence, the first significant sentence, and the text around them.
func titleSentences(question string) (asking, opening, rest string) {
	var tail []string
	n := 0
	for _, s := range splitSentences(question) {
		text := stripGreeting(s.text)
		if text == "" || isPleasantry(text) || !hasLetters(text) {
			continue
		}
		n++
		switch {
		case opening == "":
			opening = text
			if asks(text) {
				asking = text
			}
		case asking == "" && n <= 4 && asks(text):
			asking = text // The background precedes the request.
		default:
			tail = append(tail, text)
		}
	}
	if asking == "" {
		asking = opening
	}
	return asking, opening, strings.Join(tail, "\n")
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

// titleCore removes the request phrase from the end of a sentence and keeps its subject.
func titleCore(text string) string {
	text = dropLeadingClause(strings.TrimSpace(text))
	for _, opening := range []string{"以下の", "下記の", "次の", "この", "その", "添付の", "上記の", "上の", "私の", "弊社の", "当社の", "自社の"} {
		if base, ok := strings.CutPrefix(text, opening); ok {
			text = base
			break
		}
	}
	for range 6 {
		before := text
		text = strings.TrimRight(text, " 　。．.！!？?、,…～〜")
		text = stripQuestion(stripPolite(stripVerb(text)))
		if text == before {
			break
		}
	}
	return nounPhrase(text)
}

// stripPolite removes the polite ending of a request.
func stripPolite(text string) string {
	for _, suffix := range []string{
		"ください", "下さい", "いただけますか", "頂けますか", "いただけますでしょうか", "いただけませんか", "もらえますか", "もらえませんか", "くれますか", "くれませんか",
		"いただきたいです", "いただきたい", "てほしいです", "てほしい", "て欲しいです", "て欲しい", "をお願いいたします", "をお願いします", "お願いいたします", "お願いします",
		"のでしょうか", "でしょうか", "のですか", "ですか", "のですが", "んですが", "よね", "かな", "です",
	} {
		if base, ok := strings.CutSuffix(text, suffix); ok && base != "" {
			if strings.HasPrefix(suffix, "て") {
				base += "て"
			}
			return base
		}
	}
	return text
}

// stripQuestion removes the interrogative at the end of a question: 〜はどこ, 〜とは何, 〜はありますか.
func stripQuestion(text string) string {
	for _, suffix := range []string{
		"はどうすればよい", "はどうすればいい", "どうすればよい", "どうすればいい", "はありますか", "がありますか", "ありますか", "はありませんか", "とは何", "とはなん", "とは何か",
		"とは",
		"というのは何", "について", "に関して", "については", "を詳しく", "は何", "はなに", "が何", "はどこ", "はいつ", "は誰", "はいくら", "はどう", "はなぜ", "があるか",
		"はどのような", "はどんなもの", "は",
	} {
		if base, ok := strings.CutSuffix(text, suffix); ok && utf8.RuneCountInString(base) >= 2 {
			return base
		}
	}
	// 慶弔休暇は何日もらえますか: keep the text before the interrogative.
	for _, word := range []string{"は何", "はいつ", "はどこ", "はどう", "は誰", "はいくら", "はどれ", "はどの", "はなぜ", "を何"} {
		if at := strings.LastIndex(text, word); at > 0 && utf8.RuneCountInString(text[:at]) >= 2 &&
			utf8.RuneCountInString(text[at:]) <= 14 {
			return text[:at]
		}
	}
	return text
}

// stripVerb removes the verb, and keeps it as a noun if it is informative: 〜を要約して becomes 〜の要約.
func stripVerb(text string) string {
	for _, action := range []struct{ verb, noun string }{
		{"要約して", "要約"},
		{"翻訳して", "翻訳"},
		{"英訳して", "英訳"},
		{"和訳して", "和訳"},
		{"校正して", "校正"},
		{"添削して", "添削"},
		{"比較して", "比較"},
		{"分析して", "分析"},
		{"改善して", "改善"},
		{"修正して", "修正"},
		{"整理して", "整理"},
		{"作成して", "作成"},
		{"提案して", "提案"},
		{"検討して", "検討"},
		{"確認して", "確認"},
		{"説明して", "説明"},
		{"指摘して", "指摘"},
		{"訳して", "翻訳"},
		{"直して", "修正"},
		{"作って", "作成"},
		{"書いて", "作成"},
		{"調べて", "調査"},
		{"言い換えて", "言い換え"},
		{"相談したい", "相談"},
		{"作りたい", "作成"},
		{"書きたい", "作成"},
		{"要約したい", "要約"},
		{"まとめたい", ""},
		{"まとめて", ""},
		{"考えて", ""},
		{"挙げて", ""},
		{"抜き出して", ""},
		{"出して", ""},
		{"示して", ""},
		{"見せて", ""},
		{"聞かせて", ""},
		{"教えて", ""},
		{"探して", ""},
		{"見つけて", ""},
		{"知りたい", ""},
		{"調べたい", ""},
		{"するのを手伝って", ""},
		{"手伝って", ""},
		{"相手になって", ""},
		{"ぶつけて", ""},
		{"迷っています", ""},
		{"困っています", ""},
		{"して", ""},
	} {
		base, ok := strings.CutSuffix(text, action.verb)
		if !ok || base == "" && action.noun == "" && action.verb == "して" {
			continue
		}
		return withAction(dropAdverbs(base), action.noun)
	}
	return text
}

// withAction joins the object and the action.
func withAction(base, noun string) string {
	base = strings.TrimRight(base, " 　、,")
	if noun == "翻訳" {
		if object, language, ok := strings.Cut(base, "を"); ok && strings.HasSuffix(language, "語に") {
			return object + "の" + translationInto(strings.TrimSuffix(language, "に"))
		}
	}
	for _, particle := range []struct{ suffix, join string }{
		{"について", "の"},
		{"に関して", "の"},
		{"に対して", "への"},
		{"を", "の"},
		{"が", "の"},
		{"は", "の"},
		{"に", "への"},
		{"へ", "への"},
		{"か", "の"},
	} {
		if rest, ok := strings.CutSuffix(base, particle.suffix); ok && rest != "" {
			if noun == "" {
				return rest
			}
			return rest + particle.join + noun
		}
	}
	if noun != "" && base != "" {
		return base + "の" + noun
	}
	return base + noun
}

func translationInto(language string) string {
	switch language {
	case "英語":
		return "英訳"
	case "日本語":
		return "和訳"
	default:
		return language + "訳"
	}
}

// dropAdverbs removes adverbials between the object and the verb: manner, number, audience.
func dropAdverbs(base string) string {
	for _, adverb := range []string{
		"詳しく", "くわしく", "簡単に", "簡潔に", "わかりやすく", "分かりやすく", "やさしく", "丁寧に", "具体的に", "一緒に", "ざっくり", "すべて", "全て",
	} {
		base = strings.TrimRight(strings.TrimSuffix(base, adverb), " 　、")
	}
	if at := strings.Index(base, "を、"); at > 0 {
		return base[:at+len("を")]
	}
	at := strings.LastIndex(base, "を")
	if at <= 0 {
		return base
	}
	tail := base[at+len("を"):]
	if tail == "" || utf8.RuneCountInString(tail) > 16 {
		return base
	}
	for _, ending := range []string{
		"に", "で", "く", "と", "ずつ", "つ", "個", "件", "案", "点", "通り", "ほど", "程度", "くらい", "から",
		"まで",
	} {
		if strings.HasSuffix(tail, ending) && !strings.HasSuffix(tail, "英語に") && !strings.HasSuffix(tail, "日本語に") {
			return base[:at+len("を")]
		}
	}
	return base
}

// nounPhrase turns 〜を整理 into a noun: 〜の整理.
func nounPhrase(text string) string {
	runes := []rune(text)
	n := len(runes)
	if n > 4 && runes[n-3] == 'を' && scriptOf(runes[n-1]) == scriptKanji && scriptOf(runes[n-2]) == scriptKanji {
		runes[n-3] = 'の'
	}
	return string(runes)
}

// dropLeadingClause removes a leading clause if the rest is a sentence of its own: 取引先に送りたいのですが、お礼の…
func dropLeadingClause(text string) string {
	for _, joint := range []string{"のですが、", "んですが、", "ですが、", "ますが、", "ので、", "ため、"} {
		if at := strings.LastIndex(text, joint); at >= 0 {
			if rest := text[at+len(joint):]; utf8.RuneCountInString(rest) >= 4 {
				text = rest
			}
		}
	}
	return text
}

// isVagueTitle reports whether a title names no specific subject.
func isVagueTitle(core string) bool {
	for _, noun := range []string{
		"", "文章", "文", "文書", "資料", "内容", "テキスト", "記事", "メール", "これ", "それ", "もの", "会議", "メモ",
		"ファイル", "質問",
	} {
		for _, action := range []string{
			"", "の要約", "の翻訳", "の校正", "の添削", "の修正", "のまとめ", "の説明", "の確認", "の整理", "の分析",
			"の英訳", "の和訳", "の中国語訳", "の韓国語訳", "要約", "翻訳", "校正",
		} {
			if core == noun+action {
				return true
			}
		}
	}
	return core == "まとめて" || core == "要点"
}

// topicOf returns the first keyword of a text.
func topicOf(text string) string {
	if words := keywords(splitSentences(text), 1); len(words) > 0 {
		return words[0]
	}
	return ""
}

// joinTopic replaces the vague noun by a topic: 文章の要約 becomes 就業規則の要約.
func joinTopic(topic, core string) string {
	if at := strings.LastIndex(core, "の"); at >= 0 {
		return topic + core[at:]
	}
	for _, action := range []string{"要約", "翻訳", "校正"} {
		if core == action {
			return topic + "の" + action
		}
	}
	return topic
}

// shorten cuts a text to at most limit characters: before its first particle if the result is a suitable title, else at
// a nearby word end, and never inside a grapheme of several code points.
func shorten(text string, limit int) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) <= limit {
		return string(runes)
	}
	for at := limit; at >= 5; at-- {
		if isWordEnd(runes, at) && strings.ContainsRune("をは", runes[at]) {
			return trimEnd(runes[:at])
		}
	}
	end := limit
	for end > 0 && (isExtender(runes[end]) || runes[end-1] == '\u200d' || splitsFlag(runes, end)) {
		end--
	}
	for at := end; at > end*3/5; at-- {
		if isWordEnd(runes, at) {
			end = at
			break
		}
	}
	return trimEnd(runes[:end])
}

func trimEnd(runes []rune) string {
	return strings.TrimRightFunc(string(runes), func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("、。，．,.・（(「『【[をはがにでとの", r)
	})
}

// isWordEnd reports whether a word ends before at: where kanji or katakana meet hiragana, or at a symbol.
func isWordEnd(runes []rune, at int) bool {
	before, after := scriptOf(runes[at-1]), scriptOf(runes[at])
	if before == scriptNone || after == scriptNone {
		return !isExtender(runes[at])
	}
	return (before == scriptKanji || before == scriptKatakana || before == scriptLatin) && after == scriptHiragana &&
		strings.ContainsRune("のをはがにでとへもや", runes[at])
}

// splitsFlag reports whether a cut before at would separate the two letters of a flag.
func splitsFlag(runes []rune, at int) bool {
	n := 0
	for i := at - 1; i >= 0 && runes[i] >= 0x1F1E6 && runes[i] <= 0x1F1FF; i-- {
		n++
	}
	return n%2 == 1 && runes[at] >= 0x1F1E6 && runes[at] <= 0x1F1FF
}
