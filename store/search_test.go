package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/ngram"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// addThread adds a thread with a title and messages, alternately questions and answers. It returns the ids of the
// thread and of the messages.
func (f *fixture) addThread(
	t *testing.T, owner identity.Owner, title string, texts ...string,
) (uuid.UUID, []uuid.UUID) {
	t.Helper()
	thread := must.Get(f.CreateThread(t.Context(), owner, chat.NewThread{
		ID: newID(), SkillID: f.skills[0].ID,
		Title: title,
	}))(t)
	var ids []uuid.UUID
	var last *uuid.UUID
	for i, text := range texts {
		id := newID()
		if i%2 == 0 {
			f.exec(t, `
				INSERT INTO messages (id, organization_id, thread_id, role, content, status, parent_id, completed_at)
				VALUES ($1, $2, $3, 'user', $4, 'success', $5, now())`, id, owner.OrganizationID, thread.ID, text, last)
		} else {
			f.exec(t, `INSERT INTO messages (id, organization_id, thread_id, role, status, parent_id)
				VALUES ($1, $2, $3, 'assistant', 'running', $4)`, id, owner.OrganizationID, thread.ID, last)
			f.exec(t, `UPDATE messages SET content = $2, status = 'success', completed_at = now() WHERE id = $1`, id,
				text)
		}
		ids, last = append(ids, id), &id
	}
	return thread.ID, ids
}

func (f *fixture) search(t *testing.T, owner identity.Owner, query string) []chat.SearchResult {
	t.Helper()
	found := must.Get(chat.NewSearcher(f.DB, nil).Search(t.Context(), owner, query, chat.ThreadFilter{}, 0, 100))(t)
	return found
}

func TestSearchFindsTitlesAndMessages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	budget, said := f.addThread(t, f.ann, "来期の予算", "会議の議事録をまとめて", "**ﾃﾞｰﾀ**の移行は10月3日です。\n会議は火曜日です。")
	trip, asked := f.addThread(t, f.ann, "出張の手配", "## **大阪**への行き方")
	_, _ = f.addThread(t, f.bob, "ボブの予算", "会議")
	_, _ = f.addThread(t, f.mallory, "他社の予算", "会議")

	for query, want := range map[string]struct {
		thread  uuid.UUID
		message *uuid.UUID
		snippet string
		marked  string
	}{
		"予算":       {budget, nil, "来期の予算", "予算"},
		"ヨサン":      {},
		"でーた":      {budget, &said[1], "ﾃﾞｰﾀの移行は10月3日です。 会議は火曜日です。", "ﾃﾞｰﾀ"},
		"会議":       {budget, &said[1], "ﾃﾞｰﾀの移行は10月3日です。 会議は火曜日です。", "会議"},
		"議事":       {budget, &said[0], "会議の議事録をまとめて", "議事"},
		"１０月 会議":   {budget, &said[1], "ﾃﾞｰﾀの移行は10月3日です。 会議は火曜日です。", "10月/会議"},
		"行":        {budget, &said[1], "ﾃﾞｰﾀの移行は10月3日です。 会議は火曜日です。", "行"},
		"大阪":       {trip, &asked[0], "大阪への行き方", "大阪"},
		"大阪 会議":    {},
		"会議の 議事録を": {budget, &said[0], "会議の議事録をまとめて", "会議の議事録を"},
	} {
		found := f.search(t, f.ann, query)
		if want.thread == uuid.Nil {
			if len(found) != 0 {
				t.Errorf("%q finds %+v", query, found)
			}
			continue
		}
		i := slices.IndexFunc(found, func(hit chat.SearchResult) bool { return hit.ID == want.thread })
		if i < 0 {
			t.Errorf("%q finds %+v", query, found)
			continue
		}
		m := found[i].Match
		var marked []string
		for _, r := range m.Ranges {
			marked = append(marked, string([]rune(m.Text)[r[0]:r[1]]))
		}
		if (m.MessageID == nil) != (want.message == nil) || (m.MessageID != nil && *m.MessageID != *want.message) ||
			m.Text != want.snippet || strings.Join(marked, "/") != want.marked {
			t.Errorf("%q: %+v, marked %q", query, m, marked)
		}
	}

	// The newest thread is first. Threads that contain the words only in part are not found.
	if found := f.search(t, f.ann, "行"); len(found) != 2 || found[0].ID != trip {
		t.Errorf("行 finds %+v", found)
	}
	if found := f.search(t, f.ann, "予算の来期"); len(found) != 0 {
		t.Errorf("bigrams in another order are found: %+v", found)
	}

	// A changed thread is found by its new text; a deleted one is not found.
	must.Get(f.EditThread(t.Context(), f.ann, budget, chat.ThreadEdit{Title: new("稟議")}))(t)
	if found := f.search(t, f.ann, "来期"); len(found) != 0 {
		t.Errorf("the old title is found: %+v", found)
	}
	if found := f.search(t, f.ann, "稟議"); len(found) != 1 {
		t.Errorf("the new title is not found: %+v", found)
	}
	must.Get(f.DeleteThread(t.Context(), f.ann, budget))(t)
	if n := value[int](t, f, `SELECT count(*) FROM search_entries WHERE thread_id = $1`, budget); n != 0 {
		t.Errorf("%d entries of a deleted thread are left", n)
	}

	for _, query := range []string{"", " 　", strings.Repeat("あ", chat.MaxQuery+1)} {
		_, err := chat.NewSearcher(f.DB, nil).Search(t.Context(), f.ann, query, chat.ThreadFilter{}, 0, 10)
		wantCode(t, err, fault.Invalid)
	}
}

