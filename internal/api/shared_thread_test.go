package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
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
	shown := f.do(call{method: "GET", path: "/v1/picture/" + picture.ID.String(), token: carol.Subject})
	if shown.status != http.StatusOK || shown.header.Get("Cache-Control") != "no-store" {
		t.Errorf("the picture of Alice's question for Carol: %d, %v", shown.status, shown.header)
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
	must.Become(f.t, "Carol's question is dropped", func() bool { return len(f.list(f.bob, thread).Queue) == 0 })
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
	must.Become(f.t, "the others are dropped", func() bool { return len(f.list(f.bob, thread).Queue) == 0 })
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
