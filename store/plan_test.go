package store_test

import (
	"encoding/json"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/store"
)

// TestQuestionReadsOnlyItsBranch: a question in a thread reads the messages of its branch that are sent to the model,
// each by its id, whatever the number of other messages in the thread and in the database.
func TestQuestionReadsOnlyItsBranch(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	thread := f.thread(t, f.ann)
	limit := chat.HistoryLimit{Messages: 10, Bytes: 1 << 20}
	for range 30 {
		state, err := f.LoadThreadState(t.Context(), f.ann, thread.ID, nil, newID(), [32]byte{}, limit)
		must(t, err)
		b := question(f.ann, thread.ID, newID())
		b.Question.ParentID = state.Leaf
		begun, err := f.BeginGeneration(t.Context(), b)
		must(t, err)
		must(t, f.end(t, outcome(f.ann, begun, b.ServerID, "答え")))
	}
	tx, err := f.sql.Begin(t.Context())
	must(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), `SET LOCAL plan_cache_mode = force_generic_plan`)
	must(t, err)
	args := []any{f.a, f.ann.UserID, thread.ID, nil}
	for name, read := range map[string]float64{
		store.ThreadStateSQL: rowsRead(t, tx, "messages", store.ThreadStateSQL, args...),
		store.HistorySQL: rowsRead(t, tx, "messages", store.HistorySQL,
			append(args, limit.Messages, limit.Bytes, false)...),
	} {
		if read < 1 || read > float64(limit.Messages) {
			t.Errorf("%.0f rows of messages are read by %s", read, name)
		}
	}
}

// TestNewThreadReadsNoOtherThreads: adding a thread reads the same number of rows however many threads the person has.
func TestNewThreadReadsNoOtherThreads(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.exec(t, `
		INSERT INTO threads (id, organization_id, user_id, skill_id)
		SELECT gen_random_uuid(), $1, $2, $3 FROM generate_series(1, 500)`, f.a, f.ann.UserID, f.skills[0].ID)
	thread := f.thread(t, f.ann)
	tx, err := f.sql.Begin(t.Context())
	must(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	if read := rowsRead(t, tx, "threads", store.AddedThreadSQL, f.a, f.ann.UserID, thread.ID, newID()); read != 1 {
		t.Errorf("%.0f rows of threads are read", read)
	}
}

// rowsRead returns the number of rows of a table that a statement reads.
func rowsRead(t *testing.T, tx pgx.Tx, table, sql string, args ...any) (rows float64) {
	t.Helper()
	var plan []byte
	must(t, tx.QueryRow(t.Context(), `EXPLAIN (ANALYZE, FORMAT JSON) `+sql, args...).Scan(&plan))
	var plans []struct{ Plan planNode }
	must(t, json.Unmarshal(plan, &plans))
	plans[0].Plan.each(func(n planNode) {
		if n.Relation == table {
			rows += n.Loops * (n.Rows + n.Removed)
		}
	})
	return rows
}
