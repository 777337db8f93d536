package api_test

import (
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestMovingAThread: a private thread becomes shared with its earlier questions, their author and its files, and private
// again. Members of the project get events, and others do not see it.
func TestMovingAThread(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("繭から"))
	p := f.team(f.bob)
	exchange := f.answered(f.alice.Subject)
	thread := api.Thread{ID: exchange.Answer.ThreadID}
	path := "/v1/thread/" + thread.ID.String()
	share := "/v1/share/" + f.share(f.alice.Subject, exchange).ID.String()
	move := func(user identity.NewUser, projectID any, visibility string) response {
		return f.do(call{method: "PUT", path: path + "/project", token: user.Subject, body: map[string]any{
			"project_id": projectID, "visibility": visibility,
		}})
	}
	audience := get[api.ThreadAudience](f, http.StatusOK, call{
		method: "GET", path: path + "/audience?project_id=" + p.ID.String(), token: f.alice.Subject,
	})
	if audience.MemberCount != 2 || audience.Questions != 1 || len(audience.Files) != 0 {
		t.Errorf("audience %+v", audience)
	}
	tab := f.join(f.bob.Subject)
	if r := move(f.alice, p.ID, "private"); r.status != http.StatusOK || f.status(path, f.bob.Subject) != http.StatusNotFound {
		t.Errorf("a private thread in the project: %d %s", r.status, r.body)
	}
	if status := f.status(share, f.stranger.Subject); status != http.StatusNotFound {
		t.Errorf("a stranger opens the link: %d", status)
	}
	if status := f.status(share, f.bob.Subject); status != http.StatusOK {
		t.Errorf("the link to a private thread in the project: %d", status)
	}
	if r := move(f.alice, p.ID, "project"); r.status != http.StatusOK {
		t.Errorf("shared: %d %s", r.status, r.body)
	}
	for _, of := range []string{share, share + "/message"} {
		if status := f.status(of, f.bob.Subject); status != http.StatusNotFound {
			t.Errorf("%s, once the thread is shared with the project: %d", of, status)
		}
	}
	if e := tab.want("thread"); e.Thread.ID != thread.ID {
		t.Errorf("event %+v", e)
	}
	if list := f.list(f.bob, thread); len(list.Items) != 2 || list.Items[1].Author.ID != f.alice.ID {
		t.Errorf("Bob sees %+v", list)
	}
	if list := get[api.ThreadList](f, http.StatusOK, call{
		method: "GET", path: "/v1/thread?visibility=project&project_id=" + p.ID.String(), token: f.bob.Subject,
	}); len(list.Items) != 1 {
		t.Errorf("Bob lists %+v", list)
	}
	if r := move(f.bob, nil, "private"); r.status != http.StatusForbidden ||
		r.problem(t).Detail != "このチャットのプロジェクトを変更できるのは、作成した人だけです。" {
		t.Errorf("Bob moves it: %d %s", r.status, r.body)
	}
	if r := f.do(call{method: "DELETE", path: path, token: f.bob.Subject}); r.status != http.StatusForbidden {
		t.Errorf("Bob deletes it: %d", r.status)
	}
	if r := move(f.alice, nil, "project"); r.status != http.StatusBadRequest {
		t.Errorf("shared with nobody: %d", r.status)
	}
	if r := move(f.alice, newID(), "project"); r.status != http.StatusNotFound {
		t.Errorf("an unknown project: %d", r.status)
	}
	if status := f.status(path, f.stranger.Subject); status != http.StatusNotFound {
		t.Errorf("a stranger: %d", status)
	}
	if r := move(f.alice, nil, "private"); r.status != http.StatusOK || f.status(path, f.bob.Subject) != http.StatusNotFound {
		t.Errorf("private again: %d %s", r.status, r.body)
	}
	f.exec("UPDATE users SET role = 'organization-admin' WHERE id = $1", f.bob.ID)
	if ended := f.csv("/v1/audit/csv?action=share.end", f.bob.Subject); len(ended) != 2 {
		t.Errorf("the audit log has %q", ended)
	}
}

