package ground_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/chat/ground"
	"github.com/tsumugi-ai/tsumugi/internal/answer"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
	"github.com/tsumugi-ai/tsumugi/internal/websearch/websearchtest"
)

// turn is a model's answer to one request: calls of tools, or a text.
type turn struct {
	text  string
	calls []llm.ToolCall
}

func calls(name string, arguments ...map[string]string) turn {
	var list []llm.ToolCall
	for i, a := range arguments {
		encoded, err := json.Marshal(a)
		if err != nil {
			panic(err)
		}
		list = append(list, llm.ToolCall{ID: fmt.Sprintf("%s%d", name, i), Name: name, Arguments: string(encoded)})
	}
	return turn{calls: list}
}

// script returns a model that answers with turns. It answers requests for search queries with the words of a wage.
func script(turns ...turn) llmtest.Func {
	var mu sync.Mutex
	return func(ctx context.Context, req llm.Request, emit func(string)) (llm.Result, error) {
		if strings.Contains(req.Messages[0].Content, "検索語句を、1行に一つずつ") {
			return llmtest.Say("つむぎ県 最低賃金")(ctx, req, emit)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(turns) == 0 {
			return llmtest.Say("台本は終わりました。")(ctx, req, emit)
		}
		next := turns[0]
		turns = turns[1:]
		if next.calls != nil {
			return llm.Result{FinishReason: llm.FinishTools, ToolCalls: next.calls}, nil
		}
		return llmtest.Say(next.text)(ctx, req, emit)
	}
}

// giveTools gives tools to a built-in skill.
func (f *fixture) giveTools(name string, tools ...string) {
	f.t.Helper()
	categories, skills, err := skill.Builtin()
	f.must(err)
	i := slices.IndexFunc(skills, func(s skill.Skill) bool { return s.Name == name })
	skills[i].Tools = tools
	f.must(f.db.SaveBuiltinSkills(f.t.Context(), categories, skills))
}

// offered returns the names of the tools in a request.
func offered(req llm.Request) (names []string) {
	for _, t := range req.Tools {
		names = append(names, t.Name)
	}
	return names
}

// lastResult returns the last message of a request, a result of a tool.
func lastResult(t *testing.T, req llm.Request) string {
	t.Helper()
	last := req.Messages[len(req.Messages)-1]
	if last.Role != llm.RoleTool {
		t.Fatalf("the last message is %+v", last)
	}
	return last.Content
}

// long returns a document whose whole text does not fit into the context of a small model.
func long(facts ...string) string {
	var b strings.Builder
	for i, fact := range facts {
		fmt.Fprintf(&b, "# 第%d章\n\n%s\n\n", i+1, fact)
		for j := range 40 {
			fmt.Fprintf(&b, "## 第%d章の補足%d\n\n%s\n\n", i+1, j, strings.Repeat("ここでは一般的な説明を続ける。", 20))
		}
	}
	return b.String()
}

// TestModelSearchesDocumentsAgain: after the first retrieval, the model searches for other words. The numbers of the new
// sources follow those of the first ones, a passage that is found again keeps its number, and citations of both are
// checked and stored.
func TestModelSearchesDocumentsAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, ground.Config{ContextTokens: 6_000}, script(
		calls(tool.SearchDocuments, map[string]string{"query": "通勤手当の上限額"}),
		calls(tool.SearchDocuments, map[string]string{"query": "通勤手当の上限額"}),
		calls(tool.SearchDocuments, map[string]string{"query": "宇宙船の燃料補給手順"}, map[string]string{"wrong": "x"}),
		turn{text: "年次有給休暇は20日です[1]。通勤手当は月額5万円までです[4]。"},
	))
	f.giveTools("文書に質問", tool.SearchDocuments, tool.SearchWeb)
	f.start()
	file := f.read("規程.md", long("年次有給休暇は20日とする。", "通勤手当の上限額は月額5万円とする。"))
	got := f.ask(f.thread("文書に質問"), "年次有給休暇は何日ですか", file)

	first := f.lastRequest()
	if names := offered(first); !slices.Equal(names, []string{tool.SearchDocuments}) {
		t.Errorf("offered %q, without web search on this server", names)
	}
	prompt := first.Messages[len(first.Messages)-1].Content
	if !strings.Contains(prompt, `<source index="1"`) || strings.Contains(prompt, "通勤手当の上限額") {
		t.Fatalf("the first retrieval finds\n%s", prompt)
	}
	if !strings.Contains(first.Messages[0].Content, answer.ResultInstructions) {
		t.Errorf("the instructions are\n%s", first.Messages[0].Content)
	}
	numbers := regexp.MustCompile(`<source index="(\d+)"`)
	known := len(numbers.FindAllString(prompt, -1))
	second := lastResult(t, f.lastRequest())
	if want := fmt.Sprintf(`<source index="%d" filename="規程.md"`, known+1); !strings.Contains(second, want) ||
		!strings.Contains(second, "通勤手当の上限額は月額5万円とする。") || strings.Contains(second, `<source index="1"`) {
		t.Errorf("found, after %d sources\n%s", known, second)
	}
	third := lastResult(t, f.lastRequest())
	if strings.Contains(third, "<source index") || !strings.Contains(third, fmt.Sprintf("[%d]", known+1)) {
		t.Errorf("found again\n%s", third)
	}
	fourth := f.lastRequest()
	if got := fourth.Messages[len(fourth.Messages)-2].Content; !strings.Contains(got, "見つかりませんでした") {
		t.Errorf("without a passage: %s", got)
	}
	if got := lastResult(t, fourth); !strings.HasPrefix(got, "エラー: 引数") {
		t.Errorf("with wrong arguments: %s", got)
	}

	if known != 2 { // The model cites [4], the passage after [3].
		t.Fatalf("the first retrieval finds %d passages", known)
	}
	cited := got.Cited()
	if len(cited) != 2 || cited[1].Index != 4 || cited[1].Support != answer.Strong || cited[1].DataSourceID != file {
		t.Errorf("cited %+v", cited)
	}
	if shown := got.ToolCalls[0]; shown.Title != "文書を検索" || !strings.HasPrefix(shown.Result, "[3] 規程.md") ||
		strings.Contains(shown.Result, "<source") || shown.Sources != nil || shown.Untrusted {
		t.Errorf("stored %+v", shown)
	}
	var ids []string
	for _, c := range f.streamed(got.ID) {
		if c.Type == "source-document" {
			ids = append(ids, c.SourceID)
		}
	}
	if len(ids) != len(slices.Compact(slices.Sorted(slices.Values(ids)))) || len(ids) < 2 {
		t.Errorf("streamed %q", ids)
	}
}

