package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// answered returns the exchange of a new thread.
func (f *fixture) answered(token string) api.Exchange {
	f.t.Helper()
	return f.asked(token, f.thread(token).ID.String())
}

// asked returns another exchange of a thread.
func (f *fixture) asked(token, threadID string) api.Exchange {
	f.t.Helper()
	return get[api.Exchange](f, http.StatusOK, call{
		method: "POST", path: "/v1/message/sync", token: token,
		body: question(threadID),
	})
}

// share shares a thread up to an answer.
func (f *fixture) share(token string, up api.Exchange) api.Share {
	f.t.Helper()
	return get[api.Share](f, http.StatusOK, call{
		method: "PUT", path: "/v1/thread/" + up.Answer.ThreadID.String() + "/share", token: token,
		body: map[string]any{"leaf": up.Answer.ID.String()},
	})
}

func (f *fixture) sharedTexts(token string, share api.Share) (texts []string) {
	f.t.Helper()
	list := get[api.SharedMessageList](f, http.StatusOK, call{
		method: "GET",
		path:   "/v1/share/" + share.ID.String() + "/message", token: token,
	})
	for _, m := range list.Items {
		texts = append(texts, string(m.Role)+": "+m.Content)
	}
	return texts
}

// TestShareShowsASnapshotToTheOrganization: later messages are hidden until the share is updated, a colleague reads and
// continues it, and it ends.
func TestShareShowsASnapshotToTheOrganization(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("繭から"))
	alice, bob := f.alice.Subject, f.bob.Subject
	first := f.answered(alice)
	share := f.share(alice, first)
	f.asked(alice, share.ThreadID.String())
	if share.ID.Version() != 4 || !share.Own || share.Messages != 2 || share.Title == "" {
		t.Errorf("the share is %+v", share)
	}
	want := []string{"user: 糸とは", "assistant: 繭から"}
	if got := f.sharedTexts(bob, share); strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("a colleague reads %q, want %q", got, want)
	}
	path := "/v1/share/" + share.ID.String()
	seen := get[api.Share](f, http.StatusOK, call{method: "GET", path: path, token: bob})
	if seen.Own || seen.ThreadID != uuid.Nil || seen.OwnerName == "" {
		t.Errorf("a colleague sees %+v", seen)
	}

	copied := get[api.Thread](f, http.StatusCreated, call{
		method: "POST", path: path + "/thread", token: bob,
		body: map[string]any{"request_id": newID()},
	})
	messages := get[api.MessageList](f, http.StatusOK, call{
		method: "GET",
		path:   "/v1/message?thread_id=" + copied.ID.String(), token: bob,
	})
	if len(messages.Items) != 2 || messages.Items[0].Content != "繭から" || messages.Items[1].Content != "糸とは" ||
		copied.Title != share.Title {
		t.Errorf("the copy is %+v with %+v", copied, messages.Items)
	}
	f.asked(bob, copied.ID.String()) // And can be continued.

	updated := f.share(alice, f.asked(alice, share.ThreadID.String()))
	if updated.ID != share.ID || updated.Messages != 6 || len(f.sharedTexts(bob, share)) != 6 {
		t.Errorf("the update is %+v", updated)
	}
	if resp := f.do(call{method: "DELETE", path: path, token: bob}); resp.status != http.StatusNotFound {
		t.Errorf("a colleague ends it: %d %s", resp.status, resp.body)
	}
	if resp := f.do(call{method: "DELETE", path: path, token: alice}); resp.status != http.StatusNoContent {
		t.Errorf("its owner ends it: %d %s", resp.status, resp.body)
	}
	for _, token := range []string{alice, bob} {
		for _, c := range []call{
			{method: "GET", path: path},
			{method: "GET", path: path + "/message"},
			{method: "POST", path: path + "/thread", body: map[string]any{}},
		} {
			c.token = token
			if resp := f.do(c); resp.status != http.StatusNotFound {
				t.Errorf("%s %s once it is over: %d %s", c.method, c.path, resp.status, resp.body)
			}
		}
	}
}

