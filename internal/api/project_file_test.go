package api_test

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/api/ratelimit"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestProjectFiles covers the files of a project: uploads, shares, duplicates, limits, who may open them, and how long
// they exist.
func TestProjectFiles(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	alice, bob := f.alice.Subject, f.bob.Subject
	p := f.project(alice)
	path := "/v1/project/" + p.ID.String()
	intoProject := func(token, text string) call {
		c := upload(token, "資料.txt", text)
		c.path += "?project_id=" + p.ID.String()
		return c
	}
	if got := f.do(intoProject(bob, "本文")); got.status != http.StatusNotFound {
		t.Errorf("uploaded into a project of others: %d %s", got.status, got.body)
	}
	get[api.ProjectGrants](f, http.StatusOK, call{method: "PUT", path: path + "/grant", token: alice, body: map[string]any{
		"version": 1, "grants": []any{grant("user", f.alice.ID, "manager"), grant("user", f.bob.ID, "editor")},
	}})
	uploaded := get[api.DataSource](f, http.StatusCreated, intoProject(bob, "本文"))
	if again := get[api.DataSource](f, http.StatusOK, intoProject(alice, "本文")); again.ID != uploaded.ID {
		t.Errorf("the same content was stored again: %+v", again)
	}
	if own := get[api.DataSourceList](f, http.StatusOK, call{method: "GET", path: "/v1/data-source", token: bob}); len(own.Items) > 0 {
		t.Errorf("a file of the project is Bob's own: %+v", own)
	}
	// Shared files, one of them with the content of a file of the project.
	own := get[api.DataSource](f, http.StatusCreated, upload(bob, "見積.txt", "見積"))
	same := get[api.DataSource](f, http.StatusCreated, upload(bob, "写し.txt", "本文"))
	share := func(token string, ids ...uuid.UUID) response {
		return f.do(call{method: "POST", path: path + "/data-source", token: token, body: map[string]any{"data_source_ids": ids}})
	}
	if got := share(alice, own.ID).problem(t); got.Status != 404 || got.Errors[0].Field != "data_source_ids[0]" {
		t.Errorf("shared a colleague's file: %+v", got)
	}
	if got := share(bob, own.ID, same.ID); got.status != http.StatusOK || strings.Contains(string(got.body), same.ID.String()) ||
		!strings.Contains(string(got.body), `"added":1,`) {
		t.Errorf("shared: %d %s", got.status, got.body)
	}
	list := func(query string) api.ProjectDataSourceList {
		return get[api.ProjectDataSourceList](f, http.StatusOK, call{
			method: "GET", path: path + "/data-source" + query, token: alice,
		})
	}
	// An upload with the same content repeats a failed reading, and does not rename a colleague's file.
	f.exec("UPDATE data_sources SET status = 'failed' WHERE id = $1", own.ID)
	if again := get[api.DataSource](f, http.StatusOK, intoProject(alice, "見積")); again.ID != own.ID ||
		again.Status != "pending" || again.Filename != own.Filename {
		t.Errorf("uploaded again: %+v", again)
	}
	if got := list(""); got.Total != 2 || got.Items[0].ID != own.ID || got.Items[0].AddedBy.ID != f.bob.ID {
		t.Errorf("the project has %+v", got)
	}
	if got := list("?search=見積"); got.Total != 1 {
		t.Errorf("found %+v", got)
	}
	usage := func() (int, int64) {
		now := get[api.Project](f, http.StatusOK, call{method: "GET", path: path, token: alice})
		return now.Counts.DataSources, now.StorageUsed
	}
	if n, size := usage(); n != 2 || size != uploaded.Size+own.Size {
		t.Errorf("the project has %d files of %d bytes", n, size)
	}
	open := func(token string, id uuid.UUID) (status int) {
		for i, path := range []string{"/v1/data-source/" + id.String(), "/v1/data-source/file/" + id.String()} {
			got := f.do(call{method: "GET", path: path, token: token}).status
			if i > 0 && got != status {
				t.Errorf("the record and the file of %s differ: %d, %d", id, status, got)
			}
			status = got
		}
		return status
	}
	if a, b := open(alice, own.ID), open(f.stranger.Subject, own.ID); a != 200 || b != 404 {
		t.Errorf("a shared file: %d for a member, %d for others", a, b)
	}
	// The owner deletes it, and is removed: the project has it still.
	if got := f.do(call{method: "DELETE", path: "/v1/data-source/" + own.ID.String(), token: bob}); got.status != 204 {
		t.Errorf("deleted: %d", got.status)
	}
	f.exec("UPDATE users SET role = 'organization-super-admin' WHERE id = $1", f.alice.ID)
	if got := f.do(call{method: "DELETE", path: "/v1/user/" + f.bob.ID.String(), token: alice}); got.status != 204 {
		t.Fatalf("removed: %d %s", got.status, got.body)
	}
	if got := list(""); got.Total != 2 || got.Items[0].AddedBy.ID != uuid.Nil || open(alice, own.ID) != 200 ||
		open(alice, same.ID) != 404 {
		t.Errorf("after the removal of the owner: %+v", got)
	}
	remove := func(id uuid.UUID) int {
		return f.do(call{method: "DELETE", path: path + "/data-source/" + id.String(), token: alice}).status
	}
	if a, b := remove(own.ID), remove(own.ID); a != 204 || b != 404 || open(alice, own.ID) != 404 {
		t.Errorf("removed: %d, %d, and then %d", a, b, open(alice, own.ID))
	}
	if n, size := usage(); n != 1 || size != uploaded.Size {
		t.Errorf("the project has %d files of %d bytes", n, size)
	}
	logged := make(map[string][]string)
	for _, e := range get[api.AuditEventList](f, http.StatusOK, call{method: "GET", path: "/v1/audit", token: alice}).Items {
		for _, d := range e.Details {
			if d.Field == "file" {
				logged[e.Action] = append(logged[e.Action], e.ActorEmail+" "+d.Before+d.After)
			}
		}
	}
	if want := map[string][]string{
		"project.file_add":    {f.bob.Email + " 見積.txt", f.bob.Email + " 資料.txt"},
		"project.file_remove": {f.alice.Email + " 見積.txt"},
	}; !maps.EqualFunc(logged, want, slices.Equal) {
		t.Errorf("the audit log has %v", logged)
	}
	// Limits.
	f.exec("UPDATE projects SET storage_limit = source_bytes + 3")
	if got := f.do(intoProject(alice, "長い本文")).problem(t); got.Code != "storage_limit_reached" {
		t.Errorf("uploaded above the limit: %+v", got)
	}
	f.exec("UPDATE projects SET storage_limit = NULL, source_count = 10000")
	if got := f.do(intoProject(alice, "もう一つ")).problem(t); got.Status != 409 || !strings.Contains(got.Detail, "10,000") {
		t.Errorf("uploaded the file after the last one: %+v", got)
	}
	f.exec("UPDATE projects SET source_count = 1, archived_at = now()")
	if got := f.do(intoProject(alice, "もう一つ")); got.status != http.StatusConflict {
		t.Errorf("uploaded into an archived project: %d %s", got.status, got.body)
	}
	// It is refused before the transfer.
	cut := intoProject(alice, "もう一つ")
	cut.body, _, _ = strings.Cut(cut.body.(string), "もう")
	if got := f.do(cut); got.status != http.StatusConflict {
		t.Errorf("uploaded a part into an archived project: %d %s", got.status, got.body)
	}
}

