package tsumugi_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

// unwanted matches words and phrases that have another name in what people read.
var unwanted = regexp.MustCompile("スレッド|会話|やりとり|やり取り|資料|データソース|[\\p{Hiragana}\\p{Katakana}\\p{Han}]\\.\\.\\.|・・・" +
	"|直し[のをがは（]|直すべき|直す範囲|未決|本文と一致しない|表記の決まり|回答の続きを待って|回答を準備|回答が途切れた|作成し直して" +
	"|表示していない(?:新しい)?(?:回答|質問)|回答のあとに送信|ため、送信していません|よく考えてから|熟考|再回答|入力欄に戻して" +
	"|書かれるそばから|運用する人|本人と確認できない人|使う人|現在ご利用いただけない|自分について|機器|検討だけで終わり" +
	"|検索する言葉|検索語をクリア|検索をやめる|スキル一覧へ|サインイン|サインアウト|再試行|もう一度試す|例）|1つ|しばらくして" +
	"|ますか['\"`」]|しますか$" + `|(?:save|"message"): ['"]保存['"]|(?:end|confirm): '削除'`)

// otherColon matches a colon of Latin text after a Japanese word or between two variables, and a full-width colon before
// a space.
var otherColon = regexp.MustCompile(`[\p{Hiragana}\p{Katakana}\p{Han}ー）」］]:(?:\*\*)?(?:\s|$)|： |\}: \$\{`)

// specified is the one text of the specification with three periods.
const specified = "読み込み中..."

// otherTexts are files whose texts, or some words of them, have other readers or another meaning: instructions for
// models, the vocabulary of the offline engine, and threads of Slack. No words means the whole file.
var otherTexts = map[string][]string{
	"chat/prompt.go":                              nil,
	"chat/retrieval.go":                           {"ー: "},
	"chat/title.go":                               {"会話"},
	"internal/answer/answer.go":                   {"資料"},
	"internal/api/openapi.yaml":                   {"正: "},
	"internal/answer/condense.go":                 nil,
	"internal/answer/normalizer.go":               nil,
	"internal/answer/conversation.go":             nil,
	"internal/answer/select.go":                   nil,
	"internal/answer/web.go":                      nil,
	"internal/channel/texts.go":                   {"スレッド"},
	"internal/llm/llmtest/llmtest.go":             nil,
	"internal/llm/llmtest/markdown.go":            nil,
	"internal/llm/offline/engine.go":              {"： "}, // A set of characters.
	"internal/llm/offline/quote.go":               {"資料"},
	"internal/mail/folder.go":                     {"先: ", "名: ", "ル: "}, // Programs may read them.
	"internal/proofread/prompt.go":                nil,
	"internal/skill/prompt.go":                    nil,
	"internal/skill/variables.go":                 nil,
	"internal/slack/blocks.go":                    {"スレッド"},
	"internal/slack/manifest.go":                  {"スレッド"},
	"internal/webpage/webpage.go":                 {"会話", "話:\n", "問:\n"},
	"extension/src/lib/session.ts":                {"}: ${"}, // Errors in the log.
	"extension/src/panel/conversation.ts":         {"}: ${"},
	"docs/administration.md":                      {"スレッド"},
	"docs/slack.md":                               {"スレッド"},
	"internal/skill/builtin/translation.yaml":     {"会話"},
	"web/src/features/admin/texts/slackScreen.ts": {"スレッド"},
	"web/src/features/viewer/sheet.ts":            {"名: ", "数: "}, // The stored form of a row.
	"web/src/lib/markdown/texts.ts":               {"save: '保存'"}, // The label of a button next to コピー.
}

// TestOneWordForOneThing finds unwanted words and colons in the texts of the app, the extension, the server, the
// standard skills and the guides.
func TestOneWordForOneThing(t *testing.T) {
	t.Parallel()
	files := 0
	for _, root := range []string{
		"web/src", "extension/public/_locales/ja", "extension/src", "clients/ai-sdk/src", "chat", "internal", "store",
		"cmd/tsumugi", "docs",
	} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			texts := textsOf(t, filepath.ToSlash(path))
			if len(texts) > 0 {
				files++
			}
			for _, text := range texts {
				for _, word := range wordsIn(filepath.ToSlash(path), text) {
					t.Errorf("%s: %s in %q", path, word, strings.TrimSpace(text))
				}
			}
			return nil
		})
		must.Succeed(t, err)
	}
	if files < 100 {
		t.Errorf("%d files with texts", files)
	}
}

// TestSpecifiedTexts finds each text of the specification, unchanged, in the texts of the app.
func TestSpecifiedTexts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"'お気に入り済みのスキルはありません。'", "'読み込みに失敗しました'", "'読み込み中...'", "'管理者画面'",
		"'このアカウントは一時停止中か、削除されています。'",
		"cannot refresh local storage Token: not found in localstorage", "was null or undefined when calling",
	} {
		found := false
		err := filepath.WalkDir("web/src", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.Contains(path, ".test.") {
				return err
			}
			source, err := os.ReadFile(path) //nolint:gosec // A file of this repository.
			found = found || strings.Contains(string(source), text)
			return err
		})
		must.Succeed(t, err)
		if !found {
			t.Errorf("%s is not in the app", text)
		}
	}
}

// japanese matches Japanese text, and a label and its value in a template of TypeScript.
var japanese = regexp.MustCompile(`[\p{Hiragana}\p{Katakana}\p{Han}]|\}: \$\{`)

// wordsIn returns the unwanted words of a text.
func wordsIn(path, text string) []string {
	exempt, listed := otherTexts[path]
	if !japanese.MatchString(text) || listed && exempt == nil {
		return nil
	}
	found := unwanted.FindAllString(strings.ReplaceAll(text, specified, ""), -1)
	found = append(found, otherColon.FindAllString(text, -1)...)
	return slices.DeleteFunc(found, func(word string) bool { return slices.Contains(exempt, word) })
}

// textsOf returns the Japanese texts of a file: string literals of Go, lines of other files.
func textsOf(t *testing.T, path string) []string {
	t.Helper()
	switch {
	case strings.HasSuffix(path, "_test.go"), strings.Contains(path, ".test."), strings.Contains(path, ".gen."),
		strings.Contains(path, "/testdata/"):
		return nil
	case strings.HasSuffix(path, ".go"):
		return literals(t, path)
	case strings.HasPrefix(path, "docs/"):
		if !slices.Contains([]string{"guide.md", "administration.md", "extension.md", "slack.md"}, filepath.Base(path)) {
			return nil
		}
	case !slices.Contains([]string{".ts", ".tsx", ".json", ".yaml"}, filepath.Ext(path)):
		return nil
	}
	source, err := os.ReadFile(path) //nolint:gosec // A file of this repository.
	must.Succeed(t, err)
	text, _, _ := strings.Cut(string(source), "\nprompt: |") // Instructions for a model.
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return !japanese.MatchString(line) || strings.HasPrefix(line, "keywords:")
	})
}

// literals returns the Japanese string literals of a Go file.
func literals(t *testing.T, path string) []string {
	t.Helper()
	file := must.Get(parser.ParseFile(token.NewFileSet(), path, nil, 0))(t)
	var texts []string
	ast.Inspect(file, func(node ast.Node) bool {
		if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil && japanese.MatchString(text) {
				texts = append(texts, text)
			}
		}
		return true
	})
	return texts
}
