package api_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/extracttest"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// preprocess returns the call that attaches data sources to a thread.
func preprocess(token string, thread uuid.UUID, wait bool, requestID string, ids ...uuid.UUID) call {
	path := "/v1/thread/" + thread.String() + "/data-source-preprocess"
	if wait {
		path += "-sync"
	}
	return call{method: "POST", path: path, token: token, body: map[string]any{
		"request_id":      requestID,
		"data_source_ids": ids,
	}}
}

func TestPreprocess(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{reads: true})
	thread := f.thread(f.alice.Subject)
	rules := get[api.DataSource](f, http.StatusCreated, upload(f.alice.Subject, "就業規則.md", "# 就業規則\n\n始業は9時とする。"))
	empty := get[api.DataSource](f, http.StatusCreated, upload(f.alice.Subject, "空白.txt", " \n "))
	foreign := get[api.DataSource](f, http.StatusCreated, upload(f.bob.Subject, "同僚.txt", "秘密"))

	request := newID()
	ready := get[api.Preprocess](f, http.StatusOK, preprocess(f.alice.Subject, thread.ID, true, request, rules.ID,
		rules.ID))
	if ready.Job.Status != api.JobStatusSuccess || len(ready.DataSources) != 1 || ready.DataSources[0].ID != rules.ID ||
		ready.DataSources[0].Status != api.JobStatusSuccess || ready.DataSources[0].Sha256 != rules.Sha256 {
		t.Errorf("ready as %+v", ready)
	}
	again := get[api.Preprocess](f, http.StatusAccepted, preprocess(f.alice.Subject, thread.ID, false, request,
		rules.ID))
	if again.Job != ready.Job {
		t.Errorf("the same request is %+v, and was %+v", again.Job, ready.Job)
	}
	failed := get[api.Preprocess](f, http.StatusOK, preprocess(f.alice.Subject, thread.ID, true, newID(), empty.ID,
		rules.ID))
	if failed.Job.Status != api.JobStatusFailed || len(failed.DataSources) != 2 {
		t.Errorf("with an empty file: %+v", failed)
	}
	got := get[api.Thread](f, http.StatusOK, call{
		method: "GET", path: "/v1/thread/" + thread.ID.String(),
		token: f.alice.Subject,
	})
	if len(got.DataSources) != 2 || got.DataSources[0].ID != rules.ID || got.DataSources[1].Error == "" {
		t.Errorf("the thread has %+v", got.DataSources)
	}
	list := get[api.ThreadList](f, http.StatusOK, call{method: "GET", path: "/v1/thread", token: f.alice.Subject})
	if len(list.Items) != 1 || len(list.Items[0].DataSources) != 2 {
		t.Errorf("listed %+v", list.Items)
	}

	many := make([]uuid.UUID, 21)
	for i := range many {
		many[i] = uuid.Must(uuid.NewV7())
	}
	for name, test := range map[string]struct {
		call   call
		status int
	}{
		"another body": {preprocess(f.alice.Subject, thread.ID, false, request, empty.ID), http.StatusConflict},
		"a colleague's file": {
			preprocess(f.alice.Subject, thread.ID, false, newID(), rules.ID, foreign.ID),
			http.StatusNotFound,
		},
		"a colleague's thread": {preprocess(f.bob.Subject, thread.ID, false, newID(), foreign.ID), http.StatusNotFound},
		"none":                 {preprocess(f.alice.Subject, thread.ID, false, newID()), http.StatusBadRequest},
		"too many": {
			preprocess(f.alice.Subject, thread.ID, false, newID(), many...),
			http.StatusBadRequest,
		},
	} {
		if resp := f.do(test.call); resp.status != test.status {
			t.Errorf("%s: %d %s", name, resp.status, resp.body)
		}
	}
	if resp := f.do(call{
		method: "DELETE", path: "/v1/data-source/" + empty.ID.String(),
		token: f.alice.Subject,
	}); resp.status != http.StatusNoContent {
		t.Fatalf("%d %s", resp.status, resp.body)
	}
	got = get[api.Thread](f, http.StatusOK, call{
		method: "GET", path: "/v1/thread/" + thread.ID.String(),
		token: f.alice.Subject,
	})
	if len(got.DataSources) != 1 {
		t.Errorf("after a deletion the thread has %+v", got.DataSources)
	}
}

