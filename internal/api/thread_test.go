package api_test

import (
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

func TestThreads(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	requestID := newID()
	create := call{
		method: "POST", path: "/v1/thread", token: f.alice.Subject,
		body: map[string]any{"skill_id": f.chatSkill().ID, "title": " 見出し ", "request_id": requestID},
	}
	first := get[api.Thread](f, http.StatusCreated, create)
	if again := get[api.Thread](f, http.StatusCreated, create); again.ID != first.ID || first.Title != "見出し" {
		t.Errorf("got %+v and %+v", first, again)
	}
	create.header = map[string]string{"Idempotency-Key": requestID}
	create.body = map[string]any{"skill_id": f.find(skill.FormForm).ID}
	if p := f.do(create).problem(t); p.Code != "request_id_conflict" {
		t.Errorf("the same key for another skill: %+v", p)
	}
	second := f.thread(f.alice.Subject)
	order := func() []string {
		var ids []string
		for _, thread := range get[api.ThreadList](f, http.StatusOK,
			call{method: "GET", path: "/v1/thread", token: f.alice.Subject}).Items {
			ids = append(ids, thread.ID.String())
		}
		return ids
	}
	if got := order(); !slices.Equal(got, []string{second.ID.String(), first.ID.String()}) {
		t.Errorf("got %v", got)
	}
	path := "/v1/thread/" + first.ID.String()
	get[api.Thread](f, http.StatusOK, call{method: "PUT", path: path + "/touch", token: f.alice.Subject})
	if got := order(); got[0] != first.ID.String() {
		t.Errorf("touched: %v", got)
	}
	renamed := get[api.Thread](f, http.StatusOK, call{
		method: "PUT", path: path, token: f.alice.Subject,
		body: map[string]any{"title": "新しい\n見出し"},
	})
	if renamed.Title != "新しい 見出し" || renamed.Skill.Name == "" {
		t.Errorf("got %+v", renamed)
	}
	if resp := f.do(call{method: "DELETE", path: path, token: f.alice.Subject}); resp.status != http.StatusNoContent {
		t.Errorf("got %d", resp.status)
	}
	if resp := f.do(call{method: "GET", path: path, token: f.alice.Subject}); resp.status != http.StatusNotFound {
		t.Errorf("got %d", resp.status)
	}
}

func TestSearchThreads(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("ﾃﾞｰﾀの移行は十月です。"))
	thread := f.thread(f.alice.Subject)
	ask := map[string]any{"request_id": newID(), "thread_id": thread.ID, "content": "いつですか"}
	f.do(call{method: "POST", path: "/v1/message/sync", token: f.alice.Subject, body: ask})
	f.thread(f.alice.Subject)
	search := func(token, query string) []api.Thread {
		return get[api.ThreadList](f, http.StatusOK, call{
			method: "GET", path: "/v1/thread?" + query,
			token: token,
		}).Items
	}
	found := search(f.alice.Subject, "q="+url.QueryEscape("でーた 移行"))
	if len(found) != 1 || found[0].ID != thread.ID || found[0].Match.MessageID == uuid.Nil ||
		found[0].Match.Snippet != "ﾃﾞｰﾀの移行は十月です。" || !reflect.DeepEqual(found[0].Match.Ranges,
		[][]int{{0, 4}, {5, 7}}) {
		t.Errorf("got %+v", found)
	}
	if found := search(f.alice.Subject, "q=+"); len(found) != 2 || found[0].Match.Snippet != "" {
		t.Errorf("without words: %+v", found)
	}
	if found := search(f.alice.Subject, "offset=1&q="+url.QueryEscape("移行")); len(found) != 0 {
		t.Errorf("the second page: %+v", found)
	}
	if found := search(f.bob.Subject, "q="+url.QueryEscape("移行")); len(found) != 0 {
		t.Errorf("a colleague finds %+v", found)
	}
	for _, query := range []string{"q=%00", "q=%ff", "q=a&q=b", "q=" + strings.Repeat("a", 201)} {
		p := f.do(call{method: "GET", path: "/v1/thread?" + query, token: f.alice.Subject}).problem(t)
		if p.Status != http.StatusBadRequest || len(p.Errors) != 1 || p.Errors[0].Field != "q" {
			t.Errorf("%s: %+v", query, p)
		}
	}
}
