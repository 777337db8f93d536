package proofread

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The tags in the prompt for a part. tagText is also the tag of the text in other prompts. The text must not contain
// any of these tags.
const (
	tagText      = "text"
	tagPreceding = "preceding"
	tagFollowing = "following"
)

// Tags returns the tags that only Prompt uses.
func Tags() []string { return []string{tagPreceding, tagFollowing} }

// Instructions describe the format of the model's answer. They follow the instructions of the skill.
const Instructions = `# 校正の答え方
- 校正するのは、最後のメッセージの <text> と </text> の間だけである。<preceding> と <following> は前後の文章であり、文脈を知るために読むだけで、直さない。
- 答えは、次の形の JSON のオブジェクト一つだけとする。前置き、後書き、コードブロックの記号を付けない。
{"changes":[{"context":"本日は会議に行ますので、","before":"行ます","after":"行きます","kind":"typo","reason":"送り仮名の抜け","question":false}]}
- changes は、文章に出てくる順に並べる。直す箇所がなければ {"changes":[]} とだけ答える。
- before は、直す部分を本文から一字も変えずに写す。直す語のまとまりだけを短く写し、文全体を写さない。空にせず、改行を含めない。
- after は、before と置き換える文字列である。削るだけのときは空文字列とする。改行を含めない。
- context は、before を含む前後の15字から40字程度を、本文からそのまま写す。
- 離れた箇所は、別々の要素に分ける。同じ誤りが何か所にもあれば、そのすべてを挙げる。同じ箇所を二度挙げない。
- kind は、typo（誤字、脱字、文法、句読点の誤り）、variation（表記のゆれ、表記ルールとの違い）、honorific（敬語）、wordy（冗長、読みにくさ）、fact（事実、数値、固有名詞の確認）のどれか一つとする。
- reason は、書き手に伝わる短い理由を20字程度で書く（例: 変換の誤り、二重敬語、意味の重複）。
- question は、書き手にしか判断できないときだけ true とする。kind が fact のものは必ず true とする。直す案がなければ、after を before と同じにする。
`

// Schema returns the JSON schema of the answer, in the strict form that providers require.
func Schema() json.RawMessage {
	return json.RawMessage(`{"type":"object","additionalProperties":false,"required":["changes"],"properties":{` +
		`"changes":{"type":"array","items":{"type":"object","additionalProperties":false,` +
		`"required":["context","before","after","kind","reason","question"],"properties":{` +
		`"context":{"type":"string"},"before":{"type":"string"},"after":{"type":"string"},` +
		`"kind":{"type":"string","enum":["typo","variation","honorific","wordy","fact"]},` +
		`"reason":{"type":"string"},"question":{"type":"boolean"}}}}}}`)
}

// Prompt returns the prompt for a part. settings are the short values of the form. neutral escapes text that could be
// mistaken for a tag. known are the changes of earlier parts; the prompt lists their spellings, so that the model uses
// them in this part too.
func (p Part) Prompt(settings string, known []Change, neutral func(string) string) string {
	var b strings.Builder
	if settings != "" {
		b.WriteString(settings + "\n")
	}
	if list := spellings(known); list != "" {
		fmt.Fprintf(&b, "これまでにそろえた表記: %s\n", neutral(list))
	}
	if before := strings.TrimSpace(p.preceding); before != "" {
		fmt.Fprintf(&b, "<%s>\n%s\n</%s>\n", tagPreceding, neutral(before), tagPreceding)
	}
	fmt.Fprintf(&b, "<%s>\n%s\n</%s>\n", tagText, neutral(p.Text), tagText)
	if after := strings.TrimSpace(p.following); after != "" {
		fmt.Fprintf(&b, "<%s>\n%s\n</%s>\n", tagFollowing, neutral(after), tagFollowing)
	}
	return b.String()
}

// maxKnown is the largest number of spellings in a prompt.
const maxKnown = 30

// spellings lists the most recent variations without duplicates.
func spellings(changes []Change) string {
	var list []string
	seen := make(map[string]bool)
	for i := len(changes) - 1; i >= 0 && len(list) < maxKnown; i-- {
		c := changes[i]
		entry := fmt.Sprintf("「%s」→「%s」", c.Before, c.After)
		if c.Kind == Variation && !c.Question && c.After != "" && len(entry) < 100 && !seen[entry] {
			seen[entry] = true
			list = append(list, entry)
		}
	}
	return strings.Join(list, "、")
}
