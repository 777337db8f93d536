package slack_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/slack"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

var update = flag.Bool("update", false, "write the golden files")

// pings matches tokens that notify people in Slack.
var pings = regexp.MustCompile(`<(@[A-Z]|#[A-Z]|!(?:channel|here|everyone|group|subteam))`)

func TestRender_Golden(t *testing.T) {
	t.Parallel()
	sources, err := filepath.Glob("testdata/render/*.md")
	if err != nil || len(sources) == 0 {
		t.Fatal(sources, err)
	}
	for _, source := range sources {
		markdown := must.Get(os.ReadFile(source))(t)
		// The golden file has a visible character for zero-width spaces.
		got := strings.ReplaceAll(slack.Render(string(markdown), true), "\u200b", "␣")
		golden := strings.TrimSuffix(source, ".md") + ".golden"
		if *update {
			must.Succeed(t, os.WriteFile(golden, []byte(got), 0o600))
		}
		want := must.Get(os.ReadFile(golden))(t)
		if got != string(want) {
			t.Errorf("%s:\n%s\nwant:\n%s", source, got, want)
		}
	}
}

func TestR89_Render(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ markdown, want string }{
		{"<!channel> 連絡", "&lt;!channel> 連絡"},
		{"<!here|here>", "&lt;!here|here>"},
		{"<@U0123ABCD>さん", "&lt;@\u200bU0123ABCD>さん"},
		{"<!subteam^S0123>", "&lt;!subteam^S0123>"},
		{"@channel", "@\u200bchannel"},
		{"全員へ@hereです", "全員へ@\u200bhereです"},
		{"a@here.com", "a@here.com"},
		{"@heretic", "@heretic"},
		{"`<!channel>`", "`<\u200b!channel>`"},
		{"```\n<@U0123ABCD>\n```", "```\n<\u200b@U0123ABCD>\n```"},
		{"`` <!here> ` ``", "`` <\u200b!here> ` ``"},
		{"`<!here>", "`&lt;!here>"},
		{"| <!here> |\n|---|\n| <@U0123ABCD> |", "```\n<\u200b!here>\n------------\n<\u200b@U0123ABCD>\n```"},
		{"<https://example.com/<!here>>", "&lt;https://example.com/&lt;!here>>"},
		{"<mailto:!channel>", "!channel"},
		{"<https://evil.example|社内規程>", "&lt;https://evil.example|社内規程>"},
		{`\<!here>`, "&lt;!here>"},
		{"<<!here>", "&lt;&lt;!here>"},
		{"<\n!here>", "&lt;\n!here>"},
		// Backquotes in a formula do not end its code block.
		{"\\[\n```\n@channel\n\\]", "```\n`\u200b`\u200b`\u200b\n@channel\n```"},
		{"$$\n  ```x\n@here\n$$", "```\n  `\u200b`\u200b`\u200bx\n@here\n```"},
	} {
		if got := slack.Render(c.markdown, true); got != c.want {
			t.Errorf("%q → %q, want %q", c.markdown, got, c.want)
		}
	}
}

func TestRender_HoldsBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ part, want string }{
		{"表です\n| a | b |\n|---|---|\n| 1 | 2 |\n", "表です\n"},
		{"表です\n| a | b |\n|---|---|\n| 1 | 2 |\n\n", "表です\n```\na | b\n----+----\n1 | 2\n```\n\n"},
		{"回答は`code", "回答は"},
		{"回答は`code`", "回答は"},
		{"回答は`code`で", "回答は`code`で"},
		{"見て<htt", "見て"},
		{"見て<https://example.com/>", "見てhttps://example.com/"},
		{"**太", "**太"},
		{"1. ", ""},
		{"- [", ""},
		{"- [x] 済", "- ☑ 済"},
		{"``", ""},
		{"```go", ""},
		{"```go\nx <!h", "```go\nx "},
		{"to@her", "to"},
	} {
		if got := slack.Render(c.part, false); got != c.want {
			t.Errorf("%q → %q, want %q", c.part, got, c.want)
		}
	}
}

