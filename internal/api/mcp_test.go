package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// The supported revisions of the Model Context Protocol.
var mcpRevisions = []string{"2026-07-28", "2025-11-25"}

// bearer is a transport that sends a token.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// mcpClient connects the official client with a token. progress receives the texts of progress notifications; it may be
// nil.
func (f *fixture) mcpClient(revision, token string, progress chan<- string) *sdk.ClientSession {
	f.t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, req *sdk.ProgressNotificationClientRequest) {
			if progress != nil {
				progress <- req.Params.Message
			}
		},
	})
	session := must.Get(client.Connect(f.t.Context(), &sdk.StreamableClientTransport{
		Endpoint: f.url + "/mcp", HTTPClient: &http.Client{Transport: bearer(token)}, MaxRetries: -1,
	}, &sdk.ClientSessionOptions{ProtocolVersion: revision}))(f.t)
	f.t.Cleanup(func() { _ = session.Close() })
	if got := session.InitializeResult().ProtocolVersion; got != revision {
		f.t.Fatalf("negotiated %s", got)
	}
	return session
}

// mcpText returns the text of a result.
func mcpText(result *sdk.CallToolResult) string {
	return result.Content[0].(*sdk.TextContent).Text //nolint:forcetypeassert // A panic fails the test.
}

// useTool calls a tool. It decodes the structured result unless the result is an error.
func useTool[T any](f *fixture, session *sdk.ClientSession, name string, arguments any) (
	result *sdk.CallToolResult, out T,
) {
	f.t.Helper()
	result, err := session.CallTool(f.t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		f.t.Fatalf("%s: %v", name, err)
	}
	if !result.IsError {
		encoded, err := json.Marshal(result.StructuredContent)
		if err != nil || json.Unmarshal(encoded, &out) != nil {
			f.t.Fatalf("%s: %+v", name, result.StructuredContent)
		}
	}
	return result, out
}

type mcpAnswer struct {
	Answer    string
	ThreadID  string `json:"thread_id"`
	ThreadURL string `json:"thread_url"`
	Complete  bool
}

type mcpPassages struct {
	Passages []struct {
		URI, File, Text string
		Page            int
		Score           float64
	}
}

// readFiles waits until all uploaded files are read.
func (f *fixture) readFiles() {
	f.t.Helper()
	must.Become(f.t, "the files are read", func() (done bool) {
		f.scan(&done, `SELECT NOT EXISTS (SELECT FROM data_sources WHERE status <> 'success')`)
		return done
	})
}

