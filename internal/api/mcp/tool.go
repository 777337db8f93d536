package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/google/uuid"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/api/openai"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

// The names of the tools.
const (
	toolSkills = "list_skills"
	toolAsk    = "ask_skill"
	toolSearch = "search_documents"
)

// Bounds of arguments and results.
const (
	maxQuery       = 500       // Characters of a search.
	defaultResults = 10        // Passages of a search.
	maxResults     = 20        // Passages of a search.
	maxText        = 200 << 10 // Bytes of a text in a result.
)

// tool is a tool and its implementation. In is the type of its arguments, and Out that of its structured result.
type tool[In, Out any] struct {
	sdk.Tool
	scope identity.Scope
	waits bool // It waits for an answer, which has its own time limits.
	do    func(ctx context.Context, c call, req *sdk.CallToolRequest, in In) (text string, out Out, err error)
}

func (h *Handler) addTools(server *sdk.Server) {
	readOnly := &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(false)}
	addTool(h, server, tool[struct{}, skillList]{
		Tool: sdk.Tool{
			Name: toolSkills, Title: "スキルの一覧", Annotations: readOnly,
			Description: "質問できるスキル（目的別のアシスタント）の一覧を返します。ask_skill の前に、目的に合うスキルの id を調べるために使います。",
		},
		scope: identity.ScopeChat, do: listSkills,
	})
	addTool(h, server, tool[askArguments, answerRecord]{
		Tool: sdk.Tool{
			Name: toolAsk, Title: "スキルに質問", Annotations: &sdk.ToolAnnotations{DestructiveHint: new(false)},
			Description: "スキルに質問し、回答と出典を返します。質問と回答は、利用者の Tsumugi のチャットに残ります。" +
				"続けて質問するときは、前の結果の thread_id を指定します。回答には数分かかることがあります。",
		},
		scope: identity.ScopeChat, waits: true, do: askSkill,
	})
	addTool(h, server, tool[searchArguments, passageList]{
		Tool: sdk.Tool{
			Name: toolSearch, Title: "ファイルの検索", Annotations: readOnly,
			Description: "利用者が Tsumugi にアップロードしたファイル、または一つのプロジェクトのファイルから、検索語に合う箇所を返します。" +
				"前後の文章は、結果の uri のリソースを読むと分かります。",
		},
		scope: identity.ScopeDocuments, do: searchDocuments,
	})
}

// addTool adds a tool. Its errors are results, so that the model of the client reads them.
func addTool[In, Out any](h *Handler, server *sdk.Server, t tool[In, Out]) {
	t.InputSchema, t.OutputSchema = schemaOf[In](), schemaOf[Out]()
	server.AddTool(&t.Tool, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		began := time.Now()
		ctx, c, end := begin(ctx)
		defer end()
		if !t.waits {
			limited, cancel := context.WithTimeout(ctx, h.cfg.CallTimeout)
			defer cancel()
			ctx = limited
		}
		text, out, err := run(ctx, c, t, req)
		took := time.Since(began)
		h.cfg.Log.InfoContext(ctx, "mcp: tool called", "tool", t.Name, "ms", took.Milliseconds(), "code", codeOf(err))
		if err := record(ctx, c, &t.Tool, took, err); err != nil {
			h.cfg.Log.ErrorContext(ctx, "mcp: call not recorded in the audit log", "tool", t.Name, "err", err)
		}
		if err != nil {
			return &sdk.CallToolResult{IsError: true, Content: textOf(c.Explain(err))}, nil
		}
		return &sdk.CallToolResult{Content: textOf(text), StructuredContent: out}, nil
	})
}

// run checks the scope and the arguments of a call and makes it.
func run[In, Out any](ctx context.Context, c call, t tool[In, Out], req *sdk.CallToolRequest) (
	text string, out Out, err error,
) {
	defer protect(&err)
	// Package api has checked the scope of the message, but JSON parsers differ.
	if !c.HasScope(t.scope) {
		return "", out, fault.Errorf(fault.Forbidden, "この接続では、このツールを使えません。")
	}
	var in In
	decoder := json.NewDecoder(strings.NewReader(cmp.Or(string(req.Params.Arguments), "{}")))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return "", out, fault.Wrap(err, fault.Invalid, "引数が正しくありません。項目の名前と型を確認してください（%s）。", err)
	}
	return t.do(ctx, c, req, in)
}

// record adds a call and its error to the audit log.
func record(ctx context.Context, c call, t *sdk.Tool, took time.Duration, result error) (err error) {
	defer protect(&err)
	return c.Record(ctx, t.Name, t.Title, took, result)
}

