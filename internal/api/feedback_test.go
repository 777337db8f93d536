package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// TestFeedbackIsReviewed: administrators see ratings without names, and only texts that were sent with the rating.
func TestFeedbackIsReviewed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("**月末**です。"))
	f.exec("UPDATE users SET role = 'organization-admin' WHERE id = $1", f.bob.ID)
	rate := func(body map[string]any) string {
		t.Helper()
		answer := get[api.Exchange](f, http.StatusOK, call{
			method: "POST", path: "/v1/message/sync", token: f.alice.Subject,
			body: question(f.thread(f.alice.Subject).ID.String()),
		}).Answer
		body["message_id"] = answer.ID
		feedback := get[api.Feedback](f, http.StatusOK, call{
			method: "POST", path: "/v1/message_feedback", token: f.alice.Subject, body: body,
		})
		sent, _ := body["with_text"].(bool)
		list := get[api.MessageList](f, http.StatusOK, call{
			method: "GET", path: "/v1/message?thread_id=" + answer.ThreadID.String(), token: f.alice.Subject,
		})
		if feedback.WithText != sent || list.Items[0].Feedback.WithText != sent {
			t.Errorf("stored %+v, %+v", feedback, list.Items[0].Feedback)
		}
		return answer.ID.String()
	}
	plain := rate(map[string]any{"rating": "bad", "comment": "=違う"})
	sent := rate(map[string]any{"rating": "good", "comment": "速い", "with_text": true})
	reviews := func(query string) api.OrganizationFeedbackList {
		t.Helper()
		return get[api.OrganizationFeedbackList](f, http.StatusOK, call{
			method: "GET", path: "/v1/organization/feedback" + query, token: f.bob.Subject,
		})
	}
	all := reviews("")
	if all.Total != 2 || all.Items[0].ID.String() != sent || all.Items[0].Person == "" || all.Items[0].Question != "" ||
		all.Items[1].ID.String() != plain || all.Items[1].Person != "" || all.Items[1].Skill.Name == "" {
		t.Errorf("got %+v", all)
	}
	skillID := all.Items[0].Skill.ID.String()
	for query, want := range map[string]int{
		"?rating=good": 1, "?q=" + "%E9%81%95": 1, "?skill_id=" + skillID: 2, "?skill_id=" + newID(): 0,
		"?to=2026-01-01T00:00:00Z": 0, "?rating=bad&skill_id=" + skillID: 1, "?limit=1": 2,
	} {
		if got := reviews(query); got.Total != want {
			t.Errorf("%s: %d, want %d", query, got.Total, want)
		}
	}
	for field, query := range map[string]string{"rating": "?rating=ok", "skill_id": "?skill_id=x", "from": "?from=today"} {
		p := f.do(call{method: "GET", path: "/v1/organization/feedback" + query, token: f.bob.Subject}).problem(t)
		if len(p.Errors) != 1 || p.Errors[0].Field != field {
			t.Errorf("%s: %+v", query, p)
		}
	}
	one := func(id string) api.OrganizationFeedback {
		t.Helper()
		return get[api.OrganizationFeedback](f, http.StatusOK, call{
			method: "GET", path: "/v1/organization/feedback/" + id, token: f.bob.Subject,
		})
	}
	if r := one(sent); r.Question != "糸とは" || r.Answer != "**月末**です。" {
		t.Errorf("sent: %+v", r)
	}
	resp := f.do(call{method: "GET", path: "/v1/organization/feedback/" + plain, token: f.bob.Subject})
	for _, secret := range []string{"糸とは", "月末", "person", f.alice.Name} {
		if strings.Contains(string(resp.body), secret) {
			t.Errorf("not sent, but shown: %s", resp.body)
		}
	}
	skills := get[api.SkillFeedbackList](f, http.StatusOK, call{
		method: "GET", path: "/v1/organization/feedback/skill", token: f.bob.Subject,
	})
	if len(skills.Items) != 1 || skills.Items[0].Good != 1 || skills.Items[0].Bad != 1 {
		t.Errorf("by skill: %+v", skills)
	}
	rows := f.csv("/v1/organization/feedback/csv", f.bob.Subject)
	if len(rows) != 3 || !slices.Equal(rows[1][3:], []string{"良い", "速い", "あり"}) ||
		!slices.Equal(rows[2][3:], []string{"良くない", "'=違う", "なし"}) {
		t.Errorf("saved %q", rows)
	}
	// After a new rating without the text, the text is no longer shown.
	get[api.Feedback](f, http.StatusOK, call{
		method: "POST", path: "/v1/message_feedback", token: f.alice.Subject,
		body: map[string]any{"message_id": sent, "rating": "good"},
	})
	if r := one(sent); r.Question != "" || r.Answer != "" || r.Person != "" {
		t.Errorf("taken back: %+v", r)
	}
}
