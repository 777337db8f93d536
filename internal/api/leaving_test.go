package api_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/api/ratelimit"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// ownData returns the entries of a person's export.
func (f *fixture) ownData(token string) map[string]string {
	f.t.Helper()
	resp := f.do(call{method: "GET", path: "/v1/me/export", token: token})
	if resp.status != http.StatusOK || resp.header.Get("Content-Disposition") != "attachment; filename=tsumugi-data.zip" {
		f.t.Fatalf("got %d %v", resp.status, resp.header)
	}
	archive := must.Get(zip.NewReader(bytes.NewReader(resp.body), int64(len(resp.body))))(f.t)
	entries := make(map[string]string)
	for _, file := range archive.File {
		r := must.Get(file.Open())(f.t)
		content, err := io.ReadAll(r)
		if err != nil || entries[file.Name] != "" {
			f.t.Fatalf("%s: %v", file.Name, err)
		}
		entries[file.Name] = string(content)
	}
	return entries
}

// TestOwnDataAreExported: the archive contains what the API returns, all branches, and nothing of other people.
func TestOwnDataAreExported(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("猫です。"), settings{limits: ratelimit.Limits{
		ratelimit.KindExport: {Each: 3}, ratelimit.KindTransfer: {Each: 10},
	}})
	picture := encodePNG(t, 40, 30)
	added := get[api.Picture](f, http.StatusCreated, uploadPicture(f.alice.Subject, picture))
	thread := f.thread(f.alice.Subject)
	first := get[api.Exchange](f, http.StatusOK, call{
		method: "POST", path: "/v1/message/sync", token: f.alice.Subject, body: map[string]any{
			"request_id": newID(), "thread_id": thread.ID, "content": "何ですか\nこれは", "picture_ids": []any{added.ID},
		},
	})
	edited := get[api.Exchange](f, http.StatusOK, call{
		method: "POST", path: "/v1/message/sync", token: f.alice.Subject, body: map[string]any{
			"request_id": newID(), "thread_id": thread.ID, "content": "あらためて", "edit": first.Question.ID,
		},
	})
	get[api.Thread](f, http.StatusOK, call{
		method: "PUT", path: "/v1/thread/" + thread.ID.String(), token: f.alice.Subject,
		body: map[string]any{"title": "../猫:写真", "archived": true},
	})
	f.thread(f.alice.Subject)
	for _, c := range []call{
		upload(f.alice.Subject, "議事録.txt", "予算"), upload(f.bob.Subject, "給与.txt", "同僚のファイル"),
	} {
		get[api.DataSource](f, http.StatusCreated, c)
	}
	made := f.madeSkill(f.alice.Subject, "self", map[string]any{"prompt": "自分の手順"})
	f.madeSkill(f.bob.Subject, "self", map[string]any{"prompt": "同僚の手順"})
	f.answered(f.bob.Subject)

	entries := f.ownData(f.alice.Subject)
	if len(entries) != 9 { // Two threads with two entries each.
		t.Errorf("got %v", slices.Sorted(maps.Keys(entries)))
	}
	named := func(prefix, ending string) (content string) {
		t.Helper()
		for name := range entries {
			if strings.HasPrefix(name, prefix) && strings.HasSuffix(name, ending) {
				return entries[name]
			}
		}
		t.Errorf("no entry %s…%s in %v", prefix, ending, slices.Sorted(maps.Keys(entries)))
		return ""
	}
	tail := thread.ID.String()[24:]
	var exported struct {
		Thread   api.Thread
		Messages []api.Message
	}
	must.Succeed(t, json.Unmarshal([]byte(named("threads/", " .._猫_写真-"+tail+".json")), &exported))
	got := make(map[uuid.UUID]api.Message)
	for _, m := range exported.Messages {
		got[m.ID] = m
	}
	for _, leaf := range []uuid.UUID{first.Answer.ID, edited.Answer.ID} {
		for _, want := range get[api.MessageList](f, http.StatusOK, call{
			method: "GET", path: "/v1/message?thread_id=" + thread.ID.String() + "&leaf=" + leaf.String(), token: f.alice.Subject,
		}).Items {
			if !reflect.DeepEqual(got[want.ID], want) {
				t.Errorf("exported %+v, not %+v", got[want.ID], want)
			}
		}
	}
	if len(got) != 4 || exported.Thread.ID != thread.ID {
		t.Errorf("%d messages of %+v", len(got), exported.Thread)
	}
	markdown := named("threads/", "-"+tail+".md")
	if !strings.HasPrefix(markdown, "# ../猫:写真\n") || !strings.Contains(markdown, "> あらためて") ||
		!strings.Contains(markdown, "## 回答\n\n猫です。") || strings.Contains(markdown, "何ですか") {
		t.Error(markdown)
	}
	if named("files/議事録-", ".txt") != "予算" || !strings.HasPrefix(named("pictures/"+added.ID.String(), ".png"), "\x89PNG") ||
		!strings.Contains(named("skills/"+made.Content.Name, ".yaml"), "自分の手順") ||
		!strings.Contains(named("profile.json", ""), f.alice.Email) || named("README.txt", "") == "" {
		t.Error("an entry has other content")
	}
	if all := strings.Join(slices.Collect(maps.Values(entries)), "\n"); strings.Contains(all, "同僚") ||
		strings.Contains(all, f.bob.Email) {
		t.Error("the archive contains data of a colleague")
	}

	// A file that cannot be read ends the connection, because the archive would look complete.
	for _, name := range f.keptFiles() {
		must.Succeed(t, os.Truncate(filepath.Clean(name), 0))
	}
	export := call{method: "GET", path: "/v1/me/export", token: f.alice.Subject}
	transport := &http.Transport{DisableKeepAlives: true} // Calls are not repeated.
	resp, err := transport.RoundTrip(f.request(export))
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	if err == nil {
		t.Error("an incomplete archive ended like a complete one")
	}

	// Missing files are left out, and the guide names them.
	for _, name := range f.keptFiles() {
		must.Succeed(t, os.Remove(filepath.Clean(name)))
	}
	left := f.ownData(f.alice.Subject)
	if guide := left["README.txt"]; len(left) != len(entries)-2 || strings.Contains(entries["README.txt"], "見つからない") ||
		!strings.Contains(guide, "\nfiles/議事録-") || !strings.Contains(guide, "\npictures/"+added.ID.String()+".png\n") {
		t.Errorf("%v, guide: %s", slices.Sorted(maps.Keys(left)), guide)
	}
	if resp := f.do(export); resp.status != http.StatusTooManyRequests {
		t.Errorf("beyond the limit: %d", resp.status)
	}
}

