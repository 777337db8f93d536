package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// indexed waits until the passages of all projects are indexed.
func (f *fixture) indexed() {
	f.t.Helper()
	must.Become(f.t, "the passages are indexed", func() (done bool) {
		f.scan(&done, `SELECT NOT EXISTS (SELECT FROM project_index_changes)`)
		return done
	})
}

// TestAnswersInASmallProject: all files of a small project are searched together, also for a question without terms to
// search for, and as soon as they were read.
func TestAnswersInASmallProject(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい [1] [2]。"), settings{reads: true})
	p := f.team(f.bob)
	file := upload(f.alice.Subject, "広報.txt", "秋の展示会は十一月に神戸で開きます。")
	file.path += "?project_id=" + p.ID.String()
	get[api.DataSource](f, http.StatusCreated, file)
	own := get[api.DataSource](f, http.StatusCreated, upload(f.alice.Subject, "会計.txt", "決算は三月に締めます。"))
	f.do(call{
		method: "POST", path: "/v1/project/" + p.ID.String() + "/data-source", token: f.alice.Subject,
		body: map[string]any{"data_source_ids": []uuid.UUID{own.ID}},
	})
	must.Become(f.t, "the files are read", func() (done bool) {
		f.scan(&done, `SELECT NOT EXISTS (SELECT FROM data_sources WHERE status <> 'success')`)
		return done
	})
	f.exec(`DELETE FROM project_index_changes`) // They are never indexed.
	plain := slices.IndexFunc(f.skills, func(s skill.Skill) bool {
		return s.FormType == skill.FormChat && !s.AcceptsDataSources && s.Kind != skill.KindWebSearch
	})
	thread := get[api.Thread](f, http.StatusCreated, call{
		method: "POST", path: "/v1/thread", token: f.bob.Subject,
		body: map[string]any{"skill_id": f.skills[plain].ID, "project_id": p.ID},
	})
	ask := func(question string) (names []string) {
		f.open(call{method: "POST", path: "/v1/message/stream", token: f.bob.Subject, body: map[string]any{
			"request_id": newID(), "thread_id": thread.ID, "content": question,
		}}).all(t)
		for _, c := range f.list(f.bob, thread).Items[0].Citations {
			names = append(names, c.Filename)
		}
		return names
	}
	if got := ask("要点は？"); !slices.Equal(got, []string{"広報.txt", "会計.txt"}) {
		t.Errorf("a question about all files cites %v", got)
	}
	if got := ask("展示会はどこで開きますか"); len(got) == 0 || got[0] != "広報.txt" {
		t.Errorf("a question about one file cites %v", got)
	}
}

// TestAnswersInAProjectUseAllItsFiles: a project has more files than a thread can have. Each can be cited in an answer of
// a skill that does not search documents, as long as the person has a role in the project. They are removed with the
// project.
func TestAnswersInAProjectUseAllItsFiles(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい [1]。"), settings{reads: true})
	p := f.team(f.bob)
	const files = datasource.MaxSearchSources + 5
	for i := range files {
		file := upload(f.alice.Subject, fmt.Sprintf("台帳%02d.txt", i), fmt.Sprintf("管理番号%dは倉庫に置く。", 7000+i))
		file.path += "?project_id=" + p.ID.String()
		get[api.DataSource](f, http.StatusCreated, file)
	}
	must.Become(f.t, "the files are read", func() (done bool) {
		f.scan(&done, `SELECT NOT EXISTS (SELECT FROM data_sources WHERE status <> 'success')`)
		return done
	})
	f.indexed()
	plain := slices.IndexFunc(f.skills, func(s skill.Skill) bool {
		return s.FormType == skill.FormChat && !s.AcceptsDataSources && s.Kind != skill.KindWebSearch
	})
	thread := get[api.Thread](f, http.StatusCreated, call{
		method: "POST", path: "/v1/thread", token: f.bob.Subject,
		body: map[string]any{"skill_id": f.skills[plain].ID, "project_id": p.ID},
	})
	for _, i := range []int{0, files - 1} {
		f.open(call{method: "POST", path: "/v1/message/stream", token: f.bob.Subject, body: map[string]any{
			"request_id": newID(), "thread_id": thread.ID, "content": fmt.Sprintf("管理番号%dはどこか", 7000+i),
		}}).all(t)
		want := fmt.Sprintf("台帳%02d.txt", i)
		if got := f.list(f.bob, thread).Items[0].Citations; len(got) == 0 || got[0].Filename != want {
			t.Errorf("the answer cites %+v, want %s", got, want)
		}
	}
	search := call{
		method: "GET", path: "/v1/project/" + p.ID.String() + "/search?q=" + url.QueryEscape("管理番号7003の倉庫は？"),
		token: f.bob.Subject,
	}
	matches := get[api.ProjectMatchList](f, http.StatusOK, search).Items
	if len(matches) == 0 || matches[0].Filename != "台帳03.txt" || matches[0].Page != 1 ||
		matches[0].Snippet != "管理番号7003は倉庫に置く。" || len(matches[0].Ranges) != 2 {
		t.Errorf("found %+v", matches)
	}
	p.revoke(f.bob)
	get[api.Problem](f, http.StatusNotFound, search)
	if _, err := f.sources.SearchProject(t.Context(), identity.Owner{
		OrganizationID: f.bob.OrganizationID, UserID: f.bob.ID,
	}, p.ID, "管理番号7000", 1); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("without a role: %v", err)
	}
	// 30 days after its deletion, nothing of the project remains.
	f.noContent(call{method: "DELETE", path: "/v1/project/" + p.ID.String(), token: f.alice.Subject})
	f.exec(`UPDATE projects SET deleted_at = now() - interval '30 days'`)
	must.Succeed(t, f.projects.Purge(t.Context()))
	f.indexed()
	for _, table := range []string{"projects", "threads", "messages", "data_sources", "project_passages", "project_indexes"} {
		var rows int
		if f.scan(&rows, "SELECT count(*) FROM "+table); rows > 0 {
			t.Errorf("%d rows of the removed project in %s", rows, table)
		}
	}
}

