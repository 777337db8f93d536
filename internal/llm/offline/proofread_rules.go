package offline

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The reasons in the table of corrections.
const (
	reasonTypo      = "誤字"
	reasonKana      = "仮名遣い"
	reasonRanuki    = "ら抜き言葉"
	reasonSaire     = "さ入れ言葉"
	reasonParticle  = "助詞の重複"
	reasonMark      = "句読点の重複"
	reasonWidth     = "全角と半角の混在"
	reasonHalfKana  = "半角カタカナ"
	reasonVariant   = "表記のゆれ"
	reasonDoubled   = "意味の重複"
	reasonWordy     = "冗長な表現"
	reasonDouble    = "二重敬語"
	reasonHonour    = "敬語の誤り"
	reasonColloquid = "話し言葉"
)

// plainRules creates rules from pairs of a wrong and a right spelling.
func plainRules(reason string, s scope, pairs ...string) []rule {
	out := make([]rule, 0, len(pairs)/2)
	for pair := range slices.Chunk(pairs, 2) {
		out = append(out, rule{pattern: regexp.MustCompile(pair[0]), replace: pair[1], reason: reason, scope: s})
	}
	return out
}

func spellingRules() []rule {
	rules := plainRules(reasonTypo, scopeErrors,
		"こんにちわ", "こんにちは", "こんばんわ", "こんばんは",
		"ふいんき", "雰囲気", "うる覚え", "うろ覚え",
		"シュミレーション", "シミュレーション", "シュミレート", "シミュレート",
		"コミニュケーション|コミュニュケーション|コミニケーション", "コミュニケーション",
		"ディスクトップ", "デスクトップ", "アボガド", "アボカド",
		"汚名挽回", "汚名返上",
		"せざる負えな|せざるおえな", "せざるを得な", "やむ負え|やむおえ", "やむを得",
		"にも関わらず|にも拘らず|にも係わらず", "にもかかわらず",
	)
	rules = append(rules, plainRules(reasonKana, scopeErrors,
		`(基|近|気|色|勢い|片|名)ず(い[たて]|き|く|け)`, "${1}づ${2}",
		`(位置|関連|義務|条件|意味|特徴|裏)ずけ`, "${1}づけ",
		`([きしちにみりいぎべえけせてめれげ])ずら(い|く|か)`, "${1}づら${2}",
		`([0-9０-９一二三四五六七八九十]\p{Han}?|少し|ひとつ|一つ|二つ)づつ`, "${1}ずつ",
		`(その|この|下記の|以下の|次の|上記の|指示の|予定の|ご覧の|言う|文字)とうり`, "${1}とおり",
	)...)
	// 「すいません」 is also 吸いません and 空いません.
	rules = append(rules, rule{
		pattern: regexp.MustCompile("すいません"), replace: "すみません", reason: reasonColloquid, scope: scopeErrors,
		guard: func(before, _ string) bool { return !strings.ContainsRune("はをもが", lastRune(before)) },
	})
	for _, advice := range [][2]string{
		{"確立が(高|低)", "可能性の度合いであれば「確率」"},
		{"以外と(多|少な|簡単|難し|早|遅|高|安|知られ)", "思いのほかという意味であれば「意外と」"},
		{"的を得", "本来の言い方は「的を射る」"},
	} {
		rules = append(rules, rule{
			pattern: regexp.MustCompile(advice[0]), reason: advice[1], scope: scopeErrors,
			ask: true,
		})
	}
	return rules
}

func grammarRules() []rule {
	rules := plainRules(reasonRanuki, scopeErrors,
		`(食べ|見|来|出|着|起き|寝|考え|決め|受け|開け|閉め|伝え|覚え|続け|調べ|始め|信じ|感じ|借り|降り|逃げ|投げ|`+
			`辞め|変え|答え|教え|確かめ|避け|助け|集め|届け|見つけ|育て|組み立て)れ(る|ない|ます|ません|ました|た|て)`,
		"${1}られ${2}",
	)
	rules = append(rules, plainRules(reasonSaire, scopeErrors,
		`(休ま|行か|読ま|書か|帰ら|送ら|使わ|やら|歌わ|飲ま|伺わ|急が|終わら|作ら|取ら|撮ら|切ら|入ら|立た|待た|手伝わ|言わ|会わ|習わ|学ば|選ば|呼ば|進ま|頼ま)させて`,
		"${1}せて",
	)...)
	rules = append(rules, plainRules(reasonParticle, scopeErrors,
		"をを", "を",
		`([\p{Han}\p{Katakana}ー）」])(?:がが)([\p{Han}\p{Katakana}「])`, "${1}が${2}",
		`([\p{Han}\p{Katakana}ー）」])(?:にに)([\p{Han}\p{Katakana}「])`, "${1}に${2}",
		`([\p{Han}\p{Katakana}ー）」])(?:はは)([\p{Han}\p{Katakana}「])`, "${1}は${2}",
		`([\p{Han}\p{Katakana}ー）」])(?:でで)([\p{Han}\p{Katakana}「])`, "${1}で${2}",
		`([\p{Han}\p{Katakana}ー）」])(?:とと)([\p{Han}\p{Katakana}「])`, "${1}と${2}",
		`([\p{Han}\p{Katakana}ー）」])(?:のの)([\p{Han}\p{Katakana}「])`, "${1}の${2}",
	)...)
	single := func(before, after string) bool {
		marks := "、。"
		return !strings.ContainsRune(marks, lastRune(before)) && !strings.ContainsRune(marks, firstRune(after))
	}
	for _, pair := range [][2]string{{"。。", "。"}, {"、、", "、"}, {"、。", "。"}, {"。、", "。"}} {
		rules = append(rules, rule{
			pattern: regexp.MustCompile(pair[0]), replace: pair[1], reason: reasonMark,
			guard: single,
		})
	}
	return rules
}

