package system_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
)

// TestR20_KilledServerOfASharedThread kills the server that generates an answer in a shared thread while two questions of
// two members wait. A member who follows the answer through the other server gets its whole text, and the waiting
// questions are answered in their order.
func TestR20_KilledServerOfASharedThread(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	manager := signInAs(t, r.URL(), demoAdministrator)
	threadID := manager.sharedThread(ctx, t, r.URL())

	first := answer{chars: 400, more: fmt.Sprintf(`,"stall_after":40,"times":1,"key":%q`, newID())}.in(threadID)
	a := asked{first, manager.ask(t, r.at(0)(), first)}
	begun := make(chan struct{})
	f := r.watcher(a, r.at(1))
	f.onEvent = func(e event) {
		if e.Type == "text-delta" && begun != nil {
			close(begun)
			begun = nil
		}
	}
	started := begun
	var fs followers
	fs.run(ctx, t, f, first.want)
	select {
	case <-started:
	case <-ctx.Done():
		t.Fatal("the answer has not begun")
	}
	want := []string{first.want}
	for i, member := range []*client{r.client, manager} {
		q := answer{chars: 100, rate: 500, seed: uint64(i + 1)}.in(threadID) //nolint:gosec // Small.
		var waiting struct{ Position int }
		must(t, member.call(ctx, http.MethodPost, r.at(i)()+"/v1/message/async", q, &waiting))
		if waiting.Position != i+1 {
			t.Errorf("question %d has the position %d", i, waiting.Position)
		}
		want = append(want, q.want)
	}
	r.Kill(0)
	join(ctx, t, &fs.wait)
	await(t, "the waiting questions are answered", waitLimit, func() bool {
		messages, err := r.messages(ctx, r.at(1)(), threadID)
		return err == nil && len(messages) == 2*len(want) && messages[len(messages)-1].Status == "success"
	})
	messages, err := r.messages(ctx, r.at(1)(), threadID)
	must(t, err)
	for i, text := range want {
		if got := messages[2*i+1].Content; got != text {
			t.Errorf("answer %d is %q, want %q", i, got, text)
		}
	}
}

// sharedThread creates a project for all members of the organization, and a shared thread in it.
func (c *client) sharedThread(ctx context.Context, t *testing.T, base string) string {
	t.Helper()
	var project struct{ ID string }
	must(t, c.call(ctx, http.MethodPost, base+"/v1/project",
		map[string]any{"request_id": newID(), "name": "製糸"}, &project))
	path := base + "/v1/project/" + project.ID + "/grant"
	var list struct {
		Version int
		Grants  []map[string]any
	}
	must(t, c.call(ctx, http.MethodGet, path, nil, &list))
	var grants []any
	for _, g := range list.Grants {
		subject := g["subject"].(map[string]any)
		grants = append(grants, map[string]any{
			"subject": map[string]any{"kind": subject["kind"], "id": subject["id"]}, "role": g["role"],
		})
	}
	grants = append(grants, map[string]any{"subject": map[string]any{"kind": "organization"}, "role": "viewer"})
	must(t, c.call(ctx, http.MethodPut, path, map[string]any{"version": list.Version, "grants": grants}, nil))
	var thread struct{ ID string }
	must(t, c.call(ctx, http.MethodPost, base+"/v1/thread", map[string]any{
		"skill_id": c.skill, "project_id": project.ID, "visibility": "project",
	}, &thread))
	return thread.ID
}