// TestAdministratorsEndSharesOfMembers: administrators see and can end all shares of the organization, which the audit
// log records.
func TestAdministratorsEndSharesOfMembers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("繭から"))
	f.exec("UPDATE users SET role = $2 WHERE id = $1", f.bob.ID, identity.RoleOrganizationAdmin)
	share, other := f.share(f.alice.Subject, f.answered(f.alice.Subject)),
		f.share(f.stranger.Subject, f.answered(f.stranger.Subject))
	all := get[api.ShareList](f, http.StatusOK, call{
		method: "GET", path: "/v1/organization/share",
		token: f.bob.Subject,
	})
	if all.Total != 1 || len(all.Items) != 1 || all.Items[0].ID != share.ID {
		t.Errorf("an administrator sees %+v", all)
	}
	if own := get[api.ShareList](f, http.StatusOK, call{
		method: "GET", path: "/v1/share",
		token: f.bob.Subject,
	}); own.Total != 0 {
		t.Errorf("an administrator's own shares are %+v", own)
	}
	for id, status := range map[string]int{
		share.ID.String(): http.StatusNoContent,
		other.ID.String(): http.StatusNotFound,
	} {
		if resp := f.do(call{method: "DELETE", path: "/v1/share/" + id, token: f.bob.Subject}); resp.status != status {
			t.Errorf("an administrator ends %s: %d %s", id, resp.status, resp.body)
		}
	}
	events := get[api.AuditEventList](f, http.StatusOK, call{
		method: "GET", path: "/v1/audit?kind=administration",
		token: f.bob.Subject,
	})
	var actions []string
	for _, e := range events.Items {
		if e.TargetKind == "share" {
			actions = append(actions, e.Action+" "+e.ActorEmail+" "+e.TargetLabel)
		}
	}
	want := []string{
		"share.end bob@tsumugi.example " + share.Title,
		"share.create alice@tsumugi.example " + share.Title,
	}
	if strings.Join(actions, "|") != strings.Join(want, "|") {
		t.Errorf("the audit log has %q, want %q", actions, want)
	}
}

// TestTemporaryThreadIsInNoList: a temporary thread works like any other thread, but is not listed, searched or shared.
func TestTemporaryThreadIsInNoList(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("繭から"))
	token := f.alice.Subject
	client := f.join(token)
	body := map[string]any{"skill_id": f.chatSkill().ID, "temporary": true, "request_id": newID()}
	thread := get[api.Thread](f, http.StatusCreated, call{method: "POST", path: "/v1/thread", token: token, body: body})
	if left := thread.ExpiresAt.Sub(thread.CreatedAt); left.Hours() != 24 {
		t.Errorf("it lasts %v", left)
	}
	if again := get[api.Thread](f, http.StatusCreated, call{
		method: "POST", path: "/v1/thread", token: token,
		body: body,
	}); again.ID != thread.ID {
		t.Errorf("the same request made %v and %v", thread.ID, again.ID)
	}
	body["temporary"] = false
	if resp := f.do(call{
		method: "POST", path: "/v1/thread", token: token,
		body: body,
	}); resp.status != http.StatusConflict {
		t.Errorf("the same request for a thread that is kept: %d %s", resp.status, resp.body)
	}
	answer := f.asked(token, thread.ID.String())
	kept := f.thread(token)
	for _, query := range []string{"", "?archived=true", "?q=" + "%E7%B3%B8%E3%81%A8%E3%81%AF", "?q=" + "%E7%B9%AD"} {
		for _, found := range get[api.ThreadList](f, http.StatusOK,
			call{method: "GET", path: "/v1/thread" + query, token: token}).Items {
			if found.ID == thread.ID {
				t.Errorf("%q lists it", query)
			}
		}
	}
	// Before the kept thread, /v1/live sends only messages of the temporary one.
	for told := ""; !strings.Contains(told, kept.ID.String()); {
		_, frame := client.next()
		if told = string(frame); strings.Contains(told, `"type":"thread"`) &&
			strings.Contains(told, thread.ID.String()) {
			t.Errorf("live tells of it: %s", told)
		}
	}
	path := "/v1/thread/" + thread.ID.String()
	if found := get[api.Thread](f, http.StatusOK, call{method: "GET", path: path, token: token}); found.Title != "" ||
		found.ExpiresAt.IsZero() {
		t.Errorf("by its address it is %+v", found)
	}
	resp := f.do(call{
		method: "PUT", path: path + "/share", token: token,
		body: map[string]any{"leaf": answer.Answer.ID.String()},
	})
	if resp.status != http.StatusConflict {
		t.Errorf("sharing it: %d %s", resp.status, resp.body)
	}
}

func TestOwnUsage(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("繭から"))
	token := f.alice.Subject
	f.answered(f.bob.Subject)
	before := get[api.OwnUsage](f, http.StatusOK, call{method: "GET", path: "/v1/me/usage", token: token})
	f.exec(`INSERT INTO usage_daily (organization_id, date, user_id, messages, input_tokens, output_tokens)
		SELECT $1, date_trunc('month', now() AT TIME ZONE 'Asia/Tokyo')::date - 1, $2, 10, 10, 10`,
		f.alice.OrganizationID, f.alice.ID)
	get[api.DataSource](f, http.StatusCreated, upload(token, "資料.txt", "本文"))
	get[api.DataSource](f, http.StatusCreated, upload(f.bob.Subject, "資料.txt", "別の本文"))
	answer := f.answered(token).Answer
	after := get[api.OwnUsage](f, http.StatusOK, call{method: "GET", path: "/v1/me/usage", token: token})
	if before.Messages != 0 || after.Messages != 1 || after.InputTokens < int64(answer.Usage.InputTokens) ||
		after.ResetsOn.Day() != 1 {
		t.Errorf("before an answer %+v, after it %+v", before, after)
	}
	if before.Storage.Used != 0 || after.Storage.Used != int64(len("本文")) || after.Storage.Limit != 5<<30 {
		t.Errorf("storage before an upload %+v, after it %+v", before.Storage, after.Storage)
	}
}
