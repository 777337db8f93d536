package store_test

import (
	"crypto/sha256"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// source stores a data source with a new file.
func (f *fixture) source(t *testing.T, owner identity.Owner, text string) datasource.Source {
	t.Helper()
	s := newSource(text)
	must.Succeed(t, f.MarkOrphan(t.Context(), s.ID, time.Hour))
	stored, created, err := f.CreateSource(t.Context(), owner, uuid.Nil, s, 1<<40)
	must.Succeed(t, err)
	if !created {
		t.Fatalf("%q is there already", text)
	}
	return stored
}

func newSource(text string) datasource.Source {
	sum := sha256.Sum256([]byte(text))
	return datasource.Source{
		ID: newID(), Filename: "資料.txt", MediaType: "text/plain", Size: int64(len(text)),
		SHA256: sum[:],
	}
}

// TestReadingThatWasTakenOverStoresNothing: a server resumes after another server has processed the file.
func TestReadingThatWasTakenOverStoresNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ann := f.ann
	source := f.source(t, ann, "本文")
	stopped := f.next(t, 0)
	second := f.next(t, time.Hour)
	if stopped.Attempt != 1 || second.Attempt != 2 || second.Revision <= stopped.Revision || second.Owner != ann {
		t.Errorf("readings %+v and %+v", stopped, second)
	}
	result := datasource.ReadingResult{PageCount: 1, Chunks: []datasource.Chunk{{Ordinal: 0, Page: 1, Text: "本文"}}}
	_, err := f.FinishReading(t.Context(), stopped, datasource.ReadingResult{Failure: "読めません。"})
	wantCode(t, err, fault.NotFound)
	_, err = f.RequeueReading(t.Context(), stopped, datasource.RequeueOptions{})
	wantCode(t, err, fault.NotFound)
	ended := must.Get(f.FinishReading(t.Context(), second, result))(t)
	if ended.Status != datasource.Success || ended.PageCount != 1 || ended.ChunkCount != 1 ||
		ended.Revision <= second.Revision {
		t.Errorf("ended as %+v", ended)
	}
	_, err = f.FinishReading(t.Context(), second, result)
	wantCode(t, err, fault.NotFound)
	f.nothingWaits(t)
	if n := value[int](t, f, `SELECT count(*) FROM data_source_chunks WHERE data_source_id = $1`, source.ID); n != 1 {
		t.Errorf("%d chunks", n)
	}
}

func TestReadingOfADeletedSourceStoresNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	source := f.source(t, f.ann, "本文")
	reading := f.next(t, time.Hour)
	wantCode(t, f.DeleteSource(t.Context(), f.mallory, source.ID), fault.NotFound)
	must.Succeed(t, f.DeleteSource(t.Context(), f.ann, source.ID))
	_, err := f.FinishReading(t.Context(), reading, datasource.ReadingResult{
		PageCount: 1,
		Chunks:    []datasource.Chunk{{Page: 1, Text: "本文"}},
	})
	wantCode(t, err, fault.NotFound)
	f.nothingWaits(t)
}

// TestUploadsOfTheSameContentAreSerialized: concurrent uploads of the same content result in one data source and one
// job.
func TestUploadsOfTheSameContentAreSerialized(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const n = 10
	stored := make([]datasource.Source, n)
	created := make([]bool, n)
	var uploads sync.WaitGroup
	for i := range n {
		s := newSource("同じ内容")
		must.Succeed(t, f.MarkOrphan(t.Context(), s.ID, time.Hour))
		uploads.Go(func() {
			var err error
			if stored[i], created[i], err = f.CreateSource(t.Context(), f.ann, uuid.Nil, s,
				1<<40); err != nil {
				t.Error(err)
			}
		})
	}
	uploads.Wait()
	for _, s := range stored {
		if s.ID != stored[0].ID {
			t.Errorf("%s and %s are of the same content", s.ID, stored[0].ID)
		}
	}
	if created = slices.DeleteFunc(created, func(c bool) bool { return !c }); len(created) != 1 {
		t.Errorf("%d were created", len(created))
	}
	f.next(t, time.Hour)
	f.nothingWaits(t)
	orphans := must.Get(f.ListOrphans(t.Context(), uuid.Nil))(t)
	if len(orphans) != n-1 || slices.Contains(orphans, stored[0].ID) {
		t.Errorf("%d files are orphans", len(orphans))
	}
}