// TestMCPClientAsksAndContinues lists the skills, asks one and continues the thread, in each revision.
func TestMCPClientAsksAndContinues(t *testing.T) {
	t.Parallel()
	for _, revision := range mcpRevisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, llmtest.Say("繭から", "引いた糸。"))
			session := f.mcpClient(revision, f.personalToken(f.alice.Subject, "chat").Token, nil)
			tools, err := session.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) != 3 {
				t.Fatalf("%+v, %v", tools, err)
			}
			for _, tool := range tools.Tools {
				if tool.Description == "" || tool.Title == "" || tool.OutputSchema == nil ||
					tool.Annotations.ReadOnlyHint == (tool.Name == "ask_skill") {
					t.Errorf("%+v", tool)
				}
			}
			_, listed := useTool[struct{ Skills []struct{ ID, Name string } }](f, session, "list_skills", nil)
			chosen := slices.IndexFunc(listed.Skills, func(s struct{ ID, Name string }) bool {
				return s.Name == f.chatSkill().Name
			})
			if len(listed.Skills) < 5 || chosen < 0 {
				t.Fatalf("%+v", listed)
			}
			result, first := useTool[mcpAnswer](f, session, "ask_skill", map[string]any{
				"skill": listed.Skills[chosen].ID, "question": "糸とは",
			})
			if first.Answer != "繭から引いた糸。" || !first.Complete || first.ThreadURL != issuer+"/chat/"+first.ThreadID ||
				!strings.Contains(mcpText(result), first.ThreadURL) {
				t.Fatalf("%+v: %s", first, mcpText(result))
			}
			_, second := useTool[mcpAnswer](f, session, "ask_skill", map[string]any{
				"thread_id": first.ThreadID, "question": "絹とは",
			})
			if second.ThreadID != first.ThreadID || len(f.messagesOf(first.ThreadID)) != 4 {
				t.Errorf("%+v", second)
			}
			for what, refused := range map[string]struct {
				arguments map[string]any
				text      string
			}{
				"an unknown skill": {map[string]any{"skill": "gpt-none", "question": "糸とは"}, "list_skills"},
				"another skill": {map[string]any{
					"skill": f.skills[3].ID, "question": "糸とは", "thread_id": first.ThreadID,
				}, "別のスキル"},
				"no question":              {map[string]any{"skill": f.chatSkill().ID}, "質問を入力"},
				"neither skill nor thread": {map[string]any{"question": "糸とは"}, "skill か thread_id"},
				"an unknown argument":      {map[string]any{"question": "糸とは", "x": 1}, "引数 x: この項目は指定できません。"},
				"a wrong type":             {map[string]any{"skill": 1, "question": "糸とは"}, "引数 skill: 値の型が正しくありません。"},
			} {
				result, _ := useTool[mcpAnswer](f, session, "ask_skill", refused.arguments)
				if !result.IsError || !strings.Contains(mcpText(result), refused.text) {
					t.Errorf("%s: %v %s", what, result.IsError, mcpText(result))
				}
			}
			if lines := f.logs.with("mcp: tool called", "ask_skill"); len(lines) != 8 ||
				strings.Contains(strings.Join(lines, ""), "糸とは") {
				t.Errorf("logged %v", lines)
			}
			f.exec("UPDATE users SET role = 'organization-admin' WHERE id = $1", f.bob.ID)
			events := get[api.AuditEventList](f, http.StatusOK, call{
				method: "GET", path: "/v1/audit?action=tool.call", token: f.bob.Subject,
			}).Items
			failed := 0
			for _, e := range events {
				if e.Details[1].After == "failed" {
					failed++
				}
			}
			if last := events[len(events)-1]; len(events) != 9 || failed != 6 || last.ActorEmail != f.alice.Email ||
				last.TargetLabel != "スキルの一覧" || last.Details[0].After != "集計" {
				t.Errorf("%d calls in the audit log, %d of them failed; the first is %+v", len(events), failed, last)
			}
		})
	}
}

// TestMCPClientFollowsAnAnswer receives the progress of an answer while it is written.
func TestMCPClientFollowsAnAnswer(t *testing.T) {
	t.Parallel()
	for _, revision := range mcpRevisions {
		model := llmtest.NewLive()
		f := newFixture(t, model)
		progress := make(chan string, 100)
		session := f.mcpClient(revision, f.personalToken(f.alice.Subject, "chat").Token, progress)
		params := &sdk.CallToolParams{Name: "ask_skill", Arguments: map[string]any{
			"skill": f.chatSkill().ID, "question": "糸とは",
		}}
		params.SetProgressToken("p1")
		done := make(chan *sdk.CallToolResult, 1)
		go func() {
			result, err := session.CallTool(context.WithoutCancel(t.Context()), params)
			if err != nil {
				t.Error(err)
			}
			done <- result
		}()
		answer := model.Next(t)
		answer.Emit("繭から")
		if got := <-progress; !strings.HasPrefix(got, "回答") {
			t.Errorf("%s: notified %q", revision, got)
		}
		answer.Finish()
		if got := mcpText(<-done); !strings.HasPrefix(got, "繭から\n") {
			t.Errorf("%s: %s", revision, got)
		}
	}
}

// TestMCPClientThatCancelsStopsTheAnswer: a client that cancels a call closes its connection, which stops the answer.
func TestMCPClientThatCancelsStopsTheAnswer(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, model)
	token := f.personalToken(f.alice.Subject, "chat").Token
	question := map[string]any{"skill": f.chatSkill().ID, "question": "糸とは"}
	for _, revision := range mcpRevisions {
		session := f.mcpClient(revision, token, nil)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "ask_skill", Arguments: question})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", revision, err)
			}
		}()
		answer := model.Next(t)
		answer.Emit("繭")
		cancel()
		<-answer.Gone()
		must.Become(f.t, revision+" stops the answer", func() (done bool) {
			f.scan(&done, `SELECT NOT EXISTS (
				SELECT FROM messages WHERE role = 'assistant' AND finish_reason IS DISTINCT FROM 'stopped')`)
			return done
		})
	}
}

// message returns the call with a message in the revision 2025-11-25.
func (f *fixture) message(token string, body any) call {
	return call{
		method: "POST", path: "/mcp", token: token, body: body,
		header: map[string]string{"Mcp-Protocol-Version": "2025-11-25"},
	}
}

