package api_test

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// passOnThreads gives the shared threads of removed people to a manager, and removes their other threads.
func (m *model) passOnThreads() {
	for id, thread := range m.threads {
		if !m.removed[thread.owner] {
			continue
		}
		type candidate struct{ indirect, at, person int }
		var managers []candidate
		for subject, g := range m.projects[thread.project].grants {
			for i, u := range m.people {
				switch {
				case !thread.shared || g.role != "manager" || m.gone[u.ID]:
				case subject == u.ID:
					managers = append(managers, candidate{0, g.at, i})
				case subject == m.organization || m.groups[subject][u.ID]:
					managers = append(managers, candidate{1, g.at, i})
				}
			}
		}
		switch {
		case !thread.shared:
			delete(m.threads, id)
			continue
		case len(managers) == 0: // Of a deleted project.
			thread.owner = m.heir(m.projects[thread.project])
			m.threads[id] = thread
			continue
		}
		thread.owner = m.people[slices.MinFunc(managers, func(a, b candidate) int {
			return cmp.Or(a.indirect-b.indirect, a.at-b.at, a.person-b.person)
		}).person].ID
		m.threads[id] = thread
	}
}

// addThread creates a thread in a project.
func (m *model) addThread(projectID uuid.UUID, owner identity.NewUser, visibility string) {
	m.t.Helper()
	thread := get[api.Thread](m.f, http.StatusCreated, call{
		method: "POST", path: "/v1/thread", token: owner.Subject, body: map[string]any{
			"skill_id": m.f.chatSkill().ID, "project_id": projectID, "visibility": visibility,
		},
	})
	picture := get[api.Picture](m.f, http.StatusCreated, uploadPicture(owner.Subject, encodePNG(m.t, 4, 3))).ID
	ask := asks(owner, thread, "糸とは")
	ask.path = "/v1/message/sync"
	ask.body.(map[string]any)["picture_ids"] = []any{picture}
	answer := get[api.Exchange](m.f, http.StatusOK, ask).Answer.ID
	m.threads[thread.ID] = modelThread{
		projectID, owner.ID, visibility == "project", owner.ID, answer.String(), picture.String(),
	}
}

// checkThreads compares with the model whether a person can open each thread, given their roles in projects.
func (m *model) checkThreads(u identity.NewUser, roles map[uuid.UUID]string, history string) {
	m.t.Helper()
	open := make(map[uuid.UUID]int)
	for id, thread := range m.threads {
		ok := roles[thread.project] != "" && (thread.shared || thread.owner == u.ID)
		if ok {
			open[thread.project]++
		}
		switch way := m.rand.IntN(6); {
		case way == 0:
			m.callTool(u, ok, history, "ask_skill", map[string]any{"thread_id": id, "question": "絹とは"})
		case way == 1:
			m.readResource(u, ok, history, "tsumugi://thread/"+id.String())
		case way == 5: // Without the body, which the event of an earlier change may cut off.
			m.do(statusIf(ok), u.Subject, "HEAD", "/v1/message/"+thread.answer+"/stream", nil)
		case way > 2:
			m.get(ok, u, []string{"/v1/thread/" + id.String(), "/v1/message?thread_id=" + id.String()}[way-3])
		case thread.picture == "":
		case m.removed[thread.asker]: // The picture is removed with its owner.
			m.get(false, u, "/v1/picture/"+thread.picture)
		default: // The asker may always open it.
			m.get(ok || u.ID == thread.asker, u, "/v1/picture/"+thread.picture)
		}
	}
	for id := range m.projects {
		query := []string{"", "&q=%E7%B3%B8%E3%81%A8%E3%81%AF"}[m.rand.IntN(2)] // The question.
		list := get[api.ThreadList](m.f, http.StatusOK, call{
			method: "GET", path: "/v1/thread?project_id=" + id.String() + query, token: u.Subject,
		})
		if len(list.Items) != open[id] {
			m.t.Fatalf("after %s, %s lists %d threads, want %d", history, u.Subject, len(list.Items), open[id])
		}
	}
}
