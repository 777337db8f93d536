package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// team is a project with Alice as its manager, and with viewers.
type team struct {
	*fixture
	api.Project
	viewers []identity.NewUser
}

func (f *fixture) team(viewers ...identity.NewUser) *team {
	f.t.Helper()
	p := &team{fixture: f, Project: get[api.Project](f, http.StatusCreated, call{
		method: "POST", path: "/v1/project", token: f.alice.Subject,
		body: map[string]any{"request_id": newID(), "name": "製糸", "instructions": "敬体で答える。"},
	})}
	p.setViewers(viewers...)
	return p
}

func (p *team) setViewers(viewers ...identity.NewUser) {
	p.t.Helper()
	grants := []map[string]any{grant("user", p.alice.ID, "manager")}
	for _, v := range viewers {
		grants = append(grants, grant("user", v.ID, "viewer"))
	}
	p.Version = get[api.ProjectGrants](p.fixture, http.StatusOK, call{
		method: "PUT", path: "/v1/project/" + p.ID.String() + "/grant", token: p.alice.Subject,
		body: map[string]any{"version": p.Version, "grants": grants},
	}).Version
	p.viewers = viewers
}

// revoke removes a viewer.
func (p *team) revoke(user identity.NewUser) {
	p.t.Helper()
	p.setViewers(slices.DeleteFunc(p.viewers, func(v identity.NewUser) bool { return v.ID == user.ID })...)
}

// archive archives the project.
func (p *team) archive() {
	p.t.Helper()
	p.noContent(call{
		method: "PUT", path: "/v1/project/" + p.ID.String() + "/archive", token: p.alice.Subject,
		body: map[string]any{"archived": true},
	})
}

// shared creates a shared thread of Alice.
func (p *team) shared() api.Thread {
	p.t.Helper()
	return get[api.Thread](p.fixture, http.StatusCreated, call{
		method: "POST", path: "/v1/thread", token: p.alice.Subject,
		body: map[string]any{"skill_id": p.chatSkill().ID, "project_id": p.ID, "visibility": "project", "title": "題"},
	})
}

// asks returns the call of a member's question.
func asks(user identity.NewUser, thread api.Thread, content string) call {
	return call{method: "POST", path: "/v1/message/async", token: user.Subject, body: map[string]any{
		"request_id": newID(), "thread_id": thread.ID, "content": content,
	}}
}

func (f *fixture) list(user identity.NewUser, thread api.Thread) api.MessageList {
	f.t.Helper()
	return get[api.MessageList](f, http.StatusOK, call{
		method: "GET", path: "/v1/message?thread_id=" + thread.ID.String(), token: user.Subject,
	})
}

// awaitMessage reads a live socket up to an event of a message that fulfils a condition.
func awaitMessage(c *socketClient, is func(liveEvent) bool) {
	for {
		if e, _ := c.next(); e.Type == "message" && is(e) {
			return
		}
	}
}