// TestModelSearchesTheWebAndReadsPages: results are sources with the host of their page. Only addresses that the person
// or a source has written are read.
func TestModelSearchesTheWebAndReadsPages(t *testing.T) {
	t.Parallel()
	p := servePages(t)
	f := newFixture(t, webConfig(p), script(
		calls(tool.SearchWeb, map[string]string{"query": "電子帳簿保存法"}),
		calls(tool.ReadPage,
			map[string]string{"url": p.url + "/pages/minimum-wage-news"},
			map[string]string{"url": p.url + "/pages/fair?secret=ひみつ"},
			map[string]string{"url": p.url + "/pages/fair"},
			map[string]string{"url": "http://169.254.169.254/latest"}),
		turn{text: "保存期間は7年です[1]。会期は12月3日から5日までです[2]。"},
	))
	f.giveTools("汎用チャット", tool.SearchDocuments, tool.SearchWeb, tool.ReadPage)
	got := f.ask(f.thread("汎用チャット"), "電子帳簿の保存期間と、"+p.url+"/pages/fair の会期は？ http://169.254.169.254/latest も")

	first := f.lastRequest()
	if names := offered(first); !slices.Equal(names, []string{tool.SearchWeb, tool.ReadPage}) {
		t.Errorf("offered %q, without files", names)
	}
	if len(first.Messages) != 2 || strings.Contains(first.Messages[1].Content, "<source") {
		t.Errorf("asked %+v", first.Messages)
	}
	if second := lastResult(t, f.lastRequest()); !strings.Contains(second, `<source index="1" title="電子帳簿保存法の手引き" site="127.0.0.1"`) ||
		!strings.Contains(second, "原則として7年です") {
		t.Errorf("found\n%s", second)
	}
	third := f.lastRequest().Messages
	results := third[len(third)-4:]
	for i, want := range []string{"エラー: 読めるのは", "エラー: 読めるのは", `<source index="2" title="人事の展示会"`, "エラー: このアドレスのページは読めません。"} {
		if !strings.Contains(results[i].Content, want) {
			t.Errorf("result %d is\n%s", i, results[i].Content)
		}
	}
	cited := got.Cited()
	if len(cited) != 2 || cited[0].URL != p.url+"/pages/books" || cited[1].URL != p.url+"/pages/fair" ||
		cited[1].Support != answer.Strong {
		t.Errorf("cited %+v", cited)
	}
	if c := got.ToolCalls[0]; c.Result != "[1] 電子帳簿保存法の手引き（127.0.0.1）\n1ページを確認" || !c.Untrusted {
		t.Errorf("stored %+v", c)
	}
}

