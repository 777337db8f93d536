package datasource_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// project creates a project that a person may read.
func (f *fixture) project(member identity.Owner) uuid.UUID {
	f.t.Helper()
	id := uuid.Must(uuid.NewV7())
	f.exec(`INSERT INTO projects (id, organization_id, name, request_id, request_hash) VALUES ($1, $2, '企画', $1, '')`,
		id, member.OrganizationID)
	f.exec(`INSERT INTO project_grants (organization_id, project_id, user_id, role) VALUES ($1, $2, $3, 'viewer')`,
		member.OrganizationID, id, member.UserID)
	return id
}

// share adds data sources to a project.
func (f *fixture) share(project uuid.UUID, sources ...datasource.Source) {
	f.t.Helper()
	for _, s := range sources {
		f.exec(`INSERT INTO project_sources (organization_id, project_id, data_source_id)
			SELECT organization_id, $1, id FROM data_sources WHERE id = $2`, project, s.ID)
	}
}

// indexed waits until the passages of all projects are indexed.
func (f *fixture) indexed() {
	f.t.Helper()
	must.Become(f.t, "the passages are indexed", func() (done bool) {
		f.must(f.sql.QueryRow(f.t.Context(), `SELECT NOT EXISTS (SELECT FROM project_index_changes)`).Scan(&done))
		return done
	})
}

// officeText returns a text of words that occur in many texts, and of rarer characters.
func officeText(random *rand.Rand, words int) string {
	var text strings.Builder
	for range words {
		text.WriteString([]string{"会議", "予算", "契約", "出張", "経費", "研修", "監査", "購買"}[random.IntN(8)])
		text.WriteString([]string{"の", "を", "に", "は", "。\n\n"}[random.IntN(5)])
		text.WriteRune('一' + rune(random.IntN(40)*random.IntN(40)))
	}
	return text.String()
}

// found returns the ids and scores of passages.
func found(passages []datasource.RetrievedPassage) (list []string) {
	for _, p := range passages {
		list = append(list, fmt.Sprintf("%s %d %v", p.SourceID, p.Ordinal, p.Score))
	}
	slices.Sort(list) // Passages with equal scores have no order.
	return list
}

func TestSearchInProjectRanksLikeTheExactSearch(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start(f.Service)
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // The texts are the same in each run.
	project := f.project(f.bob)
	var sources []datasource.Source
	var ids []uuid.UUID
	for i := range 8 {
		source, _ := f.upload(f.ann, fmt.Sprintf("規程%d.txt", i), officeText(random, 400))
		f.ended(source)
		sources, ids = append(sources, source), append(ids, source.ID)
	}
	f.share(project, sources...)
	f.indexed()
	for range 30 {
		query := officeText(random, 3)
		want, err := f.Retrieve(t.Context(), f.ann, ids, query, 10)
		f.must(err)
		got, err := f.SearchProject(t.Context(), f.bob, project, query, 10)
		f.must(err)
		if len(want) == 0 || want[0].Score != got[0].Score || !slices.Equal(found(want[:5]), found(got[:5])) {
			t.Errorf("%q: found %v, want %v", query, found(got), found(want))
		}
	}
	var outOfLine int64
	f.must(f.sql.QueryRow(t.Context(), `
		SELECT sum(pg_relation_size(reltoastrelid)) FROM pg_class WHERE relname ~ '^project_passages_[0-9]+$'`).
		Scan(&outOfLine))
	if outOfLine == 0 {
		t.Error("a search reads the keys with the other columns")
	}
	if got, err := f.SearchProject(t.Context(), f.bob, project, "、。", 10); err != nil || len(got) != 0 {
		t.Errorf("without words: %v, %v", got, err)
	}
}

