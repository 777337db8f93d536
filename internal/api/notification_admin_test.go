package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// TestNoticesAreWrittenInTheApp covers a notice from the draft of an administrator to the open tabs of the members, and
// to its end.
func TestNoticesAreWrittenInTheApp(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	f.exec("UPDATE users SET role = 'organization-admin' WHERE id = $1", f.bob.ID)
	tab, stranger := f.join(f.alice.Subject), f.join(f.stranger.Subject)
	body := func(changes map[string]any) map[string]any {
		b := map[string]any{"title": "休業日", "body": "12月29日から\nhttps://example.com", "level": "info", "audience": "all"}
		for name, value := range changes {
			b[name] = value
		}
		return b
	}
	requestID := newID()
	add := func(changes map[string]any) call {
		b := body(changes)
		b["request_id"] = requestID
		return call{method: "POST", path: "/v1/notification", token: f.bob.Subject, body: b}
	}
	notice := get[api.ManagedNotification](f, http.StatusCreated, add(nil))
	if notice.State != "published" || !notice.Own || !notice.EndsAt.IsZero() {
		t.Errorf("got %+v", notice)
	}
	if n := tab.want("notification").Notification; n == nil || n.ID != notice.ID || n.Title != "休業日" {
		t.Errorf("the tab was told %+v", n)
	}
	if again := get[api.ManagedNotification](f, http.StatusCreated, add(nil)); again.ID != notice.ID {
		t.Errorf("repeated: %+v", again)
	}
	if p := f.do(add(map[string]any{"title": "別"})).problem(t); p.Code != "request_id_conflict" {
		t.Errorf("with another body: %+v", p)
	}
	path := "/v1/notification/" + notice.ID.String()
	put := func(changes map[string]any) call {
		return call{method: "PUT", path: path, token: f.bob.Subject, body: body(changes)}
	}
	end := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	edited := get[api.ManagedNotification](f, http.StatusOK, put(map[string]any{
		"title": "年末の休業日", "ends_at": end.Format(time.RFC3339),
	}))
	if edited.Title != "年末の休業日" || !edited.EndsAt.Equal(end) || !edited.PublishedAt.Equal(notice.PublishedAt) {
		t.Errorf("edited: %+v", edited)
	}
	if n := tab.want("notification").Notification; n == nil || n.ID != notice.ID || n.Title != "年末の休業日" {
		t.Errorf("the tab was told %+v", n)
	}
	for field, value := range map[string]any{"published_at": "明日", "ends_at": "2026-01-01", "url": "ftp://x", "level": "x"} {
		if p := f.do(put(map[string]any{field: value})).problem(t); len(p.Errors) != 1 || p.Errors[0].Field != field {
			t.Errorf("%s: %+v", field, p)
		}
	}
	for range 2 { // The second call changes nothing.
		ended := get[api.ManagedNotification](f, http.StatusOK, call{
			method: "POST", path: path + "/end", token: f.bob.Subject,
		})
		if ended.State != "ended" {
			t.Errorf("ended: %+v", ended)
		}
	}
	if event := tab.want("notification"); event.ID != notice.ID || !event.Ended {
		t.Errorf("the tab was told %+v", event)
	}
	if list := get[api.NotificationList](f, http.StatusOK, call{
		method: "GET", path: "/v1/notification", token: f.alice.Subject,
	}); len(list.Items) != 0 {
		t.Errorf("members see %+v", list)
	}
	for _, c := range []call{put(nil), {method: "DELETE", path: path, token: f.bob.Subject}} {
		if resp := f.do(c); resp.status != http.StatusConflict {
			t.Errorf("%s after its end: %d %s", c.method, resp.status, resp.body)
		}
	}
	f.schedules(tab)
	// Another organization has received none of these notices.
	f.exec(`INSERT INTO notifications (id, title, level) VALUES ($1, '全員へ', 'info')`, newID())
	if n := stranger.want("notification").Notification; n == nil || n.Title != "全員へ" {
		t.Errorf("a stranger was told %+v", n)
	}
}

// schedules continues with a scheduled notice. The test changes its time to the present.
func (f *fixture) schedules(tab *socketClient) {
	f.t.Helper()
	later := get[api.ManagedNotification](f, http.StatusCreated, call{
		method: "POST", path: "/v1/notification", token: f.bob.Subject, body: map[string]any{
			"request_id": newID(), "title": "棚卸し", "level": "warning", "audience": "all",
			"published_at": time.Now().Add(time.Hour).Format(time.RFC3339),
		},
	})
	if later.State != "scheduled" {
		f.t.Errorf("got %+v", later)
	}
	if resp := f.do(call{
		method: "POST", path: "/v1/notification/" + later.ID.String() + "/end", token: f.bob.Subject,
	}); resp.status != http.StatusConflict {
		f.t.Errorf("ended before it began: %d", resp.status)
	}
	f.exec("UPDATE notifications SET published_at = now() + interval '300 milliseconds' WHERE id = $1", later.ID)
	if n := tab.want("notification").Notification; n == nil || n.ID != later.ID {
		f.t.Errorf("the tab was told %+v", n)
	}
	list := get[api.ManagedNotificationList](f, http.StatusOK, call{
		method: "GET", path: "/v1/organization/notification", token: f.bob.Subject,
	})
	if list.Total != 2 || list.Items[0].ID != later.ID || list.Items[0].State != "published" ||
		list.Items[1].State != "ended" {
		f.t.Errorf("the administrators see %+v", list)
	}
}