// TestMCPModelThatFails: the result of a failed answer is an error for people with the thread.
func TestMCPModelThatFails(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Fail(errors.New("secret cause"), "繭"))
	session := f.mcpClient(mcpRevisions[0], f.personalToken(f.alice.Subject, "chat").Token, nil)
	result, _ := useTool[mcpAnswer](f, session, "ask_skill", map[string]any{
		"skill": f.chatSkill().ID, "question": "糸とは",
	})
	if text := mcpText(result); !result.IsError || strings.Contains(text, "secret") ||
		!strings.Contains(text, issuer+"/chat/") {
		t.Errorf("%v %s", result.IsError, text)
	}
}

// TestMCPClientSearchesDocuments searches few files, more files than one thread can have, and those of a project.
func TestMCPClientSearchesDocuments(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{reads: true})
	session := f.mcpClient(mcpRevisions[0], f.personalToken(f.alice.Subject, "documents").Token, nil)
	search := func(arguments map[string]any) (*sdk.CallToolResult, mcpPassages) {
		t.Helper()
		return useTool[mcpPassages](f, session, "search_documents", arguments)
	}
	if result, found := search(map[string]any{"query": "展示会"}); result.IsError || len(found.Passages) != 0 {
		t.Errorf("without files: %+v", found)
	}
	get[api.DataSource](f, http.StatusCreated, upload(f.alice.Subject, "広報.txt", "秋の展示会は十一月に神戸で開きます。"))
	get[api.DataSource](f, http.StatusCreated, upload(f.bob.Subject, "他人.txt", "春の展示会は五月に京都で開きます。"))
	for _, files := range []int{1, datasource.MaxSearchSources + 5} {
		for i := range files {
			get[api.DataSource](f, http.StatusCreated, upload(f.alice.Subject, fmt.Sprintf("%d-%d.txt", files, i),
				fmt.Sprintf("第%d条 決算は%d月に締めます。", i, files)))
		}
		f.readFiles()
		result, found := search(map[string]any{"query": "展示会はどこで開きますか", "limit": 1})
		if len(found.Passages) != 1 || found.Passages[0].File != "広報.txt" || found.Passages[0].Page != 1 ||
			found.Passages[0].Score <= 0 || !strings.Contains(mcpText(result), "神戸") {
			t.Errorf("%d files: %+v", files, found)
		}
	}
	p := f.team(f.bob)
	file := upload(f.alice.Subject, "新商品.txt", "新商品の発売は二月です。")
	file.path += "?project_id=" + p.ID.String()
	get[api.DataSource](f, http.StatusCreated, file)
	f.readFiles()
	f.indexed()
	if _, found := search(map[string]any{"query": "発売", "project_id": p.ID}); len(found.Passages) != 1 ||
		found.Passages[0].File != "新商品.txt" {
		t.Errorf("in the project: %+v", found)
	}
	foreign := f.project(f.stranger.Subject)
	for what, arguments := range map[string]map[string]any{
		"another organization's project": {"query": "発売", "project_id": foreign.ID},
		"an unknown project":             {"query": "発売", "project_id": newID()},
		"no project id":                  {"query": "発売", "project_id": "x"},
		"no query":                       {"query": " "},
		"a long query":                   {"query": strings.Repeat("あ", 501)},
		"too many results":               {"query": "発売", "limit": 21},
	} {
		if result, _ := search(arguments); !result.IsError {
			t.Errorf("%s: %s", what, mcpText(result))
		}
	}
	result, _ := search(map[string]any{"query": " ", "limit": 21})
	if text := mcpText(result); !strings.Contains(text, "query: 必須の項目です。\nlimit: 1以上20以下") {
		t.Errorf("two wrong arguments: %s", text)
	}
}