// TestThreePeopleInOneSharedThread: three members watch an answer, and two of them ask meanwhile. One of them loses
// access: the stream and the live socket end, and the waiting question is not asked. The others get the whole answer,
// which equals the stored one, and then the answer to the other waiting question.
func TestThreePeopleInOneSharedThread(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, model)
	carol := f.member(f.alice.OrganizationID, "carol@tsumugi.example")
	p := f.team(f.bob, carol)
	thread := p.shared()
	if thread.Project.ID != p.ID || thread.Visibility != "project" || !*thread.Own {
		t.Errorf("created %+v", thread)
	}
	tab := f.join(carol.Subject)
	picture := get[api.Picture](f, http.StatusCreated, uploadPicture(f.alice.Subject, encodePNG(t, 4, 3)))
	ask := asks(f.alice, thread, "糸とは")
	ask.body.(map[string]any)["picture_ids"] = []any{picture.ID}
	asked := get[api.Exchange](f, http.StatusAccepted, ask)
	if status := f.status("/v1/picture/"+picture.ID.String(), carol.Subject); status != http.StatusOK {
		t.Errorf("the picture of Alice's question for Carol: %d", status)
	}
	if asked.Question.Author.ID != f.alice.ID {
		t.Errorf("author %+v", asked.Question.Author)
	}
	answer := model.Next(t)
	if system := answer.Request.Messages[0].Content; !strings.Contains(system, "<project>\n敬体で答える。\n</project>") {
		t.Errorf("the model is told %s", system)
	}
	awaitMessage(tab, func(e liveEvent) bool { return e.Message.ID == asked.Answer.ID })
	watch := func(user identity.NewUser) *events {
		return f.open(call{
			method: "GET", path: "/v1/message/" + asked.Answer.ID.String() + "/stream", token: user.Subject,
		})
	}
	bobs, carols := watch(f.bob), watch(carol)
	answer.Emit("繭から")
	for _, e := range []*events{bobs, carols} {
		for e.text != "繭から" {
			e.next(t)
		}
	}

	second := asks(f.bob, thread, "絹とは")
	for range 2 { // Repeated.
		waiting := get[api.WaitingQuestion](f, http.StatusAccepted, second)
		if waiting.Position != 1 || waiting.Status != "pending" {
			t.Errorf("Bob waits as %+v", waiting)
		}
	}
	third := get[api.WaitingQuestion](f, http.StatusAccepted, asks(carol, thread, "麻とは"))
	if third.Position != 2 {
		t.Errorf("Carol waits as %+v", third)
	}
	awaitMessage(tab, func(e liveEvent) bool { return e.Message.ID == third.MessageID })
	for _, user := range []identity.NewUser{f.alice, f.bob, carol} {
		list := f.list(user, thread)
		if len(list.Items) != 2 || len(list.Queue) != 2 || list.Queue[0].Content != "絹とは" ||
			list.Queue[0].Author.ID != f.bob.ID || list.Queue[1].Queue.Position != 2 {
			t.Errorf("%s sees %+v", user.Email, list)
		}
	}
	move := call{
		method: "PUT", path: "/v1/thread/" + thread.ID.String() + "/project", token: f.alice.Subject,
		body: map[string]any{"project_id": nil, "visibility": "private"},
	}
	if r := f.do(move); r.status != http.StatusConflict || r.problem(t).Code != "thread_busy" {
		t.Errorf("moving a busy thread: %d %s", r.status, r.body)
	}

	p.revoke(carol)
	carols.cut(t)
	tab.closed()
	for _, path := range []string{
		"/v1/thread/" + thread.ID.String(), "/v1/message?thread_id=" + thread.ID.String(),
		"/v1/message/" + asked.Answer.ID.String() + "/stream", "/v1/thread/" + thread.ID.String() + "/stream",
		"/v1/picture/" + picture.ID.String(),
	} {
		if status := f.status(path, carol.Subject); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
	answer.Emit("取る")
	answer.Finish()
	bobs.all(t)
	stored := f.list(f.alice, thread).Items
	i := slices.IndexFunc(stored, func(m api.Message) bool { return m.ID == asked.Answer.ID })
	if bobs.text != "繭から取る" || stored[i].Content != bobs.text {
		t.Errorf("streamed %q, stored %q", bobs.text, stored[i].Content)
	}

	next := model.Next(t)
	if messages := next.Request.Messages; messages[len(messages)-1].Content != "絹とは" || messages[2].Content != "繭から取る" {
		t.Errorf("the model is asked %+v", messages)
	}
	next.Emit("糸から")
	next.Finish()
	f.eventually("Carol's question is dropped", func() bool { return len(f.list(f.bob, thread).Queue) == 0 })
	list := f.list(f.bob, thread)
	if len(list.Items) != 4 || list.Items[1].Author.ID != f.bob.ID || list.Items[1].ParentID != asked.Answer.ID {
		t.Errorf("in the end %+v", list)
	}
}

