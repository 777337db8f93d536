package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/picture"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestAnswersBeginTogether: generations that begin at the same time are committed in few transactions, and a refused
// one does not affect the others.
func TestAnswersBeginTogether(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := newID()
	const people = 64
	all := make([]chat.NewGeneration, people)
	for i := range all {
		all[i] = question(f.ann, f.thread(t, f.ann).ID, server)
	}
	all[20].Question.Pictures = []picture.Picture{{ID: newID()}} // The picture does not exist.
	errs := make([]error, people)
	var wait sync.WaitGroup
	for i, b := range all {
		wait.Go(func() { _, errs[i] = f.BeginGeneration(t.Context(), b) })
	}
	wait.Wait()
	for i, err := range errs {
		if i == 20 && !errors.Is(err, picture.ErrNoPicture) || i != 20 && err != nil {
			t.Errorf("question %d: %v", i, err)
		}
	}
	if n := value[int](t, f, `SELECT count(*)::int FROM generations`); n != people-1 {
		t.Errorf("%d answers have begun", n)
	}

	outcomes := make([]chat.Outcome, 0, people)
	for i, b := range all {
		if i != 20 {
			outcomes = append(outcomes, outcome(f.ann, chat.StoredGeneration{Exchange: b.Exchange}, server, "回答です"))
		}
	}
	f.exec(t, `CREATE SEQUENCE counts`)
	f.exec(t, `CREATE FUNCTION note_count() RETURNS trigger LANGUAGE plpgsql
		AS $$ BEGIN PERFORM nextval('counts'); RETURN NEW; END $$`)
	f.exec(t, `CREATE TRIGGER counts BEFORE INSERT ON usage_daily FOR EACH ROW EXECUTE FUNCTION note_count()`)
	for _, o := range outcomes {
		wait.Go(func() {
			if err := f.end(t, o); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if n := value[int](t, f, `SELECT count(DISTINCT xmin::text)::int FROM messages WHERE status = 'success'
		AND role = 'assistant'`); n >= people-1 {
		t.Errorf("%d answers ended in %d transactions", people-1, n)
	}
	for _, table := range []string{"usage_daily", "usage_models"} {
		if n := value[int](t, f, `SELECT messages FROM `+table+` WHERE user_id = $1`, f.ann.UserID); n != people-1 {
			t.Errorf("%d answers are counted in %s", n, table)
		}
	}
	if n := value[int](t, f, `SELECT last_value::int FROM counts`); n >= people-1 {
		t.Errorf("the usage of a user was counted %d times for %d answers", n, people-1)
	}
}

// TestAnswersArePlannedOnce verifies that PostgreSQL uses generic plans for the statements that begin and end an answer.
// Planning them for the parameters of each call takes longer than executing them.
func TestAnswersArePlannedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.DB = open(t, f.dsn+"&pool_max_conns=1")
	f.exchange(t, f.ann, f.thread(t, f.ann).ID, newID(), "質問です", "回答です")
	planned, err := store.PlannedWithParameters(t.Context(), f.DB, `WITH (allowed|ended)`)
	if err != nil || planned != 0 {
		t.Errorf("%d statements were planned with their parameters, error %v", planned, err)
	}
}

// TestLockedThreadDelaysOnlyItsQuestion: a locked thread delays only the question in that thread.
func TestLockedThreadDelaysOnlyItsQuestion(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := newID()
	held, free := f.thread(t, f.ann).ID, make([]uuid.UUID, 8)
	for i := range free {
		free[i] = f.thread(t, f.ann).ID
	}
	conn := must.Get(pgx.Connect(t.Context(), f.dsn))(t)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	tx := must.Get(conn.Begin(t.Context()))(t)
	must.Get(tx.Exec(t.Context(), `SELECT FROM threads WHERE id = $1 FOR UPDATE`, held))(t)
	late := make(chan error, 1)
	var wait sync.WaitGroup
	for i, id := range free {
		if i == len(free)/2 {
			go func() {
				_, err := f.BeginGeneration(t.Context(), question(f.ann, held, server))
				late <- err
			}()
		}
		wait.Go(func() {
			if _, err := f.BeginGeneration(t.Context(), question(f.ann, id, server)); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	must.Succeed(t, tx.Rollback(t.Context()))
	must.Succeed(t, <-late)
}

// TestTextsAreIndexedOnceTheyAreOld: a text that was just written is indexed only by a search of its owner.
func TestTextsAreIndexedOnceTheyAreOld(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addThread(t, f.ann, "題", "質問の文", "回答の文")
	if n, err := f.IndexPending(t.Context(), nil, time.Hour, 100); err != nil || n != 0 {
		t.Errorf("%d new texts are indexed, error %v", n, err)
	}
	f.exec(t, `UPDATE search_pending SET queued_at = queued_at - interval '2 hours'`)
	if n, err := f.IndexPending(t.Context(), nil, time.Hour, 100); err != nil || n != 3 {
		t.Errorf("%d old texts are indexed, error %v", n, err)
	}
}