// TestWebSkillSearchesAgain: a skill that searches the web does so before the model is asked, and again on its demand.
func TestWebSkillSearchesAgain(t *testing.T) {
	t.Parallel()
	p := servePages(t)
	f := newFixture(t, webConfig(p), script(
		calls(tool.SearchWeb, map[string]string{"query": "電子帳簿保存法"}), turn{text: "7年です[3]。"},
	))
	f.giveTools("ウェブ検索", tool.SearchWeb)
	got := f.ask(f.thread("ウェブ検索"), wageQuestion)
	f.lastRequest() // For queries.
	if prompt := f.lastRequest().Messages[1].Content; !strings.Contains(prompt, `<source index="2"`) {
		t.Errorf("asked\n%s", prompt)
	}
	if cited := got.Cited(); len(cited) != 1 || cited[0].Index != 3 || cited[0].URL != p.url+"/pages/books" {
		t.Errorf("cited %+v", cited)
	}
}

// TestHiddenDocumentsAreNotShownInResults: the model reads documents of the skill that the person may not open; the
// result for the person does not name them.
func TestHiddenDocumentsAreNotShownInResults(t *testing.T) {
	t.Parallel()
	f := newFixture(t, ground.Config{ContextTokens: 6_000}, script(
		calls(tool.SearchDocuments, map[string]string{"query": "通勤手当の上限額"}), turn{text: "答え。"},
	))
	f.start()
	file := f.read("人事内規.md", long("年次有給休暇は20日とする。", "通勤手当の上限額は月額5万円とする。"))
	custom := f.saveSkill(skill.AudienceOrganization, skill.CustomSkill{}, file)
	custom.Content.Tools = []string{tool.SearchDocuments}
	f.saveContent(custom)
	f.owner = f.member(f.owner.OrganizationID)
	got := f.ask(f.thread("規程の相談"), "年次有給休暇は何日ですか")
	f.lastRequest()
	if result := lastResult(t, f.lastRequest()); !strings.Contains(result, "月額5万円") {
		t.Errorf("the model reads\n%s", result)
	}
	if got.ToolCalls[0].Result != "ほか3件" {
		t.Errorf("shown %q", got.ToolCalls[0].Result)
	}
	for _, c := range f.streamed(got.ID) {
		if c.Type == "source-document" {
			t.Errorf("streamed %+v", c)
		}
	}
}

// saveContent saves the content of a skill of the owner, an administrator.
func (f *fixture) saveContent(custom skill.CustomSkill) {
	f.t.Helper()
	_, err := f.db.SaveSkill(f.t.Context(), skill.Editor{
		OrganizationID: f.owner.OrganizationID, UserID: f.owner.UserID, Admin: true, By: org.System(),
	}, custom.ID, skill.Input{
		RequestID: newID(), Audience: skill.AudienceOrganization, BaseVersion: custom.Version, Content: custom.Content,
	})
	f.must(err)
}

// TestHostilePagesCostOnlyTheirCall: pages that give orders, that never end, never answer or redirect into the server's
// network end their own call. The text of the others stays in their fences, and its addresses are not requested.
func TestHostilePagesCostOnlyTheirCall(t *testing.T) {
	t.Parallel()
	documents := hostileDocuments(t)
	var more []websearchtest.Page
	for i, d := range documents {
		more = append(more, websearchtest.Page{
			Path: fmt.Sprintf("/hostile/%d", i), Title: d.Name, Excerpt: d.Name,
			Serve: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/plain; charset=utf-8")
				_, _ = w.Write([]byte(d.Text))
			},
		})
	}
	p := servePages(t, more...)
	paths := []string{"/huge", "/leads/metadata", "/leads/loopback", "/leads/round", "/private/report", "/pages/picture"}
	for i := range documents {
		paths = append(paths, fmt.Sprintf("/hostile/%d", i))
	}
	thread := ""
	var turns []turn
	for some := range slices.Chunk(paths, 6) {
		var arguments []map[string]string
		for _, path := range some {
			arguments = append(arguments, map[string]string{"url": p.url + path})
			thread += p.url + path + "\n"
		}
		turns = append(turns, calls(tool.ReadPage, arguments...), turn{text: "読みました[1]。"})
	}
	f := newFixture(t, webConfig(p), script(turns...))
	f.giveTools("汎用チャット", tool.ReadPage)
	fence := regexp.MustCompile(`^[^<>]+\n(?:<source index="[0-9]+" title="[^"<>\n]*" site="127\.0\.0\.1"[^<>\n]*>\n[^<>]*\n</source>\n)+$`)
	for range len(turns) / 2 {
		got := f.ask(f.thread("汎用チャット"), thread)
		f.lastRequest()
		for _, m := range f.lastRequest().Messages {
			if m.Role == llm.RoleTool && !strings.HasPrefix(m.Content, "エラー: ") && !fence.MatchString(m.Content) {
				t.Errorf("the model reads\n%.600s", m.Content)
			}
		}
		if got.Status != chat.StatusSuccess || !strings.HasPrefix(got.Content, "読みました") || len(got.ToolCalls) != 6 {
			t.Errorf("answered %q after %d calls, %+v", got.Content, len(got.ToolCalls), got.Failure)
		}
	}
}