// TestMCPClientReadsResources lists documents and threads in pages and reads them, in each revision.
func TestMCPClientReadsResources(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("繭から"), settings{reads: true})
	var long strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&long, "第%d条 この条では、製糸の工程のうち、その%dを定める。繭を煮て、糸を引く。\n\n", i+1, i+1)
	}
	get[api.DataSource](f, http.StatusCreated, upload(f.alice.Subject, "規程.txt", long.String()))
	for i := range 60 {
		get[api.DataSource](f, http.StatusCreated, upload(f.alice.Subject, fmt.Sprintf("%d.txt", i), fmt.Sprint("本文", i)))
	}
	thread := f.answered(f.alice.Subject).Answer.ThreadID
	hidden := f.answered(f.stranger.Subject).Answer.ThreadID
	foreign := get[api.DataSource](f, http.StatusCreated, upload(f.stranger.Subject, "他社.txt", "他社の秘密"))
	f.readFiles()
	for _, revision := range mcpRevisions {
		session := f.mcpClient(revision, f.personalToken(f.alice.Subject, "chat", "documents").Token, nil)
		uris := make(map[string]string) // By name.
		pages := 0
		for params := new(sdk.ListResourcesParams); ; pages++ {
			page, err := session.ListResources(t.Context(), params)
			if err != nil || page.CacheScope != "private" && revision == mcpRevisions[0] {
				t.Fatalf("%+v, %v", page, err)
			}
			for _, r := range page.Resources {
				uris[r.Name] = r.URI
			}
			if params.Cursor = page.NextCursor; params.Cursor == "" {
				break
			}
		}
		if len(uris) != 62 || pages != 1 {
			t.Errorf("%s: %d resources in %d pages", revision, len(uris), pages+1)
		}
		read := func(uri string) (string, error) {
			result, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
			if err != nil {
				return "", err
			}
			return result.Contents[0].Text, nil
		}
		var whole string
		parts := 0
		for uri := uris["規程.txt"]; uri != ""; parts++ {
			text := must.Get(read(uri))(t)
			if len(text) > 66<<10 {
				t.Errorf("%s: %d bytes", uri, len(text))
			}
			text, uri, _ = strings.Cut(text, "（続き：")
			uri = strings.TrimSuffix(uri, "）\n")
			whole += text
		}
		if strings.Join(strings.Fields(whole), "") != strings.Join(strings.Fields(long.String()), "") || parts < 3 {
			t.Errorf("%s: %d bytes of %d in %d parts", revision, len(whole), long.Len(), parts)
		}
		if text, err := read("tsumugi://thread/" + thread.String()); err != nil ||
			!strings.Contains(text, "## 回答\n\n繭から") {
			t.Errorf("%s: %s, %v", revision, text, err)
		}
		for _, uri := range []string{
			"tsumugi://thread/" + hidden.String(), "tsumugi://document/" + foreign.ID.String(),
			"tsumugi://thread/" + newID(), "tsumugi://document/" + newID(), "tsumugi://thread/x",
			"tsumugi://skill/" + newID(), uris["規程.txt"] + "?from=-1",
		} {
			if text, err := read(uri); err == nil || !strings.Contains(err.Error(), "not found") {
				t.Errorf("%s, %s: %s, %v", revision, uri, text, err)
			}
		}
		if _, err := session.ListResources(t.Context(), &sdk.ListResourcesParams{Cursor: "threads:x"}); err == nil {
			t.Errorf("%s: a malformed cursor", revision)
		}
	}
	session := f.mcpClient(mcpRevisions[0], f.personalToken(f.alice.Subject, "chat").Token, nil)
	if page, err := session.ListResources(t.Context(), nil); err != nil || len(page.Resources) != 1 {
		t.Errorf("with the scope chat: %+v, %v", page, err)
	}
}

// TestMCPPanicsAreErrors: a panic in a tool or a resource is an internal error of that call. The server has no
// services, so that every call panics.
func TestMCPPanicsAreErrors(t *testing.T) {
	t.Parallel()
	logs := new(journal)
	log := slog.New(slog.NewJSONHandler(logs, nil))
	handler := must.Get(api.New(api.Services{
		Identity: identity.NewService(oneUser{}, verifier{}, log), Stream: sse.NewServer(sse.Config{}),
		App: fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}},
	}, api.Config{}, log))(t)
	for i, message := range []string{
		`"tools/call","params":{"name":"list_skills"}`,
		`"tools/call","params":{"name":"ask_skill","arguments":{"skill":"x","question":"糸とは"}}`,
		`"resources/list"`,
		`"resources/read","params":{"uri":"tsumugi://thread/` + newID() + `"}`,
	} {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/mcp",
			strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":`+message+`}`))
		r.Header.Set("Authorization", "Bearer alice")
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if !strings.Contains(w.Body.String(), "サーバーで問題が発生しました。") {
			t.Errorf("%s: %d %s", message, w.Code, w.Body)
		}
		if lines := logs.with("request failed", "panic"); len(lines) != i+1 {
			t.Errorf("%s: logged %v", message, lines)
		}
	}
}
