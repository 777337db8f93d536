package answer_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/answer"
)

// three are the passages 1 to 3.
var three = []answer.Passage{{Index: 1}, {Index: 2}, {Index: 3}}

// guarded returns the output of a CitationNormalizer for the pieces of a text.
func guarded(passages []answer.Passage, pieces ...string) string {
	g := answer.NewCitationNormalizer(passages)
	var out strings.Builder
	for _, piece := range pieces {
		out.WriteString(g.Write(piece))
	}
	return out.String() + g.Close()
}

func TestR81_CitationsAreNormalized(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"20日です[1]。":        "20日です[1]。",
		"20日です【2】。":        "20日です[2]。",
		"20日です［３］。":        "20日です[3]。",
		"20日です[ 1 ]":       "20日です[1]",
		"20日です[1, 2]。":     "20日です[1][2]。",
		"20日です[1、3]。":      "20日です[1][3]。",
		"20日です[1][2]。":     "20日です[1][2]。",
		"20日です[1-3]。":      "20日です[1][2][3]。",
		"20日です[出典1]。":      "20日です[1]。",
		"20日です[資料: 2]。":    "20日です[2]。",
		"20日です[source 2]。": "20日です[2]。",
		"20日です【3†source】。": "20日です[3]。",
		"知りません[9]。":        "知りません。",
		"一部だけ[1, 9]。":      "一部だけ[1]。",
		"[1]":              "[1]",
		"[1":               "[1",
		"[":                "[",
		"[1][":             "[1][",
		"[出典出典出典出典出典出典1]":              "[出典出典出典出典出典出典1]",
		"年度は[2024]です":                  "年度は[2024]です",
		"- [ ] 未\n- [x] 済":             "- [ ] 未\n- [x] 済",
		"[1](https://example.jp)":      "[1](https://example.jp)",
		"[9](https://example.jp)":      "[9](https://example.jp)",
		"[1]: https://example.jp":      "[1]: https://example.jp",
		"脚注[^1]":                       "脚注[^1]",
		"【重要】お知らせ":                     "【重要】お知らせ",
		"![1](a.png)":                  "![1](a.png)",
		`\[1\]`:                        `\[1\]`,
		"配列は`a[9]`です[9][1]":            "配列は`a[9]`です[1]",
		"``a`[9]`` [9]":                "``a`[9]`` ",
		"閉じない` 引用[9]\n\n次[9]":          "閉じない` 引用[9]\n\n次",
		"```go\na[9]\n```\n次[9][1]":    "```go\na[9]\n```\n次[1]",
		"~~~\n[9]\n```\n[9]\n~~~\n[9]": "~~~\n[9]\n```\n[9]\n~~~\n",
		"````\n```\n[9]\n````\n[9]":    "````\n```\n[9]\n````\n",
		"```a[9]``` は[9]":              "```a[9]``` は",
		"> ```\n> [9]\n> ```\n> [9]":   "> ```\n> [9]\n> ```\n> ",
		"```\n[9]":                     "```\n[9]",
		"[[9]9]":                       "[—9]",
		"[[1]]":                        "[[1]]",
		"[9[8]]":                       "[9—]",
	} {
		if got := guarded(three, text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
		if got := guarded(three, strings.Split(text, "")...); got != want {
			t.Errorf("%q, character by character, became %q, want %q", text, got, want)
		}
	}
}

// TestR81_LittleIsHeldBack verifies that an unfinished citation does not delay the text.
func TestR81_LittleIsHeldBack(t *testing.T) {
	t.Parallel()
	g := answer.NewCitationNormalizer(three)
	in, out := 0, 0
	for _, r := range "回答[" + strings.Repeat("1", 40) + "【" + strings.Repeat("、", 40) + "[[[[[[1]" {
		in++
		out += utf8.RuneCountInString(g.Write(string(r)))
		if in-out > 12 {
			t.Fatalf("%d characters are held back", in-out)
		}
	}
}

// FuzzR81_Guard verifies that the output does not depend on how the text is split, and cites only passages.
func FuzzR81_Guard(f *testing.F) {
	f.Add("第3条のとおり20日です[1]。【9】`[9]`\n```\n[2]\n```\n[1-3]", uint64(1))
	f.Add("[[[1]]] ［１］(x) [1]:\n[1]: x", uint64(2))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		if !utf8.ValidString(text) {
			return
		}
		whole := guarded(three, text)
		random := rand.New(rand.NewPCG(seed, 0))
		var pieces []string
		for rest := []rune(text); len(rest) > 0; {
			n := 1 + random.IntN(min(len(rest), 8))
			pieces = append(pieces, string(rest[:n]))
			rest = rest[n:]
		}
		if got := guarded(three, pieces...); got != whole {
			t.Errorf("%q is %q in one piece and %q in %q", text, whole, got, pieces)
		}
		if again := guarded(three, whole); again != whole {
			t.Errorf("%q becomes %q, and that %q", text, whole, again)
		}
	})
}
