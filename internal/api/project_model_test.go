package api_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// modelGrant is a grant in the model. Its subject is the id of a person, a group, or the organization.
type modelGrant struct {
	kind string
	role string
	at   int // Order of grants.
}

// modelProject is a project in the model.
type modelProject struct {
	version int
	deleted bool
	grants  map[uuid.UUID]modelGrant
	files   map[uuid.UUID]bool
}

// modelThread is a thread of a project in the model.
type modelThread struct {
	project, owner  uuid.UUID
	shared          bool
	asker           uuid.UUID // Of its question, with a picture.
	answer, picture string
}

// model computes by simple loops which person has which role, and which files and threads they may open.
type model struct {
	t            *testing.T
	f            *fixture
	rand         *rand.Rand
	organization uuid.UUID
	people       []identity.NewUser // The first one is an administrator, who is always active.
	gone         map[uuid.UUID]bool // Inactive or removed.
	removed      map[uuid.UUID]bool
	groups       map[uuid.UUID]map[uuid.UUID]bool
	projects     map[uuid.UUID]*modelProject
	files        map[uuid.UUID]uuid.UUID // Owners by file; the zero UUID for files of projects only.
	threads      map[uuid.UUID]modelThread
	clock        int
}

var strength = []string{"", "viewer", "editor", "manager"}

// role returns the role of an active person.
func (m *model) role(p *modelProject, person uuid.UUID) string {
	best := 0
	for id, g := range p.grants {
		if id == person || id == m.organization || m.groups[id][person] {
			best = max(best, slices.Index(strength, g.role))
		}
	}
	return strength[best]
}

// with returns the active people with exactly a role.
func (m *model) with(p *modelProject, role string) (found []identity.NewUser) {
	for _, u := range m.people {
		if !m.gone[u.ID] && m.role(p, u.ID) == role {
			found = append(found, u)
		}
	}
	return found
}

// passOn gives each project without an active manager to an editor or the administrator.
func (m *model) passOn() {
	for _, p := range m.projects {
		if p.deleted || len(m.with(p, "manager")) > 0 {
			continue
		}
		m.put(p, m.heir(p), "user", "manager")
		p.version++
	}
}

// heir returns the editor or the administrator who becomes the manager of a project without one.
func (m *model) heir(p *modelProject) uuid.UUID {
	type candidate struct{ byGroup, at, person int }
	var editors []candidate
	for id, g := range p.grants {
		for i, u := range m.people {
			if g.role == "editor" && !m.gone[u.ID] && (id == u.ID || m.groups[id][u.ID]) {
				byGroup := 0
				if id != u.ID {
					byGroup = 1
				}
				editors = append(editors, candidate{byGroup, g.at, i})
			}
		}
	}
	heir := 0
	if len(editors) > 0 {
		heir = slices.MinFunc(editors, func(a, b candidate) int {
			return cmp.Or(a.byGroup-b.byGroup, a.at-b.at, a.person-b.person)
		}).person
	}
	return m.people[heir].ID
}

// put adds or changes a grant.
func (m *model) put(p *modelProject, id uuid.UUID, kind, role string) {
	g, known := p.grants[id]
	if !known {
		m.clock++
		g = modelGrant{kind: kind, at: m.clock}
	}
	g.role = role
	p.grants[id] = g
}

func (m *model) token(i int) string { return m.people[i].Subject }

func (m *model) do(status int, token, method, path string, body any) response {
	m.t.Helper()
	resp := m.f.do(call{method: method, path: path, token: token, body: body})
	if resp.status != status {
		m.t.Fatalf("%s %s: %d %s, want %d", method, path, resp.status, resp.body, status)
	}
	return resp
}