// TestMovingASharedThreadToAnotherProject: the files of other members do not become visible to the members of the other
// project.
func TestMovingASharedThreadToAnotherProject(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("繭から"))
	carol := f.member(f.alice.OrganizationID, "carol@tsumugi.example")
	first, second := f.team(f.bob), f.team(carol)
	thread := first.shared()
	for user, name := range map[identity.NewUser]string{f.alice: "展示会.txt", f.bob: "決算.txt"} {
		file := get[api.DataSource](f, http.StatusCreated, upload(user.Subject, name, "十一月"))
		ask := asks(user, thread, "いつですか")
		ask.path = "/v1/message/sync"
		ask.body.(map[string]any)["data_source_ids"] = []any{file.ID}
		get[api.Exchange](f, http.StatusOK, ask)
	}
	path := "/v1/thread/" + thread.ID.String()
	audience := func(p *team) int {
		return len(get[api.ThreadAudience](f, http.StatusOK, call{
			method: "GET", path: path + "/audience?project_id=" + p.ID.String(), token: f.alice.Subject,
		}).Files)
	}
	if here, there := audience(first), audience(second); here != 2 || there != 1 {
		t.Errorf("files to be seen: %d in this project, %d in the other one", here, there)
	}
	move := func(p *team) api.Thread {
		return get[api.Thread](f, http.StatusOK, call{
			method: "PUT", path: path + "/project", token: f.alice.Subject,
			body: map[string]any{"project_id": p.ID, "visibility": "project"},
		})
	}
	if moved := move(first); len(moved.DataSources) != 2 {
		t.Errorf("moved to the same project, the thread has %+v", moved.DataSources)
	}
	move(second)
	shown := get[api.Thread](f, http.StatusOK, call{method: "GET", path: path, token: carol.Subject})
	if len(shown.DataSources) != 1 || shown.DataSources[0].Filename != "展示会.txt" {
		t.Errorf("Carol sees the files %+v", shown.DataSources)
	}
}

// TestRemovedMembersOfASharedThread: Alice, who owns a shared thread, and Carol, who is asking in it, are removed from the
// organization. The thread passes to Bob, and Carol's answer is complete. The pictures of a question can be seen by
// members of the project only. Carol's tokens are not charged to the thread's owner, and her question is not shown as the
// owner's after the thread was private.
func TestRemovedMembersOfASharedThread(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, model)
	f.exec("UPDATE users SET role = 'organization-super-admin' WHERE id = $1", f.bob.ID)
	carol := f.member(f.alice.OrganizationID, "carol@tsumugi.example")
	dave := f.member(f.alice.OrganizationID, "dave@tsumugi.example")
	p := f.team(carol, dave)
	thread := p.shared()
	path := "/v1/thread/" + thread.ID.String()
	remove := func(user identity.NewUser) {
		f.noContent(call{method: "DELETE", path: "/v1/user/" + user.ID.String(), token: f.bob.Subject})
	}
	get[api.Exchange](f, http.StatusAccepted, asks(carol, thread, "糸とは"))
	answer := model.Next(t)
	if usage := f.status("/v1/project/"+p.ID.String()+"/usage", carol.Subject); usage != http.StatusForbidden {
		t.Errorf("usage for a viewer: %d", usage)
	}
	remove(f.alice)
	shown := get[api.Thread](f, http.StatusOK, call{method: "GET", path: path, token: f.bob.Subject})
	if !*shown.Own || shown.Visibility != "project" {
		t.Errorf("Bob sees %+v", shown)
	}
	waiting := get[api.WaitingQuestion](f, http.StatusAccepted, asks(dave, thread, "絹とは"))
	remove(carol)
	answer.Emit("繭から")
	answer.Finish()
	next := model.Next(t)
	next.Emit("糸から")
	next.Finish()
	must.Become(f.t, "both are complete", func() bool {
		items := f.list(dave, thread).Items
		return len(items) == 4 && items[0].Status == "success"
	})
	items := f.list(dave, thread).Items
	if items[2].Content != "繭から" || items[3].Author.ID != uuid.Nil || items[1].ID != waiting.MessageID {
		t.Errorf("Dave sees %+v", items)
	}
	used := func() api.ProjectUsage {
		return get[api.ProjectUsage](f, http.StatusOK, call{
			method: "GET", path: "/v1/project/" + p.ID.String() + "/usage", token: f.bob.Subject,
		})
	}
	usage := used()
	if len(usage.Items) != 2 {
		t.Errorf("usage %+v", usage)
	}
	for _, u := range usage.Items { // Carol's question, and Dave's. Bob owns the thread, but has asked nothing.
		if u.Messages != 1 || u.InputTokens == 0 || u.Member.ID != uuid.Nil && u.Member.ID != dave.ID {
			t.Errorf("usage %+v", u)
		}
	}

	// Bob makes the thread private, asks, and shares it again: only his own question becomes his.
	move := func(visibility string) {
		get[api.Thread](f, http.StatusOK, call{
			method: "PUT", path: path + "/project", token: f.bob.Subject,
			body: map[string]any{"project_id": p.ID, "visibility": visibility},
		})
	}
	move("private")
	// Dave's question, regenerated by Bob, is Bob's use.
	again := asks(f.bob, thread, "")
	again.body = map[string]any{"request_id": newID(), "thread_id": thread.ID, "regenerate": items[0].ID}
	get[api.Exchange](f, http.StatusAccepted, again)
	model.Next(t).Finish()
	must.Become(f.t, "it is answered again", func() bool { return f.list(f.bob, thread).Items[0].Status == "success" })
	get[api.Exchange](f, http.StatusAccepted, asks(f.bob, thread, "麻とは"))
	model.Next(t).Finish()
	must.Become(f.t, "Bob's question is answered", func() bool { return f.list(f.bob, thread).Items[0].Status == "success" })
	if usage = used(); len(usage.Items) != 3 {
		t.Errorf("usage of the private thread %+v", usage)
	}
	for _, u := range usage.Items {
		if want := map[uuid.UUID]int{uuid.Nil: 1, dave.ID: 1, f.bob.ID: 2}[u.Member.ID]; u.Messages != want {
			t.Errorf("usage of the private thread %+v", u)
		}
	}
	move("project")
	items = f.list(dave, thread).Items
	if items[1].Author.ID != f.bob.ID || items[3].Author.ID != dave.ID || items[5].Author.ID != uuid.Nil {
		t.Errorf("shared again, Dave sees %+v", items)
	}
}

