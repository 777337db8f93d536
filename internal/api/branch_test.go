package api_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// TestBranches edits a question and switches between the branches.
func TestBranches(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	thread := f.thread(f.alice.Subject)
	ask := func(body map[string]any) api.Exchange {
		body["request_id"], body["thread_id"] = newID(), thread.ID
		return get[api.Exchange](f, http.StatusOK, call{
			method: "POST", path: "/v1/message/sync",
			token: f.alice.Subject, body: body,
		})
	}
	list := func(leaf string) (ids []uuid.UUID) {
		for _, m := range get[api.MessageList](f, http.StatusOK, call{
			method: "GET", path: "/v1/message?thread_id=" + thread.ID.String() + leaf, token: f.alice.Subject,
		}).Items {
			ids = append(ids, m.ID)
		}
		return ids
	}
	first := ask(map[string]any{"content": "問"})
	edited := ask(map[string]any{"content": "問改", "edit": first.Question.ID})
	if want := []uuid.UUID{first.Question.ID, edited.Question.ID}; !slices.Equal(edited.Question.Siblings, want) {
		t.Errorf("siblings %v, want %v", edited.Question.Siblings, want)
	}
	if edited.Answer.ParentID != edited.Question.ID || edited.Question.ParentID != uuid.Nil {
		t.Errorf("got %+v", edited)
	}
	old, now := []uuid.UUID{first.Answer.ID, first.Question.ID}, []uuid.UUID{edited.Answer.ID, edited.Question.ID}
	if got := list(""); !slices.Equal(got, now) {
		t.Errorf("the branch looked at last is %v, want %v", got, now)
	}
	if got := list("&leaf=" + first.Question.ID.String()); !slices.Equal(got, old) {
		t.Errorf("the old branch is %v, want %v", got, old)
	}
	get[api.Thread](f, http.StatusOK, call{
		method: "PUT", path: "/v1/thread/" + thread.ID.String(), token: f.alice.Subject,
		body: map[string]any{"leaf": first.Question.ID},
	})
	if got := list(""); !slices.Equal(got, old) {
		t.Errorf("after going back: %v, want %v", got, old)
	}
	further := ask(map[string]any{"content": "続き", "parent_id": edited.Answer.ID})
	if got := list(""); len(got) != 4 || got[0] != further.Answer.ID || got[2] != edited.Answer.ID {
		t.Errorf("after asking in the other branch: %v", got)
	}
}

// TestR59_MessagesInBodiesAndQueries: messages of a colleague, of another organization and missing messages are refused
// with the same text.
func TestR59_MessagesInBodiesAndQueries(t *testing.T) {
	t.Parallel()
	w := newFixture(t, llmtest.Say("はい"))
	mine := w.thread(w.alice.Subject).ID.String()
	get[api.Exchange](w, http.StatusOK, call{
		method: "POST", path: "/v1/message/sync", token: w.alice.Subject,
		body: question(mine),
	})
	theirs := get[api.Exchange](w, http.StatusOK, call{
		method: "POST", path: "/v1/message/sync", token: w.stranger.Subject,
		body: question(w.thread(w.stranger.Subject).ID.String()),
	})
	for name, make := range map[string]func(message string) call{
		"edit": func(id string) call {
			return call{method: "POST", path: "/v1/message/async", body: map[string]any{
				"request_id": newID(), "thread_id": mine, "content": "x", "edit": id,
			}}
		},
		"parent_id": func(id string) call {
			return call{method: "POST", path: "/v1/message/async", body: map[string]any{
				"request_id": newID(), "thread_id": mine, "content": "x", "parent_id": id,
			}}
		},
		"regenerate": func(id string) call {
			return call{method: "POST", path: "/v1/message/async", body: map[string]any{
				"request_id": newID(), "thread_id": mine, "regenerate": id,
			}}
		},
		"leaf of a list": func(id string) call {
			return call{method: "GET", path: "/v1/message?thread_id=" + mine + "&leaf=" + id}
		},
		"leaf of a thread": func(id string) call {
			return call{method: "PUT", path: "/v1/thread/" + mine, body: map[string]any{"leaf": id}}
		},
	} {
		said := map[string]bool{}
		for _, id := range []string{theirs.Question.ID.String(), theirs.Answer.ID.String(), newID()} {
			c := make(id)
			c.token = w.alice.Subject
			resp := w.do(c)
			if resp.status != http.StatusNotFound {
				t.Errorf("%s: status %d", name, resp.status)
			}
			said[shown(t, resp)] = true
		}
		if len(said) != 1 {
			t.Errorf("%s: the answers differ: %v", name, said)
		}
		c := make("x")
		c.token = w.alice.Subject
		if p := w.do(c).problem(t); p.Status != http.StatusBadRequest || len(p.Errors) != 1 {
			t.Errorf("%s: an ill-formed id: %+v", name, p)
		}
	}
}
