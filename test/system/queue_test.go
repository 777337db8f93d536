package system_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/test/must"
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
	threadID, _ := manager.sharedThread(ctx, t, r.URL())

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
		must.Succeed(t, member.call(ctx, http.MethodPost, r.at(i)()+"/v1/message/async", q, &waiting))
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
	messages := must.Get(r.messages(ctx, r.at(1)(), threadID))(t)
	for i, text := range want {
		if got := messages[2*i+1].Content; got != text {
			t.Errorf("answer %d is %q, want %q", i, got, text)
		}
	}
}

// TestRemovedMemberFollowsThroughAnotherServer: a manager removes a member, who follows the manager's answer through
// another server. The member's stream ends and cannot be opened again, the manager's continues.
func TestRemovedMemberFollowsThroughAnotherServer(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	manager := signInAs(t, r.URL(), demoAdministrator)
	threadID, project := manager.sharedThread(ctx, t, r.URL())
	q := answer{chars: 8000, rate: 20}.in(threadID)
	a := asked{q, manager.ask(t, r.at(0)(), q)}
	begun := make(chan struct{})
	f := r.watcher(a, r.at(1))
	started := sync.OnceFunc(func() { close(begun) })
	f.onEvent = func(e event) {
		if e.Type == "text-delta" {
			started()
		}
	}
	ended := make(chan time.Time, 1)
	f.onDrop = func(error, time.Duration) {
		select {
		case ended <- time.Now():
		default:
		}
	}
	followed := make(chan error, 1)
	go func() { followed <- f.follow(ctx) }()
	select {
	case <-begun:
	case <-ctx.Done():
		t.Fatal("the answer has not begun")
	}
	removed := time.Now()
	manager.setViewers(ctx, t, r.at(0)()+project, nil)
	err := <-followed
	if p, ok := errors.AsType[*problem](err); !ok || p.Status != http.StatusNotFound {
		t.Errorf("the member's stream ended with %v after %d bytes", err, len(f.text))
	}
	took := (<-ended).Sub(removed)
	t.Logf("the member's stream ended %v after the removal", took)
	if took > time.Minute { // 5 s on an idle machine.
		t.Errorf("the member's stream ended %v after the removal", took)
	}
	messages := must.Get(manager.messages(ctx, r.at(1)(), threadID))(t)
	if last := messages[len(messages)-1]; last.Status != "running" {
		t.Errorf("the manager's answer is %s", last.Status)
	}
	must.Succeed(t, manager.call(ctx, http.MethodPost, r.at(1)()+"/v1/message/"+a.Answer.ID+"/stop", nil, nil))
}

// sharedThread creates a project for all members of the organization, and a shared thread in it. It returns the id of the
// thread and the path of the project.
func (c *client) sharedThread(ctx context.Context, t *testing.T, base string) (threadID, path string) {
	t.Helper()
	var project struct{ ID string }
	must.Succeed(t, c.call(ctx, http.MethodPost, base+"/v1/project",
		map[string]any{"request_id": newID(), "name": "製糸"}, &project))
	path = "/v1/project/" + project.ID
	c.setViewers(ctx, t, base+path, []any{
		map[string]any{"subject": map[string]any{"kind": "organization"}, "role": "viewer"},
	})
	var thread struct{ ID string }
	must.Succeed(t, c.call(ctx, http.MethodPost, base+"/v1/thread", map[string]any{
		"skill_id": c.skill, "project_id": project.ID, "visibility": "project",
	}, &thread))
	return thread.ID, path
}

// setViewers replaces the grants of a project, except those of its managers.
func (c *client) setViewers(ctx context.Context, t *testing.T, project string, viewers []any) {
	t.Helper()
	var list struct {
		Version int
		Grants  []map[string]any
	}
	must.Succeed(t, c.call(ctx, http.MethodGet, project+"/grant", nil, &list))
	grants := append([]any{}, viewers...)
	for _, g := range list.Grants {
		if subject := g["subject"].(map[string]any); g["role"] == "manager" {
			grants = append(grants, map[string]any{
				"subject": map[string]any{"kind": subject["kind"], "id": subject["id"]}, "role": g["role"],
			})
		}
	}
	must.Succeed(t, c.call(ctx, http.MethodPut, project+"/grant",
		map[string]any{"version": list.Version, "grants": grants}, nil))
}