func TestRender_WideTables(t *testing.T) {
	t.Parallel()
	wide := "| 項目 | 説明 |\n|---|---|\n| a | " + strings.Repeat("長い説明", 20) + " |\n| b | c |\n"
	got := slack.Render(wide, true)
	if !strings.Contains(got, "\nb | c\n") || !strings.Contains(got, "a | 長い説明") {
		t.Errorf("a wide table is aligned: %q", got)
	}
}

func FuzzR89_Render(f *testing.F) {
	for _, seed := range []string{
		"<!channel>", "`<@U0123ABCD>", "```\n<!here>\n", "| a |\n|---|\n| <!here> |\n", "- [ ] a\n1. [x] b",
		"$$\nx\n$$",
		"<https://example.com>", "**「a」**b `c` ``d`` @here \\<!x> \\`", "~~~\na\n~~~", "\\[\nx\n\\]",
		"---\n***\n* * *\n",
		"> ```\n> <!here>\n", "a\r\nb\r", "`a`\n`b``c`", "```a`b\n<!here>", "<<!here>>", "<mailto:<!here>>",
		"@U0123ABCD", "$$\nx```\n```\n$$",
	} {
		f.Add(seed, 3)
	}
	if markdown, err := os.ReadFile("testdata/render/answer.md"); err == nil {
		f.Add(string(markdown), 100)
	}
	f.Fuzz(func(t *testing.T, markdown string, cut int) {
		whole := slack.Render(markdown, true)
		if found := pings.FindString(whole); found != "" {
			t.Errorf("%q pings: %q", markdown, found)
		}
		if cut < 0 || cut > len(markdown) {
			return
		}
		part, more := slack.Render(markdown[:cut], false), slack.Render(markdown, false)
		if !strings.HasPrefix(more, part) {
			t.Errorf("%q at %d: %q is not the beginning of %q", markdown, cut, part, more)
		}
		if !strings.HasPrefix(whole, more) {
			t.Errorf("%q: %q is not the beginning of %q", markdown, more, whole)
		}
		if utf8.ValidString(markdown) && !utf8.ValidString(part) && utf8.ValidString(markdown[:cut]) {
			t.Errorf("%q: not UTF-8", part)
		}
	})
}

func TestPlain(t *testing.T) {
	t.Parallel()
	name := func(id string) string { return map[string]string{"U2": "花子"}[id] }
	for _, c := range []struct{ text, want string }{
		{"<@UBOT> 要約して", "要約して"},
		{"<@UBOT|tsumugi> <@U2>と<@U3|taro>", "@花子と@taro"},
		{"<https://a.example|規程> <https://b.example>", "[規程](https://a.example) https://b.example"},
		{"<mailto:a@b.c|a@b.c>", "a@b.c"},
		{"&lt;!here&gt; &amp;amp;", "<!here> &amp;"},
		{"<!here> <!subteam^S1|@営業> <#C1|general> <#C2>", "@here @営業 #general #C2"},
		{"<!date^1700000000^{date}|昨日>", "昨日"},
		{"a < b", "a < b"},
	} {
		if got := slack.Plain(c.text, "UBOT", name); got != c.want {
			t.Errorf("%q → %q, want %q", c.text, got, c.want)
		}
	}
}

func TestRender_Links(t *testing.T) {
	t.Parallel()
	for markdown, want := range map[string]string{
		"[a](javascript:alert(1))よ":        "[a]よ",
		"[a](< JavaScript:x>)":             "[a]",
		"[a](java&#115;cript:x)":           "[a]",
		"[a](slack://open)":                "[a]",
		"![図](https://evil.example/p.png)": "[図]",
		"![図][1]":                          "[図][1]",
		"[a](https://x.example/a_(b))":     "[a](https://x.example/a_(b))",
		"[a](mailto:a@x.example)":          "[a](mailto:a@x.example)",
		"配列[0](参照)":                        "配列[0]\u200b(参照)",
		"[1]: javascript:x":                "[1]\u200b: javascript:x",
	} {
		if got := slack.Render(markdown, true); got != want {
			t.Errorf("%q: %q, not %q", markdown, got, want)
		}
		for i := range markdown {
			if part := slack.Render(markdown[:i], false); !strings.HasPrefix(want, part) {
				t.Errorf("%q: %q is sent too early", markdown[:i], part)
			}
		}
	}
}