func wordinessRules() []rule {
	rules := plainRules(reasonDoubled, scopeReading,
		"まず最初に", "最初に", "まず(?:始|初)めに", "初めに", "一番最初", "最初", "一番最後", "最後",
		"(?:後|あと)で後悔", "後悔", "頭痛が痛", "頭が痛", "(違和感|不快感)を感じ", "${1}を覚え", "犯罪を犯", "罪を犯",
		"被害を被る", "被害を受ける", "被害を被った", "被害を受けた", "被害を被り", "被害を受け", "被害を被って", "被害を受けて",
		"過半数を超え", "半数を超え", "あらかじめ予(約|定)", "予${1}", "従来から", "従来", "いまだに?未", "未", "元旦の朝", "元旦",
		"返事を返す", "返事をする", "返事を返し", "返事をし", "炎天下の下", "炎天下", "必ず必要", "必要", "内定が決ま(?:っ|り)", "内定し",
		"製造メーカー", "メーカー", "今現在", "現在", "(?:今|現在)の現状", "現状", "お(?:身)?体をご自愛", "ご自愛",
		`(約|およそ)([0-9０-９,，.]+[\p{Han}\p{Katakana}%％]{1,3})(?:ほど|程度|くらい|ぐらい|前後)`, "${1}${2}",
		`各([\p{Han}\p{Katakana}ー]{1,6})(?:ごと|毎)に`, "${1}ごとに",
	)
	rules = append(rules, plainRules(reasonWordy, scopeReading,
		`([\p{Han}\p{Katakana}ーA-Za-z]{2})することができ`, "${1}でき",
		`([\p{Han}\p{Katakana}ーA-Za-z]{2})をすることができ`, "${1}ができ",
	)...)
	return rules
}

func honourRules() []rule {
	// Not every お〜になられる: in お元気になられる, the verb is なる itself.
	const becoming = `(お(?:話し|読み|聞き|帰り|使い|会い|待ち|書き|決め|考え|見え|越し|召し上がり|求め|休み|出かけ|過ごし|選び|持ち|買い|出し|乗り|泊まり)に|` +
		`ご(?:覧|利用|参加|出席|購入|使用|到着|出発|確認|検討|判断|乗車|来店|来場)に)`
	rules := plainRules(reasonDouble, scopeHonour,
		becoming+"なられる", "${1}なる", becoming+"なられま", "${1}なりま", becoming+"なられた", "${1}なった", becoming+"なられて", "${1}なって",
		"おっしゃられる", "おっしゃる", "おっしゃられま", "おっしゃいま", "おっしゃられた", "おっしゃった", "おっしゃられて", "おっしゃって",
		"召し上がられる", "召し上がる", "召し上がられま", "召し上がりま", "召し上がられた", "召し上がった",
		"(拝[見読聴借受])させていただ(?:き|け)ま", "${1}しま", "(拝[見読聴借受])させていただいた", "${1}した",
		"(拝[見読聴借受])させていただいて", "${1}して", "(拝[見読聴借受])させていただく", "${1}する",
		"お伺いさせていただきま", "伺いま", "御中様", "御中", "各位様", "各位",
	)
	rules = append(rules, plainRules(reasonHonour, scopeHonour,
		"ご(利用|参加|使用|予約|注文|応募|入場|購入|登録|視聴|覧)できま(す|せん)", "ご${1}いただけま${2}",
		"お求めやすい", "お求めになりやすい",
	)...)
	rules = append(rules, rule{
		pattern: regexp.MustCompile(`ご(利用|出席|参加|購入|使用|到着|出発|卒業|入社|退職|結婚|逝去|確認|判断|検討|活躍)され(る|ま|た|て)`),
		replace: "${1}され${2}", reason: reasonHonour, scope: scopeHonour,
	}, rule{
		pattern: regexp.MustCompile("様各位"), replace: "各位", reason: reasonDouble, scope: scopeHonour,
		guard: func(before, _ string) bool {
			return !strings.HasSuffix(before, "お客") && !strings.HasSuffix(before, "お得意") &&
				unicode.Is(unicode.Han, lastRune(before))
		},
	})
	for _, advice := range [][2]string{
		{"了解(?:し|いたし|致し)ました", "目上の方や社外の方には「承知いたしました」"},
		{"ご苦労(?:様|さま)", "目上の方には「お疲れ様」"},
		{"申されま(?:す|した)", "相手の動作であれば「おっしゃいます」"},
		{"参られま(?:す|した)", "相手の動作であれば「いらっしゃいます」"},
		{"でよろしかったでしょうか", "今の確認であれば「でよろしいでしょうか」"},
	} {
		rules = append(rules, rule{
			pattern: regexp.MustCompile(advice[0]), reason: advice[1], scope: scopeHonour,
			ask: true,
		})
	}
	return rules
}