// pick returns a random key in a stable order.
func pick[V any](r *rand.Rand, all map[uuid.UUID]V) uuid.UUID {
	keys := slices.SortedFunc(maps.Keys(all), func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	return keys[r.IntN(len(keys))]
}

// step makes one random change.
func (m *model) step() {
	m.t.Helper()
	admin := m.token(0)
	id := pick(m.rand, m.projects)
	p := m.projects[id]
	path := "/v1/project/" + id.String()
	person := 1 + m.rand.IntN(len(m.people)-1)
	u := m.people[person]
	switch m.rand.IntN(8) {
	case 0, 1:
		m.setGrants(p, path)
	case 2:
		m.changeGroup(admin, u)
	case 3:
		if len(m.groups) > 1 && m.rand.IntN(3) == 0 {
			group := pick(m.rand, m.groups)
			m.do(http.StatusNoContent, admin, "DELETE", "/v1/group/"+group.String(), nil)
			delete(m.groups, group)
			for _, p := range m.projects {
				delete(p.grants, group)
			}
			m.passOn()
		}
	case 4:
		if m.removed[u.ID] {
			return
		}
		if m.rand.IntN(3) == 0 {
			m.do(http.StatusNoContent, admin, "DELETE", "/v1/user/"+u.ID.String(), nil)
			m.remove(u.ID)
		} else {
			state := "inactive"
			if m.gone[u.ID] {
				state = "active"
			}
			m.do(http.StatusOK, admin, "PUT", "/v1/user/"+u.ID.String(), map[string]any{"state": state})
			m.gone[u.ID] = state == "inactive"
		}
		m.passOn()
		m.passOnThreads()
	case 5:
		if p.deleted {
			m.do(m.restored(p), admin, "POST", path+"/restore", nil)
			p.deleted = false
			p.version++
			m.passOn()
		} else if managers := m.with(p, "manager"); m.rand.IntN(2) == 0 {
			m.do(http.StatusNoContent, managers[m.rand.IntN(len(managers))].Subject, "DELETE", path, nil)
			p.deleted = true
			p.version++
		}
	case 6:
		m.share(p, path, u)
	case 7:
		if editors := append(m.with(p, "editor"), m.with(p, "manager")...); !p.deleted && len(p.files) > 0 {
			file := pick(m.rand, p.files)
			m.do(http.StatusNoContent, editors[0].Subject, "DELETE", path+"/data-source/"+file.String(), nil)
			delete(p.files, file)
		}
	}
}

// restored is the status of a restoration by the administrator.
func (m *model) restored(p *modelProject) int {
	before := maps.Clone(p.grants)
	defer func() { p.grants = before }()
	if m.role(p, m.people[0].ID) != "" {
		return http.StatusOK
	}
	trial := &modelProject{grants: maps.Clone(p.grants)}
	clock, projects := m.clock, m.projects
	m.projects = map[uuid.UUID]*modelProject{uuid.Nil: trial}
	m.passOn()
	m.clock, m.projects = clock, projects
	if m.role(trial, m.people[0].ID) != "" {
		return http.StatusOK
	}
	return http.StatusNoContent
}

func (m *model) setGrants(p *modelProject, path string) {
	m.t.Helper()
	managers := m.with(p, "manager")
	if p.deleted {
		return
	}
	actor := managers[m.rand.IntN(len(managers))]
	next := &modelProject{grants: make(map[uuid.UUID]modelGrant)}
	var body []map[string]any
	choose := func(kind string, id uuid.UUID, odds int) {
		if m.rand.IntN(odds) == 0 {
			role := strength[1+m.rand.IntN(3)]
			next.grants[id] = modelGrant{kind: kind, role: role}
			body = append(body, grant(kind, id, role))
		}
	}
	for _, u := range m.people {
		if !m.removed[u.ID] {
			choose("user", u.ID, 3)
		}
	}
	for id := range m.groups {
		choose("group", id, 3)
	}
	choose("organization", m.organization, 8)
	status := http.StatusOK
	if len(m.with(next, "manager")) == 0 {
		status = http.StatusConflict
	}
	if body == nil {
		body = []map[string]any{}
	}
	m.do(status, actor.Subject, "PUT", path+"/grant", map[string]any{"version": p.version, "grants": body})
	if status != http.StatusOK {
		return
	}
	changed := false
	m.clock++
	for id := range p.grants {
		if _, kept := next.grants[id]; !kept {
			changed = true
			delete(p.grants, id)
		}
	}
	for id, g := range next.grants {
		old, known := p.grants[id]
		changed = changed || !known || old.role != g.role
		if known {
			g.at = old.at
		} else {
			g.at = m.clock
		}
		p.grants[id] = g
	}
	if changed {
		p.version++
	}
}

func (m *model) changeGroup(admin string, u identity.NewUser) {
	m.t.Helper()
	if m.removed[u.ID] {
		return
	}
	group := pick(m.rand, m.groups)
	field := "add"
	if m.groups[group][u.ID] {
		field = "remove"
	}
	m.do(http.StatusOK, admin, "PUT", "/v1/group/"+group.String()+"/member", map[string]any{field: []any{u.ID}})
	m.groups[group][u.ID] = field == "add"
	m.passOn()
}

func (m *model) remove(id uuid.UUID) {
	m.gone[id], m.removed[id] = true, true
	for _, members := range m.groups {
		delete(members, id)
	}
	for _, p := range m.projects {
		delete(p.grants, id)
	}
	for file, owner := range m.files {
		if owner == id {
			m.files[file] = uuid.Nil
		}
	}
}

// share uploads a file of a person and shares it with a project.
func (m *model) share(p *modelProject, path string, u identity.NewUser) {
	m.t.Helper()
	if m.gone[u.ID] {
		return
	}
	file := get[api.DataSource](m.f, http.StatusCreated, upload(u.Subject, "資料.txt", newID())).ID
	m.files[file] = u.ID
	status := http.StatusOK
	switch role := m.role(p, u.ID); {
	case p.deleted || role == "":
		status = http.StatusNotFound
	case role == "viewer":
		status = http.StatusForbidden
	}
	m.do(status, u.Subject, "POST", path+"/data-source", map[string]any{"data_source_ids": []any{file}})
	if status == http.StatusOK {
		p.files[file] = true
	}
}

// check compares the projects of a person, and whether they can open each file and thread, with the model. It opens
// each of them by one of several ways, because there are many checks.
func (m *model) check(u identity.NewUser, history string) {
	m.t.Helper()
	if m.gone[u.ID] {
		m.do(http.StatusUnauthorized, u.Subject, "GET", "/v1/project", nil)
		m.do(http.StatusUnauthorized, u.Subject, "POST", "/mcp", map[string]any{})
		return
	}
	want, readable := make(map[uuid.UUID]string), make(map[uuid.UUID]bool)
	for id, p := range m.projects {
		role := m.role(p, u.ID)
		if p.deleted || role == "" {
			continue
		}
		want[id] = role
		for file := range p.files {
			readable[file] = true
		}
	}
	list := get[api.ProjectList](m.f, http.StatusOK, call{method: "GET", path: "/v1/project?limit=100", token: u.Subject})
	got := make(map[uuid.UUID]string)
	for _, p := range list.Items {
		if _, ours := m.projects[p.ID]; ours {
			got[p.ID] = string(p.Role)
		}
	}
	if !maps.Equal(got, want) {
		m.t.Fatalf("after %s, %s has %v, want %v", history, u.Subject, got, want)
	}
	for id, p := range m.projects {
		m.openProject(u, id, len(p.files), want[id] != "", history)
	}
	m.checkThreads(u, want, history)
	for file, owner := range m.files {
		m.openFile(u, file, readable[file] || owner == u.ID, history)
	}
}

// get makes a call that succeeds if ok, and otherwise does not find its object.
func (m *model) get(ok bool, u identity.NewUser, path string) response {
	m.t.Helper()
	return m.do(statusIf(ok), u.Subject, "GET", path, nil)
}

// statusIf returns the status of a call that finds its object if ok.
func statusIf(ok bool) int {
	if ok {
		return http.StatusOK
	}
	return http.StatusNotFound
}

// openProject opens a project by one of the routes, MCP or the extension.
func (m *model) openProject(u identity.NewUser, id uuid.UUID, files int, ok bool, history string) {
	m.t.Helper()
	path := "/v1/project/" + id.String()
	switch way := m.rand.IntN(7); {
	case way == 0:
		m.callTool(u, ok, history, "search_documents", map[string]any{"query": "糸", "project_id": id})
	case way == 1 && !ok:
		about := m.f.aboutPage(summaryKind, map[string]any{"project_id": id})
		m.do(http.StatusNotFound, u.Subject, about.method, about.path, about.body)
	case way <= 2:
		resp := m.get(ok, u, path+"/data-source?limit=100")
		var list api.ProjectDataSourceList
		if err := json.Unmarshal(resp.body, &list); err != nil || ok && len(list.Items) != files {
			m.t.Fatalf("after %s, %s sees %s, want %d files: %v", history, u.Subject, resp.body, files, err)
		}
	default:
		m.get(ok, u, path+[]string{"", "/grant", "/search?q=%E7%B3%B8", "/channel"}[way-3])
	}
}

// openFile opens a file by one of the routes or MCP.
func (m *model) openFile(u identity.NewUser, id uuid.UUID, ok bool, history string) {
	m.t.Helper()
	switch m.rand.IntN(3) {
	case 0:
		m.readResource(u, ok, history, "tsumugi://document/"+id.String())
	case 1:
		m.get(ok, u, "/v1/data-source/"+id.String())
	default:
		m.get(ok, u, "/v1/data-source/file/"+id.String())
	}
}

// TestProjectRightsAreThoseOfAModel makes a hundred random sequences of grants, changes of groups, deactivations and
// removals of members, deletions and restorations, and compares with the model what each person sees in the app, by MCP,
// in the extension and in a channel of Slack.
func TestProjectRightsAreThoseOfAModel(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	f.exec("UPDATE users SET role = 'organization-super-admin' WHERE id = $1", f.bob.ID)
	f.exec("UPDATE contracts SET seats = 1000")
	channels := newChannels(f)
	for n := range 100 {
		seed := uint64(n) //nolint:gosec // Not negative.
		m := &model{
			t: t, f: f, rand: rand.New(rand.NewPCG(seed, 0)), organization: f.bob.OrganizationID, //nolint:gosec // No secret.
			people: []identity.NewUser{f.bob}, gone: make(map[uuid.UUID]bool), removed: make(map[uuid.UUID]bool),
			groups:   make(map[uuid.UUID]map[uuid.UUID]bool),
			projects: make(map[uuid.UUID]*modelProject), files: make(map[uuid.UUID]uuid.UUID),
			threads: make(map[uuid.UUID]modelThread),
		}
		for i := range 4 {
			m.people = append(m.people, f.member(m.organization, fmt.Sprintf("p%d-%d@tsumugi.example", n, i)))
		}
		for range 2 {
			m.groups[get[api.Group](f, http.StatusCreated, call{
				method: "POST", path: "/v1/group", token: f.bob.Subject,
				body: map[string]any{"request_id": newID(), "name": newID()},
			}).ID] = make(map[uuid.UUID]bool)
			owner := m.people[1+m.rand.IntN(4)]
			p := &modelProject{version: 1, grants: make(map[uuid.UUID]modelGrant), files: make(map[uuid.UUID]bool)}
			id := f.project(owner.Subject).ID
			m.projects[id] = p
			m.put(p, owner.ID, "user", "manager")
			m.addThread(id, owner, "project")
			m.addThread(id, owner, "private")
		}
		for step := range 15 {
			m.step()
			m.check(m.people[m.rand.IntN(len(m.people))], fmt.Sprintf("sequence %d, step %d", n, step))
		}
		channels.ask(m)
		for _, u := range m.people {
			m.check(u, fmt.Sprintf("sequence %d", n))
		}
		// The next sequence begins without groups and projects of this one.
		for id, p := range m.projects {
			if !p.deleted {
				m.do(http.StatusNoContent, f.bob.Subject, "DELETE", "/v1/project/"+id.String(), nil)
			}
		}
		for id := range m.groups {
			m.do(http.StatusNoContent, f.bob.Subject, "DELETE", "/v1/group/"+id.String(), nil)
		}
	}
}
