package proofread_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/proofread"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// take applies proposals to a text of one part and returns the result.
func take(t *testing.T, text string, proposals ...proofread.Proposal) proofread.Result {
	t.Helper()
	p := proofread.New(text)
	for _, q := range proposals {
		p.AddProposal(0, q)
	}
	p.MarkChecked(0, true)
	r := p.Result()
	check(t, r)
	return r
}

// check fails the test unless the changes of a result match its text and are ordered without overlaps.
func check(t *testing.T, r proofread.Result) {
	t.Helper()
	text, at := utf16.Encode([]rune(r.Text)), 0
	ids := make(map[int]bool)
	for _, c := range r.Changes {
		if c.Start < at || c.Start >= c.End || c.End > len(text) {
			t.Fatalf("%+v begins before %d or is empty", c, at)
		}
		if got := string(utf16.Decode(text[c.Start:c.End])); got != c.Before {
			t.Fatalf("%+v is at %q", c, got)
		}
		if strings.ContainsAny(c.Before+c.After, "\n\r") || c.Before == c.After && !c.Question || ids[c.ID] || c.ID < 1 {
			t.Fatalf("%+v", c)
		}
		at, ids[c.ID] = c.End, true
	}
	for i, u := range r.Unchecked {
		if u.Start >= u.End || u.End > len(text) || i > 0 && u.Start <= r.Unchecked[i-1].End {
			t.Fatalf("unchecked %v of %d", r.Unchecked, len(text))
		}
	}
}

func TestTake(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text     string
		proposal proofread.Proposal
		want     string // "before→after", with "?" for a question; "" if it is dropped.
	}{
		"shortened":          {"会議を行ないます。", proofread.Proposal{Before: "会議を行ないます。", After: "会議を行います。"}, "な→"},
		"insertion":          {"会議に行ます。", proofread.Proposal{Before: "行ます", After: "行きます"}, "行→行き"},
		"insertion at start": {"社の規程", proofread.Proposal{Before: "社の", After: "当社の"}, "社→当社"},
		"katakana is whole":  {"シュミレーションの結果", proofread.Proposal{Before: "シュミレーションの", After: "シミュレーションの"}, "シュミレーション→シミュレーション"},
		"word is whole":      {"the colour here", proofread.Proposal{Before: "colour here", After: "color here"}, "colour→color"},
		"deletion":           {"資料をを送る", proofread.Proposal{Before: "をを", After: "を"}, "を→"},
		"missing":            {"資料を送る", proofread.Proposal{Before: "書類を", After: "書類は"}, ""},
		"nothing changed":    {"資料を送る", proofread.Proposal{Before: "資料", After: "資料"}, ""},
		"blank":              {"資料 を送る", proofread.Proposal{Before: " ", After: ""}, ""},
		"a line is joined":   {"資料を\n送る", proofread.Proposal{Before: "を\n送", After: "を送"}, ""},
		"a line is split":    {"資料を送る", proofread.Proposal{Before: "を送", After: "を\n送"}, ""},
		"lines around it":    {"資料を\n送ます", proofread.Proposal{Before: "を\n送ます", After: "を\n送ります"}, "送→送り"},
		"width is ignored":   {"ＡＢＣ社の製品が有る", proofread.Proposal{Before: "ABC社の製品が有る", After: "ABC社の製品がある"}, "有→あ"},
		"spaces are ignored": {"第 １ 条の規定をを", proofread.Proposal{Before: "第1条の規定をを", After: "第1条の規定を"}, "を→"},
		"half-width kana":    {"ｶﾞｲﾄﾞを", proofread.Proposal{Before: "ガイドを", After: "ガイドが"}, "を→が"},
		"width is changed":   {"ｱｲｳを開く", proofread.Proposal{Before: "ｱｲｳ", After: "アイウ"}, "ｱｲｳ→アイウ"},
		"figure":             {"参加者は120名です", proofread.Proposal{Before: "120名", After: "102名"}, "120→102?"},
		"figure in kanji":    {"三月に開く", proofread.Proposal{Before: "三月", After: "四月"}, "三→四?"},
		"width of a figure":  {"参加者は１２０名", proofread.Proposal{Before: "１２０", After: "120"}, "１２０→120"},
		"name":               {"渡邉様へ", proofread.Proposal{Before: "渡邉様", After: "渡辺様"}, "邉→辺?"},
		"title of a name":    {"田中部長様へ", proofread.Proposal{Before: "部長様", After: "部長"}, "様→"},
		"firm":               {"株式会社山田商会の", proofread.Proposal{Before: "山田商会", After: "山田商事"}, "会→事?"},
		"address":            {"a@example.com へ", proofread.Proposal{Before: "example.com", After: "example.jp"}, "com→jp?"},
		"fact":               {"1995年の震災", proofread.Proposal{Before: "1995年の震災", After: "1995年の震災", Kind: proofread.Fact}, "1995年の震災→1995年の震災?"},
		"emoji":              {"👨‍👩‍👧が来ました", proofread.Proposal{Before: "👩", After: "👨"}, ""},
		"emoji beside it":    {"🧵を使ます", proofread.Proposal{Before: "🧵を使ます", After: "🧵を使います"}, "使→使い"},
		"skin":               {"👍🏽です", proofread.Proposal{Before: "👍🏽です", After: "👍🏿です"}, "👍🏽→👍🏿"},
		"control character":  {"資料を", proofread.Proposal{Before: "資料", After: "資\x00料"}, ""},
		"too long":           {"資料を", proofread.Proposal{Before: "資料", After: strings.Repeat("長", 2001)}, ""},
		"tag":                {"これは<text>です", proofread.Proposal{Before: "これは＜text＞です", After: "これは＜text＞でした"}, "す→した"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, got := take(t, test.text, test.proposal), ""
			for _, c := range r.Changes {
				if got += c.Before + "→" + c.After; c.Question {
					got += "?"
				}
			}
			if got != test.want || r.Dropped != 1-len(r.Changes) {
				t.Errorf("got %q, %d dropped; want %q", got, r.Dropped, test.want)
			}
		})
	}
}