// TestLostRolesEndDownloads: a member who loses their role receives no more of a file, and a member whose role changes
// receives all of it. Their sockets end; other members are notified of the change.
func TestLostRolesEndDownloads(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	carl := f.member(f.alice.OrganizationID, "carl@tsumugi.example")
	p := f.project(f.alice.Subject)
	file := upload(f.alice.Subject, "資料.txt", strings.Repeat("長い資料です。", 2_000_000))
	file.path += "?project_id=" + p.ID.String()
	source := get[api.DataSource](f, http.StatusCreated, file)
	set := func(version int, grants ...any) {
		get[api.ProjectGrants](f, http.StatusOK, call{
			method: "PUT", path: "/v1/project/" + p.ID.String() + "/grant", token: f.alice.Subject, body: map[string]any{
				"version": version, "grants": append(grants, grant("user", f.alice.ID, "manager")),
			},
		})
	}
	set(1, grant("user", f.bob.ID, "viewer"), grant("user", carl.ID, "viewer"))
	begin := func(token string) *http.Response {
		resp, err := http.DefaultTransport.RoundTrip(f.request(call{
			method: "GET", path: "/v1/data-source/file/" + source.ID.String(), token: token,
		}))
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("got %+v, %v", resp, err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	lost, kept := begin(f.bob.Subject), begin(carl.Subject)
	alice, bob := f.join(f.alice.Subject), f.join(f.bob.Subject)
	rest := make(chan int64)
	go func() {
		n, _ := io.Copy(io.Discard, kept.Body)
		rest <- n
	}()
	set(2, grant("user", carl.ID, "editor"))
	f.exec("SELECT 1") // The server has been notified.
	if got := alice.want("project"); got.ID != p.ID {
		t.Errorf("another manager received %+v", got)
	}
	bob.closed()
	if n, err := io.Copy(io.Discard, lost.Body); err == nil || n >= source.Size {
		t.Errorf("received %d of %d bytes without a role, %v", n, source.Size, err)
	}
	if n := <-rest; n != source.Size {
		t.Errorf("received %d of %d bytes with another role", n, source.Size)
	}
}

// TestThousandFilesDoNotDelayOthers: a member uploads 1,000 files into a project, some of them twice. A file that another
// member uploads meanwhile is read before most of these, and is cited in an answer. Finally, all files have been read.
func TestThousandFilesDoNotDelayOthers(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい [1]。"), settings{reads: true, limits: ratelimit.DefaultLimits()})
	p := f.project(f.alice.Subject)
	tab := f.join(f.bob.Subject)
	const files, twice = 1000, 50
	var mu sync.Mutex
	answers := make(map[int]int) // By status.
	var size int64
	next := make(chan int)
	var lines sync.WaitGroup
	for range 8 {
		lines.Go(func() {
			for i := range next {
				file := upload(f.alice.Subject, strconv.Itoa(i)+".txt", "管理番号"+strconv.Itoa(1000+i%files))
				file.path += "?project_id=" + p.ID.String()
				resp := f.do(file)
				mu.Lock()
				answers[resp.status]++
				mu.Unlock()
			}
		})
	}
	// The first half is read while it is uploaded. Reading stops during the second half.
	for i := range files / 2 {
		next <- i
	}
	stop := must.Get(f.sql.Begin(t.Context()))(t)
	defer func() { _ = stop.Rollback(t.Context()) }()
	must.Get(stop.Exec(t.Context(), `SELECT pg_advisory_xact_lock(hashtext('tsumugi readings'))`))(t)
	for i := range twice { // Duplicates arrive at the same time, too.
		next <- files - 1 - i
		next <- 2*files - 1 - i
	}
	for i := files / 2; i < files-twice; i++ {
		next <- i
	}
	own := get[api.DataSource](f, http.StatusCreated, upload(f.bob.Subject, "見積.txt", "見積は百万円です。"))
	close(next)
	lines.Wait()
	if want := map[int]int{http.StatusCreated: files, http.StatusOK: twice}; !maps.Equal(answers, want) {
		t.Errorf("the uploads were answered with %v, want %v", answers, want)
	}
	must.Succeed(t, stop.Rollback(t.Context()))
	for read := false; !read; {
		event, _ := tab.next()
		read = event.DataSource != nil && event.DataSource.ID == own.ID && event.DataSource.Status == api.JobStatusSuccess
	}
	var waiting int
	f.scan(&waiting, `SELECT count(*) FROM data_sources WHERE status = 'pending'`)
	if waiting < files/4 {
		t.Errorf("%d files wait after the other member's file was read", waiting)
	}
	thread := f.thread(f.bob.Subject)
	ask := asks(f.bob, thread, "見積はいくらか")
	ask.path = "/v1/message/sync"
	ask.body.(map[string]any)["data_source_ids"] = []any{own.ID}
	if got := get[api.Exchange](f, http.StatusOK, ask).Answer; len(got.Citations) == 0 || got.Citations[0].DataSourceID != own.ID {
		t.Errorf("the other member is answered %+v", got)
	}
	f.readFiles()
	f.indexed()
	names := make(map[string]bool)
	for offset := 0; offset < files; offset += 100 {
		for _, source := range get[api.ProjectDataSourceList](f, http.StatusOK, call{
			method: "GET", token: f.alice.Subject,
			path: "/v1/project/" + p.ID.String() + "/data-source?limit=100&offset=" + strconv.Itoa(offset),
		}).Items {
			if source.Status != api.JobStatusSuccess || source.ChunkCount != 1 {
				t.Errorf("%s is %+v", source.Filename, source)
			}
			names[source.Filename] = true
			size += source.Size
		}
	}
	now := get[api.Project](f, http.StatusOK, call{method: "GET", path: "/v1/project/" + p.ID.String(), token: f.alice.Subject})
	if len(names) != files || now.Counts.DataSources != files || now.StorageUsed != size {
		t.Errorf("the project has %d names of files of %d bytes, and says %+v", len(names), size, now)
	}
	for _, i := range []int{0, files - 1} {
		if found := get[api.ProjectMatchList](f, http.StatusOK, call{
			method: "GET", path: "/v1/project/" + p.ID.String() + "/search?q=" + strconv.Itoa(1000+i), token: f.alice.Subject,
		}).Items; len(found) == 0 || found[0].Snippet != "管理番号"+strconv.Itoa(1000+i) {
			t.Errorf("found %+v for file %d", found, i)
		}
	}
}
