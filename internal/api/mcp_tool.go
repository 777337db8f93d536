package api

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tsumugi-ai/tsumugi/internal/api/ratelimit"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
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
	maxToolQuery   = 500       // Characters of a search.
	defaultResults = 10        // Passages of a search.
	maxResults     = 20        // Passages of a search.
	maxToolText    = 200 << 10 // Bytes of a text in a result.
)

func (s *Server) addTools(server *sdk.Server) {
	readOnly := &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(false)}
	addTool(s, server, identity.ScopeChat, sdk.Tool{
		Name: toolSkills, Title: "スキルの一覧", Annotations: readOnly,
		Description: "質問できるスキル（目的別のアシスタント）の一覧を返します。ask_skill の前に、目的に合うスキルの id を調べるために使います。",
	}, s.listSkillsForTool)
	addTool(s, server, identity.ScopeChat, sdk.Tool{
		Name: toolAsk, Title: "スキルに質問", Annotations: &sdk.ToolAnnotations{DestructiveHint: new(false)},
		Description: "スキルに質問し、回答と出典を返します。質問と回答は、利用者の Tsumugi のチャットに残ります。" +
			"続けて質問するときは、前の結果の thread_id を指定します。回答には数分かかることがあります。",
	}, s.askSkill)
	addTool(s, server, identity.ScopeDocuments, sdk.Tool{
		Name: toolSearch, Title: "ファイルの検索", Annotations: readOnly,
		Description: "利用者が Tsumugi にアップロードしたファイル、または一つのプロジェクトのファイルから、検索語に合う箇所を返します。" +
			"前後の文章は、結果の uri のリソースを読むと分かります。",
	}, s.searchDocuments)
}

// addTool adds a tool. In is the type of its arguments, and Out that of its structured result. report notifies the
// client of the progress. Errors are results, so that the model of the client reads them.
func addTool[In, Out any](
	s *Server, server *sdk.Server, scope identity.Scope, t sdk.Tool,
	do func(c *call, report func(characters int), in In) (text string, out Out, err error),
) {
	t.InputSchema, t.OutputSchema = schemaOf[In](), schemaOf[Out]()
	run := func(ctx context.Context, c *call, req *sdk.CallToolRequest) (text string, out Out, err error) {
		defer protect(&err)
		// serve has checked the scope of the message, but JSON parsers differ.
		if !c.actor.HasScope(scope) {
			return "", out, errScope()
		}
		var in In
		if err := decodeArguments(req.Params.Arguments, &in); err != nil {
			return "", out, err
		}
		return do(c, reporter(ctx, req), in)
	}
	server.AddTool(&t, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		c, began := mcpCall(ctx), time.Now()
		text, out, err := run(ctx, c, req)
		took := time.Since(began)
		s.log.InfoContext(ctx, "mcp: tool called", "tool", t.Name, "ms", took.Milliseconds(), "code", fault.CodeOf(err))
		made := org.ClientCall{Tool: t.Name, Title: t.Title, Failed: err != nil, Duration: took}
		if err := s.recordClientCall(c, made); err != nil {
			s.log.ErrorContext(ctx, "mcp: call not recorded in the audit log", "tool", t.Name, "err", err)
		}
		if err != nil {
			text = s.explain(c, err)
			return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}, StructuredContent: out}, nil
	})
}

// decodeArguments decodes the arguments of a call. An error names the argument, because the model of the client reads
// only its text.
func decodeArguments(arguments []byte, in any) error {
	err := decodeStrictly([]byte(cmp.Or(string(arguments), "{}")), in)
	if err == nil {
		return nil
	}
	if wrong := fault.FieldsOf(err); len(wrong) > 0 {
		return fault.InvalidField(wrong[0].Field, "引数 %s: %s", wrong[0].Field, wrong[0].Message)
	}
	return fault.Wrap(err, fault.Invalid, "引数には JSON のオブジェクトを指定してください。")
}