// variants finds words with two spellings in one text. Auxiliary verbs and adverbs become hiragana, as in style guides
// for offices. Other words get their more frequent spelling.
func variants(text string) []edit {
	var out []edit
	for _, pair := range [][2]string{
		{"て下さい", "てください"},
		{"で下さい", "でください"},
		{"せ下さい", "せください"},
		{"致します", "いたします"},
		{"致しました", "いたしました"},
		{"出来ます", "できます"},
		{"出来る", "できる"},
		{"出来ない", "できない"},
		{"て頂き", "ていただき"},
		{"宜しく", "よろしく"},
		{"有難う", "ありがとう"},
	} {
		if strings.Contains(text, pair[1]) {
			out = append(out, variant(standing(text, pair[0]), pair[0], pair[1])...)
		}
	}
	for _, pair := range [][2]string{
		{"お問合せ", "お問い合わせ"},
		{"お問合わせ", "お問い合わせ"},
		{"打合せ", "打ち合わせ"},
		{"サーバ", "サーバー"},
		{"ユーザ", "ユーザー"},
		{"コンピュータ", "コンピューター"},
		{"プリンタ", "プリンター"},
		{"フォルダ", "フォルダー"},
		{"マネージャ", "マネージャー"},
		{"メンバ", "メンバー"},
		{"センタ", "センター"},
	} {
		short, long := standing(text, pair[0]), standing(text, pair[1])
		switch {
		case len(short) == 0 || len(long) == 0:
		case len(short) > len(long):
			out = append(out, variant(long, pair[1], pair[0])...)
		default:
			out = append(out, variant(short, pair[0], pair[1])...)
		}
	}
	return append(out, widths(text)...)
}

// variant returns the edits that replace a word at the given places.
func variant(at []int, from, to string) []edit {
	out := make([]edit, len(at))
	for i, start := range at {
		out[i] = edit{start: start, end: start + len(from), old: from, new: to, reason: reasonVariant}
	}
	return out
}

// standing returns the places of a word as a separate word: a katakana word must not be part of a longer one.
func standing(text, word string) []int {
	var out []int
	for at := 0; ; {
		next := strings.Index(text[at:], word)
		if next < 0 {
			return out
		}
		at += next
		before, after := lastRune(text[:at]), firstRune(text[at+len(word):])
		if !isKatakana(lastRune(word)) || !isKatakana(before) && !isKatakana(after) {
			out = append(out, at)
		}
		at += len(word)
	}
}

// widths finds full-width digits and letters in a text with mostly half-width ones, and half-width katakana.
func widths(text string) []edit {
	digits := strings.ContainsAny(text, "0123456789")
	letters := strings.ContainsFunc(text, func(r rune) bool { return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' })
	alnum := func(r rune) bool {
		return digits && r >= '０' && r <= '９' || letters && (r >= 'Ａ' && r <= 'Ｚ' || r >= 'ａ' && r <= 'ｚ')
	}
	kana := func(r rune) bool { return r >= 'ｦ' && r <= 'ﾟ' }
	var out []edit
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		member, reason := alnum, reasonWidth
		if kana(r) {
			member, reason = kana, reasonHalfKana
		}
		if !member(r) {
			at += size
			continue
		}
		end := at + size
		for end < len(text) {
			next, size := utf8.DecodeRuneInString(text[end:])
			if !member(next) {
				break
			}
			end += size
		}
		out = append(out, edit{
			start: at, end: end, old: text[at:end], new: norm.NFKC.String(text[at:end]),
			reason: reason,
		})
		at = end
	}
	return out
}