// optionalID parses an optional id of the arguments.
func optionalID(name, value string) (*uuid.UUID, error) {
	if value == "" {
		return nil, nil //nolint:nilnil // None is no error.
	}
	id, err := uuid.Parse(value)
	if err != nil {
		return nil, fault.InvalidField(name, "%s の形式が正しくありません。", name)
	}
	return &id, nil
}

// codeOf returns the code of an error, or "" for none.
func codeOf(err error) fault.Code {
	if err == nil {
		return ""
	}
	return fault.CodeOf(err)
}

func textOf(text string) []sdk.Content { return []sdk.Content{&sdk.TextContent{Text: text}} }

// schemaOf returns the schema of a type. A field is required unless its tag has omitempty.
func schemaOf[T any]() *jsonschema.Schema {
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		panic(err) // Depends only on the types of this package.
	}
	return schema
}

// shorten returns a text within maxText.
func shorten(text string) string {
	if len(text) <= maxText {
		return text
	}
	return runes.FirstBytes(text, maxText) + "\n\n（長いため、ここから先を省略しました。）"
}

type skillList struct {
	Skills []skillRecord `json:"skills"`
}

type skillRecord struct {
	ID          string `json:"id" jsonschema:"ask_skill の skill に指定する値"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

func listSkills(ctx context.Context, c call, _ *sdk.CallToolRequest, _ struct{}) (string, skillList, error) {
	skills, err := c.Skills(ctx)
	list := skillList{Skills: []skillRecord{}}
	var text strings.Builder
	for _, s := range skills {
		if s.Unavailable != "" {
			continue
		}
		record := skillRecord{
			ID: s.Record().ID, Name: s.Name, Description: strings.ReplaceAll(s.Description, "\n", ""),
		}
		list.Skills = append(list.Skills, record)
		fmt.Fprintf(&text, "- %s（id: %s）: %s\n", record.Name, record.ID, record.Description)
	}
	return shorten(text.String()), list, err
}

type askArguments struct {
	Skill    string `json:"skill,omitempty" jsonschema:"スキルの id（list_skills の結果）。thread_id を指定するときは省略できます。"`
	Question string `json:"question" jsonschema:"質問。32000文字以内"`
	ThreadID string `json:"thread_id,omitempty" jsonschema:"続けて質問するチャットの id（前の結果の thread_id）。省略すると新しいチャットを作ります。"`
}

// answerRecord is the structured result of toolAsk.
type answerRecord struct {
	Answer    string           `json:"answer" jsonschema:"回答（Markdown）。[1] のような番号は citations の index です。"`
	ThreadID  string           `json:"thread_id" jsonschema:"続けて質問するときに指定する値"`
	ThreadURL string           `json:"thread_url" jsonschema:"このチャットを Tsumugi で開くURL"`
	Complete  bool             `json:"complete" jsonschema:"false のときは、回答が途中で終わっています。"`
	Citations []citationRecord `json:"citations"`
}

type citationRecord struct {
	Index   int    `json:"index"`
	Title   string `json:"title" jsonschema:"ファイルの名前、またはウェブページの題名"`
	Page    int    `json:"page,omitempty"`
	Locator string `json:"locator,omitempty" jsonschema:"ファイルの中の場所"`
	URL     string `json:"url,omitempty"`
	Quote   string `json:"quote,omitempty"`
}

func askSkill(ctx context.Context, c call, req *sdk.CallToolRequest, in askArguments) (string, answerRecord, error) {
	threadID, err := optionalID("thread_id", in.ThreadID)
	if err == nil && threadID == nil && in.Skill == "" {
		err = fault.InvalidField("skill", "skill か thread_id を指定してください。")
	}
	if err != nil {
		return "", answerRecord{}, err
	}
	complete, err := c.Ask(ctx, Question{Skill: in.Skill, ThreadID: threadID, Content: in.Question}, reporter(ctx, req))
	switch {
	case fault.CodeOf(err) == openai.UnknownModel:
		return "", answerRecord{}, fault.Wrap(err, fault.NotFound,
			"スキルが見つからないか、同じ名前のスキルが複数あります。list_skills の id を指定してください。")
	case err != nil:
		return "", answerRecord{}, err
	case complete.Status == chat.StatusFailed:
		return "", answerRecord{}, fault.Errorf(fault.Unavailable, "%s\n\nチャット: %s", complete.Failure.Detail,
			complete.ThreadURL)
	}
	out := answerRecord{
		Answer: shorten(strings.TrimSpace(complete.Content)), ThreadID: complete.ThreadID.String(),
		ThreadURL: complete.ThreadURL, Complete: complete.FinishReason == chat.FinishStop, Citations: []citationRecord{},
	}
	for _, cited := range complete.Cited() {
		out.Citations = append(out.Citations, citationRecord{
			Index: cited.Index, Title: cited.Filename, Page: cited.Page, Locator: cited.Locator, URL: cited.URL,
			Quote: cited.Quote,
		})
	}
	return answerText(complete, out), out, nil
}

// answerText returns an answer with its notices, sources and thread.
func answerText(complete Answer, out answerRecord) string {
	parts := []string{out.Answer}
	if !out.Complete {
		parts = append(parts, "（回答は途中で終わっています。）")
	}
	if notice := complete.Notice(); notice != "" {
		parts = append(parts, "⚠️ "+notice)
	}
	if len(complete.Sources) > 0 {
		parts = append(parts, "出典:\n"+strings.Join(complete.Sources, "\n"))
	}
	parts = append(parts, "チャット: "+out.ThreadURL+"（thread_id: "+out.ThreadID+"）")
	return strings.Join(parts, "\n\n")
}

// reporter returns a function that notifies the client of the progress of an answer, if the client has asked for that.
func reporter(ctx context.Context, req *sdk.CallToolRequest) func(characters int) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func(int) {}
	}
	began := time.Now()
	return func(characters int) {
		message := "回答の準備をしています"
		if characters > 0 {
			message = fmt.Sprintf("回答を作成しています（%d文字）", characters)
		}
		// The progress must increase, but the text of an answer that is begun again gets shorter. If the notification
		// fails, the client has disconnected.
		_ = req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
			ProgressToken: token, Progress: time.Since(began).Seconds(), Message: message,
		})
	}
}

type searchArguments struct {
	Query     string `json:"query" jsonschema:"検索語または質問。500文字以内"`
	ProjectID string `json:"project_id,omitempty" jsonschema:"検索するプロジェクトの id。省略すると、利用者自身のファイルを検索します。"`
	Limit     int    `json:"limit,omitempty" jsonschema:"結果の最大数。1から20。省略すると10"`
}

type passageList struct {
	Passages []passageRecord `json:"passages" jsonschema:"合う順"`
}

type passageRecord struct {
	URI     string  `json:"uri" jsonschema:"ファイルのリソースのURI"`
	File    string  `json:"file"`
	Page    int     `json:"page" jsonschema:"1から数えるページ（表計算ではシート、スライドでは枚数）"`
	Locator string  `json:"locator,omitempty" jsonschema:"ファイルの中の場所"`
	Score   float64 `json:"score" jsonschema:"大きいほど検索語に合います。同じ検索の結果とだけ比べられます。"`
	Text    string  `json:"text"`
}

func (a searchArguments) check() error {
	switch {
	case strings.TrimSpace(a.Query) == "":
		return fault.InvalidField("query", "query に検索語を指定してください。")
	case utf8.RuneCountInString(a.Query) > maxQuery:
		return fault.InvalidField("query", "query は%d文字以内で指定してください。", maxQuery)
	case a.Limit < 0 || a.Limit > maxResults:
		return fault.InvalidField("limit", "limit には1以上%d以下の整数を指定してください。", maxResults)
	}
	return nil
}

func searchDocuments(ctx context.Context, c call, _ *sdk.CallToolRequest, in searchArguments) (
	string, passageList, error,
) {
	if err := in.check(); err != nil {
		return "", passageList{}, err
	}
	projectID, err := optionalID("project_id", in.ProjectID)
	if err != nil {
		return "", passageList{}, err
	}
	found, err := c.Search(ctx, in.Query, projectID, cmp.Or(in.Limit, defaultResults))
	if err != nil {
		return "", passageList{}, err
	}
	list := passageList{Passages: []passageRecord{}}
	var text strings.Builder
	for i, p := range found {
		record := passageRecord{
			URI: documentURI + p.SourceID.String(), File: p.Filename, Page: p.Page, Locator: p.Locator,
			Score: math.Round(p.Score*1000) / 1000, Text: p.Text,
		}
		list.Passages = append(list.Passages, record)
		fmt.Fprintf(&text, "[%d] %s %s（スコア %.3f、%s）\n%s\n\n", i+1, p.Filename, place(p.Passage), record.Score,
			record.URI, p.Text)
	}
	if len(found) == 0 {
		text.WriteString("検索語に合う箇所は見つかりませんでした。")
	}
	return shorten(text.String()), list, nil
}