// recordClientCall adds a call to the audit log, even if the client has disconnected.
func (s *Server) recordClientCall(c *call, made org.ClientCall) (err error) {
	defer protect(&err)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx()), callTimeout)
	defer cancel()
	return s.Org.RecordClientCall(ctx, c.actor, made)
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

// schemaOf returns the schema of a type. A field is required unless its tag has omitempty.
func schemaOf[T any]() *jsonschema.Schema {
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		panic(err) // Depends only on the types of this package.
	}
	return schema
}

// shorten returns a text within maxToolText.
func shorten(text string) string {
	if len(text) <= maxToolText {
		return text
	}
	return runes.FirstBytes(text, maxToolText) + "\n\n（長いため、ここから先を省略しました。）"
}

// skillList is the structured result of toolSkills.
type skillList struct {
	Skills []skillRecord `json:"skills"`
}

type skillRecord struct {
	ID          string `json:"id" jsonschema:"ask_skill の skill に指定する値"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

func (s *Server) listSkillsForTool(c *call, _ func(int), _ struct{}) (string, skillList, error) {
	models, err := s.models(c.ctx(), c.actor)
	list := skillList{Skills: []skillRecord{}}
	var text strings.Builder
	for _, m := range models {
		if m.Unavailable != "" {
			continue
		}
		record := skillRecord{
			ID: m.Record().ID, Name: m.Name, Description: strings.ReplaceAll(m.Description, "\n", ""),
		}
		list.Skills = append(list.Skills, record)
		fmt.Fprintf(&text, "- %s（id: %s）：%s\n", record.Name, record.ID, record.Description)
	}
	return shorten(text.String()), list, err
}

type searchArguments struct {
	Query     string `json:"query" jsonschema:"検索語または質問。500文字以内"`
	ProjectID string `json:"project_id,omitempty" jsonschema:"検索するプロジェクトの id。省略すると、利用者自身のファイルを検索します。"`
	Limit     int    `json:"limit,omitempty" jsonschema:"結果の最大数。1から20。省略すると10"`
}

// passageList is the structured result of toolSearch.
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

func (s *Server) searchDocuments(c *call, _ func(int), in searchArguments) (string, passageList, error) {
	list := passageList{Passages: []passageRecord{}}
	c.need("query", strings.TrimSpace(in.Query))
	c.atMost("query", in.Query, maxToolQuery)
	if in.Limit < 0 || in.Limit > maxResults {
		c.fail("limit", fmt.Sprintf("1以上%d以下の整数を指定してください。", maxResults))
	}
	projectID := c.optionalID("project_id", in.ProjectID)
	if err := c.err(); err != nil {
		return "", list, err
	}
	if err := s.Limiter.Count(ratelimit.KindSearch, c.actor); err != nil {
		return "", list, err
	}
	var found []datasource.RetrievedPassage
	var err error
	owner, limit := c.actor.Owner(), cmp.Or(in.Limit, defaultResults)
	if projectID == nil {
		found, err = s.Sources.Search(c.ctx(), owner, in.Query, limit)
	} else {
		found, err = s.Sources.SearchProject(c.ctx(), owner, *projectID, in.Query, limit)
	}
	var text strings.Builder
	for i, p := range found {
		record := passageRecord{
			URI: documentURI + p.SourceID.String(), File: p.Filename, Page: p.Page, Locator: p.Locator,
			Score: math.Round(p.Score*1000) / 1000, Text: p.Text,
		}
		list.Passages = append(list.Passages, record)
		place := cmp.Or(p.Locator, fmt.Sprintf("%dページ", p.Page))
		fmt.Fprintf(&text, "[%d] %s %s（スコア %.3f、%s）\n%s\n\n", i+1, p.Filename, place, record.Score, record.URI, p.Text)
	}
	if len(found) == 0 {
		text.WriteString("検索語に合う箇所は見つかりませんでした。")
	}
	return shorten(text.String()), list, err
}