// TestThreadTakesTwentyDataSources: a thread accepts twenty data sources, and every tab is notified.
func TestThreadTakesTwentyDataSources(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	thread := f.thread(f.alice.Subject)
	var ids []uuid.UUID
	for i := range 21 {
		ids = append(ids, get[api.DataSource](f, http.StatusCreated,
			upload(f.alice.Subject, "a.txt", strings.Repeat("あ", i+1))).ID)
	}
	tab := f.join(f.alice.Subject)
	if got := get[api.Preprocess](f, http.StatusAccepted, preprocess(f.alice.Subject, thread.ID, false, newID(),
		ids[:20]...)); got.Job.Status != api.JobStatusPending {
		t.Errorf("got %+v", got.Job)
	}
	event, frame := tab.next()
	if event.Thread == nil || len(event.Thread.DataSources) != 20 || event.Thread.DataSources[19].ID != ids[19] {
		t.Errorf("told %.300s", frame)
	}
	if resp := f.do(preprocess(f.alice.Subject, thread.ID, false, newID(),
		ids[20])); resp.status != http.StatusConflict {
		t.Errorf("the 21st: %d %s", resp.status, resp.body)
	}
	get[api.Preprocess](f, http.StatusAccepted, preprocess(f.alice.Subject, thread.ID, false, newID(), ids[3]))
}

func TestPassageAndSearch(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{reads: true})
	thread := f.thread(f.alice.Subject)
	rules := get[api.DataSource](f, http.StatusCreated, upload(f.alice.Subject, "就業規則.md", "# 就業規則\n\n始業は9時とする。"))
	get[api.Preprocess](f, http.StatusOK, preprocess(f.alice.Subject, thread.ID, true, newID(), rules.ID))
	var id uuid.UUID
	f.scan(&id, "SELECT id FROM data_source_chunks")
	got := get[api.ChunkEmbedding](f, http.StatusOK, call{
		method: "GET",
		path:   "/v1/data-source-chunk-embedding/" + id.String(), token: f.alice.Subject,
	})
	if got.ID != id || got.DataSourceID != rules.ID || got.Filename != "就業規則.md" || got.Page != 1 ||
		got.Locator != "就業規則" ||
		!strings.Contains(got.Text, "9時") || got.Rects == nil {
		t.Errorf("got %+v", got)
	}
	paper := get[api.DataSource](f, http.StatusCreated, upload(f.alice.Subject, "資料.pdf", "表紙\f二枚目の文"))
	get[api.Preprocess](f, http.StatusOK, preprocess(f.alice.Subject, thread.ID, true, newID(), paper.ID))
	var second uuid.UUID
	f.scan(&second, "SELECT id FROM data_source_chunks WHERE page = 2")
	got = get[api.ChunkEmbedding](f, http.StatusOK, call{
		method: "GET",
		path:   "/v1/data-source-chunk-embedding/" + second.String(), token: f.alice.Subject,
	})
	if want := extracttest.Rect(2); len(got.Rects) != 1 || got.Rects[0] != (api.Rect{
		Page: 2, X: float32(want.X), Y: float32(want.Y), Width: float32(want.Width), Height: float32(want.Height),
	}) {
		t.Errorf("it stands at %+v", got.Rects)
	}
	for query, want := range map[string]int{"就業": 1, "%E5%A7%8B%E6%A5%AD": 1, "終業": 0} {
		list := get[api.DataSourceList](f, http.StatusOK, call{
			method: "GET", path: "/v1/data-source?q=" + query,
			token: f.alice.Subject,
		})
		if len(list.Items) != want {
			t.Errorf("%s: listed %+v", query, list.Items)
		}
	}
	for query, want := range map[string]string{"%E5%A7%8B%E6%A5%AD": "就業規則 [始業]は9時とする。", "%E5%B0%B1%E6%A5%AD": ""} {
		list := get[api.DataSourceList](f, http.StatusOK, call{
			path: "/v1/data-source?q=" + query, token: f.alice.Subject,
		})
		match := list.Items[0].Match
		if want == "" {
			if match != nil {
				t.Errorf("%s is in the name: %+v", query, match)
			}
			continue
		}
		if match == nil || match.ChunkEmbeddingID != id || match.Page != 1 || match.Locator != "就業規則" ||
			marked(match.Snippet, match.Ranges) != want {
			t.Errorf("%s: %+v", query, match)
		}
	}
	if resp := f.do(call{
		method: "GET", path: "/v1/data-source?q=" + strings.Repeat("a", 101),
		token: f.alice.Subject,
	}); resp.status != http.StatusBadRequest {
		t.Errorf("a long query: %d", resp.status)
	}
}