func TestTakeLocatesChanges(t *testing.T) {
	t.Parallel()
	const text = "経理の件で連絡します。総務の件で連絡します。人事の件で連絡します。"
	q := func(context string) proofread.Proposal {
		return proofread.Proposal{Context: context, Before: "連絡します", After: "連絡いたします"}
	}
	for name, test := range map[string]struct {
		proposals []proofread.Proposal
		want      string
	}{
		"by its context": {[]proofread.Proposal{q("総務の件で連絡します")}, "経理の件で連絡します。総務の件で連絡いたします。人事の件で連絡します。"},
		"in order":       {[]proofread.Proposal{q(""), q("")}, "経理の件で連絡いたします。総務の件で連絡いたします。人事の件で連絡します。"},
		"behind the last": {
			[]proofread.Proposal{q("総務の件で連絡"), {Before: "総務", After: "庶務"}, q("")},
			"経理の件で連絡します。庶務の件で連絡いたします。人事の件で連絡いたします。",
		},
		"a guess": {[]proofread.Proposal{{Before: "の", After: "に"}}, text},
	} {
		if got := take(t, text, test.proposals...).Apply(); got != test.want {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := take(t, "サーバーとサーバの件", proofread.Proposal{
		Context: "サーバーとサーバの件", Before: "サーバ", After: "サーバー",
	}).Apply(); got != "サーバーとサーバーの件" {
		t.Errorf("matched inside another word: %s", got)
	}
	r := take(t, "これはは長い", proofread.Proposal{Before: "はは", After: "は"}, proofread.Proposal{Before: "はは", After: "は"},
		proofread.Proposal{Before: "これはは", After: "それは"})
	if len(r.Changes) != 1 || r.Dropped != 1 {
		t.Errorf("want the duplicate ignored and the overlap dropped: %+v", r)
	}
}

// TestPartsAreProofreadSeamlessly verifies repeated corrections in all parts, with offsets in the whole text.
func TestPartsAreProofreadSeamlessly(t *testing.T) {
	t.Parallel()
	line := "🧵の件で、第１回の会議に行ます。「資料をを送る。」と言った。\n"
	text := strings.Repeat(line, 300) + strings.Repeat("長い文が続き、", 1_000) + "終わり。\n\n" + strings.Repeat("句点のない段落", 900)
	p := proofread.New(text)
	joined := ""
	for i, part := range p.Parts() {
		joined += part.Text
		if n := utf8.RuneCountInString(part.Text); n > 3_000 {
			t.Errorf("part %d has %d characters", i, n)
		}
		for range strings.Count(part.Text, "行ます") {
			if _, ok := p.AddProposal(i, proofread.Proposal{Before: "行ます", After: "行きます"}); !ok {
				t.Fatal("not taken")
			}
		}
		for range strings.Count(part.Text, "をを") {
			p.AddProposal(i, proofread.Proposal{Before: "資料をを", After: "資料を"})
		}
		p.MarkChecked(i, true)
	}
	r := p.Result()
	check(t, r)
	want := strings.ReplaceAll(strings.ReplaceAll(text, "行ます", "行きます"), "をを", "を")
	if joined != text || r.Apply() != want || len(r.Changes) != 600 || r.Unchecked != nil || r.Dropped != 0 {
		t.Errorf("%d changes, %d dropped, %v unchecked", len(r.Changes), r.Dropped, r.Unchecked)
	}
}

func TestUncheckedRangesAreJoined(t *testing.T) {
	t.Parallel()
	text := strings.Repeat(strings.Repeat("文🧵", 1_000)+"\n", 4)
	p := proofread.New(text)
	if len(p.Parts()) != 4 {
		t.Fatalf("%d parts", len(p.Parts()))
	}
	p.MarkChecked(0, true)
	p.MarkChecked(3, true)
	r := p.Result()
	if want := []proofread.Range{{Start: 3001, End: 9003}}; !slices.Equal(r.Unchecked, want) {
		t.Errorf("unchecked %v, want %v", r.Unchecked, want)
	}
	if said := p.Closing(); !strings.Contains(said, "4002文字") || strings.Contains(said, proofread.NothingFound) {
		t.Error(said)
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	p := proofread.New("# 件名\n会議に行ます。*2024*年の<b>売上は120名です。\n")
	q := proofread.Proposal{Before: "行ます", After: "行きます", Reason: "送り仮名の[抜け](http://x)\n\n## 見出し"}
	q.Reason += "\x00\u0085" // The database cannot store NUL.
	first, _ := p.AddProposal(0, q)
	p.AddProposal(0, proofread.Proposal{Before: "120名", After: "120名", Kind: proofread.Fact, Reason: "単位の確認"})
	p.AddProposal(0, proofread.Proposal{Before: "無い", After: "ない"})
	p.MarkChecked(0, true)
	got := proofread.Heading + p.Line(first) + "\n" + p.Closing()
	const want = `## 修正案の一覧

- 「会議に行ます」→「会議に行きます」（誤字）送り仮名の\[抜け\](http://x) ## 見出し

## 校正後の文章

\# 件名  
会議に行きます。\*2024\*年の\<b>売上は120名です。

## 確認していただきたいこと

- 「\>売上は120名です」（事実の確認）単位の確認

1件は、本文と照合できないか、ほかの修正案と重なるため除外しました。
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
	if got := proofread.New("直す所なし。").Closing(); strings.Contains(got, proofread.NothingFound) {
		t.Errorf("unchecked text was reported as correct: %s", got)
	}
}

func TestReader(t *testing.T) {
	t.Parallel()
	const one = `{"context":"","before":"a{\"b}","after":"b\\","kind":"typo","reason":"","question":false}`
	for name, test := range map[string]struct {
		said   string
		found  int
		broken int
		formed bool
	}{
		"object":           {`{"changes":[` + one + `,` + one + `]}`, 2, 0, true},
		"none":             {`{"changes":[]}`, 0, 0, true},
		"empty list":       {"[ ]", 0, 0, true},
		"list":             {`[` + one + `]`, 1, 0, true},
		"lines":            {one + "\n" + one, 2, 0, true},
		"code block":       {"はい。\n```json\n{\"changes\": [\n" + one + ",\n]}\n```\n以上です。", 1, 0, true},
		"trailing comma":   {`{"changes":[{"before":"a","after":"b",}]}`, 1, 0, true},
		"prose":            {`直す箇所は「"」だけです。}{`, 0, 0, false},
		"brace in quotes":  {`He said "{" and then: ` + one + one, 1, 0, true},
		"cut off":          {`{"changes":[` + one + `,{"before":"a","af`, 1, 1, true},
		"line in a string": {"{\"before\":\"a\nb\",\"after\":\"c\"}" + one, 1, 1, true},
		"no after":         {`{"changes":[{"before":"a"},` + one + `]}`, 1, 1, true},
		"other types":      {`{"before":12,"after":null,"kind":[],"reason":{}}{"before":12,"after":13,"kind":null,"question":"true"}`, 1, 0, true},
		"too long":         {`{"before":"` + strings.Repeat("a", 40<<10) + `","after":"b"}` + one, 1, 1, true},
		"deep":             {strings.Repeat(`{"a":`, 100_000) + one, 1, 0, true},
		"many":             {strings.Repeat(one, 1_001), 1_000, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var whole, bytewise proofread.Reader
			found := whole.Write(test.said)
			var again []proofread.Proposal
			for i := range len(test.said) {
				again = append(again, bytewise.Write(test.said[i:i+1])...)
			}
			if len(found) != test.found || whole.Malformed() != test.broken || whole.WellFormed() != test.formed {
				t.Errorf("%d found, %d broken, formed %v", len(found), whole.Malformed(), whole.WellFormed())
			}
			if !slices.Equal(found, again) || whole.Malformed() != bytewise.Malformed() || whole.WellFormed() != bytewise.WellFormed() {
				t.Error("splitting the answer changed the result")
			}
		})
	}
	var r proofread.Reader
	if got := r.Write(one)[0]; got.Before != `a{"b}` || got.After != `b\` {
		t.Errorf("%+v", got)
	}
	for name, want := range map[string]proofread.Kind{
		"typo": proofread.Typo, "誤字脱字": proofread.Typo, "": proofread.Typo, "表記ゆれ": proofread.Variation,
		"Redundancy": proofread.Wordy, "敬語の誤り": proofread.Honorific, "固有名詞の確認": proofread.Fact,
	} {
		said, _ := json.Marshal(map[string]string{"before": "a", "after": "b", "kind": name})
		var r proofread.Reader
		if got := r.Write(string(said)); len(got) != 1 || got[0].Kind != want {
			t.Errorf("kind %q: %+v", name, got)
		}
	}
}

func TestReaderAcceptsTheSchema(t *testing.T) {
	t.Parallel()
	var schema struct {
		Properties struct {
			Changes struct {
				Items struct {
					Required   []string       `json:"required"`
					Properties map[string]any `json:"properties"`
				} `json:"items"`
			} `json:"changes"`
		} `json:"properties"`
	}
	must.Succeed(t, json.Unmarshal(proofread.Schema(), &schema))
	item, instructions := schema.Properties.Changes.Items, proofread.Instructions
	for _, field := range item.Required {
		if item.Properties[field] == nil || !strings.Contains(instructions, `"`+field+`":`) {
			t.Errorf("%s is missing in the schema or in the example", field)
		}
	}
	var r proofread.Reader
	_, example, _ := strings.Cut(proofread.Instructions, "\n{")
	if got := r.Write("{" + example); len(got) != 1 || got[0].After != "行きます" {
		t.Errorf("the example was parsed as %+v", got)
	}
}

func TestPrompt(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("前の段落。", 700) + "\n本文の<text>段落。\n" + strings.Repeat("後の段落。", 700)
	neutral := func(s string) string { return strings.ReplaceAll(s, "<text>", "＜text>") }
	parts := proofread.New(text).Parts()
	known := []proofread.Change{{Before: "下さい", After: "ください", Kind: proofread.Variation}, {Before: "a", After: "b"}}
	for i, part := range parts {
		got := part.Prompt("直す範囲: 誤字", known, neutral)
		if strings.Count(got, "<text>") != 1 || !strings.HasPrefix(got, "直す範囲: 誤字\nこれまでにそろえた表記: 「下さい」→「ください」\n") ||
			strings.Contains(got, "<preceding>") != (i > 0) || strings.Contains(got, "<following>") != (i+1 < len(parts)) {
			t.Errorf("part %d:\n%s", i, got)
		}
	}
}

// TestTakeIsBounded applies thousands of proposals to a text of one repeated word.
func TestTakeIsBounded(t *testing.T) {
	t.Parallel()
	p := proofread.New(strings.Repeat("連絡", 1_500))
	for range 500 {
		p.AddProposal(0, proofread.Proposal{Context: "連絡連", Before: "連絡", After: "電話", Kind: proofread.Typo})
		p.AddProposal(0, proofread.Proposal{Context: "ﾚﾝﾗｸ", Before: "連絡連絡", After: "連絡", Kind: proofread.Typo})
	}
	check(t, p.Result())
}

// FuzzR96_AnyAnswerFitsTheText verifies that any answer, in pieces of any size, results in changes that fit the text.
func FuzzR96_AnyAnswerFitsTheText(f *testing.F) {
	f.Add("会議に行ます。\n🧵をを", `{"changes":[{"before":"行ます","after":"行きます"},{"before":"をを","after":"を"}]}`, 1)
	f.Add("ＡＢＣ ｶﾞ㍻", "```\n[{\"before\":\"ABC ガ平成\",\"after\":\"\",\"kind\":\"x\",},\n", 3)
	f.Add("e\u0301を\U0001F468\u200d\U0001F469", `{"before":"e","after":"é\ud83d","context":"e\u0301"}`, 7)
	f.Add("👍🏽\r\n", `{"before":"👍","after":"🏽"}{"before":"\r\n","after":""}`, 2)
	f.Fuzz(func(t *testing.T, text, said string, size int) {
		text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r", "\n")
		if len(text) > 50_000 || len(said) > 100_000 || size < 1 {
			return
		}
		p := proofread.New(text)
		joined := ""
		for i, part := range p.Parts() {
			joined += part.Text
			var r proofread.Reader
			for at := 0; at < len(said); at += size {
				for _, q := range r.Write(said[at:min(at+size, len(said))]) {
					if c, ok := p.AddProposal(i, q); ok {
						p.Line(c)
					}
				}
			}
			p.AddDropped(r.Malformed())
			p.MarkChecked(i, r.WellFormed())
		}
		if joined != text {
			t.Fatalf("the parts are %q", joined)
		}
		r := p.Result()
		check(t, r)
		if closing := p.Closing(); !utf8.ValidString(closing) || !utf8.ValidString(r.Apply()) {
			t.Fatalf("%q", closing)
		}
		offset, blocks := 0, ""
		for _, b := range proofread.Blocks(text, 16) {
			if b.Offset != offset || len(b.Text) > 16 {
				t.Fatalf("block %+v at %d", b, offset)
			}
			offset += len(utf16.Encode([]rune(b.Text)))
			blocks += b.Text
		}
		if blocks != text {
			t.Fatalf("the blocks are %q", blocks)
		}
	})
}