// TestSearchInAProject: a search in a project finds the same threads as its list, narrowed by the same filters.
func TestSearchInAProject(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("繭から"))
	carol := f.member(f.alice.OrganizationID, "carol@tsumugi.example")
	p, other := f.team(f.bob), f.team(f.bob)
	create := func(user identity.NewUser, title, visibility string, project *team) api.Thread {
		body := map[string]any{"skill_id": f.chatSkill().ID, "title": title, "visibility": visibility}
		if project != nil {
			body["project_id"] = project.ID
		}
		return get[api.Thread](f, http.StatusCreated, call{
			method: "POST", path: "/v1/thread", token: user.Subject, body: body,
		})
	}
	outside := create(f.bob, "製糸の外", "private", nil)
	hers := create(f.alice, "製糸の共有", "project", p)
	create(f.alice, "製糸の秘密", "private", p)
	create(f.alice, "別の題", "project", p)
	his := create(f.bob, "製糸の控え", "private", p)
	shared := create(f.bob, "製糸の予定", "project", p)
	elsewhere := create(f.bob, "製糸の別案件", "project", other)
	get[api.Exchange](f, http.StatusAccepted, asks(f.alice, hers, "製糸とは"))
	search := func(user identity.NewUser, filter string) []api.Thread {
		return get[api.ThreadList](f, http.StatusOK, call{
			method: "GET", path: "/v1/thread?q=" + url.QueryEscape("製糸") + filter, token: user.Subject,
		}).Items
	}
	here := "&project_id=" + p.ID.String()
	for _, test := range []struct {
		user   identity.NewUser
		filter string
		want   []api.Thread
	}{
		{f.bob, here, []api.Thread{hers, shared, his}},
		{f.bob, here + "&offset=1&limit=1", []api.Thread{shared}},
		{f.bob, here + "&visibility=project", []api.Thread{hers, shared}},
		{f.bob, here + "&visibility=private", []api.Thread{his}},
		{f.bob, "&visibility=private", []api.Thread{his, outside}},
		{f.bob, "", []api.Thread{elsewhere, shared, his, outside}},
		{carol, here, nil},
		{f.stranger, here, nil},
	} {
		found := search(test.user, test.filter)
		if !slices.EqualFunc(found, test.want, func(a, b api.Thread) bool { return a.ID == b.ID }) {
			t.Errorf("%s searches with %q: %+v", test.user.Email, test.filter, found)
		}
	}
	found := search(f.bob, here)[0]
	if *found.Own || found.Owner.ID != f.alice.ID || found.Match.Snippet != "製糸の共有" {
		t.Errorf("Bob finds Alice's thread as %+v", found)
	}
	p.revoke(f.bob)
	if found := search(f.bob, here); len(found) != 0 {
		t.Errorf("without a role, Bob finds %+v", found)
	}
}
