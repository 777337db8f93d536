package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestNotifications(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	publish := func(title string, organization *uuid.UUID, at time.Time) org.Notification {
		n := org.Notification{
			ID: uuid.Must(uuid.NewV7()), OrganizationID: organization, Title: title,
			Level: org.LevelInfo, PublishedAt: at,
		}
		must.Succeed(t, f.db.PublishNotification(t.Context(), n))
		return n
	}
	now := time.Now()
	all := publish("全員へ", nil, now.Add(-time.Hour))
	publish("他社へ", &f.stranger.OrganizationID, now.Add(-time.Hour))
	publish("これから", nil, now.Add(time.Hour))
	list := func(token string) api.NotificationList {
		return get[api.NotificationList](f, http.StatusOK, call{method: "GET", path: "/v1/notification", token: token})
	}
	if got := list(f.alice.Subject); len(got.Items) != 1 || got.Items[0].ID != all.ID || got.Items[0].Read {
		t.Fatalf("got %+v", got)
	}
	for range 2 {
		if resp := f.do(call{
			method: "PUT", path: "/v1/notification/read", token: f.alice.Subject,
			body: map[string]any{"ids": []any{all.ID, newID()}},
		}); resp.status != http.StatusNoContent {
			t.Fatalf("got %d %s", resp.status, resp.body)
		}
	}
	if got := list(f.alice.Subject); !got.Items[0].Read {
		t.Error("it is still unread")
	}
	if got := list(f.bob.Subject); got.Items[0].Read {
		t.Error("it is read for somebody else too")
	}
	resp := f.do(call{
		method: "PUT", path: "/v1/notification/read", token: f.alice.Subject,
		body: map[string]any{"ids": []any{}},
	})
	if p := resp.problem(t); p.Errors[0].Field != "ids" {
		t.Errorf("got %+v", p)
	}
}