// TestSearchIsExact: a search finds the same threads as a scan of all texts, page by page.
func TestSearchIsExact(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	random := rand.New(rand.NewPCG(1, 2))
	letters := []rune("あアい会議録ａA ")
	texts := map[uuid.UUID][]string{}
	for range 150 {
		word := func(most int) string {
			text := make([]rune, 1+random.IntN(most))
			for i := range text {
				text[i] = letters[random.IntN(len(letters))]
			}
			return string(text)
		}
		title, question, answer := word(4), word(12), word(30)
		id, _ := f.addThread(t, f.ann, title, question, answer)
		texts[id] = []string{title, question, answer}
	}
	must.Get(f.IndexPending(t.Context(), nil, 0, 1000))(t)
	searcher := chat.NewSearcher(f.DB, nil)
	for _, query := range []string{"あ", "ああ", "会議", "会議録", "あい 会", "Aア", "議 録 い", "aaa"} {
		want := map[uuid.UUID]bool{}
		for id, list := range texts {
			for _, text := range list {
				all := true
				for _, term := range ngram.Terms(query) {
					all = all && strings.Contains(ngram.Fold(text).String(), term)
				}
				if all {
					want[id] = true
				}
			}
		}
		got := map[uuid.UUID]bool{}
		for offset := 0; ; offset += 7 {
			page := must.Get(searcher.Search(t.Context(), f.ann, query, chat.ThreadFilter{}, offset, 7))(t)
			for _, hit := range page {
				if got[hit.ID] {
					t.Errorf("%q finds a thread twice", query)
				}
				got[hit.ID] = true
			}
			if len(page) < 7 {
				break
			}
		}
		if len(got) != len(want) {
			t.Errorf("%q finds %d threads, reading finds %d", query, len(got), len(want))
		}
	}
}

// TestIndexingIsShared: concurrent indexing loses no text while threads are deleted, and never waits for a lock.
func TestIndexingIsShared(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var threads []uuid.UUID
	for i := range 60 {
		id, _ := f.addThread(t, f.ann, fmt.Sprintf("題%d", i), "本文")
		threads = append(threads, id)
	}
	done := make(chan error)
	for range 4 {
		go func() {
			for {
				n, err := f.IndexPending(t.Context(), nil, 0, 5)
				if n == 0 || err != nil {
					done <- err
					return
				}
			}
		}()
	}
	for _, id := range threads[:20] {
		must.Get(f.DeleteThread(t.Context(), f.ann, id))(t)
	}
	for range 4 {
		must.Succeed(t, <-done)
	}
	if found := f.search(t, f.ann, "本文"); len(found) != 40 {
		t.Errorf("%d threads are found, 40 were left", len(found))
	}
}