// TestSearchInProjectForFrequentWords: a query has a word that no passage contains, and others that are too frequent to
// be read together.
func TestSearchInProjectForFrequentWords(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start(f.Service)
	project := f.project(f.bob)
	source, _ := f.upload(f.ann, "就業規則.txt", "始業は九時とする。")
	f.ended(source)
	f.share(project, source)
	f.indexed()
	f.exec(`UPDATE project_indexes SET passages = 2000000, tokens = 2000000 * tokens, sampled = 2000000`)
	f.exec(`INSERT INTO project_index_keys (organization_id, project_id, key, passages)
		SELECT organization_id, project_id, unnest(keys), 1000000 FROM project_passages`)
	got, err := f.SearchProject(t.Context(), f.bob, project, "鵺の始業は九時か", 3)
	f.must(err)
	if len(got) != 1 || got[0].SourceID != source.ID {
		t.Errorf("found %v", got)
	}
}

func TestProjectIndexFollowsItsSources(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start(f.Service)
	project, other := f.project(f.bob), f.project(f.ann)
	_, err := f.SearchProject(t.Context(), f.ann, project, "始業", 3)
	wantCode(t, err, fault.NotFound)
	search := func(project uuid.UUID, query string) (files []string) {
		t.Helper()
		f.indexed()
		member := f.bob
		if project == other {
			member = f.ann
		}
		passages, err := f.SearchProject(t.Context(), member, project, query, 3)
		f.must(err)
		for _, p := range passages {
			files = append(files, p.Filename)
		}
		return files
	}
	if got := search(project, "始業"); got != nil {
		t.Errorf("found %v in an empty project", got)
	}
	// The source is shared before it is read, and read before it is shared.
	early, _ := f.upload(f.ann, "就業規則.txt", "始業は九時とする。")
	f.share(project, early)
	f.ended(early)
	late, _ := f.upload(f.ann, "旅費規程.txt", "旅費は実費とする。")
	f.ended(late)
	f.share(project, late)
	f.share(other, late)
	if got := search(project, "始業 旅費"); len(got) != 2 {
		t.Errorf("found %v, want both files", got)
	}
	if got := search(other, "始業 旅費"); !slices.Equal(got, []string{"旅費規程.txt"}) {
		t.Errorf("found %v in the other project", got)
	}
	f.exec(`DELETE FROM project_sources WHERE project_id = $1 AND data_source_id = $2`, project, late.ID)
	if got := search(project, "旅費"); got != nil {
		t.Errorf("found %v after its removal", got)
	}
	if got := search(other, "旅費"); len(got) != 1 {
		t.Errorf("found %v in the other project", got)
	}
	f.exec(`DELETE FROM projects`)
	f.indexed()
	var rows int
	f.must(f.sql.QueryRow(t.Context(), `
		SELECT (SELECT count(*) FROM project_passages) + (SELECT count(*) FROM project_indexes)`).Scan(&rows))
	if rows != 0 {
		t.Errorf("%d rows remain of deleted projects", rows)
	}
}

// TestReadingsThatEditorsEndAreReportedToTheOwner verifies that the event is for the owner of the file. If a
// file belongs only to the project, no event is sent.
func TestReadingsThatEditorsEndAreReportedToTheOwner(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	project := f.project(f.bob)
	f.exec(`UPDATE project_grants SET role = 'editor'`)
	source, _ := f.upload(f.ann, "議事録.txt", "本文")
	f.share(project, source)
	own, _, err := f.UploadToProject(t.Context(), identity.Actor{User: identity.User{
		ID: f.bob.UserID, OrganizationID: f.bob.OrganizationID,
	}}, project, "資料.txt", strings.NewReader("資料"))
	f.must(err)
	for _, end := range []func(context.Context, identity.Owner, uuid.UUID) (datasource.Source, error){
		f.StopReading, f.RetryReading,
	} {
		for id, want := range map[uuid.UUID]uuid.UUID{source.ID: f.ann.UserID, own.ID: uuid.Nil} {
			ended, err := end(t.Context(), f.bob, id)
			f.must(err)
			all := f.await(func(all []told) bool { return all[len(all)-1].source.ID == id })
			if last := all[len(all)-1]; last.owner.UserID != want || last.source.Revision != ended.Revision {
				t.Errorf("%s: %s was notified of %+v", ended.Status, last.owner.UserID, last.source)
			}
		}
	}
}