// TestCitationsOfFilesThatOneReaderMayNotOpen: an answer cites a file of the project, and one that its owner has attached
// to the thread. For other members the second source has no name and no text, and the stream contains only the first one.
// Neither has a name in a share for others of the organization.
func TestCitationsOfFilesThatOneReaderMayNotOpen(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("繭は白い [1]。桑は緑である [2]。"), settings{reads: true})
	p := f.team(f.bob)
	own := get[api.DataSource](f, http.StatusCreated, upload(f.alice.Subject, "桑.txt", "桑の葉は緑である。")).ID
	ours := get[api.DataSource](f, http.StatusCreated, upload(f.alice.Subject, "繭.txt", "繭の色は白い。")).ID
	thread := p.shared()
	get[api.Preprocess](f, http.StatusOK, preprocess(f.alice.Subject, thread.ID, true, newID(), own, ours))
	f.exec(`DELETE FROM thread_data_sources WHERE data_source_id = $1`, ours)
	inProject := "/v1/project/" + p.ID.String() + "/data-source"
	get[api.ProjectDataSourceList](f, http.StatusOK, call{
		method: "POST", path: inProject, token: f.alice.Subject, body: map[string]any{"data_source_ids": []any{ours}},
	})
	f.indexed()
	ask := f.ask(thread, "繭の色と桑の葉の色は")
	stream := f.open(ask)
	stream.all(t)
	if slices.Contains(stream.types, "error") {
		t.Fatalf("%v", stream.types)
	}
	files := func(user identity.NewUser) map[string]string {
		shown := make(map[string]string)
		for _, c := range f.list(user, thread).Items[0].Citations {
			shown[c.Filename] = c.Quote
		}
		return shown
	}
	if got := files(f.alice); len(got) != 2 || got["桑.txt"] == "" || got["繭.txt"] == "" {
		t.Errorf("Alice sees %v", got)
	}
	if got, hidden := files(f.bob), chat.HiddenFile; len(got) != 2 || got["繭.txt"] == "" || got[hidden] != "" {
		t.Errorf("Bob sees %v", got)
	}
	// A file that belongs to the project alone is searched as well.
	common := upload(f.alice.Subject, "蚕.txt", "蚕の色は白い。")
	common.path += "?project_id=" + p.ID.String()
	get[api.DataSource](f, http.StatusCreated, common)
	must.Become(f.t, "the file is read", func() bool {
		return get[api.ProjectDataSourceList](f, http.StatusOK, call{
			method: "GET", path: inProject + "?search=%E8%9A%95", token: f.alice.Subject,
		}).Items[0].Status == "success"
	})
	f.indexed()
	private := get[api.Thread](f, http.StatusCreated, call{
		method: "POST", path: "/v1/thread", token: f.bob.Subject,
		body: map[string]any{"skill_id": f.chatSkill().ID, "project_id": p.ID},
	})
	f.open(call{method: "POST", path: "/v1/message/stream", token: f.bob.Subject, body: map[string]any{
		"request_id": newID(), "thread_id": private.ID, "content": "蚕の色と繭の色は",
	}}).all(t)
	for _, want := range []string{"蚕.txt", "繭.txt"} {
		if cited := f.list(f.bob, private).Items[0].Citations; !slices.ContainsFunc(cited, func(c api.Citation) bool {
			return c.Filename == want && c.Quote != ""
		}) {
			t.Errorf("Bob's answer cites %+v, not %s", cited, want)
		}
	}
	// A share of the chat shows the files only to members of the project.
	carol := f.member(f.alice.OrganizationID, "carol@tsumugi.example")
	share := get[api.Share](f, http.StatusOK, call{
		method: "PUT", path: "/v1/thread/" + private.ID.String() + "/share", token: f.bob.Subject,
		body: map[string]any{"leaf": f.list(f.bob, private).Items[0].ID},
	})
	for reader, want := range map[string][]string{f.alice.Subject: {"繭.txt", "蚕.txt"}, carol.Subject: {chat.HiddenFile}} {
		var names []string
		for _, c := range get[api.SharedMessageList](f, http.StatusOK, call{
			method: "GET", path: "/v1/share/" + share.ID.String() + "/message", token: reader,
		}).Items[1].Citations {
			names = append(names, c.Filename)
		}
		slices.Sort(names)
		if names = slices.Compact(names); !slices.Equal(names, want) {
			t.Errorf("the share cites %v, want %v", names, want)
		}
	}
	f.noContent(call{method: "DELETE", path: inProject + "/" + ours.String(), token: f.alice.Subject})
	if got := files(f.bob); len(got) != 1 {
		t.Errorf("after the file has left the project, Bob sees %v", got)
	}
	if got := files(f.alice); len(got) != 2 {
		t.Errorf("after the file has left the project, Alice sees %v", got)
	}
	for _, c := range f.open(call{
		method: "GET", path: "/v1/message/" + f.list(f.bob, thread).Items[0].ID.String() + "/stream", token: f.bob.Subject,
	}).all(t).types {
		if c == "source-document" {
			t.Error("a replay for Bob has a source that he may not open")
		}
	}
}