// TestWaitingQuestions: the queue of a shared thread has at most ten questions, which only their authors can cancel. A
// second question in a private thread, and any question in an archived project, is refused.
func TestWaitingQuestions(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, model)
	p := f.team(f.bob)
	thread := p.shared()
	get[api.Exchange](f, http.StatusAccepted, asks(f.alice, thread, "糸とは"))
	answer := model.Next(t)
	var waiting []api.WaitingQuestion
	for i := range chat.MaxWaiting {
		waiting = append(waiting, get[api.WaitingQuestion](f, http.StatusAccepted, asks(f.bob, thread, fmt.Sprint(i))))
	}
	if r := f.do(asks(f.alice, thread, "十一")); r.status != http.StatusConflict || r.problem(t).Code != "queue_full" {
		t.Errorf("an eleventh: %d %s", r.status, r.body)
	}
	cancel := func(user identity.NewUser, i int) int {
		return f.do(call{
			method: "DELETE", path: "/v1/message/" + waiting[i].MessageID.String() + "/queue", token: user.Subject,
		}).status
	}
	if got := []int{cancel(f.alice, 1), cancel(f.stranger, 1), cancel(f.bob, 1), cancel(f.bob, 1)}; !slices.Equal(got,
		[]int{http.StatusForbidden, http.StatusNotFound, http.StatusNoContent, http.StatusNotFound}) {
		t.Errorf("cancel: %v", got)
	}
	if queue := f.list(f.alice, thread).Queue; len(queue) != 9 || queue[1].Content != "2" || queue[1].Queue.Position != 2 {
		t.Errorf("the queue is %+v", queue)
	}
	for _, path := range []string{"/v1/message/sync", "/v1/message/stream"} {
		c := asks(f.alice, thread, path)
		c.path = path
		get[api.WaitingQuestion](f, http.StatusAccepted, c)
		f.noContent(call{
			method: "DELETE", token: f.alice.Subject,
			path: "/v1/message/" + f.list(f.alice, thread).Queue[9].ID.String() + "/queue",
		})
	}
	answer.Finish()
	for _, want := range []string{"0", "2", "3"} {
		next := model.Next(t)
		if got := next.Request.Messages[len(next.Request.Messages)-1].Content; got != want {
			t.Errorf("the model is asked %q, want %q", got, want)
		}
		if want == "3" {
			p.archive()
		}
		next.Finish()
	}
	f.eventually("the others are dropped", func() bool { return len(f.list(f.bob, thread).Queue) == 0 })
	if r := f.do(asks(f.bob, thread, "続き")); r.status != http.StatusForbidden || r.problem(t).Code != "read_only" {
		t.Errorf("in an archived project: %d %s", r.status, r.body)
	}
	if shown := get[api.Thread](f, http.StatusOK, call{
		method: "GET", path: "/v1/thread/" + thread.ID.String(), token: f.bob.Subject,
	}); *shown.CanAsk || *shown.Own || shown.Owner.ID != f.alice.ID {
		t.Errorf("Bob sees %+v", shown)
	}

	private := f.thread(f.alice.Subject)
	get[api.Exchange](f, http.StatusAccepted, asks(f.alice, private, "一"))
	model.Next(t)
	if r := f.do(asks(f.alice, private, "二")); r.status != http.StatusConflict || r.problem(t).Code != "thread_busy" {
		t.Errorf("a private thread: %d %s", r.status, r.body)
	}
}

// TestAWaitingQuestionWhoseRequestIDIsUsedAgain: Bob sends the request id of his waiting question in his private
// thread. The waiting question is dropped in its turn, and Carol's question behind it is asked.
func TestAWaitingQuestionWhoseRequestIDIsUsedAgain(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, model)
	carol := f.member(f.alice.OrganizationID, "carol@tsumugi.example")
	thread := f.team(f.bob, carol).shared()
	get[api.Exchange](f, http.StatusAccepted, asks(f.alice, thread, "糸とは"))
	answer := model.Next(t)
	waiting := asks(f.bob, thread, "絹とは")
	get[api.WaitingQuestion](f, http.StatusAccepted, waiting)
	again := asks(f.bob, f.thread(f.bob.Subject), "綿とは")
	again.body.(map[string]any)["request_id"] = waiting.body.(map[string]any)["request_id"]
	get[api.Exchange](f, http.StatusAccepted, again)
	model.Next(t).Finish()
	get[api.WaitingQuestion](f, http.StatusAccepted, asks(carol, thread, "麻とは"))
	answer.Finish()
	next := model.Next(t)
	if messages := next.Request.Messages; messages[len(messages)-1].Content != "麻とは" {
		t.Errorf("the model is asked %+v", messages)
	}
	next.Finish()
	if list := f.list(carol, thread); len(list.Queue) != 0 || len(list.Items) != 4 {
		t.Errorf("in the end %+v", list)
	}
}

// TestMovingAThread: a private thread becomes shared with its earlier questions, their author and its files, and private
// again. Members of the project get events, and others do not see it.
func TestMovingAThread(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("繭から"))
	p := f.team(f.bob)
	exchange := f.answered(f.alice.Subject)
	thread := api.Thread{ID: exchange.Answer.ThreadID}
	path := "/v1/thread/" + thread.ID.String()
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
	if r := move(f.alice, p.ID, "project"); r.status != http.StatusOK {
		t.Errorf("shared: %d %s", r.status, r.body)
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
	if r := move(f.bob, nil, "private"); r.status != http.StatusForbidden {
		t.Errorf("Bob moves it: %d", r.status)
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
	f.eventually("both are complete", func() bool {
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
	f.eventually("it is answered again", func() bool { return f.list(f.bob, thread).Items[0].Status == "success" })
	get[api.Exchange](f, http.StatusAccepted, asks(f.bob, thread, "麻とは"))
	model.Next(t).Finish()
	f.eventually("Bob's question is answered", func() bool { return f.list(f.bob, thread).Items[0].Status == "success" })
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
