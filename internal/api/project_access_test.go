package api_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// TestObjectsOfAProjectOnEveryRoute calls every route of the access matrix that names an object of a project: a thread, a
// message, a picture, a file or a passage. For a former member, a colleague and an administrator without a role, the
// response is that for an unknown id, also for the former member's own threads. A viewer can read all of it.
func TestObjectsOfAProjectOnEveryRoute(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	former := f.member(f.alice.OrganizationID, "former@tsumugi.example")
	colleague := f.member(f.alice.OrganizationID, "colleague@tsumugi.example")
	admin := f.member(f.alice.OrganizationID, "admin@tsumugi.example")
	f.exec("UPDATE users SET role = 'organization-super-admin' WHERE id = $1", admin.ID)
	p := f.team(f.bob, former)
	place := func(user identity.NewUser, visibility string) map[kind]string {
		picture := get[api.Picture](f, http.StatusCreated, uploadPicture(user.Subject, encodePNG(t, 4, 3)))
		thread := get[api.Thread](f, http.StatusCreated, call{
			method: "POST", path: "/v1/thread", token: user.Subject,
			body: map[string]any{"skill_id": f.chatSkill().ID, "project_id": p.ID, "visibility": visibility},
		})
		ask := asks(user, thread, "糸とは")
		ask.path = "/v1/message/sync"
		ask.body.(map[string]any)["picture_ids"] = []any{picture.ID}
		answer := get[api.Exchange](f, http.StatusOK, ask).Answer
		return map[kind]string{aThread: thread.ID.String(), aMessage: answer.ID.String(), aPicture: picture.ID.String()}
	}
	shared, own := place(f.alice, "project"), place(former, "private")
	delete(own, aPicture) // Uploaded by the former member.
	file := upload(f.alice.Subject, "資料.txt", "本文")
	file.path += "?project_id=" + p.ID.String()
	shared[aSource], shared[aPassage] = get[api.DataSource](f, http.StatusCreated, file).ID.String(), newID()
	f.exec(`INSERT INTO data_source_chunks (id, organization_id, data_source_id, ordinal, page, text)
		VALUES ($1, $2, $3, 0, 1, '本文')`, shared[aPassage], p.alice.OrganizationID, shared[aSource])
	p.revoke(former)
	tried := 0
	for _, route := range slices.Sorted(maps.Keys(access)) {
		r := access[route]
		for _, objects := range []map[kind]string{shared, own} {
			if objects[r.names] == "" {
				continue
			}
			tried++
			for _, user := range []identity.NewUser{former, colleague, admin} {
				hidden, unknown := f.do(r.call(route, user.Subject, objects[r.names])), f.do(r.call(route, user.Subject, newID()))
				if a, b := shown(t, hidden), shown(t, unknown); a != b {
					t.Errorf("%s as %s: the answers differ\nof the project: %s\nunknown: %s", route, user.Email, a, b)
				}
			}
		}
	}
	if tried < 40 {
		t.Errorf("only %d routes", tried)
	}
	for _, route := range slices.Sorted(maps.Keys(access)) {
		r := access[route]
		if id := shared[r.names]; id != "" && strings.HasPrefix(route, "GET ") && r.status == http.StatusOK {
			if got := f.do(r.call(route, f.bob.Subject, id)); got.status != http.StatusOK {
				t.Errorf("%s as a viewer: %d %s", route, got.status, got.body)
			}
		}
	}
}
