package tool

import (
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// The names of the tools that find sources for an answer. Package chat/ground makes their calls.
const (
	SearchDocuments = "search_documents"
	SearchWeb       = "search_web"
	ReadPage        = "read_page"
)

const (
	maxQuery   = 200   // In characters.
	maxAddress = 2_000 // In bytes.
)

// DocumentSearch returns the tool that searches the files of a conversation. search makes its calls.
func DocumentSearch(search func(ctx context.Context, query string) (Result, error)) Tool {
	return newSearch(SearchDocuments, "文書を検索",
		"このチャットで使えるファイル（添付されたファイル、スキルのファイル、プロジェクトのファイル）を検索し、質問に合う箇所を "+
			"<source> として返す。最初に示された <source> で足りないとき、別の言葉で探すときに使う。",
		"探す内容。文でも、空白で区切った言葉でもよい", search)
}

// WebSearch returns the tool that searches the web. search makes its calls.
func WebSearch(search func(ctx context.Context, query string) (Result, error)) Tool {
	return newSearch(SearchWeb, "ウェブを検索",
		"ウェブを検索し、見つかったページから質問に合う箇所を <source> として返す。検索語句は外部の検索サービスに送られるため、"+
			"個人の情報や、組織の外に出せない内容を含めない。",
		"検索エンジンに入力する、空白で区切った言葉", search)
}

// newSearch returns a tool whose only argument is a query, which about describes.
func newSearch(
	name, title, description, about string, search func(ctx context.Context, query string) (Result, error),
) Tool {
	type arguments struct {
		Query string `json:"query"`
	}
	return newTool(Tool{
		Name: name, Title: title, Description: description,
		Parameters: json.RawMessage(`{
			"type": "object", "additionalProperties": false, "required": ["query"],
			"properties": {"query": {"type": "string", "description": "` + about + `"}}
		}`),
	}, func(ctx context.Context, a arguments) (Result, error) {
		if err := checkQuery(a.Query, true); err != nil {
			return Result{}, err
		}
		return search(ctx, a.Query)
	})
}

func checkQuery(query string, required bool) error {
	if n := utf8.RuneCountInString(query); n > maxQuery || required && strings.TrimSpace(query) == "" {
		return fault.Errorf(fault.Invalid, "query は%d文字以内で指定してください。", maxQuery)
	}
	return nil
}

// PageReader returns the tool that reads a page of the web. read makes its calls: it returns the parts of the page that
// are about a query, or its beginning if the query is empty.
func PageReader(read func(ctx context.Context, address, query string) (Result, error)) Tool {
	type arguments struct {
		URL   string `json:"url"`
		Query string `json:"query"`
	}
	return newTool(Tool{
		Name: ReadPage, Title: "ページを読む",
		Description: "ウェブページかPDFを読み、その文章を <source> として返す。読めるのは、質問者が書いたアドレスと、検索結果や <source> にあるアドレスだけである。",
		Parameters: json.RawMessage(`{
			"type": "object", "additionalProperties": false, "required": ["url"],
			"properties": {
				"url": {"type": "string", "description": "http か https のアドレス"},
				"query": {"type": "string", "description": "長いページで探す内容。省略するとページの初めを返す"}
			}
		}`),
	}, func(ctx context.Context, a arguments) (Result, error) {
		if a.URL = strings.TrimSpace(a.URL); a.URL == "" || len(a.URL) > maxAddress {
			return Result{}, fault.Errorf(fault.Invalid, "url は%d字以内のアドレスを指定してください。", maxAddress)
		}
		if err := checkQuery(a.Query, false); err != nil {
			return Result{}, err
		}
		return read(ctx, a.URL, a.Query)
	})
}