func TestSourceIsIndexedIfItsReadingEndsWhileItIsShared(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	project := f.project(f.ann)
	id := f.reading("始業は九時とする。")
	end, err := f.sql.Begin(t.Context())
	f.must(err)
	defer func() { _ = end.Rollback(t.Context()) }()
	_, err = end.Exec(t.Context(), `UPDATE data_sources SET status = 'success', chunk_count = 1 WHERE id = $1`, id)
	f.must(err)
	shared := make(chan struct{})
	go func() {
		defer close(shared)
		f.share(project, datasource.Source{ID: id})
	}()
	f.blocked(shared)
	f.indexAll()
	f.must(end.Commit(t.Context()))
	<-shared
	f.indexAll()
	got, err := f.SearchProject(t.Context(), f.ann, project, "始業", 1)
	if f.must(err); len(got) != 1 {
		t.Errorf("found %v, want the source", got)
	}
}

// reading creates a data source of ann with passages, whose reading has not ended.
func (f *fixture) reading(passages ...string) uuid.UUID {
	f.t.Helper()
	id := uuid.Must(uuid.NewV7())
	f.exec(`INSERT INTO data_sources (id, organization_id, user_id, filename, media_type, size, sha256, status)
		VALUES ($1, $2, $3, '台帳.txt', 'text/plain', 1, sha256('a'), 'running')`, id, f.ann.OrganizationID, f.ann.UserID)
	f.exec(`INSERT INTO data_source_chunks (id, organization_id, data_source_id, ordinal, page, text)
		SELECT gen_random_uuid(), $1, $2, place - 1, 1, text FROM unnest($3::text[]) WITH ORDINALITY AS p (text, place)`,
		f.ann.OrganizationID, id, passages)
	return id
}

// blocked waits until a statement waits for a lock, or until done is closed.
func (f *fixture) blocked(done <-chan struct{}) {
	f.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for waiting := false; !waiting; {
		f.must(f.sql.QueryRow(f.t.Context(), `
			SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`).
			Scan(&waiting))
		select {
		case <-done:
			return
		case <-tick.C:
		}
	}
}

// indexAll indexes the passages of all projects without a running service, in turns of at most 500 passages, and returns
// the number of turns.
func (f *fixture) indexAll() (turns int) {
	f.t.Helper()
	for {
		n, err := f.db.IndexProjects(f.t.Context(), 500)
		if f.must(err); n == 0 {
			return turns
		}
		turns++
	}
}

func TestLongSourceIsIndexedInBatches(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	project := f.project(f.ann)
	passages := make([]string, 1200)
	for i := range passages {
		passages[i] = fmt.Sprintf("項目%d", i)
	}
	id := f.reading(passages...)
	f.exec(`UPDATE data_sources SET status = 'success', chunk_count = 1200 WHERE id = $1`, id)
	f.share(project, datasource.Source{ID: id})
	turns := f.indexAll()
	got, err := f.SearchProject(t.Context(), f.ann, project, "項目1199", 1)
	f.must(err)
	if turns != 3 || len(got) != 1 || got[0].Ordinal != 1199 || got[0].Before == nil || got[0].After != nil {
		t.Errorf("%d turns, found %+v", turns, got)
	}
	var frequent int // In the sample, which was taken after two turns: all passages until then.
	f.must(f.sql.QueryRow(t.Context(), `SELECT max(passages) FROM project_index_keys`).Scan(&frequent))
	if frequent != 1000 {
		t.Errorf("the most frequent key is in %d passages of the sample", frequent)
	}
}