// TestRemovalPreview: the numbers are those of the data that the removal deletes.
func TestRemovalPreview(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	f.exec("UPDATE users SET role = 'organization-admin' WHERE id = $1", f.bob.ID)
	f.share(f.alice.Subject, f.answered(f.alice.Subject))
	f.thread(f.alice.Subject)
	f.madeSkill(f.alice.Subject, "self", nil)
	get[api.DataSource](f, http.StatusCreated, upload(f.alice.Subject, "下書き.txt", "下書き"))
	rules := get[api.DataSource](f, http.StatusCreated, upload(f.alice.Subject, "規程.txt", "規程"))
	shared := f.madeSkill(f.bob.Subject, "organization", map[string]any{"accepts_data_sources": true})
	f.exec(`INSERT INTO skill_documents (organization_id, skill_id, data_source_id, place) VALUES ($1, $2, $3, 1)`,
		f.alice.OrganizationID, shared.ID, rules.ID)
	count := func() (n [4]int) {
		for i, sql := range []string{
			`SELECT count(*) FROM threads`, `SELECT count(*) FROM data_sources`, `SELECT count(*) FROM skills`,
			`SELECT count(*) FROM shares`,
		} {
			n[i] = value[int](f, sql)
		}
		return n
	}
	before := count()
	path := "/v1/user/" + f.alice.ID.String()
	preview := get[api.MemberRemoval](f, http.StatusOK, call{method: "GET", path: path + "/removal", token: f.bob.Subject})
	f.noContent(call{method: "DELETE", path: path, token: f.bob.Subject})
	after := count()
	want := api.MemberRemoval{
		Threads: before[0] - after[0], Files: before[1] - after[1], Skills: before[2] - after[2], Shares: before[3] - after[3],
		Kept: []api.SharedDocuments{{SkillID: shared.ID, SkillName: shared.Content.Name, Filenames: []string{"規程.txt"}}},
	}
	if !reflect.DeepEqual(preview, want) || preview.Threads != 2 || preview.Files != 1 {
		t.Errorf("the preview is %+v, the removal did %+v", preview, want)
	}
}