// TestFileOfASourceIsNeverAnOrphan: the file of a stored data source is not listed as an orphan, even if the upload was
// discarded because the result of the transaction was lost.
func TestFileOfASourceIsNeverAnOrphan(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ann := f.ann
	source := f.source(t, ann, "本文")
	must.Succeed(t, f.MarkOrphan(t.Context(), source.ID, 0))
	if orphans, err := f.ListOrphans(t.Context(), uuid.Nil); err != nil || len(orphans) != 0 {
		t.Errorf("%v, orphans: %v", err, orphans)
	}
	must.Succeed(t, f.DeleteSource(t.Context(), ann, source.ID))
	if orphans, err := f.ListOrphans(t.Context(), uuid.Nil); err != nil || !slices.Equal(orphans, []uuid.UUID{source.ID}) {
		t.Errorf("%v, orphans: %v", err, orphans)
	}
	if orphans, err := f.ListOrphans(t.Context(), source.ID); err != nil || len(orphans) != 0 {
		t.Errorf("%v, orphans after the last one: %v", err, orphans)
	}
	must.Succeed(t, f.DeleteOrphan(t.Context(), source.ID))
	if orphans, err := f.ListOrphans(t.Context(), uuid.Nil); err != nil || len(orphans) != 0 {
		t.Errorf("%v, orphans: %v", err, orphans)
	}
}

// TestSlowUploadIsRefused: the cleanup of orphans may have removed the file of a slow upload.
func TestSlowUploadIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := newSource("本文")
	must.Succeed(t, f.MarkOrphan(t.Context(), s.ID, 0))
	_, _, err := f.CreateSource(t.Context(), f.ann, uuid.Nil, s, 1<<40)
	wantCode(t, err, fault.Conflict)
}

func TestSourcesAreLimitedAndListed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ann := f.ann
	f.exec(t, `
		INSERT INTO data_sources (id, organization_id, user_id, filename, media_type, size, sha256, created_at)
		SELECT gen_random_uuid(), $1, $2, i || '.txt', 'text/plain', 1, sha256(i::text::bytea),
		now() - i * interval '1 minute'
		FROM generate_series(1, $3) AS i`, ann.OrganizationID, ann.UserID, datasource.MaxSources)
	page, err := f.ListSources(t.Context(), ann, 2, 3)
	must.Succeed(t, err)
	if len(page) != 3 || page[0].Filename != "3.txt" || page[2].Filename != "5.txt" {
		t.Errorf("the page is %+v", page)
	}
	if others, err := f.ListSources(t.Context(), f.bob, 0, 20); err != nil || len(others) != 0 {
		t.Errorf("%v, %+v", err, others)
	}
	s := newSource("もう一つ")
	must.Succeed(t, f.MarkOrphan(t.Context(), s.ID, time.Hour))
	_, _, err = f.CreateSource(t.Context(), ann, uuid.Nil, s, 1<<40)
	wantCode(t, err, fault.Conflict)
	must.Succeed(t, f.DeleteSource(t.Context(), ann, page[0].ID))
	_, created, err := f.CreateSource(t.Context(), ann, uuid.Nil, s, 1<<40)
	must.Succeed(t, err)
	if !created {
		t.Error("not created, though there is room again")
	}
}

// TestUploadEndsWithItsSession: nothing is stored if the user was removed or signed out during the upload.
func TestUploadEndsWithItsSession(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ann := f.ann
	session := newID()
	f.exec(t, `
		INSERT INTO pool_users (sub, email, name, status, created_at, updated_at)
		VALUES ($1, 'ann@pool.example', 'Ann', 'CONFIRMED', now(), now())`, session)
	f.exec(t, `
		INSERT INTO pool_grants (id, token_hash, sub, client_id, event_id, auth_time, expires_at)
		VALUES ($1, sha256('x'), $1, 'client', $1, now(), now() + interval '1 hour')`, session)
	create := func() error {
		s := newSource("本文")
		must.Succeed(t, f.MarkOrphan(t.Context(), s.ID, time.Hour))
		_, _, err := f.CreateSource(t.Context(), ann, session, s, 1<<40)
		return err
	}
	must.Succeed(t, create())
	f.exec(t, `UPDATE pool_grants SET revoked_at = now()`)
	if err := create(); !errors.Is(err, identity.ErrExpired) {
		t.Errorf("after signing out: %v", err)
	}
	f.exec(t, `UPDATE users SET state = 'inactive' WHERE id = $1`, ann.UserID)
	if err := create(); !errors.Is(err, identity.ErrNoUser) {
		t.Errorf("when they were disabled: %v", err)
	}
	f.exec(t, `DELETE FROM users WHERE id = $1`, ann.UserID)
	if err := create(); !errors.Is(err, identity.ErrNoUser) {
		t.Errorf("when they were removed: %v", err)
	}
}

// TestCallOfARemovedUserIsRefused: inserting rows for a user who was removed during the call fails with 401,
// not with an internal error.
func TestCallOfARemovedUserIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.exec(t, `DELETE FROM users WHERE id = $1`, f.ann.UserID)
	_, err := f.CreateThread(t.Context(), f.ann, chat.NewThread{ID: newID(), SkillID: f.skills[0].ID, Title: "見出し"})
	wantCode(t, err, fault.Unauthenticated)
}