// marked puts brackets around the ranges of a snippet.
func marked(snippet string, ranges [][]int) string {
	text := []rune(snippet)
	for _, r := range slices.Backward(ranges) {
		text = slices.Insert(slices.Insert(text, r[1], ']'), r[0], '[')
	}
	return string(text)
}

// TestPassagesAreTheText: the passages are the text of a data source in order, from any page or position.
func TestPassagesAreTheText(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{reads: true})
	thread := f.thread(f.alice.Subject)
	var text strings.Builder
	for i := range 30 {
		fmt.Fprintf(&text, "## 第%d条\n\n%s\n\n", i+1, strings.Repeat("社員は規則を守る。", 20))
	}
	rules := get[api.DataSource](f, http.StatusCreated, upload(f.alice.Subject, "就業規則.md", text.String()))
	path := "/v1/data-source/" + rules.ID.String()
	list := func(query string) []api.Passage {
		return get[api.PassageList](f, http.StatusOK,
			call{path: path + "/passage" + query, token: f.alice.Subject}).Items
	}
	get[api.Preprocess](f, http.StatusOK, preprocess(f.alice.Subject, thread.ID, true, newID(), rules.ID))
	if got := get[api.DataSource](f, http.StatusOK, call{path: path, token: f.alice.Subject}); got.ID != rules.ID ||
		got.Status != api.JobStatusSuccess {
		t.Errorf("got %+v", got)
	}
	all := list("?limit=100")
	space := regexp.MustCompile(`\s`)
	var said strings.Builder
	for i, p := range all {
		said.WriteString(p.Text)
		if p.Ordinal != i || p.Page != 1 || p.End-p.Start != len(p.Text) || p.Locator == "" {
			t.Fatalf("passage %d: %+v", i, p)
		}
	}
	if space.ReplaceAllString(said.String(), "") != space.ReplaceAllString(text.String(), "") {
		t.Errorf("the passages say %q", said.String())
	}
	if got := list("?offset=7&limit=3"); !slices.Equal(got, all[7:10]) {
		t.Errorf("from the 7th on: %+v", got)
	}
	f.exec("UPDATE data_source_chunks SET page = 3 WHERE ordinal >= 12")
	for query, want := range map[string][]int{
		"?page=2&limit=2": {12, 13}, "?page=3&offset=1&limit=1": {13}, "?page=4": nil,
	} {
		var got []int
		for _, p := range list(query) {
			got = append(got, p.Ordinal)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	for _, query := range []string{"?page=0", "?page=a", "?limit=101"} {
		if resp := f.do(call{
			path: path + "/passage" + query, token: f.alice.Subject,
		}); resp.status != http.StatusBadRequest {
			t.Errorf("%s: %d", query, resp.status)
		}
	}
}
